//! Who gets a slot, who waits, and who is turned away.

use super::*;
use crate::limits::{self, USERS_PER_LIMIT};
use crate::request::{Verb, parse_path};
use pintle_flowcontrol::{Distinguisher, FlowSchema, Kind, Level, PolicyRule, Queuing, ResourceRule, Subject};
use std::time::Duration;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).into()).collect();
    UserInfo { name: name.into(), groups, ..UserInfo::default() }
}

fn limited(reading: i64, mutating: i64) -> Arc<InFlightLimits> {
    let settings = Settings {
        max_read_only_in_flight: reading,
        max_mutating_in_flight: mutating,
        priority_and_fairness: false,
        ..Settings::default()
    };
    InFlightLimits::new(&settings)
}

/// A server with eight seats, nearly all of them for a level with queues, to which everybody belongs.
fn fair() -> Arc<InFlightLimits> {
    let flow =
        InFlightLimits::new(&Settings { max_read_only_in_flight: 4, max_mutating_in_flight: 4, ..Settings::default() });
    let all = || vec!["*".to_owned()];
    let rule =
        ResourceRule { verbs: all(), api_groups: all(), resources: all(), cluster_scope: true, namespaces: all() };
    let schema = FlowSchema {
        name: "s".to_owned(),
        uid: "schema-uid".to_owned(),
        precedence: 100,
        level: "l".to_owned(),
        distinguisher: Distinguisher::ByUser,
        rules: vec![PolicyRule {
            subjects: vec![Subject::User("*".to_owned())],
            resource_rules: vec![rule],
            ..PolicyRule::default()
        }],
    };
    let queuing = Some(Queuing { queues: 64, hand_size: 4, length_limit: 2 });
    let kind = Kind::Limited { nominal_shares: 1000, lendable_percent: 0, borrowing_percent: Some(0), queuing };
    let level = Level { name: "l".to_owned(), uid: "level-uid".to_owned(), kind };
    flow.controller().expect("fairness").configure(vec![Arc::new(schema)], vec![level]);
    flow
}

fn asks(
    flow: &Arc<InFlightLimits>,
    user: &UserInfo,
    path: &str,
    verb: Verb,
    time: Option<Duration>,
) -> InFlightRequest {
    let mut context = RequestContext::new(verb.name(), String::new()).acting_as(Arc::new(user.clone()));
    // The clock of the test, which moves on while nothing else happens.
    context.started = tokio::time::Instant::now().into_std();
    context.deadline = time.map(|time| context.started + time);
    context.resource_path = parse_path(path);
    InFlightRequest::new(flow, &Arc::new(context), verb)
}

fn request(flow: &Arc<InFlightLimits>, user: &UserInfo, path: &str, verb: Verb) -> InFlightRequest {
    asks(flow, user, path, verb, Some(Duration::from_secs(60)))
}

fn endless(flow: &Arc<InFlightLimits>, user: &UserInfo, path: &str, verb: Verb) -> InFlightRequest {
    asks(flow, user, path, verb, None)
}

/// How many of many requests of a user get a slot, which they keep.
async fn entered(flow: &Arc<InFlightLimits>, user: &UserInfo, path: &str, verb: Verb) -> (usize, Vec<InFlightRequest>) {
    let requests: Vec<_> = (0..1000).map(|_| request(flow, user, path, verb)).collect();
    let mut count = 0;
    for request in &requests {
        count += usize::from(request.has_room() && request.enter().await.is_ok());
    }
    (count, requests)
}

const PODS: &str = "/api/v1/namespaces/a/pods";

#[tokio::test]
async fn two_limits_count_reads_and_writes_of_everybody() {
    let flow = limited(4, 2);
    let (reads, held) = entered(&flow, &user("a", &[]), PODS, Verb::List).await;
    let (writes, kept) = entered(&flow, &user("a", &[]), PODS, Verb::Create).await;
    assert_eq!((reads, writes, flow.in_flight(false), flow.in_flight(true)), (4, 2, 4, 2));
    let other = request(&flow, &user("b", &[]), PODS, Verb::List);
    assert_eq!(other.enter().await.map_err(|status| status.code), Err(429));
    assert_eq!((other.rejection_code(), other.retry_after()), (Some(429), 1));
    // Watches and connections are no requests in flight.
    assert!(endless(&flow, &user("b", &[]), PODS, Verb::Watch).enter().await.is_ok());
    drop((held, kept));
    assert_eq!((flow.in_flight(false), flow.in_flight(true)), (0, 0));
    let flow = limited(0, 0);
    assert_eq!(entered(&flow, &user("a", &[]), PODS, Verb::List).await.0, 1000, "there is none");
}

#[tokio::test]
async fn requests_without_a_resource_count_by_their_method() {
    let flow = limited(4, 1);
    let alice = user("a", &[]);
    let _held = entered(&flow, &alice, PODS, Verb::Create).await;
    for (method, is_rejected) in [("get", false), ("head", true), ("post", true)] {
        let mut context = RequestContext::new(method, String::new()).acting_as(Arc::new(alice.clone()));
        context.deadline = Some(context.started + Duration::from_secs(60));
        let request = InFlightRequest::new(&flow, &Arc::new(context), Verb::Other);
        assert_eq!(request.enter().await.is_err(), is_rejected, "{method}");
    }
}

#[tokio::test]
async fn masters_are_exempt_and_take_nothing_from_others() {
    for (flow, others) in [(limited(4, 4), 4), (fair(), 8)] {
        let (count, held) = entered(&flow, &user("admin", &[groups::MASTERS]), PODS, Verb::List).await;
        assert_eq!((count, flow.in_flight(false)), (1000, 1000));
        assert!(held.iter().all(|request| request.hold_response(u64::MAX / 2).is_ok() && request.body_room().is_ok()));
        let requests: Vec<_> = (0..others).map(|_| request(&flow, &user("a", &[]), PODS, Verb::List)).collect();
        for request in &requests {
            assert!(request.has_room() && request.enter().await.is_ok());
        }
    }
}

/// The requests that hold all seats of [`fair`].
async fn take_all_seats(flow: &Arc<InFlightLimits>, user: &UserInfo) -> Vec<InFlightRequest> {
    let held: Vec<_> = (0..8).map(|_| request(flow, user, PODS, Verb::List)).collect();
    for request in &held {
        request.enter().await.expect("a seat");
    }
    held
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_seats_for_a_quarter_of_their_time() {
    let flow = fair();
    let (a, b) = (user("a", &[]), user("b", &[]));
    let held = take_all_seats(&flow, &a).await;
    let late = request(&flow, &b, PODS, Verb::Create);
    let since = tokio::time::Instant::now();
    assert_eq!(late.enter().await.map_err(|status| status.code), Err(429));
    assert_eq!((since.elapsed().as_secs(), late.rejection_code(), flow.waiting(true)), (15, Some(429), 0));
    let class = late.class().expect("its class");
    assert_eq!(class.stats.rejected(pintle_flowcontrol::Reason::TimeOut).get(), 1);
    let mut headers = HeaderMap::new();
    set_flow_headers(&mut headers, &class);
    assert_eq!(headers[SCHEMA_UID], "schema-uid");
    assert_eq!(headers[LEVEL_UID], "level-uid");
    // A seat is released when the response is made, before the client reads it, and goes to the waiting request.
    let waiting = request(&flow, &b, PODS, Verb::Create);
    let (entered, slot) = tokio::join!(waiting.enter(), async {
        tokio::task::yield_now().await;
        assert_eq!(flow.waiting(true), 1);
        held[0].take_slot()
    });
    assert!(entered.is_ok() && slot.is_some());
    assert_eq!((flow.in_flight(false), flow.in_flight(true)), (8, 1));
    drop((held, waiting, slot));
    assert_eq!((flow.in_flight(false), flow.in_flight(true)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_request_counts_until_it_has_seats() {
    let flow = fair();
    let (a, b) = (user("a", &[]), user("b", &[]));
    let held = take_all_seats(&flow, &a).await;
    let waiting = request(&flow, &b, PODS, Verb::Create);
    let mut room = waiting.body_room().expect("room");
    assert!(room(1 << 20));
    drop(room);
    let (entered, slot) = tokio::join!(waiting.enter_with_body(Ok(Bytes::new())), async {
        tokio::task::yield_now().await;
        assert!(flow.waiting(true) == 1 && !flow.bodies.is_untouched());
        held[0].take_slot()
    });
    assert!(entered.is_ok() && slot.is_some());
    assert!(flow.bodies.is_untouched());
}

#[tokio::test]
async fn a_watch_gives_back_its_seat_while_it_waits() {
    let flow = fair();
    let a = user("a", &[]);
    let watches: Vec<_> = (0..8).map(|_| endless(&flow, &a, PODS, Verb::Watch)).collect();
    for watch in &watches {
        watch.enter().await.expect("a seat");
    }
    let reading = request(&flow, &a, PODS, Verb::List);
    let waited = watches[0].wait(reading.enter()).await.expect("room");
    assert!(waited.is_ok(), "the seat of the watch");
    drop(reading);
    watches[0].enter().await.expect("its seat again");
    let level = flow.controller().expect("fairness").dump_levels();
    let row = level.lines().find(|row| row.starts_with("l,")).expect("the level");
    assert_eq!(row.split(',').nth(5).map(str::trim), Some("8"));
}

#[tokio::test]
async fn a_watch_has_a_seat_until_it_has_begun_and_a_place_until_it_ends() {
    let flow = fair();
    let a = user("a", &[]);
    let watches: Vec<_> = (0..8).map(|_| endless(&flow, &a, PODS, Verb::Watch)).collect();
    for watch in &watches {
        watch.enter().await.expect("a seat");
    }
    let executing = || {
        let levels = flow.controller().expect("fairness").dump_levels();
        let row = levels.lines().find(|row| row.starts_with("l,")).expect("the level");
        row.split(',').nth(5).expect("a cell").trim().to_owned()
    };
    assert_eq!(executing(), "8");
    let places: Vec<_> = watches.iter().map(InFlightRequest::take_slot).collect();
    assert!(places.iter().all(Option::is_some));
    assert_eq!(executing(), "0");
    assert!(!flow.watches.is_untouched());
    drop((watches, places));
    assert!(flow.watches.is_untouched());
    // A connection to a backend has no seat.
    let stream = endless(&flow, &a, "/api/v1/namespaces/a/pods/p/exec", Verb::Create);
    assert!(stream.class().is_none() && stream.enter().await.is_ok());
}

#[tokio::test]
async fn answers_that_nobody_takes_are_bounded_by_user() {
    let flow = fair();
    let (a, b) = (user("a", &[]), user("b", &[]));
    let mut sent = Vec::new();
    loop {
        let request = request(&flow, &a, PODS, Verb::List);
        if request.enter().await.is_err() {
            break;
        }
        sent.push(request.take_slot());
    }
    // As many as the server has seats, and a share.
    assert_eq!(sent.len() as u64, 8 + 8 * limits::OPEN_ANSWERS / USERS_PER_LIMIT);
    assert!(request(&flow, &b, PODS, Verb::List).enter().await.is_ok(), "others have shares of their own");
    sent.truncate(4);
    assert!(request(&flow, &a, PODS, Verb::List).enter().await.is_ok());
}

#[tokio::test]
async fn a_slot_goes_on_with_the_answer() {
    let flow = limited(1, 1);
    let user = user("a", &[]);
    let first = request(&flow, &user, PODS, Verb::List);
    first.enter().await.expect("room");
    first.enter().await.expect("it has one");
    let slot = first.take_slot();
    drop(first);
    let second = request(&flow, &user, PODS, Verb::List);
    assert!(slot.is_some() && !second.has_room() && second.rejection_code().is_none());
    assert_eq!(second.enter().await.map_err(|status| status.code), Err(429));
    assert_eq!(second.rejection_code(), Some(429));
    drop(slot);
    assert!(second.has_room());
}

#[tokio::test]
async fn long_running_requests_have_limits_of_their_own() {
    let settings = Settings {
        max_read_only_in_flight: 4,
        max_streams: 8,
        max_watches: 40,
        priority_and_fairness: false,
        ..Settings::default()
    };
    let flow = InFlightLimits::new(&settings);
    let held = async |user: &UserInfo, path, verb| -> Vec<InFlightRequest> {
        let mut requests = Vec::new();
        for _ in 0..100 {
            let request = endless(&flow, user, path, verb);
            if !request.has_room() || request.enter().await.is_err() {
                break;
            }
            requests.push(request);
        }
        requests
    };
    const EXEC: &str = "/api/v1/namespaces/a/pods/p/exec";
    let (a, b) = (user("a", &[]), user("b", &[]));
    let (streams, watches) = (held(&a, EXEC, Verb::Create).await, held(&a, PODS, Verb::Watch).await);
    assert_eq!((streams.len(), watches.len()), (2, 10), "a quarter each");
    assert!(endless(&flow, &b, EXEC, Verb::Get).has_room() && endless(&flow, &b, PODS, Verb::Watch).has_room());
    assert_eq!(held(&user("admin", &[groups::MASTERS]), EXEC, Verb::Create).await.len(), 100);
    // They are no requests in work, of which the user may have others.
    assert_eq!((flow.in_flight(false), flow.unanswered.load(Ordering::Relaxed)), (0, 0));
    assert!(request(&flow, &a, PODS, Verb::List).enter().await.is_ok());
    // The place goes on with the answer, and is free when that has ended.
    let slots: Vec<_> = streams.iter().map(InFlightRequest::take_slot).collect();
    drop(streams);
    assert!(slots.iter().all(Option::is_some) && !endless(&flow, &a, EXEC, Verb::Create).has_room());
    drop(slots);
    assert!(endless(&flow, &a, EXEC, Verb::Create).has_room());
}

#[tokio::test]
async fn a_watch_that_waits_keeps_its_place() {
    let flow = InFlightLimits::new(&Settings { max_watches: 1, ..Settings::default() });
    let watch = || endless(&flow, &user("a", &[]), PODS, Verb::Watch);
    let waiting = watch();
    waiting.enter().await.expect("room");
    assert_eq!(waiting.wait(async { watch().has_room() }).await.ok(), Some(false));
}

#[tokio::test]
async fn waiting_requests_hold_no_slot_and_are_bounded() {
    let flow = limited(1, 1);
    let (a, b) = (user("a", &[]), user("b", &[]));
    let waiting = request(&flow, &a, PODS, Verb::List);
    waiting.enter().await.expect("room");
    let other = request(&flow, &a, PODS, Verb::List);
    let waited = waiting.wait(async { other.enter().await.is_ok() && other.take_slot().is_some() });
    assert_eq!(waited.await.ok(), Some(true));
    assert!(waiting.enter().await.is_ok() && !other.has_room(), "it has a slot again");
    let share = limits::FRESHNESS_WAITS.div_ceil(USERS_PER_LIMIT);
    let waits: Vec<_> = (0..share).map_while(|_| flow.waits.acquire(&a.name, 1)).collect();
    assert_eq!(waits.len() as u64, share);
    let refused = waiting.wait(async {}).await;
    assert_eq!(refused.map_err(|status| status.code), Err(429));
    assert!(request(&flow, &b, PODS, Verb::List).wait(async {}).await.is_ok());
}

#[tokio::test]
async fn a_request_that_comes_back_from_waiting_is_counted_once() {
    let flow = fair();
    let reading = request(&flow, &user("a", &[]), PODS, Verb::List);
    reading.enter().await.expect("a seat");
    reading.wait(async {}).await.expect("room");
    reading.enter().await.expect("a seat");
    let stats = &reading.class().expect("its class").stats;
    assert_eq!((stats.dispatched.get(), stats.executing_requests.get()), (1, 1));
}

#[tokio::test]
async fn bytes_are_counted_as_they_come() {
    let flow = limited(8, 8);
    let (a, b) = (user("a", &[]), user("b", &[]));
    let creates = |user| request(&flow, user, PODS, Verb::Create);
    let share = RECEIVED_BYTES.div_ceil(USERS_PER_LIMIT);
    let mut slow = creates(&a).body_room().expect("room");
    let more = (0..).take_while(|_| slow(1 << 20)).count() as u64;
    assert!((share - BODY_BASE_BYTES).div_ceil(1 << 20) == more, "{more}");
    assert!(creates(&a).body_room().is_err(), "the share is used up");
    let mut others = creates(&b).body_room().expect("body_room for others");
    assert!(others(3 << 20));
    drop(slow);
    assert!(creates(&a).body_room().is_ok());
    // Bodies of which nothing comes cost something, too.
    let bodies: Vec<_> = (0..).map_while(|_| creates(&a).body_room().ok()).collect();
    assert_eq!(bodies.len() as u64, share / BODY_BASE_BYTES);
    // An answer of any size is sent, but not a second one.
    let [first, second] = [(); 2].map(|()| request(&flow, &b, PODS, Verb::Get));
    first.enter().await.expect("room");
    first.hold_response(RESPONSE_BYTES).expect("the only one");
    let slot = first.take_slot();
    second.enter().await.expect("room");
    assert_eq!(second.hold_response(1).map_err(|status| status.code), Err(429));
    drop(slot);
    assert!(second.hold_response(1).is_ok());
}

#[tokio::test]
async fn drain_waits_for_requests_in_flight() {
    let flow = fair();
    let reading = request(&flow, &user("a", &[]), PODS, Verb::List);
    let none = async |flow: &InFlightLimits| {
        let brief = limits::IN_FLIGHT_POLL * 3;
        tokio::time::timeout(brief, flow.drained()).await.is_ok()
    };
    assert!(!none(&flow).await, "it may wait for its body");
    reading.enter().await.expect("room");
    let slot = reading.take_slot();
    drop(reading);
    assert!(!none(&flow).await, "its answer is being sent");
    drop(slot);
    assert!(none(&flow).await);
}

#[test]
fn a_dump_shows_the_path_that_was_asked_for() {
    for path in [
        "/api/v1/pods",
        "/api/v1/namespaces/a",
        "/api/v1/namespaces/a/pods/b/status",
        "/apis/apps/v1/namespaces/a/deployments",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/r",
        "/healthz",
    ] {
        let mut context = RequestContext::default();
        context.resource_path = parse_path(path);
        context.other_path = path.to_owned();
        assert_eq!(InFlight(Arc::new(context)).details().path, path);
    }
}
