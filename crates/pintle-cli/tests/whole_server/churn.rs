//! Clients that follow a collection through an hour's changes of a busy cluster and restarts of the server: kube-rs's
//! watcher and reflector, and the Python client's list and watch. Guarantees that each client receives every change
//! once and in order, that its state matches the store during the run and at the end, that no restart makes it list
//! again, and that no acknowledged write is lost, though every other restart is a SIGKILL. Some clients watch a
//! selection that every change enters or leaves, and some start in the middle. Must never depend on timing: a round is
//! a number of changes. `PINTLE_CHURN_ROUNDS` sets a larger number of rounds.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, Endpoint};
use crate::common::{DEADLINE, Scratch, name, resource_version, wait_for};
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
use tokio::task::JoinHandle;

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

/// The environment variables with the folder and the address of the server's process.
const FOLDER: &str = "PINTLE_CHURN_FOLDER";
const ADDRESS: &str = "PINTLE_CHURN_ADDRESS";
/// Printed before its address once it serves.
const SERVING: &str = "serving ";

/// The server's process, when the test below starts this one with a folder; otherwise there is nothing to do.
#[test]
fn serves_when_a_folder_is_given() {
    let (Some(folder), Ok(address)) = (env::var_os(FOLDER), env::var(ADDRESS)) else { return };
    let address: SocketAddr = address.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let store = EmbeddedStore::open(&Path::new(&folder).join("store"), EmbeddedOptions::default());
    let mut builder = Builder::new(Arc::new(store.expect("the store opens")));
    // They would write too, and what this test counts is its own.
    builder.controllers().enabled.clear();
    let listener = wait_for("the address", || runtime.block_on(TcpListener::bind(address)).ok());
    let server = runtime.block_on(builder.start(listener)).expect("a server");
    println!("\n{SERVING}{}", server.address());
    // Until it is no longer needed.
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
        command.args(["--exact", "--nocapture", "churn::serves_when_a_folder_is_given"]);
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

/// The known state of an object: its uid, its version, and its number. Each change of a name increments the number, from 1 on,
/// also across deletions: a client that misses a whole lifetime misses numbers.
type Known = (String, u64, u64);

/// An object with this number. Its parity is a label, so that each change enters or leaves a selection.
fn object(name: &str, number: u64) -> Value {
    let parity = if number.is_multiple_of(2) { "even" } else { ODD };
    json!({"metadata": {"name": name, "labels": {PARITY: parity}}, "data": {"number": number.to_string()}})
}

const PARITY: &str = "parity";
const ODD: &str = "odd";

fn known(object: &Value) -> Known {
    let uid = object["metadata"]["uid"].as_str().expect("a uid").to_owned();
    let number = object["data"]["number"].as_str().and_then(|number| number.parse().ok()).unwrap_or(0);
    (uid, resource_version(object), number)
}

/// The names of one writer: their last numbers, and the acknowledged state of existing objects.
type Written = BTreeMap<String, (u64, Option<Known>)>;

/// One writer: it creates, changes and deletes its names in turns. After a restart of the server it checks whether its last
/// change took place; earlier ones must have.
fn write(endpoint: &Endpoint, writer: usize, round: usize, written: &mut Written, done: &AtomicUsize) {
    let mut client = endpoint.client();
    let mut step = 0;
    while step < CHANGES {
        let name = format!("w{writer}-{}", step % NAMES);
        let (number, known) = written.entry(name.clone()).or_default();
        let delete = known.is_some() && (step + round).is_multiple_of(7);
        match change(&mut client, &name, *number, known.as_ref(), delete) {
            Ok(now) => *known = now,
            Err(_) => {
                let path = format!("{CONFIG_MAPS}/{name}");
                let found = wait_for("the server to come back", || client.get(&path).ok().filter(settled));
                let found = (found.status == 200).then(|| self::known(&found.json()));
                if found == *known {
                    continue;
                }
                let follows = match (&*known, &found) {
                    (None, Some((.., next))) => *next == *number + 1,
                    (Some(_), None) => delete,
                    (Some((uid, ..)), Some((found, _, next))) => !delete && uid == found && *next == *number + 1,
                    _ => false,
                };
                assert!(follows, "{name} is {found:?}, and {known:?} was acknowledged");
                *known = found;
            }
        }
        *number += u64::from(!delete);
        step += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a response is final: not from a server that is about to stop.
fn settled(answer: &Answer) -> bool {
    !matches!(answer.status, 429 | 503)
}

/// Makes one change and returns the resulting state; an error if the outcome is unknown.
fn change(
    client: &mut Client,
    name: &str,
    number: u64,
    known: Option<&Known>,
    delete: bool,
) -> std::io::Result<Option<Known>> {
    let path = format!("{CONFIG_MAPS}/{name}");
    let mut next = object(name, number + 1);
    let answer = match known {
        None => client.post(CONFIG_MAPS, &next)?,
        Some(_) if delete => client.delete(&path)?,
        Some((uid, version, _)) => {
            next["metadata"]["uid"] = json!(uid);
            next["metadata"]["resourceVersion"] = json!(version.to_string());
            client.put(&path, &next)?
        }
    };
    match answer.status {
        200 | 201 => Ok((!delete).then(|| self::known(&answer.json()))),
        _ if !settled(&answer) => Err(std::io::Error::other("later")),
        _ => panic!("{path}: {}", answer.text()),
    }
}

/// The state of a client, and the first error in the events that it received.
#[derive(Default)]
struct Belief {
    view: View,
    objects: BTreeMap<String, Known>,
    /// The last numbers, also of deleted objects.
    numbers: BTreeMap<String, u64>,
    lists: usize,
    is_listed: bool,
    last: u64,
    wrong: Option<String>,
}

/// Which objects a client sees, and since when.
#[derive(Clone, Copy, Default)]
struct View {
    /// Those with odd numbers.
    odd: bool,
    /// It started when names had been used before.
    late: bool,
}

impl View {
    fn selector(self) -> Option<String> {
        self.odd.then(|| format!("{PARITY}={ODD}"))
    }

    fn shows(self, known: &Known) -> bool {
        !self.odd || !known.2.is_multiple_of(2)
    }
}

impl Belief {
    fn reported(&mut self, event: &Event<ConfigMap>) {
        let (object, deleted) = match event {
            Event::Init => {
                *self =
                    Belief { view: self.view, lists: self.lists + 1, wrong: self.wrong.take(), ..Belief::default() };
                return;
            }
            Event::InitDone => {
                self.is_listed = true;
                return;
            }
            Event::InitApply(object) => {
                let (name, known) = (object.name_any(), of(object));
                self.last = self.last.max(known.1);
                self.numbers.insert(name.clone(), known.2);
                if let Some(twice) = self.objects.insert(name, known) {
                    self.wrong.get_or_insert(format!("{twice:?} was listed twice"));
                }
                return;
            }
            Event::Apply(object) => (object, false),
            Event::Delete(object) => (object, true),
        };
        let (name, now) = (object.name_any(), of(object));
        let before = self.objects.get(&name);
        let step = if self.view.odd { 2 } else { 1 };
        let expected = match self.numbers.get(&name) {
            Some(number) => Some(number + step),
            None => (!self.view.late).then_some(1),
        };
        // Itself once more when it is deleted or leaves the selection, otherwise the next that is seen of its name.
        let follows = match (deleted, before) {
            (true, before) => before.is_some_and(|(uid, _, number)| (uid, number) == (&now.0, &now.2)),
            (false, Some((uid, ..))) => !self.view.odd && *uid == now.0 && expected == Some(now.2),
            (false, None) => expected.is_none_or(|expected| expected == now.2) && self.view.shows(&now),
        };
        if (!follows || now.1 <= self.last) && self.wrong.is_none() {
            self.wrong = Some(format!(
                "{name} is {now:?} (deleted: {deleted}) after {before:?}, {expected:?} and revision {}",
                self.last
            ));
        }
        self.last = now.1;
        self.numbers.insert(name.clone(), now.2);
        match deleted {
            true => drop(self.objects.remove(&name)),
            false => drop(self.objects.insert(name, now)),
        }
    }
}

fn of(object: &ConfigMap) -> Known {
    known(&serde_json::to_value(object).expect("JSON"))
}

/// Retries soon and at a constant pace, as restarts are the only failures.
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
    view: View,
    belief: Arc<Mutex<Belief>>,
    reflected: Reflected<ConfigMap>,
    task: JoinHandle<()>,
}

impl Follower {
    fn has_listed(&self) -> bool {
        self.belief.lock().expect("no panic").is_listed
    }

    /// Waits until it has seen the marker, and compares its state with the stored one.
    fn check(&self, marker: &str, stored: &BTreeMap<String, Known>) {
        let stored: BTreeMap<_, _> = stored
            .iter()
            .filter(|(_, known)| self.view.shows(known))
            .map(|(name, known)| (name.clone(), known.clone()))
            .collect();
        let (objects, lists) = wait_for("a client to catch up", || {
            let belief = self.belief.lock().expect("no panic");
            assert_eq!(belief.wrong, None, "{marker}");
            belief.objects.contains_key(marker).then(|| (belief.objects.clone(), belief.lists))
        });
        assert_eq!(objects, stored, "it believes what is stored");
        assert!(lists == 1 || self.view.late, "it listed {lists} times");
        let reflected = wait_for("the reflector", || {
            let state = self.reflected.state();
            let state: BTreeMap<_, _> = state.iter().map(|object| (object.name_any(), of(object))).collect();
            state.contains_key(marker).then_some(state)
        });
        assert_eq!(reflected, stored, "the reflector has what is stored");
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn follow(runtime: &Runtime, endpoint: &Endpoint, config: watcher::Config, view: View) -> Follower {
    let config = view.selector().into_iter().fold(config, |config, selector| config.labels(&selector));
    let url = format!("http://{}", endpoint.address);
    let _entered = runtime.enter();
    let client = kube::Client::try_from(Config::new(url.parse().expect("an address"))).expect("a client");
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let belief = Arc::new(Mutex::new(Belief { view, ..Belief::default() }));
    let reported = belief.clone();
    let (reflected, writer) = reflector::store();
    let events = watch_collection(api, config).backoff(Soon).inspect_ok(move |event| {
        reported.lock().expect("no panic").reported(event);
    });
    let reflecting = reflector::reflector(writer, events);
    let task = runtime.spawn(async move {
        let mut reflecting = std::pin::pin!(reflecting);
        // Errors are the restarts; the watcher comes back by itself.
        while reflecting.next().await.is_some() {}
    });
    Follower { view, belief, reflected, task }
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
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/whole_server/python/churn.py");
        let mut child = Command::new(python)
            .args([script, &format!("http://{}", endpoint.address)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        output.read_line(&mut String::new()).expect("it has listed");
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
        let reported = self.lines.recv_timeout(DEADLINE).expect("Python goes on; it says what is wrong");
        assert_eq!(reported["marker"], marker);
        assert_eq!(reported["lists"], 1, "Python never lists anew");
        assert_eq!(reported["objects"], json!(stored), "Python believes what is stored at {marker}");
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_client_receives_every_change_once_across_restarts() {
    let mut server = Restartable::start();
    let endpoint = server.endpoint();
    let clients = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let clients = clients.expect("a runtime");
    let configs = [watcher::Config::default().page_size(7), watcher::Config::default().streaming_lists()];
    let follow = |way: usize, odd, late| follow(&clients, &endpoint, configs[way].clone(), View { odd, late });
    let early = [(0, false), (1, false), (0, true), (1, true)].map(|(way, odd)| follow(way, odd, false));
    wait_for("all to have listed", || early.iter().all(Follower::has_listed).then_some(()));
    let python = Python::start(&endpoint);
    let mut written: Vec<Written> = vec![Written::new(); WRITERS];
    for round in 0..rounds() {
        let done = AtomicUsize::new(0);
        let is_done = |share: usize| (done.load(Ordering::Relaxed) >= WRITERS * CHANGES / share).then_some(());
        let late = std::thread::scope(|scope| {
            for (writer, written) in written.iter_mut().enumerate() {
                let (endpoint, done) = (&endpoint, &done);
                scope.spawn(move || write(endpoint, writer, round, written, done));
            }
            wait_for("a quarter of the changes", || is_done(4));
            let late = follow(round / 2 % 2, round % 2 == 1, true);
            wait_for("half of the changes", || is_done(2));
            server.restart(round % 2 == 0);
            late
        });
        let marker = format!("marker-{round}");
        let mut client = endpoint.client();
        client.post(CONFIG_MAPS, &object(&marker, 1)).expect_status(201);
        let list = client.get(CONFIG_MAPS).expect_status(200);
        let items = list["items"].as_array().expect("items").iter();
        let stored: BTreeMap<String, Known> = items.map(|item| (name(item).to_owned(), known(item))).collect();
        for (name, (_, acknowledged)) in written.iter().flatten() {
            assert_eq!(stored.get(name), acknowledged.as_ref(), "{name} in round {round}");
        }
        early.iter().chain([&late]).for_each(|follower| follower.check(&marker, &stored));
        if let Some(python) = &python {
            python.check(&marker, &stored);
        }
        server.restart(round % 2 == 1);
    }
}
