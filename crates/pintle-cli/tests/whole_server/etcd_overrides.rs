//! Resources in an etcd cluster of their own (`--etcd-servers-overrides`). Guarantees that each test finds the objects in the
//! cluster that the flag names, with that cluster's revisions. Must never compare revisions of two clusters.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::{Installation, Process};
use crate::common::{name, resource_version, wait_for};
use pintle_schema::base64;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// How far the revisions of the second cluster are ahead of those of the main one, which are fewer.
const AHEAD: u64 = 400;

/// Two clusters of one member, and the resources that are in the second.
struct Clusters {
    main: Etcd,
    second: Etcd,
    resources: &'static [&'static str],
}

impl Clusters {
    /// `None` where etcd is not installed.
    fn start(resources: &'static [&'static str]) -> Option<Clusters> {
        let program = program("3.5")?;
        let clusters = Clusters { main: Etcd::start(program.clone(), 1), second: Etcd::start(program, 1), resources };
        for number in 0..AHEAD {
            let put =
                json!({"key": base64::encode(b"/other/key"), "value": base64::encode(number.to_string().as_bytes())});
            clusters.second.call("/v3/kv/put", &put);
        }
        Some(clusters)
    }

    fn serve(&self, installation: &Installation, flags: &[&str]) -> Process {
        let overrides: Vec<_> =
            self.resources.iter().map(|resource| format!("{resource}#{}", self.second.urls())).collect();
        let own = ["--etcd-servers", &self.main.urls(), "--etcd-servers-overrides", &overrides.join(",")];
        installation.start_with(&[&own, flags].concat())
    }
}

/// The keys under a prefix, with the answer's fields.
fn stored(etcd: &Etcd, prefix: &str) -> Vec<(String, Value)> {
    let mut end = prefix.as_bytes().to_vec();
    *end.last_mut().expect("a prefix") += 1;
    let range = json!({"key": base64::encode(prefix.as_bytes()), "range_end": base64::encode(&end)});
    let answer = etcd.call("/v3/kv/range", &range);
    let key = |kv: &Value| base64::decode(kv["key"].as_str().unwrap_or_default()).expect("base64");
    let kvs = answer["kvs"].as_array().cloned().unwrap_or_default();
    kvs.into_iter().map(|kv| (String::from_utf8(key(&kv)).expect("a key"), kv)).collect()
}

fn keys(etcd: &Etcd, prefix: &str) -> Vec<String> {
    stored(etcd, prefix).into_iter().map(|(key, _)| key).collect()
}

fn event(name: &str, namespace: &str) -> Value {
    json!({"metadata": {"name": name}, "involvedObject": {"namespace": namespace}, "reason": "r", "type": "Normal"})
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn list(client: &mut Client, path: &str) -> (u64, Vec<String>) {
    let list = client.get(path).expect_status(200);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    (resource_version(&list), items.iter().map(|item| name(item).to_owned()).collect())
}

#[test]
fn events_are_in_their_own_cluster_with_its_revisions() {
    let Some(clusters) = Clusters::start(&["/events"]) else { return };
    let Clusters { main, second, .. } = &clusters;
    // Was written before the flag was given, and is not read.
    let old = json!({"kind": "Event", "apiVersion": "v1", "metadata": {"name": "old", "namespace": "default"}});
    let put = |etcd: &Etcd, key: &str, value: &[u8]| {
        let put = json!({"key": base64::encode(key.as_bytes()), "value": base64::encode(value)});
        etcd.call("/v3/kv/put", &put);
    };
    put(main, "/registry/events/default/old", old.to_string().as_bytes());
    put(second, "/registry/configmaps/default/other", b"{}");
    let installation = Installation::own();
    let process = clusters.serve(&installation, &["--etcd-db-metric-poll-interval", "100ms"]);
    let mut client = process.endpoint().client();
    let map = client.post(CONFIG_MAPS, &named("a")).expect_status(201);
    let made = client.post(EVENTS, &event("a", "default")).expect_status(201);
    let new = json!({
        "metadata": {"name": "b"}, "regarding": {"namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c", "reportingInstance": "i", "action": "x", "reason": "r", "type": "Normal",
    });
    client.post(NEW_EVENTS, &new).expect_status(201);

    assert_eq!(keys(main, "/registry/events/"), ["/registry/events/default/old"]);
    assert_eq!(keys(second, "/registry/events/"), ["/registry/events/default/a", "/registry/events/default/b"]);
    assert!(keys(main, "/registry/configmaps/default/").contains(&"/registry/configmaps/default/a".to_owned()));
    assert_eq!(keys(second, "/registry/configmaps/"), ["/registry/configmaps/default/other"]);
    let (_, kv) = &stored(second, "/registry/events/default/a")[0];
    assert_eq!(kv["mod_revision"], made["metadata"]["resourceVersion"]);
    assert!(kv["lease"].is_string(), "events go by themselves: {kv}");
    assert!(resource_version(&made) > AHEAD && resource_version(&map) < AHEAD);

    let (version, names) = list(&mut client, EVENTS);
    assert_eq!(
        (names, list(&mut client, NEW_EVENTS)),
        (vec!["a".to_owned(), "b".to_owned()], (version, vec!["a".into(), "b".into()]))
    );
    let (main_version, maps) = list(&mut client, CONFIG_MAPS);
    assert!(
        version > AHEAD
            && main_version < AHEAD
            && maps.contains(&"a".to_owned())
            && !maps.contains(&"other".to_owned())
    );
    // A version of one cluster is of the future, or of the past, in the other.
    let status = |client: &mut Client, path: String| client.get(&path).answer().status;
    assert_eq!(status(&mut client, format!("{EVENTS}?resourceVersion={version}&resourceVersionMatch=Exact")), 200);
    assert_eq!(
        status(&mut client, format!("{CONFIG_MAPS}?resourceVersion={main_version}&resourceVersionMatch=Exact")),
        200
    );
    assert_eq!(status(&mut client, format!("{CONFIG_MAPS}?resourceVersion={version}")), 504);

    // Pages are of one revision of their own cluster.
    let first = client.get(&format!("{EVENTS}?limit=1")).expect_status(200);
    let token = first["metadata"]["continue"].as_str().expect("a token").to_owned();
    client.post(EVENTS, &event("c", "default")).expect_status(201);
    assert_eq!(list(&mut client, &format!("{EVENTS}?limit=5&continue={token}")), (version, vec!["b".to_owned()]));

    // Watches continue from versions of their own cluster, and bookmarks have them.
    let mut events = client.watch(&format!("{EVENTS}?watch=1&resourceVersion={version}")).expect("a watch");
    let mut client = process.endpoint().client();
    let mut maps = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={main_version}")).expect("a watch");
    let mut client = process.endpoint().client();
    let (kind, seen) = events.event();
    assert_eq!((kind.as_str(), name(&seen)), ("ADDED", "c"));
    client.post(CONFIG_MAPS, &named("b")).expect_status(201);
    let (kind, seen) = maps.event();
    assert_eq!((kind.as_str(), name(&seen)), ("ADDED", "b"));
    let listed = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut initial = process.endpoint().client().watch(&format!("{EVENTS}?{listed}")).expect("a watch");
    let bookmark = (0..4).map(|_| initial.event()).find(|(kind, _)| kind == "BOOKMARK").expect("a bookmark");
    assert!(resource_version(&bookmark.1) > AHEAD, "{bookmark:?}");

    // What another program writes there is seen by the next read.
    let copy =
        json!({"kind": "Event", "apiVersion": "v1", "metadata": {"name": "d", "namespace": "default", "uid": "u"}});
    put(second, "/registry/events/default/d", copy.to_string().as_bytes());
    assert_eq!(status(&mut client, format!("{EVENTS}/d")), 200);

    client.delete(&format!("{EVENTS}/a")).expect_status(200);
    assert_eq!(client.delete(EVENTS).answer().status, 200);
    assert_eq!(keys(second, "/registry/events/"), [""; 0]);
    assert_eq!(list(&mut client, EVENTS).1, [""; 0]);
    assert_eq!(keys(main, "/registry/events/").len(), 1, "nobody touches it");
    wait_for("the sizes of both", || {
        let text = client.get("/metrics").answer().text();
        let has = |line: &str| text.lines().any(|found| found.starts_with(line));
        let size = |member| has(&format!("apiserver_storage_size_bytes{{storage_cluster_id=\"etcd-{member}\"}} "));
        (size(0) && size(1) && has("apiserver_storage_objects{resource=\"events\"} 0")).then_some(())
    });
}

#[test]
fn a_dead_second_cluster_harms_only_its_resources() {
    let Some(mut clusters) = Clusters::start(&["/events"]) else { return };
    let installation = Installation::own();
    let process = clusters.serve(&installation, &["--request-timeout", "5s"]);
    let mut client = process.endpoint().client();
    client.post(EVENTS, &event("a", "default")).expect_status(201);
    let version = list(&mut client, EVENTS).0;
    let mut watch =
        process.endpoint().client().watch(&format!("{EVENTS}?watch=1&resourceVersion={version}")).expect("a watch");
    let status = |client: &mut Client, path: &str| client.get(path).answer().status;
    for path in ["/readyz/etcd-override-readiness-0", "/livez/etcd-override-0", "/readyz", "/livez"] {
        assert_eq!(status(&mut client, path), 200, "{path}");
    }
    clusters.second.kill(0);
    wait_for("its being missed", || (status(&mut client, "/readyz") == 500).then_some(()));
    assert_eq!(status(&mut client, "/livez?exclude=etcd-override-0"), 200);
    assert_eq!((status(&mut client, "/readyz/etcd-readiness"), status(&mut client, "/livez/etcd")), (200, 200));
    assert_eq!(status(&mut client, &format!("{EVENTS}?resourceVersion=0")), 200);
    assert!(status(&mut client, EVENTS) >= 500, "it cannot be told whether this is the newest");
    assert!(client.post(EVENTS, &event("b", "default")).answer().status >= 500);
    client.post(CONFIG_MAPS, &named("a")).expect_status(201);
    assert!(list(&mut client, CONFIG_MAPS).1.contains(&"a".to_owned()));
    // A namespace waits for what may be in it.
    client.post("/api/v1/namespaces", &named("gone")).expect_status(201);
    client.delete("/api/v1/namespaces/gone").expect_status(200);

    clusters.second.restart(0);
    clusters.second.wait_until_healthy();
    wait_for("its coming back", || (status(&mut client, "/readyz") == 200).then_some(()));
    client.post(EVENTS, &event("c", "default")).expect_status(201);
    // The create during the outage may or may not have taken place.
    let seen = std::iter::repeat_with(|| watch.event()).find(|(_, seen)| name(seen) == "c");
    assert!(seen.is_some_and(|(kind, _)| kind == "ADDED"), "the watch has gone on");
    wait_for("the end of the namespace", || (status(&mut client, "/api/v1/namespaces/gone") == 404).then_some(()));

    // A restart continues both histories.
    let (version, names) = list(&mut client, EVENTS);
    let main_version = list(&mut client, CONFIG_MAPS).0;
    drop(process);
    let process = clusters.serve(&installation, &[]);
    let mut client = process.endpoint().client();
    assert_eq!(list(&mut client, EVENTS), (version, names));
    client.post(EVENTS, &event("d", "default")).expect_status(201);
    client.post(CONFIG_MAPS, &named("d")).expect_status(201);
    for (path, version) in [(EVENTS, version), (CONFIG_MAPS, main_version)] {
        let mut watch =
            process.endpoint().client().watch(&format!("{path}?watch=1&resourceVersion={version}")).expect("a watch");
        assert!(std::iter::repeat_with(|| watch.event()).any(|(_, seen)| name(&seen) == "d"), "{path}");
    }
}

#[test]
fn a_quota_counts_what_is_in_another_cluster() {
    let Some(clusters) = Clusters::start(&["/secrets"]) else { return };
    let installations = [Installation::own(), Installation::own()];
    let processes = installations.each_ref().map(|installation| clusters.serve(installation, &[]));
    let [mut client, mut other] = processes.each_ref().map(|process| process.endpoint().client());
    let before = list(&mut client, SECRETS).1.len();
    let limit = before + 3;
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/secrets": limit.to_string()}}});
    client.post("/api/v1/namespaces/default/resourcequotas", &quota).expect_status(201);
    let used = |client: &mut Client| {
        let quota = client.get("/api/v1/namespaces/default/resourcequotas/q").expect_status(200);
        quota["status"]["used"]["count/secrets"].as_str().and_then(|used| used.parse::<usize>().ok())
    };
    wait_for("the first count", || used(&mut client).filter(|used| *used == before));
    let mut created = 0;
    for number in 0..5 {
        let client = if number % 2 == 0 { &mut client } else { &mut other };
        let status = client.post(SECRETS, &named(&format!("s{number}"))).answer().status;
        created += usize::from(status == 201);
        assert!(status == 201 || (status == 403 && number > 2), "{number}: {status}");
    }
    assert_eq!((created, used(&mut client)), (3, Some(limit)));
    let in_second = keys(&clusters.second, "/registry/secrets/default/").len();
    assert_eq!((in_second, keys(&clusters.main, "/registry/secrets/")), (limit, Vec::new()));
    client.delete(&format!("{SECRETS}/s0")).expect_status(200);
    wait_for("the count of the deletion", || used(&mut other).filter(|used| *used == limit - 1));
    other.post(SECRETS, &named("again")).expect_status(201);
    assert_eq!(other.post(SECRETS, &named("more")).answer().status, 403);
}

#[test]
fn namespaces_and_owners_take_their_dependents_in_the_other_cluster_along() {
    let Some(clusters) = Clusters::start(&["/events", "/secrets"]) else { return };
    let installations = [Installation::own(), Installation::own()];
    let processes = installations.each_ref().map(|installation| clusters.serve(installation, &[]));
    let [mut client, mut other] = processes.each_ref().map(|process| process.endpoint().client());
    client.post("/api/v1/namespaces", &named("n")).expect_status(201);
    for number in 0..20 {
        let name = format!("e{number}");
        other.post("/api/v1/namespaces/n/events", &event(&name, "n")).expect_status(201);
        other.post("/api/v1/namespaces/n/secrets", &named(&name)).expect_status(201);
    }
    assert_eq!(keys(&clusters.second, "/registry/events/n/").len(), 20);
    client.delete("/api/v1/namespaces/n").expect_status(200);
    wait_for("the end of the namespace", || (other.get("/api/v1/namespaces/n").answer().status == 404).then_some(()));
    let left = [keys(&clusters.second, "/registry/events/n/"), keys(&clusters.second, "/registry/secrets/n/")];
    assert_eq!(left, [Vec::<String>::new(), Vec::new()]);

    for (owner, propagation) in [("background", "Background"), ("foreground", "Foreground")] {
        let made = client.post(CONFIG_MAPS, &named(owner)).expect_status(201);
        let reference = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": made["metadata"]["uid"],
            "blockOwnerDeletion": true,
        }]);
        let dependent = json!({"metadata": {"name": owner, "ownerReferences": reference}});
        // By the other server, which may learn of the owner later than the one that deletes it.
        other.post(SECRETS, &dependent).expect_status(201);
        assert_eq!(other.get(&format!("{SECRETS}/{owner}")).answer().status, 200);
        client.delete(&format!("{CONFIG_MAPS}/{owner}?propagationPolicy={propagation}")).expect_status(200);
        for path in [CONFIG_MAPS, SECRETS] {
            wait_for("the end of both", || {
                (client.get(&format!("{path}/{owner}")).answer().status == 404).then_some(())
            });
        }
    }
}

#[test]
fn values_in_the_other_cluster_are_encrypted() {
    let Some(clusters) = Clusters::start(&["/events", "/secrets"]) else { return };
    let installation = Installation::own();
    let rules = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
                 providers: [aescbc: {keys: [{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}]\n";
    installation.scratch.write("encryption.yaml", rules);
    let process = clusters.serve(&installation, &["--encryption-provider-config", "encryption.yaml"]);
    let mut client = process.endpoint().client();
    client.post(SECRETS, &named("s")).expect_status(201);
    client.post(EVENTS, &event("e", "default")).expect_status(201);
    let value = |key: &str| {
        let (_, kv) = stored(&clusters.second, key).pop().expect("a value");
        base64::decode(kv["value"].as_str().unwrap_or_default()).expect("base64")
    };
    assert!(value("/registry/secrets/default/s").starts_with(b"k8s:enc:aescbc:v1:key1:"));
    assert!(value("/registry/events/default/e").starts_with(b"k8s\0"));
    drop(process);
    let process = clusters.serve(&installation, &["--encryption-provider-config", "encryption.yaml"]);
    let mut client = process.endpoint().client();
    client.get(&format!("{SECRETS}/s")).expect_status(200);
}
