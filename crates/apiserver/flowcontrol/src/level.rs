//! A priority level at work: its seats, its queues, and who holds or waits for a seat.
//! Guarantees that a seat is given back when its holder is dropped, whatever becomes of a request, that a request which leaves
//! its queue takes no seat, and that a free seat is taken by the next request at once.
//! Must never wait while it is locked, nor wake a request.

use crate::borrowing::{DemandIntegrator, DemandStats};
use crate::bounds;
use crate::classify::FlowSchema;
use crate::clock::{Clock, nanoseconds};
use crate::described::Described;
use crate::estimate::WorkEstimate;
use crate::limits::{Kind, Queuing, Seats};
use crate::queues::{QueueId, Queues, Ticket};
use crate::retry_after::RetryAfter;
use crate::shuffle::deal;
use crate::slots::Slots;
use crate::stats::{FlowStats, LevelStats, Reason, seat_seconds};
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The requests of a flow schema at its priority level.
#[derive(Debug)]
pub struct FlowClass<R: Described> {
    pub schema: Arc<FlowSchema>,
    pub level: Arc<PriorityLevel<R>>,
    pub stats: Arc<FlowStats>,
    /// The UIDs of the schema and of the level; empty while there is no such object.
    pub schema_uid: Bytes,
    pub level_uid: Bytes,
    /// Requests of the level never wait.
    pub is_exempt: bool,
    /// The most seats that a single request may take.
    pub most_seats: u64,
}

/// A request that executes.
#[derive(Debug)]
pub(crate) struct Executing<R: Described> {
    pub class: Arc<FlowClass<R>>,
    pub request: R,
    pub work: WorkEstimate,
    pub arrived_ns: u64,
    pub started_ns: u64,
    /// The queue that it came from.
    pub queue: Option<QueueId>,
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Pending<R: Described> {
    pub class: Arc<FlowClass<R>>,
    pub request: R,
    pub work: WorkEstimate,
    pub arrived_ns: u64,
    is_first_time: bool,
    sender: oneshot::Sender<Permit<R>>,
}

/// Seats that are still taken though their request has been answered, and until when.
#[derive(Debug)]
struct Lingering<R: Described> {
    due_ns: u64,
    class: Arc<FlowClass<R>>,
    seats: u64,
}

impl<R: Described> PartialEq for Lingering<R> {
    fn eq(&self, other: &Self) -> bool {
        self.due_ns == other.due_ns
    }
}

impl<R: Described> Eq for Lingering<R> {}

impl<R: Described> PartialOrd for Lingering<R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Described> Ord for Lingering<R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due_ns.cmp(&other.due_ns)
    }
}

/// What has become of a level's requests since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub dispatched: u64,
    pub rejected: u64,
    pub timed_out: u64,
    pub cancelled: u64,
}

/// A priority level.
#[derive(Debug)]
pub struct PriorityLevel<R: Described> {
    pub name: String,
    pub stats: LevelStats,
    pub(crate) clock: Clock,
    inner: Mutex<Inner<R>>,
}

/// What changes at a level.
#[derive(Debug)]
pub(crate) struct Inner<R: Described> {
    pub kind: Kind,
    pub seats: Seats,
    /// The seats of this period.
    pub limit: u64,
    /// What ratios refer to: the limit, or some seats if that is none.
    pub denominator: u64,
    pub demand: DemandStats,
    /// What the level was to get in this period, if there were enough.
    pub target: f64,
    /// Its object is deleted: the level goes when its last request has gone.
    pub is_quiescing: bool,
    pub in_use: u64,
    pub waiting_seats: u64,
    pub queues: Queues<Pending<R>>,
    pub executing: Slots<Executing<R>>,
    pub totals: Totals,
    lingering: BinaryHeap<Reverse<Lingering<R>>>,
    /// The time at which a task looks for seats that are free by then.
    timer_due_ns: Option<u64>,
    integrator: DemandIntegrator,
    retry_after: RetryAfter,
}

/// Requests that were given seats, to be told so when the level is not locked any more.
type Dispatched<R> = Vec<(oneshot::Sender<Permit<R>>, Permit<R>)>;

/// What becomes of a request that arrives.
#[derive(Debug)]
pub enum Begun<R: Described> {
    /// It has its seats.
    Admitted(Permit<R>),
    /// It waits in a queue.
    Waiting(Waiting<R>),
    Rejected(Rejected),
}

/// A request was rejected. Its client may come again after so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests, come again in {retry_after_seconds} s")]
pub struct Rejected {
    pub retry_after_seconds: u64,
}

/// A request that arrives.
#[derive(Debug)]
pub struct Arriving<R: Described> {
    pub class: Arc<FlowClass<R>>,
    /// The hash of its flow.
    pub hash: u64,
    pub work: WorkEstimate,
    /// What a dump shows of it.
    pub request: R,
    /// It has not been counted: it had no seats before, which it gave back to wait for something.
    pub is_first_time: bool,
}

impl<R: Described> PriorityLevel<R> {
    pub(crate) fn new(name: &str, kind: Kind, seats: Seats, clock: Clock) -> Self {
        let now_ns = clock.now_ns();
        PriorityLevel {
            name: name.to_owned(),
            stats: LevelStats::new(now_ns),
            clock,
            inner: Mutex::new(Inner {
                kind,
                seats,
                limit: seats.initial(),
                denominator: seats.initial().max(1),
                demand: DemandStats::default(),
                target: 0.0,
                is_quiescing: false,
                in_use: 0,
                waiting_seats: 0,
                queues: Queues::default(),
                executing: Slots::default(),
                totals: Totals::default(),
                lingering: BinaryHeap::new(),
                timer_due_ns: None,
                integrator: DemandIntegrator::starting(now_ns),
                retry_after: RetryAfter::default(),
            }),
        }
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner<R>> {
        // Nothing that holds the lock can fail half way.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Described> Inner<R> {
    pub fn queuing(&self) -> Option<Queuing> {
        match self.kind {
            Kind::Limited { queuing, .. } => queuing,
            Kind::Exempt { .. } => None,
        }
    }

    fn is_exempt(&self) -> bool {
        matches!(self.kind, Kind::Exempt { .. })
    }

    pub fn is_idle(&self) -> bool {
        self.queues.is_empty() && self.executing.is_empty() && self.lingering.is_empty()
    }

    /// Whether a request finds its seats now. One that needs more than there are is served alone; where there are none,
    /// requests wait in vain, as in kube-apiserver.
    fn has_seats(&self, seats: u64) -> bool {
        let is_alone = || self.executing.is_empty() && (self.limit > 0 || self.queuing().is_none());
        self.is_exempt() || self.in_use.saturating_add(seats) <= self.limit || seats > self.limit && is_alone()
    }

    /// Why a request of a flow would be neither served nor queued.
    fn would_reject(&self, hash: u64) -> Option<Reason> {
        if self.queues.is_empty() && self.has_seats(1) {
            return None;
        }
        match self.queuing() {
            None => Some(Reason::ConcurrencyLimit),
            Some(queuing) => (!self.has_room(&hand(hash, queuing), queuing)).then_some(Reason::QueueFull),
        }
    }

    fn has_room(&self, hand: &[QueueId], queuing: Queuing) -> bool {
        self.queues.len() < bounds::WAITING && self.queues.has_room(hand, queuing.length_limit)
    }

    /// Ends the period of borrowing.
    pub fn end_period(&mut self, now_ns: u64) {
        self.integrator.end_period(&mut self.demand, now_ns);
    }

    fn reject(&mut self, class: &FlowClass<R>, reason: Reason, now_ns: u64) -> Rejected {
        class.stats.rejected(reason).increment();
        let total = match reason {
            Reason::ConcurrencyLimit | Reason::QueueFull => &mut self.totals.rejected,
            Reason::TimeOut => &mut self.totals.timed_out,
            Reason::Cancelled => &mut self.totals.cancelled,
        };
        *total += 1;
        let now_seconds = now_ns / 1_000_000_000;
        let retry_after_seconds = if reason == Reason::Cancelled { 1 } else { self.retry_after.rejected(now_seconds) };
        Rejected { retry_after_seconds }
    }
}

fn hand(hash: u64, queuing: Queuing) -> Vec<QueueId> {
    deal(hash, queuing.queues.max(1), queuing.hand_size.max(1))
}

/// The work that a request is expected to be: its seats for the time that it holds them.
fn expected_work(work: &WorkEstimate) -> u64 {
    let time = nanoseconds(bounds::EXPECTED_SERVICE.saturating_add(work.additional_latency));
    work.max_seats().saturating_mul(time)
}

impl<R: Described> PriorityLevel<R> {
    /// Rejects a request of a flow if there is neither a seat nor a place in a queue for it. Another one is not counted yet.
    pub fn reject_early(&self, class: &FlowClass<R>, hash: u64) -> Option<Rejected> {
        let now_ns = self.clock.now_ns();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        self.end_lingering(&mut inner, now_ns);
        let reason = inner.would_reject(hash)?;
        Some(inner.reject(class, reason, now_ns))
    }

    /// A request arrives: it gets its seats, a place in a queue, or neither.
    pub fn begin(self: &Arc<Self>, arriving: Arriving<R>) -> Begun<R> {
        let now_ns = self.clock.now_ns();
        let mut dispatched = Dispatched::new();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        self.end_lingering(&mut inner, now_ns);
        let seats = arriving.work.max_seats();
        if arriving.is_first_time {
            arriving.class.stats.estimated_seats.observe(seats as f64);
        }
        if inner.queues.is_empty() && inner.has_seats(seats) {
            if inner.queuing().is_some() && arriving.is_first_time {
                arriving.class.stats.queue_lengths.observe(1.0);
            }
            return Begun::Admitted(self.admit(&mut inner, arriving, now_ns));
        }
        let Some(queuing) = inner.queuing() else {
            return Begun::Rejected(inner.reject(&arriving.class, Reason::ConcurrencyLimit, now_ns));
        };
        let hand = hand(arriving.hash, queuing);
        if !inner.has_room(&hand, queuing) {
            return Begun::Rejected(inner.reject(&arriving.class, Reason::QueueFull, now_ns));
        }
        let Arriving { class, work, request, is_first_time, .. } = arriving;
        self.observe_waiting(&inner, now_ns);
        let (sender, receiver) = oneshot::channel();
        let pending = Pending { class: class.clone(), request, work, arrived_ns: now_ns, is_first_time, sender };
        let entered = inner.queues.enqueue(&hand, queuing.length_limit, seats, expected_work(&work), pending);
        let Ok((ticket, length)) = entered else {
            return Begun::Rejected(inner.reject(&class, Reason::QueueFull, now_ns));
        };
        class.stats.waits(&work, length);
        inner.waiting_seats = inner.waiting_seats.saturating_add(seats);
        inner.note_demand(now_ns);
        self.dispatch(&mut inner, now_ns, &mut dispatched);
        self.set_timer(&mut inner);
        drop(inner);
        notify(dispatched);
        Begun::Waiting(Waiting { class, ticket, receiver, has_ended: false })
    }

    /// Takes seats for a request that need not wait.
    fn admit(self: &Arc<Self>, inner: &mut Inner<R>, arriving: Arriving<R>, now_ns: u64) -> Permit<R> {
        let Arriving { class, work, request, is_first_time, .. } = arriving;
        if is_first_time && inner.queuing().is_some() {
            class.stats.waits[1].observe(0.0);
        }
        let executing = Executing { class, request, work, arrived_ns: now_ns, started_ns: now_ns, queue: None };
        self.start(inner, executing, is_first_time, now_ns)
    }

    fn start(
        self: &Arc<Self>,
        inner: &mut Inner<R>,
        executing: Executing<R>,
        is_first_time: bool,
        now_ns: u64,
    ) -> Permit<R> {
        let class = executing.class.clone();
        class.stats.begins(&executing.work);
        if is_first_time {
            class.stats.dispatched.increment();
            inner.totals.dispatched += 1;
        }
        inner.in_use = inner.in_use.saturating_add(executing.work.max_seats());
        inner.note_demand(now_ns);
        let slot = inner.executing.insert(executing);
        Permit { class, slot }
    }

    /// Gives seats to requests that wait, as long as there are any.
    fn dispatch(self: &Arc<Self>, inner: &mut Inner<R>, now_ns: u64, dispatched: &mut Dispatched<R>) {
        if inner.queues.is_empty() {
            return;
        }
        self.observe_waiting(inner, now_ns);
        while let Some((first, seats)) = inner.queues.first() {
            if !inner.has_seats(seats) {
                first.class.stats.no_accommodation.increment();
                break;
            }
            let bounds = inner.queues.bounds().unwrap_or_default();
            let Some((_, queue, pending)) = inner.queues.dispatch() else { break };
            self.stats.dispatches(bounds.0, bounds);
            let Pending { class, request, work, arrived_ns, is_first_time, sender } = pending;
            inner.waiting_seats = inner.waiting_seats.saturating_sub(seats);
            class.stats.waits_no_more(&work);
            class.stats.waits[1].observe(now_ns.saturating_sub(arrived_ns) as f64 / 1e9);
            let executing = Executing { class, request, work, arrived_ns, started_ns: now_ns, queue: Some(queue) };
            let permit = self.start(inner, executing, is_first_time, now_ns);
            dispatched.push((sender, permit));
        }
    }

    /// A request has been answered.
    fn finish(self: &Arc<Self>, slot: usize) {
        let now_ns = self.clock.now_ns();
        let mut dispatched = Dispatched::new();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        let Some(executing) = inner.executing.remove(slot) else { return };
        let (work, seats) = (&executing.work, executing.work.max_seats());
        executing.class.stats.executing_requests.add(-1);
        if let Some(queue) = executing.queue {
            let served =
                now_ns.saturating_sub(executing.started_ns).saturating_add(nanoseconds(work.additional_latency));
            inner.queues.finish(queue, expected_work(work), seats.saturating_mul(served));
        }
        if work.additional_latency.is_zero() || inner.is_exempt() {
            inner.release(&executing.class, seats);
        } else {
            let due_ns = now_ns.saturating_add(nanoseconds(work.additional_latency));
            let class = executing.class.clone();
            inner.lingering.push(Reverse(Lingering { due_ns, class, seats }));
        }
        self.end_lingering(&mut inner, now_ns);
        inner.note_demand(now_ns);
        self.dispatch(&mut inner, now_ns, &mut dispatched);
        self.set_timer(&mut inner);
        drop(inner);
        notify(dispatched);
    }

    /// A request leaves its queue; `None` if it is not there any more.
    fn abandon(self: &Arc<Self>, ticket: Ticket, reason: Reason) -> Option<Rejected> {
        let now_ns = self.clock.now_ns();
        let mut dispatched = Dispatched::new();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        self.observe_waiting(&inner, now_ns);
        let pending = inner.queues.abandon(ticket)?;
        let Pending { class, work, arrived_ns, .. } = &pending;
        inner.waiting_seats = inner.waiting_seats.saturating_sub(work.max_seats());
        class.stats.waits_no_more(work);
        class.stats.waits[0].observe(now_ns.saturating_sub(*arrived_ns) as f64 / 1e9);
        let rejected = inner.reject(class, reason, now_ns);
        inner.note_demand(now_ns);
        // The one behind it may need fewer seats.
        self.dispatch(&mut inner, now_ns, &mut dispatched);
        drop(inner);
        notify(dispatched);
        Some(rejected)
    }

    /// Changes what the level is, and its seats.
    pub(crate) fn configure(self: &Arc<Self>, kind: Kind, seats: Seats, is_quiescing: bool) {
        let mut inner = self.inner();
        (inner.kind, inner.seats, inner.is_quiescing) = (kind, seats, is_quiescing);
    }

    /// Sets the seats of the next period.
    pub(crate) fn set_limit(self: &Arc<Self>, limit: u64, target: f64, least_denominator: u64) {
        let now_ns = self.clock.now_ns();
        let mut dispatched = Dispatched::new();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        (inner.limit, inner.target) = (limit, target);
        inner.denominator = if limit > 0 { limit } else { least_denominator.max(1) };
        self.end_lingering(&mut inner, now_ns);
        self.dispatch(&mut inner, now_ns, &mut dispatched);
        self.set_timer(&mut inner);
        drop(inner);
        notify(dispatched);
    }

    /// Gives back the seats of answered requests whose time is over.
    fn end_lingering(&self, inner: &mut Inner<R>, now_ns: u64) {
        let mut has_changed = false;
        while inner.lingering.peek().is_some_and(|Reverse(lingering)| lingering.due_ns <= now_ns)
            && let Some(Reverse(Lingering { class, seats, .. })) = inner.lingering.pop()
        {
            inner.release(&class, seats);
            has_changed = true;
        }
        if has_changed {
            inner.note_demand(now_ns);
        }
    }

    /// Has a task look again when the next lingering seat is free, if a request waits for one.
    fn set_timer(self: &Arc<Self>, inner: &mut Inner<R>) {
        if inner.queues.is_empty() {
            return;
        }
        let Some(Reverse(Lingering { due_ns, .. })) = inner.lingering.peek() else { return };
        let due_ns = *due_ns;
        if inner.timer_due_ns.is_some_and(|set| set <= due_ns) {
            return;
        }
        // Outside of a runtime the server has ended.
        let Ok(runtime) = Handle::try_current() else { return };
        let (level, due) = (self.clone(), self.clock.instant(due_ns));
        inner.timer_due_ns = Some(due_ns);
        runtime.spawn(async move {
            sleep_until(due).await;
            level.look_again(due_ns);
        });
    }

    fn look_again(self: &Arc<Self>, due_ns: u64) {
        let now_ns = self.clock.now_ns();
        let mut dispatched = Dispatched::new();
        let mut inner = self.inner();
        self.observe(&inner, now_ns);
        if inner.timer_due_ns == Some(due_ns) {
            inner.timer_due_ns = None;
        }
        self.end_lingering(&mut inner, now_ns);
        self.dispatch(&mut inner, now_ns, &mut dispatched);
        self.set_timer(&mut inner);
        drop(inner);
        notify(dispatched);
    }

    /// Observes what there was until now. Called before requests begin or end.
    pub(crate) fn observe(&self, inner: &Inner<R>, now_ns: u64) {
        let denominator = inner.denominator as f64;
        self.stats.seats.advance(inner.in_use as f64 / denominator, now_ns);
        self.stats.executing.advance(inner.executing.len() as f64 / denominator, now_ns);
        self.stats.demand.advance((inner.in_use + inner.waiting_seats) as f64 / denominator, now_ns);
    }

    /// The same, before requests begin or end to wait.
    pub(crate) fn observe_waiting(&self, inner: &Inner<R>, now_ns: u64) {
        let places = inner.queuing().map_or(1, |queuing| queuing.queues.saturating_mul(queuing.length_limit).max(1));
        self.stats.waiting.advance(inner.queues.len() as f64 / places as f64, now_ns);
    }
}

impl<R: Described> Inner<R> {
    fn release(&mut self, class: &FlowClass<R>, seats: u64) {
        class.stats.executing_seats.take_seats(seats);
        self.in_use = self.in_use.saturating_sub(seats);
    }

    fn note_demand(&mut self, now_ns: u64) {
        self.integrator.set(self.in_use.saturating_add(self.waiting_seats), now_ns);
    }

    /// The virtual time of the queues, in seat-seconds.
    pub fn virtual_time(&self) -> f64 {
        seat_seconds(self.queues.virtual_time())
    }
}

/// Tells requests that they have seats. One whose client has gone gives them back at once.
fn notify<R: Described>(dispatched: Dispatched<R>) {
    for (sender, permit) in dispatched {
        drop(sender.send(permit));
    }
}

/// The seats of a request. They are given back when this is dropped.
#[derive(Debug)]
pub struct Permit<R: Described> {
    class: Arc<FlowClass<R>>,
    slot: usize,
}

impl<R: Described> Drop for Permit<R> {
    fn drop(&mut self) {
        self.class.level.finish(self.slot);
    }
}

/// A request that waits in a queue, which it leaves when this is dropped.
#[derive(Debug)]
pub struct Waiting<R: Described> {
    class: Arc<FlowClass<R>>,
    ticket: Ticket,
    receiver: oneshot::Receiver<Permit<R>>,
    has_ended: bool,
}

impl<R: Described> Waiting<R> {
    /// Waits for seats.
    ///
    /// # Errors
    /// There were none until the deadline.
    pub async fn until(mut self, deadline: Instant) -> Result<Permit<R>, Rejected> {
        let outcome = match timeout_at(deadline, &mut self.receiver).await {
            Ok(permit) => permit,
            Err(_) => match self.class.level.abandon(self.ticket, Reason::TimeOut) {
                Some(rejected) => {
                    self.has_ended = true;
                    return Err(rejected);
                }
                // It has just been given seats, and is about to be told so.
                None => (&mut self.receiver).await,
            },
        };
        self.has_ended = true;
        // Nobody drops a sender whose request is still in its queue.
        outcome.map_err(|_| Rejected { retry_after_seconds: 1 })
    }
}

impl<R: Described> Drop for Waiting<R> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.class.level.abandon(self.ticket, Reason::Cancelled);
        }
    }
}
