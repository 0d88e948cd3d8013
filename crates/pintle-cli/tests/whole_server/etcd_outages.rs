//! The effects on clients of an etcd cluster that loses its leader, is full, or has servers whose clocks jump. Guarantees that
//! no request and no watch fails unnecessarily. Must never compare durations except with etcd's own: a slow machine slows both.

use crate::common::clock::WallClock;
use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Answer, Client, Endpoint};
use crate::common::process::{Installation, Process};
use crate::common::reference::{self, Reference};
use crate::common::{name, resource_version, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn serve(installation: &Installation, flags: &[&str], clock: Option<&WallClock>) -> Process {
    installation.start_changed(|command| {
        command.args(flags);
        clock.inspect(|clock| clock.rule(command));
    })
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": value}})
}

fn path(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

/// A watch of everything from now on.
fn watch(endpoint: &Endpoint) -> crate::common::http::Watch {
    let now = resource_version(&endpoint.client().get(CONFIG_MAPS).expect_status(200));
    let path = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=600&resourceVersion={now}");
    endpoint.client().watch(&path).expect("a watch")
}

const LEADERS: usize = 3;

#[test]
fn when_a_leader_is_replaced_all_servers_write_again_and_no_watch_has_ended() {
    let Some(program) = program("3.5") else { return };
    let mut etcd = Etcd::start(program, 3);
    for round in 0..LEADERS {
        let leader = etcd.leader();
        // One server calls the member that dies, the other one that stays.
        let servers = [leader, leader + 1].map(|first| {
            let urls: Vec<_> = (0..etcd.len()).map(|index| etcd.url((first + index) % etcd.len())).collect();
            let installation = Installation::own();
            let process = serve(&installation, &["--etcd-servers", &urls.join(",")], None);
            (installation, process)
        });
        let endpoints = servers.each_ref().map(|(_, process)| process.endpoint());
        let watches = endpoints.each_ref().map(watch);
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watches = watches.map(|watch| scope.spawn(|| reported(watch)));
            let (sender, writes) = mpsc::channel();
            for (number, endpoint) in endpoints.iter().enumerate() {
                let (end, sender) = (&end, sender.clone());
                scope.spawn(move || write(endpoint, &format!("r{round}-{number}"), end, &sender));
            }
            let mut acknowledged: Vec<Write> = Vec::new();
            let mut after = |since: Instant| {
                [0, 1].map(|server| {
                    loop {
                        let found = acknowledged.iter().find(|write| write.server == server && write.began > since);
                        if let Some(write) = found {
                            break write.ended;
                        }
                        acknowledged.push(writes.recv_timeout(crate::common::DEADLINE).expect("one more write"));
                    }
                })
            };
            after(Instant::now());
            let killed = Instant::now();
            etcd.kill(leader);
            let etcd_took = writable_again(&etcd, leader) - killed;
            for (server, ended) in after(killed).into_iter().enumerate() {
                let took = ended - killed;
                // Some tenths of a second more on a machine that does nothing else.
                println!("round {round}: etcd took {etcd_took:?}, server {server} {took:?}");
            }
            end.store(true, Ordering::SeqCst);
            acknowledged.extend(rest_of(&writes, sender));
            let last = endpoints[0].client().post(CONFIG_MAPS, &config_map(&format!("last-{round}"), ""));
            last.expect_status(201);
            let mut expected: Vec<_> = acknowledged.into_iter().map(|write| (write.revision, write.name)).collect();
            expected.sort();
            for watch in watches {
                assert_eq!(watch.join().expect("a watch that goes on"), expected);
            }
        });
        etcd.restart(leader);
        etcd.wait_until_healthy();
    }
}

/// An acknowledged write.
struct Write {
    server: usize,
    began: Instant,
    ended: Instant,
    revision: u64,
    name: String,
}

/// Creates one object after the other; each must be acknowledged.
fn write(endpoint: &Endpoint, prefix: &str, end: &AtomicBool, sender: &mpsc::Sender<Write>) {
    let (mut client, server) = (endpoint.client(), usize::from(prefix.ends_with('1')));
    for number in 0.. {
        if end.load(Ordering::SeqCst) {
            return;
        }
        let (began, name) = (Instant::now(), format!("{prefix}-{number}"));
        let made = client.post(CONFIG_MAPS, &config_map(&name, "")).expect_status(201);
        let write = Write { server, began, ended: Instant::now(), revision: resource_version(&made), name };
        sender.send(write).expect("somebody counts");
    }
}

/// What else comes when the last writer has gone.
fn rest_of(writes: &mpsc::Receiver<Write>, ours: mpsc::Sender<Write>) -> Vec<Write> {
    drop(ours);
    writes.iter().collect()
}

/// Everything that one connection of a watch tells, up to the last object.
fn reported(mut watch: crate::common::http::Watch) -> Vec<(u64, String)> {
    let mut reported = Vec::new();
    loop {
        let (kind, object) = watch.event();
        assert_eq!(kind, "ADDED", "{object}");
        if name(&object).starts_with("last-") {
            return reported;
        }
        reported.push((resource_version(&object), name(&object).to_owned()));
    }
}

/// When the members that are left take writes again. They are asked all the time, as what is asked of a member that does
/// not know yet that its leader is gone is lost.
fn writable_again(etcd: &Etcd, dead: usize) -> Instant {
    let (sender, first) = mpsc::channel();
    loop {
        for index in (0..etcd.len()).filter(|index| *index != dead) {
            let (mut client, sender) = (etcd.client(index), sender.clone());
            std::thread::spawn(move || {
                let put = client.post("/v3/kv/put", &json!({"key": "YQ==", "value": "YQ=="}));
                if put.is_ok_and(|answer| answer.status == 200) {
                    // Only the first counts.
                    let _ = sender.send(Instant::now());
                }
            });
        }
        if let Ok(at) = first.recv_timeout(Duration::from_millis(50)) {
            return at;
        }
    }
}

/// A member that was asked and has not answered may still do it when it goes on, so the server reports neither success
/// nor a conflict.
#[test]
fn a_creation_that_may_take_place_yet_is_not_refused() {
    let Some(program) = program("3.5") else { return };
    let etcd = Etcd::start(program, 3);
    let leader = etcd.leader();
    let first = (leader + 1) % etcd.len();
    let urls: Vec<_> = (0..etcd.len()).map(|index| etcd.url((first + index) % etcd.len())).collect();
    let mut reference = Reference::at(&etcd, leader);
    // A server that has turned to another member before it is asked reads what is there and reports a conflict. It
    // stays with that member, so each attempt has a server of its own, which begins with the first one.
    let undecided = (0..10).find_map(|round| {
        let installation = Installation::own();
        let process = serve(&installation, &["--etcd-servers", &urls.join(",")], None);
        let mut client = process.endpoint().client();
        let (name, uid) = (format!("n{round}"), "3c1d3cf1-90f3-4f4f-8c3f-0d1f3a4b5c6d");
        // The server is ready and connected before the member stops.
        client.get(&path(&name)).expect_status(404);
        etcd.pause(first);
        let stored = reference::config_map(&name, uid, "value", "theirs");
        let there = reference.put(&format!("/registry/configmaps/default/{name}"), 0, &stored, 0).expect("an answer");
        let answer = client.post(CONFIG_MAPS, &config_map(&name, "ours")).answer();
        etcd.resume(first);
        let found = client.get(&path(&name)).expect_status(200);
        assert_eq!((found["data"]["value"].as_str(), there), (Some("theirs"), Ok(resource_version(&found))));
        (answer.status != 409).then(|| answer.expect(500))
    });
    let status = undecided.expect("a server that asks the member that does not answer");
    let message = "rpc error: code = Unknown desc = the outcome of an attempt at the transaction is unknown";
    assert_eq!(status["message"], message);
}

const FULL: &str = "etcdserver: mvcc: database space exceeded";

/// Some hundred kilobytes that do not shrink.
fn bulk(number: usize) -> String {
    format!("{number:08}").repeat(40_000)
}

#[test]
fn a_full_cluster_is_read_and_watched_and_written_again_when_there_is_room() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let etcd = Etcd::start_with(program, 1, &["--quota-backend-bytes", "6000000"]);
        let installation = Installation::own();
        let process = serve(&installation, &["--etcd-servers", &etcd.urls()], None);
        let (endpoint, mut client) = (process.endpoint(), process.endpoint().client());
        let mut watch = watch(&endpoint);
        let mut state = BTreeMap::new();
        for name in ["bulk", "small", "deleted"] {
            let made = client.post(CONFIG_MAPS, &config_map(name, "")).expect_status(201);
            assert_eq!(watch.event(), ("ADDED".to_owned(), made.clone()));
            state.insert(name, made);
        }
        let refused = (0..).find_map(|number| {
            let answer = client.put(&path("bulk"), &config_map("bulk", &bulk(number))).answer();
            if answer.status != 200 {
                return Some(answer);
            }
            assert_eq!(watch.event(), ("MODIFIED".to_owned(), answer.json()));
            state.insert("bulk", answer.json());
            None
        });
        is_full(&refused.expect("some write is one too many"));
        is_full(&client.post(CONFIG_MAPS, &config_map("new", "")).answer());
        is_full(&client.put(&path("small"), &config_map("small", "other")).answer());
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal"});
        is_full(&client.post("/api/v1/namespaces/default/events", &event).answer());

        // What takes no room goes on.
        assert_eq!(client.get("/readyz").answer().text(), "ok");
        shows(&mut client, &state);
        client.delete(&path("deleted")).expect_status(200);
        let (kind, object) = watch.event();
        assert_eq!((kind.as_str(), name(&object)), ("DELETED", "deleted"));
        state.remove("deleted");

        etcd.compact();
        etcd.call("/v3/maintenance/defragment", &json!({}));
        let alarms = etcd.call("/v3/maintenance/alarm", &json!({}));
        for alarm in alarms["alarms"].as_array().expect("an alarm") {
            let disarm = json!({"action": "DEACTIVATE", "memberID": alarm["memberID"], "alarm": alarm["alarm"]});
            etcd.call("/v3/maintenance/alarm", &disarm);
        }
        shows(&mut client, &state);
        let written = client.put(&path("small"), &config_map("small", "other")).expect_status(200);
        assert_eq!(watch.event(), ("MODIFIED".to_owned(), written.clone()));
        state.insert("small", written);
        let made = client.post(CONFIG_MAPS, &config_map("new", "")).expect_status(201);
        assert_eq!(watch.event(), ("ADDED".to_owned(), made.clone()));
        state.insert("new", made);
        client.post("/api/v1/namespaces/default/events", &event).expect_status(201);
        shows(&mut client, &state);
    }
}

fn is_full(answer: &Answer) {
    let status = answer.expect(500);
    assert_eq!((&status["message"], &status["reason"]), (&json!(FULL), &Value::Null), "{status}");
}

/// A consistent list has just what was acknowledged.
fn shows(client: &mut Client, state: &BTreeMap<&str, Value>) {
    let list = client.get(CONFIG_MAPS).expect_status(200);
    let items = list["items"].as_array().expect("items").iter();
    let found: BTreeMap<&str, Value> = items.filter(|it| name(it) != "kube-root-ca.crt").map(bare).collect();
    assert_eq!(found, state.iter().map(|(name, object)| (*name, bare(object).1)).collect());
}

/// An object as it stands in a list.
fn bare(object: &Value) -> (&str, Value) {
    (name(object), json!({"metadata": object["metadata"], "data": object["data"]}))
}

/// Who restores a cluster should restart its servers. A server that was not must not show for ever what is no longer there.
#[test]
fn a_cluster_restored_from_a_backup_is_read_again() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let mut etcd = Etcd::start(program, 1);
        let installation = Installation::own();
        let process = serve(&installation, &["--etcd-servers", &etcd.urls()], None);
        let (endpoint, mut client) = (process.endpoint(), process.endpoint().client());
        let kept = client.post(CONFIG_MAPS, &config_map("kept", "1")).expect_status(201);
        etcd.save();
        wait_for("the cluster", || (client.get(CONFIG_MAPS).answer().status == 200).then_some(()));
        let mut watch = watch(&endpoint);
        let changed = client.put(&path("kept"), &config_map("kept", "2")).expect_status(200);
        let lost = client.post(CONFIG_MAPS, &config_map("lost", "")).expect_status(201);
        for (kind, object) in [("MODIFIED", &changed), ("ADDED", &lost)] {
            assert_eq!(watch.event(), (kind.to_owned(), object.clone()));
        }
        etcd.put_back();
        let list = wait_for("what is there", || {
            let answer = client.get(CONFIG_MAPS).answer();
            (answer.status == 200).then(|| answer.json())
        });
        assert!(resource_version(&list) < resource_version(&lost), "{list}");
        shows(&mut client, &BTreeMap::from([("kept", kept.clone())]));
        let (kind, status) = watch.event();
        assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)), "{status}");
        // What was read before is no base for what comes now.
        let mut stale = changed;
        stale["data"]["value"] = "3".into();
        assert_eq!(client.put(&path("kept"), &stale).answer().status, 409);
        // It goes on from there.
        let mut watch = self::watch(&endpoint);
        let changed = client.put(&path("kept"), &config_map("kept", "4")).expect_status(200);
        assert_eq!(watch.event(), ("MODIFIED".to_owned(), changed.clone()));
        shows(&mut client, &BTreeMap::from([("kept", changed)]));
        wait_for("its being ready", || (client.get("/readyz").answer().status == 200).then_some(()));
    }
}

#[test]
fn a_clock_that_jumps_decides_times_and_nothing_else() {
    const HOUR: i64 = 60 * 60;
    let cluster = program("3.5").map(|program| Etcd::start(program, 1));
    for etcd in [None, cluster.as_ref()] {
        let (clock, installation) = (WallClock::new(), Installation::own());
        let urls = etcd.map(Etcd::urls);
        let flags = urls.iter().flat_map(|urls| ["--etcd-servers", urls]).collect::<Vec<_>>();
        let process = serve(&installation, &flags, Some(&clock));
        let (endpoint, mut client) = (process.endpoint(), process.endpoint().client());
        let mut watch = watch(&endpoint);
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        client.post(accounts, &json!({"metadata": {"name": "robot"}})).expect_status(201);
        let spec = json!({"spec": {"expirationSeconds": 600}});
        let token = client.post(&format!("{accounts}/robot/token"), &spec).expect_status(201);
        let token = token["status"]["token"].as_str().expect("a token").to_owned();
        let mut robot = Endpoint { token: Some(token), ..endpoint.clone() }.client();
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal"});
        client.post("/api/v1/namespaces/default/events", &event).expect_status(201);

        let (mut revision, mut times) = (0, Vec::new());
        for (number, ahead) in [0, 5 * HOUR, -7 * HOUR, 0, 400 * 24 * HOUR, 0].into_iter().enumerate() {
            clock.set_ahead(ahead);
            let made = client.post(CONFIG_MAPS, &config_map(&format!("n{number}"), "1")).expect_status(201);
            assert_eq!(watch.event(), ("ADDED".to_owned(), made.clone()));
            let changed = client.put(&path(name(&made)), &config_map(name(&made), "2")).expect_status(200);
            assert_eq!(watch.event(), ("MODIFIED".to_owned(), changed.clone()));
            assert!(resource_version(&changed) > resource_version(&made) && resource_version(&made) > revision);
            revision = resource_version(&changed);
            assert_eq!(client.get(&path(name(&made))).expect_status(200), changed);
            times.push(made["metadata"]["creationTimestamp"].as_str().expect("a time").to_owned());
            // Who is let in by time is: a token is good from when it was given until it expires.
            let status = robot.get("/api/v1/namespaces/default/pods").answer().status;
            assert_eq!(status, if ahead == 0 { 403 } else { 401 }, "{ahead} s ahead");
        }
        let [start, later, earlier, _, far, end] = &times[..] else { panic!("{times:?}") };
        assert!(earlier < start && start <= end && end < later && later < far, "the clock does jump: {times:?}");
        if etcd.is_some() {
            // Its lifetime is counted by etcd, whose clock goes right.
            client.get("/api/v1/namespaces/default/events/e").expect_status(200);
        }
        let list = client.get(CONFIG_MAPS).expect_status(200);
        assert_eq!(
            list["items"].as_array().map(|items| items.iter().filter(|it| name(it).starts_with('n')).count()),
            Some(6)
        );
        drop(process);
        // A start at a wrong time finds what there is, and goes on from there.
        clock.set_ahead(-7 * HOUR);
        let process = serve(&installation, &flags, Some(&clock));
        let found = process.endpoint().client().get(CONFIG_MAPS).expect_status(200);
        assert_eq!(found["items"], list["items"]);
        assert!(resource_version(&found) >= resource_version(&list));
    }
}
