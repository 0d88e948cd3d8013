//! `Lines`: charged writes of a namespace that wait are committed together: the quotas first, with all that they are charged,
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
pub(super) struct Line {
    waiting: Mutex<VecDeque<Waiting>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Line {
    /// Waits for the turn to charge the namespace's quotas.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// Commits writes with their charge, together with others that wait.
    pub async fn commit(self: Arc<Self>, registry: &Registry, namespace: &str, charged: Charged) -> Result<Committed> {
        let (answer, mut answered) = oneshot::channel();
        let (demand, checked, Transaction { writes, conditions }) = charged;
        self.waiting().push_back(Waiting { demand, checked, writes, conditions, answer });
        loop {
            let turn = self.turn();
            tokio::select! {
                biased;
                answer = &mut answered => return answer.unwrap_or_else(|_| Ok(Err(lost()))),
                turn = turn => self.lead(registry, namespace, turn).await,
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

    /// Commits the writes that wait. The turn ends with the commit, even if this future is dropped.
    async fn lead(self: &Arc<Self>, registry: &Registry, namespace: &str, turn: OwnedMutexGuard<()>) {
        let Some((group, transaction)) = Group::charge(registry, namespace, self.take()).await else { return };
        let (commit, line) = (registry.store.commit(transaction), self.clone());
        let end = async move {
            group.end(commit.await);
            drop(turn);
            // As long as there is a turn, those who come wait for it.
            drop(line);
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
        let (mut charged, mut fitting, mut refused) = (BTreeSet::new(), Vec::new(), Vec::new());
        for one in waiting {
            match one.demand.changes(registry, &limits) {
                Ok(changes) => {
                    for (at, used) in changes {
                        limits.get_mut(at).into_iter().for_each(|limit| limit.used.clone_from(&used));
                        charged.insert(at);
                    }
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
                    let all = fitting.into_iter().chain(refused.into_iter().map(|(one, _)| one));
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
        let group = Group { members, after, refused };
        if group.members.is_empty() {
            group.refused.into_iter().for_each(|(one, status)| one.answer(Err(status)));
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
        let Group { members, after, refused } = self;
        match outcome {
            Ok(last) => {
                let members = members.into_iter().zip(after);
                members.for_each(|((one, _), after)| one.answer(Ok(Ok(Revision(last.0.saturating_sub(after))))));
                refused.into_iter().for_each(|(one, status)| one.answer(Err(status)));
            }
            Err(CommitError::Conflict { index, key, actual }) => {
                for (one, places) in members {
                    match index.checked_sub(places.start).filter(|_| places.contains(&index)) {
                        Some(index) => one.answer(Ok(Err(CommitError::Conflict { index, key: key.clone(), actual }))),
                        None => one.try_again(),
                    }
                }
                refused.into_iter().for_each(|(one, _)| one.try_again());
            }
            // The others have not been looked at.
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
                refused.into_iter().for_each(|(one, _)| one.try_again());
            }
            Err(error) => {
                members.into_iter().for_each(|(one, _)| one.answer(Ok(Err(error.clone()))));
                refused.into_iter().for_each(|(one, _)| one.try_again());
            }
        }
    }
}

/// Adds the writes of each behind those of the quotas. A key can occur once: the second write of one is tried again.
fn members(fitting: Vec<Waiting>, writes: &mut Vec<Write>) -> Vec<(Waiting, Range<usize>)> {
    let mut keys: HashSet<Key> = writes.iter().map(|write| write.key.clone()).collect();
    let mut members = Vec::with_capacity(fitting.len());
    for mut one in fitting {
        if one.writes.iter().any(|write| keys.contains(&write.key)) {
            one.try_again();
            continue;
        }
        keys.extend(one.writes.iter().map(|write| write.key.clone()));
        let from = writes.len();
        let own = one.writes.drain(..).enumerate();
        writes.extend(own.map(|(at, write)| Write { begins_revision: at == 0 || write.begins_revision, ..write }));
        members.push((one, from..writes.len()));
    }
    members
}

/// The lines of all namespaces that have one.
#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<String, Weak<Line>>>);

impl Lines {
    /// The line of a namespace. It is forgotten when nobody waits in it.
    pub fn of(&self, namespace: &str) -> Arc<Line> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(namespace).and_then(Weak::upgrade) {
            return line;
        }
        if lines.len() == lines.capacity() {
            lines.retain(|_, line| line.strong_count() > 0);
        }
        let line = Arc::new(Line::default());
        lines.insert(namespace.to_owned(), Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_forgotten() {
        let lines = Lines::default();
        let line = lines.of("held");
        let held = line.turn().await;
        for namespace in 0..1000 {
            drop(lines.of(&namespace.to_string()).turn().await);
        }
        let known = lines.0.lock().expect("no panic").len();
        assert!(known < 100, "{known} namespaces are known");
        assert!(lines.of("held").turn.try_lock().is_err());
        drop(held);
    }
}
