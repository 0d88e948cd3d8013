//! Resource quotas on a whole server: many concurrent writers at a limit, and the charge of each kind of write. Guarantees that
//! usage equals the stored objects, in whatever order writers commit. Must never depend on timing: only totals are compared.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client};
use crate::common::in_process::InProcess;
use crate::common::process::Installation;
use crate::common::{resource_version, stores, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

const QUOTAS: &str = "/api/v1/namespaces/kube-public/resourcequotas";
const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-public/configmaps";
const SERVICES: &str = "/api/v1/namespaces/kube-public/services";

/// Makes a quota that is in effect, with nothing in use.
fn quota(client: &mut Client, name: &str, hard: &Value) {
    let quota = json!({"metadata": {"name": name}, "spec": {"hard": hard}});
    client.post(QUOTAS, &quota).expect_status(201);
    let used: Value = hard.as_object().expect("amounts").keys().map(|name| (name.clone(), json!("0"))).collect();
    let status = json!({"status": {"hard": hard, "used": used}}).to_string();
    let path = format!("{QUOTAS}/{name}/status");
    client.send("PATCH", &path, "application/merge-patch+json", status.as_bytes()).expect_status(200);
}

fn used(client: &mut Client, name: &str) -> Value {
    client.get(&format!("{QUOTAS}/{name}")).expect_status(200)["status"]["used"].clone()
}

fn config_map(client: &mut Client, name: &str, query: &str) -> Answer {
    loop {
        let object = json!({"metadata": {"name": name}});
        let answer = client.post(&format!("{CONFIG_MAPS}{query}"), &object).answer();
        // One user may not have this many requests in flight.
        if answer.status != 429 {
            return answer;
        }
    }
}

#[test]
fn a_limit_for_a_resource_that_is_defined_later_is_in_effect() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    let limits =
        |client: &mut Client| client.get(&format!("{QUOTAS}/later")).expect_status(200)["status"]["hard"].clone();
    let hard = json!({"count/shelves.example.com": "1"});
    let later = json!({"metadata": {"name": "later"}, "spec": {"hard": hard}});
    client.post(QUOTAS, &later).expect_status(201);
    wait_for("the limits in the status", || (limits(&mut client) == hard).then_some(()));
    let definition = json!({"metadata": {"name": "shelves.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "shelves", "kind": "Shelf"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    }});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(definitions, &definition).expect_status(201);
    let none = json!({"count/shelves.example.com": "0"});
    wait_for("the usage", || (used(&mut client, "later") == none).then_some(()));
    let mut create = |name: &str| {
        let shelf = json!({"apiVersion": "example.com/v1", "kind": "Shelf", "metadata": {"name": name}});
        client.post("/apis/example.com/v1/namespaces/kube-public/shelves", &shelf).answer()
    };
    create("a").expect(201);
    let refused = create("b").expect(403);
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.contains("exceeded quota: later, requested: count/shelves.example.com=1"), "{message}");
}

#[test]
fn many_writers_at_a_limit() {
    const WRITERS: usize = 64;
    const EACH: usize = 4;
    const LIMIT: usize = 100;
    let server = InProcess::start();
    let mut client = server.client();
    quota(&mut client, "exact", &json!({"configmaps": LIMIT.to_string(), "count/configmaps": "1000"}));
    let created: usize = std::thread::scope(|scope| {
        let server = &server;
        let write = |writer: usize| {
            let mut client = server.client();
            let mut created = 0;
            for turn in 0..EACH {
                let answer = config_map(&mut client, &format!("c-{writer}-{turn}"), "");
                match answer.status {
                    201 => created += 1,
                    403 => {
                        let message = answer.json()["message"].to_string();
                        assert!(message.contains("exceeded quota: exact, requested: configmaps=1"), "{message}");
                    }
                    _ => panic!("{}", answer.text()),
                }
            }
            created
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    let list = client.get(CONFIG_MAPS).expect_status(200);
    let stored = list["items"].as_array().expect("items");
    assert_eq!((created, stored.len()), (LIMIT, LIMIT));
    assert_eq!(used(&mut client, "exact"), json!({"configmaps": "100", "count/configmaps": "100"}));
    // A watch may resume after any of them, though several are charged at once.
    let versions: BTreeSet<String> = stored.iter().map(|object| resource_version(object).to_string()).collect();
    assert_eq!(versions.len(), LIMIT);
    let watch = client.get(&format!("{CONFIG_MAPS}?watch=true&resourceVersion=1&timeoutSeconds=1"));
    let events = watch.answer().text();
    let added = events.lines().filter(|line| line.contains("ADDED") && line.contains("\"c-"));
    assert_eq!(added.count(), LIMIT);
}

#[test]
fn a_quota_is_charged_before_its_object() {
    let server = InProcess::start();
    let mut client = server.client();
    quota(&mut client, "q", &json!({"configmaps": "2"}));
    let object = config_map(&mut client, "a", "").expect(201);
    let quota = client.get(&format!("{QUOTAS}/q")).expect_status(200);
    // Both are stored together. A transaction of etcd has one revision; other stores give the object the one after the quota's.
    let apart = u64::from(!stores::is_etcd());
    assert_eq!(resource_version(&object), resource_version(&quota) + apart);
    // An object that exists already is not charged, wherever the conflict is found.
    assert_eq!(config_map(&mut client, "a", "").status, 409);
    assert_eq!(used(&mut client, "q"), json!({"configmaps": "1"}));
}

#[test]
fn one_name_is_charged_once() {
    const WRITERS: usize = 16;
    const NAMES: usize = 20;
    let installation = Installation::own();
    // Without the controller, which would correct a wrong usage.
    let process = installation.start_with(&["--storage=memory", "--controllers="]);
    let mut client = process.endpoint().client();
    quota(&mut client, "q", &json!({"configmaps": "1000"}));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let process = &process;
        let write = move || {
            let mut client = process.endpoint().client();
            (0..NAMES).map(|at| config_map(&mut client, &format!("same-{at}"), "").status).collect::<Vec<_>>()
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect()
    });
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(201), count(409)), (NAMES, (WRITERS - 1) * NAMES), "{statuses:?}");
    assert_eq!(used(&mut client, "q"), json!({"configmaps": NAMES.to_string()}));
}

#[test]
fn usage_follows_objects_that_come_and_go() {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 12;
    const LIMIT: usize = 6;
    let server = InProcess::start();
    let mut client = server.client();
    let hard = json!({"configmaps": LIMIT.to_string()});
    client.post(QUOTAS, &json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})).expect_status(201);
    let mut wait_for_usage = |expected: usize| {
        let deadline = std::time::Instant::now() + crate::common::DEADLINE;
        while used(&mut client, "q") != json!({"configmaps": expected.to_string()}) {
            assert!(std::time::Instant::now() < deadline, "{expected} expected");
        }
    };
    wait_for_usage(0);
    let (stored, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, stored, most) = (&server, &stored, &most);
            scope.spawn(move || {
                let mut client = server.client();
                for round in 0..ROUNDS {
                    let name = format!("c-{writer}-{round}");
                    if config_map(&mut client, &name, "").status == 201 {
                        most.fetch_max(stored.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        if round + 1 < ROUNDS {
                            stored.fetch_sub(1, Ordering::SeqCst);
                            client.delete(&format!("{CONFIG_MAPS}/{name}")).expect_status(200);
                        }
                    }
                }
            });
        }
    });
    assert!(most.into_inner() <= LIMIT, "more than the limit were stored");
    wait_for_usage(stored.into_inner());
}

#[test]
fn requests_that_store_nothing_are_not_charged() {
    let server = InProcess::start();
    let mut client = server.client();
    quota(&mut client, "q", &json!({"configmaps": "2"}));
    config_map(&mut client, "a", "").expect(201);
    config_map(&mut client, "a", "").expect(409);
    config_map(&mut client, "b", "?dryRun=All").expect(201);
    config_map(&mut client, "Not a name", "").expect(422);
    assert_eq!(used(&mut client, "q"), json!({"configmaps": "1"}));
    config_map(&mut client, "b", "").expect(201);
    for query in ["", "?dryRun=All"] {
        let refused = config_map(&mut client, "c", query).expect(403);
        let why = "configmaps \"c\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: \
                   configmaps=2";
        assert_eq!(refused["message"], why);
    }
    let quota = client.get(&format!("{QUOTAS}/q")).expect_status(200);
    let managers = quota["metadata"]["managedFields"].as_array().expect("managers");
    let server = managers.iter().find(|entry| entry["manager"] == "kube-apiserver").expect("the server's fields");
    assert_eq!(server["subresource"], "status");
    assert_eq!(server["fieldsV1"], json!({"f:status": {"f:used": {"f:configmaps": {}}}}));
}

#[test]
fn updates_are_charged_with_what_they_add() {
    let server = InProcess::start();
    let mut client = server.client();
    quota(&mut client, "q", &json!({"services": "2", "services.nodeports": "2"}));
    let service = |kind: &str, ports: &[u16]| {
        let ports: Vec<Value> = ports.iter().map(|port| json!({"name": format!("p{port}"), "port": port})).collect();
        json!({"metadata": {"name": "s"}, "spec": {"type": kind, "ports": ports}})
    };
    client.post(SERVICES, &service("ClusterIP", &[1, 2])).expect_status(201);
    assert_eq!(used(&mut client, "q"), json!({"services": "1", "services.nodeports": "0"}));
    let path = format!("{SERVICES}/s");
    client.put(&path, &service("NodePort", &[1, 2])).expect_status(200);
    assert_eq!(used(&mut client, "q"), json!({"services": "1", "services.nodeports": "2"}));
    let refused = client.put(&path, &service("NodePort", &[1, 2, 3])).expect_status(403);
    let why = "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: \
               services.nodeports=2, limited: services.nodeports=2";
    assert_eq!(refused["message"], why);
}

#[test]
fn custom_resources_are_counted() {
    let server = InProcess::start();
    let mut client = server.client();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]
        }
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(definitions, &definition).expect_status(201);
    quota(&mut client, "q", &json!({"count/foos.example.com": "1"}));
    let mut create = |name: &str| {
        let foo = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}});
        let path = "/apis/example.com/v1/namespaces/kube-public/foos";
        // The resource is installed a moment after its definition.
        let deadline = std::time::Instant::now() + crate::common::DEADLINE;
        loop {
            let answer = client.post(path, &foo).answer();
            if answer.status != 404 || std::time::Instant::now() > deadline {
                return answer;
            }
        }
    };
    create("a").expect(201);
    let refused = create("b").expect(403);
    let why = "foos.example.com \"b\" is forbidden: exceeded quota: q, requested: count/foos.example.com=1, used: \
               count/foos.example.com=1, limited: count/foos.example.com=1";
    assert_eq!(refused["message"], why);
}
