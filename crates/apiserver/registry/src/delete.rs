//! Delete: in two phases when finalizers or a grace period hold the object, at once otherwise.

use crate::admission::DELETE_COLLECTION;
use crate::options::{DeleteOptions, Propagation};
use crate::status::{Details, Result, Status, named};
use crate::update::precondition_failed;
use crate::{AdmissionRequest, Charges, Operation, Payload, Registry, Target, WriteOptions, commit_failed, metadata};
use pintle_cache::Object;
use pintle_resource::GarbageCollection;
use pintle_schema::{Value, time};
use pintle_storage::{CommitError, CommitFuture, Expect, Transaction, Write};
use std::collections::HashSet;
use std::sync::Arc;

/// How many times a delete is retried because the object's allocations have changed. When the object itself has changed,
/// it is retried until it succeeds or the request times out.
const ATTEMPTS: usize = 6;

const DELETION_TIMESTAMP: &str = "deletionTimestamp";
const GRACE_PERIOD: &str = "deletionGracePeriodSeconds";

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The outcome of a delete.
pub struct Deleted {
    /// The object: as it still is, or as it last was.
    pub payload: Payload,
    /// Whether the object is removed; otherwise a finalizer or its grace period keeps it.
    pub gone: bool,
    pub uid: String,
}

/// The next step of a delete.
enum Decision {
    /// It is being deleted already, with time or content left, and nothing about it changes.
    Leave,
    /// It is removed at once.
    Remove,
    /// It is marked as being deleted, so that watches show that state, and removed.
    MarkAndRemove(Box<Value>),
    /// It stays for now, in this state.
    Keep(Box<Value>),
}

impl DeleteOptions {
    /// Whether the object, of this UID and version, is the one that is meant.
    ///
    /// # Errors
    /// It is another, or has changed since.
    pub fn check_preconditions(&self, target: &Target, uid: &str, version: &str) -> Result<()> {
        let resource = &target.resource;
        let other_uid = self.uid.as_deref().filter(|asked| *asked != uid);
        let other_version = self.resource_version.as_deref().filter(|asked| *asked != version);
        let (what, asked, found, since) = match (other_uid, other_version) {
            (Some(asked), _) => ("UID", asked, uid, "deleted and then recreated"),
            (None, Some(asked)) => ("ResourceVersion", asked, version, "modified"),
            (None, None) => return Ok(()),
        };
        if resource.strategy.begin_deletion.is_some() {
            // Kinds with graceful deletion have another message.
            return Err(Status::conflict(resource, &target.name, &precondition_failed(what, asked, found)));
        }
        let why = format!(
            "the {what} in the precondition ({asked}) does not match the {what} in record ({found}). The object might have \
             been {since}"
        );
        // kube-apiserver names the kind here, not the resource.
        Err(Status::conflict_of(Details { kind: resource.kind.to_string(), ..named(resource, &target.name) }, &why))
    }
}

impl Registry {
    /// Deletes one object.
    ///
    /// # Errors
    /// It does not exist, a precondition fails, or it keeps changing.
    pub async fn delete(&self, target: &Target, options: &DeleteOptions) -> Result<Deleted> {
        let since = self.cache_revisions(&target.cache);
        match self.delete_known(target, options).await {
            Err(refusal) if self.should_retry(&refusal, &target.cache, since).await => {
                self.delete_known(target, options).await
            }
            outcome => outcome,
        }
    }

    /// The same, based on the cached state.
    async fn delete_known(&self, target: &Target, options: &DeleteOptions) -> Result<Deleted> {
        let mut clashes = 0;
        loop {
            let stored = target.get()?;
            options.check_preconditions(target, stored.encoded.uid(), &stored.revision.0.to_string())?;
            let working = &*target.working();
            // What cannot be shown in the version of the request is not deleted in it.
            let old = self.decode_as(target, &stored, working).await?.value;
            if !self.serves_stored_form(working) {
                self.to_served(working, &mut old.clone()).await?;
            }
            let uid = stored.encoded.uid().to_owned();
            let mut decision = self.decide(working, &old, options);
            let is_written = match &decision {
                Decision::Leave => true,
                Decision::Keep(object) => **object == old,
                Decision::Remove | Decision::MarkAndRemove(_) => false,
            };
            if !matches!(decision, Decision::Leave) && !options.is_admitted {
                self.admit_deletion(working, &old, &settled(working, &old, options)).await?;
            }
            if let Decision::Keep(object) | Decision::MarkAndRemove(object) = &mut decision {
                self.to_stored(target, working, object).await?;
            }
            // Where nothing is written the store does not tell that the object has changed meanwhile.
            if (is_written || options.dry_run) && !self.is_current(target, &stored).await? {
                continue;
            }
            let outcome = match decision {
                Decision::Remove if options.dry_run => Ok((Payload::Stored(stored), true)),
                Decision::Remove => {
                    let others = self.allocation_writes(target, None, Some(&old))?;
                    self.remove(target, &stored, others).await.map(|last| (last, true))
                }
                Decision::MarkAndRemove(shown) if options.dry_run => Ok((Payload::Value(shown), true)),
                Decision::MarkAndRemove(object) => match self.store_marked(target, &stored, object).await {
                    Ok(marked) => {
                        if !options.is_admitted {
                            // kube-apiserver runs admission again for the marked object.
                            let shown = self.decode_as(target, &marked, working).await?.value;
                            let settled = settled(working, &old, options);
                            self.admit_deletion(working, &shown, &settled).await?;
                        }
                        match self.remove(target, &marked, Vec::new()).await {
                            // A controller that saw the mark may have been faster.
                            Err(CommitError::Conflict { actual: None, .. }) => Ok((Payload::Stored(marked), true)),
                            outcome => outcome.map(|last| (last, true)),
                        }
                    }
                    Err(error) => Err(error),
                },
                Decision::Leave => Ok((Payload::Stored(stored), false)),
                Decision::Keep(_) if is_written => Ok((Payload::Stored(stored), false)),
                Decision::Keep(object) if options.dry_run => Ok((Payload::Value(object), false)),
                Decision::Keep(object) => {
                    let marked = self.store_marked(target, &stored, object).await;
                    marked.map(|marked| (Payload::Stored(marked), false))
                }
            };
            match outcome {
                Ok((payload, gone)) => return Ok(Deleted { payload, gone, uid }),
                Err(CommitError::Conflict { index: 0, .. }) => {}
                Err(CommitError::Conflict { .. }) if clashes < self.attempts(ATTEMPTS) => clashes += 1,
                Err(CommitError::Conflict { .. }) => return Err(Status::modified(&target.resource, &target.name)),
                Err(error) => return Err(commit_failed(&error)),
            }
        }
    }

    /// Runs admission for the deletion of a stored object.
    async fn admit_deletion(&self, target: &Target, old: &Value, deletion: &DeleteOptions) -> Result<()> {
        let options =
            WriteOptions { dry_run: deletion.dry_run, context: deletion.context.clone(), ..WriteOptions::default() };
        let charges = Charges::default();
        let request = AdmissionRequest {
            old: Some(old),
            deletion: Some(deletion),
            ..AdmissionRequest::new(self, target, "", Operation::Delete, &options, &charges)
        };
        self.admission.delete(&request, old).await
    }

    /// Removes an expired object, regardless of finalizers, if it is unchanged.
    pub fn expire(&self, object: &Object) -> CommitFuture {
        self.store.commit(Transaction::one(object.key.clone(), Expect::At(object.revision), None))
    }

    async fn store_marked(
        &self,
        target: &Target,
        stored: &Object,
        mut object: Box<Value>,
    ) -> std::result::Result<Arc<Object>, CommitError> {
        let record = self.encode(target, &mut object);
        self.commit(target, Expect::At(stored.revision), record).await
    }

    /// Removes an object from the store. Returns its last state.
    async fn remove(
        &self,
        target: &Target,
        stored: &Arc<Object>,
        others: Vec<Write>,
    ) -> std::result::Result<Payload, CommitError> {
        let mut writes = vec![Write::delete(stored.key.clone(), Expect::At(stored.revision))];
        writes.extend(others);
        let revision = self.store.commit(Transaction::of(writes)).await?;
        let encoded = stored.encoded.at_revision(revision);
        let last = Object::new(stored.key.clone(), target.storage().prefix.len(), revision, encoded);
        Ok(Payload::Stored(Arc::new(last)))
    }

    fn decide(&self, target: &Target, old: &Value, options: &DeleteOptions) -> Decision {
        let strategy = target.resource.strategy;
        let mut object = old.clone();
        let now = self.environment.now_unix();
        let asked = options.grace_period_seconds.map(at_least_one);
        let period = match (strategy.grace_period, metadata::is_terminating(old)) {
            (None, _) => None,
            (Some(compute), false) => {
                let period = compute(old, asked);
                set_end(&mut object, now.saturating_add(period), period);
                Some(period)
            }
            (Some(_), true) => match shortened(old, asked, now) {
                GracePeriodChange::Not => return Decision::Leave,
                GracePeriodChange::Over => None,
                GracePeriodChange::To { end, period } => {
                    set_end(&mut object, end, period);
                    Some(period)
                }
            },
        };
        let has_content = strategy.holds.is_some_and(|holds| holds(old));
        if has_content && metadata::is_terminating(old) {
            return Decision::Leave;
        }
        // Only then: during the grace period the policy for dependents cannot be changed.
        let finalizers = finalizers_after(old, strategy.garbage_collection, options);
        let held = has_content || !finalizers.is_empty();
        if !same_set(&finalizers, &metadata::finalizers(old)) {
            metadata::set_finalizers(&mut object, finalizers);
        }
        let begins = strategy.begin_deletion.is_some() && !metadata::is_terminating(old);
        if period.is_none() && !held && !begins {
            return Decision::Remove;
        }
        if period.is_none() && (strategy.grace_period.is_some() || !has_end(old)) {
            let end = deletion_end(old).map_or(now, |end| end.min(now));
            set_end(&mut object, end, 0);
        }
        if !metadata::is_terminating(old) {
            match strategy.begin_deletion {
                Some(begin) => begin(&mut object),
                None => raise_generation(&mut object, old),
            }
        }
        self.canonicalize(target, &mut object);
        let object = Box::new(object);
        if held || begins || period.is_some_and(|period| period > 0) {
            Decision::Keep(object)
        } else {
            Decision::MarkAndRemove(object)
        }
    }
}

/// The options as plugins see them: with the grace period that was decided on, and for a namespace with its uid as a
/// precondition. For the objects of a collection the options stay as they were sent.
fn settled(target: &Target, old: &Value, options: &DeleteOptions) -> DeleteOptions {
    let strategy = target.resource.strategy;
    let mut settled = options.clone();
    if options.context.verb == DELETE_COLLECTION {
        return settled;
    }
    if let Some(compute) = strategy.grace_period
        && !metadata::is_terminating(old)
    {
        settled.grace_period_seconds = Some(compute(old, options.grace_period_seconds.map(at_least_one)));
    }
    if strategy.is_namespace && settled.uid.is_none() {
        settled.uid = Some(metadata::text(old, "uid").to_owned());
    }
    settled
}

/// How a delete changes the grace period of a terminating object.
enum GracePeriodChange {
    /// The period is still running, and no shorter one is requested.
    Not,
    /// There was none.
    Over,
    To {
        end: i64,
        period: i64,
    },
}

/// A grace period can only get shorter. One that would be over by now lasts one second, so that the kubelet sees it.
fn shortened(old: &Value, asked: Option<i64>, now: i64) -> GracePeriodChange {
    let left = old.at(&["metadata", GRACE_PERIOD]).and_then(Value::as_i64).map_or(0, at_least_one);
    match (left, asked) {
        (0, _) => GracePeriodChange::Over,
        (_, Some(period)) if period < left => {
            let end = deletion_end(old).unwrap_or(now).saturating_sub(left).saturating_add(period);
            if end > now {
                GracePeriodChange::To { end, period }
            } else {
                GracePeriodChange::To { end: now, period: period.min(1) }
            }
        }
        _ => GracePeriodChange::Not,
    }
}

/// A period below nothing is one second.
fn at_least_one(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// Whether an object knows when and within which period it is deleted. The first delete of a definition sets no period.
fn has_end(object: &Value) -> bool {
    metadata::is_terminating(object) && object.at(&["metadata", GRACE_PERIOD]).is_some()
}

fn deletion_end(object: &Value) -> Option<i64> {
    time::Time::parse(metadata::text(object, DELETION_TIMESTAMP)).ok().map(|end| end.seconds)
}

fn set_end(object: &mut Value, end: i64, period: i64) {
    metadata::set(object, DELETION_TIMESTAMP, time::Time::from_seconds(end).to_rfc3339());
    metadata::set(object, GRACE_PERIOD, period);
}

/// Termination counts as a change of the desired state, for kinds with generations.
fn raise_generation(object: &mut Value, old: &Value) {
    if metadata::generation(old) > 0 {
        metadata::set(object, "generation", metadata::generation(old) + 1);
    }
}

/// Whether two lists have equally many finalizers and all of the first are in the second: their order means nothing. There
/// may be a hundred thousand.
fn same_set(a: &[String], b: &[&str]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let known: HashSet<&str> = b.iter().copied().collect();
    a.iter().all(|name| known.contains(name.as_str()))
}

/// The finalizers an object has once its propagation policy is written into them.
fn finalizers_after(old: &Value, default: GarbageCollection, options: &DeleteOptions) -> Vec<String> {
    let existing = metadata::finalizers(old);
    let (orphan, foreground) = match (default, options.orphan_dependents, options.propagation) {
        (GarbageCollection::Unsupported, ..) => (false, false),
        (_, Some(orphan), _) => (orphan, false),
        (_, None, Some(policy)) => (policy == Propagation::Orphan, policy == Propagation::Foreground),
        (_, None, None) => {
            let (orphan, foreground) = (existing.contains(&ORPHAN), existing.contains(&FOREGROUND));
            (orphan || !foreground && default == GarbageCollection::Orphan, foreground)
        }
    };
    let others = existing.into_iter().filter(|name| !matches!(*name, ORPHAN | FOREGROUND)).map(str::to_owned);
    let mut finalizers: Vec<String> = others.collect();
    if orphan {
        finalizers.push(ORPHAN.into());
    }
    if foreground {
        finalizers.push(FOREGROUND.into());
    }
    finalizers
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn plugins_see_what_was_decided() {
        let registry = crate::testing::registry();
        let settle_for = |verb: &'static str, plural: &str, object: Value| {
            let target = registry.target_of(["", "v1", plural], "", "a").expect("a known resource");
            let context = Arc::new(crate::RequestContext::new(verb, String::new()));
            let options = DeleteOptions { grace_period_seconds: Some(5), context, ..DeleteOptions::default() };
            let settled = settled(&target, &object, &options);
            (settled.grace_period_seconds, settled.uid)
        };
        let settle = |plural: &str, object: Value| settle_for("delete", plural, object);
        let uid = || Some("u".to_owned());
        assert_eq!(settle("pods", value!({"metadata": {"uid": "u"}, "spec": {}})), (Some(0), None), "on no node");
        assert_eq!(settle("pods", value!({"metadata": {"uid": "u"}, "spec": {"nodeName": "n"}})), (Some(5), None));
        let pod = value!({"metadata": {"uid": "u"}, "spec": {}});
        assert_eq!(settle_for(DELETE_COLLECTION, "pods", pod), (Some(5), None), "one of a collection");
        assert_eq!(settle("configmaps", value!({"metadata": {"uid": "u"}})), (Some(5), None));
        assert_eq!(settle("namespaces", value!({"metadata": {"uid": "u"}})), (Some(5), uid()));
    }

    #[test]
    fn finalizers_are_compared_as_sets() {
        let names = ["a", "b", "c"];
        let lists: Vec<Vec<&str>> = (0..256)
            .map(|digits: usize| {
                (0..4).map(|at| digits >> (2 * at) & 3).filter_map(|name| names.get(name).copied()).collect()
            })
            .collect();
        for a in &lists {
            for b in &lists {
                let owned: Vec<String> = a.iter().map(|name| (*name).to_owned()).collect();
                let model = a.len() == b.len() && a.iter().all(|name| b.contains(name));
                assert_eq!(same_set(&owned, b), model, "{a:?} {b:?}");
            }
        }
        // Comparing each with each would take minutes.
        let many: Vec<String> = (0..300_000).map(|number| format!("example.com/f{number}")).collect();
        let reversed: Vec<&str> = many.iter().rev().map(String::as_str).collect();
        assert!(same_set(&many, &reversed));
        assert!(!same_set(&many[1..], &reversed[1..]));
    }

    #[test]
    fn a_period_only_gets_shorter() {
        // Deleted at 1970-01-01T00:01:00Z, with half a minute to go.
        let of = |left: i64| value!({"metadata": {"deletionTimestamp": "1970-01-01T00:01:30Z", "deletionGracePeriodSeconds": left}});
        let period = |left, asked, now| match shortened(&of(left), asked, now) {
            GracePeriodChange::Not => None,
            GracePeriodChange::Over => Some((0, 0)),
            GracePeriodChange::To { end, period } => Some((end, period)),
        };
        assert_eq!(period(30, None, 61), None);
        assert_eq!(period(30, Some(30), 61), None);
        assert_eq!(period(30, Some(10), 61), Some((70, 10)));
        assert_eq!(period(30, Some(10), 75), Some((75, 1)), "it would be over");
        assert_eq!(period(30, Some(0), 75), Some((75, 0)));
        assert_eq!(period(0, Some(10), 61), Some((0, 0)));
    }

    #[test]
    fn an_end_has_a_time_and_a_period() {
        let of = |metadata: Value| has_end(&value!({"metadata": (metadata)}));
        assert!(of(value!({"deletionTimestamp": "1970-01-01T00:01:30Z", "deletionGracePeriodSeconds": 0})));
        assert!(!of(value!({"deletionTimestamp": "1970-01-01T00:01:30Z"})));
        assert!(!of(value!({"name": "a"})));
    }
}
