//! The queues of a priority level: start-time fair queuing over the queues that flows are dealt.
//! Guarantees that queues which have requests get equal shares of the level's seats, whatever each has waiting, and that a request
//! waits for a bounded amount of others' work. Must never look at a clock: virtual time advances with the work that begins.

use std::collections::{HashMap, VecDeque};

/// Which queue.
pub type QueueId = usize;

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// A queue has no room for another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A request's place.
#[derive(Debug)]
struct Waiting<T> {
    ticket: Ticket,
    /// Seats by the time that it is expected to hold them.
    work: u64,
    seats: u32,
    request: T,
}

/// A queue. Its virtual start is when the next of its requests begins, on the clock of the level.
#[derive(Debug)]
struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    work: u64,
    virtual_start: u64,
}

/// The queues of a level.
#[derive(Debug)]
pub struct Queues<T> {
    queues: Vec<Queue<T>>,
    length_limit: usize,
    places: HashMap<Ticket, QueueId>,
    /// The virtual start of the request that began last.
    virtual_time: u64,
    next_ticket: u64,
    /// The queue after which looking for equal starts begins.
    last: QueueId,
}

impl<T> Queues<T> {
    /// So many queues, each of so many requests.
    pub fn new(queues: usize, length_limit: usize) -> Self {
        let queue = || Queue { waiting: VecDeque::new(), work: 0, virtual_start: 0 };
        Queues {
            queues: (0..queues.max(1)).map(|_| queue()).collect(),
            length_limit,
            places: HashMap::new(),
            virtual_time: 0,
            next_ticket: 0,
            last: 0,
        }
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Puts a request into the queue of its hand with the least work, unless that is full.
    ///
    /// # Errors
    /// It is full.
    pub fn enqueue(&mut self, hand: &[QueueId], seats: u32, work: u64, request: T) -> Result<Ticket, Full> {
        let load = |id: &&QueueId| self.queues.get(**id).map_or(u64::MAX, |queue| queue.work);
        let id = hand.iter().min_by_key(load).copied().unwrap_or_default();
        let (now, limit) = (self.virtual_time, self.length_limit);
        let queue = self.queues.get_mut(id).ok_or(Full)?;
        if queue.waiting.len() >= limit {
            return Err(Full);
        }
        if queue.waiting.is_empty() {
            // A queue earns nothing while it is empty.
            queue.virtual_start = queue.virtual_start.max(now);
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        queue.work = queue.work.saturating_add(work);
        queue.waiting.push_back(Waiting { ticket, work, seats, request });
        self.places.insert(ticket, id);
        Ok(ticket)
    }

    /// How many seats the request needs that is next.
    pub fn next_seats(&self) -> Option<u32> {
        let id = self.next()?;
        self.queues[id].waiting.front().map(|first| first.seats)
    }

    /// Takes the request that is next.
    pub fn dispatch(&mut self) -> Option<(Ticket, QueueId, T)> {
        let id = self.next()?;
        let queue = &mut self.queues[id];
        let Waiting { ticket, work, request, .. } = queue.waiting.pop_front()?;
        self.virtual_time = self.virtual_time.max(queue.virtual_start);
        queue.virtual_start = queue.virtual_start.saturating_add(work);
        queue.work = queue.work.saturating_sub(work);
        self.places.remove(&ticket);
        self.last = id;
        Some((ticket, id, request))
    }

    /// Removes a request that waits no longer.
    pub fn abandon(&mut self, ticket: Ticket) -> Option<T> {
        let queue = self.queues.get_mut(self.places.remove(&ticket)?)?;
        let place = queue.waiting.iter().position(|waiting| waiting.ticket == ticket)?;
        let waiting = queue.waiting.remove(place)?;
        queue.work = queue.work.saturating_sub(waiting.work);
        Some(waiting.request)
    }

    /// Corrects a queue by the work that a request of it really was: one that was expected to be less delays those after it.
    pub fn correct(&mut self, id: QueueId, expected: u64, actual: u64) {
        if let Some(queue) = self.queues.get_mut(id) {
            queue.virtual_start = queue.virtual_start.saturating_add(actual).saturating_sub(expected);
        }
    }

    /// The queue whose first request is next: the one with the earliest virtual start, in turns where several have it.
    fn next(&self) -> Option<QueueId> {
        let count = self.queues.len();
        let turns = (1..=count).map(|step| (self.last + step) % count);
        turns.filter(|id| !self.queues[*id].waiting.is_empty()).min_by_key(|id| self.queues[*id].virtual_start)
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
        let mut queues = Queues::new(2, 3);
        for name in ["a1", "a2", "a3"] {
            queues.enqueue(&[0], 1, 10, name).expect("room");
        }
        assert_eq!(queues.enqueue(&[0], 1, 10, "a4"), Err(Full));
        queues.enqueue(&[1], 1, 10, "b1").expect("room");
        let order: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        assert_eq!(order, ["b1", "a1", "a2", "a3"]);
    }

    #[test]
    fn a_queue_of_heavy_requests_gets_fewer() {
        let mut queues = Queues::new(2, 100);
        for _ in 0..12 {
            queues.enqueue(&[0], 1, 30, "heavy").expect("room");
            queues.enqueue(&[1], 1, 10, "light").expect("room");
        }
        let first: Vec<_> = (0..12).filter_map(|_| queues.dispatch().map(|(_, _, name)| name)).collect();
        assert_eq!(first.iter().filter(|name| **name == "heavy").count(), 3, "{first:?}");
    }

    #[test]
    fn requests_leave_the_middle_of_a_queue() {
        let mut queues = Queues::new(1, 3);
        let tickets: Vec<_> = (0..3).map(|n| queues.enqueue(&[0], 1, 1, n).expect("room")).collect();
        assert_eq!((queues.abandon(tickets[1]), queues.abandon(tickets[1])), (Some(1), None));
        assert_eq!(queues.dispatch().map(|(_, _, n)| n), Some(0));
        assert_eq!(queues.dispatch().map(|(_, _, n)| n), Some(2));
        assert!(queues.is_empty());
    }

    #[test]
    fn work_that_was_more_than_expected_is_paid_for() {
        let mut queues = Queues::new(2, 10);
        for _ in 0..3 {
            queues.enqueue(&[0], 1, 10, "a").expect("room");
            queues.enqueue(&[1], 1, 10, "b").expect("room");
        }
        let (_, id, first) = queues.dispatch().expect("a request");
        queues.correct(id, 10, 35);
        let rest: Vec<_> = std::iter::from_fn(|| queues.dispatch().map(|(_, _, name)| name)).collect();
        let others = rest.iter().take_while(|name| **name != first).count();
        assert_eq!(others, 3, "{first}: {rest:?}");
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
        let mut queues = Queues::new(64, 50);
        let hand = |tenant: usize| deal(flow_hash("tenants", &tenant.to_string()), 64, 8);
        let mut running: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let (mut loud, mut quiet) = (Seen::default(), Seen::default());
        for now in 0..ticks {
            while running.peek().is_some_and(|Reverse(end)| *end <= now) {
                running.pop();
            }
            let mut arrive = |tenant: usize, is_loud: bool, seen: &mut Seen| {
                if queues.enqueue(&hand(tenant), 1, HELD, (is_loud, now)).is_err() {
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
                && let Some((_, _, (is_loud, since))) = queues.dispatch()
            {
                running.push(Reverse(now + HELD));
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
