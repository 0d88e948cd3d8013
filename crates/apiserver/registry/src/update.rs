//! Update: a stored object replaced, by PUT or by any patch.
//!
//! The change is a function from the served object to the new one. On a conflict it is called again with the newer object,
//! unless the client sent a resourceVersion.

use crate::allocation::Reserved;
use crate::defined::{Decoded, other_type};
use crate::field_manager::{MANAGED_FIELDS, SentFields, same_but_times};
use crate::prepare::{validate_update, warn};
use crate::status::{Result, Status};
use crate::write_environment::WriteEnvironment;
use crate::{
    AdmissionMode, AdmissionRequest, Charge, Charges, Operation, Payload, Phase, Registry, Step, SubresourceView,
    Target, WriteOptions, Written, commit_failed, metadata,
};
use pintle_cache::{EncodedObject, Object};
use pintle_resource::{Action, MaybeReady, Part, Resource, Strategy};
use pintle_schema::{Value, empties};
use pintle_storage::{CommitError, Expect, Transaction, Write};
use pintle_validation::{Comparison, ErrorKind, ErrorList};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// How many times a change is retried because another request took what was allocated for it. When the object has changed, an
/// update without a resourceVersion is retried until it succeeds or the request times out.
const ATTEMPTS: usize = 6;

/// A field that no kind has any more, and clients may still send.
const LINK: &[&str] = &["metadata", "selfLink"];

/// Computes the new state of an object. It is called again when another writer was faster.
pub trait Change: Send + Sync {
    /// The new object, of the target's version, computed from the stored one in that version (`None`: there is none).
    ///
    /// # Errors
    /// It cannot be computed, which ends the write.
    fn apply<'a>(&'a self, stored: Option<&'a Value>) -> MaybeReady<'a, Result<Value>>;

    /// Whether the writer may create a missing object.
    ///
    /// # Errors
    /// They may not, which ends the write.
    fn authorize_create(&self) -> MaybeReady<'_, Result<()>> {
        MaybeReady::Ready(Ok(()))
    }
}

impl<F: Fn(Option<&Value>) -> Result<Value> + Send + Sync> Change for F {
    fn apply<'a>(&'a self, stored: Option<&'a Value>) -> MaybeReady<'a, Result<Value>> {
        MaybeReady::Ready(self(stored))
    }
}

/// The part of an object that a subresource writes.
#[derive(Clone, Copy)]
pub struct SubresourcePart<'a> {
    pub name: &'a str,
    pub rules: &'a Part,
}

impl<'a> SubresourcePart<'a> {
    /// The part that a subresource writes; `None` where it stores nothing, and for "".
    pub fn of(resource: &'a Resource, subresource: &str) -> Option<Self> {
        let found = resource.subresource(subresource)?;
        match found.action {
            Action::Part(rules) => Some(SubresourcePart { name: &found.name, rules }),
            _ => None,
        }
    }
}

/// The parameters of an update.
pub struct Update<'a> {
    pub change: &'a dyn Change,
    /// The part of the object that a subresource writes; `None` for the object itself.
    pub part: Option<SubresourcePart<'a>>,
    /// Creates a missing object, whatever the kind's strategy is (apply).
    pub create: bool,
    /// Whether the change was computed from the stored object, as patches are.
    pub from_stored: bool,
    pub owners: ManagedFieldsUpdate,
}

/// How the managed fields of a change are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedFieldsUpdate {
    /// The writer comes to own the fields that it changes.
    Compute,
    /// The change brings its managed fields with it, as apply does.
    Provided,
}

impl Registry {
    /// Changes an object.
    ///
    /// # Errors
    /// It does not exist, the change is rejected, or the object has changed since the version that the client names.
    pub async fn update(&self, target: &Target, update: &Update<'_>, options: &WriteOptions) -> Result<Written> {
        let since = self.cache_revisions(&target.cache);
        match self.update_known(target, update, options).await {
            Err(refusal) if self.wait_for_object(refusal.awaits.as_deref()).await => {
                self.update_known(target, update, options).await
            }
            Err(refusal) if self.should_retry(&refusal, &target.cache, since).await => {
                self.update_known(target, update, options).await
            }
            outcome => outcome,
        }
    }

    /// The same, based on the cached state.
    async fn update_known(&self, target: &Target, update: &Update<'_>, options: &WriteOptions) -> Result<Written> {
        let working = &*target.working();
        let attempt = Attempt { registry: self, target: working, update, options };
        // Stored objects are of the storage version, whatever the working version is.
        let storing = Attempt { target, ..attempt };
        let mut clashes = 0;
        loop {
            let Some(stored) = target.cache.get(&target.key()) else {
                if let Some(status) = target.unreadable() {
                    return Err(status);
                }
                match storing.create_instead().await {
                    // Another client was faster: its object is updated.
                    Err(status) if status.reason == "AlreadyExists" && target.cache.get(&target.key()).is_some() => {
                        continue;
                    }
                    outcome => return outcome,
                }
            };
            let Decoded { value: mut old, stored: stored_old, is_current } =
                self.decode_as(target, &stored, working).await?;
            self.complete_allocated(target, &mut old);
            let is_converted = working.storage().api_version != target.storage().api_version;
            let (mut reserved, charges) = (Reserved::default(), Charges::default());
            let mut warnings = Vec::new();
            let Prepared { mut object, mut is_stored, named_version } =
                match attempt.prepare(&old, &mut reserved, &charges, &mut warnings).await {
                    Ok(prepared) => prepared,
                    Err(status) => return Err(status.warned_before(warnings)),
                };
            if is_converted {
                self.to_stored(target, working, &mut object).await?;
                is_stored = stored_old
                    .as_ref()
                    .is_some_and(|old| Comparison::of(&object, old).is_equal_without(&["resourceVersion", "selfLink"]));
            }
            is_stored &= is_current;
            // An object whose stored encoding is outdated is written again, although its content does not change.
            let is_written = is_stored && (options.dry_run || !self.is_stale(target, &stored, &object));
            // Without a write, the store does not detect that the object has changed meanwhile.
            if (is_written || options.dry_run) && !self.is_current(target, &stored).await? {
                continue;
            }
            if is_written {
                return Ok(Written { payload: Payload::Stored(stored), created: false, warnings });
            }
            if options.dry_run {
                let mut object = object;
                metadata::set(&mut object, "resourceVersion", stored.revision.0.to_string());
                self.canonicalize(target, &mut object);
                return Ok(Written { payload: self.as_read(target, object), created: false, warnings });
            }
            let others =
                self.allocation_writes(target, Some(&object).filter(|_| !is_finished(target, &object)), Some(&old))?;
            let allocated = others.len();
            let mut charges = charges.take();
            reserved.committing();
            let started = Instant::now();
            let outcome = storing.replace(&stored, object, others, &mut charges).await;
            options.context.spent(Step::Commit, started);
            reserved.settled();
            match outcome? {
                Ok(stored) => return Ok(Written { payload: Payload::Stored(stored), created: false, warnings }),
                Err(CommitError::Conflict { index: 0, .. }) if !named_version => {}
                // Another write was charged, so that the writes together make progress.
                Err(CommitError::Conflict { index, .. }) if index > allocated => self.catch_up_main().await?,
                // Writes after the first are allocations, not the object of the client.
                Err(CommitError::Conflict { index, .. }) if index > 0 && clashes < self.attempts(ATTEMPTS) => {
                    clashes += 1
                }
                Err(CommitError::Conflict { actual: None, .. }) => return Err(target.not_found()),
                Err(CommitError::Conflict { .. }) => return Err(Status::modified(&target.resource, &target.name)),
                Err(error) => return Err(commit_failed(&error)),
            }
        }
    }
}

impl Registry {
    /// The write of the part of an object that a subresource writes, to be committed together with another object's. Its
    /// precondition is the stored object. It passes neither admission nor validation.
    ///
    /// # Errors
    /// The object cannot be had in the target's version.
    pub async fn part_write(
        &self,
        target: &Target,
        (stored, old): (&Object, &Value),
        mut object: Value,
        subresource: &str,
        options: &WriteOptions,
    ) -> Result<Write> {
        let managed = object.remove_at(&["metadata", MANAGED_FIELDS]);
        self.canonicalize(target, &mut object);
        let sent = SentFields { managed: managed.as_ref(), empties: None };
        self.track(target, subresource, Some(old), sent, &mut object, options).await?;
        Ok(self.encode(target, &mut object).put(target.key().into(), Expect::At(stored.revision)))
    }
}

/// An update as it is tried on one state after the other.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    registry: &'a Registry,
    target: &'a Target,
    update: &'a Update<'a>,
    options: &'a WriteOptions,
}

impl Attempt<'_> {
    /// Stores the new state; a terminating object is removed with its last finalizer.
    async fn replace(
        &self,
        stored: &Object,
        mut object: Value,
        others: Vec<Write>,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        let Attempt { registry, target, update, .. } = *self;
        let expect = Expect::At(stored.revision);
        if !is_finished(target, &object) {
            let others = Transaction::of(others);
            return registry.commit_object(target, expect, &mut object, update.owners, others, charges).await;
        }
        let mut writes = vec![Write::delete(target.key().into(), expect)];
        writes.extend(others);
        let committed = registry.commit_charged(Transaction::of(writes), charges).await?;
        // The response shows the state before the removal, at its revision.
        Ok(committed.and_then(|_| {
            let encoded = EncodedObject::from_record(&registry.record(target, &object), stored.revision)
                .map_err(|error| CommitError::Storage(Arc::new(error)))?;
            Ok(Arc::new(Object::new(target.key().into(), target.storage().prefix.len(), stored.revision, encoded)))
        }))
    }

    async fn create_instead(&self) -> Result<Written> {
        let Attempt { registry, target, update, options } = *self;
        target.check_key()?;
        let allowed = update.create || target.resource.strategy.create_on_update && !update.from_stored;
        if !allowed || update.part.is_some() {
            return Err(target.not_found());
        }
        let mut object = update.change.apply(None).get().await?;
        if !metadata::text(&object, "uid").is_empty() && !update.create {
            return Err(failed_precondition(target, "UID", metadata::text(&object, "uid"), "", options.dry_run));
        }
        if update.owners == ManagedFieldsUpdate::Provided {
            check_readable(metadata::text(&object, "resourceVersion"))?;
        }
        if !options.dry_run {
            metadata::clear(&mut object, "resourceVersion");
        }
        registry.create_owned(target, object, options, update.owners, Some(update.change)).await
    }

    /// The new state, in canonical form and without a version.
    async fn prepare(
        &self,
        old: &Value,
        reserved: &mut Reserved,
        charges: &Charges,
        warnings: &mut Vec<String>,
    ) -> Result<Prepared> {
        let Attempt { registry, target, update, options } = *self;
        let strategy = target.resource.strategy;
        let mut served = Cow::Borrowed(old);
        if !registry.serves_stored_form(target) {
            registry.to_version(target, served.to_mut()).await?;
        }
        let mut object = update.change.apply(Some(&served)).get().await?;
        let named_version = names_version(update.from_stored, &object, old);
        if !update.from_stored {
            check_uid(target, &object, old, options.dry_run)?;
        }
        // A wrong type is reported with what is invalid, after the version. A subresource takes only its part of what is sent.
        let other_type = if update.part.is_none() { other_type(target, &object) } else { None };
        let (managed, sent_empties) = match update.owners {
            ManagedFieldsUpdate::Compute => {
                let managed = object.remove_at(&["metadata", MANAGED_FIELDS]);
                // Empty lists are lost in the metadata of custom resources: this one does not reset the owners.
                let is_lost = |managed: &Value| target.resource.custom.is_some() && managed.is_zero();
                (managed.filter(|managed| !is_lost(managed)), empties(&object))
            }
            ManagedFieldsUpdate::Provided => (None, None),
        };
        // Validation errors show the object as sent, before the canonical form, in which an empty list is
        // absent.
        let empties = || update.change.apply(Some(&served)).now().ok()?.ok().as_ref().and_then(empties);
        // What the writer of the managed fields left as it is does not get defaults either.
        let is_left = target.resource.custom.is_some()
            && update.owners == ManagedFieldsUpdate::Provided
            && Comparison::of(&object, &served).is_equal_without(&[MANAGED_FIELDS]);
        match is_left {
            true => registry.set_type_and_namespace(target, &mut object),
            false => registry.complete(target, &mut object).await?,
        }
        registry.canonicalize_against(target, &mut object, old);
        if !update.from_stored {
            metadata::dedup_owners(&mut object, false, warnings);
        }
        let subresource = update.part.map_or("", |part| part.name);
        if update.owners == ManagedFieldsUpdate::Compute {
            let sent = SentFields { managed: managed.as_ref(), empties: sent_empties.as_ref() };
            registry.track(target, subresource, Some(&served), sent, &mut object, options).await?;
        }
        let same_link = object.at(LINK) == old.at(LINK);
        let environment = WriteEnvironment::new(registry, target, &options.context, &empties);
        let environment = environment.of_type(other_type.as_ref());
        let request = AdmissionRequest {
            old: Some(old),
            environment: &environment,
            ..AdmissionRequest::new(registry, target, subresource, Operation::Update, options, charges)
        };
        match &options.admission {
            AdmissionMode::Object => registry.admission.mutate(&request, &mut object, warnings).await?,
            AdmissionMode::Skip => {}
            AdmissionMode::Subresource(view) => {
                self.mutate_shown(view, old, &mut object, warnings).await?;
                (view.settle)(&mut object);
            }
        }
        // Only now: a webhook may have named a version, and denies what is outdated too.
        check_version(target, update.from_stored, &object, old)?;
        metadata::carry_over(&mut object, old);
        if matches!(metadata::text(&object, "resourceVersion"), "" | "0") {
            metadata::set(&mut object, "resourceVersion", metadata::text(old, "resourceVersion"));
        }
        metadata::canonicalize(&mut object);
        metadata::dedup_owners(&mut object, true, warnings);
        self.follow_strategy(&mut object, old, reserved, warnings).await?;
        let mut compared = registry.canonicalize_against(target, &mut object, old);
        let counts_empties = || {
            let counts = strategy.counts_empties?;
            Some(counts(sent_empties.clone().or_else(&empties).as_ref()?))
        };
        if update.part.is_none() && (counts_generation(strategy, &compared) || counts_empties() == Some(true)) {
            metadata::set(&mut object, "generation", metadata::generation(old) + 1);
            compared = registry.canonicalize_against(target, &mut object, old);
        }
        if strategy.counts_dropped {
            registry.drop_disabled_fields(target, &mut object, Some(old));
            compared = Comparison::of(&object, old);
        }
        // A selfLink is removed only when the object is stored, and so counts as a change here.
        if same_link && differs_in_times(&compared) {
            metadata::keep_path(&mut object, old, &["metadata", MANAGED_FIELDS]);
            compared = Comparison::of(&object, old);
        }
        if update.part.as_ref().is_none_or(|part| part.rules.validated) {
            let started = Instant::now();
            let user = &options.context.user().name;
            let warned = warnings.len();
            loop {
                let outside = registry.environment.as_ref();
                let outcome = validate_update(target, &compared, &environment, subresource, user, outside, warnings);
                if !environment.ask_missing().await {
                    break outcome?;
                }
                warnings.truncate(warned);
            }
            options.context.spent(Step::Validation, started);
        }
        let outside = registry.environment.as_ref();
        warn(target, compared.new_object(), Some(old), subresource, outside, warnings);
        match &options.admission {
            AdmissionMode::Object => registry.admission.validate(&request, compared.new_object(), warnings).await?,
            AdmissionMode::Skip => {}
            AdmissionMode::Subresource(view) => {
                self.validate_subresource(view, old, compared.new_object(), warnings).await?
            }
        }
        // A selfLink is never stored, but a dry run returns it.
        let mut is_stored =
            compared.is_equal_without(&["resourceVersion", "selfLink"]) && (same_link || !options.dry_run);
        if charges.write_annotations(&mut object) {
            is_stored = registry.canonicalize_against(target, &mut object, old).is_equal_without(&["resourceVersion"]);
        }
        metadata::clear(&mut object, "resourceVersion");
        Ok(Prepared { object, is_stored, named_version })
    }

    /// Runs mutating admission on a subresource's object.
    async fn mutate_shown(
        &self,
        view: &SubresourceView,
        old: &Value,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Attempt { registry, target, options, .. } = *self;
        let charges = Charges::default();
        let request = AdmissionRequest::new(registry, target, view.subresource, Operation::Update, options, &charges);
        if !registry.admission.concerns(&request) {
            return Ok(());
        }
        let mut shown = (view.show)(target, object, view.sent.as_deref(), Phase::Mutate);
        let old = (view.show)(target, old, None, Phase::Mutate);
        let request = AdmissionRequest { old: Some(&old), ..request };
        registry.admission.mutate(&request, &mut shown, warnings).await?;
        (view.take_over)(target, &shown, object)
    }

    /// Runs validating admission on a subresource's object.
    async fn validate_subresource(
        &self,
        view: &SubresourceView,
        old: &Value,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Attempt { registry, target, options, .. } = *self;
        let charges = Charges::default();
        let request = AdmissionRequest::new(registry, target, view.subresource, Operation::Update, options, &charges);
        if !registry.admission.concerns(&request) {
            return Ok(());
        }
        let [shown, old] = [object, old].map(|object| (view.show)(target, object, None, Phase::Validate));
        let request = AdmissionRequest { old: Some(&old), ..request };
        registry.admission.validate(&request, &shown, warnings).await
    }

    /// Applies the strategy to the new object, or to the part that a subresource writes.
    async fn follow_strategy(
        &self,
        object: &mut Value,
        old: &Value,
        reserved: &mut Reserved,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Attempt { registry, target, update, options } = *self;
        let strategy = target.resource.strategy;
        let (keeps, prepare, drops) = match update.part {
            Some(SubresourcePart { rules, .. }) => {
                if rules.keeps_metadata {
                    metadata::keep_all(object, old);
                }
                (rules.keeps, rules.prepare, true)
            }
            None => (strategy.update_keeps, strategy.prepare_update, !strategy.counts_dropped),
        };
        keeps.iter().for_each(|path| metadata::keep_path(object, old, path));
        if drops {
            registry.drop_disabled_fields(target, object, Some(old));
        }
        if let Some(prepare) = prepare {
            prepare(object, old, &mut registry.context(options, warnings));
        }
        match update.part {
            Some(_) => Ok(()),
            None => registry.allocate(target, object, Some(old), options, reserved).await,
        }
    }
}

/// Whether an update names the version that it is for: an object computed from the stored one does only if it differs.
fn names_version(from_stored: bool, object: &Value, old: &Value) -> bool {
    let [version, old_version] = [object, old].map(|object| metadata::text(object, "resourceVersion"));
    if from_stored { version != old_version } else { !matches!(version, "" | "0") }
}

/// Checks that the uid that an object names, if any, is the stored object's.
fn check_uid(target: &Target, object: &Value, old: &Value, dry_run: bool) -> Result<()> {
    let [uid, old_uid] = [object, old].map(|object| metadata::text(object, "uid"));
    match uid.is_empty() || uid == old_uid {
        true => Ok(()),
        false => Err(failed_precondition(target, "UID", uid, old_uid, dry_run)),
    }
}

/// Checks that an object that takes the place of another names a version, which most kinds do not require.
///
/// # Errors
/// It names none, and the kind requires one.
pub fn check_names_version(target: &Target, object: &Value) -> Result<()> {
    let is_named = !matches!(metadata::text(object, "resourceVersion"), "" | "0");
    match is_named || target.resource.strategy.unconditional_update {
        true => Ok(()),
        false => Err(version_required(target)),
    }
}

/// Checks that the version that an object names, if any, is the stored object's, and that one is named where it must be.
fn check_version(target: &Target, from_stored: bool, object: &Value, old: &Value) -> Result<()> {
    let [version, old_version] = [object, old].map(|object| metadata::text(object, "resourceVersion"));
    if matches!(version, "" | "0") {
        return if from_stored { Ok(()) } else { check_names_version(target, object) };
    }
    check_readable(version)?;
    match version == old_version {
        true => Ok(()),
        false => Err(Status::modified(&target.resource, &target.name)),
    }
}

fn check_readable(version: &str) -> Result<()> {
    match version.is_empty() || version.parse::<u64>().is_ok() {
        true => Ok(()),
        false => Err(Status::unexplained(crate::list::unreadable_version(version))),
    }
}

/// Whether an object that is being deleted waits for nothing any more.
fn is_finished(target: &Target, object: &Value) -> bool {
    metadata::is_terminating(object)
        && metadata::finalizers(object).is_empty()
        && object.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0) == 0
        && !target.resource.strategy.holds.is_some_and(|holds| holds(object))
}

/// The result of preparing an update.
struct Prepared {
    object: Value,
    /// Nothing changes.
    is_stored: bool,
    /// The client named the version it saw.
    named_version: bool,
}

fn counts_generation(strategy: &Strategy, compared: &Comparison<'_>) -> bool {
    strategy.generation.is_some_and(|paths| paths.iter().any(|path| compared.differs(path)))
}

/// Whether nothing changes but the times of managed fields. Such a write changes nothing, whatever was undone on the way here.
fn differs_in_times(compared: &Comparison<'_>) -> bool {
    let [new, old] =
        [compared.new_object(), compared.old_object()].map(|object| object.at(&["metadata", MANAGED_FIELDS]));
    same_but_times(new, old) && new != old && compared.is_equal_without(&[MANAGED_FIELDS, "resourceVersion"])
}

/// The 409 for an object with another uid or resourceVersion.
pub fn failed_precondition(target: &Target, what: &str, asked: &str, stored: &str, dry_run: bool) -> Status {
    // A dry run of kube-apiserver knows keys without the store's prefix.
    let key = target.key();
    let key = if dry_run { key.strip_prefix("/registry").unwrap_or(&key) } else { &key };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {}",
        precondition_failed(what, asked, stored)
    );
    Status::conflict(&target.resource, &target.name, &why)
}

/// The message for an object that does not match a precondition.
pub fn precondition_failed(what: &str, asked: &str, found: &str) -> String {
    format!("Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}")
}

fn version_required(target: &Target) -> Status {
    let mut errors = ErrorList::default();
    errors.push(ErrorKind::Invalid, "metadata.resourceVersion", Some(Value::Int(0)), "must be specified for an update");
    // kube-apiserver names the resource here, not the kind.
    Status::invalid(&target.resource.group, &target.resource.plural, &target.name, &errors)
}

#[cfg(test)]
mod tests;
