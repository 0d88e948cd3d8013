//! Flow: how much of the server one user may hold at a time: slots for requests in work, waits, and bytes on their way.
//! Guarantees that no user holds more than a share of anything but `system:masters`, who are exempt, that heartbeats have
//! slots of their own, and that what is held is given back when its holder is dropped.
//! Must never wait: who finds no room is turned away, and no lock is held but for the counting.

use crate::limits::{
    ANSWER_BYTES, BODY_COST, FRESHNESS_WAITS, HEARTBEAT_SLOTS, IN_FLIGHT_POLL, RECEIVED_BYTES, USERS_TO_FILL,
};
use crate::request::{ResourcePath, Verb};
use crate::{BodyFailure, Settings};
use bytes::Bytes;
use pintle_auth::{UserInfo, groups};
use pintle_registry::Status;
use pintle_schema::Str;
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Something of which there is a limited amount, with a share of it for each user.
///
/// A user who holds less than a share, while the total is below the limit, may take more, however much: so nothing is too large for
/// everybody, and limits are exceeded by one holder's last part at most.
struct SharedLimit {
    limit: u64,
    share: u64,
    held: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: u64,
    by_user: HashMap<Str, u64>,
}

impl SharedLimit {
    fn new(limit: u64) -> Arc<SharedLimit> {
        Arc::new(SharedLimit { limit, share: limit.div_ceil(USERS_TO_FILL), held: Mutex::default() })
    }

    fn has_room(&self, held: &Usage, user: &str) -> bool {
        held.total < self.limit && held.by_user.get(user).is_none_or(|own| *own < self.share)
    }

    fn acquire(self: &Arc<Self>, user: &Str, amount: u64) -> Option<ShareGuard> {
        let mut usage = self.usage();
        if !self.has_room(&usage, user) {
            return None;
        }
        usage.total += amount;
        *usage.by_user.entry(user.clone()).or_default() += amount;
        Some(ShareGuard { shares: Arc::clone(self), user: user.clone(), amount })
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        // Nothing that holds the lock can fail half way.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that a user holds.
struct ShareGuard {
    shares: Arc<SharedLimit>,
    user: Str,
    amount: u64,
}

impl ShareGuard {
    /// Takes more, if there is room.
    fn grow(&mut self, amount: u64) -> bool {
        let mut usage = self.shares.usage();
        let has_room = self.shares.has_room(&usage, &self.user);
        if has_room {
            usage.total += amount;
            *usage.by_user.entry(self.user.clone()).or_default() += amount;
            self.amount += amount;
        }
        has_room
    }
}

impl Drop for ShareGuard {
    fn drop(&mut self) {
        let mut usage = self.shares.usage();
        usage.total -= self.amount;
        if let Some(own) = usage.by_user.get_mut(&self.user) {
            *own -= self.amount;
            if *own == 0 {
                usage.by_user.remove(&self.user);
            }
        }
    }
}

/// What all requests share.
pub struct InFlightLimits {
    /// For reading requests, mutating ones, heartbeats, connections to backends, and watches.
    slots: [Arc<SharedLimit>; 5],
    /// For reads that wait until a revision of the future has come.
    waits: Arc<SharedLimit>,
    /// Bytes of bodies that are being received.
    bodies: Arc<SharedLimit>,
    /// Bytes of answers that are held in memory while they are sent.
    answers: Arc<SharedLimit>,
    /// Reading and mutating requests that hold a slot, those of the exempt included.
    in_flight: [AtomicI64; 2],
    /// Requests that are not answered yet, whatever they wait for.
    unanswered: AtomicI64,
    is_heartbeat: fn(&UserInfo, &ResourcePath) -> bool,
    /// Who may compress at a time.
    pub(crate) compressors: Arc<Semaphore>,
}

const HEARTBEATS: usize = 2;
const STREAMS: usize = 3;
const WATCHES: usize = 4;

impl InFlightLimits {
    pub fn new(settings: &Settings) -> Arc<InFlightLimits> {
        // No limit is 0.
        let limit = |mutating| u64::try_from(settings.in_flight_limit(mutating)).ok().filter(|limit| *limit > 0);
        let slots = [limit(false), limit(true)];
        let heartbeats = slots.iter().any(Option::is_some).then_some(HEARTBEAT_SLOTS);
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Arc::new(InFlightLimits {
            slots: [slots[0], slots[1], heartbeats, Some(settings.max_streams), Some(settings.max_watches)]
                .map(|limit| SharedLimit::new(limit.unwrap_or(u64::MAX))),
            waits: SharedLimit::new(FRESHNESS_WAITS),
            bodies: SharedLimit::new(RECEIVED_BYTES),
            answers: SharedLimit::new(ANSWER_BYTES),
            in_flight: Default::default(),
            unanswered: AtomicI64::new(0),
            is_heartbeat: settings.is_heartbeat,
            compressors: Arc::new(Semaphore::new(processors)),
        })
    }

    /// How many requests hold a slot.
    pub fn in_flight(&self, mutating: bool) -> i64 {
        self.in_flight[usize::from(mutating)].load(Ordering::Relaxed)
    }

    /// Waits until no request is in work: looks now and then, as it is done once, at the end.
    pub async fn drained(&self) {
        let unanswered = || self.unanswered.load(Ordering::Relaxed) + self.in_flight(false) + self.in_flight(true);
        while unanswered() > 0 {
            tokio::time::sleep(IN_FLIGHT_POLL).await;
        }
    }
}

/// What a request is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Its user gets everything.
    Exempt,
    /// It needs one of these slots.
    Limited(usize),
}

fn class(flow: &InFlightLimits, user: &UserInfo, path: Option<&ResourcePath>, verb: Verb, long_running: bool) -> Class {
    if user.in_group(groups::MASTERS) {
        return Class::Exempt;
    }
    if long_running {
        return Class::Limited(if verb == Verb::Watch { WATCHES } else { STREAMS });
    }
    let is_of_one = matches!(verb, Verb::Get | Verb::Create | Verb::Update | Verb::Patch);
    match path {
        Some(path) if is_of_one && (flow.is_heartbeat)(user, path) => Class::Limited(HEARTBEATS),
        _ => Class::Limited(usize::from(path.is_some() && !verb.reads())),
    }
}

/// A request's way through the limits, from where its user is known to its answer. What it holds of them goes on with the
/// answer as a [`Slot`].
pub struct InFlightRequest {
    flow: Arc<InFlightLimits>,
    class: Class,
    /// It has no end of its own, and is not counted among the requests in work.
    long_running: bool,
    mutating: bool,
    user: Str,
    slot: Mutex<Option<Slot>>,
    /// The code with which the request was given up; 0 while it was not.
    rejection_code: AtomicU16,
}

/// A place among the requests in work, held until the answer is sent; or among those without an end, held until theirs.
pub struct Slot {
    flow: Arc<InFlightLimits>,
    /// Under which of the requests in work it counts.
    counted: Option<usize>,
    _held: Option<ShareGuard>,
    /// The bytes of the answer.
    answer: Option<ShareGuard>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(kind) = self.counted {
            self.flow.in_flight[kind].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl InFlightRequest {
    /// The way of a request for a resource, or for a path that names none.
    pub fn new(
        flow: &Arc<InFlightLimits>,
        user: &UserInfo,
        path: Option<&ResourcePath>,
        verb: Verb,
        long_running: bool,
    ) -> Self {
        if !long_running {
            flow.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        InFlightRequest {
            flow: Arc::clone(flow),
            class: class(flow, user, path, verb, long_running),
            long_running,
            mutating: path.is_some() && !verb.reads(),
            user: user.name.clone(),
            slot: Mutex::default(),
            rejection_code: AtomicU16::new(0),
        }
    }

    /// Whether there is room for the request now: asked before work is done that needs no slot.
    pub fn has_room(&self) -> bool {
        let Class::Limited(slots) = self.class else { return true };
        let slots = &self.flow.slots[slots];
        slots.has_room(&slots.usage(), &self.user)
    }

    /// Takes a slot, unless the request has one.
    ///
    /// # Errors
    /// There is none for its user.
    pub fn enter(&self) -> Result<(), Status> {
        let mut slot = self.slot();
        if slot.is_some() {
            return Ok(());
        }
        let held = match self.class {
            Class::Limited(slots) => {
                Some(self.flow.slots[slots].acquire(&self.user, 1).ok_or_else(|| self.too_many_requests())?)
            }
            _ => None,
        };
        let counted = (!self.long_running).then_some(usize::from(self.mutating));
        if let Some(kind) = counted {
            self.flow.in_flight[kind].fetch_add(1, Ordering::Relaxed);
        }
        *slot = Some(Slot { flow: Arc::clone(&self.flow), counted, _held: held, answer: None });
        Ok(())
    }

    /// Waits for something without a slot: the caller must take one again before it goes on to work. What has no end keeps
    /// its place.
    ///
    /// # Errors
    /// Too many requests of the user wait.
    pub async fn wait<T>(&self, event: impl Future<Output = T>) -> Result<T, Status> {
        let _waiting = match self.class {
            Class::Limited(_) => Some(self.flow.waits.acquire(&self.user, 1).ok_or_else(|| self.too_many_requests())?),
            _ => None,
        };
        if !self.long_running {
            drop(self.take_slot());
        }
        Ok(event.await)
    }

    /// Room for a body that is about to be received: says of each piece whether it still has some.
    ///
    /// # Errors
    /// There is none for another body.
    pub(crate) fn body_room(&self) -> Result<impl FnMut(usize) -> bool + Send + use<>, BodyFailure> {
        let mut held = match self.class {
            Class::Limited(_) => Some(self.flow.bodies.acquire(&self.user, BODY_COST).ok_or(BodyFailure::NoRoom)?),
            _ => None,
        };
        Ok(move |bytes: usize| held.as_mut().is_none_or(|held| held.grow(bytes as u64)))
    }

    /// Enters a request with its body, now that it has come or has not.
    ///
    /// # Errors
    /// The body did not come, or there is no slot.
    pub(crate) fn enter_with_body(&self, body: Result<Bytes, BodyFailure>) -> Result<Bytes, Status> {
        let body = body.map_err(|failure| match failure {
            BodyFailure::TooLarge => Status::body_too_large(),
            BodyFailure::TooSlow => {
                self.rejection_code.store(504, Ordering::Relaxed);
                Status::timed_out()
            }
            BodyFailure::NoRoom => self.too_many_requests(),
            BodyFailure::Broken => Status::bad_request("unable to read the request body"),
        })?;
        self.enter()?;
        Ok(body)
    }

    /// Counts the bytes of a response that is held in memory until it is sent. Responses to writes are not counted: a write
    /// that happened must be reported, and its response is no larger than the object.
    ///
    /// # Errors
    /// The user's answers hold too much of it.
    pub(crate) fn hold_response(&self, bytes: u64) -> Result<(), Status> {
        if let (Class::Limited(_), false, Some(slot)) = (self.class, self.mutating, &mut *self.slot()) {
            slot.answer = Some(self.flow.answers.acquire(&self.user, bytes).ok_or_else(|| self.too_many_requests())?);
        }
        Ok(())
    }

    /// Hands the slot over to the code that sends the answer.
    pub(crate) fn take_slot(&self) -> Option<Slot> {
        self.slot().take()
    }

    /// The code with which the request was given up to protect the server: 429 if it may come again, 504 if its body was too
    /// slow.
    pub(crate) fn rejection_code(&self) -> Option<u16> {
        Some(self.rejection_code.load(Ordering::Relaxed)).filter(|code| *code > 0)
    }

    /// Returned to the caller: `serve` makes the response.
    fn too_many_requests(&self) -> Status {
        self.rejection_code.store(429, Ordering::Relaxed);
        Status::new(429, "TooManyRequests", "Too many requests, please try again later.")
    }

    fn slot(&self) -> MutexGuard<'_, Option<Slot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        if !self.long_running {
            self.flow.unanswered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
