//! Several servers over one etcd: releases that they emulate, storage versions, elections of leaders, and requests that one
//! passes on to another. Guarantees that servers of different kinds share one store. Must never need a second machine: a server
//! gets a host name of its own in a namespace.

use crate::common::credentials::Credentials;
use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, NOBODY_TOKEN, Process, start};
use crate::common::wait_for;
use pintle_schema::base64;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const CLASSES: &str = "/apis/resource.k8s.io/v1beta2/deviceclasses";
const STORAGE_VERSIONS: &str = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";

/// A response of 200.
fn get(client: &mut Client, path: &str) -> Value {
    client.get(path).expect_status(200)
}

/// The response, if it is 200.
fn found(client: &mut Client, path: &str) -> Option<Value> {
    let answer = client.get(path).ok()?;
    (answer.status == 200).then(|| answer.json())
}

fn status(client: &mut Client, path: &str) -> u16 {
    client.get(path).answer().status
}

/// The value of a metric, with its labels as they are written.
fn metric(client: &mut Client, series: &str) -> Option<f64> {
    let text = client.get("/metrics").answer().text();
    let line = text.lines().find(|line| line.starts_with(series) && line[series.len()..].starts_with(' '));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

#[test]
fn a_server_emulates_an_earlier_release() {
    let installation = Installation::own();
    let flags = ["--emulated-version=1.34", "--runtime-config=api/beta=true", "--storage=memory", "--controllers="];
    let process = installation.start_with(&flags);
    let mut client = process.endpoint().client();
    let version = get(&mut client, "/version");
    let told = |field: &str| version[field].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [told("major"), told("minor"), told("emulationMinor"), told("minCompatibilityMinor")],
        ["1", "36", "34", "33"]
    );
    let info = "version_info{binary=\"1.36\",component=\"kube\",emulation=\"1.34\",min_compat=\"1.33\"}";
    assert_eq!(metric(&mut client, info), Some(1.0));
    // Alpha in 1.34, beta and on since 1.36; and one that is new in 1.36.
    assert_eq!(metric(&mut client, "kubernetes_feature_enabled{name=\"ComponentStatusz\",stage=\"ALPHA\"}"), Some(0.0));
    assert_eq!(metric(&mut client, "kubernetes_feature_enabled{name=\"AtomicFIFO\",stage=\"BETA\"}"), None);
    for (path, code) in [
        // Introduced in 1.36, in 1.35 and in 1.34.
        ("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", 404),
        ("/apis/certificates.k8s.io/v1beta1/podcertificaterequests", 404),
        ("/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies", 200),
        ("/apis/resource.k8s.io/v1/deviceclasses", 200),
        (CLASSES, 200),
    ] {
        assert_eq!(status(&mut client, path), code, "{path}");
    }
    // What is stored can be read by 1.33, which has no stable version of this kind.
    let resources = get(&mut client, "/apis/resource.k8s.io/v1");
    let class = resources["resources"].as_array().expect("a list").iter().find(|it| it["name"] == "deviceclasses");
    let other = Installation::own();
    let current = other.start_with(&["--storage=memory", "--controllers="]);
    let resources = get(&mut current.endpoint().client(), "/apis/resource.k8s.io/v1");
    let now = resources["resources"].as_array().expect("a list").iter().find(|it| it["name"] == "deviceclasses");
    assert_ne!(class.expect("a class")["storageVersionHash"], now.expect("a class")["storageVersionHash"]);
    // A new expression uses what 1.33 has, which has no list functions such as `first`.
    let definition = |name: &str| {
        json!({"metadata": {"name": format!("{name}s.example.com")}, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": format!("{name}s"), "kind": name},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-validations": [{"rule": "[3, 1].sort() == [1, 3]"}],
            }}}],
        }})
    };
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let refused = client.post(definitions, &definition("a")).expect_status(422);
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("undeclared reference to 'sort'")), "{refused}");
    current.endpoint().client().post(definitions, &definition("a")).expect_status(201);
}

/// The `apiVersion` of a stored object in the envelope of its protobuf form.
fn stored_version(etcd: &Etcd, key: &str) -> String {
    let answer = etcd.call("/v3/kv/range", &json!({"key": base64::encode(key.as_bytes())}));
    let value = base64::decode(answer["kvs"][0]["value"].as_str().expect("a value")).expect("base64");
    let length = usize::from(value[7]);
    String::from_utf8(value[8..8 + length].to_vec()).expect("text")
}

#[test]
fn what_is_stored_is_read_by_the_oldest_release() {
    let Some(program) = program("3.5") else { return };
    let etcd = Etcd::start(program, 1);
    let servers = etcd.urls();
    let serve = |flags: &[&str]| {
        let installation = Installation::own();
        let process = installation.start_with(&[&["--etcd-servers", &servers, "--controllers="], flags].concat());
        (installation, process)
    };
    let path = "/apis/resource.k8s.io/v1/deviceclasses";
    let key = "/registry/deviceclasses/a";
    let (_old, old) = serve(&["--emulated-version=1.34"]);
    let mut client = old.endpoint().client();
    client.post(path, &json!({"metadata": {"name": "a"}, "spec": {}})).expect_status(201);
    assert_eq!(stored_version(&etcd, key), "resource.k8s.io/v1beta2");
    // An update without a change writes nothing: the form is the one that this server stores.
    let object = get(&mut client, &format!("{path}/a"));
    let same = client.put(&format!("{path}/a"), &object).expect_status(200);
    assert_eq!(same["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
    let (_new, new) = serve(&[]);
    let mut client = new.endpoint().client();
    let object = get(&mut client, &format!("{path}/a"));
    assert_eq!(object["apiVersion"], "resource.k8s.io/v1");
    // A server that stores the newer version writes the object anew.
    let written = client.put(&format!("{path}/a"), &object).expect_status(200);
    assert_ne!(written["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
    assert_eq!(stored_version(&etcd, key), "resource.k8s.io/v1");
    assert_eq!(get(&mut old.endpoint().client(), &format!("{path}/a"))["metadata"]["uid"], object["metadata"]["uid"]);
}

#[test]
fn servers_report_the_versions_that_they_store() {
    let installation = Installation::own();
    let flags = ["--feature-gates=StorageVersionAPI=true", "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true"];
    let process = installation.start_with(&flags);
    let mut client = process.endpoint().client();
    let leases = get(&mut client, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
    let lease = leases["items"].as_array().expect("a list")[0]["metadata"]["name"].clone();
    let reported = get(&mut client, &format!("{STORAGE_VERSIONS}/autoscaling.horizontalpodautoscalers"));
    let status = &reported["status"];
    assert_eq!(status["commonEncodingVersion"], "autoscaling/v2");
    assert_eq!(status["conditions"][0]["reason"], "CommonEncodingVersionSet");
    let report = &status["storageVersions"][0];
    assert_eq!((&report["apiServerID"], &report["encodingVersion"]), (&lease, &json!("autoscaling/v2")));
    assert_eq!(report["servedVersions"], json!(["autoscaling/v2", "autoscaling/v1"]));
    let pods = get(&mut client, &format!("{STORAGE_VERSIONS}/core.pods"));
    assert_eq!(pods["status"]["storageVersions"][0]["decodableVersions"], json!(["v1"]));
    let ready = client.get("/readyz?verbose=true").answer().text();
    assert!(ready.contains("[+]poststarthook/built-in-resources-storage-version-updater ok"), "{ready}");
    // The report of a server that is gone is removed, and with it the object if there is no other.
    let other = json!({"apiServerID": "gone", "encodingVersion": "v1beta1", "decodableVersions": ["v1beta1"]});
    let mut changed = pods.clone();
    changed["status"]["storageVersions"].as_array_mut().expect("a list").push(other.clone());
    changed["status"].as_object_mut().expect("an object").remove("commonEncodingVersion");
    client.put(&format!("{STORAGE_VERSIONS}/core.pods/status"), &changed).expect_status(200);
    wait_for("the report to be removed", || {
        let pods = get(&mut client, &format!("{STORAGE_VERSIONS}/core.pods"));
        let reports = pods["status"]["storageVersions"].as_array().expect("a list").len();
        (reports == 1 && pods["status"]["commonEncodingVersion"] == "v1").then_some(())
    });
    client.post(STORAGE_VERSIONS, &json!({"metadata": {"name": "example.com.a"}})).expect_status(201);
    let path = format!("{STORAGE_VERSIONS}/example.com.a");
    let mut alone = get(&mut client, &path);
    alone["status"] = json!({"storageVersions": [other], "commonEncodingVersion": "v1beta1"});
    client.put(&format!("{path}/status"), &alone).expect_status(200);
    wait_for("the object to be removed", || (client.get(&path).answer().status == 404).then_some(()));
}

#[test]
fn leaders_are_elected_among_candidates() {
    let installation = Installation::own();
    let flags = ["--feature-gates=CoordinatedLeaderElection=true", "--runtime-config=coordination.k8s.io/v1beta1=true"];
    let process = installation.start_with(&flags);
    let mut client = process.endpoint().client();
    let candidates = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates";
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let time = pintle_schema::Time::from_seconds(since.as_secs() as i64).to_string();
        time.replace('Z', ".000000Z")
    };
    let candidate = |name: &str, emulated: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "leaseName": "component", "binaryVersion": "1.36.0", "emulationVersion": emulated, "renewTime": now(),
            "strategy": "OldestEmulationVersion",
        }})
    };
    client.post(candidates, &candidate("new", "1.36.0")).expect_status(201);
    let elected = wait_for("a leader", || found(&mut client, &format!("{leases}/component")));
    assert_eq!(elected["spec"]["holderIdentity"], "new");
    assert_eq!(elected["spec"]["strategy"], "OldestEmulationVersion");
    assert_eq!(elected["metadata"]["annotations"], json!(null));
    // The leader renews its lease; a better candidate is who it should yield to.
    let mut held = elected.clone();
    held["spec"]["renewTime"] = json!(now());
    // Longer than anything is waited for: it does not expire.
    held["spec"]["leaseDurationSeconds"] = json!(3600);
    client.put(&format!("{leases}/component"), &held).expect_status(200);
    client.post(candidates, &candidate("old", "1.35.0")).expect_status(201);
    wait_for("a preferred holder", || {
        // The candidate that was pinged answers.
        for name in ["new", "old"] {
            let path = format!("{candidates}/{name}");
            let mut it = get(&mut client, &path);
            if it["spec"]["pingTime"].is_string() {
                it["spec"]["renewTime"] = json!(now());
                it["spec"].as_object_mut().expect("an object").remove("pingTime");
                let _ = client.put(&path, &it);
            }
        }
        let lease = get(&mut client, &format!("{leases}/component"));
        (lease["spec"]["preferredHolder"] == "old").then(|| assert_eq!(lease["spec"]["holderIdentity"], "new"))
    });
    let own = get(&mut client, &format!("{leases}/leader-election-controller"));
    assert!(own["spec"]["holderIdentity"].as_str().is_some_and(|holder| holder.contains('_')), "{own}");
}

/// Whether a process can have a host name of its own.
fn can_name_hosts() -> bool {
    let tried = Command::new("unshare").args(["--uts", "hostname", "peer"]).status();
    tried.is_ok_and(|status| status.success())
}

/// Two servers on one etcd that show each other the certificate of one front proxy.
struct Pair {
    _etcd: Etcd,
    _installations: [Installation; 2],
    first: Process,
    second: Process,
}

/// Starts a server under a host name, with the certificates of another if there is one.
fn serve(installation: &Installation, host: &str, etcd: &Etcd, credentials: &Credentials, flags: &[&str]) -> Process {
    let command = |port| {
        let plain = installation.command(port);
        let mut command = Command::new("unshare");
        command.args(["--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", host]).arg(plain.get_program());
        command.args(plain.get_args()).current_dir(installation.scratch.path());
        command.args(["--etcd-servers", &etcd.urls(), "--controllers=", "--advertise-address=127.0.0.1"]);
        for (flag, file) in [
            ("--proxy-client-cert-file", "client.crt"),
            ("--proxy-client-key-file", "client.key"),
            ("--requestheader-client-ca-file", "ca.crt"),
        ] {
            command.arg(flag).arg(credentials.file(file));
        }
        command.args(["--requestheader-username-headers=X-Remote-User", "--requestheader-uid-headers=X-Remote-Uid"]);
        command.args([
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        ]);
        command.arg("--peer-ca-file").arg(installation.path("certs/ca.crt"));
        command.args(flags);
        command
    };
    start(command, &installation.path("certs"))
}

impl Pair {
    fn start(first: &[&str], second: &[&str]) -> Option<Pair> {
        let etcd = Etcd::start(program("3.5")?, 1);
        if !can_name_hosts() {
            eprintln!("skipped: this user may not name hosts");
            return None;
        }
        let credentials = Credentials::new();
        let installations = [Installation::own(), Installation::own()];
        // One authority signs the serving certificates of both.
        drop(installations[0].start_with(&["--storage=memory", "--controllers="]));
        fs::create_dir_all(installations[1].path("certs")).expect("a folder");
        for entry in fs::read_dir(installations[0].path("certs")).expect("certificates") {
            let entry = entry.expect("a file");
            fs::copy(entry.path(), installations[1].path("certs").join(entry.file_name())).expect("a copy");
        }
        let first = serve(&installations[0], "peer-a", &etcd, &credentials, first);
        let second = serve(&installations[1], "peer-b", &etcd, &credentials, second);
        Some(Pair { _etcd: etcd, _installations: installations, first, second })
    }
}

#[test]
fn a_request_goes_to_the_server_that_has_the_resource() {
    let Some(pair) = Pair::start(&[], &["--runtime-config=resource.k8s.io/v1beta2=true"]) else { return };
    let Pair { first, mut second, _etcd, _installations } = pair;
    let mut client = first.endpoint().client();
    let list = wait_for("the peer's discovery", || found(&mut client, CLASSES));
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("DeviceClassList"), &json!("resource.k8s.io/v1beta2")));
    let class = json!({"metadata": {"name": "a"}, "spec": {}});
    let made = client.post(CLASSES, &class).expect_status(201);
    assert_eq!(made["apiVersion"], "resource.k8s.io/v1beta2");
    assert_eq!(
        get(&mut client, "/apis/resource.k8s.io/v1/deviceclasses/a")["metadata"]["uid"],
        made["metadata"]["uid"]
    );
    // A user is authorized as on the other server.
    let mut nobody = Endpoint { token: Some(NOBODY_TOKEN.to_owned()), ..first.endpoint() }.client();
    let forbidden = nobody.get(CLASSES).expect_status(403);
    assert!(forbidden["message"].as_str().is_some_and(|why| why.contains("User \"nobody\"")), "{forbidden}");
    // Discovery shows what both serve, unless that of one server is asked for.
    let versions = |accept: &str| {
        let list = get(&mut first.endpoint().client().with_header("accept", accept), "/apis");
        let groups = list["items"].as_array().expect("a list").clone();
        let group =
            groups.iter().find(|group| group["metadata"]["name"] == "resource.k8s.io").expect("a group").clone();
        let versions = group["versions"].as_array().expect("a list").iter().map(|it| it["version"].clone());
        versions.collect::<Vec<_>>()
    };
    assert_eq!(versions(AGGREGATED), ["v1", "v1beta2"]);
    assert_eq!(versions(AGGREGATED), ["v1", "v1beta2"]);
    assert_eq!(versions(&format!("{AGGREGATED};profile=nopeer")), ["v1"]);
    let local = metric(&mut client, "aggregator_discovery_nopeer_requests_total");
    assert!(local.is_some_and(|count| count >= 1.0), "{local:?}");
    let rerouted = "apiserver_rerouted_request_total{code=\"201\",group=\"resource.k8s.io\",version=\"v1beta2\",resource=\"deviceclasses\"}";
    assert_eq!(metric(&mut client, rerouted), Some(1.0));
    // A request that was passed on is not passed on again, and what no server has is not found.
    let mut passed_on = first.endpoint().client().with_header("x-kubernetes-peer-proxied", "true");
    assert_eq!(status(&mut passed_on, CLASSES), 404);
    assert_eq!(status(&mut client, "/apis/resource.k8s.io/v1beta2/nothing"), 404);
    assert_eq!(status(&mut client, "/apis/example.com/v1/nothing"), 404);
    // A server that is gone harms those only who ask for what it alone has.
    second.kill();
    assert_eq!(status(&mut client, CLASSES), 503);
    assert_eq!(status(&mut client, "/apis/resource.k8s.io/v1/deviceclasses"), 200);
}
