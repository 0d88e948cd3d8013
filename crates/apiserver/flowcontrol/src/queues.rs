//! The queues of a priority level: start-time fair queuing over the queues that flows are dealt.
//! Guarantees that queues which have requests get equal shares of the level's seats, whatever each has waiting, and that a request
//! waits for a bounded amount of others' work. Must never look at a clock: virtual time advances with the work that begins.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Which queue.
pub type QueueId = usize;

/// A request that waits. A later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// A queue has no room for another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A request's place.
#[derive(Debug)]
struct Waiting<T> {
    /// Seats by the time that it is expected to hold them.
    work: u64,
    seats: u64,
    request: T,
}

/// A queue. Its virtual start is when the next of its requests begins, on the clock of the level.
#[derive(Debug)]
struct Queue<T> {
    waiting: BTreeMap<Ticket, Waiting<T>>,
    work: u64,
    virtual_start: u128,
    /// Its requests that have begun and not ended.
    executing: usize,
    /// When its turn came, among queues with the same start.
    turn: u64,
}

/// Sums over a queue's waiting requests, and its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    pub waiting: usize,
    pub seats: u64,
    pub work: u64,
    pub virtual_start: u128,
}

impl<T> Queue<T> {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.executing == 0
    }

    /// When a request that comes now begins, on the clock of the level. An idle queue has neither credit nor debt.
    fn next_start(&self, virtual_time: u128) -> u128 {
        if self.is_idle() { virtual_time } else { self.virtual_start.max(virtual_time) }
    }
}

/// The queues of a level. Only those that have requests take memory.
#[derive(Debug)]
pub struct Queues<T> {
    queues: HashMap<QueueId, Queue<T>>,
    /// Queues with requests, the next one first.
    order: BTreeSet<(u128, u64, QueueId)>,
    places: HashMap<Ticket, QueueId>,
    /// The virtual start of the request that began last.
    virtual_time: u128,
    next: u64,
    /// With how many queues those are dropped of which nothing has to be remembered.
    most: usize,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Queues {
            queues: HashMap::new(),
            order: BTreeSet::new(),
            places: HashMap::new(),
            virtual_time: 0,
            next: 0,
            most: REMEMBERED,
        }
    }
}

/// How many queues are always remembered.
const REMEMBERED: usize = 64;

impl<T> Queues<T> {
    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The queue of a hand with the least work; of several, the one whose next request begins first, and of these the one
    /// with the fewest requests that execute.
    fn least(&self, hand: &[QueueId]) -> QueueId {
        let now = self.virtual_time;
        let cost = |id: &&QueueId| {
            self.queues.get(*id).map_or((0, now, 0), |queue| (queue.work, queue.next_start(now), queue.executing))
        };
        hand.iter().min_by_key(cost).copied().unwrap_or_default()
    }

    /// Whether a queue of this hand has room for another request, where each holds so many.
    pub fn has_room(&self, hand: &[QueueId], length_limit: usize) -> bool {
        self.queues.get(&self.least(hand)).is_none_or(|queue| queue.waiting.len() < length_limit)
    }

    /// Puts a request into the queue of its hand with the least work, unless that has so many already. Returns the length of the
    /// queue, too.
    ///
    /// # Errors
    /// It is full.
    pub fn enqueue(
        &mut self,
        hand: &[QueueId],
        length_limit: usize,
        seats: u64,
        work: u64,
        request: T,
    ) -> Result<(Ticket, usize), Full> {
        let id = self.least(hand);
        if !self.has_room(&[id], length_limit) {
            return Err(Full);
        }
        let number = self.number();
        let queue = self.queues.entry(id).or_insert_with(|| Queue {
            waiting: BTreeMap::new(),
            work: 0,
            virtual_start: 0,
            executing: 0,
            turn: 0,
        });
        if queue.waiting.is_empty() {
            queue.virtual_start = queue.next_start(self.virtual_time);
            queue.turn = number;
            self.order.insert((queue.virtual_start, queue.turn, id));
        }
        let ticket = Ticket(number);
        queue.work = queue.work.saturating_add(work);
        queue.waiting.insert(ticket, Waiting { work, seats, request });
        self.places.insert(ticket, id);
        Ok((ticket, queue.waiting.len()))
    }

    /// The request that is next, and how many seats it needs.
    pub fn first(&self) -> Option<(&T, u64)> {
        let (.., id) = self.order.first()?;
        let (_, first) = self.queues.get(id)?.waiting.first_key_value()?;
        Some((&first.request, first.seats))
    }

    /// Takes the request that is next.
    pub fn dispatch(&mut self) -> Option<(Ticket, QueueId, T)> {
        let (.., id) = self.order.pop_first()?;
        let turn = self.number();
        let queue = self.queues.get_mut(&id)?;
        let (ticket, Waiting { work, request, .. }) = queue.waiting.pop_first()?;
        self.virtual_time = self.virtual_time.max(queue.virtual_start);
        queue.virtual_start += u128::from(work);
        queue.work = queue.work.saturating_sub(work);
        queue.executing += 1;
        queue.turn = turn;
        if !queue.waiting.is_empty() {
            self.order.insert((queue.virtual_start, queue.turn, id));
        } else if self.order.is_empty() {
            // Everybody has what they asked for: a busy time is over.
            self.virtual_time = queue.virtual_start;
        }
        self.places.remove(&ticket);
        self.forget();
        Some((ticket, id, request))
    }

    /// Removes a request that waits no longer.
    pub fn abandon(&mut self, ticket: Ticket) -> Option<T> {
        let id = self.places.remove(&ticket)?;
        let queue = self.queues.get_mut(&id)?;
        let waiting = queue.waiting.remove(&ticket)?;
        queue.work = queue.work.saturating_sub(waiting.work);
        if queue.waiting.is_empty() {
            self.order.remove(&(queue.virtual_start, queue.turn, id));
        }
        self.forget();
        Some(waiting.request)
    }

    /// Ends a request that was dispatched, and corrects its queue by the work that it was: a request that was expected to be less
    /// delays those after it.
    pub fn finish(&mut self, id: QueueId, expected: u64, actual: u64) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        let corrected = (queue.virtual_start + u128::from(actual)).saturating_sub(u128::from(expected));
        if !queue.waiting.is_empty() {
            self.order.remove(&(queue.virtual_start, queue.turn, id));
            self.order.insert((corrected, queue.turn, id));
        }
        queue.virtual_start = corrected;
        queue.executing = queue.executing.saturating_sub(1);
        self.forget();
    }

    /// The queues that are remembered, by number.
    pub fn states(&self) -> BTreeMap<QueueId, QueueState> {
        let state = |(id, queue): (&QueueId, &Queue<T>)| {
            let seats = queue.waiting.values().map(|waiting| waiting.seats).sum();
            let (waiting, work) = (queue.waiting.len(), queue.work);
            (*id, QueueState { waiting, seats, work, virtual_start: queue.virtual_start })
        };
        self.queues.iter().map(state).collect()
    }

    /// The requests that wait, by queue and in the order in which they came.
    pub fn waiting(&self) -> impl Iterator<Item = (QueueId, usize, &T)> {
        let queues: BTreeMap<_, _> = self.queues.iter().collect();
        queues.into_iter().flat_map(|(id, queue)| {
            queue.waiting.values().enumerate().map(|(place, waiting)| (*id, place, &waiting.request))
        })
    }

    /// The virtual start of the request that began last.
    pub fn virtual_time(&self) -> u128 {
        self.virtual_time
    }

    /// The earliest and the latest virtual start of the requests that are next in their queues.
    pub fn bounds(&self) -> Option<(u128, u128)> {
        Some((self.order.first()?.0, self.order.last()?.0))
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Drops idle queues, whenever there are twice as many queues as after the last time.
    fn forget(&mut self) {
        if self.queues.len() > self.most {
            self.queues.retain(|_, queue| !queue.is_idle());
            self.most = REMEMBERED.max(2 * self.queues.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deal, flow_hash};
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn queues_take_turns_and_full_ones_refuse() {
        let mut queues = Queues::default();
        for name in ["a1", "a2", "a3"] {
            queues.enqueue(&[0], 3, 1, 10, name).expect("room");
        }
        assert_eq!(queues.enqueue(&[0], 3, 1, 10, "a4"), Err(Full));
        assert!(!queues.has_room(&[0], 3) && queues.has_room(&[0, 1], 3));
        queues.enqueue(&[1], 3, 1, 10, "b1").expect("room");
        assert_eq!(queues.waiting().map(|(_, place, name)| (place, *name)).last(), Some((0, "b1")));
        let order: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
    }

    #[test]
    fn a_queue_of_heavy_requests_gets_fewer() {
        let mut queues = Queues::default();
        for _ in 0..12 {
            queues.enqueue(&[0], 100, 1, 30, "heavy").expect("room");
            queues.enqueue(&[1], 100, 1, 10, "light").expect("room");
        }
        let first: Vec<_> = (0..12).filter_map(|_| queues.dispatch().map(|(_, _, name)| name)).collect();
        assert_eq!(first.iter().filter(|name| **name == "heavy").count(), 3, "{first:?}");
    }

    #[test]
    fn requests_leave_the_middle_of_a_queue() {
        let mut queues = Queues::default();
        let tickets: Vec<_> = (0..3).map(|n| queues.enqueue(&[0], 3, 1, 1, n).expect("room").0).collect();
        assert_eq!((queues.abandon(tickets[1]), queues.abandon(tickets[1])), (Some(1), None));
        assert_eq!(queues.dispatch().map(|(_, _, n)| n), Some(0));
        assert_eq!(queues.dispatch().map(|(_, _, n)| n), Some(2));
        assert!(queues.is_empty());
    }

    #[test]
    fn work_that_was_more_than_expected_is_paid_for() {
        let mut queues = Queues::default();
        for _ in 0..3 {
            queues.enqueue(&[0], 10, 1, 10, "a").expect("room");
            queues.enqueue(&[1], 10, 1, 10, "b").expect("room");
        }
        let (_, id, first) = queues.dispatch().expect("a request");
        queues.finish(id, 10, 35);
        let rest: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        let others = rest.iter().take_while(|name| **name != first).count();
        assert_eq!(others, 3, "{first}: {rest:?}");
    }

    #[test]
    fn a_queue_with_more_than_its_share_is_remembered_while_its_request_executes() {
        let mut queues = Queues::default();
        for round in 0..1000 {
            queues.enqueue(&[round + 1], 10, 1, 1, "brief").expect("room");
            let (_, id, _) = queues.dispatch().expect("a request");
            queues.finish(id, 1, 1);
        }
        assert!(queues.states().len() <= REMEMBERED, "{}", queues.states().len());
        // Others wait all the time, so that what the first queue had more than they had counts.
        for round in 0..50 {
            queues.enqueue(&[round % 2 + 1], 100, 1, 10, "brief").expect("room");
        }
        queues.enqueue(&[0], 10, 1, 200, "long").expect("room");
        while queues.dispatch().is_some_and(|(_, _, name)| name != "long") {}
        queues.enqueue(&[0], 10, 1, 1, "late").expect("room");
        let before: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        let place = before.iter().position(|name| *name == "late");
        assert!(place.is_some_and(|place| (35..=42).contains(&place)), "{before:?}");
    }

    #[test]
    fn an_idle_queue_has_no_debt_and_a_busy_one_is_the_last_choice() {
        let mut queues = Queues::default();
        queues.enqueue(&[0], 10, 1, 1, "long").expect("room");
        let (_, long, _) = queues.dispatch().expect("a request");
        queues.enqueue(&[1], 10, 1, 1, "other").expect("room");
        // While it executes, its queue is busy: a hand with another queue takes that one.
        queues.enqueue(&[0, 2], 10, 1, 1, "late").expect("room");
        assert_eq!(queues.states()[&2].waiting, 1);
        queues.finish(long, 1, 10_000);
        queues.enqueue(&[0], 10, 1, 1, "next").expect("room");
        let order: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        assert_eq!(order, ["other", "late", "next"]);
        assert!(queues.virtual_time() < 10_000);
    }

    /// What a simulated tenant saw, in ticks.
    #[derive(Default)]
    struct Seen {
        served: usize,
        refused: usize,
        waits: Vec<u64>,
    }

    impl Seen {
        fn p99(&mut self) -> u64 {
            self.waits.sort_unstable();
            self.waits.get(self.waits.len() * 99 / 100).copied().unwrap_or_default()
        }
    }

    /// A level with ten seats, whose requests hold a seat for ten ticks. `flood` tenants ask as often as they can; twenty quiet
    /// tenants ask once in a hundred ticks.
    fn simulate(flood: usize, ticks: u64) -> (Seen, Seen) {
        const SEATS: usize = 10;
        const HELD: u64 = 10;
        let mut queues = Queues::default();
        let hand = |tenant: usize| deal(flow_hash("tenants", &tenant.to_string()), 64, 8);
        let mut running: BinaryHeap<Reverse<(u64, QueueId)>> = BinaryHeap::new();
        let (mut loud, mut quiet) = (Seen::default(), Seen::default());
        for now in 0..ticks {
            while running.peek().is_some_and(|Reverse((end, _))| *end <= now)
                && let Some(Reverse((_, id))) = running.pop()
            {
                queues.finish(id, HELD, HELD);
            }
            let mut arrive = |tenant: usize, is_loud: bool, seen: &mut Seen| {
                if queues.enqueue(&hand(tenant), 50, 1, HELD, (is_loud, now)).is_err() {
                    seen.refused += 1;
                }
            };
            for tenant in 0..flood {
                (0..20).for_each(|_| arrive(1000 + tenant, true, &mut loud));
            }
            for tenant in (0..20).filter(|tenant| (now + 5 * *tenant as u64).is_multiple_of(100)) {
                arrive(tenant, false, &mut quiet);
            }
            while running.len() < SEATS
                && let Some((_, id, (is_loud, since))) = queues.dispatch()
            {
                running.push(Reverse((now + HELD, id)));
                let seen = if is_loud { &mut loud } else { &mut quiet };
                seen.served += 1;
                seen.waits.push(now - since);
            }
        }
        (loud, quiet)
    }

    #[test]
    fn a_flooding_tenant_starves_no_other() {
        const TICKS: u64 = 20_000;
        let (_, mut idle) = simulate(0, TICKS);
        let (loud, mut quiet) = simulate(1, TICKS);
        let asked = TICKS as usize / 100 * 20;
        assert_eq!((quiet.refused, idle.refused), (0, 0));
        assert!(quiet.served + 20 >= asked, "{} of {asked}", quiet.served);
        // What a flood adds to a request's ten ticks of work is less than that: twice the idle time at most.
        let (idle, busy) = (10 + idle.p99(), 10 + quiet.p99());
        assert!(busy <= 2 * idle, "p99 of {busy} ticks instead of {idle}");
        assert!(loud.served > 0 && loud.refused > 0);
        // The same input has the same result.
        assert_eq!(simulate(1, 500).0.waits, simulate(1, 500).0.waits);
    }

    #[test]
    fn several_flooding_tenants_share_and_none_starves() {
        let (loud, quiet) = simulate(3, 20_000);
        assert_eq!(quiet.refused, 0);
        assert!(quiet.served > 3900, "{}", quiet.served);
        assert!(loud.served > 10_000, "{}", loud.served);
    }
}
