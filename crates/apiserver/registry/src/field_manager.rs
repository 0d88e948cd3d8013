//! Field managers: which manager owns which field after a write, kept in `metadata.managedFields`.
//!
//! The apply crate computes the ownership; this module provides kinds, versions and the fields that a strategy resets. It must
//! not reject a write: only apply can, see `apply`.

use crate::known_sets::KnownSets;
use crate::status::Status;
use crate::{Environment, Registry, Target, WriteOptions, metadata, set_type};
use pintle_apply::managed_fields::{Error, Ignored, InvalidEntry, Managed, Versions, Write, is_reset};
use pintle_apply::{FieldSet, PathElement, typed};
use pintle_resource::{Action, Conversion, Path, Resource, convert_one};
use pintle_schema::{Struct, Value, canonicalize, empties, with_shown_empties};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The versions of a resource that are served, as the upkeep of managed fields sees them.
pub(crate) struct KindVersions<'a> {
    versions: Vec<Version>,
    /// Of a kind that was defined at run time.
    is_custom: bool,
    known_sets: &'a KnownSets,
    /// Converted objects, and those still to be converted.
    converted: Mutex<Vec<ConvertedObject>>,
    /// Conversions that failed and are not tried again, by their two versions.
    given_up: Mutex<Vec<(String, String)>>,
}

/// A conversion that failed.
pub(crate) struct FailedConversion {
    pub status: Status,
    /// From and to which version; `None` if none was tried.
    versions: Option<(String, String)>,
}

impl From<Status> for FailedConversion {
    fn from(status: Status) -> Self {
        FailedConversion { status, versions: None }
    }
}

/// An object that is needed in another version.
struct ConvertedObject {
    from: String,
    to: String,
    object: Value,
    /// It in that version, once it has been converted.
    converted: Option<Value>,
}

struct Version {
    api_version: String,
    resource: Arc<Resource>,
    ignored: Ignored,
}

impl<'a> KindVersions<'a> {
    /// The versions of a target's resource, for writes to a subresource ("" for the object itself).
    pub(crate) fn new(registry: &'a Registry, target: &Target, subresource: &str) -> Self {
        let is_custom = target.resource.custom.is_some();
        let version = |resource: &Arc<Resource>| Version {
            api_version: resource.api_version(),
            resource: resource.clone(),
            // Of a custom resource, kube-apiserver resets fields for the version of the request only.
            ignored: match is_custom && resource.version != target.resource.version {
                true => Ignored::Nothing,
                false => ignored(resource, subresource),
            },
        };
        // kube-apiserver knows the types of the legacy group apart from those of all others, so that an event's managers do
        // not survive a write in the other group.
        let is_legacy = |resource: &Resource| resource.group.is_empty();
        let kept = |resource: &&Arc<Resource>| is_legacy(resource) == is_legacy(&target.resource);
        let versions = target.stored.versions.iter().filter(kept).map(version).collect();
        KindVersions {
            versions,
            is_custom,
            known_sets: &registry.known_sets,
            converted: Mutex::default(),
            given_up: Mutex::default(),
        }
    }

    fn find(&self, api_version: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }

    /// Converts the missing objects, in one call for each pair of versions, so that the update of managed fields can be
    /// retried.
    ///
    /// # Errors
    /// A conversion fails, or none was missing.
    pub(crate) async fn convert_missing(&self) -> Result<(), FailedConversion> {
        let mut objects = std::mem::take(&mut *self.converted());
        let mut has_missed = false;
        while let Some(first) = objects.iter().find(|object| object.converted.is_none()) {
            let (from, to) = (first.from.clone(), first.to.clone());
            let is_among =
                |object: &ConvertedObject| object.converted.is_none() && (&object.from, &object.to) == (&from, &to);
            let sent = objects.iter().filter(|object| is_among(object)).map(|object| object.object.clone()).collect();
            let conversion = [&from, &to].into_iter().find_map(|version| self.find(version)?.conversion());
            let conversion = conversion.ok_or_else(|| Status::internal("a version has no conversion"))?;
            let answer = match conversion.convert_unpruned(sent, &from, &to).get().await {
                Ok(answer) => answer,
                Err(error) => {
                    objects.retain(|object| !is_among(object));
                    *self.converted() = objects;
                    let status = Status::not_converted(error);
                    return Err(FailedConversion { status, versions: Some((from, to)) });
                }
            };
            let mut missed: Vec<_> = objects.iter_mut().filter(|object| is_among(object)).collect();
            if answer.len() != missed.len() {
                return Err(Status::internal("a conversion gave another number of objects").into());
            }
            for (object, mut converted) in missed.iter_mut().zip(answer) {
                if let Some(version) = self.find(&to) {
                    set_type(&mut converted, &to, &version.resource.kind);
                    canonicalize(&version.resource.schema, &mut converted);
                }
                object.converted = Some(converted);
            }
            has_missed = true;
        }
        *self.converted() = objects;
        if has_missed { Ok(()) } else { Err(Status::internal("an object cannot be converted").into()) }
    }

    /// Does without a conversion that failed: the managers that need it are left as they are.
    ///
    /// # Errors
    /// What failed was no conversion.
    fn give_up(&self, failed: FailedConversion) -> Result<(), Status> {
        let versions = failed.versions.ok_or(failed.status)?;
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner).push(versions);
        Ok(())
    }

    fn has_given_up(&self, from: &str, to: &str) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.iter().any(|(known_from, known_to)| (known_from.as_str(), known_to.as_str()) == (from, to))
    }

    fn converted(&self) -> std::sync::MutexGuard<'_, Vec<ConvertedObject>> {
        self.converted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object that was converted before; one that was not is remembered as missed.
    fn look_up(&self, object: &Value, from: &Version, to: &Version) -> Option<Value> {
        let (from, to) = (&from.api_version, &to.api_version);
        let mut known = self.converted();
        let is_it = |known: &&ConvertedObject| (&known.from, &known.to, &known.object) == (from, to, object);
        if let Some(found) = known.iter().find(is_it) {
            return found.converted.clone();
        }
        known.push(ConvertedObject { from: from.clone(), to: to.clone(), object: object.clone(), converted: None });
        None
    }
}

impl Version {
    /// Its conversion to and from the storage version; `None` if their shapes are equal.
    fn conversion(&self) -> Option<&dyn Conversion> {
        self.resource.storage.as_ref()?.conversion.as_deref()
    }

    /// Checks that a converted object has only fields that the version declares, and no item of a set twice: others have no owners.
    /// The conversions of built-in kinds produce declared fields only.
    fn check_declared(&self, object: &Value) -> Result<(), Error> {
        match self.resource.custom.is_some() {
            true => Ok(typed::validate(self.resource.merge_schema(), object, typed::Duplicates::Refused)?),
            false => Ok(()),
        }
    }

    fn storage_version(&self) -> &str {
        self.resource.storage.as_ref().map_or("", |storage| &storage.api_version)
    }
}

/// The fields that writes to a subresource reset.
fn ignored(resource: &Resource, subresource: &str) -> Ignored {
    let paths = match resource.subresource(subresource).map(|found| &found.action) {
        Some(Action::Part(part)) => part.reset_fields,
        _ => resource.strategy.reset_fields,
    };
    if paths.is_empty() { Ignored::Nothing } else { Ignored::All(set_of(paths)) }
}

fn set_of(paths: &[Path]) -> FieldSet {
    let mut set = FieldSet::new();
    for path in paths {
        let path: Vec<PathElement> = path.iter().map(|field| PathElement::field(*field)).collect();
        set.insert(&path);
    }
    set
}

impl Versions for KindVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<&Struct> {
        self.find(api_version).map(|version| version.resource.merge_schema())
    }

    fn forget(&self, api_version: &str) -> Result<(), Error> {
        // Also in kube-apiserver such managers stop applies, and updates make it forget all.
        if self.is_custom { Err(Error::UndefinedVersion(api_version.into())) } else { Ok(()) }
    }

    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Error> {
        let (Some(from), Some(to)) = (self.find(from), self.find(to)) else { return Ok(Cow::Borrowed(object)) };
        let (up, down) = (from.conversion(), to.conversion());
        if from.api_version == to.api_version || up.is_none() && down.is_none() {
            return Ok(Cow::Borrowed(object));
        }
        if ![up, down].into_iter().flatten().all(Conversion::is_immediate) {
            if self.has_given_up(&from.api_version, &to.api_version) {
                return Err(Error::Unconvertible);
            }
            let object = self.look_up(object, from, to).ok_or(Error::NotConverted)?;
            to.check_declared(&object)?;
            return Ok(Cow::Owned(object));
        }
        let mut object = object.clone();
        let storage_version = from.storage_version();
        for (conversion, from, to) in
            [(up, from.api_version.as_str(), storage_version), (down, storage_version, to.api_version.as_str())]
        {
            if let Some(conversion) = conversion {
                let converted = conversion.convert_unpruned(vec![object], from, to).now();
                let converted = converted.map_err(|_| Error::NotConverted)?.map_err(|_| Error::NotConverted)?;
                object = converted.into_iter().next().ok_or(Error::NotConverted)?;
            }
        }
        set_type(&mut object, &to.api_version, &to.resource.kind);
        canonicalize(&to.resource.schema, &mut object);
        to.check_declared(&object)?;
        Ok(Cow::Owned(object))
    }

    fn may_mismatch(&self) -> bool {
        self.is_custom
    }

    fn ignored(&self, api_version: &str) -> &Ignored {
        self.find(api_version).map_or(&Ignored::Nothing, |version| &version.ignored)
    }

    fn is_current(&self, schema: &Struct, fields: &Value, look: &dyn Fn() -> bool) -> bool {
        self.known_sets.is_current(schema, fields, look)
    }
}

/// Parts of a sent object that its canonical form does not have.
#[derive(Clone, Copy, Default)]
pub(crate) struct SentFields<'a> {
    /// The managers that it brings.
    pub managed: Option<&'a Value>,
    /// Its empty fields: a client that sends an empty list owns it.
    pub empties: Option<&'a Value>,
}

impl SentFields<'_> {
    /// The managers before a write that replaces an object, if there is one.
    fn managers(&self, subresource: &str, live: Option<&Value>) -> Managed {
        let stored = live.and_then(|live| live.at(&["metadata", MANAGED_FIELDS]));
        match subresource {
            "" => sent_or_stored(self.managed, stored),
            // Managers are the whole object's.
            _ => decode(stored),
        }
    }
}

impl Registry {
    /// Sets the managed fields of a new object, which is complete and of the storage version. Managers that it brings keep
    /// only fields that the object does not have.
    ///
    /// # Errors
    /// The object cannot be had in the target's version.
    pub(crate) async fn track_new(
        &self,
        target: &Target,
        object: &mut Value,
        empties: Option<&Value>,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        self.canonicalize(target, object);
        let managed = object.remove_at(&["metadata", MANAGED_FIELDS]);
        self.track(target, "", None, SentFields { managed: managed.as_ref(), empties }, object, options).await
    }

    /// Sets the managed fields of an object: as an update, if it replaces a live one, given in the target's version. The
    /// object is complete, of the storage version and without managed fields. Fields that cannot be tracked lose their
    /// owners; those of a version that the object cannot be converted to keep them, as no conversion webhook may hold a
    /// write that needs none.
    ///
    /// # Errors
    /// The object cannot be had in the target's version.
    pub(crate) async fn track(
        &self,
        target: &Target,
        subresource: &str,
        live: Option<&Value>,
        sent: SentFields<'_>,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let versions = KindVersions::new(self, target, subresource);
        let api_version = target.resource.api_version();
        let write = Write {
            versions: &versions,
            api_version: &api_version,
            subresource,
            manager: &options.field_manager,
            now: &metadata::now_text(self.environment.as_ref()),
        };
        let mut served = in_served_form(target, object).await?;
        if let Some(shown) = sent.empties.and_then(|sent| with_shown_empties(&target.resource.schema, &served, sent)) {
            served = Cow::Owned(shown);
        }
        let before = match live {
            Some(live) => canonical(target, live),
            None => Cow::Owned(empty(target)),
        };
        let tracked = loop {
            let managed = sent.managers(subresource, live);
            match write.update(&before, &served, managed, live.is_none()) {
                Err(Error::NotConverted) => {
                    if let Err(failed) = versions.convert_missing().await {
                        versions.give_up(failed)?;
                    }
                }
                tracked => break tracked,
            }
        };
        if let Some(entries) = tracked.ok().and_then(Managed::encode) {
            metadata::set(object, MANAGED_FIELDS, entries);
        }
        Ok(())
    }
}

/// A canonical object of the storage version as the target's has it.
async fn in_served_form<'v>(target: &Target, object: &'v Value) -> Result<Cow<'v, Value>, Status> {
    let storage = target.storage();
    let Some(conversion) = &storage.conversion else { return Ok(Cow::Borrowed(object)) };
    let (mut object, version) = (object.clone(), target.resource.api_version());
    convert_one(&**conversion, &mut object, &storage.api_version, &version).await.map_err(Status::not_converted)?;
    canonicalize(&target.resource.schema, &mut object);
    Ok(Cow::Owned(object))
}

/// Conversion leaves fields behind that the version does not have.
fn canonical<'v>(target: &Target, served: &'v Value) -> Cow<'v, Value> {
    let mut served = Cow::Borrowed(served);
    if target.storage().conversion.is_some() {
        canonicalize(&target.resource.schema, served.to_mut());
    }
    served
}

/// An object of the target's version in which nothing is set.
pub(crate) fn empty(target: &Target) -> Value {
    let mut empty = Value::map();
    canonicalize(&target.resource.schema, &mut empty);
    empty
}

/// The one version of an object that needs no conversion.
struct PostedVersion<'a>(&'a Struct);

impl Versions for PostedVersion<'_> {
    fn schema(&self, _: &str) -> Option<&Struct> {
        Some(self.0)
    }

    fn convert<'v>(&self, object: &'v Value, _: &str, _: &str) -> Result<Cow<'v, Value>, Error> {
        Ok(Cow::Borrowed(object))
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

/// Writes managed fields into a new object of one version: one that is posted to a subresource and not stored, or that the
/// server adds to the write of another.
pub fn track_posted(
    schema: &Struct,
    api_version: &str,
    subresource: &str,
    object: &mut Value,
    options: &WriteOptions,
    environment: &dyn Environment,
) {
    metadata::clear(object, MANAGED_FIELDS);
    let mut empty = Value::map();
    let sent = empties(object);
    canonicalize(schema, object);
    canonicalize(schema, &mut empty);
    let now = metadata::now_text(environment);
    let write = Write {
        versions: &PostedVersion(schema),
        api_version,
        subresource,
        manager: &options.field_manager,
        now: &now,
    };
    let shown = sent.and_then(|sent| with_shown_empties(schema, object, &sent));
    let tracked = write.update(&empty, shown.as_ref().unwrap_or(object), Managed::default(), true);
    if let Some(entries) = tracked.ok().and_then(Managed::encode) {
        metadata::set(object, MANAGED_FIELDS, entries);
    }
}

pub(crate) const MANAGED_FIELDS: &str = "managedFields";

/// The managed fields sent by a request, if they are valid; a request may also clear them.
fn sent_or_stored(sent: Option<&Value>, stored: Option<&Value>) -> Managed {
    if sent == stored {
        return decode(stored);
    }
    if is_reset(sent) {
        return Managed::default();
    }
    let sent = sent.and_then(Value::as_list).unwrap_or(&[]);
    match Managed::decode_untrusted(sent) {
        Ok(managed) if !managed.is_empty() => managed,
        _ => decode(stored),
    }
}

fn decode(entries: Option<&Value>) -> Managed {
    decode_stored(entries).unwrap_or_default()
}

/// The managers of a stored object.
pub(crate) fn decode_stored(entries: Option<&Value>) -> Result<Managed, InvalidEntry> {
    Managed::decode(entries.and_then(Value::as_list).unwrap_or(&[]))
}

/// Whether two lists of managers differ in nothing but times.
pub(crate) fn same_but_times(a: Option<&Value>, b: Option<&Value>) -> bool {
    let (Some(a), Some(b)) = (a.and_then(Value::as_list), b.and_then(Value::as_list)) else { return false };
    let same = |a: &Value, b: &Value| {
        let (Some(a), Some(b)) = (a.as_map(), b.as_map()) else { return a == b };
        let fields = |map: &pintle_schema::Map| map.iter().filter(|(key, _)| *key != "time").count();
        fields(a) == fields(b)
            && a.iter().filter(|(key, _)| *key != "time").all(|(key, value)| b.get(key) == Some(value))
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
