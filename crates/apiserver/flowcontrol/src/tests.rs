//! Levels at work: who gets seats, who waits, who is rejected, and what becomes of those that leave.

use crate::*;
use pintle_auth::{Attributes, UserInfo};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, advance};

/// A request of a user, as a dump shows it.
#[derive(Debug)]
struct Asked(UserInfo);

impl Described for Asked {
    fn details(&self) -> Details<'_> {
        let attributes = Attributes { namespace: "a", name: "b", api_version: "v1", ..asks(&self.0) };
        Details { attributes, path: Cow::Borrowed("/api/v1/namespaces/a/pods/b") }
    }
}

type Controller = FlowController<Asked>;

fn user(name: &str) -> UserInfo {
    UserInfo { name: name.into(), groups: vec!["system:authenticated".into()], ..UserInfo::default() }
}

fn asks(user: &UserInfo) -> Attributes<'_> {
    Attributes::resource(user, "get", "", "pods")
}

fn schema(name: &str, level: &str, subject: &str) -> Arc<FlowSchema> {
    let all = || vec!["*".to_owned()];
    let rule =
        ResourceRule { verbs: all(), api_groups: all(), resources: all(), cluster_scope: true, namespaces: all() };
    Arc::new(FlowSchema {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        precedence: 100,
        level: level.to_owned(),
        distinguisher: Distinguisher::ByUser,
        rules: vec![PolicyRule {
            subjects: vec![Subject::User(subject.to_owned())],
            resource_rules: vec![rule],
            ..PolicyRule::default()
        }],
    })
}

fn level(name: &str, nominal_shares: u32, queuing: Option<Queuing>) -> Level {
    let kind = Kind::Limited { nominal_shares, lendable_percent: 0, borrowing_percent: Some(0), queuing };
    Level { name: name.to_owned(), uid: format!("{name}-uid"), kind }
}

const QUEUES: Queuing = Queuing { queues: 8, hand_size: 2, length_limit: 3 };

/// A server with ten seats, five of them for the level `l`, to which `u` and others belong.
fn controller(queuing: Option<Queuing>) -> Controller {
    let controller = Controller::new(10);
    controller.configure(vec![schema("s", "l", "*")], vec![level("l", 5, queuing)]);
    controller
}

fn begin(controller: &Controller, name: &str, work: WorkEstimate) -> Begun<Asked> {
    let user = user(name);
    let flow = controller.classify(&asks(&user)).expect("a flow");
    flow.begin(work, Asked(user), true)
}

fn admitted(begun: Begun<Asked>) -> Permit<Asked> {
    match begun {
        Begun::Admitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn waiting(begun: Begun<Asked>) -> Waiting<Asked> {
    match begun {
        Begun::Waiting(waiting) => waiting,
        other => panic!("{other:?}"),
    }
}

fn seats(count: u64) -> WorkEstimate {
    WorkEstimate { initial_seats: count, ..WorkEstimate::ONE }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(15)
}

fn stats(controller: &Controller) -> Arc<FlowStats> {
    controller.classify(&asks(&user("u"))).expect("a flow").class.stats.clone()
}

/// What a level does at the moment: limit, seats in use, waiting requests.
fn state(controller: &Controller, name: &str) -> (u64, u64, usize) {
    let snapshot = controller.snapshot();
    let level = snapshot.levels.iter().find(|level| level.name == name).expect("the level");
    let inner = level.inner();
    (inner.limit, inner.in_use, inner.queues.len())
}

#[tokio::test]
async fn seats_go_to_those_who_wait_as_soon_as_they_are_free() {
    let controller = controller(Some(QUEUES));
    let mut held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let first = waiting(begin(&controller, "u", WorkEstimate::ONE));
    let second = waiting(begin(&controller, "v", WorkEstimate::ONE));
    assert_eq!(state(&controller, "l"), (5, 5, 2));
    held.truncate(3);
    let (first, second) = (first.until(soon()).await.expect("seats"), second.until(soon()).await.expect("seats"));
    assert_eq!(state(&controller, "l"), (5, 5, 0));
    drop((held, first, second));
    assert_eq!(state(&controller, "l"), (5, 0, 0));
    let stats = stats(&controller);
    assert_eq!((stats.dispatched.get(), stats.executing_requests.get(), stats.executing_seats.get()), (7, 0, 0));
    assert_eq!((stats.waiting_requests.get(), stats.waits[1].count()), (0, 7));
}

#[tokio::test(start_paused = true)]
async fn whoever_finds_no_room_or_waits_too_long_is_rejected() {
    let controller = controller(Some(Queuing { hand_size: 1, ..QUEUES }));
    let _held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let mut queued: Vec<_> = (0..3).map(|_| waiting(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let flow = controller.classify(&asks(&user("u"))).expect("a flow");
    assert_eq!(flow.reject_early(), Some(Rejected { retry_after_seconds: 1 }));
    assert!(matches!(begin(&controller, "u", WorkEstimate::ONE), Begun::Rejected(Rejected { retry_after_seconds: 1 })));
    // One that leaves makes room; one that waits until its time is over does, too.
    queued.remove(0);
    assert_eq!(flow.reject_early(), None);
    let last = queued.remove(1);
    let refused = last.until(Instant::now() + Duration::from_secs(15)).await.map(drop);
    assert_eq!(refused, Err(Rejected { retry_after_seconds: 1 }));
    assert_eq!(state(&controller, "l"), (5, 5, 1));
    let stats = stats(&controller);
    let rejected = Reason::ALL.map(|reason| stats.rejected(reason).get());
    assert_eq!((rejected, stats.waiting_requests.get()), ([0, 2, 1, 1], 1));
    let totals = controller.snapshot().levels.iter().find(|level| level.name == "l").map(|level| level.inner().totals);
    assert_eq!(totals, Some(Totals { dispatched: 5, rejected: 2, timed_out: 1, cancelled: 1 }));
}

#[tokio::test]
async fn levels_without_queues_reject_and_exempt_ones_never_do() {
    let controller = controller(None);
    let held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    assert!(matches!(begin(&controller, "v", WorkEstimate::ONE), Begun::Rejected(_)));
    assert_eq!(stats(&controller).rejected(Reason::ConcurrencyLimit).get(), 1);
    drop(held);
    // A request that needs more than there is is served alone.
    let large = admitted(begin(&controller, "u", seats(9)));
    assert!(matches!(begin(&controller, "v", WorkEstimate::ONE), Begun::Rejected(_)));
    drop(large);
    let administrator = UserInfo { groups: vec![pintle_auth::groups::MASTERS.into()], ..user("admin") };
    let flow = controller.classify(&asks(&administrator)).expect("a flow");
    let begun = (0..1000).map(|_| flow.begin(seats(9), Asked(user("admin")), true));
    let held: Vec<_> = begun.map(admitted).collect();
    assert_eq!((flow.class.is_exempt, state(&controller, "exempt").1), (true, 9000));
    drop(held);
    assert_eq!(state(&controller, "exempt"), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn seats_of_a_write_are_free_when_its_watches_have_been_told() {
    let controller = controller(Some(QUEUES));
    let write = WorkEstimate { initial_seats: 1, final_seats: 5, additional_latency: Duration::from_millis(5) };
    drop(admitted(begin(&controller, "u", write)));
    assert_eq!((state(&controller, "l").1, stats(&controller).executing_seats.get()), (5, 5));
    let next = waiting(begin(&controller, "v", WorkEstimate::ONE));
    let since = Instant::now();
    drop(next.until(soon()).await.expect("seats"));
    assert!((5..=10).contains(&since.elapsed().as_millis()), "{:?}", since.elapsed());
    assert_eq!((state(&controller, "l").1, stats(&controller).executing_seats.get()), (0, 0));
    // Without anybody who waits the next request finds out.
    drop(admitted(begin(&controller, "u", write)));
    advance(Duration::from_millis(6)).await;
    drop(admitted(begin(&controller, "u", seats(5))));
    assert_eq!(state(&controller, "l").1, 0);
}

#[tokio::test(start_paused = true)]
async fn a_level_without_seats_serves_nobody_and_gets_some_at_once() {
    let controller = Controller::new(10);
    controller.configure(vec![schema("s", "l", "*")], vec![level("l", 0, Some(QUEUES))]);
    assert_eq!(state(&controller, "l"), (0, 0, 0));
    let jailed = waiting(begin(&controller, "u", WorkEstimate::ONE));
    assert!(jailed.until(soon()).await.is_err());
    let jailed = waiting(begin(&controller, "u", WorkEstimate::ONE));
    controller.configure(vec![schema("s", "l", "*")], vec![level("l", 5, Some(QUEUES))]);
    assert!(jailed.until(Instant::now()).await.is_ok());
}

#[tokio::test]
async fn a_level_that_is_gone_serves_who_is_there() {
    let controller = controller(Some(QUEUES));
    let held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let left = waiting(begin(&controller, "u", WorkEstimate::ONE));
    controller.configure(vec![schema("s", "other", "*")], vec![level("other", 5, Some(QUEUES))]);
    let row = |name: &str| controller.dump_levels().lines().find(|line| line.starts_with(name)).map(str::to_owned);
    assert!(row("l,").is_some_and(|row| row.contains("false,  true,        1,               5,")), "{:?}", row("l,"));
    let flow = controller.classify(&asks(&user("u"))).expect("a flow");
    assert_eq!(flow.class.level.name, "other");
    // A schema of a level that is about to go matches nothing.
    controller.configure(vec![schema("s", "l", "*")], Vec::new());
    let flow = controller.classify(&asks(&user("u"))).expect("a flow");
    assert_eq!((flow.class.schema.name.as_str(), &*flow.class.schema_uid), ("catch-all", &b""[..]));
    drop(held);
    drop(left.until(soon()).await.expect("seats"));
    controller.adjust();
    assert_eq!(row("l,"), None);
}

#[tokio::test]
async fn changes_keep_what_was_counted_and_take_effect_at_once() {
    let controller = controller(None);
    drop(admitted(begin(&controller, "u", WorkEstimate::ONE)));
    let mut changed = schema("s", "l", "*");
    Arc::make_mut(&mut changed).uid = "new".to_owned();
    controller.configure(vec![changed], vec![level("l", 15, None)]);
    assert_eq!((stats(&controller).dispatched.get(), state(&controller, "l").0), (1, 8));
    let class = controller.classify(&asks(&user("u"))).expect("a flow").class;
    assert_eq!((&*class.schema_uid, &*class.level_uid), (&b"new"[..], &b"l-uid"[..]));
    controller.configure(Vec::new(), Vec::new());
    controller.configure(vec![schema("s", "l", "*")], vec![level("l", 5, None)]);
    assert_eq!(stats(&controller).dispatched.get(), 0, "what is gone is forgotten");
}

#[tokio::test(start_paused = true)]
async fn levels_lend_seats_to_each_other() {
    let controller = Controller::new(100);
    let lending = |name: &str| {
        let kind = Kind::Limited {
            nominal_shares: 45,
            lendable_percent: 50,
            borrowing_percent: None,
            queuing: Some(Queuing { length_limit: 1000, ..QUEUES }),
        };
        Level { name: name.to_owned(), uid: String::new(), kind }
    };
    let schemas = vec![schema("b", "busy", "*")];
    controller.configure(schemas, vec![lending("busy"), lending("quiet")]);
    let mut held = Vec::new();
    let mut queued = Vec::new();
    for n in 0..500 {
        match begin(&controller, &n.to_string(), WorkEstimate::ONE) {
            Begun::Admitted(permit) => held.push(permit),
            Begun::Waiting(waiting) => queued.push(waiting),
            Begun::Rejected(rejected) => panic!("{rejected:?}"),
        }
    }
    let before = state(&controller, "busy").0;
    advance(bounds::ADJUSTMENT_PERIOD).await;
    controller.adjust();
    let (limit, in_use, waits) = state(&controller, "busy");
    assert!(limit > before && in_use == limit && waits as u64 == 500 - limit, "{before} {limit} {in_use} {waits}");
    assert_eq!(state(&controller, "quiet").0, 24, "what it cannot lend");
    drop((queued, held));
    assert_eq!(state(&controller, "busy"), (limit, 0, 0));
}

#[tokio::test]
async fn many_queues_take_no_memory_and_waiting_requests_are_bounded() {
    let queuing = Queuing { queues: 10_000_000, hand_size: 8, length_limit: usize::MAX };
    let controller = controller(Some(queuing));
    let _held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let begun = (0..bounds::WAITING).map(|n| begin(&controller, &format!("u{}", n % 100), WorkEstimate::ONE));
    let queued: Vec<_> = begun.map(waiting).collect();
    assert!(matches!(begin(&controller, "last", WorkEstimate::ONE), Begun::Rejected(_)));
    assert!(controller.dump_queues().lines().count() < 3000);
    drop(queued);
    assert_eq!(state(&controller, "l"), (5, 5, 0));
}

#[tokio::test]
async fn dumps_show_levels_queues_and_requests() {
    let controller = controller(Some(Queuing { queues: 2, hand_size: 1, length_limit: 3 }));
    let _held: Vec<_> = (0..5).map(|_| admitted(begin(&controller, "u", WorkEstimate::ONE))).collect();
    let write = WorkEstimate { initial_seats: 1, final_seats: 3, additional_latency: Duration::from_millis(5) };
    let _waiting = waiting(begin(&controller, "u", write));
    let levels = controller.dump_levels();
    let expected = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, \
                    DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n\
                    catch-all,         0,            true,   false,       0,               0,                 \
                    0,                  0,                0,                0\n\
                    exempt,            0,            true,   false,       0,               0,                 \
                    0,                  0,                0,                0\n\
                    l,                 1,            false,  false,       1,               5,                 \
                    5,                  0,                0,                0\n";
    assert_eq!(levels, expected);
    let queues = controller.dump_queues();
    let rows: Vec<_> = queues.lines().skip(1).map(|line| line.split(',').map(str::trim).collect::<Vec<_>>()).collect();
    assert_eq!(rows.iter().map(|row| row[1]).collect::<Vec<_>>(), ["0", "1"]);
    assert!(rows.iter().any(|row| row[2..] == ["1", "0", "0", "0.00000000ss", "3", "3", "0.02400000ss"]), "{queues}");
    let requests = controller.dump_requests(true);
    let mut lines = requests.lines();
    let header = lines.next().expect("a header");
    let names: Vec<_> = header.split(',').map(str::trim).collect();
    assert_eq!(
        names[9..],
        ["StartTime", "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"]
    );
    let rows: Vec<_> = lines.map(|line| line.split(',').map(str::trim).collect::<Vec<_>>()).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0][..5], ["l", "s", "-1", "-1", "u"]);
    assert_eq!(rows[0][6..9], ["1", "0", "0s"]);
    assert_eq!(rows[5][6..10], ["1", "3", "5ms", "0001-01-01T00:00:00Z"]);
    assert_eq!(rows[5][10..], ["u", "get", "/api/v1/namespaces/a/pods/b", "a", "b", "v1", "pods", ""]);
    assert!(rows[5][5].ends_with('Z') && rows[5][5].starts_with("20"), "{}", rows[5][5]);
    assert_eq!(controller.dump_requests(false).lines().next().map(|line| line.split(',').count()), Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_seat_is_lost_whatever_becomes_of_requests() {
    let controller = Arc::new(controller(Some(Queuing { queues: 16, hand_size: 3, length_limit: 20 })));
    let tasks: Vec<_> = (0..64u64)
        .map(|task| {
            let controller = controller.clone();
            tokio::spawn(async move {
                let mut random = task + 1;
                let mut served = 0;
                for _ in 0..200 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let dice = random >> 60;
                    let latency = Duration::from_micros(if dice < 4 { 200 } else { 0 });
                    let work =
                        WorkEstimate { initial_seats: 1 + dice % 3, final_seats: 2, additional_latency: latency };
                    let permit = match begin(&controller, &format!("u{}", task % 7), work) {
                        Begun::Admitted(permit) => permit,
                        // The client leaves before or while it waits, or has little patience.
                        Begun::Waiting(waiting) if dice == 15 => {
                            drop(waiting);
                            continue;
                        }
                        Begun::Waiting(waiting) => {
                            let patience = Duration::from_micros(if dice % 2 == 0 { 50 } else { 5_000_000 });
                            match waiting.until(Instant::now() + patience).await {
                                Ok(permit) => permit,
                                Err(_) => continue,
                            }
                        }
                        Begun::Rejected(_) => continue,
                    };
                    served += 1;
                    match dice % 4 {
                        0 => tokio::task::yield_now().await,
                        1 => {
                            // A handler that panics.
                            let panicked = tokio::spawn(async move {
                                let _permit = permit;
                                std::panic::resume_unwind(Box::new(()));
                            });
                            assert!(panicked.await.is_err());
                            continue;
                        }
                        _ => {}
                    }
                    drop(permit);
                }
                served
            })
        })
        .collect();
    let reconfigured = controller.clone();
    let configuring = tokio::spawn(async move {
        for round in 0..50 {
            let levels = [vec![level("l", 5, Some(QUEUES))], Vec::new(), vec![level("l", 9, None)]];
            reconfigured.configure(vec![schema("s", "l", "*")], levels[round % 3].clone());
            reconfigured.adjust();
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
    });
    let mut served = 0;
    for task in tasks {
        served += task.await.expect("a task");
    }
    configuring.await.expect("a task");
    assert!(served > 0);
    controller.configure(vec![schema("s", "l", "*")], vec![level("l", 5, Some(QUEUES))]);
    tokio::time::sleep(Duration::from_millis(2)).await;
    controller.adjust();
    drop(admitted(begin(&controller, "u", WorkEstimate::ONE)));
    drop(begin(&controller, "catch", WorkEstimate::ONE));
    for level in controller.levels() {
        let (_, in_use, waiting) = state(&controller, &level.level.name);
        assert_eq!((in_use, waiting), (0, 0), "{}", level.level.name);
    }
    for class in controller.classes() {
        let stats = &class.stats;
        let gauges = [&stats.executing_requests, &stats.executing_seats, &stats.waiting_requests, &stats.waiting_seats];
        assert_eq!(gauges.map(Gauge::get), [0; 4], "{}", class.schema.name);
    }
}
