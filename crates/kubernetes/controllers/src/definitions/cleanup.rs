//! The end of a definition: its objects are deleted, then the finalizer that waits for them is removed.
//!
//! Guarantees that a definition stays as long as an object of it is stored, whether or not that can be read, and that its condition
//! `Terminating` says what fails. Must never ask admission: nobody may keep the objects of a definition that ends.

use super::Definitions;
use crate::conditions::{DesiredCondition, write};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use pintle_cache::Object;
use pintle_extensions::definition;
use pintle_groups::CLEANUP_FINALIZER;
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Result, Status, Target};
use pintle_schema::{Time, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The interval of checks of a definition's remaining objects while finalizers delay its deletion, and how long clients can see at least
/// that a definition which others hold is being deleted.
const RECHECK: Duration = Duration::from_secs(1);

/// How long after a failure the deletion of objects is tried again. The error is written into the status, which changes the definition,
/// and must not be a reason to try again at once.
const RETRY: Duration = Duration::from_secs(5);

/// How many objects of a definition that is being deleted are deleted before other definitions have their turn.
const DELETED_AT_ONCE: usize = 100;

/// The condition of a definition whose objects are being deleted, and its reasons.
const TERMINATING: &str = "Terminating";
const IN_PROGRESS: &str = "InstanceDeletionInProgress";
const FAILED: &str = "InstanceDeletionFailed";

/// Definitions that are being deleted and wait before the next step, by name. Forgotten when the definition is gone.
#[derive(Default)]
pub(super) struct Pauses(Mutex<HashMap<String, Pause>>);

/// A wait, which ends when the definition is changed by others: its generation is another one then.
struct Pause {
    generation: i64,
    until: Instant,
}

impl Pauses {
    fn pauses(&self) -> MutexGuard<'_, HashMap<String, Pause>> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, name: &str, generation: i64, wait: Duration) -> Outcome {
        self.pauses().insert(name.to_owned(), Pause { generation, until: Instant::now() + wait });
        Outcome::After(wait)
    }

    /// How long a definition still waits.
    fn left(&self, name: &str, generation: i64) -> Option<Duration> {
        let pauses = self.pauses();
        let pause = pauses.get(name).filter(|pause| pause.generation == generation)?;
        Some(pause.until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    pub(super) fn forget(&self, name: &str) {
        self.pauses().remove(name);
    }
}

/// How far the deletion of objects is.
enum Progress {
    /// All objects are gone.
    Complete,
    /// There are more, to be deleted at once or when their finalizers let them go.
    Remaining(Duration),
}

impl Definitions {
    /// Deletes the objects of a definition that is being deleted, then removes its finalizer.
    pub(super) async fn end(&self, target: &Target, definition: &Value) -> Outcome {
        let name = &target.name;
        let generation = definition.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
        if let Some(left) = self.pauses.left(name, generation) {
            return Outcome::After(left);
        }
        let reason = reason_of(definition);
        let begins = !matches!(reason, IN_PROGRESS | FAILED);
        // Deleting the objects may take long.
        if begins && self.note(target, definition, in_progress()).await.is_err() {
            return Outcome::Retry;
        }
        // Objects may have been created before the definition was noted to be established.
        let prefix = self.served.prefix_of(name, definition);
        let (reason, message) = match &prefix {
            None if self.served.overlaps_built_in(definition) => {
                ("OverlappingBuiltInResource", "instances overlap with built-in resources in storage")
            }
            None if definition::is_established(definition) => ("InstanceDeletionCompleted", "removed all instances"),
            None => ("NeverEstablished", "resource was never established"),
            Some(prefix) => match self.delete_objects(prefix).await {
                Ok(Progress::Complete) => ("InstanceDeletionCompleted", "removed all instances"),
                Ok(Progress::Remaining(wait)) => {
                    let noted = match reason {
                        FAILED => self.note(target, definition, in_progress()).await,
                        _ => Ok(()),
                    };
                    return if noted.is_ok() { Outcome::After(wait) } else { Outcome::Retry };
                }
                Err(message) => {
                    let failed = DesiredCondition { holds: true, reason: FAILED, message };
                    let paused = self.pauses.begin(name, generation, RETRY);
                    return if self.note(target, definition, failed).await.is_ok() { paused } else { Outcome::Retry };
                }
            },
        };
        if begins && is_held(definition) {
            return self.pauses.begin(name, generation, RECHECK);
        }
        let finding = DesiredCondition { holds: false, reason, message: message.to_owned() };
        let now = self.now();
        let change = |object: &mut Value| {
            let finalizers = object.at_mut(&["metadata", "finalizers"]).and_then(Value::as_list_mut);
            if let Some(list) = finalizers {
                list.retain(|finalizer| finalizer.as_str() != Some(CLEANUP_FINALIZER));
            }
            write_terminating(object, &finding, now);
        };
        retry_on_failure(&self.requests().change(target, "status", change).await)
    }

    fn requests(&self) -> Requests<'_> {
        Requests { index: &self.index, who: Who::Server("kube-apiserver") }
    }

    fn now(&self) -> Time {
        Time::from_seconds(self.index.registry.environment.now_unix())
    }

    /// Writes the condition, unless it is the same.
    async fn note(&self, target: &Target, definition: &Value, finding: DesiredCondition) -> Result<()> {
        let now = self.now();
        if !write_terminating(&mut definition.clone(), &finding, now) {
            return Ok(());
        }
        self.requests().change(target, "status", |object| _ = write_terminating(object, &finding, now)).await
    }

    /// Deletes some of the objects under a prefix, if all that remain can be read.
    ///
    /// # Errors
    /// An object cannot be read or deleted: what failed, as the condition tells it.
    async fn delete_objects(&self, prefix: &str) -> std::result::Result<Progress, String> {
        let Some(of) = self.index.registry.stored_target(prefix, "", "") else {
            return Ok(Progress::Remaining(RECHECK));
        };
        // Those that are being deleted already wait for their finalizers.
        let state = of.cache.state();
        of.check_collection(&state).map_err(|status| not_listed(&status))?;
        let undeleted = state.objects.values().filter(|object| !object.encoded.terminating);
        let objects: Vec<Arc<Object>> = undeleted.take(DELETED_AT_ONCE).cloned().collect();
        let requests = self.requests();
        let options = DeleteOptions { is_admitted: true, ..requests.delete_options(Propagation::Background) };
        for object in &objects {
            let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
            let deleted = requests.delete(&Target { namespace, name, ..of.clone() }, &options).await;
            deleted.map_err(|status| match is_conversion(&status) {
                // kube-apiserver cannot even list objects that it cannot convert.
                true => not_listed(&status),
                false => format!("could not issue all deletes: {}", status.message),
            })?;
        }
        // The worker is wanted by other definitions, too.
        if objects.len() == DELETED_AT_ONCE {
            return Ok(Progress::Remaining(Duration::ZERO));
        }
        let state = of.cache.state();
        of.check_collection(&state).map_err(|status| not_listed(&status))?;
        Ok(if state.objects.is_empty() { Progress::Complete } else { Progress::Remaining(RECHECK) })
    }
}

fn not_listed(status: &Status) -> String {
    format!("could not list instances: {}", status.message)
}

/// Whether an error is that of a conversion, which has neither a reason nor details.
fn is_conversion(status: &Status) -> bool {
    status.code == 500 && status.reason.is_empty()
}

fn in_progress() -> DesiredCondition {
    DesiredCondition { holds: true, reason: IN_PROGRESS, message: "CustomResource deletion is in progress".to_owned() }
}

/// The reason of the condition.
fn reason_of(definition: &Value) -> &str {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let condition = conditions.iter().find(|condition| condition.str_at(&["type"]) == TERMINATING);
    condition.map_or("", |condition| condition.str_at(&["reason"]))
}

/// Whether finalizers of others hold a definition.
fn is_held(definition: &Value) -> bool {
    let finalizers = definition.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    finalizers.iter().any(|finalizer| finalizer.as_str() != Some(CLEANUP_FINALIZER))
}

/// Writes the condition into the status; returns whether it changed.
fn write_terminating(definition: &mut Value, finding: &DesiredCondition, now: Time) -> bool {
    let status = definition.map_entry("status").make_map();
    write(status.entry("conditions"), TERMINATING, finding, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn a_cleanup_is_noted_once() {
        let mut definition = value!({"status": {"conditions": [{"type": "Terminating", "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "InstanceDeletionPending", "message": "m"}]}});
        let noted = [0, 1].map(|_| write_terminating(&mut definition, &in_progress(), Time::default()));
        assert_eq!(noted, [true, false]);
        let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
        let [condition] = conditions else { panic!("{conditions:?}") };
        assert_eq!(reason_of(&definition), "InstanceDeletionInProgress");
        assert_eq!(condition.str_at(&["lastTransitionTime"]), "2026-01-01T00:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_definition_waits_until_it_is_changed() {
        let pauses = Pauses::default();
        assert_eq!(pauses.begin("a", 1, RETRY), Outcome::After(RETRY));
        assert_eq!([pauses.left("a", 1), pauses.left("a", 2), pauses.left("b", 1)], [Some(RETRY), None, None]);
        tokio::time::advance(RETRY).await;
        assert_eq!(pauses.left("a", 1), None);
        pauses.begin("a", 1, RETRY);
        pauses.forget("a");
        assert_eq!(pauses.left("a", 1), None);
    }
}
