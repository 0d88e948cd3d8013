//! A dry run changes nothing: thousands of them, over every verb, patch type and subresource of many kinds, on a store that
//! counts transactions. Guarantees that no transaction reaches the store, and that no address or port is reserved in memory.
//! Must never accept a server that rejects everything: successes are counted too.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, YAML};
use crate::common::name;
use pintle::{Builder, Serving};
use pintle_resource::{Action, Resource};
use pintle_storage::{
    CommitFuture, CompactFuture, Key, MemoryStore, Observer, Record, Revision, Started, Store, StoreError, Transaction,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Everything that a store holds: each key's revision and value, and the revision of the whole.
#[derive(Default, Hash)]
struct Contents {
    values: BTreeMap<Key, (Revision, Vec<u8>)>,
    revision: Revision,
}

/// A store that counts its transactions.
#[derive(Clone, Default)]
struct Spied {
    inner: Arc<MemoryStore>,
    contents: Arc<Mutex<Contents>>,
    commits: Arc<AtomicU64>,
}

impl Spied {
    /// The number of transactions.
    fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).hash(&mut hasher);
        hasher.finish()
    }
}

impl Store for Spied {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.inner.start(Box::new(Spy { inner: observer, contents: self.contents.clone() }))
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.inner.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.inner.compact(revision)
    }

    fn close(&self) {
        self.inner.close();
    }
}

struct Spy {
    inner: Box<dyn Observer>,
    contents: Arc<Mutex<Contents>>,
}

impl Observer for Spy {
    fn replay(&mut self, record: Record, history: bool) {
        self.inner.replay(record, history);
    }

    fn replayed(&mut self, started: Started) {
        self.inner.replayed(started);
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            match &record.value {
                Some(value) => contents.values.insert(record.key.clone(), (record.revision, value.to_vec())),
                None => contents.values.remove(&record.key),
            };
        }
        contents.revision = revision;
        drop(contents);
        self.inner.publish(records, revision);
    }
}

/// A server without controllers, which would write when they like.
struct Quiet {
    store: Spied,
    server: Option<Serving>,
    runtime: Runtime,
    client: Client,
}

impl Quiet {
    fn start() -> Quiet {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let store = Spied::default();
        let mut builder = Builder::new(Arc::new(store.clone()));
        builder.controllers().enabled.clear();
        builder.controllers().conditions = false;
        let server = runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
            builder.start(listener).await.expect("a server")
        });
        let mut client = Endpoint { address: server.address(), tls: None, token: None }.client();
        // Pods need it, and it is a controller that would make it.
        let account = json!({"metadata": {"name": "default"}});
        client.post("/api/v1/namespaces/default/serviceaccounts", &account).expect_status(201);
        Quiet { store, server: Some(server), runtime, client }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // A test that failed has said why already.
            let _ = self.runtime.block_on(server.stop());
        }
    }
}

/// An object as its manifest has it.
struct Manifest {
    resource: &'static Arc<Resource>,
    text: String,
}

/// The manifests of kubectl's test: one or more of nearly every kind, and further ones.
fn manifests() -> Vec<Manifest> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/whole_server/kubectl");
    let files = std::fs::read_dir(folder).expect("manifests").map(|entry| entry.expect("an entry").path());
    let mut texts: Vec<String> = files.map(|path| std::fs::read_to_string(path).expect("a text")).collect();
    texts.push("apiVersion: v1\nkind: Namespace\nmetadata: {name: spare}".to_owned());
    let documents = texts.iter().flat_map(|text| text.split("\n---\n"));
    let field = |text: &str, name: &str| -> String {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().to_owned()
    };
    let mut found: Vec<Manifest> = documents
        .map(|text| {
            let (version, kind) = (field(text, "apiVersion:"), field(text, "kind:"));
            let resource = pintle_groups::all().find(|r| r.api_version() == version && r.kind == kind);
            Manifest { resource: resource.unwrap_or_else(|| panic!("{version} {kind}")), text: text.to_owned() }
        })
        .collect();
    // Service accounts and classes before what names them.
    found.sort_by_key(|manifest| (manifest.resource.group.clone(), manifest.resource.plural.clone()));
    found
}

fn collection(resource: &Resource) -> String {
    let group = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let namespace = if resource.namespaced { "/namespaces/default" } else { "" };
    format!("{group}{namespace}/{}", resource.plural)
}

/// The paths of an object's values, except those set by storing.
fn shape(object: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"), out)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, value)| walk(value, &format!("{path}/{at}"), out));
            }
            _ => drop(out.insert(path.to_owned())),
        }
    }
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    let mut places = BTreeSet::new();
    walk(&object, "", &mut places);
    places
}

/// A request that is to change nothing.
struct Attempt {
    method: &'static str,
    path: String,
    content_type: &'static str,
    body: String,
    /// The label of a success.
    what: String,
}

impl Attempt {
    fn new(method: &'static str, path: &str, content_type: &'static str, body: impl ToString) -> Self {
        let joiner = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joiner}dryRun=All");
        Attempt { method, path, content_type, body: body.to_string(), what: format!("{method} {content_type}") }
    }

    fn counted_as(self, what: &str) -> Self {
        Attempt { what: what.to_owned(), ..self }
    }
}

/// Dry runs on a stored object.
fn attempts(resource: &Resource, object: &Value, client: &mut Client) -> Vec<Attempt> {
    let all = collection(resource);
    let one = format!("{all}/{}", name(object));
    let mut changed = object.clone();
    changed["metadata"]["annotations"]["dry"] = "run".into();
    let labels = json!({"metadata": {"labels": {"dry": "run"}, "finalizers": ["example.com/dry"]}});
    let applied = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind.as_str(),
        "metadata": {"name": name(object), "labels": {"dry": "run"}},
    });
    let json_patch = json!([{"op": "add", "path": "/metadata/labels", "value": {"dry": "run"}}]);
    let mut fresh = object.clone();
    fresh["metadata"] = json!({"generateName": "dry-"});
    let mut again = changed.clone();
    again["metadata"]["resourceVersion"] = Value::Null;
    let mut list = vec![
        Attempt::new("POST", &all, JSON, &again).counted_as("a name that is taken"),
        Attempt::new("POST", &all, JSON, &fresh),
        Attempt::new("PUT", &one, JSON, &changed),
        Attempt::new("PATCH", &one, MERGE_PATCH, &labels),
        Attempt::new("PATCH", &one, STRATEGIC_PATCH, &labels),
        Attempt::new("PATCH", &one, JSON_PATCH, &json_patch),
        Attempt::new("PATCH", &format!("{one}?fieldManager=dry&force=true"), APPLY_PATCH, &applied),
        Attempt::new("DELETE", &one, "", ""),
        Attempt::new("DELETE", &all, "", "").counted_as("DELETE of a collection"),
        Attempt::new("DELETE", &format!("{all}?labelSelector=app"), "", "").counted_as("DELETE of a selection"),
    ];
    for policy in ["Background", "Foreground", "Orphan"] {
        let body = json!({"propagationPolicy": policy, "gracePeriodSeconds": 0, "dryRun": ["All"]});
        let path = one.clone();
        list.push(Attempt {
            method: "DELETE",
            path,
            content_type: JSON,
            body: body.to_string(),
            what: policy.to_owned(),
        });
    }
    // A connection is no write.
    for subresource in resource.subresources.iter().filter(|subresource| !matches!(subresource.action, Action::Connect))
    {
        let path = format!("{one}/{}", subresource.name);
        let read = client.get(&path).answer();
        let body = if read.status == 200 { read.json() } else { sent_to(&subresource.name, object) };
        let mut body = body;
        match subresource.name.as_str() {
            "scale" => body["spec"]["replicas"] = 7.into(),
            "approval" => {
                let condition = json!({"type": "Approved", "status": "True", "reason": "Dry", "message": "run"});
                body["status"] = json!({"conditions": [condition]});
            }
            "finalize" => body["spec"]["finalizers"] = json!([]),
            _ => {}
        }
        for (method, content_type, body) in [
            ("POST", JSON, body.to_string()),
            ("PUT", JSON, body.to_string()),
            ("PATCH", MERGE_PATCH, labels.to_string()),
            ("PATCH", STRATEGIC_PATCH, labels.to_string()),
            ("PATCH", JSON_PATCH, json_patch.to_string()),
        ] {
            list.push(Attempt::new(method, &path, content_type, body).counted_as(&subresource.name));
        }
    }
    list
}

/// The body for a subresource that cannot be read.
fn sent_to(subresource: &str, object: &Value) -> Value {
    let metadata = json!({"name": name(object), "namespace": "default"});
    match subresource {
        "binding" => json!({"metadata": metadata, "target": {"kind": "Node", "name": "worker"}}),
        "eviction" => json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}),
        "token" => json!({"spec": {"audiences": ["dry"], "expirationSeconds": 600}}),
        _ => object.clone(),
    }
}

/// Sends dry runs and counts those that succeed.
fn run(server: &mut Quiet, attempts: Vec<Attempt>, succeeded: &mut BTreeMap<String, usize>) -> usize {
    let count = attempts.len();
    for attempt in attempts {
        let Attempt { method, path, content_type, body, what } = attempt;
        let before = server.store.commits();
        let answer = server.client.send(method, &path, content_type, body.as_bytes()).answer();
        assert!(answer.status < 500 || answer.status == 501, "{method} {path} {body}: {}", answer.text());
        assert_eq!(server.store.commits(), before, "{method} {path} {content_type} {body} reached the store");
        *succeeded.entry(what).or_default() += usize::from(answer.status < 300);
    }
    count
}

#[test]
fn thousands_of_dry_runs_leave_every_byte_as_it_was() {
    const ROUNDS: usize = 2;
    let mut server = Quiet::start();
    let manifests = manifests();
    let mut succeeded = BTreeMap::new();
    let mut stored = Vec::new();
    let mut count = 0;
    for manifest in &manifests {
        // The same thing twice, without effect and with: the answers look alike.
        let path = collection(manifest.resource);
        let hash = server.store.hash();
        let dry = format!("{path}?dryRun=All");
        let dry = server.client.send("POST", &dry, YAML, manifest.text.as_bytes()).expect_status(201);
        assert_eq!(server.store.hash(), hash, "{path}");
        let real = server.client.send("POST", &path, YAML, manifest.text.as_bytes()).expect_status(201);
        assert_ne!(server.store.hash(), hash, "the hash sees what is written: {path}");
        assert_eq!(shape(&dry), shape(&real), "{path}");
        stored.push((manifest.resource, real));
        count += 1;
    }
    let hash = server.store.hash();
    for _ in 0..ROUNDS {
        for (resource, object) in &stored {
            let attempts = attempts(resource, object, &mut server.client);
            count += run(&mut server, attempts, &mut succeeded);
        }
        assert_eq!(server.store.hash(), hash);
    }
    assert!(count > 1000, "{count} dry runs are not thousands");
    for what in [
        "POST application/json",
        "PUT application/json",
        "PATCH application/merge-patch+json",
        "PATCH application/strategic-merge-patch+json",
        "PATCH application/json-patch+json",
        "DELETE ",
        "DELETE of a collection",
        "DELETE of a selection",
        "Background",
        "Foreground",
        "Orphan",
        "status",
        "scale",
        "binding",
        "eviction",
        "approval",
        "finalize",
        "ephemeralcontainers",
        "resize",
    ] {
        assert!(succeeded.get(what).is_some_and(|count| *count > 0), "no {what} succeeded: {succeeded:?}");
    }
    assert_eq!(succeeded["a name that is taken"], 0);
}

#[test]
fn the_last_finalizer_stays_in_a_dry_run() {
    let mut server = Quiet::start();
    let all = "/api/v1/namespaces/default/configmaps";
    let one = format!("{all}/held");
    let object = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    server.client.post(all, &object).expect_status(201);
    server.client.delete(&one).expect_status(200);
    let hash = server.store.hash();
    let freed = json!({"metadata": {"finalizers": null}});
    let attempts = vec![
        Attempt::new("PATCH", &one, MERGE_PATCH, &freed),
        Attempt::new("PATCH", &one, JSON_PATCH, json!([{"op": "remove", "path": "/metadata/finalizers"}])),
        Attempt::new("DELETE", &one, "", ""),
    ];
    let mut succeeded = BTreeMap::new();
    run(&mut server, attempts, &mut succeeded);
    assert_eq!(succeeded.values().sum::<usize>(), 3, "{succeeded:?}");
    assert_eq!(server.store.hash(), hash);
    let path = format!("{one}?dryRun=None");
    let refused = server.client.send("PATCH", &path, MERGE_PATCH, freed.to_string().as_bytes()).answer();
    assert_eq!(refused.status, 422, "only All is a dry run: {}", refused.text());
    assert_eq!(server.store.hash(), hash);
    server.client.send("PATCH", &one, MERGE_PATCH, freed.to_string().as_bytes()).expect_status(200);
    assert_eq!(server.client.get(&one).answer().status, 404, "for real it is gone");
}

#[test]
fn addresses_and_ports_are_shown_but_not_taken() {
    /// More than a /24 holds, by kube-apiserver's default range.
    const DRY_RUNS: usize = 300;
    let mut server = Quiet::start();
    let all = "/api/v1/namespaces/default/services";
    let service = |spec: Value| json!({"metadata": {"generateName": "dry-"}, "spec": spec});
    let node_port = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
    for _ in 0..DRY_RUNS {
        server.client.post(&format!("{all}?dryRun=All"), &node_port).expect_status(201);
    }
    // A dry run returns the static values that it requests, and they stay free.
    let spec = json!({"type": "NodePort", "clusterIP": "10.0.0.77", "ports": [{"port": 80, "nodePort": 30077}]});
    let mut created = Value::Null;
    for query in ["?dryRun=All", "?dryRun=All", ""] {
        created = server.client.post(&format!("{all}{query}"), &service(spec.clone())).expect_status(201);
        assert_eq!(
            (&created["spec"]["clusterIP"], &created["spec"]["ports"][0]["nodePort"]),
            (&json!("10.0.0.77"), &json!(30077))
        );
    }
    // And what is taken is refused to a dry run as well, and stays taken when its owner is deleted in one.
    let taken = |server: &mut Quiet| {
        let answer = server.client.post(&format!("{all}?dryRun=All"), &service(spec.clone())).answer();
        assert_eq!(answer.status, 422, "{}", answer.text());
    };
    taken(&mut server);
    let one = format!("{all}/{}", name(&created));
    server.client.delete(&format!("{one}?dryRun=All")).expect_status(200);
    let released = json!({"spec": {"type": "ExternalName", "externalName": "a.example.com", "clusterIP": null}});
    let path = format!("{one}?dryRun=All");
    server.client.send("PATCH", &path, MERGE_PATCH, released.to_string().as_bytes()).answer();
    taken(&mut server);
}
