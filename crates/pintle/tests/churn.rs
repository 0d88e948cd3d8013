//! Clients that follow a collection through quick changes and restarts of the server: kube-rs's watcher and reflector, and
//! the Python client's list and watch.
//! Guarantees that each client is told every change once and in order, that it believes what is stored, along the way
//! and at the end, and that no restart makes it list anew.
//! Must never be decided by time: a round is so many changes. `PINTLE_CHURN_ROUNDS` asks for more than a few.

mod common;

use common::http::{Client, Endpoint};
use common::{DEADLINE, Scratch, name, resource_version, wait_for};
use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::{self, Store as Reflected};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_collection};
use kube::{Api, Config, ResourceExt};
use pintle::{Builder, Server};
use pintle_storage::{EmbeddedOptions, EmbeddedStore};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 4;
/// Changes by each writer in a round.
const CHANGES: usize = 60;

fn rounds() -> usize {
    env::var("PINTLE_CHURN_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

/// A server with data on disk that can be stopped and started again at the same address.
struct Restartable {
    runtime: Runtime,
    scratch: Scratch,
    address: SocketAddr,
    server: Option<Server>,
}

impl Restartable {
    fn start() -> Restartable {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server =
            Restartable { runtime: runtime.expect("a runtime"), scratch: Scratch::new(), address, server: None };
        server.open();
        server
    }

    fn open(&mut self) {
        let store = EmbeddedStore::open(&self.scratch.path().join("store"), EmbeddedOptions::default());
        let mut builder = Builder::new(Arc::new(store.expect("the store opens")));
        // They would write too, and what this test counts is its own.
        builder.controllers.enabled.clear();
        let listener = wait_for("the address", || self.runtime.block_on(TcpListener::bind(self.address)).ok());
        let server = self.runtime.block_on(builder.start(listener)).expect("a server");
        self.address = server.address();
        self.server = Some(server);
    }

    fn restart(&mut self) {
        self.stop();
        self.open();
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop()).expect("an end in good order");
        }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, tls: None, token: None }
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // A test that failed has said why already.
            let _ = self.runtime.block_on(server.stop());
        }
    }
}

/// What is known of an object: its uid, its version, and its number, which each change makes one higher.
type Known = (String, u64, u64);

fn known(object: &Value) -> Known {
    let uid = object["metadata"]["uid"].as_str().expect("a uid").to_owned();
    let number = object["data"]["number"].as_str().and_then(|number| number.parse().ok()).unwrap_or(0);
    (uid, resource_version(object), number)
}

/// One writer's changes: it goes around its names and creates, changes and now and then deletes. Where the server is
/// gone it comes back and looks what has become of its last change.
fn write(endpoint: &Endpoint, writer: usize, round: usize, done: &AtomicUsize) {
    let mut client = endpoint.client();
    for step in 0..CHANGES {
        let name = format!("w{writer}-{}", step % 5);
        let path = format!("{CONFIG_MAPS}/{name}");
        wait_for("a change", || change(&mut client, &name, &path, (step + round).is_multiple_of(7)).ok());
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn change(client: &mut Client, name: &str, path: &str, delete: bool) -> std::io::Result<()> {
    let read = client.get(path)?;
    let answer = match read.status {
        404 => client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}, "data": {"number": "0"}}))?,
        200 if delete => client.delete(path)?,
        200 => {
            let mut object = read.json();
            object["data"]["number"] = (known(&object).2 + 1).to_string().into();
            client.put(path, &object)?
        }
        _ => read,
    };
    match answer.status {
        200 | 201 => Ok(()),
        // It is stopping.
        429 | 503 => Err(std::io::Error::other("later")),
        _ => panic!("{path}: {}", answer.text()),
    }
}

/// What a client believes, and the first thing that was wrong with what it was told.
#[derive(Default)]
struct Belief {
    objects: BTreeMap<String, Known>,
    lists: usize,
    last: u64,
    wrong: Option<String>,
}

impl Belief {
    fn told(&mut self, event: &Event<ConfigMap>) {
        let (object, deleted) = match event {
            Event::Init => {
                self.lists += 1;
                return self.objects.clear();
            }
            Event::InitDone => return,
            Event::InitApply(object) => {
                let (name, known) = (object.name_any(), of(object));
                self.last = self.last.max(known.1);
                self.objects.insert(name, known);
                return;
            }
            Event::Apply(object) => (object, false),
            Event::Delete(object) => (object, true),
        };
        let (name, now) = (object.name_any(), of(object));
        let before = self.objects.get(&name);
        // What it must be after what it was: itself once more when it is deleted, new, or one change further.
        let follows = match before {
            Some((uid, _, number)) => (uid, number + u64::from(!deleted)) == (&now.0, now.2),
            None => !deleted && now.2 == 0,
        };
        if (!follows || now.1 <= self.last) && self.wrong.is_none() {
            self.wrong =
                Some(format!("{name} is {now:?} (deleted: {deleted}) after {before:?} and revision {}", self.last));
        }
        self.last = now.1;
        match deleted {
            true => drop(self.objects.remove(&name)),
            false => drop(self.objects.insert(name, now)),
        }
    }
}

fn of(object: &ConfigMap) -> Known {
    known(&serde_json::to_value(object).expect("JSON"))
}

/// A kube-rs watcher with a reflector behind it.
struct Follower {
    belief: Arc<Mutex<Belief>>,
    reflected: Reflected<ConfigMap>,
}

fn follow(runtime: &Runtime, endpoint: &Endpoint, config: watcher::Config) -> Follower {
    let url = format!("http://{}", endpoint.address);
    let _entered = runtime.enter();
    let client = kube::Client::try_from(Config::new(url.parse().expect("an address"))).expect("a client");
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let belief = Arc::new(Mutex::new(Belief::default()));
    let told = belief.clone();
    let (reflected, writer) = reflector::store();
    let events = watch_collection(api, config).default_backoff().inspect_ok(move |event| {
        told.lock().expect("no panic").told(event);
    });
    let reflecting = reflector::reflector(writer, events);
    runtime.spawn(async move {
        let mut reflecting = std::pin::pin!(reflecting);
        // Errors are the restarts; the watcher comes back by itself.
        while reflecting.next().await.is_some() {}
    });
    Follower { belief, reflected }
}

/// The Python client, if there is one.
struct Python {
    child: Child,
    lines: Receiver<Value>,
}

impl Python {
    fn start(endpoint: &Endpoint) -> Option<Python> {
        let python = env::var_os("PINTLE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let found = Command::new(&python).args(["-c", "import kubernetes"]).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            assert!(env::var_os("CI").is_none(), "no Python with the kubernetes package");
            println!("SKIPPED: the Python client (pip install kubernetes; PINTLE_TEST_PYTHON names the Python to use)");
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/churn.py");
        let mut child = Command::new(python)
            .args([script, &format!("http://{}", endpoint.address)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str(&line) else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Some(Python { child, lines })
    }

    fn check(&self, marker: &str, stored: &BTreeMap<String, Known>) {
        let told = self.lines.recv_timeout(DEADLINE).expect("Python goes on; it says what is wrong");
        assert_eq!(told["marker"], marker);
        assert_eq!(told["lists"], 1, "Python never lists anew");
        assert_eq!(told["objects"], json!(stored), "Python believes what is stored at {marker}");
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_client_is_told_every_change_once_across_restarts() {
    let mut server = Restartable::start();
    let endpoint = server.endpoint();
    let clients = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let clients = clients.expect("a runtime");
    let configs = [
        watcher::Config::default(),
        watcher::Config::default().page_size(7),
        watcher::Config::default().streaming_lists(),
    ];
    let followers = configs.map(|config| follow(&clients, &endpoint, config));
    let python = Python::start(&endpoint);
    for round in 0..rounds() {
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (endpoint, done) = (&endpoint, &done);
                scope.spawn(move || write(endpoint, writer, round, done));
            }
            wait_for("half of the changes", || (done.load(Ordering::Relaxed) >= WRITERS * CHANGES / 2).then_some(()));
            server.restart();
        });
        let marker = format!("marker-{round}");
        let mut client = endpoint.client();
        let object = json!({"metadata": {"name": marker}, "data": {"number": "0"}});
        client.post(CONFIG_MAPS, &object).expect("an answer").expect(201);
        let list = client.get(CONFIG_MAPS).expect("an answer").expect(200);
        let items = list["items"].as_array().expect("items").iter();
        let stored: BTreeMap<String, Known> = items.map(|item| (name(item).to_owned(), known(item))).collect();
        for (at, follower) in followers.iter().enumerate() {
            let belief = wait_for("a client to catch up", || {
                let belief = follower.belief.lock().expect("no panic");
                assert_eq!(belief.wrong, None, "client {at} in round {round}");
                belief.objects.contains_key(&marker).then(|| (belief.objects.clone(), belief.lists))
            });
            assert_eq!(belief, (stored.clone(), 1), "client {at} believes what is stored, and listed once");
            let reflected = wait_for("the reflector", || {
                let state = follower.reflected.state();
                let state: BTreeMap<_, _> = state.iter().map(|object| (object.name_any(), of(object))).collect();
                state.contains_key(&marker).then_some(state)
            });
            assert_eq!(reflected, stored, "reflector {at}");
        }
        if let Some(python) = &python {
            python.check(&marker, &stored);
        }
        server.restart();
    }
}
