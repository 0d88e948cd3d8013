//! Clients that follow a collection through an hour's changes of a busy cluster and restarts of the server: kube-rs's
//! watcher and reflector, and the Python client's list and watch.
//! Guarantees that each client is told every change once and in order, that it believes what is stored, along the way
//! and at the end, that no restart makes it list anew, and that nothing acknowledged is lost, though every other restart
//! is a SIGKILL.
//! Must never be decided by time: a round is so many changes. `PINTLE_CHURN_ROUNDS` asks for more than an hour's.

mod common;

use common::http::{Answer, Client, Endpoint};
use common::{DEADLINE, Scratch, name, resource_version, wait_for};
use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::{self, Store as Reflected};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_collection};
use kube::{Api, Config, ResourceExt};
use pintle::Builder;
use pintle_storage::{EmbeddedOptions, EmbeddedStore};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 16;
/// Objects of each writer.
const NAMES: usize = 5;
/// Changes by each writer in a round.
const CHANGES: usize = 250;
/// Ten changes a second are an hour's of a busy cluster: 36,000 in all.
const ROUNDS: usize = 9;

fn rounds() -> usize {
    env::var("PINTLE_CHURN_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Where the server's process is told its folder and its address.
const FOLDER: &str = "PINTLE_CHURN_FOLDER";
const ADDRESS: &str = "PINTLE_CHURN_ADDRESS";
/// What it prints before its address once it serves.
const SERVING: &str = "serving ";

/// The server's process, when the test below starts this one with a folder; otherwise there is nothing to do.
#[test]
fn serves_when_told_to() {
    let (Some(folder), Ok(address)) = (env::var_os(FOLDER), env::var(ADDRESS)) else { return };
    let address: SocketAddr = address.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let store = EmbeddedStore::open(&Path::new(&folder).join("store"), EmbeddedOptions::default());
    let mut builder = Builder::new(Arc::new(store.expect("the store opens")));
    // They would write too, and what this test counts is its own.
    builder.controllers.enabled.clear();
    let listener = wait_for("the address", || runtime.block_on(TcpListener::bind(address)).ok());
    let server = runtime.block_on(builder.start(listener)).expect("a server");
    println!("\n{SERVING}{}", server.address());
    // Until nobody needs it any more.
    std::io::stdin().read_to_end(&mut Vec::new()).expect("an end");
    runtime.block_on(server.stop()).expect("an end in good order");
}

/// A server in a process of its own that can be stopped or killed, and started again at the same address.
struct Restartable {
    scratch: Scratch,
    address: SocketAddr,
    process: Option<Child>,
}

impl Restartable {
    fn start() -> Restartable {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server = Restartable { scratch: Scratch::new(), address, process: None };
        server.open();
        server
    }

    fn open(&mut self) {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--exact", "--nocapture", "serves_when_told_to"]);
        command.env(FOLDER, self.scratch.path()).env(ADDRESS, self.address.to_string());
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let process = self.process.insert(process.expect("the server's process"));
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix(SERVING)?.parse().ok());
        self.address = address.expect("the server serves");
        // It goes on to be heard: a test that cannot print fails.
        std::thread::spawn(move || lines.for_each(drop));
    }

    /// Ends it, by SIGKILL or in good order, and starts it again.
    fn restart(&mut self, kill: bool) {
        let mut process = self.process.take().expect("it runs");
        if kill {
            process.kill().expect("killed");
        }
        drop(process.stdin.take());
        let status = process.wait().expect("its end");
        assert!(kill || status.success(), "an end in good order: {status}");
        self.open();
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, tls: None, token: None }
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // A test that failed has said why already.
            let _ = process.kill();
            let _ = process.wait();
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

/// One writer's objects by name: what the server has acknowledged of them.
type Written = BTreeMap<String, Option<Known>>;

/// One writer's changes: it goes around its names and creates, changes and now and then deletes. Where the server is
/// gone it comes back and looks what has become of its last change: it took place or it did not, and those before it did.
fn write(endpoint: &Endpoint, writer: usize, round: usize, written: &mut Written, done: &AtomicUsize) {
    let mut client = endpoint.client();
    let mut step = 0;
    while step < CHANGES {
        let name = format!("w{writer}-{}", step % NAMES);
        let known = written.entry(name.clone()).or_default();
        let delete = known.is_some() && (step + round).is_multiple_of(7);
        match change(&mut client, &name, known.as_ref(), delete) {
            Ok(now) => *known = now,
            Err(_) => {
                let path = format!("{CONFIG_MAPS}/{name}");
                let found = wait_for("the server to come back", || client.get(&path).ok().filter(settled));
                let found = (found.status == 200).then(|| self::known(&found.json()));
                if found == *known {
                    continue;
                }
                let follows = match (&*known, &found) {
                    (None, Some((_, _, 0))) => true,
                    (Some(_), None) => delete,
                    (Some((uid, _, number)), Some((found, _, next))) => !delete && uid == found && *next == number + 1,
                    _ => false,
                };
                assert!(follows, "{name} is {found:?}, and {known:?} was acknowledged");
                *known = found;
            }
        }
        step += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// An answer of a server that is not about to stop.
fn settled(answer: &Answer) -> bool {
    !matches!(answer.status, 429 | 503)
}

/// Makes one change and returns what is there after it; the error is that it is not known what has become of it.
fn change(client: &mut Client, name: &str, known: Option<&Known>, delete: bool) -> std::io::Result<Option<Known>> {
    let path = format!("{CONFIG_MAPS}/{name}");
    let answer = match known {
        None => client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}, "data": {"number": "0"}}))?,
        Some(_) if delete => client.delete(&path)?,
        Some((uid, version, number)) => {
            let metadata = json!({"name": name, "uid": uid, "resourceVersion": version.to_string()});
            client.put(&path, &json!({"metadata": metadata, "data": {"number": (number + 1).to_string()}}))?
        }
    };
    match answer.status {
        200 | 201 => Ok((!delete).then(|| self::known(&answer.json()))),
        _ if !settled(&answer) => Err(std::io::Error::other("later")),
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

/// Tries again soon and at the same pace, as restarts are all that goes wrong.
struct Soon;

impl Iterator for Soon {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }
}

impl Backoff for Soon {
    fn reset(&mut self) {}
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
    let events = watch_collection(api, config).backoff(Soon).inspect_ok(move |event| {
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
    let mut written: Vec<Written> = vec![Written::new(); WRITERS];
    for round in 0..rounds() {
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for (writer, written) in written.iter_mut().enumerate() {
                let (endpoint, done) = (&endpoint, &done);
                scope.spawn(move || write(endpoint, writer, round, written, done));
            }
            wait_for("half of the changes", || (done.load(Ordering::Relaxed) >= WRITERS * CHANGES / 2).then_some(()));
            server.restart(round % 2 == 0);
        });
        let marker = format!("marker-{round}");
        let mut client = endpoint.client();
        let object = json!({"metadata": {"name": marker}, "data": {"number": "0"}});
        client.post(CONFIG_MAPS, &object).expect("an answer").expect(201);
        let list = client.get(CONFIG_MAPS).expect("an answer").expect(200);
        let items = list["items"].as_array().expect("items").iter();
        let stored: BTreeMap<String, Known> = items.map(|item| (name(item).to_owned(), known(item))).collect();
        for (name, acknowledged) in written.iter().flatten() {
            assert_eq!(stored.get(name), acknowledged.as_ref(), "{name} in round {round}");
        }
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
        server.restart(round % 2 == 1);
    }
}
