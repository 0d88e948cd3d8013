//! Encryption at rest with the real binary: what lies on disk, keys that rotate, files that are read again, key services
//! that come and go, and objects that nobody can read.
//! Guarantees that no secret of these tests is ever found in the data directory in plain.
//! Must never look at more than a client and a thief of the disk could.

mod common;
#[path = "../../store/encryption/tests/support/mod.rs"]
mod plugin;

use common::http::Client;
use common::process::{ADMIN_TOKEN, Installation, NOBODY_TOKEN, Process, start};
use common::{resource_version, wait_for};
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
        let vault = Vault { installation: Installation::new(), flags: Vec::new() };
        vault.configure(providers);
        vault
    }

    /// Replaces the file as a whole, so that nobody reads half of it.
    fn configure(&self, providers: &str) {
        let rules = format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
             providers: [{providers}]\n"
        );
        let draft = self.installation.scratch.write("draft.yaml", &rules);
        fs::rename(draft, self.installation.path("encryption.yaml")).expect("replaced");
    }

    fn start(&self) -> Process {
        let command = |port| {
            let mut command = self.installation.command(port);
            command.arg("--encryption-provider-config").arg(self.installation.path("encryption.yaml"));
            command.args(&self.flags);
            command
        };
        start(command, &self.installation.path("certs"))
    }

    fn kept(&self, needle: &str) -> bool {
        contains(&self.installation.path("data/store"), needle.as_bytes())
    }
}

fn contains(path: &Path, needle: &[u8]) -> bool {
    if path.is_dir() {
        let mut entries = fs::read_dir(path).expect("a directory").flatten();
        return entries.any(|entry| contains(&entry.path(), needle));
    }
    // Files of the store may go while it runs.
    fs::read(path).unwrap_or_default().windows(needle.len()).any(|window| window == needle)
}

fn secret(name: &str) -> Value {
    json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}, "data": {"password": DATA}})
}

fn create(client: &mut Client, name: &str) -> Value {
    client.post(SECRETS, &secret(name)).expect("an answer").expect(201)
}

fn get(client: &mut Client, name: &str) -> common::http::Answer {
    client.get(&format!("{SECRETS}/{name}")).expect("an answer")
}

fn read(client: &mut Client, name: &str) -> Value {
    let object = get(client, name).expect(200);
    assert_eq!(object["data"]["password"], DATA);
    object
}

/// Writes an object as it is; whether that made a new version.
fn rewritten(client: &mut Client, name: &str) -> bool {
    let object = read(client, name);
    let written = client.put(&format!("{SECRETS}/{name}"), &object).expect("an answer").expect(200);
    resource_version(&written) > resource_version(&object)
}

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap_or_default()
}

#[test]
fn what_lies_on_disk_is_sealed() {
    let scratch = common::Scratch::new();
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
        client.post(CONFIG_MAPS, &plain).expect("an answer").expect(201);
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
    let list = client.get(SECRETS).expect("an answer").expect(500);
    let named = format!("Internal error occurred: unable to transform key \"/registry/secrets/default/left\": {why}");
    assert_eq!(message(&list), named);
    let one = format!("{SECRETS}?fieldSelector=metadata.name%3Dmoved");
    assert_eq!(client.get(&one).expect("an answer").expect(200)["items"][0]["metadata"]["name"], "moved");
    let elsewhere = client.get("/api/v1/namespaces/kube-system/secrets").expect("an answer").expect(200);
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
        client.send(method, &path, "application/json", &body).expect("an answer").expect(code);
    }
    create(&mut client, "new");
}

#[test]
fn what_nobody_can_read_is_deleted_on_demand() {
    let mut vault = Vault::new(&format!("{{secretbox: {{keys: [{KEY_1}]}}}}"));
    vault.flags = vec!["--feature-gates=AllowUnsafeMalformedObjectDeletion=true"];
    {
        let process = vault.start();
        let mut client = process.endpoint().client();
        create(&mut client, "lost-1");
        create(&mut client, "lost-2");
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["delete"]}]);
        let role = json!({"metadata": {"name": "deleter"}, "rules": rules});
        let subjects = json!([{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]);
        let bound = json!({"kind": "ClusterRole", "name": "deleter", "apiGroup": "rbac.authorization.k8s.io"});
        let binding = json!({"metadata": {"name": "deleter"}, "subjects": subjects, "roleRef": bound});
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        client.post(&format!("{rbac}/clusterroles"), &role).expect("an answer").expect(201);
        client.post(&format!("{rbac}/clusterrolebindings"), &binding).expect("an answer").expect(201);
    }
    vault.configure(&format!("{{secretbox: {{keys: [{KEY_2}]}}}}"));
    let process = vault.start();
    let mut endpoint = process.endpoint();
    let mut client = endpoint.client();
    create(&mut client, "fine");

    let list = client.get(SECRETS).expect("an answer").expect(500);
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
    let fine = client.delete(&format!("{SECRETS}/fine?{option}")).expect("an answer").expect(422);
    assert!(message(&fine).contains("is exclusively used to delete corrupt object(s)"), "{fine}");
    let both = client.delete(&format!("{lost}&gracePeriodSeconds=0")).expect("an answer").expect(422);
    assert!(message(&both).contains("Invalid value: true: cannot be set together with .gracePeriodSeconds"), "{both}");
    let all = client.delete(&format!("{SECRETS}?{option}")).expect("an answer").expect(422);
    assert!(message(&all).contains("is not allowed with DELETECOLLECTION"), "{all}");
    endpoint.token = Some(NOBODY_TOKEN.to_owned());
    let forbidden = endpoint.client().delete(&lost).expect("an answer").expect(403);
    assert!(message(&forbidden).contains("not permitted to do \"unsafe-delete-ignore-read-errors\""), "{forbidden}");
    endpoint.token = Some(ADMIN_TOKEN.to_owned());
    let deleted = client.delete(&lost).expect("an answer").expect(200);
    assert_eq!(
        (&deleted["status"], &deleted["details"]),
        (&json!("Success"), &json!({"name": "lost-1", "kind": "Secret"}),)
    );
    get(&mut client, "lost-1").expect(404);
    let body =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "ignoreStoreReadErrorWithClusterBreakingPotential": true});
    let path = format!("{SECRETS}/lost-2");
    client.send("DELETE", &path, "application/json", body.to_string().as_bytes()).expect("an answer").expect(200);
    assert_eq!(client.get(SECRETS).expect("an answer").expect(200)["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_changed_file_is_taken_over_and_a_wrong_one_is_not() {
    let mut vault = Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    vault.flags = vec!["--encryption-provider-config-automatic-reload"];
    let process = vault.start();
    let mut client = process.endpoint().client();
    client.get("/livez/kms-providers").expect("an answer").expect_text("ok");
    create(&mut client, "a");
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_2}, {KEY_1}]}}}}"));
    wait_for("the new key", || rewritten(&mut client, "a").then_some(()));
    assert!(vault.kept("k8s:enc:aesgcm:v1:key2:"));
    vault.configure("{aesgcm: {keys: []}}");
    let told = "Required value: at least one keys is required";
    wait_for("the complaint", || process.errors().contains(told).then_some(()));
    assert!(!rewritten(&mut client, "a"), "the last right file is followed");
    drop(process);

    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    let process = vault.start();
    let mut client = process.endpoint().client();
    get(&mut client, "a").expect(500);
    let mut watch = client.watch(&format!("{SECRETS}?watch=true")).expect("a watch");
    let mut other = process.endpoint().client();
    vault.configure(&format!("{{aesgcm: {{keys: [{KEY_1}, {KEY_2}]}}}}"));
    wait_for("the missing key", || (get(&mut other, "a").status == 200).then_some(()));
    read(&mut other, "a");
    let (kind, status) = watch.event();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)), "watchers look anew");
}

#[test]
fn a_key_service_may_come_after_the_server() {
    let scratch = common::Scratch::new();
    let socket = scratch.path().join("kms.sock");
    let plugin = Plugin::start(&socket, "key-1");
    let vault =
        Vault::new(&format!("{{kms: {{apiVersion: v2, name: vault, endpoint: 'unix://{}'}}}}", socket.display()));
    {
        let process = vault.start();
        let mut client = process.endpoint().client();
        create(&mut client, "a");
        client.get("/healthz/kms-providers").expect("an answer").expect_text("ok");
    }
    let keys = plugin.keys.clone();
    drop(plugin);
    let process = vault.start();
    let mut client = process.endpoint().client();
    let sick = client.get("/readyz/kms-providers").expect("an answer");
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
    let refused = client.post(SECRETS, &secret("b")).expect("an answer").expect(500);
    assert_eq!(message(&refused), "Internal error occurred: got unexpected nil transformer");
    let _plugin = Plugin::start_with(&socket, keys);
    wait_for("the key service", || (get(&mut client, "a").status == 200).then_some(()));
    read(&mut client, "a");
    create(&mut client, "b");
    client.get("/readyz/kms-providers").expect("an answer").expect_text("ok");
}

#[test]
fn a_start_without_the_configuration_says_what_it_cannot_read() {
    let vault = Vault::new(&format!("{{aesgcm: {{keys: [{KEY_1}]}}}}"));
    create(&mut vault.start().endpoint().client(), "a");
    let process = vault.installation.start();
    let refused = get(&mut process.endpoint().client(), "a").expect(500);
    assert_eq!(message(&refused), "Internal error occurred: identity transformer tried to read encrypted data");
    drop(process);
    vault.configure("{aesgcm: {keys: [{name: k, secret: AA==}]}}");
    let mut command = vault.installation.command(common::process::free_port());
    command.arg("--encryption-provider-config").arg(vault.installation.path("encryption.yaml"));
    let ended = command.output().expect("it ends by itself");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("secret is not of the expected length, got 1"), "{said}");
    assert!(!said.contains("AA=="), "a secret is never shown");
}
