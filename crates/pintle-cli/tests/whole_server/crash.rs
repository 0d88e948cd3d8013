//! SIGKILL during writes, repeatedly on the same data. Guarantees that acknowledged writes exist after each start, that
//! no write is partial, that resource versions increase, and that a watch from before the kills delivers every event
//! once and in order. Must never depend on luck: rounds end after a number of acknowledgements that differs from round
//! to round.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::Installation;
use crate::common::{DEADLINE, name, resource_version, wait_for};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KILLS: u64 = 50;
const WRITERS: usize = 4;
/// How many rounds back a watch begins.
const ROUNDS_BACK: usize = 5;

/// The state of a name: the resource version and the number in its data.
type State = BTreeMap<String, (u64, u64)>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    kind: &'static str,
    name: String,
    number: u64,
}

/// The actions of one writer until the server was killed.
struct Log {
    acknowledged: BTreeMap<u64, Change>,
    /// Sent without a response.
    pending: Option<Change>,
}

/// Data that repeats the number everywhere, so that a torn object would show.
fn data(number: u64) -> Value {
    json!({"a": number.to_string(), "m": format!("{number} ").repeat(200), "z": number.to_string()})
}

fn number(object: &Value) -> u64 {
    let number = object["data"]["a"].as_str().and_then(|text| text.parse().ok());
    let number = number.unwrap_or_else(|| panic!("no number in {object}"));
    assert_eq!(object["data"], data(number), "a whole object");
    number
}

#[test]
fn acknowledged_writes_survive_every_kill() {
    let installation = Installation::own();
    let numbers = AtomicU64::new(1);
    let mut state = State::new();
    // All that happened, and for each round where it began.
    let mut history: BTreeMap<u64, Change> = BTreeMap::new();
    let mut begins: Vec<u64> = Vec::new();
    let mut highest = 0;

    for round in 0..=KILLS {
        if round % 7 == 3 {
            die_while_starting(&installation, round);
        }
        let mut process = installation.start();
        let endpoint = process.endpoint();
        let mut client = endpoint.client();

        let list = client.get(CONFIG_MAPS).expect_status(200);
        let now = resource_version(&list);
        assert!(now >= highest, "round {round}: resource versions rise: {now} after {highest}");
        assert_eq!(read(&list), state, "round {round}: what another start had seen or was acknowledged");
        if let Some(&begin) = begins.get(begins.len().saturating_sub(ROUNDS_BACK)) {
            let expected: Vec<_> = history.range(begin + 1..).map(|(at, change)| (*at, change.clone())).collect();
            let (events, created) = watch_to_the_end(&mut client, begin);
            assert_eq!(events, expected, "round {round}: events after {begin}");
            assert!(created > highest, "round {round}: a new write has a new resource version");
        }
        let begin = resource_version(&client.get(CONFIG_MAPS).expect_status(200));
        begins.push(begin);
        if round == KILLS {
            break;
        }

        // Load until enough is acknowledged, then SIGKILL.
        let acknowledged = AtomicU64::new(0);
        let dead = AtomicBool::new(false);
        let enough = round * 7 % 41 + 1;
        let logs: Vec<Log> = std::thread::scope(|scope| {
            let (numbers, acknowledged, dead, endpoint) = (&numbers, &acknowledged, &dead, &endpoint);
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let own = state.iter().filter(|(name, _)| name.starts_with(&format!("w{writer}-")));
                    let own: State = own.map(|(name, state)| (name.clone(), *state)).collect();
                    scope.spawn(move || write(endpoint, writer, own, numbers, acknowledged, dead))
                })
                .collect();
            wait_for("acknowledgements", || (acknowledged.load(Ordering::SeqCst) >= enough).then_some(()));
            process.kill();
            dead.store(true, Ordering::SeqCst);
            writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
        });
        drop(process);

        // Start once more only to look: this is where pending writes are found to have happened or not.
        let mut process = installation.start();
        let mut client = process.endpoint().client();
        let list = client.get(CONFIG_MAPS).expect_status(200);
        let (events, _) = watch_to_the_end(&mut client, begin);
        settle(round, &logs, &events, &mut state);
        assert_eq!(read(&list), state, "round {round}: the state is the old one and the events");
        history.extend(events);
        highest = resource_version(&list).max(history.keys().next_back().copied().unwrap_or_default());
        process.kill();
    }
    assert!(history.len() as u64 > KILLS, "there was load");
}

/// Kills a server before it serves, at a moment that differs from round to round.
fn die_while_starting(installation: &Installation, round: u64) {
    let port = crate::common::process::free_port();
    let mut command = installation.command(port);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    std::thread::sleep(Duration::from_millis(round));
    child.kill().expect("killed");
    child.wait().expect("gone");
}

/// One writer: creates, updates and deletes its own objects until the server is killed.
fn write(
    endpoint: &Endpoint,
    writer: usize,
    mut own: State,
    numbers: &AtomicU64,
    acknowledged: &AtomicU64,
    dead: &AtomicBool,
) -> Log {
    let mut log = Log { acknowledged: BTreeMap::new(), pending: None };
    let mut client = endpoint.client();
    loop {
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let name = format!("w{writer}-{}", number % 5);
        let path = format!("{CONFIG_MAPS}/{name}");
        let kind = match own.get(&name) {
            None => "ADDED",
            Some(_) if number.is_multiple_of(3) => "DELETED",
            Some(_) => "MODIFIED",
        };
        let answer = match (kind, own.get(&name)) {
            ("MODIFIED", Some((version, _))) => {
                let metadata = json!({"name": name, "resourceVersion": version.to_string()});
                client.put(&path, &json!({"metadata": metadata, "data": data(number)}))
            }
            ("DELETED", _) => client.delete(&path),
            _ => client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}, "data": data(number)})),
        };
        let last = own.get(&name).map_or(number, |(_, number)| *number);
        let change = Change { kind, name: name.clone(), number: if kind == "DELETED" { last } else { number } };
        let Ok(answer) = answer else {
            // Only a kill takes an answer away.
            wait_for("the kill", || dead.load(Ordering::SeqCst).then_some(()));
            log.pending = Some(change);
            return log;
        };
        assert!(answer.status < 300, "{kind} {name}: {}", answer.text());
        if kind == "DELETED" {
            own.remove(&name);
        } else {
            let version = resource_version(&answer.json());
            own.insert(name, (version, number));
            log.acknowledged.insert(version, change.clone());
        }
        if kind == "DELETED" {
            // The answer to a delete does not tell the revision of the deletion.
            log.acknowledged.insert(u64::MAX - number, change);
        }
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
}

fn read(list: &Value) -> State {
    let items = list["items"].as_array().expect("items").iter();
    items.map(|item| (name(item).to_owned(), (resource_version(item), number(item)))).collect()
}

/// Everything after a resource version, up to a write of our own that ends it; with that write's resource version.
fn watch_to_the_end(client: &mut Client, from: u64) -> (Vec<(u64, Change)>, u64) {
    let marker = json!({"metadata": {"generateName": "end-"}});
    // Its creation and deletion are two more events, of which none is left behind.
    let end = client.post(CONFIG_MAPS, &marker).expect_status(201);
    let created = resource_version(&end);
    client.delete(&format!("{CONFIG_MAPS}/{}", name(&end))).expect_status(200);
    let timeout = DEADLINE.as_secs();
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}&timeoutSeconds={timeout}");
    let mut watch = client.watch(&path).expect("the history is still there");
    let mut events = Vec::new();
    let mut last = from;
    loop {
        let (kind, object) = watch.event();
        let at = resource_version(&object);
        assert!(at > last, "{kind} {object}: in order and once: {at} after {last}");
        last = at;
        if name(&object) == name(&end) && kind == "DELETED" {
            return (events, created);
        }
        if name(&object).starts_with("end-") {
            continue;
        }
        let kind = ["ADDED", "MODIFIED", "DELETED"].into_iter().find(|known| *known == kind);
        let kind = kind.unwrap_or_else(|| panic!("another kind of event: {object}"));
        events.push((at, Change { kind, name: name(&object).to_owned(), number: number(&object) }));
    }
}

/// Compares events with the logs of the writers, and updates the state.
fn settle(round: u64, logs: &[Log], events: &[(u64, Change)], state: &mut State) {
    let mut seen: BTreeSet<(&str, &str, u64)> = BTreeSet::new();
    for (at, change) in events {
        let reported = logs.iter().any(|log| {
            let reported = log.acknowledged.get(at) == Some(change);
            reported || log.acknowledged.values().any(|known| change.kind == "DELETED" && known == change)
        });
        let reported = reported || logs.iter().any(|log| log.pending.as_ref() == Some(change));
        assert!(reported, "round {round}: nobody did {change:?} at {at}");
        let once = seen.insert((change.kind, &change.name, change.number));
        assert!(once, "round {round}: {change:?} happened twice");
        if change.kind == "DELETED" {
            state.remove(&change.name);
        } else {
            state.insert(change.name.clone(), (*at, change.number));
        }
    }
    for (at, change) in logs.iter().flat_map(|log| &log.acknowledged) {
        let there = events.iter().any(|(found, event)| event == change && (found == at || change.kind == "DELETED"));
        assert!(there, "round {round}: {change:?} was acknowledged and is lost");
    }
}
