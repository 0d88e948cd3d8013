//! Delete: in two phases when finalizers or a grace period hold the object, at once otherwise.

use crate::options::{DeleteOptions, Propagation};
use crate::status::{Details, Result, Status};
use crate::{Payload, Registry, Target, commit_failed, metadata};
use pintle_cache::{Image, Object};
use pintle_kinds::strategy::GarbageCollection;
use pintle_schema::{Value, time};
use pintle_storage::{CommitError, CommitFuture, Expect, Transaction, Write};
use std::sync::Arc;

/// How often a delete is tried on a newer object.
const ATTEMPTS: usize = 6;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What a delete did.
pub struct Deleted {
    /// The object: as it still is, or as it last was.
    pub payload: Payload,
    /// It is gone; otherwise something holds it.
    pub gone: bool,
    pub uid: String,
    pub warnings: Vec<String>,
}

/// What a delete decides about an object.
enum Decision {
    /// It goes; the answer shows it in this state, if it is not the stored one.
    Remove(Option<Box<Value>>),
    /// It stays for now, in this state.
    Keep(Box<Value>),
}

impl Registry {
    /// Deletes one object.
    ///
    /// # Errors
    /// There is none, a precondition does not hold, or it keeps changing.
    pub async fn delete(&self, target: &Target, options: &DeleteOptions) -> Result<Deleted> {
        let since = self.revision();
        match self.delete_known(target, options).await {
            Err(refusal) if self.may_accept_now(&refusal, since).await => self.delete_known(target, options).await,
            outcome => outcome,
        }
    }

    /// The same, as far as others' writes are known.
    async fn delete_known(&self, target: &Target, options: &DeleteOptions) -> Result<Deleted> {
        for _ in 0..self.attempts(ATTEMPTS) {
            let stored = target.get()?;
            self.check_preconditions(target, &stored, options)?;
            let old = self.decode(target, &stored)?;
            self.admission.delete(self, target, &old)?;
            let uid = stored.image.uid().to_owned();
            let decision = self.decide(target, &old, options);
            let is_written = matches!(&decision, Decision::Keep(object) if **object == old);
            // Where nothing is written the store does not tell that the object has changed meanwhile.
            if (is_written || options.dry_run) && !self.is_current(target, &stored).await? {
                continue;
            }
            let outcome = match decision {
                Decision::Remove(None) if options.dry_run => Ok((Payload::Stored(stored), true)),
                Decision::Remove(Some(shown)) if options.dry_run => Ok((Payload::Value(shown), true)),
                Decision::Remove(shown) => {
                    let others = self.allocation_writes(target, None, Some(&old))?;
                    let last = self.remove(target, &stored, shown.as_deref(), others).await;
                    last.map(|last| (Payload::Stored(last), true))
                }
                Decision::Keep(_) if is_written => Ok((Payload::Stored(stored), false)),
                Decision::Keep(object) if options.dry_run => Ok((Payload::Value(object), false)),
                Decision::Keep(mut object) => {
                    let record = self.encode(target, &mut object);
                    let commit = self.commit(target.key(), Expect::At(stored.revision), record, target.storage.prefix);
                    commit.await.map(|stored| (Payload::Stored(stored), false))
                }
            };
            match outcome {
                Ok((payload, gone)) => {
                    let silent = options.propagation.is_some() || options.orphan_dependents.is_some();
                    let warning =
                        Some(target.resource.strategy.orphan_warning).filter(|text| !text.is_empty() && !silent);
                    let warnings = warning.map(str::to_owned).into_iter().collect();
                    return Ok(Deleted { payload, gone, uid, warnings });
                }
                Err(CommitError::Conflict { .. }) => continue,
                Err(error) => return Err(commit_failed(&error)),
            }
        }
        Err(Status::modified(target.resource, &target.name))
    }

    /// Removes an object whose time is over, whatever else would hold it, if it is still as given.
    pub fn expire(&self, object: &Object) -> CommitFuture {
        self.store.commit(Transaction::one(object.key.clone(), Expect::At(object.revision), None))
    }

    /// Removes an object from the store; the answer is its last state.
    async fn remove(
        &self,
        target: &Target,
        stored: &Arc<Object>,
        shown: Option<&Value>,
        others: Vec<Write>,
    ) -> std::result::Result<Arc<Object>, CommitError> {
        let mut writes = vec![Write::delete(stored.key.clone(), Expect::At(stored.revision))];
        writes.extend(others);
        let revision = self.store.commit(Transaction { writes }).await?;
        let image = match shown {
            None => stored.image.at_revision(revision),
            Some(shown) => Image::from_record(&self.record(target, shown), revision)
                .map_err(|error| CommitError::Storage(Arc::new(error)))?,
        };
        Ok(Arc::new(Object::new(stored.key.clone(), target.storage.prefix.len(), revision, image)))
    }

    fn check_preconditions(&self, target: &Target, stored: &Object, options: &DeleteOptions) -> Result<()> {
        let fail = |why: String| {
            // The reference names the kind here, not the resource.
            let resource = target.resource;
            let subject = match resource.group {
                "" => resource.kind.to_owned(),
                group => format!("{}.{group}", resource.kind),
            };
            let details = Details {
                name: target.name.clone(),
                group: resource.group.into(),
                kind: resource.kind.into(),
                ..Details::default()
            };
            let message = format!("Operation cannot be fulfilled on {subject} \"{}\": {why}", target.name);
            Err(Status::new(409, "Conflict", message).with_details(details))
        };
        if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != stored.image.uid()) {
            return fail(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                stored.image.uid()
            ));
        }
        let revision = stored.revision.0.to_string();
        if let Some(version) = options.resource_version.as_deref().filter(|version| *version != revision) {
            return fail(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
                 ({revision}). The object might have been modified"
            ));
        }
        Ok(())
    }

    fn decide(&self, target: &Target, old: &Value, options: &DeleteOptions) -> Decision {
        let strategy = target.resource.strategy;
        let mut object = old.clone();
        let finalizers = finalizers_after(old, strategy.garbage_collection, options);
        let held = !finalizers.is_empty() || strategy.holds.is_some_and(|holds| holds(old));
        let old_finalizers = metadata::finalizers(old);
        if !same_set(&finalizers, &old_finalizers) {
            metadata::set_finalizers(&mut object, finalizers.clone());
        }
        let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
        let period = strategy.grace_period.map_or(0, |compute| compute(old, asked));
        if metadata::is_terminating(old) {
            return self.decide_again(target, object, old, period, asked.is_some(), held);
        }
        let gone = period == 0 && !held;
        if gone && strategy.grace_period.is_none() {
            return Decision::Remove(None);
        }
        let now = self.environment.now_unix();
        metadata::set(
            &mut object,
            "deletionTimestamp",
            time::Time::from_seconds(now.saturating_add(period)).to_rfc3339(),
        );
        metadata::set(&mut object, "deletionGracePeriodSeconds", period);
        raise_generation(&mut object, old);
        if let Some(begin) = strategy.begin_deletion {
            begin(&mut object);
        }
        self.finish(target, &mut object);
        if gone { Decision::Remove(Some(Box::new(object))) } else { Decision::Keep(Box::new(object)) }
    }

    /// A delete of an object that is already being deleted: a shorter grace period shortens it, anything else waits.
    fn decide_again(
        &self,
        target: &Target,
        mut object: Value,
        old: &Value,
        period: i64,
        asked: bool,
        held: bool,
    ) -> Decision {
        let left = old.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0);
        let period = if asked { period.min(left) } else { left };
        if period < left {
            let begun = time::Time::parse(metadata::text(old, "deletionTimestamp")).map_or(0, |end| end.seconds - left);
            metadata::set(&mut object, "deletionTimestamp", time::Time::from_seconds(begun + period).to_rfc3339());
            metadata::set(&mut object, "deletionGracePeriodSeconds", period);
        }
        self.finish(target, &mut object);
        match (period == 0 && !held, target.resource.strategy.grace_period) {
            (false, _) => Decision::Keep(Box::new(object)),
            (true, Some(_)) => Decision::Remove(Some(Box::new(object))),
            (true, None) => Decision::Remove(None),
        }
    }
}

/// The end of an object counts as a change of what is wanted, for kinds that count.
fn raise_generation(object: &mut Value, old: &Value) {
    if metadata::generation(old) > 0 {
        metadata::set(object, "generation", metadata::generation(old) + 1);
    }
}

/// The order of finalizers means nothing.
fn same_set(a: &[String], b: &[&str]) -> bool {
    a.len() == b.len() && a.iter().all(|name| b.contains(&name.as_str()))
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
