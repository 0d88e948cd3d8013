//! Conditions that the server sets on objects that depend on others: one rule for each, one controller for all.
//! Guarantees that a condition is recomputed when the object or one that it depends on is created, changed or deleted.
//! Must never write an unchanged condition: every server of a cluster runs this, and sees its own writes.

pub mod api_services;
pub mod flow_schemas;

use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::requests::{Requests, Who};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use crate::stats::QueueSnapshot;
use futures_util::future::BoxFuture;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_schema::{Time, Value, View, ViewMut, value};
use pintle_types::meta::v1::{Condition, ConditionStatus};
use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The wanted content of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredCondition {
    pub holds: bool,
    pub reason: &'static str,
    pub message: String,
}

/// The object that another one depends on. The rule defines its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub namespace: String,
    pub name: String,
}

/// A condition of one kind.
pub trait Rule: Send + Sync + 'static {
    const CONDITION: &'static str;
    /// The name of the work queue, as in kube-apiserver.
    const QUEUE: &'static str;
    /// The field manager that owns the condition.
    const MANAGER: &'static str;
    /// Group and plural name of the kind that has the condition.
    const SUBJECT: (&'static str, &'static str);
    /// Groups and plural names of the kinds that it depends on.
    const DEPENDS_ON: &'static [(&'static str, &'static str)];
    /// The number of workers.
    const WORKERS: usize = 1;
    /// The version and the kind of the configuration that is applied to set the condition; without them it is set by an
    /// update.
    const APPLIED_AS: Option<(&'static str, &'static str)> = None;

    fn refers_to(object: &Value) -> Option<Reference>;

    /// Whether a change of an object of the kinds above affects objects with this reference.
    fn concerns(reference: &Reference, changed: &Object) -> bool {
        (reference.namespace.as_str(), reference.name.as_str()) == (changed.namespace(), changed.name())
    }

    fn evaluate(object: &Value, index: &ResourceIndex) -> DesiredCondition;

    /// Checks that need requests, after `evaluate`, and the delay until the next check; `None` if there is no such check.
    fn ask<'a>(
        &'a self,
        _object: &'a Value,
        _found: &'a DesiredCondition,
        _world: &'a ResourceIndex,
    ) -> BoxFuture<'a, Option<(DesiredCondition, Outcome)>> {
        Box::pin(ready(None))
    }

    /// The list of conditions in an object, whose items have the fields of `Condition`.
    fn conditions(object: &mut Value) -> &mut Value;
}

/// Keeps a condition up to date.
pub struct StatusController<R> {
    index: Arc<ResourceIndex>,
    subject: KindId,
    depends_on: Vec<KindId>,
    queue: Queue<ObjectKey>,
    references: Mutex<HashMap<ObjectKey, Reference>>,
    rule: R,
}

impl<R: Rule> StatusController<R> {
    /// `None` if the kind is not stored.
    pub fn new(rule: R, index: Arc<ResourceIndex>) -> Option<Self> {
        let subject = index.stored(R::SUBJECT.0, R::SUBJECT.1)?;
        let depends_on = R::DEPENDS_ON.iter().filter_map(|(group, plural)| index.stored(group, plural)).collect();
        let queue = Queue::new(R::QUEUE);
        Some(StatusController { index, subject, depends_on, queue, references: Mutex::default(), rule })
    }

    /// Processes the queue until the future is dropped.
    pub async fn work(&self) {
        loop {
            let place = self.queue.next().await;
            let outcome = self.sync(&place).await;
            self.queue.finish(place, outcome);
        }
    }

    fn references(&self) -> MutexGuard<'_, HashMap<ObjectKey, Reference>> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let (Some(kind), Some(stored)) = (self.index.kind(place.kind), self.index.object(place)) else {
            return Outcome::Done;
        };
        let Ok(mut object) = self.index.registry.decode(&kind.target, &stored) else { return Outcome::Done };
        let now = Time::from_seconds(self.index.registry.environment.now_unix());
        let found = R::evaluate(&object, &self.index);
        let (asked, outcome) = match self.rule.ask(&object, &found, &self.index).await {
            Some((finding, outcome)) => (Some(finding), outcome),
            None => (None, Outcome::Done),
        };
        let write_condition = |object: &mut Value| {
            let finding = asked.clone().unwrap_or_else(|| R::evaluate(object, &self.index));
            write(R::conditions(object), R::CONDITION, &finding, now)
        };
        if !write_condition(&mut object) {
            return outcome;
        }
        let requests = Requests { index: &self.index, who: Who::Server(R::MANAGER) };
        let target = kind.at(&stored);
        let written = match R::APPLIED_AS {
            Some((api_version, name)) => {
                let own = |item: &&Value| View::<Condition>::new(item).field(Condition::TYPE).as_str() == R::CONDITION;
                let own = R::conditions(&mut object).as_list().and_then(|list| list.iter().find(own)).cloned();
                let config = value!({
                    "apiVersion": api_version, "kind": name, "metadata": {"name": (stored.name())},
                    "status": {"conditions": (own.into_iter().collect::<Vec<Value>>())}
                });
                requests.apply(&target, "status", R::MANAGER, &config).await
            }
            None => requests.change(&target, "status", |object| _ = write_condition(object)).await,
        };
        if written.is_ok() { outcome } else { Outcome::Retry }
    }

    /// Records the reference of an object, and queues the object.
    fn learn(&self, references: &mut HashMap<ObjectKey, Reference>, object: &Object) {
        let place = ObjectKey { kind: self.subject, key: object.key.clone() };
        let kind = self.index.kind(self.subject);
        let decoded = kind.and_then(|kind| self.index.registry.decode(&kind.target, object).ok());
        match decoded.as_ref().and_then(R::refers_to) {
            Some(reference) => _ = references.insert(place.clone(), reference),
            None => _ = references.remove(&place),
        }
        self.queue.add(place, Duration::ZERO);
    }
}

impl<R: Rule> Observer for StatusController<R> {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.subject || self.depends_on.contains(&kind)).then_some(WatchFilter::Everything)
    }

    fn list(&self, listed: &[Listed]) {
        let mut references = self.references();
        references.clear();
        let objects = listed.iter().filter(|one| one.id == self.subject).flat_map(|one| one.state.objects.values());
        objects.for_each(|object| self.learn(&mut references, object));
    }

    fn observe(&self, kind: KindId, event: &Event) {
        if kind == self.subject {
            let mut references = self.references();
            match event.removed {
                true => _ = references.remove(&ObjectKey { kind, key: event.object.key.clone() }),
                false => self.learn(&mut references, &event.object),
            }
        } else if self.depends_on.contains(&kind) {
            let references = self.references();
            let concerned = references.iter().filter(|(_, reference)| R::concerns(reference, &event.object));
            concerned.for_each(|(place, _)| self.queue.add(place.clone(), Duration::ZERO));
        }
    }
}

/// Writes a condition; returns whether it changed. Its time is that of the last change of its status.
pub(crate) fn write(conditions: &mut Value, condition: &str, finding: &DesiredCondition, now: Time) -> bool {
    let status = if finding.holds { ConditionStatus::TRUE } else { ConditionStatus::FALSE };
    write_status(conditions, (condition, status), finding.reason, &finding.message, now)
}

/// The same for any status.
pub(crate) fn write_status(
    conditions: &mut Value,
    (condition, status): (&str, ConditionStatus),
    reason: &str,
    message: &str,
    now: Time,
) -> bool {
    if conditions.is_null() {
        *conditions = Value::List(Vec::new());
    }
    let Some(list) = conditions.as_list_mut() else { return false };
    let is_it = |item: &Value| View::<Condition>::new(item).field(Condition::TYPE).as_str() == condition;
    let at = list.iter().position(is_it).unwrap_or(list.len());
    if at == list.len() {
        list.push(Value::map());
    }
    let Some(mut item) = list.get_mut(at).map(ViewMut::<Condition>::new) else { return false };
    let old = item.view();
    let turns = old.field(Condition::STATUS).get() != status;
    if !turns && old.field(Condition::REASON).as_str() == reason && old.field(Condition::MESSAGE).as_str() == message {
        return false;
    }
    item.by_ref().field(Condition::TYPE).set(condition);
    item.by_ref().field(Condition::STATUS).set(status);
    if turns {
        item.by_ref().field(Condition::LAST_TRANSITION_TIME).set(now);
    }
    item.by_ref().field(Condition::REASON).set(reason);
    item.field(Condition::MESSAGE).set(message);
    true
}

/// Removes a condition; returns whether there was one.
pub(crate) fn remove(conditions: &mut Value, condition: &str) -> bool {
    let Some(list) = conditions.as_list_mut() else { return false };
    let before = list.len();
    list.retain(|item| View::<Condition>::new(item).field(Condition::TYPE).as_str() != condition);
    list.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_conditions_are_not_written() {
        let finding = |holds| DesiredCondition { holds, reason: "R", message: "m".to_owned() };
        let mut conditions = value!([{"type": "Other", "status": "True"}]);
        let write_once = |holds| write(&mut conditions, "Mine", &finding(holds), Default::default());
        assert_eq!([true, true, false, false].map(write_once), [true, false, true, false]);
        assert_eq!(conditions.as_list().map(<[Value]>::len), Some(2));
    }
}
