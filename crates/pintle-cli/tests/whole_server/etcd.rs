//! Servers on an etcd of one member: stored objects, several servers, unique allocations. Guarantees that a write acknowledged
//! by one server is visible to the next request on every other, for each version of etcd. Must never need two etcds: each test
//! starts one of each installed version.

use crate::common::credentials::Credentials;
use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, Process, start};
use crate::common::{resource_version, wait_for};
use pintle_schema::base64;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVICES: &str = "/api/v1/namespaces/default/services";

/// Runs a test on each version.
fn on_each_version(test: fn(&mut Etcd)) {
    for version in ["3.5", "3.4"] {
        if let Some(program) = program(version) {
            test(&mut Etcd::start(program, 1));
        }
    }
}

fn serve(etcd: &Etcd, installation: &Installation, flags: &[&str]) -> Process {
    installation.start_with(&[&["--etcd-servers", &etcd.urls()], flags].concat())
}

/// A server with a given advertised address.
fn server(etcd: &Etcd, address: &str) -> (Installation, Process) {
    let installation = Installation::own();
    let process = serve(etcd, &installation, &["--advertise-address", address]);
    (installation, process)
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": value}})
}

/// The values under a prefix, with their keys.
fn stored(etcd: &Etcd, prefix: &str) -> Vec<(String, Vec<u8>, Value)> {
    let mut end = prefix.as_bytes().to_vec();
    *end.last_mut().expect("a prefix") += 1;
    let range = json!({"key": base64::encode(prefix.as_bytes()), "range_end": base64::encode(&end)});
    let answer = etcd.call("/v3/kv/range", &range);
    let text = |kv: &Value, field: &str| base64::decode(kv[field].as_str().unwrap_or_default()).expect("base64");
    let kvs = answer["kvs"].as_array().cloned().unwrap_or_default();
    kvs.into_iter().map(|kv| (String::from_utf8(text(&kv, "key")).expect("a key"), text(&kv, "value"), kv)).collect()
}

#[test]
fn a_member_may_be_reached_over_a_socket_of_this_machine() {
    let Some(program) = program("3.5") else { return };
    let installation = Installation::own();
    let socket = installation.path("etcd.sock");
    let etcd = Etcd::start_at_socket(program, socket.clone());
    let process = installation.start_with(&[format!("--etcd-servers=unix://{}", socket.display())]);
    let mut client = process.endpoint().client();
    client.post(CONFIG_MAPS, &config_map("a", "b")).expect_status(201);
    assert_eq!(stored(&etcd, "/registry/configmaps/default/a").len(), 1);
    client.get(&format!("{CONFIG_MAPS}/a")).expect_status(200);
}

#[test]
fn objects_are_stored_as_the_reference_stores_them() {
    on_each_version(|etcd| {
        let installation = Installation::own();
        let process = serve(etcd, &installation, &["--etcd-prefix", "/one/cluster"]);
        let mut client = process.endpoint().client();
        let made = client.post(CONFIG_MAPS, &config_map("a", "b")).expect_status(201);
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal"});
        client.post("/api/v1/namespaces/default/events", &event).expect_status(201);

        let found = stored(etcd, "/one/cluster/configmaps/default/");
        let [(key, value, kv)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(key, "/one/cluster/configmaps/default/a");
        assert!(value.starts_with(b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12"), "{}", value.escape_ascii());
        assert_eq!(kv["mod_revision"], made["metadata"]["resourceVersion"]);
        assert!(kv["lease"].is_null());
        let events = stored(etcd, "/one/cluster/events/default/e");
        assert!(events[0].2["lease"].is_string(), "events go by themselves: {events:?}");
        let services = stored(etcd, "/one/cluster/apiregistration.k8s.io/apiservices/v1.apps");
        assert!(services[0].1.starts_with(br#"{"kind":"APIService","#) && services[0].1.ends_with(b"}\n"));
        assert!(stored(etcd, "/registry").is_empty(), "all is under the prefix");

        // What another program writes is an object like any other.
        let mut copy = value.clone();
        let name = copy.windows(4).position(|bytes| bytes == b"\n\x01a\x12").expect("its name");
        copy[name + 2] = b'c';
        let key = base64::encode(b"/one/cluster/configmaps/default/c");
        etcd.call("/v3/kv/put", &json!({"key": key, "value": base64::encode(&copy)}));
        let other = client.get(&format!("{CONFIG_MAPS}/c")).expect_status(200);
        assert_eq!((&other["data"], &other["metadata"]["name"]), (&made["data"], &json!("c")));
        assert!(resource_version(&other) > resource_version(&made));
    });
}

#[test]
fn a_no_op_update_rewrites_values_in_another_encoding() {
    on_each_version(|etcd| {
        let (_installation, process) = server(etcd, "10.1.0.1");
        let mut client = process.endpoint().client();
        let store = |key: &str, object: &Value| {
            let (key, value) = (base64::encode(key.as_bytes()), base64::encode(object.to_string().as_bytes()));
            etcd.call("/v3/kv/put", &json!({"key": key, "value": value}));
        };
        let mut write = |path: &str, query: &str| {
            let object = client.get(path).expect_status(200);
            let written = client.put(&format!("{path}{query}"), &object).expect_status(200);
            let is_new = resource_version(&written) > resource_version(&object);
            assert_eq!(is_new, client.get(path).expect_status(200) != object);
            is_new
        };
        let metadata =
            json!({"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"});
        for (key, path, object) in [
            (
                "/registry/configmaps/default/a",
                format!("{CONFIG_MAPS}/a"),
                json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"k": "v"}}),
            ),
            (
                "/registry/horizontalpodautoscalers/default/a",
                "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/a".to_owned(),
                json!({"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": {
                    "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}
                }}),
            ),
        ] {
            store(key, &object);
            assert!(!write(&path, "?dryRun=All"));
            assert!(write(&path, "") && stored(etcd, key)[0].1.starts_with(b"k8s\0"));
            assert!(!write(&path, ""), "once");
        }
    });
}

#[test]
fn acknowledged_writes_are_visible_on_every_server() {
    on_each_version(|etcd| {
        let (_a, a) = server(etcd, "10.1.0.1");
        let (_b, b) = server(etcd, "10.1.0.2");
        let (mut a, mut b) = (a.endpoint().client(), b.endpoint().client());
        for round in 0..30 {
            let (name, path) = (format!("n{round}"), format!("{CONFIG_MAPS}/n{round}"));
            let made = a.post(CONFIG_MAPS, &config_map(&name, "1")).expect_status(201);
            assert_eq!(b.get(&path).expect_status(200), made);
            assert_eq!(b.post(CONFIG_MAPS, &config_map(&name, "2")).answer().status, 409);
            let list = b.get(CONFIG_MAPS).expect_status(200);
            assert!(resource_version(&list) >= resource_version(&made));
            let items = list["items"].as_array().expect("items");
            assert!(items.iter().any(|item| item["metadata"] == made["metadata"]), "{made} in {list}");
            let mut changed = made.clone();
            changed["data"]["value"] = "3".into();
            let changed = b.put(&path, &changed).expect_status(200);
            assert_eq!(a.put(&path, &made).answer().status, 409, "it was changed elsewhere");
            // A patch that names no version is made on what is there now.
            let patch = br#"{"data":{"more":"4"}}"#;
            let patched = a.send("PATCH", &path, crate::common::http::MERGE_PATCH, patch).expect_status(200);
            assert_eq!(patched["data"], json!({"value": "3", "more": "4"}));
            assert!(resource_version(&patched) > resource_version(&changed));
            b.delete(&path).expect_status(200);
            assert_eq!(a.get(&path).answer().status, 404);
            assert_eq!(a.delete(&path).answer().status, 404);
        }
    });
}

/// The published addresses of the servers.
fn advertised(endpoint: &Endpoint) -> Vec<String> {
    let endpoints = endpoint.client().get("/api/v1/namespaces/default/endpoints/kubernetes");
    let endpoints = endpoints.expect_status(200);
    let addresses = endpoints["subsets"][0]["addresses"].as_array().expect("addresses").iter();
    addresses.map(|address| address["ip"].as_str().expect("an address").to_owned()).collect()
}

#[test]
fn servers_are_advertised_while_they_are_there() {
    on_each_version(|etcd| {
        let (_a, a) = server(etcd, "10.1.0.1");
        assert_eq!(advertised(&a.endpoint()), ["10.1.0.1"]);
        let (_b, mut b) = server(etcd, "10.1.0.2");
        assert_eq!(advertised(&b.endpoint()), ["10.1.0.1", "10.1.0.2"]);
        assert_eq!(advertised(&a.endpoint()), ["10.1.0.1", "10.1.0.2"]);
        assert!(stored(etcd, "/registry/masterleases/").iter().all(|(_, value, kv)| {
            value.starts_with(b"k8s\0\n\x0f\n\x02v1\x12\tEndpoints") && kv["lease"].is_string()
        }));
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases\
                      ?labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver";
        let leases = a.endpoint().client().get(leases).expect_status(200);
        assert_eq!(leases["items"].as_array().map(Vec::len), Some(1), "an identity is of a host");
        b.signal("TERM");
        wait_for("its end", || b.exit_status());
        assert_eq!(advertised(&a.endpoint()), ["10.1.0.1"]);
    });
}

#[test]
fn servers_that_start_together_agree_on_the_first_objects() {
    on_each_version(|etcd| {
        let servers: Vec<_> = std::thread::scope(|scope| {
            let addresses = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];
            let starts = addresses.map(|address| scope.spawn(|| server(etcd, address)));
            starts.into_iter().map(|start| start.join().expect("a server")).collect()
        });
        let roles = |process: &Process| {
            let roles = process.endpoint().client().get("/apis/rbac.authorization.k8s.io/v1/clusterroles");
            roles.expect_status(200)["items"].clone()
        };
        let first = roles(&servers[0].1);
        assert!(first.as_array().is_some_and(|roles| roles.len() > 50));
        for (_, process) in &servers {
            assert_eq!(roles(process), first);
            assert_eq!(advertised(&process.endpoint()), ["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
        }
    });
}

#[test]
fn history_is_given_up_by_one_of_the_servers() {
    on_each_version(|etcd| {
        let installation = [Installation::own(), Installation::own()];
        let flags = ["--etcd-compaction-interval", "300ms"];
        let servers = installation.each_ref().map(|installation| serve(etcd, installation, &flags));
        let compacted = || {
            let range = json!({"key": "YQ==", "revision": 2});
            let answer = etcd.try_call("/v3/kv/range", &range);
            answer.is_some_and(|text| text.contains("has been compacted"))
        };
        let mut client = servers[0].endpoint().client();
        let made = client.post(CONFIG_MAPS, &config_map("a", "b")).expect_status(201);
        wait_for("compaction", || compacted().then_some(()));
        // Neither server needs what is gone.
        for server in &servers {
            let found = server.endpoint().client().get(&format!("{CONFIG_MAPS}/a")).expect_status(200);
            assert_eq!(found, made);
        }
        assert_eq!(stored(etcd, "compact_rev_key").len(), 1);
    });
}

#[test]
fn no_address_and_no_port_is_given_twice() {
    const EACH: usize = 8;
    on_each_version(|etcd| {
        let servers = [server(etcd, "10.1.0.1"), server(etcd, "10.1.0.2")];
        let create = |endpoint: &Endpoint, thread: usize| {
            let mut client = endpoint.client();
            (0..EACH).map(move |number| {
                let service = json!({"metadata": {"name": format!("s{thread}-{number}")}, "spec": {
                    "type": "NodePort", "ports": [{"port": 80}]
                }});
                client.post(SERVICES, &service).expect_status(201)
            })
        };
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let endpoint = servers[thread % 2].1.endpoint();
                std::thread::spawn(move || create(&endpoint, thread).collect::<Vec<_>>())
            })
            .collect();
        let made: Vec<Value> = threads.into_iter().flat_map(|thread| thread.join().expect("services")).collect();
        let distinct = |pointer: &str| {
            made.iter().map(|service| service.pointer(pointer).expect("given").to_string()).collect::<BTreeSet<_>>()
        };
        assert_eq!(distinct("/spec/clusterIP").len(), 4 * EACH);
        assert_eq!(distinct("/spec/ports/0/nodePort").len(), 4 * EACH);
        // The map that the servers share has them all, and gives them back.
        let given = || {
            let found = stored(etcd, "/registry/ranges/servicenodeports");
            let value = found[0].1.clone();
            let data = value.rsplit(|byte| *byte == 0x1a).next().expect("the map").to_vec();
            data.iter().skip(1).map(|byte| byte.count_ones()).sum::<u32>()
        };
        assert!(given() >= 1, "a map");
        for (number, service) in made.iter().enumerate() {
            let path = format!("{SERVICES}/{}", crate::common::name(service));
            servers[number % 2].1.endpoint().client().delete(&path).expect_status(200);
        }
        let port = made[0]["spec"]["ports"][0]["nodePort"].clone();
        let again = json!({"metadata": {"name": "again"}, "spec": {
            "type": "NodePort", "ports": [{"port": 80, "nodePort": port}]
        }});
        servers[1].1.endpoint().client().post(SERVICES, &again).expect_status(201);
    });
}

#[test]
fn a_quota_is_exact_with_two_servers() {
    const WRITERS: usize = 64;
    const EACH: usize = 2;
    const LIMIT: usize = 70;
    on_each_version(|etcd| {
        let servers = [server(etcd, "10.1.0.1"), server(etcd, "10.1.0.2")];
        let mut client = servers[0].1.endpoint().client();
        const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
        let hard = json!({"configmaps": LIMIT.to_string()});
        client.post(QUOTAS, &json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})).expect_status(201);
        let status = |client: &mut Client| {
            let quota = client.get(&format!("{QUOTAS}/q")).expect_status(200);
            quota["status"]["used"]["configmaps"].as_str().and_then(|used| used.parse::<usize>().ok())
        };
        let before = wait_for("the quota is in effect", || status(&mut client));
        // A read shows the other server what it may not know yet. What it created before would not be charged.
        assert_eq!(status(&mut servers[1].1.endpoint().client()), Some(before));
        let write = |endpoint: Endpoint, writer: usize| {
            let mut client = endpoint.client();
            let mut created = 0;
            for turn in 0..EACH {
                let object = config_map(&format!("q{writer}-{turn}"), "x");
                created += loop {
                    match client.post(CONFIG_MAPS, &object).answer().status {
                        201 => break 1,
                        403 => break 0,
                        429 => {}
                        status => panic!("{status}"),
                    }
                };
            }
            created
        };
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let endpoint = servers[writer % 2].1.endpoint();
                std::thread::spawn(move || write(endpoint, writer))
            })
            .collect();
        let created: usize = writers.into_iter().map(|writer| writer.join().expect("no panic")).sum();
        assert_eq!(created, LIMIT - before);
        let list = client.get(CONFIG_MAPS).expect_status(200);
        assert_eq!(list["items"].as_array().map(Vec::len), Some(LIMIT));
        assert_eq!(status(&mut client), Some(LIMIT));
    });
}

#[test]
fn a_server_without_its_etcd_is_not_ready() {
    on_each_version(|etcd| {
        let (_installation, process) = server(etcd, "10.1.0.1");
        let mut client = process.endpoint().client();
        let mut status = |path: &str| client.get(path).answer().status;
        assert_eq!((status("/readyz/etcd-readiness"), status("/livez/etcd"), status("/readyz")), (200, 200, 200));
        etcd.kill(0);
        wait_for("its being missed", || (status("/readyz") == 500).then_some(()));
        assert_eq!((status("/livez"), status("/livez?exclude=etcd")), (500, 200));
        // What need not be the newest is shown all the same.
        assert_eq!(status(&format!("{CONFIG_MAPS}?resourceVersion=0")), 200);
        etcd.restart(0);
        wait_for("its coming back", || (status("/readyz") == 200).then_some(()));
        assert_eq!(status(CONFIG_MAPS), 200);
    });
}

#[test]
fn a_server_that_waits_for_its_etcd_ends_when_it_is_told_to() {
    let installation = Installation::own();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("its address"));
    let mut command = installation.command(crate::common::process::free_port());
    let mut server = command.args(["--etcd-servers", &url]).spawn().expect("it starts");
    let _asked = silent.accept().expect("a call");
    let sent = Command::new("kill").args(["-s", "TERM", &server.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    // By itself it would give up, and complain.
    assert_eq!(server.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_rejected_client_certificate_is_reported() {
    let Some(program) = program("3.5") else { return };
    let (ours, theirs) = (Credentials::new(), Credentials::new());
    let etcd = &Etcd::start_secured(program, &ours);
    let flags = |authority: &Credentials, client: Option<&Credentials>| {
        let mut flags = vec!["--etcd-cafile".to_owned(), text(authority.file("ca.crt"))];
        if let Some(client) = client {
            flags.extend(["--etcd-certfile".to_owned(), text(client.file("client.crt"))]);
            flags.extend(["--etcd-keyfile".to_owned(), text(client.file("client.key"))]);
        }
        flags
    };
    let right = flags(&ours, Some(&ours));
    let installation = Installation::own();
    let process = serve(etcd, &installation, &right.iter().map(String::as_str).collect::<Vec<_>>());
    let mut client = process.endpoint().client();
    client.post(CONFIG_MAPS, &config_map("a", "b")).expect_status(201);
    assert_eq!(stored_names(&process), ["a"]);

    // Who names no authority believes those of the system.
    let believing = |system: &Credentials, installation: &Installation, flags: &[String], port| {
        let mut command = installation.command(port);
        command.args(["--etcd-servers", &etcd.urls()]).args(flags);
        command.env("SSL_CERT_FILE", system.file("ca.crt")).env_remove("SSL_CERT_DIR");
        command
    };
    let installation = Installation::own();
    let process = start(|port| believing(&ours, &installation, &right[2..], port), &installation.path("certs"));
    assert_eq!(stored_names(&process), ["a"]);

    std::thread::scope(|scope| {
        for (flags, complaint) in [
            (flags(&theirs, Some(&ours)), "invalid peer certificate: UnknownIssuer"),
            (right[2..].to_vec(), "invalid peer certificate: UnknownIssuer"),
            // What a member says before it hangs up may be lost.
            (flags(&ours, Some(&theirs)), "connection error: "),
            (flags(&ours, None), "connection error: "),
        ] {
            let theirs = &theirs;
            scope.spawn(move || {
                let installation = Installation::own();
                let port = crate::common::process::free_port();
                let ended = believing(theirs, &installation, &flags, port).output().expect("it ends");
                let said = String::from_utf8_lossy(&ended.stderr);
                assert!(!ended.status.success() && said.contains(complaint), "{flags:?}: {said}");
                assert!(said.contains("cannot be read: "), "{said}");
            });
        }
    });
}

#[test]
fn a_server_needs_no_right_to_more_than_its_prefix() {
    let Some(program) = program("3.5") else { return };
    let credentials = Credentials::new();
    let mut etcd = Etcd::start_secured(program, &credentials);
    let range =
        json!({"permType": "READWRITE", "key": base64::encode(b"/one/"), "range_end": base64::encode(b"/one0")});
    for (call, body) in [
        ("role/add", json!({"name": "server"})),
        ("role/grant", json!({"name": "server", "perm": range})),
        ("user/add", json!({"name": "client", "options": {"no_password": true}})),
        ("user/grant", json!({"user": "client", "role": "server"})),
        ("user/add", json!({"name": "root", "password": "root"})),
        ("user/grant", json!({"user": "root", "role": "root"})),
        ("enable", json!({})),
    ] {
        etcd.call(&format!("/v3/auth/{call}"), &body);
    }
    let trust = |authority: &Credentials| {
        std::fs::copy(authority.file("ca.crt"), credentials.file("trusted.crt")).expect("a copy");
    };
    trust(&credentials);
    let [authority, certificate, key] =
        ["trusted.crt", "client.crt", "client.key"].map(|name| text(credentials.file(name)));
    let right = ["--etcd-cafile", &authority, "--etcd-certfile", &certificate, "--etcd-keyfile", &key];
    let (installation, flags) = (Installation::own(), [&right[..], &["--etcd-prefix", "/one"]].concat());
    let mut process = serve(&etcd, &installation, &flags);
    for name in ["a", "b"] {
        let mut client = process.endpoint().client();
        client.post(CONFIG_MAPS, &config_map(name, "")).expect_status(201);
        let event = json!({"metadata": {"name": name}, "involvedObject": {"namespace": "default"}, "type": "Normal"});
        client.post("/api/v1/namespaces/default/events", &event).expect_status(201);
        assert_eq!(client.get("/readyz").answer().status, 200);
        process.kill();
        process = serve(&etcd, &installation, &flags);
    }
    assert_eq!(stored_names(&process), ["a", "b"]);

    // The certificate is the one that is in the files when a connection is made.
    let copy = |from: &str, to: &str| {
        for kind in ["crt", "key"] {
            let file = |name: &str| credentials.file(&format!("{name}.{kind}"));
            std::fs::copy(file(from), file(to)).expect("a copy");
        }
    };
    copy("client", "kept");
    for (name, status) in [("server", 500), ("kept", 200)] {
        copy(name, "client");
        etcd.kill(0);
        etcd.restart(0);
        wait_for("an answer", || {
            let answer = process.endpoint().client().get(CONFIG_MAPS).answer();
            let is_told = status == 200 || answer.text().contains("permission denied");
            (answer.status == status && is_told).then_some(())
        });
    }
    // So is the authority.
    let status = || process.endpoint().client().get(CONFIG_MAPS).answer().status;
    trust(&Credentials::new());
    etcd.kill(0);
    etcd.restart(0);
    wait_for("a refusal of the member", || (status() != 200).then_some(()));
    trust(&credentials);
    wait_for("an answer", || (status() == 200).then_some(()));
}

fn text(path: std::path::PathBuf) -> String {
    path.into_os_string().into_string().expect("a path")
}

fn stored_names(process: &Process) -> Vec<String> {
    let list = process.endpoint().client().get(CONFIG_MAPS).expect_status(200);
    let names = list["items"].as_array().expect("items").iter().map(crate::common::name);
    names.filter(|name| *name != "kube-root-ca.crt").map(str::to_owned).collect()
}
