//! Kills a writing process repeatedly, and checks the store that it leaves.
//! Guarantees that acknowledged writes are present, others are present completely or not at all, and revisions
//! continue to increase.
//! Must never run the killed code in the test's own process.

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, Expect, Revision, Store, Transaction, Write};
use support::{Random, TempDir, Watcher};

const DIRECTORY: &str = "PINTLE_CRASH_DIRECTORY";
const ROUNDS: u64 = 20;
const THREADS: u64 = 6;
/// Each thread overwrites and deletes this many pairs of keys in turn.
const SLOTS: u64 = 7;

fn main() {
    match std::env::var_os(DIRECTORY) {
        Some(directory) => write_until_killed(Path::new(&directory)),
        None => kill_and_look(),
    }
}

/// The number at the beginning of a value; the rest is padding whose length depends on it.
fn value(number: u64) -> Bytes {
    let mut value = number.to_be_bytes().to_vec();
    value.resize(8 + (number * 37 % 9000) as usize, number as u8);
    value.into()
}

fn keys(thread: u64, slot: u64) -> [String; 2] {
    [format!("/a/{thread}/{slot}"), format!("/b/{thread}/{slot}")]
}

/// Each fifth transaction deletes its pair, the others set it.
fn is_delete(number: u64) -> bool {
    number % 5 == 4
}

fn pair(thread: u64, number: u64) -> Transaction {
    let write = |key: String| Write {
        key: key.into(),
        expect: Expect::Any,
        value: (!is_delete(number)).then(|| value(number)),
        stored: None,
        begins_revision: false,
    };
    Transaction::of(keys(thread, number % SLOTS).map(write).into())
}

fn open(directory: &Path) -> (EmbeddedStore, Watcher, Revision) {
    // Small tables and frequent compaction: all operations of the engine happen during the kills.
    let options = EmbeddedOptions { retention: None, segment_bytes: 128 * 1024, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory, options).expect("a killed store opens");
    let watcher = Watcher::default();
    let started = store.start(Box::new(watcher.clone())).expect("a killed store starts");
    (store, watcher, started.current)
}

/// The child: prints what it is about to write and what was acknowledged.
fn write_until_killed(directory: &Path) {
    let (store, _, current) = open(directory);
    let store = Arc::new(store);
    let say = |line: String| std::io::stdout().lock().write_all(line.as_bytes()).expect("the parent listens");
    say(format!("started {current}\n"));
    let next = std::env::var("PINTLE_CRASH_NEXT").expect("set by the parent").parse::<u64>().expect("a number");
    let writers = (0..THREADS).map(|thread| {
        let store = store.clone();
        move || {
            for number in next.. {
                say(format!("trying {thread} {number}\n"));
                let revision = store.commit(pair(thread, number)).wait().expect("the disk is well");
                say(format!("acked {thread} {number} {revision}\n"));
            }
        }
    });
    let handles: Vec<_> = writers.map(std::thread::spawn).collect();
    let mut last = current;
    while handles.iter().all(|handle| !handle.is_finished()) {
        let now = store.commit(Transaction::one("/tick".into(), Expect::Any, Some(Bytes::new()))).wait();
        last = last.max(Revision(now.expect("the disk is well").0.saturating_sub(100)));
        store.compact(last).wait().expect("the disk is well");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The parent's knowledge of one pair of keys.
#[derive(Default, Clone, Copy)]
struct Slot {
    /// The number of its value; `None` if the pair is deleted.
    settled: Option<u64>,
    /// A write that was attempted and not acknowledged.
    pending: Option<u64>,
}

/// The number of a slot after this transaction.
fn outcome(number: u64) -> Option<u64> {
    (!is_delete(number)).then_some(number)
}

fn kill_and_look() {
    let directory = TempDir::new();
    let mut random = Random(20_240_229);
    let mut slots = [[Slot::default(); SLOTS as usize]; THREADS as usize];
    let mut next = 0;
    let mut highest = Revision(1);
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let delay = Duration::from_millis(2 + random.below(120));
        let lines = run_and_kill(directory.path(), next, delay);
        for line in lines.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            match words[0] {
                "started" => assert!(number(1) >= highest.0, "round {round}: revisions went back"),
                word => {
                    let slot = &mut slots[number(1) as usize][(number(2) % SLOTS) as usize];
                    if word == "trying" {
                        slot.pending = Some(number(2));
                        next = next.max(number(2) + 1);
                    } else {
                        *slot = Slot { settled: outcome(number(2)), pending: None };
                        highest = highest.max(Revision(number(3)));
                        acknowledged += 1;
                    }
                }
            }
        }
        look(directory.path(), round, &mut slots, &mut highest);
    }
    assert!(acknowledged > 100, "only {acknowledged} writes were made: the test tests nothing");
    println!("crash: {ROUNDS} kills, {acknowledged} acknowledged transactions, revision {highest}");
}

/// Starts the child, kills it some time after its first write, and returns its complete lines.
fn run_and_kill(directory: &Path, next: u64, delay: Duration) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .env(DIRECTORY, directory)
        .env("PINTLE_CRASH_NEXT", next.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be run");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = String::new();
    output.read_line(&mut lines).expect("text");
    // The output must be read continuously, or the child waits for the pipe and not for the disk.
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("text");
        rest
    });
    std::thread::sleep(delay);
    child.kill().expect("killed");
    child.wait().expect("gone");
    lines.push_str(&rest.join().expect("read"));
    lines.truncate(lines.rfind('\n').map_or(0, |end| end + 1));
    lines
}

fn look(directory: &Path, round: u64, slots: &mut [[Slot; SLOTS as usize]], highest: &mut Revision) {
    let (store, watcher, current) = open(directory);
    assert!(current >= *highest, "round {round}: revision {current} after {highest} was acknowledged");
    *highest = current;
    let seen = watcher.0.lock().expect("not poisoned");
    let mut state = BTreeMap::new();
    for record in seen.base.iter().chain(&seen.history) {
        match &record.value {
            Some(value) => state.insert(record.key.to_string(), (record.revision, value.clone())),
            None => state.remove(&*record.key),
        };
    }
    let pairs = seen.history.iter().filter(|record| &*record.key != "/tick");
    for pair in pairs.collect::<Vec<_>>().chunks(2) {
        assert!(pair.len() == 2 && pair[0].revision == pair[1].revision, "round {round}: half a transaction: {pair:?}");
    }
    for (thread, slots) in slots.iter_mut().enumerate() {
        for (index, slot) in slots.iter_mut().enumerate() {
            let [a, b] = keys(thread as u64, index as u64);
            assert_eq!(state.get(&a), state.get(&b), "round {round}: a pair is torn");
            let found = state.get(&a).map(|(_, bytes)| {
                let number = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
                assert_eq!(*bytes, value(number), "round {round}: a value is damaged");
                number
            });
            let possible = found == slot.settled || slot.pending.is_some_and(|number| outcome(number) == found);
            assert!(possible, "round {round}: {a} shows {found:?}, but {:?} was acknowledged", slot.settled);
            *slot = Slot { settled: found, pending: None };
        }
    }
    drop(seen);
    drop(store);
}
