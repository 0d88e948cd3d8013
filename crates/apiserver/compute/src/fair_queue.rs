//! A limited amount that is handed out fairly among users.
//! Guarantees that of those who wait, the user who has used least is served next, and that what is held is given back when its holder
//! is dropped. Must never hold its lock while a holder is dropped or a waiter is woken.

use pintle_schema::Str;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Users whose use is remembered; beyond, only of those who hold something or wait.
const USERS: usize = 10_000;

/// A limited amount, with those who wait for parts of it.
pub struct FairQueue {
    state: Mutex<State>,
    total: usize,
    /// What is left to users who hold nothing.
    reserved: usize,
}

struct State {
    free: usize,
    users: HashMap<Str, User>,
    /// How many wait.
    waiting: usize,
    /// The least use of a user who was served: those who come later begin there, so that nobody saves up.
    begun: u64,
}

#[derive(Default)]
struct User {
    held: usize,
    /// What the user has used so far, in the unit of [`Part::used`].
    used: u64,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    amount: usize,
    granted: oneshot::Sender<Part>,
}

/// A part of the amount, given back on drop.
pub struct Part {
    queue: Arc<FairQueue>,
    user: Str,
    amount: usize,
    /// What is added to the use of its user when it is given back.
    pub used: u64,
}

impl FairQueue {
    /// `reserved` of `amount` is for users who hold nothing.
    pub fn new(amount: usize, reserved: usize) -> Arc<Self> {
        let state = State { free: amount, users: HashMap::new(), waiting: 0, begun: 0 };
        Arc::new(FairQueue { state: Mutex::new(state), total: amount, reserved })
    }

    /// Takes a part, or a place among those who wait for one: the receiver gets it, unless it is dropped before.
    ///
    /// # Errors
    /// There is no part now. An amount that is larger than the whole is never there.
    pub fn acquire(self: &Arc<Self>, user: &Str, amount: usize) -> Result<Part, oneshot::Receiver<Part>> {
        let mut state = self.state();
        let begun = state.begun;
        let may_pass = state.waiting == 0;
        let State { free, users, .. } = &mut *state;
        if users.len() >= USERS {
            users.retain(|_, user| user.held > 0 || !user.waiting.is_empty());
        }
        let own = users.entry(user.clone()).or_default();
        own.used = own.used.max(begun);
        if may_pass && own.fits(amount, *free, self.reserved) {
            own.held += amount;
            *free -= amount;
            return Ok(self.part(user, amount));
        }
        let (granted, receiver) = oneshot::channel();
        own.waiting.push_back(Waiter { amount, granted });
        state.waiting += 1;
        // Those who wait already may all be users for whom there is no room, unlike this one.
        let served = self.serve(&mut state);
        drop(state);
        served.into_iter().for_each(Served::hand_over);
        Err(receiver)
    }

    /// Whether somebody waits.
    pub fn is_contended(&self) -> bool {
        self.state().waiting > 0
    }

    fn part(self: &Arc<Self>, user: &Str, amount: usize) -> Part {
        Part { queue: Arc::clone(self), user: user.clone(), amount, used: 0 }
    }

    /// Takes parts for those who are next, as far as there is room.
    fn serve(self: &Arc<Self>, state: &mut State) -> Vec<Served> {
        let mut served = Vec::new();
        let State { free, users, waiting, begun } = state;
        while *waiting > 0 {
            let fitting = users.iter_mut().filter(|(_, user)| {
                user.waiting.front().is_some_and(|next| user.fits(next.amount, *free, self.reserved))
            });
            let Some((name, user)) = fitting.min_by_key(|(_, user)| user.used) else { break };
            let Some(Waiter { amount, granted }) = user.waiting.pop_front() else { break };
            *waiting -= 1;
            if granted.is_closed() {
                continue;
            }
            user.held += amount;
            *free -= amount;
            *begun = (*begun).max(user.used);
            served.push(Served { part: self.part(name, amount), granted });
        }
        served
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can fail half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl User {
    fn fits(&self, amount: usize, free: usize, reserved: usize) -> bool {
        let reserved = if self.held == 0 { 0 } else { reserved };
        free.checked_sub(amount).is_some_and(|left| left >= reserved)
    }
}

impl Part {
    pub fn amount(&self) -> usize {
        self.amount
    }
}

/// A part for one who waited.
struct Served {
    part: Part,
    granted: oneshot::Sender<Part>,
}

impl Served {
    fn hand_over(self) {
        // A part that nobody waits for any more is given back here.
        drop(self.granted.send(self.part));
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.free += self.amount;
        let begun = state.begun;
        if let Some(user) = state.users.get_mut(&self.user) {
            user.held -= self.amount;
            user.used = user.used.saturating_add(self.used);
            // A user who has used no more than others begins anew with the next request.
            if user.held == 0 && user.waiting.is_empty() && user.used <= begun {
                state.users.remove(&self.user);
            }
        }
        if state.waiting == 0 && state.free == self.queue.total {
            state.users.clear();
            state.begun = 0;
        }
        let served = self.queue.serve(&mut state);
        drop(state);
        served.into_iter().for_each(Served::hand_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Str = Str::new_static("a");
    const B: Str = Str::new_static("b");

    fn taken(queue: &Arc<FairQueue>, user: &Str, amount: usize) -> Part {
        queue.acquire(user, amount).unwrap_or_else(|_| panic!("there is room"))
    }

    fn waits(queue: &Arc<FairQueue>, user: &Str, amount: usize) -> oneshot::Receiver<Part> {
        match queue.acquire(user, amount) {
            Ok(_) => panic!("there is no room"),
            Err(receiver) => receiver,
        }
    }

    #[test]
    fn the_user_who_has_used_least_is_served_next() {
        let queue = FairQueue::new(1, 0);
        let mut first = taken(&queue, &A, 1);
        let mut own: Vec<_> = (0..3).map(|_| waits(&queue, &A, 1)).collect();
        let mut others: Vec<_> = (0..2).map(|_| waits(&queue, &B, 1)).collect();
        first.used = 10;
        drop(first);
        let mut order = String::new();
        for _ in 0..5 {
            let served = own.iter_mut().map(|it| (it, 'a')).chain(others.iter_mut().map(|it| (it, 'b')));
            let (mut part, who) = served.filter_map(|(it, who)| Some((it.try_recv().ok()?, who))).next().expect("one");
            part.used = 7;
            order.push(who);
        }
        assert_eq!(order, "bbaaa");
        assert!(!queue.is_contended());
    }

    #[test]
    fn part_of_it_is_reserved_to_users_who_hold_nothing() {
        let queue = FairQueue::new(4, 2);
        let held = taken(&queue, &A, 2);
        let mut more = waits(&queue, &A, 1);
        let other = taken_while_others_wait(&queue, &B, 2);
        assert!(more.try_recv().is_err());
        drop(other);
        assert!(more.try_recv().is_err(), "still reserved");
        drop(held);
        assert_eq!(more.try_recv().expect("room").amount, 1);
    }

    /// A user passes those for whom there is no room.
    fn taken_while_others_wait(queue: &Arc<FairQueue>, user: &Str, amount: usize) -> Part {
        waits(queue, user, amount).try_recv().expect("served at once")
    }

    #[test]
    fn who_stops_waiting_takes_nothing() {
        let queue = FairQueue::new(1, 0);
        let held = taken(&queue, &A, 1);
        let (gone, mut next) = (waits(&queue, &B, 1), waits(&queue, &A, 1));
        drop(gone);
        drop(held);
        let part = next.try_recv().expect("served");
        drop((part, next));
        drop(taken(&queue, &B, 1));
        assert!(queue.state().users.is_empty());
    }

    /// Served between the last look and the end of waiting: the part is dropped with the receiver.
    #[test]
    fn a_part_that_came_too_late_is_given_back() {
        let queue = FairQueue::new(1, 0);
        let held = taken(&queue, &A, 1);
        let late = waits(&queue, &B, 1);
        drop(held);
        drop(late);
        assert_eq!(queue.state().free, 1);
    }
}
