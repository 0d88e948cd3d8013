//! What some users' expensive requests cost others: 64 clients of three users send all of them at once, while a fourth user's short
//! requests are timed. Guarantees that the figures at rest and under load are from one server. Must never run with the tests.
//!
//! `cargo bench -p pintle-cli --bench neighbours`; with `PINTLE_TEST_PROGRAM` another build of the server is measured. Run it on a machine
//! that does nothing else: client and server share its processors.

#[path = "../tests/whole_server/common/mod.rs"]
mod common;

use common::http::{Client, Endpoint, JSON, MERGE_PATCH};
use common::process::{Installation, Process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const GREEDY_USERS: [&str; 3] = ["greedy-a", "greedy-b", "greedy-c"];
const QUIET_USER: &str = "quiet";
const CLIENTS: usize = 64;
const OBJECTS: usize = 5000;
const MEASURED: Duration = Duration::from_secs(15);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// An expensive request: its name, and how a client sends one.
type Expensive = (&'static str, fn(&Endpoint, &mut Client, usize) -> std::io::Result<u16>);

const EXPENSIVE: &[Expensive] = &[
    ("list, 60 KB selector", |_, client, _| status(client.get(&format!("{CONFIG_MAPS}?labelSelector={}", selector())))),
    ("watch from the beginning, 60 KB selector", |_, client, _| {
        status(client.get(&format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&labelSelector={}", selector())))
    }),
    ("list, YAML", |endpoint, _, _| list(endpoint, "application/yaml", "")),
    ("list, indented", |endpoint, _, _| list(endpoint, JSON, "?pretty=1")),
    ("list, protobuf", |endpoint, _, _| list(endpoint, "application/vnd.kubernetes.protobuf", "")),
    ("list, Table", |endpoint, _, _| list(endpoint, "application/json;as=Table;v=v1;g=meta.k8s.io", "")),
    ("list, metadata in YAML", |endpoint, _, _| {
        list(endpoint, "application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "")
    }),
    ("create of 1 MB", |_, client, n| {
        let object = json!({"metadata": {"name": format!("large-{n}")}, "data": {"key": "x".repeat(1_000_000)}});
        status(client.post(&format!("{CONFIG_MAPS}?dryRun=All"), &object))
    }),
    ("create of a pod with 3,000 containers", |_, client, _| {
        let container = |n| json!({"name": format!("c{n}"), "image": "image", "env": [{"name": "a", "value": "b"}]});
        let pod = json!({"metadata": {"generateName": "wide-"}, "spec": {"containers": (0..3000).map(container).collect::<Vec<_>>()}});
        status(client.post(&format!("{PODS}?dryRun=All"), &pod))
    }),
    ("label of an object of 1 MB", |_, client, n| {
        let patch = json!({"metadata": {"labels": {"n": n.to_string()}}});
        let body = patch.to_string();
        status(client.send("PATCH", &format!("{CONFIG_MAPS}/stored-large?dryRun=All"), MERGE_PATCH, body.as_bytes()))
    }),
    ("apply of an object of 1 MB", |_, client, _| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied-large"}, "data": {"key": "x".repeat(1_000_000)}
        });
        let path = format!("{CONFIG_MAPS}/applied-large?dryRun=All&fieldManager=bench&force=true");
        status(client.send("PATCH", &path, "application/apply-patch+yaml", object.to_string().as_bytes()))
    }),
    ("delete of an object with 60,000 finalizers", |_, client, _| {
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
        let path = format!("{CONFIG_MAPS}/many-finalizers?dryRun=All");
        status(client.send("DELETE", &path, JSON, options.to_string().as_bytes()))
    }),
    ("deletecollection, dry run", |_, client, _| {
        status(client.send("DELETE", &format!("{CONFIG_MAPS}?dryRun=All&labelSelector=app%3Da"), JSON, b""))
    }),
    ("OpenAPI version 2", |_, client, _| status(client.get("/openapi/v2"))),
    ("own rules", |_, client, _| {
        let review = json!({"spec": {"namespace": "default"}});
        status(client.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &review))
    }),
];

fn status(answer: std::io::Result<common::http::Answer>) -> std::io::Result<u16> {
    answer.map(|answer| answer.status)
}

fn list(endpoint: &Endpoint, accept: &str, query: &str) -> std::io::Result<u16> {
    status(endpoint.client().with_header("Accept", accept).get(&format!("{CONFIG_MAPS}{query}")))
}

fn selector() -> String {
    (0..4500).map(|n| format!("l{n:05}%21%3Dv")).collect::<Vec<_>>().join(",")
}

fn endpoint(process: &Process, user: &str) -> Endpoint {
    Endpoint { token: Some(format!("{user}-token")), ..process.endpoint() }
}

fn populate(process: &Process) {
    let mut client = process.endpoint().client();
    let users = GREEDY_USERS.iter().chain([&QUIET_USER]);
    let subjects: Vec<Value> =
        users.map(|user| json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"})).collect();
    let role = json!({
        "metadata": {"name": "bench"},
        "rules": [{"apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "pods", "leases"], "verbs": ["*"]}]
    });
    let binding = json!({
        "metadata": {"name": "bench"}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bench"}
    });
    create(&mut client, "/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
    create(&mut client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
    create(&mut client, "/api/v1/namespaces/default/serviceaccounts", &json!({"metadata": {"name": "default"}}));
    for n in 0..OBJECTS {
        let object = json!({
            "metadata": {"name": format!("c{n}"), "labels": {"app": "a", "tier": "b"}}, "data": {"key": "x".repeat(2000)}
        });
        create(&mut client, CONFIG_MAPS, &object);
    }
    let finalizers: Vec<String> = (0..60_000).map(|n| format!("example.com/f{n}")).collect();
    create(&mut client, CONFIG_MAPS, &json!({"metadata": {"name": "many-finalizers", "finalizers": finalizers}}));
    let large = json!({"metadata": {"name": "stored-large"}, "data": {"key": "x".repeat(1_000_000)}});
    create(&mut client, CONFIG_MAPS, &large);
    let lease = json!({"metadata": {"name": "quiet"}, "spec": {"holderIdentity": "quiet"}});
    create(&mut client, "/apis/coordination.k8s.io/v1/namespaces/default/leases", &lease);
}

fn create(client: &mut Client, path: &str, object: &Value) {
    let answer = client.post(path, object).expect("an answer");
    assert_eq!(answer.status, 201, "{path}: {:.300}", answer.text());
}

type ShortRequest<'a> = dyn Fn(&mut Client) -> std::io::Result<u16> + Sync + 'a;

/// The times of the short requests of the fourth user, sorted, by name.
fn short_requests(process: &Process) -> BTreeMap<&'static str, Vec<Duration>> {
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/quiet";
    let get = format!("{CONFIG_MAPS}/c1");
    let renewed = json!({"spec": {"leaseDurationSeconds": 15}}).to_string();
    let kinds: [(&str, &ShortRequest<'_>); 3] = [
        ("/livez", &|client| status(client.get("/livez"))),
        ("get", &|client| status(client.get(&get))),
        ("lease", &|client| status(client.send("PATCH", lease, MERGE_PATCH, renewed.as_bytes()))),
    ];
    let times = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for (name, send) in kinds {
            let times = &times;
            scope.spawn(move || {
                let mut client = endpoint(process, QUIET_USER).client();
                let (began, mut own) = (Instant::now(), Vec::new());
                while began.elapsed() < MEASURED {
                    let sent = Instant::now();
                    assert_eq!(send(&mut client).expect("an answer"), 200, "{name}");
                    own.push(sent.elapsed());
                    thread::sleep(Duration::from_millis(2));
                }
                own.sort_unstable();
                times.lock().expect("no panic").insert(name, own);
            });
        }
    });
    times.into_inner().expect("no panic")
}

fn quantile(times: &[Duration], share: f64) -> f64 {
    let at = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
    times.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

fn report(name: &str, idle: &BTreeMap<&str, Vec<Duration>>, busy: &BTreeMap<&str, Vec<Duration>>) {
    for (kind, times) in busy {
        let (rest, load) = (quantile(&idle[kind], 0.99), quantile(times, 0.99));
        let most = quantile(times, 1.0);
        println!("{name:<44} {kind:<7} {:>6} {rest:>8.2} {load:>8.2} {most:>8.2} {:>7.1}", times.len(), load / rest);
    }
}

/// Runs `measure` while 64 clients send the given requests in turns.
fn under_load<T>(
    process: &Process,
    expensive: &[Expensive],
    measure: impl FnOnce() -> T,
) -> (T, BTreeMap<&'static str, [usize; 2]>) {
    let (ends, answered) = (AtomicBool::new(false), Mutex::new(BTreeMap::new()));
    let measured = thread::scope(|scope| {
        for client_number in 0..CLIENTS {
            let (ends, answered) = (&ends, &answered);
            scope.spawn(move || {
                let user = GREEDY_USERS[client_number % GREEDY_USERS.len()];
                let endpoint = endpoint(process, user);
                let mut client = endpoint.client();
                for turn in client_number.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let (name, send) = expensive[turn % expensive.len()];
                    let is_good = match send(&endpoint, &mut client, turn) {
                        Ok(status) => status < 300,
                        Err(_) => false,
                    };
                    let mut answered = answered.lock().expect("no panic");
                    answered.entry(name).or_insert([0; 2])[usize::from(!is_good)] += 1;
                    drop(answered);
                    if !is_good {
                        thread::sleep(Duration::from_millis(50));
                    }
                }
            });
        }
        thread::sleep(Duration::from_secs(2));
        let measured = measure();
        ends.store(true, Ordering::Relaxed);
        measured
    });
    (measured, answered.into_inner().expect("no panic"))
}

fn main() {
    let installation = Installation::own();
    let users = GREEDY_USERS.iter().chain([&QUIET_USER]).map(|user| format!("{user}-token,{user},{user}\n"));
    let tokens = format!("{},admin,1,\"system:masters\"\n{}", common::process::ADMIN_TOKEN, users.collect::<String>());
    std::fs::write(installation.path("tokens.csv"), tokens).expect("the tokens");
    let process = installation.start_with(&["--controllers=-*"]);
    populate(&process);
    let idle = short_requests(&process);
    println!(
        "{:<44} {:<7} {:>6} {:>8} {:>8} {:>8} {:>7}",
        "load", "request", "count", "idle p99", "p99 ms", "max ms", "ratio"
    );
    let single = std::env::args().any(|argument| argument == "--each");
    for expensive in EXPENSIVE.iter().filter(|_| single) {
        let (busy, _) = under_load(&process, &[*expensive], || short_requests(&process));
        report(expensive.0, &idle, &busy);
    }
    let (busy, answered) = under_load(&process, EXPENSIVE, || short_requests(&process));
    report("all", &idle, &busy);
    println!();
    for (name, [good, refused]) in answered {
        println!("{name:<44} {good:>6} answered {refused:>6} refused");
    }
}
