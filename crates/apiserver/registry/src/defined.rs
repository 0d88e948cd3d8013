//! Resources that are defined at run time: how a definition's versions take the place of those before, and what becomes of
//! objects that were stored under another definition.
//! Guarantees that the versions of a definition change in one step, which waits for nothing; objects whose conversion has to wait stay of
//! their version, and are converted when they are shown or written. Must never write to the store.

use crate::selection::field_values;
use crate::{Registry, Result, Status, Target, metadata, set_type};
use bytes::Bytes;
use pintle_cache::{Object, encoded_object};
use pintle_codec::json;
use pintle_resource::{Conversion, ConversionError, Found, Resource, convert_now, convert_one};
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
    /// Installs the versions of definitions, and removes versions that are no longer defined. Objects stored under previous
    /// definitions are served by the new ones.
    pub fn install_defined(&self, defined: &[DefinedResource]) {
        let _guard = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        // Installed before their caches, so that objects reported by the store meanwhile are decoded by the new
        // definition.
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
            // Watches of the definition before end, and say nothing of a place that they lose hereafter.
            let storage = of.versions.iter().find_map(|(version, _)| version.storage.as_ref());
            if let Some(cache) = storage.and_then(|storage| self.cache.resource(&storage.prefix)) {
                cache.wake_watches();
            }
            self.reread(of, None, *before != self.selectable_labels(of));
        }
    }

    /// Whether a resource is defined otherwise than it was when this one was made: it has another definition now, or its version is
    /// not served any more. If nothing of it is defined any more, its cache ends.
    pub fn is_redefined(&self, resource: &Resource) -> bool {
        let Some(custom) = &resource.custom else { return false };
        let table = self.resources.read();
        match table.find(&resource.group, &resource.version, &resource.plural) {
            Found::Resource(now) => now
                .custom
                .as_ref()
                .is_none_or(|now| !Arc::ptr_eq(now, custom) && now.fingerprint() != custom.fingerprint()),
            _ => resource.storage.as_ref().is_some_and(|storage| table.stored(&storage.prefix).is_some()),
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
        self.catch_up_main().await?;
        let mut pause = FIRST_PAUSE;
        let mut waited = Duration::ZERO;
        loop {
            self.install_definitions().await;
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
        let fields = target.map(|target| target.stored.selectable.iter().map(|field| field.label.clone()).collect());
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

    /// The record of an object as it is read now; `None` if it is read as it is kept.
    fn record_anew(&self, target: &Target, object: &Object) -> Option<Bytes> {
        let kept = self.decode(target, object).ok()?;
        let (now, original) = self.read_anew(target, object, &kept)?;
        record_of(target, object, &kept, &now, original.as_ref())
    }

    /// A stored object as the target's definition reads it, and as it is stored if that differs; `kept` is how it was read before.
    fn read_anew(&self, target: &Target, object: &Object, kept: &Value) -> Option<(Value, Option<Value>)> {
        let mut original = match object.encoded.original() {
            Some(original) => json::decode_trusted(&target.storage().schema, original).ok()?,
            None => kept.clone(),
        };
        metadata::clear(&mut original, "resourceVersion");
        let version = original.str_at(&["apiVersion"]);
        let written = target.stored.version(version)?;
        let mut now = original.clone();
        if let Some(custom) = &written.custom {
            custom.reread(&mut now);
        }
        // What has to wait for its conversion stays of its version until it is written.
        if let Some(conversion) = conversion_of(target, version).filter(|conversion| conversion.is_immediate()) {
            let storage = target.storage();
            convert_now(conversion, &mut now, version, &storage.api_version).ok()?;
            set_type(&mut now, &storage.api_version, &storage.kind);
        }
        metadata::set(&mut now, "resourceVersion", object.revision.0.to_string());
        canonicalize(&target.storage().schema, &mut now);
        let original = is_shown_otherwise(&original, &now).then_some(original);
        Some((now, original))
    }

    /// A stored object as one version has it; it is converted from the version that it is stored in, and waited for if need be.
    ///
    /// # Errors
    /// It cannot be decoded or converted.
    pub(crate) async fn decode_as(&self, target: &Target, object: &Object, version: &Target) -> Result<Decoded> {
        // A small change of a large object takes long.
        pintle_compute::expect_input(object.encoded.size()).await;
        let mut value = self.decode(target, object)?;
        if target.resource.custom.is_none() {
            return Ok(Decoded { value, stored: None, is_current: true });
        }
        // The cache may not have read it under this definition yet, and a write must not drop what the definition before hid.
        if object.encoded.original().is_some()
            && let Some((now, _)) = self.read_anew(target, object, &value)
        {
            value = now;
        }
        let (storage_version, wanted) = (&target.storage().api_version, &version.storage().api_version);
        let found = value.str_at(&["apiVersion"]).to_owned();
        if found == *wanted {
            return Ok(Decoded { value, stored: None, is_current: found == *storage_version });
        }
        let is_current = found == *storage_version;
        let stored = is_current.then(|| value.clone());
        let conversion = conversion_between(target, &found, wanted)?;
        convert_one(conversion, &mut value, &found, wanted).await.map_err(Status::not_converted)?;
        set_type(&mut value, wanted, &version.resource.kind);
        self.canonicalize(version, &mut value);
        Ok(Decoded { value, stored, is_current })
    }
}

/// A stored object in the version that was asked for.
pub(crate) struct Decoded {
    pub value: Value,
    /// As it is stored, if that is the storage version and another one was asked for.
    pub stored: Option<Value>,
    /// Whether it is stored in the storage version.
    pub is_current: bool,
}

/// How long a request waits until the change of a definition is installed, and how often it looks.
const INSTALLED_WITHIN: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The conversion of objects of a version to and from the storage version; `None` for that itself, and where shapes are equal.
fn conversion_of<'a>(target: &'a Target, version: &str) -> Option<&'a dyn Conversion> {
    let written = target.stored.version(version).filter(|_| version != target.storage().api_version)?;
    written.storage.as_ref()?.conversion.as_deref()
}

/// The conversion between two versions of a kind that was defined at run time.
///
/// # Errors
/// Objects of the first version cannot be converted, as it is not defined any more.
pub fn conversion_between<'a>(target: &'a Target, from: &str, to: &str) -> Result<&'a dyn Conversion> {
    let known = target.stored.version(from).and_then(|_| [from, to].iter().find_map(|one| conversion_of(target, one)));
    known.ok_or_else(|| {
        let why = format!("request to convert CR from an invalid group/version: {from}");
        Status::not_converted(ConversionError(why))
    })
}

/// Whether an object of a custom kind is shown otherwise than it is stored, apart from its metadata and its version: without unknown
/// fields, or with defaults. What is stored is kept then, as the definition may change, or may have changed already in a way that is not
/// known here.
pub(crate) fn is_shown_otherwise(stored: &Value, shown: &Value) -> bool {
    const OF_EVERY_VERSION: [&str; 2] = ["apiVersion", "metadata"];
    let (Some(stored), Some(shown)) = (stored.as_map(), shown.as_map()) else { return true };
    let is_content = |key: &str| !OF_EVERY_VERSION.contains(&key);
    let is_kept = |(key, value): (&Str, &Value)| shown.get(key).is_some_and(|shown| is_equal(value, shown));
    let is_new = |key: &Str| is_content(key) && !stored.contains_key(key);
    !stored.iter().filter(|(key, _)| is_content(key)).all(is_kept) || shown.keys().any(is_new)
}

/// Whether two values are equal, in any order of fields.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| is_equal(value, other)))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (a, b) => a == b,
    }
}

/// A canonical object of the storage version as it will be read after being stored, if that differs: with defaults, and for a custom
/// kind without the nulls that a schema does not allow (an applied configuration may leave some where anything is allowed), and without
/// negative zeros.
pub(crate) fn read_back(target: &Target, object: &Value) -> Option<Value> {
    let Some(custom) = target.stored.hub.custom.as_ref().filter(|_| may_be_read_otherwise(object)) else {
        return target.resource.completed(object);
    };
    let mut read = object.clone();
    custom.reread(&mut read);
    canonicalize(&target.storage().schema, &mut read);
    (read != *object).then_some(read)
}

/// Whether a value has a null, which may mean absence, or a negative zero, whose text is an integer.
fn may_be_read_otherwise(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Float(number) => *number == 0.0 && number.is_sign_negative(),
        Value::Map(map) => map.values().any(may_be_read_otherwise),
        Value::List(items) => items.iter().any(may_be_read_otherwise),
        _ => false,
    }
}

/// The record of an object that decodes to `now`; `None` if the stored record is equal.
fn record_of(target: &Target, object: &Object, kept: &Value, now: &Value, original: Option<&Value>) -> Option<Bytes> {
    let fields = field_values(&target.stored, now);
    let is_changed = now != kept;
    let has_fields = fields.iter().enumerate().all(|(at, value)| object.encoded.field(at) == Some(value))
        && object.encoded.field(fields.len()).is_none();
    if !is_changed && has_fields && original.is_some() == object.encoded.original().is_some() {
        return None;
    }
    // What was shown otherwise is shown as it is stored, where there is no original any more.
    let was_stale = object.encoded.original().is_none() && (is_changed || object.encoded.is_stale);
    let is_stale = was_stale || now.str_at(&["apiVersion"]) != target.storage().api_version;
    let encode = if is_stale { encoded_object::encode_stale } else { encoded_object::encode };
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    Some(match original {
        Some(original) => encoded_object::encode_beside(now, &fields, original),
        None => encode(now, &fields),
    })
}

/// What must hold of the definition of a target's resource when an object is committed that was prepared under it.
pub(crate) fn condition(target: &Target) -> Option<Condition> {
    let defined_by = target.resource.custom.as_ref()?.defined_by();
    Some(Condition { key: defined_by.key().into(), at: Revision(defined_by.revision()) })
}

/// The type of an object that was sent as one of another version or kind than those that were defined at run time. It has its own type
/// until it is completed, and is validated with the errors for it.
pub(crate) fn other_type(target: &Target, object: &Value) -> Option<[String; 2]> {
    let resource = target.resource.custom.as_ref().map(|_| &target.resource)?;
    let (api_version, kind) = (object.str_at(&["apiVersion"]), object.str_at(&["kind"]));
    // Without a group, as kube-apiserver writes it.
    let api_version = api_version.strip_prefix('/').unwrap_or(api_version);
    let is_other = |found: &str, own: &str| !found.is_empty() && found != own;
    let is_of_other = is_other(api_version, &resource.api_version()) || is_other(kind, &resource.kind);
    is_of_other.then(|| [api_version.to_owned(), kind.to_owned()])
}

/// Rejects creates of a kind whose definition is being deleted.
///
/// # Errors
/// It is being deleted.
pub(crate) fn check_definition(target: &Target, name: &str) -> Result<()> {
    if target.resource.custom.as_ref().is_some_and(|custom| custom.is_terminating()) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(&target.resource, name, why));
    }
    Ok(())
}
