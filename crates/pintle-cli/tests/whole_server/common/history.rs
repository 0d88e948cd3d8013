//! The history of many clients' operations on a few objects, and a check that one order of changes explains it. Guarantees to
//! find a lost acknowledged write, a lost update, a missed, repeated or invented event of a watch, and a stale read. Must never
//! assume an outcome of a request whose response was lost, unless other clients saw its effect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The state of an object: its resource version and its writer.
pub type Version = (u64, String);

/// A change that a watch reported. `id`: its writer; for a delete, the writer of the deleted object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub removed: bool,
    pub id: String,
}

/// The events of one watch, across all its connections.
#[derive(Default)]
pub struct Watched {
    pub events: Vec<(u64, Event)>,
    /// The server has reported that there was no event after the first and up to the second revision.
    pub gaps: Vec<(u64, u64)>,
}

pub enum Fact {
    /// A write was acknowledged: its base (`None`: it was a creation), and its result.
    Written { name: String, based_on: Option<u64>, made: Version },
    /// A removal of this version was acknowledged.
    Removed { name: String, version: u64 },
    /// A write was rejected: it has not taken place, and never will.
    Refused { id: String },
    /// A consistent read of one object; at least up to `floor` all was acknowledged before it began.
    Got { name: String, floor: u64, found: Option<Version> },
    /// A consistent list.
    Listed { floor: u64, revision: u64, found: BTreeMap<String, Version> },
}

#[derive(Default)]
pub struct History {
    facts: Mutex<Vec<Fact>>,
    floor: AtomicU64,
}

impl History {
    /// The revision up to which some client knows everything.
    pub fn floor(&self) -> u64 {
        self.floor.load(Ordering::SeqCst)
    }

    pub fn add(&self, fact: Fact) {
        let revision = match &fact {
            Fact::Written { made, .. } => made.0,
            Fact::Got { found, .. } => found.as_ref().map_or(0, |found| found.0),
            Fact::Listed { revision, .. } => *revision,
            Fact::Removed { .. } | Fact::Refused { .. } => 0,
        };
        self.floor.fetch_max(revision, Ordering::SeqCst);
        self.facts.lock().unwrap().push(fact);
    }

    /// Everything that is wrong. The objects did not exist at the revision `start`, where all watches began.
    pub fn check(&self, start: u64, watched: &[Watched]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut all: BTreeMap<u64, Event> = BTreeMap::new();
        for (number, watch) in watched.iter().enumerate() {
            let mut last = start;
            for (revision, event) in &watch.events {
                if *revision <= last {
                    wrong.push(format!("watch {number} told {revision} after {last}"));
                }
                last = *revision;
                let known = all.entry(*revision).or_insert_with(|| event.clone());
                if known != event {
                    wrong.push(format!("watch {number} told {event:?} at {revision}, another {known:?}"));
                }
            }
        }
        for (number, watch) in watched.iter().enumerate() {
            let told: BTreeSet<u64> = watch.events.iter().map(|(revision, _)| *revision).collect();
            let in_gap = |at: &u64| watch.gaps.iter().any(|(after, to)| after < at && at <= to);
            for missed in all.keys().filter(|at| !told.contains(at) && !in_gap(at)) {
                wrong.push(format!("watch {number} never told {missed}: {:?}", all[missed]));
            }
        }
        let of_name = by_name(&all);
        let ids: BTreeSet<&str> = all.values().filter(|event| !event.removed).map(|event| event.id.as_str()).collect();
        let mut successors: BTreeMap<u64, u64> = BTreeMap::new();
        for fact in self.facts.lock().unwrap().iter() {
            match fact {
                Fact::Written { name, based_on, made } => {
                    let event = all.get(&made.0);
                    if !event.is_some_and(|event| !event.removed && event.id == made.1 && event.name == *name) {
                        wrong.push(format!("acknowledged {name} {made:?}, but there is {event:?}"));
                    }
                    let before = of_name.get(name.as_str()).and_then(|it| it.range(..made.0).next_back());
                    let found = before.filter(|(_, event)| !event.removed).map(|(at, _)| *at);
                    if found != *based_on {
                        wrong.push(format!("{name} {made:?} was based on {based_on:?}, but followed {found:?}"));
                    }
                    if let Some(other) = based_on.and_then(|base| successors.insert(base, made.0)) {
                        wrong.push(format!("{name}: both {other} and {} follow {based_on:?}", made.0));
                    }
                }
                Fact::Removed { name, version } => {
                    let next = of_name.get(name.as_str()).and_then(|it| it.range(version + 1..).next());
                    if !next.is_some_and(|(_, event)| event.removed) {
                        wrong.push(format!("{name} was removed at {version}, but {next:?} followed"));
                    }
                }
                Fact::Refused { id } if ids.contains(id.as_str()) => {
                    wrong.push(format!("{id} was refused and written"))
                }
                Fact::Refused { .. } => {}
                Fact::Got { name, floor, found } => {
                    let events = of_name.get(name.as_str()).cloned().unwrap_or_default();
                    let known = |at: u64| events.range(..=at).next_back().filter(|(_, event)| !event.removed);
                    let is_right = match found {
                        Some((revision, id)) => {
                            events.get(revision).is_some_and(|event| !event.removed && event.id == *id)
                                && events.range(revision + 1..(*floor).max(*revision) + 1).next().is_none()
                        }
                        None => known(*floor).is_none() || events.range(floor + 1..).any(|(_, event)| event.removed),
                    };
                    if !is_right {
                        wrong.push(format!("read {found:?} of {name} when all up to {floor} was known"));
                    }
                }
                Fact::Listed { floor, revision, found } => {
                    if revision < floor {
                        wrong.push(format!("listed at {revision} when all up to {floor} was known"));
                    }
                    let state = state_at(&all, *revision);
                    if state != *found {
                        wrong.push(format!("listed at {revision}: {found:?}, not {state:?}"));
                    }
                }
            }
        }
        wrong
    }
}

fn by_name(all: &BTreeMap<u64, Event>) -> BTreeMap<&str, BTreeMap<u64, &Event>> {
    let mut found: BTreeMap<&str, BTreeMap<u64, &Event>> = BTreeMap::new();
    for (revision, event) in all {
        found.entry(&event.name).or_default().insert(*revision, event);
    }
    found
}

fn state_at(all: &BTreeMap<u64, Event>, revision: u64) -> BTreeMap<String, Version> {
    let mut state = BTreeMap::new();
    for (at, event) in all.range(..=revision) {
        match event.removed {
            true => drop(state.remove(&event.name)),
            false => drop(state.insert(event.name.clone(), (*at, event.id.clone()))),
        }
    }
    state
}

/// Tests the checker itself: each kind of violation is found, and correct histories pass.
pub fn finds_what_is_wrong() {
    let event = |id: &str, removed| Event { name: "a".into(), removed, id: id.into() };
    let watch = |events: &[(u64, Event)]| Watched { events: events.to_vec(), gaps: Vec::new() };
    let good = [(2, event("x", false)), (3, event("y", false)), (5, event("y", true))];
    let written = |based_on, at, id: &str| Fact::Written { name: "a".into(), based_on, made: (at, id.into()) };
    let got = |floor, found: Option<(u64, &str)>| Fact::Got {
        name: "a".into(),
        floor,
        found: found.map(|(at, id)| (at, id.to_owned())),
    };
    let list = |floor, revision, found: &[(u64, &str)]| Fact::Listed {
        floor,
        revision,
        found: found.iter().map(|(at, id)| ("a".to_owned(), (*at, (*id).to_owned()))).collect(),
    };
    let wrong = |facts: Vec<Fact>, watched: &[Watched]| {
        let history = History::default();
        facts.into_iter().for_each(|fact| history.add(fact));
        history.check(1, watched).len()
    };
    let right = vec![
        written(None, 2, "x"),
        written(Some(2), 3, "y"),
        Fact::Removed { name: "a".into(), version: 3 },
        Fact::Refused { id: "z".into() },
        got(2, Some((2, "x"))),
        got(2, Some((3, "y"))),
        got(3, None),
        list(2, 4, &[(3, "y")]),
        list(5, 7, &[]),
    ];
    assert_eq!(wrong(right, &[watch(&good), watch(&good)]), 0);
    let gap = Watched { events: vec![good[2].clone()], gaps: vec![(1, 4)] };
    assert_eq!(wrong(Vec::new(), &[watch(&good), gap]), 0);
    for (what, fact) in [
        ("a lost write", written(Some(3), 4, "w")),
        ("a lost update", written(None, 3, "y")),
        ("a removal that did not take place", Fact::Removed { name: "a".into(), version: 2 }),
        ("a refused write that took place", Fact::Refused { id: "y".into() }),
        ("a stale read", got(3, Some((2, "x")))),
        ("a read of nothing", got(3, Some((4, "v")))),
        ("an object that is not seen", got(5, Some((3, "y")))),
        ("a stale list", list(4, 3, &[(3, "y")])),
        ("a list that mixes revisions", list(2, 3, &[(2, "x")])),
    ] {
        assert!(wrong(vec![fact], &[watch(&good)]) > 0, "{what} is not found");
    }
    let missed = watch(&good[1..]);
    let repeated = watch(&[good[0].clone(), good[0].clone(), good[1].clone(), good[2].clone()]);
    let other = watch(&[(2, event("v", false)), good[1].clone(), good[2].clone()]);
    for watched in [missed, repeated, other] {
        assert!(wrong(Vec::new(), &[watch(&good), watched]) > 0);
    }
}
