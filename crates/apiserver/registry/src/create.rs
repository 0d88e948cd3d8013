//! Create: a new object, durable before the response.

use crate::allocation::Reserved;
use crate::defined::{check_definition, other_type};
use crate::environment::generate_name;
use crate::namespace_condition::NewObject;
use crate::prepare::{clear_on_create, validate_create, warn};
use crate::status::{Result, Status};
use crate::update::{Change, ManagedFieldsUpdate};
use crate::write_environment::WriteEnvironment;
use crate::{
    AdmissionRequest, Charges, Operation, Payload, Registry, Step, Target, WriteOptions, Written, commit_failed,
    metadata,
};
use pintle_resource::{Context, NameRule};
use pintle_schema::{Value, empties};
use pintle_storage::{CommitError, Expect, Transaction, Write};
use std::time::Instant;

/// Of a request for an object in a namespace without a name.
pub const WITHOUT_NAMESPACE: &str = "Namespace parameter required.";

/// How often a generated name and random allocations are replaced because they are taken.
const ATTEMPTS: usize = 8;

impl Registry {
    /// Creates an object of the target's version. The target's name is used only by a `PUT` that creates.
    ///
    /// # Errors
    /// The object is rejected, exists already, or its namespace does not exist.
    pub async fn create(&self, target: &Target, object: Value, options: &WriteOptions) -> Result<Written> {
        self.create_owned(target, object, options, ManagedFieldsUpdate::Compute, None).await
    }

    /// The same for an object whose managed fields may be computed already. A write that found no object to change is
    /// authorized to create one.
    pub(crate) async fn create_owned(
        &self,
        target: &Target,
        object: Value,
        options: &WriteOptions,
        owners: ManagedFieldsUpdate,
        change: Option<&dyn Change>,
    ) -> Result<Written> {
        let mut object = object;
        let mut warnings = Vec::new();
        let prefix = metadata::text(&object, "generateName").to_owned();
        let mut generated = metadata::text(&object, "name").is_empty() && !prefix.is_empty();
        if generated && target.resource.strategy.name == NameRule::Ip {
            // An address has no room for more.
            metadata::set(&mut object, "name", prefix.as_str());
            generated = false;
        }
        let working = &*target.working();
        let creation = Creation { stored: target, change, ..Creation::new(self, working, &object, options, owners) };
        self.complete(working, &mut object).await?;
        match owners {
            ManagedFieldsUpdate::Compute => {
                metadata::dedup_owners(&mut object, false, &mut warnings);
                metadata::clear_on_create(&mut object);
                self.track_new(working, &mut object, creation.sent.as_ref(), options).await?;
            }
            ManagedFieldsUpdate::Provided => {
                self.canonicalize(working, &mut object);
            }
        }
        self.provision_namespace(target, &object, options).await?;
        let attempts = self.attempts(ATTEMPTS);
        let (since, mut has_learned, mut has_waited) = (self.cache_revisions(&target.cache), false, false);
        let mut attempt = 1;
        loop {
            let (candidate, mut warnings) = (object.clone(), warnings.clone());
            match creation.once(candidate, &mut warnings).await {
                Err(status) if status.reason == "AlreadyExists" && generated && attempt < attempts => attempt += 1,
                Ok(CreateOutcome::AllocationTaken) if attempt < attempts => attempt += 1,
                Ok(CreateOutcome::AllocationTaken) => break,
                // Another write was charged, so that the writes together make progress.
                Ok(CreateOutcome::ChargeChanged) => self.catch_up_main().await?,
                Ok(CreateOutcome::NamespaceReplaced) => {}
                Ok(CreateOutcome::Created(payload)) => return Ok(Written { payload, created: true, warnings }),
                Err(refusal) if !has_waited && self.wait_for_object(refusal.awaits.as_deref()).await => {
                    has_waited = true
                }
                Err(refusal) if !has_learned && self.should_retry(&refusal, &target.cache, since).await => {
                    has_learned = true
                }
                // A request waits for an awaited object once.
                Err(refusal) => return Err(Status { awaits: None, ..refusal.with_warnings(warnings) }),
            }
        }
        Err(Status::internal("neither a name nor an address could be found that nobody else took meanwhile"))
    }

    /// Creates objects in one transaction, or as few as the store accepts: the bootstrap objects of a new server. Their
    /// namespaces may be among them.
    ///
    /// # Errors
    /// An object is rejected or exists, or the store fails.
    pub async fn create_all(&self, objects: Vec<(Target, Value, WriteOptions)>) -> Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        let mut writes = Vec::with_capacity(objects.len());
        for (target, mut object, options) in objects {
            // Bootstrap objects have their addresses, and come with the objects that represent these.
            let creation = Creation::new(self, &target, &object, &options, ManagedFieldsUpdate::Compute);
            self.complete(&target, &mut object).await?;
            metadata::clear_on_create(&mut object);
            self.track_new(&target, &mut object, creation.sent.as_ref(), &options).await?;
            let status = object.get("status").cloned();
            creation.prepare(&mut object, None, &Charges::default(), &mut Vec::new()).await?;
            if let Some(status) = status {
                // A caller inside the server sets the status: no controller would set it later.
                object.make_map().set("status", status);
                self.canonicalize(&target, &mut object);
            }
            let write = self.encode(&target, &mut object).put(target.key().into(), Expect::Absent);
            writes.push((target, write));
        }
        let number = |(target, _): &(Target, Write)| target.cache.progress.number();
        writes.sort_by_key(number);
        let most = self.store.transaction_writes_max().max(1);
        // No transaction spans stores.
        for writes in writes.chunk_by(|a, b| number(a) == number(b)).flat_map(|writes| writes.chunks(most)) {
            let commit = self.store.commit(Transaction::of(writes.iter().map(|(_, write)| write.clone()).collect()));
            commit.await.map_err(|error| {
                let existing = match &error {
                    CommitError::Conflict { index, .. } => writes.get(*index),
                    _ => None,
                };
                let exists = |(target, _): &(Target, Write)| Status::already_exists(&target.resource, &target.name);
                existing.map_or_else(|| commit_failed(&error), exists)
            })?;
        }
        Ok(())
    }

    /// Creates the namespace of a new object, if it is missing and admission is configured to create it.
    ///
    /// # Errors
    /// The namespace cannot be created.
    pub(crate) async fn provision_namespace(
        &self,
        target: &Target,
        object: &Value,
        options: &WriteOptions,
    ) -> Result<()> {
        let provisions = self.admission.provisions_namespaces && !options.dry_run;
        let home = self.namespace(&target.namespace).filter(|_| provisions && target.resource.namespaced);
        let Some(home) = home else { return Ok(()) };
        if home.get().is_ok() {
            return Ok(());
        }
        let mut namespace = Value::map();
        metadata::set(&mut namespace, "name", target.namespace.as_str());
        let options = WriteOptions::of_server("kube-apiserver");
        match Box::pin(self.create(&home, namespace, &options)).await {
            Err(status) if status.reason != "AlreadyExists" => {
                let names = [&*target.name, metadata::text(object, "name"), metadata::text(object, "generateName")];
                let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
                Err(Status::forbidden(&target.resource, name, &status.message))
            }
            _ => Ok(()),
        }
    }
}

/// The name of a new object in a rejection by its namespace, which comes before a name is generated.
fn refused_name(object: &Value) -> &str {
    let given = ["name", "generateName"].map(|field| metadata::text(object, field));
    given.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
}

/// The outcome of one attempt to create an object.
enum CreateOutcome {
    Created(Payload),
    /// An allocated value was taken meanwhile.
    AllocationTaken,
    /// The state that the write is charged to has changed meanwhile.
    ChargeChanged,
    /// The namespace was deleted and created again meanwhile, and admission has not seen the new one.
    NamespaceReplaced,
}

/// A requested object, before its name and addresses are generated.
struct Creation<'a> {
    registry: &'a Registry,
    /// Of the version that the object is worked on in.
    target: &'a Target,
    /// The same of the request.
    stored: &'a Target,
    options: &'a WriteOptions,
    owners: ManagedFieldsUpdate,
    /// The write that creates the object because there is none to change.
    change: Option<&'a dyn Change>,
    /// The object as sent, if the error messages need its empty fields.
    sent: Option<Value>,
    /// The name that the object was sent with.
    sent_name: String,
    sent_labels: bool,
    /// Whether the object was sent with a version, so that it cannot be stored.
    sent_version: bool,
    /// The version that the object was sent with. Nothing replaces it in the answer of a dry run.
    shown_version: String,
    /// The type of an object that was sent as one of another kind.
    other_type: Option<[String; 2]>,
}

impl<'a> Creation<'a> {
    /// Prepares the creation of an object as sent.
    fn new(
        registry: &'a Registry,
        target: &'a Target,
        object: &Value,
        options: &'a WriteOptions,
        owners: ManagedFieldsUpdate,
    ) -> Creation<'a> {
        let sent_labels = object.at(&["metadata", "labels"]).is_some_and(|labels| !labels.is_zero());
        let (sent, sent_version, other_type) = (empties(object), has_version(object), other_type(target, object));
        Creation {
            registry,
            target,
            stored: target,
            options,
            owners,
            change: None,
            sent,
            sent_name: metadata::text(object, "name").to_owned(),
            sent_labels,
            sent_version,
            shown_version: metadata::text(object, "resourceVersion").to_owned(),
            other_type,
        }
    }

    /// Generation, strategy, allocation (if it can be `reserved`), validation and canonical form of a new object.
    async fn prepare(
        &self,
        object: &mut Value,
        reserved: Option<&mut Reserved>,
        charges: &Charges,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Creation { registry, target, options, .. } = *self;
        let strategy = target.resource.strategy;
        let empties = || self.sent.clone();
        let environment = WriteEnvironment::new(registry, target, &options.context, &empties);
        let environment = environment.of_type(self.other_type.as_ref());
        let environment = &environment;
        let request = AdmissionRequest {
            environment,
            sent_name: &self.sent_name,
            ..AdmissionRequest::new(registry, target, "", Operation::Create, options, charges)
        };
        registry.admission.mutate(&request, object, warnings).await?;
        // After mutating plugins: only the server names and identifies new objects.
        metadata::identify(object, registry.environment.as_ref());
        self.name(object);
        metadata::dedup_owners(object, true, warnings);
        // Kinds without generations keep the given value.
        if strategy.generation.is_some() {
            metadata::set(object, "generation", 1);
        }
        clear_on_create(strategy, object);
        registry.drop_disabled_fields(target, object, None);
        if let Some(prepare) = strategy.prepare_create {
            let context = registry.context(options, warnings);
            prepare(object, &mut Context { sent_labels: self.sent_labels, ..context });
        }
        if let Some(reserved) = reserved {
            registry.allocate(target, object, None, options, reserved).await?;
        }
        registry.canonicalize(target, object);
        let started = Instant::now();
        let warned = warnings.len();
        loop {
            let user = &options.context.user().name;
            let outside = registry.environment.as_ref();
            let outcome = validate_create(target, object, environment, user, outside, warnings);
            if !environment.ask_missing().await {
                break outcome?;
            }
            warnings.truncate(warned);
        }
        options.context.spent(Step::Validation, started);
        warn(target, object, None, "", registry.environment.as_ref(), warnings);
        if let Some(change) = self.change {
            change.authorize_create().get().await?;
        }
        registry.admission.validate(&request, object, warnings).await?;
        if charges.write_annotations(object) {
            registry.canonicalize(target, object);
        }
        Ok(())
    }

    /// Gives an object a name, if it has a prefix for one.
    fn name(&self, object: &mut Value) {
        let prefix = metadata::text(object, "generateName");
        if metadata::text(object, "name").is_empty() && !prefix.is_empty() {
            let name = generate_name(prefix, self.registry.environment.as_ref());
            metadata::set(object, "name", name);
        }
    }

    async fn once(&self, mut object: Value, warnings: &mut Vec<String>) -> Result<CreateOutcome> {
        let Creation { registry, target, stored, .. } = *self;
        let (mut reserved, charges) = (Reserved::default(), Charges::default());
        let sent_name = metadata::text(&object, "name").to_owned();
        let refused_name = refused_name(&object).to_owned();
        let namespace = registry.admitting_namespace(target, &refused_name)?;
        check_definition(target, &sent_name)?;
        self.prepare(&mut object, Some(&mut reserved), &charges, warnings).await?;
        if target.resource.namespaced && target.namespace.is_empty() {
            // Its key would be that of an object outside namespaces.
            return Err(Status::bad_request(WITHOUT_NAMESPACE));
        }
        // A webhook may have set a version. Nothing is stored by a dry run, which does not check it.
        if (self.sent_version || has_version(&object)) && !self.options.dry_run {
            return Err(Status::unexplained("resourceVersion should not be set on objects to be created"));
        }
        registry.to_stored(stored, target, &mut object).await?;
        let mut place = stored.clone();
        place.name = metadata::text(&object, "name").to_owned();
        if let Some(existing) = target.cache.get(&place.key()) {
            return Err(exists(&place, &object, existing.encoded.terminating));
        }
        if self.options.dry_run {
            if !self.shown_version.is_empty() {
                metadata::set(&mut object, "resourceVersion", self.shown_version.as_str());
                registry.canonicalize(stored, &mut object);
            }
            return Ok(CreateOutcome::Created(registry.as_read(stored, object)));
        }
        let others = registry.allocation_writes(target, Some(&object), None)?;
        let allocated = others.len();
        let mut charges = charges.take();
        reserved.committing();
        let started = Instant::now();
        let namespace_key = namespace.as_ref().map(|namespace| namespace.key.clone());
        let new = NewObject { target: &place, refused_name: &refused_name, owners: self.owners };
        let outcome = registry.store_new(&new, namespace, &mut object, others, &mut charges).await;
        self.options.context.spent(Step::Commit, started);
        reserved.settled();
        match outcome? {
            Ok(stored) => Ok(CreateOutcome::Created(Payload::Stored(stored))),
            Err(CommitError::Conflict { index: 0, .. }) => Err(exists(&place, &object, false)),
            Err(CommitError::Conflict { index, .. }) if index > allocated => Ok(CreateOutcome::ChargeChanged),
            Err(CommitError::Conflict { .. }) => Ok(CreateOutcome::AllocationTaken),
            Err(CommitError::ConditionFailed { key, .. }) if namespace_key.as_ref() == Some(&key) => {
                Ok(CreateOutcome::NamespaceReplaced)
            }
            Err(error) => Err(commit_failed(&error)),
        }
    }
}

/// Whether an object has a version, as no new one may. A malformed one is dropped, like all fields that clients may not set.
fn has_version(object: &Value) -> bool {
    metadata::text(object, "resourceVersion").parse::<u64>().is_ok_and(|version| version != 0)
}

/// The error for a name that is taken.
fn exists(target: &Target, object: &Value, terminating: bool) -> Status {
    let mut status = Status::already_exists(&target.resource, &target.name);
    // With both a name and generateName, the message says that the name was not generated.
    if !metadata::text(object, "generateName").is_empty() {
        status.message.push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut status.details {
            details.retry_after_seconds = 1;
        }
    }
    if terminating {
        status.message.insert_str(0, "object is being deleted: ");
    }
    status
}
