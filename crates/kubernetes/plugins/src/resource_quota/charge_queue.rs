//! `ChargeQueues`: the queued charged writes of a namespace are committed together: the quotas first, with all that they are charged,
//! then each object under a revision of its own. Guarantees that all of them are stored or none, and that a write is
//! refused for a quota only because of writes that are stored. Must never store anything for a request that has gone.

use super::{Checked, Demand, Quotas};
use pintle_quota::Limit;
use pintle_registry::status::Result;
use pintle_registry::{Committed, Registry, Status};
use pintle_storage::{CommitError, Condition, Key, Revision, Transaction, Write};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, oneshot};

/// The most writes that are committed together: a quota is written seldom enough then.
const MAX_GROUP: usize = 128;
/// The size in bytes after which a group takes no further write. It is far below that of a transaction.
const MAX_GROUP_BYTES: usize = 2 << 20;

/// What is charged, what the plugin found, and the transaction without its charge.
pub(super) type Charged = (Arc<Demand>, Option<Checked>, Transaction);

/// A charged write that waits.
struct Waiting {
    demand: Arc<Demand>,
    checked: Option<Checked>,
    writes: Vec<Write>,
    conditions: Vec<Condition>,
    answer: oneshot::Sender<Result<Committed>>,
}

impl Waiting {
    /// The write has to be tried again with quotas as they are then.
    fn try_again(self) {
        let key = self.writes.first().map(|write| write.key.clone()).unwrap_or_else(|| "".into());
        self.answer(Ok(Err(CommitError::Conflict { index: usize::MAX, key, actual: None })));
    }

    fn answer(self, answer: Result<Committed>) {
        // Who asked may be gone.
        let _ = self.answer.send(answer);
    }

    fn bytes(&self) -> usize {
        self.writes.iter().map(|write| write.value.as_ref().map_or(0, |value| value.len())).sum()
    }
}

/// The charged writes of one namespace.
#[derive(Default)]
pub(super) struct ChargeQueue {
    waiting: Mutex<VecDeque<Waiting>>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl ChargeQueue {
    /// Waits for the lock to charge the namespace's quotas.
    pub async fn lock(&self) -> OwnedMutexGuard<()> {
        self.lock.clone().lock_owned().await
    }

    /// Commits writes with their charge, together with others that wait.
    pub async fn commit(self: Arc<Self>, registry: &Registry, namespace: &str, charged: Charged) -> Result<Committed> {
        let (answer, mut answered) = oneshot::channel();
        let (demand, checked, Transaction { writes, conditions }) = charged;
        self.waiting().push_back(Waiting { demand, checked, writes, conditions, answer });
        loop {
            let lock = self.lock();
            tokio::select! {
                biased;
                answer = &mut answered => return answer.unwrap_or_else(|_| Ok(Err(lost()))),
                lock = lock => self.commit_group(registry, namespace, lock).await,
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next writes whose requests are still there.
    fn take(&self) -> Vec<Waiting> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        let mut waiting = self.waiting();
        while taken.len() < MAX_GROUP && bytes < MAX_GROUP_BYTES {
            let Some(next) = waiting.pop_front() else { break };
            if !next.answer.is_closed() {
                bytes += next.bytes();
                taken.push(next);
            }
        }
        taken
    }

    /// Commits the next group of queued writes. The lock is released when the commit has ended, even if this future is dropped.
    async fn commit_group(self: &Arc<Self>, registry: &Registry, namespace: &str, lock: OwnedMutexGuard<()>) {
        let Some((group, transaction)) = Group::charge(registry, namespace, self.take()).await else { return };
        let (commit, queue) = (registry.store.commit(transaction), self.clone());
        let end = async move {
            group.end(commit.await);
            drop(lock);
            // The queue exists as long as its lock is held, so that later writes wait for it.
            drop(queue);
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(end)),
            Err(_) => end.await,
        }
    }
}

/// Who led the group was dropped before it was committed.
fn lost() -> CommitError {
    CommitError::Conflict { index: usize::MAX, key: "".into(), actual: None }
}

/// Writes that are committed together.
struct Group {
    /// The writes that fit, with the places of theirs in the transaction.
    members: Vec<(Waiting, Range<usize>)>,
    /// How many revisions the transaction makes after each.
    after: Vec<u64>,
    /// Those that do not fit beside the members.
    refused: Vec<(Waiting, Status)>,
    /// Those that write a key that a member writes too: they are prepared again on what the group stores.
    repeated: Vec<Waiting>,
}

impl Group {
    /// Charges writes one after the other. What is not part of the transaction is answered.
    async fn charge(registry: &Registry, namespace: &str, waiting: Vec<Waiting>) -> Option<(Group, Transaction)> {
        let mut waiting = waiting;
        let known = waiting.iter_mut().find_map(|one| one.checked.take().filter(|checked| checked.holds(registry)));
        let quotas = match known {
            Some(checked) => Ok(checked.quotas),
            None => Quotas::of(registry, namespace).map(|found| found.map(|(_, quotas)| quotas).unwrap_or_default()),
        };
        let quotas = match quotas {
            Ok(quotas) => quotas,
            Err(status) => {
                waiting.into_iter().for_each(|one| one.answer(Err(status.clone())));
                return None;
            }
        };
        let mut limits: Vec<Limit> = quotas.iter().map(|quota| quota.limit.clone()).collect();
        let mut keys: HashSet<Key> = quotas.iter().map(|quota| quota.stored.key.clone()).collect();
        let (mut charged, mut fitting) = (BTreeSet::new(), Vec::new());
        let (mut refused, mut repeated) = (Vec::new(), Vec::new());
        for one in waiting {
            // Nothing is charged for a write that the transaction cannot contain.
            if one.writes.iter().any(|write| keys.contains(&write.key)) {
                repeated.push(one);
                continue;
            }
            match one.demand.changes(registry, &limits) {
                Ok(changes) => {
                    for (at, used) in changes {
                        limits.get_mut(at).into_iter().for_each(|limit| limit.used.clone_from(&used));
                        charged.insert(at);
                    }
                    keys.extend(one.writes.iter().map(|write| write.key.clone()));
                    fitting.push(one);
                }
                Err(status) => refused.push((one, status)),
            }
        }
        let mut writes = Vec::new();
        for (quota, limit) in charged.iter().filter_map(|at| quotas.get(*at).zip(limits.get(*at))) {
            match quota.write(registry, namespace, limit.used.clone()).await {
                Ok(write) => writes.push(write),
                Err(status) => {
                    let all = fitting.into_iter().chain(refused.into_iter().map(|(one, _)| one)).chain(repeated);
                    all.for_each(|one| one.answer(Err(status.clone())));
                    return None;
                }
            }
        }
        let members = members(fitting, &mut writes);
        // Each has the last revision of its own writes.
        let made = |places: &Range<usize>| {
            let after = writes.get(places.end..).unwrap_or_default();
            after.iter().filter(|write| write.begins_revision).count() as u64
        };
        let after = members.iter().map(|(_, places)| made(places)).collect();
        let group = Group { members, after, refused, repeated };
        if group.members.is_empty() {
            group.refused.into_iter().for_each(|(one, status)| one.answer(Err(status)));
            group.repeated.into_iter().for_each(Waiting::try_again);
            return None;
        }
        let mut conditions: Vec<Condition> = Vec::new();
        for condition in group.members.iter().flat_map(|(one, _)| &one.conditions) {
            if !conditions.contains(condition) {
                conditions.push(condition.clone());
            }
        }
        Some((group, Transaction { writes, conditions }))
    }

    /// Answers all.
    fn end(self, outcome: std::result::Result<Revision, CommitError>) {
        let Group { members, after, mut refused, repeated } = self;
        match outcome {
            Ok(last) => {
                let members = members.into_iter().zip(after);
                members.for_each(|((one, _), after)| one.answer(Ok(Ok(Revision(last.0.saturating_sub(after))))));
                refused.drain(..).for_each(|(one, status)| one.answer(Err(status)));
            }
            Err(CommitError::Conflict { index, key, actual }) => {
                for (one, places) in members {
                    match index.checked_sub(places.start).filter(|_| places.contains(&index)) {
                        Some(index) => one.answer(Ok(Err(CommitError::Conflict { index, key: key.clone(), actual }))),
                        None => one.try_again(),
                    }
                }
            }
            Err(CommitError::ConditionFailed { key, actual }) => {
                let has_failed = |one: &Waiting| {
                    one.conditions.iter().any(|condition| condition.key == key && actual != Some(condition.at))
                };
                for (one, _) in members {
                    match has_failed(&one) {
                        true => one.answer(Ok(Err(CommitError::ConditionFailed { key: key.clone(), actual }))),
                        false => one.try_again(),
                    }
                }
            }
            Err(error) => members.into_iter().for_each(|(one, _)| one.answer(Ok(Err(error.clone())))),
        }
        // Those that were refused because of members that are not stored.
        refused.into_iter().for_each(|(one, _)| one.try_again());
        repeated.into_iter().for_each(Waiting::try_again);
    }
}

/// Adds the writes of each behind those of the quotas.
fn members(fitting: Vec<Waiting>, writes: &mut Vec<Write>) -> Vec<(Waiting, Range<usize>)> {
    let add = |mut one: Waiting| {
        let from = writes.len();
        let own = one.writes.drain(..).enumerate();
        writes.extend(own.map(|(at, write)| Write { begins_revision: at == 0 || write.begins_revision, ..write }));
        (one, from..writes.len())
    };
    fitting.into_iter().map(add).collect()
}

/// The queues of all namespaces that have one.
#[derive(Default)]
pub(super) struct ChargeQueues(Mutex<HashMap<String, Weak<ChargeQueue>>>);

impl ChargeQueues {
    /// The queue of a namespace. It is dropped when it is empty.
    pub fn of(&self, namespace: &str) -> Arc<ChargeQueue> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(namespace).and_then(Weak::upgrade) {
            return queue;
        }
        if queues.len() == queues.capacity() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(ChargeQueue::default());
        queues.insert(namespace.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unused_queues_are_dropped() {
        let queues = ChargeQueues::default();
        let queue = queues.of("held");
        let held = queue.lock().await;
        for namespace in 0..1000 {
            drop(queues.of(&namespace.to_string()).lock().await);
        }
        let known = queues.0.lock().expect("no panic").len();
        assert!(known < 100, "{known} namespaces are known");
        assert!(queues.of("held").lock.try_lock().is_err());
        drop(held);
    }
}
