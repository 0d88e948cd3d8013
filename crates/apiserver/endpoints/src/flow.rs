//! Flow: which requests are worked on, which wait, and how much of the server one user may hold at a time.
//! Guarantees that requests get seats by priority and fairness, or by two limits where that is off; that no user holds more
//! than a share of what seats do not protect (waits, streams, watches, bytes on their way, answers that are not taken); and
//! that what is held is given back when its holder is dropped. Must never hold a lock while it waits.

mod count;
mod estimate;
mod shares;
mod watch_bytes;

use crate::limits::{
    BODY_BASE_BYTES, FRESHNESS_WAITS, IN_FLIGHT_POLL, OPEN_ANSWERS, RECEIVED_BYTES, RESPONSE_BYTES, RETRY_AFTER_SECONDS,
};
use crate::query::Query;
use crate::request::Verb;
use crate::response::{ApiResponse, set_before};
use crate::{BodyFailure, Settings};
use bytes::Bytes;
use count::Count;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use pintle_auth::{Attributes, UserInfo, groups};
use pintle_compute::Turns;
use pintle_flowcontrol::{
    Begun, Described, Details, FlowClass, FlowController, Permit, Rejected, WorkEstimate, bounds,
};
use pintle_metrics::TimingHistogram;
use pintle_registry::{RequestContext, Status};
use pintle_schema::Str;
use shares::{ShareGuard, SharedLimit};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use estimate::estimate;
pub(crate) use watch_bytes::WatchBytes;

/// A request, as the dumps of flow control show it.
#[derive(Clone, Debug)]
pub struct InFlight(Arc<RequestContext>);

impl Described for InFlight {
    fn details(&self) -> Details<'_> {
        let context = &*self.0;
        let attributes = attributes(context);
        let path = match &context.resource_path {
            None => Cow::Borrowed(context.other_path.as_str()),
            Some(path) => {
                let root = if path.group.is_empty() { "/api" } else { "/apis" };
                let namespace = if path.is_within_namespace() { ["namespaces", &path.namespace] } else { ["", ""] };
                let name = if path.resource == "namespaces" { &path.namespace } else { &path.name };
                let rest = [path.resource.as_str(), name, &path.subresource, &path.rest];
                let parts = [path.group.as_str(), &path.version].into_iter().chain(namespace).chain(rest);
                Cow::Owned(parts.filter(|part| !part.is_empty()).fold(root.to_owned(), |path, part| path + "/" + part))
            }
        };
        Details { attributes, path }
    }
}

/// What flow schemas look at.
fn attributes(context: &RequestContext) -> Attributes<'_> {
    match &context.resource_path {
        Some(path) => Attributes {
            api_version: &path.version,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
            ..Attributes::resource(context.user(), context.verb, &path.group, &path.resource)
        },
        None => Attributes::non_resource(context.user(), context.verb, &context.other_path),
    }
}

/// What decides which requests are worked on.
enum Seats {
    /// Priority and fairness.
    Fair(Box<FlowController<InFlight>>),
    /// Two limits, for reading requests and for mutating ones; `None` is no limit.
    Limits([Option<i64>; 2], [AtomicI64; 2]),
}

/// What all requests share.
pub struct InFlightLimits {
    seats: Seats,
    /// For connections to backends, and for watches.
    streams: Arc<SharedLimit>,
    watches: Arc<SharedLimit>,
    /// Bytes that watches hold.
    watch_bytes: Arc<SharedLimit>,
    /// For reads that wait until a revision of the future has come.
    waits: Arc<SharedLimit>,
    /// Bytes of bodies that are being received.
    bodies: Arc<SharedLimit>,
    /// Bytes of answers that are held in memory while they are sent.
    answers: Arc<SharedLimit>,
    /// Requests in work or being answered, while there are more of them than `uncounted`.
    open: Arc<SharedLimit>,
    uncounted: i64,
    /// How long requests without a time of their own may take.
    request_timeout: Duration,
    began: Instant,
    /// Reading and mutating requests that are worked on or being answered, those of the exempt included.
    in_flight: [Count; 2],
    /// Reading and mutating requests that wait for seats.
    waiting: [Count; 2],
    /// Requests that are not answered yet, whatever they wait for.
    unanswered: AtomicI64,
    /// The processors, for what computes for long.
    pub turns: Arc<Turns>,
}

impl InFlightLimits {
    pub fn new(settings: &Settings) -> Arc<InFlightLimits> {
        // No limit is 0.
        let limit = |mutating| Some(settings.in_flight_limit(mutating)).filter(|limit| *limit > 0);
        let limits = [limit(false), limit(true)];
        // Together they are the seats of the server; without any they have no limit.
        let sum = limits.iter().flatten().fold(0_i64, |sum, limit| sum.saturating_add(*limit));
        let total = match sum.min(i64::from(i32::MAX)) {
            0 if settings.priority_and_fairness => i64::from(i32::MAX),
            total => total.max(1),
        };
        let seats = match settings.priority_and_fairness {
            true => Seats::Fair(Box::new(FlowController::new(total.unsigned_abs()))),
            false => Seats::Limits(limits, Default::default()),
        };
        Arc::new(InFlightLimits {
            seats,
            streams: SharedLimit::new(settings.max_streams),
            watches: SharedLimit::new(settings.max_watches),
            watch_bytes: SharedLimit::new(settings.max_watch_bytes),
            waits: SharedLimit::new(FRESHNESS_WAITS),
            bodies: SharedLimit::new(RECEIVED_BYTES),
            answers: SharedLimit::new(RESPONSE_BYTES),
            open: SharedLimit::new(total.unsigned_abs().saturating_mul(OPEN_ANSWERS)),
            uncounted: total,
            request_timeout: settings.request_timeout,
            began: Instant::now(),
            in_flight: [(); 2].map(|()| Count::new()),
            waiting: [(); 2].map(|()| Count::new()),
            unanswered: AtomicI64::new(0),
            turns: Arc::default(),
        })
    }

    /// Priority and fairness; `None` where two limits take its place.
    pub fn controller(&self) -> Option<&FlowController<InFlight>> {
        match &self.seats {
            Seats::Fair(controller) => Some(controller),
            Seats::Limits(..) => None,
        }
    }

    /// How many requests are worked on or being answered.
    pub fn in_flight(&self, mutating: bool) -> i64 {
        self.in_flight[usize::from(mutating)].now.load(Ordering::Relaxed)
    }

    /// How many requests wait for seats.
    pub(crate) fn waiting(&self, mutating: bool) -> i64 {
        self.waiting[usize::from(mutating)].now.load(Ordering::Relaxed)
    }

    /// Requests that wait and that execute, over time, until now.
    pub(crate) fn over_time(&self, mutating: bool) -> [&TimingHistogram; 2] {
        let kind = usize::from(mutating);
        let counts = [(&self.waiting[kind], self.most_waiting()), (&self.in_flight[kind], self.most_in_flight(kind))];
        counts.map(|(count, most)| {
            count.add(0, most, self.nanoseconds(Instant::now()));
            &count.over_time
        })
    }

    fn nanoseconds(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }

    /// What the requests that execute are in proportion to.
    fn most_in_flight(&self, kind: usize) -> f64 {
        match &self.seats {
            Seats::Fair(controller) => controller.total() as f64,
            Seats::Limits(limits, _) => limits[kind].unwrap_or(1) as f64,
        }
    }

    fn most_waiting(&self) -> f64 {
        bounds::WAITING as f64
    }

    /// Waits until no request is in work: looks now and then, as it is done once, at the end.
    pub async fn drained(&self) {
        let unanswered = || self.unanswered.load(Ordering::Relaxed) + self.in_flight(false) + self.in_flight(true);
        while unanswered() > 0 {
            tokio::time::sleep(IN_FLIGHT_POLL).await;
        }
    }
}

/// What a request that is worked on holds.
enum Seat {
    /// Those of its priority level.
    Fair {
        _permit: Permit<InFlight>,
    },
    /// One of the reading or mutating requests.
    Limited {
        flow: Arc<InFlightLimits>,
        kind: usize,
    },
    None,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Seat::Limited { flow, kind } = self
            && let Seats::Limits(_, taken) = &flow.seats
        {
            taken[*kind].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request's way through the limits, from where its user is known to its answer. What it holds of them goes on with the
/// answer as a [`Slot`].
pub struct InFlightRequest {
    flow: Arc<InFlightLimits>,
    context: Arc<RequestContext>,
    /// Its priority level, and its flow there.
    of: Option<pintle_flowcontrol::Flow<InFlight>>,
    work: WorkEstimate,
    /// Its user gets everything that is shared.
    is_exempt: bool,
    /// It has no end of its own, and is not counted among the requests in work.
    long_running: bool,
    is_watch: bool,
    /// It has a seat, or had one: it is counted.
    was_admitted: AtomicBool,
    mutating: bool,
    user: Str,
    slot: Mutex<Option<Slot>>,
    /// What its body holds of the memory for bodies, until it is admitted.
    body: Mutex<Option<Arc<Mutex<ShareGuard>>>>,
    /// The code with which the request was given up; 0 while it was not.
    rejection_code: AtomicU16,
    /// After how many seconds its client may come again, if it was rejected.
    retry_after: AtomicU32,
}

/// A place among the requests in work, held until the answer is sent; or among those without an end, held until theirs.
pub struct Slot {
    flow: Arc<InFlightLimits>,
    /// Under which of the requests in work it counts.
    counted: Option<usize>,
    since: Instant,
    seat: Seat,
    _held: Option<ShareGuard>,
    /// The bytes of the answer.
    answer: Option<ShareGuard>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(kind) = self.counted {
            let flow = &self.flow;
            flow.in_flight[kind].add(-1, flow.most_in_flight(kind), flow.nanoseconds(Instant::now()));
        }
    }
}

impl InFlightRequest {
    /// The way of a request whose user is known.
    pub(crate) fn new(flow: &Arc<InFlightLimits>, context: &Arc<RequestContext>, verb: Verb) -> Self {
        let (user, long_running) = (context.user(), context.deadline.is_none());
        if !long_running {
            flow.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        let is_watch = verb == Verb::Watch;
        let of = flow.controller().filter(|_| !long_running || is_watch);
        let of = of.and_then(|controller| controller.classify(&attributes(context)));
        InFlightRequest {
            flow: Arc::clone(flow),
            of,
            work: WorkEstimate::ONE,
            is_exempt: is_exempt(user),
            long_running,
            is_watch,
            was_admitted: AtomicBool::new(false),
            mutating: !matches!(context.verb, "get" | "list" | "watch"),
            user: user.name.clone(),
            context: Arc::clone(context),
            slot: Mutex::default(),
            body: Mutex::default(),
            rejection_code: AtomicU16::new(0),
            retry_after: AtomicU32::new(RETRY_AFTER_SECONDS),
        }
    }

    /// The same request, which is expected to take so much work.
    pub(crate) fn expecting(self, work: impl FnOnce(&FlowClass<InFlight>) -> WorkEstimate) -> Self {
        let mut in_flight = self;
        if let Some(of) = in_flight.of.as_ref().filter(|of| !of.class.is_exempt) {
            in_flight.work = work(&of.class);
        }
        in_flight
    }

    /// The flow schema and the priority level of the request.
    pub(crate) fn class(&self) -> Option<Arc<FlowClass<InFlight>>> {
        self.of.as_ref().map(|of| of.class.clone())
    }

    /// Whether there is room for the request now: asked before work is done that needs no slot.
    pub(crate) fn has_room(&self) -> bool {
        if self.places().is_some_and(|places| !self.is_exempt && !places.may_take(&self.user)) {
            return false;
        }
        match (&self.of, &self.flow.seats) {
            (Some(of), _) => of.reject_early().is_none_or(|rejected| {
                self.reject(rejected);
                false
            }),
            (None, Seats::Limits(limits, taken)) if !self.long_running && !self.is_exempt => {
                let kind = usize::from(self.mutating);
                limits[kind].is_none_or(|limit| taken[kind].load(Ordering::Relaxed) < limit)
            }
            _ => true,
        }
    }

    /// The places of requests without an end.
    fn places(&self) -> Option<&Arc<SharedLimit>> {
        self.long_running.then_some(if self.is_watch { &self.flow.watches } else { &self.flow.streams })
    }

    /// Takes a slot, unless the request has one; waits for it where requests are queued.
    ///
    /// # Errors
    /// There is none for it.
    pub(crate) async fn enter(&self) -> Result<(), Status> {
        let has_place = match &*self.slot() {
            Some(slot) if self.of.is_none() || !matches!(slot.seat, Seat::None) => return Ok(()),
            slot => slot.is_some(),
        };
        if has_place {
            let seat = self.seat().await?;
            if let Some(slot) = self.slot().as_mut() {
                slot.seat = seat;
            }
            return Ok(());
        }
        // Places are cheap, and seats are not: they are taken last.
        let mut held = match self.places() {
            Some(places) if !self.is_exempt => {
                Some(places.acquire(&self.user, 1).ok_or_else(|| self.too_many_requests())?)
            }
            _ => None,
        };
        let seat = self.seat().await?;
        let since = Instant::now();
        let counted = (!self.long_running).then_some(usize::from(self.mutating));
        if let Some(kind) = counted {
            let in_flight = self.flow.in_flight(false) + self.flow.in_flight(true);
            if in_flight >= self.flow.uncounted && !self.is_exempt && self.of.is_some() {
                held = Some(self.flow.open.acquire(&self.user, 1).ok_or_else(|| self.too_many_requests())?);
            }
            self.flow.in_flight[kind].add(1, self.flow.most_in_flight(kind), self.flow.nanoseconds(since));
        }
        *self.slot() = Some(Slot { flow: Arc::clone(&self.flow), counted, since, seat, _held: held, answer: None });
        Ok(())
    }

    async fn seat(&self) -> Result<Seat, Status> {
        let Some(of) = &self.of else { return self.limited_seat() };
        let is_first_time = !self.was_admitted.swap(true, Ordering::Relaxed);
        let permit = match of.begin(self.work, InFlight(self.context.clone()), is_first_time) {
            Begun::Admitted(permit) => Ok(permit),
            Begun::Rejected(rejected) => Err(rejected),
            // Boxed, as few requests wait.
            Begun::Waiting(waiting) => Box::pin(self.queued(waiting)).await,
        };
        permit.map(|permit| Seat::Fair { _permit: permit }).map_err(|rejected| self.reject(rejected))
    }

    async fn queued(&self, waiting: pintle_flowcontrol::Waiting<InFlight>) -> Result<Permit<InFlight>, Rejected> {
        let _counted = Counted::new(&self.flow, usize::from(self.mutating));
        waiting.until(self.patience()).await
    }

    /// How long the request waits for seats: a quarter of its time.
    fn patience(&self) -> tokio::time::Instant {
        let RequestContext { started, deadline, .. } = &*self.context;
        let time = deadline.map_or(self.flow.request_timeout, |deadline| deadline.duration_since(*started));
        // From now on: a write asks for seats when its body has come, and a read may ask twice.
        let end = tokio::time::Instant::now() + (time / 4).min(bounds::LONGEST_WAIT);
        deadline.map_or(end, |deadline| end.min(deadline.into()))
    }

    fn limited_seat(&self) -> Result<Seat, Status> {
        let Seats::Limits(limits, taken) = &self.flow.seats else { return Ok(Seat::None) };
        let kind = usize::from(self.mutating);
        let Some(limit) = limits[kind].filter(|_| !self.long_running && !self.is_exempt) else {
            return Ok(Seat::None);
        };
        let take = |count: i64| (count < limit).then_some(count + 1);
        match taken[kind].fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(Seat::Limited { flow: Arc::clone(&self.flow), kind }),
            Err(_) => Err(self.too_many_requests()),
        }
    }

    /// Waits for something without a slot: the caller must take one again before it goes on to work. What has no end keeps
    /// its place, without seats.
    ///
    /// # Errors
    /// Too many requests of the user wait.
    pub(crate) async fn wait<T>(&self, event: impl Future<Output = T>) -> Result<T, Status> {
        let _waiting = match self.is_exempt {
            false => Some(self.flow.waits.acquire(&self.user, 1).ok_or_else(|| self.too_many_requests())?),
            true => None,
        };
        match self.long_running {
            true => self.slot().iter_mut().for_each(|slot| slot.seat = Seat::None),
            false => drop(self.slot().take()),
        }
        Ok(event.await)
    }

    /// Room for a body that is about to be received: says of each piece whether it still has some.
    ///
    /// # Errors
    /// There is none for another body.
    pub(crate) fn body_room(&self) -> Result<impl FnMut(usize) -> bool + Send + use<>, BodyFailure> {
        if !self.is_exempt {
            let held = self.flow.bodies.acquire(&self.user, BODY_BASE_BYTES).ok_or(BodyFailure::NoRoom)?;
            *lock(&self.body) = Some(Arc::new(Mutex::new(held)));
        }
        let held = lock(&self.body).clone();
        Ok(move |bytes: usize| held.as_ref().is_none_or(|held| lock(held).grow(bytes as u64)))
    }

    /// Enters a request with its body, now that it has come or has not.
    ///
    /// # Errors
    /// The body did not come, or there is no slot.
    pub(crate) async fn enter_with_body(&self, body: Result<Bytes, BodyFailure>) -> Result<Bytes, Status> {
        let body = body.map_err(|failure| match failure {
            BodyFailure::TooLarge => Status::body_too_large(),
            BodyFailure::TooSlow => {
                self.rejection_code.store(504, Ordering::Relaxed);
                Status::timed_out()
            }
            BodyFailure::NoRoom => self.too_many_requests(),
            BodyFailure::Broken => Status::bad_request("unable to read the request body"),
        })?;
        let entered = self.enter().await;
        // A body counts until its request is worked on, as it is in memory while the request waits.
        drop(lock(&self.body).take());
        entered.map(|()| body)
    }

    /// Counts the bytes of a response that is held in memory until it is sent. Responses to writes are not counted: a write
    /// that happened must be reported, and its response is no larger than the object.
    ///
    /// # Errors
    /// The user's answers hold too much of it.
    pub(crate) fn hold_response(&self, bytes: u64) -> Result<(), Status> {
        if let (false, false, Some(slot)) = (self.is_exempt, self.mutating, &mut *self.slot()) {
            slot.answer = Some(self.flow.answers.acquire(&self.user, bytes).ok_or_else(|| self.too_many_requests())?);
        }
        Ok(())
    }

    /// Counts the bytes that a watch holds as long as it lasts.
    ///
    /// # Errors
    /// The user's watches hold too many, or all together do.
    pub(crate) fn hold_watch(&self, bytes: u64) -> Result<WatchBytes, Status> {
        if self.is_exempt {
            return Ok(WatchBytes::uncounted());
        }
        let held = self.flow.watch_bytes.acquire(&self.user, bytes).ok_or_else(|| self.too_many_requests())?;
        Ok(WatchBytes::of(held))
    }

    /// Hands the slot over to the code that sends the answer. The seats are free then: what is left is to copy bytes as the client
    /// takes them, and a client that takes none keeps nobody waiting.
    pub(crate) fn take_slot(&self) -> Option<Slot> {
        let mut slot = self.slot().take();
        if let Some(slot) = slot.as_mut().filter(|slot| matches!(slot.seat, Seat::Fair { .. })) {
            if let Some(of) = &self.of {
                of.class.stats.executions[usize::from(self.is_watch)].observe_duration(slot.since.elapsed());
            }
            slot.seat = Seat::None;
        }
        slot
    }

    /// The code with which the request was given up to protect the server: 429 if it may come again, 504 if its body was too
    /// slow.
    pub(crate) fn rejection_code(&self) -> Option<u16> {
        Some(self.rejection_code.load(Ordering::Relaxed)).filter(|code| *code > 0)
    }

    /// After how many seconds the client of a request that was given up may come again.
    pub(crate) fn retry_after(&self) -> u32 {
        self.retry_after.load(Ordering::Relaxed)
    }

    fn reject(&self, rejected: Rejected) -> Status {
        self.retry_after.store(rejected.retry_after_seconds.try_into().unwrap_or(u32::MAX), Ordering::Relaxed);
        self.too_many_requests()
    }

    /// Returned to the caller: `serve` makes the response.
    fn too_many_requests(&self) -> Status {
        self.rejection_code.store(429, Ordering::Relaxed);
        Status::new(429, "TooManyRequests", "Too many requests, please try again later.")
    }

    fn slot(&self) -> MutexGuard<'_, Option<Slot>> {
        lock(&self.slot)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds a lock here can fail half way.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        if !self.long_running {
            self.flow.unanswered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request that waits for seats.
struct Counted<'a> {
    flow: &'a InFlightLimits,
    kind: usize,
}

impl<'a> Counted<'a> {
    fn new(flow: &'a InFlightLimits, kind: usize) -> Self {
        flow.waiting[kind].add(1, flow.most_waiting(), flow.nanoseconds(Instant::now()));
        Counted { flow, kind }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let flow = self.flow;
        flow.waiting[self.kind].add(-1, flow.most_waiting(), flow.nanoseconds(Instant::now()));
    }
}

fn is_exempt(user: &UserInfo) -> bool {
    user.in_group(groups::MASTERS)
}

/// Where the states of levels, queues and requests are shown.
pub(crate) const DUMPS: &str = "/debug/api_priority_and_fairness/";

/// Answers one of the paths that show the state of flow control.
///
/// # Errors
/// There is no such path.
pub(crate) fn dump(flow: &InFlightLimits, path: &str, query: &Query) -> Result<ApiResponse, Status> {
    let text = flow.controller().and_then(|controller| match path.strip_prefix(DUMPS)? {
        "dump_priority_levels" => Some(controller.dump_levels()),
        "dump_queues" => Some(controller.dump_queues()),
        "dump_requests" => Some(controller.dump_requests(!query.get("includeRequestDetails").is_empty())),
        _ => None,
    });
    Ok(match text {
        Some(text) => ApiResponse::new(200, "text/plain; charset=utf-8", text),
        None => ApiResponse::text(404, "404 page not found\n"),
    })
}

const SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Tells a client by which flow schema and priority level it was served: their UIDs, as not everybody may know their names.
pub(crate) fn set_flow_headers(headers: &mut HeaderMap, class: &FlowClass<InFlight>) {
    for (name, uid) in [(LEVEL_UID, &class.level_uid), (SCHEMA_UID, &class.schema_uid)] {
        if !uid.is_empty()
            && let Ok(uid) = HeaderValue::from_maybe_shared(uid.clone())
        {
            set_before(headers, &name, uid);
        }
    }
}

#[cfg(test)]
mod tests;
