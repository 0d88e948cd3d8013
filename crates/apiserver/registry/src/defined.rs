//! Resources that are defined at run time: how a definition's versions take the place of those before, and what becomes of
//! objects that were stored under another definition.
//! Guarantees that the versions of a definition change in one step, which waits for nothing; objects whose conversion has to wait are
//! converted afterwards, or when they are written. Must never write to the store.

use crate::selection::field_values;
use crate::{Registry, Result, Status, Target, set_type};
use bytes::Bytes;
use pintle_cache::{Object, encoded_object};
use pintle_resource::{Conversion, Found, Resource, convert_now, convert_one};
use pintle_schema::{Str, Value, canonicalize};
use pintle_storage::{Condition, Revision};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The versions of one resource, as its definition gives them.
pub struct DefinedResource {
    /// Each with whether it is served. The storage version is among them.
    pub versions: Vec<(Arc<Resource>, bool)>,
    /// The revision of the definition: objects that were written later were written under it.
    pub defined_at: Revision,
}

impl Registry {
    /// Installs the versions of definitions, and takes out their versions that are defined no more. Objects that were stored
    /// under other definitions are shown as these versions have them.
    pub fn install_defined(&self, defined: &[DefinedResource]) {
        let _guard = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        // Known before their caches, so that what the store reports meanwhile is read in their form.
        let is_new = |resource: &Arc<Resource>| {
            resource.storage.as_ref().is_some_and(|storage| self.cache.resource(&storage.prefix).is_none())
        };
        let new: Vec<bool> = defined.iter().map(|of| of.versions.iter().any(|(version, _)| is_new(version))).collect();
        if new.contains(&true) {
            self.resources.update(|table| {
                let of_new = defined.iter().zip(&new).filter(|(_, is_new)| **is_new).flat_map(|(of, _)| &of.versions);
                of_new.for_each(|(version, _)| table.install(version.clone(), false));
            });
        }
        let before: Vec<Vec<Str>> = defined.iter().map(|of| self.selectable_labels(of)).collect();
        for (of, _) in defined.iter().zip(&new).filter(|(_, is_new)| **is_new) {
            if let Some(storage) = of.versions.iter().find_map(|(version, _)| version.storage.as_ref()) {
                self.cache.announce_since(&storage.prefix, Vec::new(), of.defined_at);
            }
        }
        for (of, _) in defined.iter().zip(&new).filter(|(_, is_new)| **is_new) {
            self.reread(of, Some(of.defined_at), false);
        }
        self.resources.update(|table| {
            for of in defined {
                let Some((first, _)) = of.versions.first() else { continue };
                let stored = first.storage.as_ref().and_then(|storage| table.stored(&storage.prefix)).cloned();
                let known = |version: &Resource| of.versions.iter().any(|(now, _)| now.version == version.version);
                for gone in stored.iter().flat_map(|stored| &stored.versions).filter(|version| !known(version)) {
                    table.remove(&gone.group, &gone.version, &gone.plural);
                }
                of.versions.iter().for_each(|(version, is_served)| table.install(version.clone(), *is_served));
            }
        });
        for ((of, _), before) in defined.iter().zip(&new).zip(&before).filter(|((_, is_new), _)| !**is_new) {
            self.reread(of, None, *before != self.selectable_labels(of));
        }
    }

    /// The resource as its definition is now, once that is installed; `None` if the resource is not served any more.
    ///
    /// # Errors
    /// It is not installed in time, or the store cannot be reached.
    pub async fn redefined(&self, resource: &Resource) -> Result<Option<Arc<Resource>>> {
        let Some(custom) = &resource.custom else { return Ok(None) };
        let key = custom.defined_by().key();
        let prefix = key.rfind('/').map_or("", |slash| &key[..=slash]);
        self.catch_up().await?;
        let mut pause = FIRST_PAUSE;
        let mut waited = Duration::ZERO;
        loop {
            let stored = self.cache.resource(prefix).and_then(|definitions| definitions.get(key));
            let now = match self.resources.read().find(&resource.group, &resource.version, &resource.plural) {
                Found::Resource(now) => Some(now.clone()),
                _ => None,
            };
            let installed = now.as_ref().and_then(|now| now.custom.as_ref()).map(|now| now.defined_by().revision());
            match (stored, installed) {
                (_, None) => return Ok(None),
                (Some(stored), Some(installed)) if installed >= stored.revision.0 => return Ok(now),
                _ if waited >= INSTALLED_WITHIN => return Err(Status::redefined()),
                // It is installed, or taken out, in a moment.
                _ => {
                    self.environment.sleep(pause).await;
                    waited += pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// The field labels by which the objects of a resource are kept, in their order.
    fn selectable_labels(&self, of: &DefinedResource) -> Vec<Str> {
        let target = of.versions.first().and_then(|(version, _)| self.target(version, "", ""));
        let fields =
            target.map(|target| target.stored.hub.selectable.iter().map(|field| field.label.clone()).collect());
        fields.unwrap_or_default()
    }

    /// Encodes again the objects whose representation has changed: those written up to a revision, or all. Watches end if there
    /// are such objects, or if `interrupt` is set.
    fn reread(&self, of: &DefinedResource, up_to: Option<Revision>, interrupt: bool) {
        let Some((first, _)) = of.versions.first() else { return };
        let Some(target) = self.target(first, "", "") else { return };
        let is_concerned = |object: &Object| up_to.is_none_or(|revision| object.revision <= revision);
        // Worked out before the writer of the cache is held up.
        let state = target.cache.state();
        let concerned = state.objects.values().filter(|object| is_concerned(object));
        let ahead: HashMap<u64, Option<Bytes>> =
            concerned.map(|object| (object.id, self.record_anew(&target, object))).collect();
        if ahead.values().all(Option::is_none) && !interrupt && Arc::ptr_eq(&state, &target.cache.state()) {
            return;
        }
        self.cache.reread(&target.cache.prefix, interrupt, &|object| match ahead.get(&object.id) {
            Some(record) => record.clone(),
            None if is_concerned(object) => self.record_anew(&target, object),
            None => None,
        });
    }

    /// The record of an object as it is read now; `None` if it is read as it is kept, or if its conversion has to wait.
    fn record_anew(&self, target: &Target, object: &Object) -> Option<Bytes> {
        let kept = self.decode(target, object).ok()?;
        let mut now = kept.clone();
        if let Some((conversion, version)) = conversion_of(target, &kept) {
            convert_now(conversion, &mut now, version, &target.storage().api_version).ok()?;
        }
        record_of(target, object, &kept, now)
    }

    /// A stored object in the storage version. One that was stored in another version is converted, and waited for if need be.
    ///
    /// # Errors
    /// It cannot be decoded or converted.
    pub(crate) async fn decode_converted(&self, target: &Target, object: &Object) -> Result<Value> {
        let kept = self.decode(target, object)?;
        let Some((conversion, version)) = conversion_of(target, &kept) else { return Ok(kept) };
        let mut now = kept.clone();
        let converted = convert_one(conversion, &mut now, version, &target.storage().api_version).await;
        converted.map_err(Status::not_converted)?;
        bring_up_to_date(target, &mut now);
        Ok(now)
    }

    /// Converts the objects of a resource that were stored in another version, where their conversion has to wait: from then on
    /// they are read in the storage version. Returns whether all are.
    pub async fn convert_stored(&self, prefix: &str) -> bool {
        let Some(target) = self.stored_target(prefix, "", "") else { return true };
        let mut older: HashMap<String, Vec<(Arc<Object>, Value)>> = HashMap::new();
        for object in target.cache.state().objects.values() {
            let Ok(kept) = self.decode(&target, object) else { continue };
            if let Some((_, version)) = conversion_of(&target, &kept) {
                older.entry(version.to_owned()).or_default().push((object.clone(), kept));
            }
        }
        let mut all = true;
        for batch in older.values().flat_map(|objects| objects.chunks(CONVERTED_AT_ONCE)) {
            let Some((conversion, version)) = batch.first().and_then(|(_, kept)| conversion_of(&target, kept)) else {
                continue;
            };
            let values = batch.iter().map(|(_, kept)| kept.clone()).collect();
            let converted = conversion.convert(values, version, &target.storage().api_version).get().await;
            let Some(converted) = converted.ok().filter(|converted| converted.len() == batch.len()) else {
                all = false;
                continue;
            };
            let records = batch.iter().zip(converted).map(|((object, kept), now)| {
                let record = record_of(&target, object, kept, now);
                (object.id, record)
            });
            let records: HashMap<u64, Option<Bytes>> = records.collect();
            self.cache.reread(prefix, false, &|object| records.get(&object.id).cloned().flatten());
        }
        all
    }
}

/// How long a request waits until the change of a definition is installed, and how often it looks.
const INSTALLED_WITHIN: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How many objects a conversion webhook is sent at once.
const CONVERTED_AT_ONCE: usize = 500;

/// The conversion of an object that was stored in another version than the storage version, and that version.
fn conversion_of<'a>(target: &'a Target, kept: &'a Value) -> Option<(&'a dyn Conversion, &'a str)> {
    let version = kept.str_at(&["apiVersion"]);
    if version == target.storage().api_version {
        return None;
    }
    let written = target.stored.versions.iter().find(|resource| resource.api_version() == version)?;
    Some((written.storage.as_ref()?.conversion.as_deref()?, version))
}

/// Makes an object of the storage version one that was written under the definition as it is now.
fn bring_up_to_date(target: &Target, object: &mut Value) {
    let storage = target.storage();
    set_type(object, &storage.api_version, &storage.kind);
    if let Some(custom) = &target.stored.hub.custom {
        custom.reread(object);
    }
    canonicalize(&storage.schema, object);
}

/// The record of an object that is read as `now`; `None` if that is as it is kept.
fn record_of(target: &Target, object: &Object, kept: &Value, mut now: Value) -> Option<Bytes> {
    bring_up_to_date(target, &mut now);
    let fields = field_values(&target.stored.hub, &now);
    let is_changed = now != *kept;
    let has_fields = fields.iter().enumerate().all(|(at, value)| object.encoded.field(at) == Some(value))
        && object.encoded.field(fields.len()).is_none();
    if !is_changed && has_fields {
        return None;
    }
    let encode = match is_changed || object.encoded.is_stale {
        true => encoded_object::encode_stale,
        false => encoded_object::encode,
    };
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    Some(encode(&now, &fields))
}

/// What must hold of the definition of a target's resource when an object is committed that was prepared under it.
pub(crate) fn condition(target: &Target) -> Option<Condition> {
    let defined_by = target.resource.custom.as_ref()?.defined_by();
    Some(Condition { key: defined_by.key().into(), at: Revision(defined_by.revision()) })
}

/// Nothing is created of a kind whose definition is being deleted.
///
/// # Errors
/// It is.
pub(crate) fn check_definition(target: &Target, name: &str) -> Result<()> {
    if target.resource.custom.as_ref().is_some_and(|custom| custom.is_terminating()) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(&target.resource, name, why));
    }
    Ok(())
}
