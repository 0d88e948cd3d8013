//! The generic registry: create, get, list, update, patch, delete and watch for every kind.
//!
//! Differences between kinds come from their `Resource` and `Strategy`; nothing here knows a kind by name. The endpoints above
//! parse requests and encode responses; this crate performs the operations.

pub mod admission;
mod allocation;
pub mod apply;
mod awaiting;
pub mod context;
pub mod create;
pub mod defined;
pub mod definitions;
pub mod delete;
mod disabled_fields;
pub mod environment;
mod etcd_codec;
mod field_manager;
mod known_sets;
pub mod list;
pub mod metadata;
mod namespace_condition;
pub mod options;
#[cfg(test)]
mod owners_tests;
pub mod page;
pub mod prepare;
mod request_size;
pub mod resource_path;
pub mod scale;
pub mod selection;
pub mod sharding;
pub mod status;
#[cfg(test)]
mod testing;
pub mod unreadable;
pub mod update;
mod write_environment;
mod writes_of_others;

pub use admission::{
    AdmissionChain, AdmissionObserver, AdmissionPlugin, AdmissionRequest, Admitted, Charge, Charges, Committed,
    NamespaceCheck, Operation, Phase, Reinvocation, RequestRules, RequestSelectors, Rights, read_selector,
};
pub use allocation::{Allocator, Reservation};
pub use apply::ApplyRequest;
pub use context::{Identity, RequestContext, SERVER_USER, Step};
pub use definitions::DefinitionInstaller;
pub use environment::Environment;
pub use etcd_codec::EtcdCodec;
pub use field_manager::track_posted;
pub use list::ListOptions;
pub use options::{AdmissionMode, DeleteOptions, SentOptions, SubresourceView, WriteOptions};
pub use page::{Items, Page};
pub use resource_path::ResourcePath;
pub use selection::Selection;
pub use status::{Cause, Details, Result, Status};
pub use writes_of_others::CacheRevisions;

use pintle_cache::{Cache, EncodedObject, Object, ResourceCache, encoded_object};
use pintle_codec::json;
use pintle_meta::gates;
use pintle_meta::meta::v1::TypeMeta;
use pintle_resource::{Resource, Resources, Storage, StoredVersions, convert_now, convert_one};
use pintle_schema::{Value, names};
use pintle_storage::{CommitError, Expect, Key, Revision, Store, Transaction, ValueCodec, Write};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// All resources with their caches, the store behind them, and the environment.
pub struct Registry {
    pub cache: Arc<Cache>,
    pub store: Arc<dyn Store>,
    pub environment: Box<dyn Environment>,
    pub admission: AdmissionChain,
    /// The allocators of unique values.
    pub allocators: Vec<Arc<dyn Allocator>>,
    /// How often the store is compacted: continue tokens last for one to two intervals.
    pub compaction_interval: Option<Duration>,
    /// Whether lists are as from the cache of kube-apiserver, where one at version 0 is never divided into pages.
    pub watch_cache: bool,
    known_sets: known_sets::KnownSets,
    /// Everything stored after this revision was written by this program.
    opened_at: Revision,
    /// The resources that there are.
    pub resources: Arc<Resources>,
    /// Held while the table and the caches are changed together, so that no resource is served without its cache.
    installing: Mutex<()>,
    /// Installs the resources of stored definitions, if there are definitions.
    definitions: OnceLock<Weak<dyn DefinitionInstaller>>,
}

/// A storage without a place and without fields. `Registry` makes no target that needs it: a mistake there has to cost a request its
/// objects, and not its connection.
static NO_STORAGE: LazyLock<Storage> = LazyLock::new(|| Storage::named::<TypeMeta>("", "", ""));

/// The objects a request is about: a resource, and where in it.
#[derive(Clone)]
pub struct Target {
    pub resource: Arc<Resource>,
    /// The versions of the resource, this one among them.
    pub stored: Arc<StoredVersions>,
    pub cache: Arc<ResourceCache>,
    /// "" for cluster-scoped resources and for all namespaces.
    pub namespace: String,
    /// "" for the collection.
    pub name: String,
    /// Whether errors report unreadable objects.
    pub tells_unreadable: bool,
}

impl Target {
    /// Where and how the resource is stored. Of a resource that stores nothing it is only the form of its objects.
    pub fn storage(&self) -> &Storage {
        self.resource.storage.as_ref().unwrap_or(&NO_STORAGE)
    }

    /// The target in the working version of a write, from decoding to validation: for custom resources the requested
    /// version, for others the storage version.
    pub(crate) fn working(&self) -> Cow<'_, Target> {
        let is_other = self.resource.custom.is_some() && self.storage().conversion.is_some();
        if !is_other {
            return Cow::Borrowed(self);
        }
        // The schema's ID distinguishes this version from others, also from that of a previous definition.
        let working = self.stored.compiled.get_or_insert_with(self.resource.schema.compiled.id(), || {
            let storage = Storage {
                api_version: self.resource.api_version().into(),
                schema: self.resource.schema.clone(),
                conversion: None,
                ..self.storage().clone()
            };
            Resource { storage: Some(storage), ..Resource::clone(&self.resource) }
        });
        Cow::Owned(Target { resource: working, ..self.clone() })
    }

    pub fn key(&self) -> String {
        self.storage().key(&self.namespace, &self.name)
    }

    /// The 404 for an object, or the reason why no object can have its name.
    pub fn not_found(&self) -> Status {
        let faults = names::path_segment_name(&self.name);
        if faults.is_empty() {
            let missing = || Status::not_found(&self.resource, &self.name);
            return self.check_key().err().unwrap_or_else(missing);
        }
        Status::bad_request(format!("Name parameter invalid: {}: {}", names::quoted(&self.name), faults.join(";")))
    }

    /// Checks that the namespace may be a part of a key.
    ///
    /// # Errors
    /// No key can have it, so that there is nothing to look for.
    pub fn check_key(&self) -> Result<()> {
        if !matches!(self.namespace.as_str(), "." | "..") {
            return Ok(());
        }
        let key = self.key();
        let path = key.strip_prefix("/registry").unwrap_or(&key);
        Err(Status::unexplained(format!("invalid key: {}", names::quoted(path.trim_end_matches('/')))))
    }

    /// The stored object.
    ///
    /// # Errors
    /// 404 if it does not exist; another error if it is unreadable.
    pub fn get(&self) -> Result<Arc<Object>> {
        self.cache.get(&self.key()).ok_or_else(|| self.missing())
    }
}

/// An object as an operation leaves it.
#[derive(Clone)]
pub enum Payload {
    /// As it is in the cache or was just committed.
    Stored(Arc<Object>),
    /// In the storage version, not stored: the result of a dry run.
    Value(Box<Value>),
}

/// An object as it is written: as a record, and as the store keeps it where that is another form.
pub(crate) struct Encoded {
    record: bytes::Bytes,
    stored: Option<bytes::Bytes>,
    /// Bytes of kube-apiserver's form, where these can be too many for etcd.
    bytes: Option<usize>,
}

impl Encoded {
    pub fn put(self, key: Key, expect: Expect) -> Write {
        Write { stored: self.stored, ..Write::put(key, expect, self.record) }
    }
}

/// The outcome of a write.
pub struct Written {
    pub payload: Payload,
    pub created: bool,
    pub warnings: Vec<String>,
}

impl Registry {
    pub fn new(
        cache: Arc<Cache>,
        store: Arc<dyn Store>,
        environment: Box<dyn Environment>,
        admission: AdmissionChain,
        resources: Arc<Resources>,
    ) -> Self {
        let form = match EtcdCodec::of(&*store) {
            Some(form) => EtcdCodec { resources: resources.clone(), ..*form },
            None => EtcdCodec::new(resources.clone()),
        };
        cache.set_decode_unannounced(Box::new(move |key, kept| {
            form.decode_stored(key, kept).map_err(|error| error.to_string())
        }));
        Registry {
            opened_at: cache.current(),
            cache,
            store,
            environment,
            admission,
            allocators: Vec::new(),
            compaction_interval: None,
            watch_cache: true,
            known_sets: known_sets::KnownSets::default(),
            resources,
            installing: Mutex::new(()),
            definitions: OnceLock::new(),
        }
    }

    /// Adds a version of a resource, or replaces the one of the same names, and serves its stored objects.
    pub fn install(&self, resource: Arc<Resource>) {
        let _guard = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_announced = |storage: &Storage| self.cache.resource(&storage.prefix).is_some();
        if let Some(storage) = resource.storage.as_ref().filter(|storage| !is_announced(storage)) {
            // Installed before its cache, so that objects reported by the store meanwhile are decoded.
            self.resources.update(|table| table.install(resource.clone(), false));
            self.cache.announce(&storage.prefix, resource.indexed_fields());
        }
        self.resources.update(|table| table.install(resource, true));
    }

    /// Removes a version of a resource: requests for it get 404. Removing the last version ends its watches; its objects
    /// stay in the store.
    pub fn uninstall(&self, group: &str, version: &str, plural: &str) -> bool {
        let _guard = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(resource) = self.resources.read().get(group, version, plural).cloned() else { return false };
        let prefix = resource.storage.as_ref().map(|storage| storage.prefix.clone());
        self.resources.update(|table| {
            table.remove(group, version, plural);
        });
        if let Some(prefix) = prefix.filter(|prefix| self.resources.read().stored(prefix).is_none()) {
            self.cache.withdraw(&prefix);
        }
        true
    }

    /// The target of a request; `None` when the resource stores nothing.
    pub fn target(&self, resource: &Arc<Resource>, namespace: &str, name: &str) -> Option<Target> {
        let storage = resource.storage.as_ref()?;
        let cache = self.cache.resource(&storage.prefix)?;
        let stored = self.resources.read().stored(&storage.prefix).cloned();
        // A request may use a version that was removed after it started.
        let stored = stored.or_else(|| StoredVersions::new(vec![resource.clone()]).map(Arc::new))?;
        let tells_unreadable = self.environment.gates().is_on(&gates::ALLOW_UNSAFE_MALFORMED_OBJECT_DELETION);
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Some(Target { resource: resource.clone(), stored, cache, namespace, name, tells_unreadable })
    }

    /// The target of a resource by its group, version and plural name; `None` when there is no such resource, or it stores
    /// nothing.
    pub fn target_of(&self, [group, version, plural]: [&str; 3], namespace: &str, name: &str) -> Option<Target> {
        let resource = self.resources.read().get(group, version, plural)?.clone();
        self.target(&resource, namespace, name)
    }

    /// The target of the objects under a prefix, in the storage version; `None` when no resource has the prefix.
    pub fn stored_target(&self, prefix: &str, namespace: &str, name: &str) -> Option<Target> {
        let hub = self.resources.read().stored(prefix)?.hub.clone();
        self.target(&hub, namespace, name)
    }

    /// Encodes a canonical object of the storage version for the store, without its resourceVersion and selfLink, together
    /// with its cache record.
    pub(crate) fn encode(&self, target: &Target, object: &mut Value) -> Encoded {
        ["resourceVersion", "selfLink"].iter().for_each(|field| metadata::clear(object, field));
        let stored = EtcdCodec::of(&*self.store).map(|form| form.encode(target.storage(), object));
        let record = match defined::read_back(target, object) {
            None => self.record(target, object),
            // Another definition may have other defaults.
            Some(completed) if target.stored.hub.custom.is_some() => {
                let fields = selection::field_values(&target.stored, &completed);
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                encoded_object::encode_beside(&completed, &fields, object)
            }
            Some(completed) => self.record_as(encoded_object::encode_stale, target, &completed),
        };
        let bytes = match &stored {
            Some(stored) => Some(stored.len()),
            None => request_size::measured(target.storage(), object, record.len()),
        };
        Encoded { record, stored, bytes }
    }

    /// The write that creates an object in the same transaction as another one, without admission and validation. The
    /// transaction fails when the object exists. The object has to be in the storage version, and its fields become the
    /// server's own.
    pub fn creation_write(&self, target: &Target, mut object: Value) -> Write {
        target.resource.default(&mut object, self.environment.now_unix());
        self.set_type_and_namespace(target, &mut object);
        metadata::fill_new(&mut object, self.environment.as_ref());
        self.canonicalize(target, &mut object);
        let (resource, options) = (&target.resource, WriteOptions::of_server("kube-apiserver"));
        let environment = self.environment.as_ref();
        track_posted(&resource.schema, &resource.api_version(), "", &mut object, &options, environment);
        self.encode(target, &mut object).put(target.key().into(), Expect::Absent)
    }

    /// The record of a canonical object under the storage version.
    pub fn record(&self, target: &Target, object: &Value) -> bytes::Bytes {
        self.record_as(encoded_object::encode, target, object)
    }

    fn record_as(&self, encode: fn(&Value, &[&str]) -> bytes::Bytes, target: &Target, object: &Value) -> bytes::Bytes {
        let fields = selection::field_values(&target.stored, object);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        encode(object, &fields)
    }

    /// Whether a stored object is kept otherwise than the same object would be now: before its last defaults, sealed with a
    /// key that is on its way out, or written by another program or another version of this one.
    pub(crate) fn is_stale(&self, target: &Target, stored: &Object, same: &Value) -> bool {
        stored.encoded.is_stale
            || self.store.is_stale(&stored.key)
            || self.may_be_older(stored) && {
                let now = EncodedObject::from_record(&self.record(target, same), stored.revision);
                now.is_ok_and(|now| now != stored.encoded)
            }
    }

    /// Whether another program may have written the object. If the store has another encoding, all objects are encoded here.
    fn may_be_older(&self, stored: &Object) -> bool {
        stored.revision <= self.opened_at && self.store.value_codec().is_none()
    }

    /// The result of a dry run: a canonical object as it would be read after being stored.
    pub(crate) fn as_read(&self, target: &Target, object: Value) -> Payload {
        let read = defined::read_back(target, &object);
        Payload::Value(Box::new(read.unwrap_or(object)))
    }

    /// Commits one object and returns it as stored.
    pub(crate) async fn commit(
        &self,
        target: &Target,
        expect: Expect,
        object: Encoded,
    ) -> std::result::Result<Arc<Object>, CommitError> {
        let committed = self.commit_with(target, expect, object, Transaction::default(), &mut []).await;
        // Only charges are refused.
        committed.unwrap_or_else(|status| Err(CommitError::Invalid(status.message)))
    }

    /// Encodes and commits one object together with other writes, under conditions. If it is too large for etcd or the store, the
    /// commit is retried without managed fields, unless it was applied: apply needs them.
    pub(crate) async fn commit_object(
        &self,
        target: &Target,
        expect: Expect,
        object: &mut Value,
        owners: update::ManagedFieldsUpdate,
        others: Transaction,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        match self.commit_bounded(target, expect, object, others.clone(), charges).await {
            Ok(Err(error)) if owners == update::ManagedFieldsUpdate::Compute && request_size::is_too_large(&error) => {
                metadata::clear(object, field_manager::MANAGED_FIELDS);
                // In a store of its own it was charged before the commit.
                let charges = if self.is_apart(&target.cache.prefix) { &mut [] } else { charges };
                self.commit_bounded(target, expect, object, others, charges).await
            }
            outcome => outcome,
        }
    }

    /// Encodes and commits an object that etcd would take, together with other writes.
    async fn commit_bounded(
        &self,
        target: &Target,
        expect: Expect,
        object: &mut Value,
        others: Transaction,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        let encoded = self.encode(target, object);
        // etcd's own client and server decide by the very message.
        if let Some(bytes) = encoded.bytes.filter(|_| !self.is_shared())
            && let Err(error) = request_size::check(&target.key(), expect, bytes, target.resource.ttl_seconds > 0)
        {
            return Ok(Err(error.into()));
        }
        self.commit_with(target, expect, encoded, others, charges).await
    }

    /// Commits one object together with other writes, under conditions. The object's is the first of the transaction. It fails if
    /// the object was prepared under a definition that has changed since.
    pub(crate) async fn commit_with(
        &self,
        target: &Target,
        expect: Expect,
        object: Encoded,
        others: Transaction,
        charges: &mut [Box<dyn Charge>],
    ) -> Result<std::result::Result<Arc<Object>, CommitError>> {
        let key: Key = target.key().into();
        let record = object.record.clone();
        let unreadable = |error| CommitError::Storage(Arc::new(error));
        // Rejected before the commit: once stored, it would break every list.
        if let Err(error) = encoded_object::check(&record) {
            return Ok(Err(unreadable(error)));
        }
        let Transaction { writes: others, mut conditions } = others;
        let (own, allocated) = (object.put(key.clone(), expect), others.len());
        let is_split = allocated > 0 && self.store.makes_several_revisions();
        let writes = match is_split {
            // What is allocated is there before the object that uses it.
            true => others.into_iter().chain([Write { begins_revision: true, ..own }]).collect(),
            false => [own].into_iter().chain(others).collect(),
        };
        conditions.extend(defined::condition(target));
        // A transaction takes place in one store. Where a condition's key is in another, it can only be looked at before or after.
        conditions.retain(|condition| self.is_in_same_store(&condition.key, &key));
        let committed =
            self.commit_charged(Transaction { writes, conditions }, charges).await?.map_err(|error| match error {
                CommitError::Conflict { index, key, actual } if is_split && index <= allocated => {
                    CommitError::Conflict { index: if index == allocated { 0 } else { index + 1 }, key, actual }
                }
                error => error,
            });
        Ok(committed.and_then(|revision| {
            let encoded = EncodedObject::from_record(&record, revision).map_err(unreadable)?;
            Ok(Arc::new(Object::new(key, target.storage().prefix.len(), revision, encoded)))
        }))
    }

    /// Decodes a stored object under its storage version.
    ///
    /// # Errors
    /// The stored bytes cannot be decoded.
    pub fn decode(&self, target: &Target, object: &Object) -> Result<Value> {
        json::decode_trusted(&target.storage().schema, object.encoded.as_written()).map_err(Status::internal)
    }

    /// Decodes the printed columns of a stored object.
    ///
    /// # Errors
    /// The stored bytes cannot be decoded.
    pub fn decode_printed(&self, target: &Target, object: &Object, unprinted: &[json::Omitted]) -> Result<Value> {
        json::decode_trusted_without(&target.storage().schema, object.encoded.json(), unprinted)
            .map_err(Status::internal)
    }

    /// Converts an object of the storage version to the target's version.
    ///
    /// # Errors
    /// It cannot be converted.
    pub async fn to_served(&self, target: &Target, object: &mut Value) -> Result<()> {
        self.to_version(target, object).await?;
        self.decorate(target, object);
        Ok(())
    }

    /// The same with the fields as they are stored, from which an update begins.
    ///
    /// # Errors
    /// It cannot be converted.
    pub(crate) async fn to_version(&self, target: &Target, object: &mut Value) -> Result<()> {
        let (storage, version) = (target.storage(), target.resource.api_version());
        if let Some(conversion) = &storage.conversion {
            convert_one(&**conversion, object, &storage.api_version, &version).await.map_err(Status::not_converted)?;
        }
        set_type(object, &version, &target.resource.kind);
        Ok(())
    }

    /// The same where nothing has to be waited for.
    ///
    /// # Errors
    /// It cannot be converted, or not without waiting.
    pub fn to_served_now(&self, target: &Target, object: &mut Value) -> Result<()> {
        let storage = target.storage();
        if let Some(conversion) = &storage.conversion {
            let version = target.resource.api_version();
            convert_now(&**conversion, object, &storage.api_version, &version).map_err(Status::not_converted)?;
        }
        self.decorate(target, object);
        Ok(())
    }

    /// An object of the version that it was worked on in, in the storage version.
    ///
    /// # Errors
    /// It cannot be converted.
    pub(crate) async fn to_stored(&self, target: &Target, working: &Target, object: &mut Value) -> Result<()> {
        let (storage, version) = (target.storage(), &working.storage().api_version);
        if let Some(conversion) = storage.conversion.as_ref().filter(|_| *version != storage.api_version) {
            convert_one(&**conversion, object, version, &storage.api_version).await.map_err(Status::not_converted)?;
            set_type(object, &storage.api_version, &storage.kind);
            self.canonicalize(target, object);
        }
        Ok(())
    }

    /// Adds to a converted object its kind and the fields that its strategy adds to served objects.
    pub fn decorate(&self, target: &Target, object: &mut Value) {
        set_type(object, &target.resource.api_version(), &target.resource.kind);
        if let Some(decorate) = target.resource.strategy.decorate {
            decorate(object);
        }
        self.complete_allocated(target, object);
    }

    /// Whether the stored bytes are served unchanged in the target's version.
    pub fn serves_stored_form(&self, target: &Target) -> bool {
        target.resource.api_version() == target.storage().api_version
            && target.resource.kind == target.storage().kind
            && target.resource.strategy.decorate.is_none()
    }

    /// The target of a namespace; `None` where namespaces are no objects.
    pub fn namespace(&self, name: &str) -> Option<Target> {
        let hub = self.resources.read().namespaces()?.hub.clone();
        self.target(&hub, "", name)
    }
}

/// Sets kind and apiVersion, the first fields of every object.
pub fn set_type(object: &mut Value, api_version: &str, kind: &str) {
    let map = object.make_map();
    map.set("kind", kind);
    map.set("apiVersion", api_version);
}

/// The Status for a failed commit that is not a conflict to be retried.
pub(crate) fn commit_failed(error: &CommitError) -> Status {
    match error {
        CommitError::Closed => Status::new(503, "ServiceUnavailable", "the server is shutting down"),
        // Where a server does not end with its store.
        CommitError::Unknown(_) => Status::new(504, "Timeout", error.to_string()),
        // kube-apiserver passes on the message of its store.
        CommitError::Storage(error) => Status::unexplained(error.to_string()),
        CommitError::ConditionFailed { .. } => Status::redefined(),
        error => Status::internal(error),
    }
}
