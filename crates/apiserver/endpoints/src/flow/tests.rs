//! Who gets a slot, and who is turned away.

use super::*;
use crate::limits;
use crate::request::parse_path;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).into()).collect();
    UserInfo { name: name.into(), groups, ..UserInfo::default() }
}

fn flow(reading: i64, mutating: i64) -> Arc<InFlightLimits> {
    let settings = Settings {
        max_read_only_in_flight: reading,
        max_mutating_in_flight: mutating,
        is_heartbeat: |user, path| {
            path.resource == "leases" || path.resource == "nodes" && user.in_group(groups::NODES)
        },
        ..Settings::default()
    };
    InFlightLimits::new(&settings)
}

fn request(flow: &Arc<InFlightLimits>, user: &UserInfo, path: &str, verb: Verb) -> InFlightRequest {
    InFlightRequest::new(flow, user, parse_path(path).as_ref(), verb, false)
}

/// How many of many requests of a user get a slot, which they keep.
fn entered(flow: &Arc<InFlightLimits>, user: &UserInfo, path: &str, verb: Verb) -> (usize, Vec<InFlightRequest>) {
    let requests: Vec<_> = (0..1000).map(|_| request(flow, user, path, verb)).collect();
    let count = requests.iter().filter(|request| request.has_room() && request.enter().is_ok()).count();
    (count, requests)
}

const PODS: &str = "/api/v1/namespaces/a/pods";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b";
const NODE_STATUS: &str = "/api/v1/nodes/n/status";

#[test]
fn no_user_has_more_than_a_share() {
    let flow = flow(400, 200);
    let held: Vec<_> = (0..5).map(|n| entered(&flow, &user(&format!("u{n}"), &[]), PODS, Verb::List)).collect();
    assert_eq!(held.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [100, 100, 100, 100, 0]);
    assert_eq!((flow.in_flight(false), flow.in_flight(true)), (400, 0));
    // Writes have slots of their own.
    let (writes, kept) = entered(&flow, &user("u0", &[]), PODS, Verb::Create);
    assert_eq!((writes, flow.in_flight(true)), (50, 50));
    drop((held, kept));
    assert_eq!((flow.in_flight(false), flow.in_flight(true)), (0, 0));
    assert!(flow.slots.iter().all(|slots| slots.usage().by_user.is_empty()), "nobody is remembered");
}

#[test]
fn small_limits_have_whole_shares_and_none_has_no_end() {
    for (limit, share) in [(1, 1), (2, 1), (5, 2), (8, 2), (0, 1000), (-1, 1000)] {
        let flow = flow(limit, limit);
        assert_eq!(entered(&flow, &user("a", &[]), PODS, Verb::Get).0, share, "{limit}");
    }
}

#[test]
fn heartbeats_find_slots_whatever_else_is_in_work() {
    let flow = flow(8, 8);
    let greedy: Vec<_> = (0..8).map(|n| entered(&flow, &user(&format!("u{n}"), &[]), PODS, Verb::Create)).collect();
    let node = user("system:node:n", &[groups::NODES]);
    assert!(!request(&flow, &node, PODS, Verb::Create).has_room());
    for (path, verb) in [(LEASE, Verb::Update), (LEASE, Verb::Get), (NODE_STATUS, Verb::Patch)] {
        assert_eq!(request(&flow, &node, path, verb).enter().map_err(|status| status.code), Ok(()), "{path}");
    }
    // Others write leases, too, but say nothing of nodes; and nobody takes the slots of all.
    let other = user("other", &[]);
    assert!(!request(&flow, &other, NODE_STATUS, Verb::Patch).has_room());
    let share = limits::HEARTBEAT_SLOTS.div_ceil(USERS_TO_FILL);
    let (leases, _kept) = entered(&flow, &other, LEASE, Verb::Update);
    assert_eq!(leases as u64, share);
    assert!(request(&flow, &node, LEASE, Verb::Update).has_room());
    // A list of all leases is no heartbeat.
    let (_, reads) = entered(&flow, &other, PODS, Verb::List);
    assert!(!request(&flow, &other, "/apis/coordination.k8s.io/v1/leases", Verb::List).has_room());
    drop((greedy, reads));
}

#[test]
fn masters_are_exempt_and_take_nothing_from_others() {
    let flow = flow(4, 4);
    let (count, held) = entered(&flow, &user("admin", &[groups::MASTERS]), PODS, Verb::List);
    assert_eq!((count, flow.in_flight(false)), (1000, 1000));
    assert_eq!(entered(&flow, &user("a", &[]), PODS, Verb::List).0, 1);
    assert!(held.iter().all(|request| request.hold_response(u64::MAX / 2).is_ok() && request.body_room().is_ok()));
}

#[test]
fn a_slot_goes_on_with_the_answer() {
    let flow = flow(4, 4);
    let user = user("a", &[]);
    let first = request(&flow, &user, PODS, Verb::List);
    first.enter().expect("room");
    first.enter().expect("it has one");
    let slot = first.take_slot();
    drop(first);
    let second = request(&flow, &user, PODS, Verb::List);
    assert!(slot.is_some() && !second.has_room() && second.rejection_code().is_none());
    assert_eq!(second.enter().map_err(|status| status.code), Err(429));
    assert_eq!(second.rejection_code(), Some(429));
    drop(slot);
    assert!(second.has_room());
}

#[test]
fn what_has_no_end_has_places_of_its_own() {
    let settings = Settings { max_read_only_in_flight: 4, max_streams: 8, max_watches: 40, ..Settings::default() };
    let flow = InFlightLimits::new(&settings);
    let long_running =
        |user: &UserInfo, path, verb| InFlightRequest::new(&flow, user, parse_path(path).as_ref(), verb, true);
    let held = |user: &UserInfo, path, verb| -> Vec<InFlightRequest> {
        let requests = (0..100).map(|_| long_running(user, path, verb));
        requests.take_while(|request| request.has_room() && request.enter().is_ok()).collect()
    };
    const EXEC: &str = "/api/v1/namespaces/a/pods/p/exec";
    let (a, b) = (user("a", &[]), user("b", &[]));
    let (streams, watches) = (held(&a, EXEC, Verb::Create), held(&a, PODS, Verb::Watch));
    assert_eq!((streams.len(), watches.len()), (2, 10), "a quarter each");
    assert!(long_running(&b, EXEC, Verb::Get).has_room() && long_running(&b, PODS, Verb::Watch).has_room());
    assert_eq!(held(&user("admin", &[groups::MASTERS]), EXEC, Verb::Create).len(), 100);
    // They are no requests in work, of which the user may have others.
    assert_eq!((flow.in_flight(false), flow.unanswered.load(Ordering::Relaxed)), (0, 0));
    assert!(request(&flow, &a, PODS, Verb::List).enter().is_ok());
    // The place goes on with the answer, and is free when that has ended.
    let slots: Vec<_> = streams.iter().map(InFlightRequest::take_slot).collect();
    drop(streams);
    assert!(slots.iter().all(Option::is_some) && !long_running(&a, EXEC, Verb::Create).has_room());
    drop(slots);
    assert!(long_running(&a, EXEC, Verb::Create).has_room());
}

#[tokio::test]
async fn a_watch_that_waits_keeps_its_place() {
    let flow = InFlightLimits::new(&Settings { max_watches: 1, ..Settings::default() });
    let watch = || InFlightRequest::new(&flow, &user("a", &[]), parse_path(PODS).as_ref(), Verb::Watch, true);
    let waiting = watch();
    waiting.enter().expect("room");
    assert_eq!(waiting.wait(async { watch().has_room() }).await.ok(), Some(false));
}

#[tokio::test]
async fn who_waits_holds_no_slot_and_not_all_may_wait() {
    let flow = flow(4, 4);
    let (a, b) = (user("a", &[]), user("b", &[]));
    let waiting = request(&flow, &a, PODS, Verb::List);
    waiting.enter().expect("room");
    let other = request(&flow, &a, PODS, Verb::List);
    let waited = waiting.wait(async { other.enter().is_ok() && other.take_slot().is_some() });
    assert_eq!(waited.await.ok(), Some(true));
    assert!(waiting.enter().is_ok() && !other.has_room(), "it has a slot again");
    let share = limits::FRESHNESS_WAITS.div_ceil(USERS_TO_FILL);
    let waits: Vec<_> = (0..share).map_while(|_| flow.waits.acquire(&a.name, 1)).collect();
    assert_eq!(waits.len() as u64, share);
    let refused = waiting.wait(async {}).await;
    assert_eq!(refused.map_err(|status| status.code), Err(429));
    assert!(request(&flow, &b, PODS, Verb::List).wait(async {}).await.is_ok());
}

#[test]
fn bytes_are_counted_as_they_come() {
    let flow = flow(8, 8);
    let (a, b) = (user("a", &[]), user("b", &[]));
    let creates = |user| request(&flow, user, PODS, Verb::Create);
    let share = RECEIVED_BYTES.div_ceil(USERS_TO_FILL);
    let mut slow = creates(&a).body_room().expect("room");
    let more = (0..).take_while(|_| slow(1 << 20)).count() as u64;
    assert!((share - BODY_COST).div_ceil(1 << 20) == more, "{more}");
    assert!(creates(&a).body_room().is_err(), "the share is used up");
    let mut others = creates(&b).body_room().expect("room for others");
    assert!(others(3 << 20));
    drop(slow);
    assert!(creates(&a).body_room().is_ok());
    // Bodies of which nothing comes cost something, too.
    let bodies: Vec<_> = (0..).map_while(|_| creates(&a).body_room().ok()).collect();
    assert_eq!(bodies.len() as u64, share / BODY_COST);
    // An answer of any size is sent, but not a second one.
    let [first, second] = [(); 2].map(|()| request(&flow, &b, PODS, Verb::Get));
    first.enter().expect("room");
    first.hold_response(ANSWER_BYTES).expect("the only one");
    let slot = first.take_slot();
    second.enter().expect("room");
    assert_eq!(second.hold_response(1).map_err(|status| status.code), Err(429));
    drop(slot);
    assert!(second.hold_response(1).is_ok());
}

#[tokio::test]
async fn the_end_waits_for_what_is_in_work() {
    let flow = flow(4, 4);
    let reading = request(&flow, &user("a", &[]), PODS, Verb::List);
    let none = async |flow: &InFlightLimits| {
        let brief = limits::IN_FLIGHT_POLL * 3;
        tokio::time::timeout(brief, flow.drained()).await.is_ok()
    };
    assert!(!none(&flow).await, "it may wait for its body");
    reading.enter().expect("room");
    let slot = reading.take_slot();
    drop(reading);
    assert!(!none(&flow).await, "its answer is being sent");
    drop(slot);
    assert!(none(&flow).await);
}
