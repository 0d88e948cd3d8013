//! Two servers on one etcd cluster, written and read by many clients, and by kube-apiserver at the same time, while members,
//! servers, connections and clocks fail. Guarantees that one order of changes explains everything that any client did and saw,
//! and that writes continue after each fault. Must never depend on luck: a round ends when every server has acknowledged a new
//! write.
//!
//! `PINTLE_FAULT_ROUNDS` sets the number of rounds: 10 by default, 200 at night.

use crate::common::clock::WallClock;
use crate::common::etcd::{Etcd, Wires, program};
use crate::common::history::{Event, Fact, History, Version, Watched, finds_what_is_wrong};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, Process};
use crate::common::reference::{Found, Reference, config_map, uid_and_entry};
use crate::common::{name, resource_version, wait_for};
use pintle_etcd::{EtcdOptions, EtcdStore};
use pintle_storage::{CommitError, Expect, Observer, Record, Revision, Store, Transaction, Write};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVERS: usize = 2;
const WRITERS: usize = 2;
const NAMES: u64 = 5;
/// How many acknowledgements of each server end a round.
const ENOUGH: u64 = 15;

fn rounds() -> u64 {
    std::env::var("PINTLE_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(10)
}

/// A server, and what its clients need to know.
struct Server {
    installation: Installation,
    wires: Wires,
    clock: WallClock,
    process: Option<Process>,
    /// Changes with each start.
    endpoint: Arc<Mutex<Endpoint>>,
    acknowledged: Arc<AtomicU64>,
}

impl Server {
    fn new(etcd: &Etcd) -> Server {
        let (installation, wires, clock) = (Installation::own(), Wires::to(etcd), WallClock::new());
        let process = serve(&installation, &wires, &clock);
        let endpoint = Arc::new(Mutex::new(process.endpoint()));
        Server { installation, wires, clock, process: Some(process), endpoint, acknowledged: Arc::default() }
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    fn restart(&mut self) {
        let process = serve(&self.installation, &self.wires, &self.clock);
        *self.endpoint.lock().unwrap() = process.endpoint();
        self.process = Some(process);
    }
}

fn serve(installation: &Installation, wires: &Wires, clock: &WallClock) -> Process {
    installation.start_changed(|command| {
        command.args(["--etcd-servers", &wires.urls(), "--controllers="]);
        clock.rule(command);
    })
}

/// What its clients share.
#[derive(Clone)]
struct Shared {
    history: Arc<History>,
    end: Arc<AtomicBool>,
    next: Arc<AtomicU64>,
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.end.load(Ordering::SeqCst)
    }
}

fn id(object: &Value) -> String {
    object["data"]["id"].as_str().expect("who wrote it").to_owned()
}

fn version(object: &Value) -> Version {
    (resource_version(object), id(object))
}

fn write(shared: &Shared, endpoint: &Mutex<Endpoint>, acknowledged: &AtomicU64) {
    let mut client = endpoint.lock().unwrap().client();
    while shared.goes_on() {
        match change(shared, &mut client) {
            Ok(true) => drop(acknowledged.fetch_add(1, Ordering::SeqCst)),
            Ok(false) => {}
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                client = endpoint.lock().unwrap().client();
            }
        }
    }
}

/// Reads an object and changes it, if it is still as it was read. Says whether that was acknowledged; an error is an
/// outcome that nobody knows.
fn change(shared: &Shared, client: &mut Client) -> std::io::Result<bool> {
    let number = shared.next.fetch_add(1, Ordering::SeqCst);
    let (name, id) = (format!("o{}", number % NAMES), number.to_string());
    let path = format!("{CONFIG_MAPS}/{name}");
    let history = &shared.history;
    let floor = history.floor();
    let read = client.get(&path)?;
    let known = match read.status {
        200 => Some(version(&read.json())),
        404 => None,
        status => return Err(std::io::Error::other(status.to_string())),
    };
    history.add(Fact::Got { name: name.clone(), floor, found: known.clone() });
    let based_on = known.map(|(revision, _)| revision);
    let mut object = json!({"metadata": {"name": name}, "data": {"id": id}});
    let answer = match based_on {
        None => client.post(CONFIG_MAPS, &object)?,
        Some(revision) if number.is_multiple_of(7) => {
            let body = json!({"preconditions": {"resourceVersion": revision.to_string()}}).to_string();
            let answer = client.send("DELETE", &path, crate::common::http::JSON, body.as_bytes())?;
            if answer.status == 200 {
                history.add(Fact::Removed { name, version: revision });
                return Ok(true);
            }
            answer
        }
        Some(revision) => {
            object["metadata"]["resourceVersion"] = revision.to_string().into();
            client.put(&path, &object)?
        }
    };
    match answer.status {
        200 | 201 => {
            history.add(Fact::Written { name, based_on, made: version(&answer.json()) });
            Ok(true)
        }
        404 | 409 => {
            history.add(Fact::Refused { id });
            Ok(false)
        }
        status => Err(std::io::Error::other(status.to_string())),
    }
}

/// Writes as kube-apiserver does, without a server of ours in between.
fn write_beside(shared: &Shared, mut reference: Reference) {
    while shared.goes_on() {
        if change_beside(shared, &mut reference).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // It is one writer among several, and faster than they are.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The same as `change`, in transactions of etcd's.
fn change_beside(shared: &Shared, reference: &mut Reference) -> std::io::Result<()> {
    let number = shared.next.fetch_add(1, Ordering::SeqCst);
    let (name, id) = (format!("o{}", number % NAMES), number.to_string());
    let (key, history) = (format!("/registry/configmaps/default/{name}"), &shared.history);
    let floor = history.floor();
    let found = reference.get(&key)?;
    let known = found.as_ref().map(|(at, stored): &Found| {
        let (uid, id) = uid_and_entry(stored, "id").expect("an object of this test's");
        (uid, (*at, id))
    });
    let version = known.as_ref().map(|(_, version)| version.clone());
    history.add(Fact::Got { name: name.clone(), floor, found: version.clone() });
    let based_on = version.map(|(revision, _)| revision);
    if let Some(at) = based_on.filter(|_| number.is_multiple_of(7)) {
        match reference.delete(&key, at)? {
            Ok(_) => history.add(Fact::Removed { name, version: at }),
            Err(_) => history.add(Fact::Refused { id }),
        }
        return Ok(());
    }
    let uid = known.map_or_else(|| format!("00000000-0000-4000-8000-{number:012}"), |(uid, _)| uid);
    match reference.put(&key, based_on.unwrap_or(0), &config_map(&name, &uid, "id", &id), 0)? {
        Ok(revision) => history.add(Fact::Written { name, based_on, made: (revision, id) }),
        Err(_) => history.add(Fact::Refused { id }),
    }
    Ok(())
}

fn list(shared: &Shared, endpoint: &Mutex<Endpoint>) {
    let mut client = endpoint.lock().unwrap().client();
    while shared.goes_on() {
        let floor = shared.history.floor();
        match client.get(CONFIG_MAPS) {
            Ok(answer) if answer.status == 200 => {
                let list = answer.json();
                let items = list["items"].as_array().expect("items").iter();
                let found = items.filter(|item| item["data"]["id"].is_string());
                let found = found.map(|item| (name(item).to_owned(), version(item))).collect();
                shared.history.add(Fact::Listed { floor, revision: resource_version(&list), found });
            }
            _ => client = endpoint.lock().unwrap().client(),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Follows everything after a revision, until the last revision has come.
fn watch(endpoint: &Mutex<Endpoint>, start: u64, until: &AtomicU64) -> Watched {
    let mut watched = Watched::default();
    let mut last = start;
    loop {
        let end = until.load(Ordering::SeqCst);
        if end != 0 && last >= end {
            return watched;
        }
        let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={last}&timeoutSeconds=5");
        let mut client = endpoint.lock().unwrap().client();
        let Ok(mut watch) = client.watch(&path) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        while let Ok(Some(event)) = watch.next() {
            let object = &event["object"];
            if event["type"] == "ERROR" {
                assert_eq!(object["code"], 410, "{event}");
                // What a client does then: it looks at what there is, and goes on from there.
                let list = wait_for("a list", || client.get(CONFIG_MAPS).ok().filter(|answer| answer.status == 200));
                let now = resource_version(&list.json());
                watched.gaps.push((last, now));
                last = now;
                break;
            }
            if object["data"]["id"].is_string() {
                last = resource_version(object);
                let event =
                    Event { name: name(object).to_owned(), removed: event["type"] == "DELETED", id: id(object) };
                watched.events.push((last, event));
            }
        }
    }
}

/// How many kinds of faults there are.
const KINDS: u64 = 8;

/// Makes something fail, and mends it when the others have had their time with it.
fn fault(number: u64, etcd: &mut Etcd, servers: &mut [Server]) -> &'static str {
    let member = usize::try_from(number / KINDS).unwrap_or(0) % etcd.len();
    let server = usize::try_from(number / KINDS).unwrap_or(0) % SERVERS;
    match number % KINDS {
        0 => {
            let leader = etcd.leader();
            etcd.kill(leader);
            more(servers, "after the leader died");
            etcd.restart(leader);
            "the leader died"
        }
        1 => {
            servers[server].kill();
            more(&servers[1 - server..][..1], "while the other was gone");
            servers[server].restart();
            "a server died"
        }
        2 => {
            etcd.pause(member);
            more(servers, "while a member was paused");
            etcd.resume(member);
            "a member was paused"
        }
        3 => {
            servers[server].wires.cut();
            more(&servers[1 - server..][..1], "while the other was cut off");
            servers[server].wires.heal();
            "a server was cut off"
        }
        4 => {
            etcd.compact();
            "compaction"
        }
        5 => {
            etcd.kill(member);
            more(servers, "after a member died");
            etcd.restart(member);
            "a member died"
        }
        6 => {
            servers[server].clock.set_ahead([5, -7][server] * 60 * 60);
            more(servers, "after a clock jumped");
            servers[server].clock.set_ahead(0);
            "a clock jumped away and back"
        }
        _ => {
            // What it missed is gone when it comes back.
            servers[server].wires.cut();
            more(&servers[1 - server..][..1], "while the other was cut off");
            etcd.compact();
            servers[server].wires.replace();
            "a server was cut off and history compacted"
        }
    }
}

/// Waits until each of the servers has acknowledged enough new writes.
fn more(servers: &[Server], when: &str) {
    let before: Vec<u64> = servers.iter().map(|server| server.acknowledged.load(Ordering::SeqCst)).collect();
    for (server, before) in servers.iter().zip(before) {
        wait_for(&format!("writes {when}"), || {
            (server.acknowledged.load(Ordering::SeqCst) >= before + ENOUGH).then_some(())
        });
    }
}

fn survives(etcd_version: &str) {
    finds_what_is_wrong();
    let Some(program) = program(etcd_version) else { return };
    let mut etcd = Etcd::start(program, 3);
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::new(&etcd)).collect();
    let shared = Shared { history: Arc::default(), end: Arc::default(), next: Arc::new(AtomicU64::new(1)) };
    let first = servers[0].endpoint.lock().unwrap().client().get(CONFIG_MAPS).expect_status(200);
    let (start, until) = (resource_version(&first), Arc::new(AtomicU64::new(0)));
    let mut clients = Vec::new();
    let mut watches = Vec::new();
    for server in &servers {
        for _ in 0..WRITERS {
            let (shared, endpoint) = (shared.clone(), server.endpoint.clone());
            let acknowledged = server.acknowledged.clone();
            clients.push(std::thread::spawn(move || write(&shared, &endpoint, &acknowledged)));
        }
        let (lister, endpoint) = (shared.clone(), server.endpoint.clone());
        clients.push(std::thread::spawn(move || list(&lister, &endpoint)));
        let (endpoint, until) = (server.endpoint.clone(), until.clone());
        watches.push(std::thread::spawn(move || watch(&endpoint, start, &until)));
    }
    let (beside, reference) = (shared.clone(), Reference::on(&etcd));
    clients.push(std::thread::spawn(move || write_beside(&beside, reference)));
    more(&servers, "before any fault");
    for round in 0..rounds() {
        let began = std::time::Instant::now();
        let what = fault(round, &mut etcd, &mut servers);
        etcd.wait_until_healthy();
        more(&servers, what);
        println!("round {round}: {what}, {:?}", began.elapsed());
    }
    shared.end.store(true, Ordering::SeqCst);
    clients.into_iter().for_each(|client| client.join().expect("a client"));
    // A last change that every watch must tell.
    let mut client = servers[0].endpoint.lock().unwrap().client();
    let last = json!({"metadata": {"name": "last"}, "data": {"id": "last"}});
    let last = client.post(CONFIG_MAPS, &last).expect_status(201);
    until.store(resource_version(&last), Ordering::SeqCst);
    let watched: Vec<Watched> = watches.into_iter().map(|watch| watch.join().expect("a watch")).collect();
    let wrong = shared.history.check(start, &watched);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    let reported: usize = watched.iter().map(|watch| watch.events.len()).sum();
    println!("{reported} events, {} gaps", watched.iter().map(|watch| watch.gaps.len()).sum::<usize>());
}

#[test]
fn faults_of_a_cluster_that_tells_progress() {
    survives("3.5");
}

#[test]
fn faults_of_a_cluster_that_cannot_be_trusted_with_progress() {
    survives("3.4");
}

/// An observer that does not look at anything.
struct Blind;

impl Observer for Blind {
    fn replay(&mut self, _: Record, _: bool) {}

    fn publish(&mut self, _: &[Record], _: Revision) {}
}

#[test]
fn an_equal_write_of_another_server_is_not_taken_for_the_lost_one() {
    let Some(program) = program("3.5") else { return };
    let etcd = Etcd::start(program, 1);
    let wires = Wires::to(&etcd);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _context = runtime.enter();
    let [one, other] = [wires.urls(), etcd.urls()].map(|url| {
        let store = EtcdStore::new(EtcdOptions { endpoints: vec![url], ..EtcdOptions::default() }).expect("a store");
        store.start(Box::new(Blind)).expect("a start");
        store
    });
    let put = |key: &str, expect, value: &'static str| Write::put(key.into(), expect, value.into());
    let (quota, objects) = ("/registry/quota", ["/registry/objects/one", "/registry/objects/other"]);
    let first = Transaction::of(vec![put(quota, Expect::Absent, "0")]);
    let at = runtime.block_on(other.commit(first)).expect("stored");
    // Both servers charge their object, and write the same usage.
    let charged =
        |object: &str| Transaction::of(vec![put(object, Expect::Absent, "{}"), put(quota, Expect::At(at), "1")]);
    wires.cut();
    let lost = runtime.spawn(one.commit(charged(objects[0])));
    wait_for("an attempt", || wires.block(objects[0]).then_some(()));
    runtime.block_on(other.commit(charged(objects[1]))).expect("stored");
    wires.replace();
    let outcome = runtime.block_on(lost).expect("no panic");
    assert!(matches!(outcome, Err(CommitError::Conflict { index: 1, .. })), "{outcome:?}");
    one.close();
    other.close();
}
