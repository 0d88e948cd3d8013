//! Encryption at rest with the real binary: stored bytes, key rotation, reloaded files, key services that start and stop, and
//! objects that cannot be decrypted. Guarantees that no secret of these tests is ever found in the data directory in plain
//! text. Must never use more than a client and a thief of the disk could.

#[path = "../../../store/encryption/tests/support/mod.rs"]
mod plugin;

use crate::common::etcd::{self, Etcd};
use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::{ADMIN_TOKEN, Installation, NOBODY_TOKEN, Process};
use crate::common::{resource_version, wait_for};
use pintle_schema::base64;
use plugin::Plugin;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KEY_1: &str = "{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}";
const KEY_2: &str = "{name: key2, secret: ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=}";
/// Base64 of "swordfish-swordfish".
const DATA: &str = "c3dvcmRmaXNoLXN3b3JkZmlzaA==";

/// An installation with a configuration of encryption.
struct Vault {
    installation: Installation,
    flags: Vec<&'static str>,
}

impl Vault {
    fn new(providers: &str) -> Vault {
        let vault = Vault { installation: Installation::own(), flags: Vec::new() };
        vault.configure(providers);
        vault
    }

    /// Replaces the file atomically, so that no reader sees half of it.
    fn configure(&self, providers: &str) {
        let rules = format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
             providers: [{providers}]\n"
        );
        let draft = self.installation.scratch.write("draft.yaml", &rules);
        fs::rename(draft, self.installation.path("encryption.yaml")).expect("replaced");
    }

    fn start(&self) -> Process {
        self.start_with(&[])
    }

    fn start_with(&self, flags: &[&str]) -> Process {
        let flags = [flags, &["--encryption-provider-config", "encryption.yaml"], &self.flags].concat();
        self.installation.start_with(&flags)
    }

    fn kept(&self, needle: &str) -> bool {
        contains(&self.installation.path("data/store"), needle)
    }
}

fn contains(path: &Path, needle: &str) -> bool {
    if path.is_dir() {
        let mut entries = fs::read_dir(path).expect("a directory").flatten();
        return entries.any(|entry| contains(&entry.path(), needle));
    }
    // Files of the store may go while it runs.
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).contains(needle)
}

fn secret(name: &str) -> Value {
    json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}, "data": {"password": DATA}})
}

fn create(client: &mut Client, name: &str) -> Value {
    client.post(SECRETS, &secret(name)).expect_status(201)
}

fn get(client: &mut Client, name: &str) -> crate::common::http::Answer {
    client.get(&format!("{SECRETS}/{name}")).answer()
}

fn read(client: &mut Client, name: &str) -> Value {
    let object = get(client, name).expect(200);
    assert_eq!(object["data"]["password"], DATA);
    object
}

/// Writes an object as it is; whether that made a new version.
fn rewritten(client: &mut Client, name: &str) -> bool {
    let object = read(client, name);
    let written = client.put(&format!("{SECRETS}/{name}"), &object).expect_status(200);
    resource_version(&written) > resource_version(&object)
}

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap_or_default()
}

#[test]
fn values_on_disk_are_encrypted() {
    let scratch = crate::common::Scratch::new();
    let socket = scratch.path().join("kms.sock");
    let _plugin = Plugin::start(&socket, "key-1");
    let kms = format!("{{kms: {{apiVersion: v2, name: vault, endpoint: 'unix://{}'}}}}", socket.display());
    for (provider, prefix) in [
        (format!("{{aescbc: {{keys: [{KEY_1}]}}}}"), "k8s:enc:aescbc:v1:key1:"),
        (format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"), "k8s:enc:aesgcm:v1:key1:"),
        (format!("{{secretbox: {{keys: [{KEY_1}]}}}}"), "k8s:enc:secretbox:v1:key1:"),
        (kms, "k8s:enc:kms:v2:vault:"),
    ] {
        let vault = Vault::new(&format!("{provider}, {{identity: {{}}}}"));
        let mut process = vault.start();
        let mut client = process.endpoint().client();
        let created = create(&mut client, "a");
        let plain =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "plain"}, "data": {"k": "herring"}});
        client.post(CONFIG_MAPS, &plain).expect_status(201);
        let metrics = process.endpoint().client().get("/metrics").answer().text();
        let reported = prefix.strip_suffix("key1:").map_or(vec![prefix], |provider| vec![provider, "key1:"]);
        for reported in reported {
            let line = format!(
                "apiserver_storage_transformation_operations_total{{resource=\"secrets\",status=\"OK\",\
                 transformation_type=\"to_storage\",transformer_prefix=\"{reported}\"}} 1\n"
            );
            assert!(metrics.contains(&line), "{line} in {metrics}");
        }
        if prefix.contains("kms") {
            let call =
                "{grpc_status_code=\"OK\",method_name=\"/v2.KeyManagementService/Encrypt\",provider_name=\"vault\"}";
            for line in [
                format!("apiserver_envelope_encryption_kms_operations_latency_seconds_count{call} 1\n"),
                "apiserver_envelope_encryption_dek_source_cache_size{provider_name=\"vault\"} 1\n".to_owned(),
            ] {
                assert!(metrics.contains(&line), "{line} in {metrics}");
            }
        }
        process.kill();
        assert!(vault.kept(prefix), "{prefix}");
        assert!(vault.kept("herring"), "what is not named is plain");
        assert!(!vault.kept("swordfish") && !vault.kept(DATA), "{prefix}");
        let process = vault.start();
        assert_eq!(read(&mut process.endpoint().client(), "a"), created);
    }
}

#[test]
fn keys_rotate_and_what_lost_its_key_stops_nothing_else() {
    let vault = Vault::new(&format!("{{aescbc: {{keys: [{KEY_1}]}}}}"));
    let process = vault.start();
    let mut client = process.endpoint().client();
    create(&mut client, "left");
    create(&mut client, "moved");
    assert!(!rewritten(&mut client, "moved"), "nothing changed");
    drop(process);
    vault.configure(&format!("{{aescbc: {{keys: [{KEY_2}, {KEY_1}]}}}}"));
    let process = vault.start();
    client = process.endpoint().client();
    assert!(rewritten(&mut client, "moved"), "the key changed");
    assert!(!rewritten(&mut client, "moved"), "once");
    drop(process);

    vault.configure(&format!("{{aescbc: {{keys: [{KEY_2}]}}}}"));
    let process = vault.start();
    client = process.endpoint().client();
    read(&mut client, "moved");
    let why = "no matching key was found for the provided AES transformer";
    let refused = get(&mut client, "left").expect(500);
    assert_eq!(
        (message(&refused), &refused["reason"]),
        (&*format!("Internal error occurred: {why}"), &json!("InternalError"))
    );
    let list = client.get(SECRETS).expect_status(500);
    let named = format!("Internal error occurred: unable to transform key \"/registry/secrets/default/left\": {why}");
    assert_eq!(message(&list), named);
    let watch = client.get(&format!("{SECRETS}?watch=true&timeoutSeconds=1")).expect_status(500);
    assert_eq!(message(&watch), named, "a watch from the beginning does not begin within it");
    let single = format!("{SECRETS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dmoved");
    let (kind, added) = process.endpoint().client().watch(&single).expect("a watch").event();
    assert_eq!((kind.as_str(), &added["metadata"]["name"]), ("ADDED", &json!("moved")));
    let one = format!("{SECRETS}?fieldSelector=metadata.name%3Dmoved");
    assert_eq!(client.get(&one).expect_status(200)["items"][0]["metadata"]["name"], "moved");
    let elsewhere = client.get("/api/v1/namespaces/kube-system/secrets").expect_status(200);
    assert_eq!(elsewhere["items"], json!([]));
    for (method, path, body, code) in [
        ("PUT", format!("{SECRETS}/left"), secret("left"), 500),
        ("DELETE", format!("{SECRETS}/left"), Value::Null, 500),
        ("POST", SECRETS.to_owned(), secret("left"), 409),
        ("DELETE", SECRETS.to_owned(), Value::Null, 500),
        // Without the gate the option means nothing.
        ("DELETE", format!("{SECRETS}/left?ignoreStoreReadErrorWithClusterBreakingPotential=true"), Value::Null, 500),
    ] {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        client.send(method, &path, "application/json", &body).expect_status(code);
    }
    create(&mut client, "new");
}

#[test]
fn undecryptable_objects_are_deleted_on_demand() {
    let mut vault = Vault::new(&format!("{{secretbox: {{keys: [{KEY_1}]}}}}"));
    vault.flags = vec!["--feature-gates=AllowUnsafeMalformedObjectDeletion=true"];
    {
        let process = vault.start();
        let mut client = process.endpoint().client();
        let owner = create(&mut client, "lost-1")["metadata"].clone();
        create(&mut client, "lost-2");
        let owner = json!({"apiVersion": "v1", "kind": "Secret", "name": owner["name"], "uid": owner["uid"]});
        let map =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "owned", "ownerReferences": [owner]}});
        client.post(CONFIG_MAPS, &map).expect_status(201);
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["delete"]}]);
        let role = json!({"metadata": {"name": "deleter"}, "rules": rules});
        let subjects = json!([{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]);
        let bound = json!({"kind": "ClusterRole", "name": "deleter", "apiGroup": "rbac.authorization.k8s.io"});
        let binding = json!({"metadata": {"name": "deleter"}, "subjects": subjects, "roleRef": bound});
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        client.post(&format!("{rbac}/clusterroles"), &role).expect_status(201);
        client.post(&format!("{rbac}/clusterrolebindings"), &binding).expect_status(201);
    }
    vault.configure(&format!("{{secretbox: {{keys: [{KEY_2}]}}}}"));
    let process = vault.start();
    let mut endpoint = process.endpoint();
    let mut client = endpoint.client();
    create(&mut client, "fine");

    let list = client.get(SECRETS).expect_status(500);
    assert_eq!(
        (&list["reason"], message(&list)),
        (&json!("StorageReadError"), "failed to read one or more secrets from the storage",)
    );
    assert_eq!(list["details"]["name"], "list");
    let causes = list["details"]["causes"].as_array().expect("causes");
    let fields: Vec<_> = causes.iter().map(|cause| &cause["field"]).collect();
    assert_eq!(fields, ["/registry/secrets/default/lost-1", "/registry/secrets/default/lost-2"]);
    let corrupt = "StorageError: corrupt object, Code: 7, Key: /registry/secrets/default/lost-1, ResourceVersion: 0, \
                   AdditionalErrorMsg: data from the storage is not transformable revision=0: no matching key was found \
                   for the provided Secretbox transformer";
    assert_eq!((&causes[0]["reason"], &causes[0]["message"]), (&json!("UnexpectedServerResponse"), &json!(corrupt)));
    assert_eq!(message(&get(&mut client, "lost-1").expect(500)), format!("Internal error occurred: {corrupt}"));

    let option = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    let lost = format!("{SECRETS}/lost-1?{option}");
    let fine = client.delete(&format!("{SECRETS}/fine?{option}")).expect_status(422);
    assert!(message(&fine).contains("is exclusively used to delete corrupt object(s)"), "{fine}");
    let both = client.delete(&format!("{lost}&gracePeriodSeconds=0")).expect_status(422);
    assert!(message(&both).contains("Invalid value: true: cannot be set together with .gracePeriodSeconds"), "{both}");
    let all = client.delete(&format!("{SECRETS}?{option}")).expect_status(422);
    assert!(message(&all).contains("is not allowed with DELETECOLLECTION"), "{all}");
    endpoint.token = Some(NOBODY_TOKEN.to_owned());
    let forbidden = endpoint.client().delete(&lost).expect_status(403);
    assert!(message(&forbidden).contains("not permitted to do \"unsafe-delete-ignore-read-errors\""), "{forbidden}");
    endpoint.token = Some(ADMIN_TOKEN.to_owned());
    let deleted = client.delete(&lost).expect_status(200);
    assert_eq!(
        (&deleted["status"], &deleted["details"]),
        (&json!("Success"), &json!({"name": "lost-1", "kind": "Secret"}),)
    );
    get(&mut client, "lost-1").expect(404);
    let owned = format!("{CONFIG_MAPS}/owned");
    wait_for("what it owned to go", || (client.get(&owned).answer().status == 404).then_some(()));
    let body =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "ignoreStoreReadErrorWithClusterBreakingPotential": true});
    let path = format!("{SECRETS}/lost-2");
    client.send("DELETE", &path, "application/json", body.to_string().as_bytes()).expect_status(200);
    assert_eq!(client.get(SECRETS).expect_status(200)["items"].as_array().map(Vec::len), Some(1));
}

/// A controller that took an unreadable owner for a deleted one would delete its dependents.
#[test]
fn dependents_and_the_namespace_of_an_unreadable_object_are_kept() {
    let mut vault = Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    vault.flags = vec!["--controllers-settle-time=1ms"];
    let map = |name: &str, owner: &Value| {
        let owner = json!({"apiVersion": "v1", "kind": "Secret", "name": owner["name"], "uid": owner["uid"]});
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "ownerReferences": [owner]}})
    };
    let gone = json!({"name": "gone", "uid": "00000000-0000-4000-8000-000000000000"});
    {
        let process = vault.start();
        let mut client = process.endpoint().client();
        let owner = create(&mut client, "owner");
        client.post(CONFIG_MAPS, &map("owned", &owner["metadata"])).expect_status(201);
        let home = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "home"}});
        client.post("/api/v1/namespaces", &home).expect_status(201);
        client.post("/api/v1/namespaces/home/secrets", &secret("lost")).expect_status(201);
    }
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_2}]}}}}"));
    let process = vault.start();
    let mut client = process.endpoint().client();
    client.post(CONFIG_MAPS, &map("garbage", &gone)).expect_status(201);
    client.delete("/api/v1/namespaces/home").expect_status(200);
    let failure = wait_for("the namespace's condition", || {
        let home = client.get("/api/v1/namespaces/home").expect_status(200);
        let conditions = home["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|it| it["type"] == "NamespaceDeletionContentFailure" && it["status"] == "True")
    });
    assert!(message(&failure).contains("1 secrets in namespace home cannot be read"), "{failure}");
    let garbage = format!("{CONFIG_MAPS}/garbage");
    wait_for("garbage to go", || (client.get(&garbage).answer().status == 404).then_some(()));
    client.get(&format!("{CONFIG_MAPS}/owned")).expect_status(200);
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    drop(process);
    let process = vault.start();
    let mut client = process.endpoint().client();
    wait_for("the namespace to go", || (client.get("/api/v1/namespaces/home").answer().status == 404).then_some(()));
    client.get(&format!("{CONFIG_MAPS}/owned")).expect_status(200);
}

#[test]
fn etcd_holds_the_references_bytes_sealed() {
    let Some(program) = etcd::program("3.5") else { return };
    let (etcd, mut vault) = (Etcd::start(program, 1), Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}")));
    let servers = etcd.urls();
    vault.flags = vec!["--etcd-prefix=/clusters/one", "--feature-gates=AllowUnsafeMalformedObjectDeletion=true"];
    let start = |vault: &Vault| vault.start_with(&["--etcd-servers", &servers]);
    let kept = |name: &str| {
        let key = base64::encode(format!("/clusters/one/secrets/default/{name}").as_bytes());
        let answer = etcd.call("/v3/kv/range", &json!({"key": key}));
        base64::decode(answer["kvs"][0]["value"].as_str().expect("a value")).expect("base64")
    };
    let process = start(&vault);
    let mut client = process.endpoint().client();
    create(&mut client, "a");
    let sealed = kept("a");
    let key = base64::decode("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").expect("base64");
    let plain = open_gcm(
        &key,
        "/clusters/one/secrets/default/a",
        sealed.strip_prefix(b"k8s:enc:aesgcm:v1:key1:").expect("its mark"),
    );
    assert!(plain.starts_with(b"k8s\0") && plain.windows(19).any(|window| window == b"swordfish-swordfish"));
    drop(process);

    vault.configure(&format!("{{secretbox: {{keys: [{KEY_2}]}}}}, {{aesgcm: {{keys: [{KEY_1}]}}}}"));
    let (one, two) = (start(&vault), start(&vault));
    assert!(rewritten(&mut one.endpoint().client(), "a"));
    assert!(kept("a").starts_with(b"k8s:enc:secretbox:v1:key2:"));
    assert!(!rewritten(&mut two.endpoint().client(), "a"), "who did not write it knows that it is sealed anew");
    let mut client = two.endpoint().client();
    let put = |name: &str, value: &[u8]| {
        let key = base64::encode(format!("/clusters/one/{name}").as_bytes());
        etcd.call("/v3/kv/put", &json!({"key": key, "value": base64::encode(value)}));
    };
    put("configmaps/default/damaged", b"k8s\0damaged");
    put("secrets/default/strange", b"k8s:enc:kms:v2:unknown:x");
    let causes = |client: &mut Client, path: &str| {
        let list = client.get(path).expect_status(500);
        let causes = list["details"]["causes"].as_array().expect("causes").clone();
        causes.iter().map(|cause| cause["field"].as_str().expect("a key").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(causes(&mut client, CONFIG_MAPS), ["/registry/configmaps/default/damaged"]);
    assert_eq!(causes(&mut client, SECRETS), ["/registry/secrets/default/strange"]);
    read(&mut client, "a");
    let damaged = client.get(&format!("{CONFIG_MAPS}/damaged")).expect_status(500);
    assert!(message(&damaged).contains("AdditionalErrorMsg: object not decodable revision="), "{damaged}");
    let option = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    client.delete(&format!("{CONFIG_MAPS}/damaged?{option}")).expect_status(200);
    client.delete(&format!("{SECRETS}/strange?{option}")).expect_status(200);
    for path in [SECRETS, CONFIG_MAPS] {
        one.endpoint().client().get(path).expect_status(200);
    }
}

/// Decrypts AES-GCM without the code under test: nonce, ciphertext and tag.
fn open_gcm(key: &[u8], name: &str, sealed: &[u8]) -> Vec<u8> {
    use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("a key"));
    let (nonce, text) = sealed.split_first_chunk::<12>().expect("a nonce");
    let mut text = text.to_vec();
    key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(name), &mut text).expect("authentic").to_vec()
}

#[test]
fn a_changed_file_is_taken_over_and_a_wrong_one_is_not() {
    let mut vault = Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    vault.flags = vec!["--encryption-provider-config-automatic-reload"];
    let process = vault.start();
    let mut client = process.endpoint().client();
    client.get("/healthz/kms-providers").answer().expect_text("ok");
    assert_eq!(client.get("/livez/kms-providers").answer().status, 404);
    let hook = "/readyz/poststarthook/start-encryption-provider-config-automatic-reload";
    client.get(hook).answer().expect_text("ok");
    let metrics = client.get("/metrics").answer().text();
    assert!(
        metrics.contains("apiserver_encryption_config_controller_last_config_info{apiserver_id_hash="),
        "{metrics}"
    );
    create(&mut client, "a");
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_2}, {KEY_1}]}}}}"));
    wait_for("the new key", || rewritten(&mut client, "a").then_some(()));
    assert!(vault.kept("k8s:enc:aesgcm:v1:key2:"));
    vault.configure("{aesgcm: {keys: []}}");
    let reported = "Required value: at least one keys is required";
    wait_for("the complaint", || process.errors().contains(reported).then_some(()));
    assert!(!rewritten(&mut client, "a"), "the last right file is followed");
    drop(process);

    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    let process = vault.start();
    let mut client = process.endpoint().client();
    get(&mut client, "a").expect(500);
    let elsewhere = client.get("/api/v1/namespaces/kube-system/secrets").expect_status(200);
    let since = resource_version(&elsewhere);
    let mut watch = client.watch(&format!("{SECRETS}?watch=true&resourceVersion={since}")).expect("a watch");
    let mut other = process.endpoint().client();
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}, {KEY_2}]}}}}"));
    wait_for("the missing key", || (get(&mut other, "a").status == 200).then_some(()));
    read(&mut other, "a");
    let (kind, status) = watch.event();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)), "watchers look anew");
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    let reported = "these will be unreadable after the next start: 1 of secrets";
    wait_for("the warning", || process.errors().contains(reported).then_some(()));
    read(&mut other, "a");
}

#[test]
fn a_key_service_may_come_after_the_server() {
    let scratch = crate::common::Scratch::new();
    let socket = scratch.path().join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let vault =
        Vault::new(&format!("{{kms: {{apiVersion: v2, name: vault, endpoint: 'unix://{}'}}}}", socket.display()));
    {
        let process = vault.start();
        let mut client = process.endpoint().client();
        create(&mut client, "a");
        client.get("/healthz/kms-providers").answer().expect_text("ok");
    }
    let keys = plugin.keys.clone();
    drop(plugin);
    let process = vault.start();
    let mut client = process.endpoint().client();
    let sick = client.get("/readyz/kms-providers").answer();
    assert_eq!(sick.status, 500);
    assert!(
        sick.text().starts_with("internal server error: kms-provider-0: failed to perform status section"),
        "{}",
        sick.text()
    );
    let refused = get(&mut client, "a").expect(500);
    assert!(
        message(&refused).starts_with("Internal error occurred: failed to decrypt DEK, error: rpc error"),
        "{refused}"
    );
    let refused = client.post(SECRETS, &secret("b")).expect_status(500);
    assert_eq!(message(&refused), "Internal error occurred: got unexpected nil transformer");
    let _plugin = Plugin::start_with(&socket, keys);
    wait_for("the key service", || (get(&mut client, "a").status == 200).then_some(()));
    read(&mut client, "a");
    create(&mut client, "b");
    client.get("/readyz/kms-providers").answer().expect_text("ok");
}

#[test]
fn a_start_without_the_configuration_says_what_it_cannot_read() {
    let vault = Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    create(&mut vault.start().endpoint().client(), "a");
    let process = vault.installation.start();
    let reported = "/registry/secrets/default/a cannot be read, nor can 0 others: identity transformer tried";
    wait_for("the warning", || process.errors().contains(reported).then_some(()));
    let refused = get(&mut process.endpoint().client(), "a").expect(500);
    assert_eq!(message(&refused), "Internal error occurred: identity transformer tried to read encrypted data");
    drop(process);
    vault.configure("{aesgcm: {keys: [{name: k, secret: AA==}]}}");
    let mut command = vault.installation.command(crate::common::process::free_port());
    command.arg("--encryption-provider-config").arg(vault.installation.path("encryption.yaml"));
    let ended = command.output().expect("it ends by itself");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("secret is not of the expected length, got 1"), "{said}");
    assert!(!said.contains("AA=="), "a secret is never shown");
}
