//! Field managers of a resource: who owns which field after a write, kept in `metadata.managedFields`.
//!
//! The upkeep itself is the apply crate's; here it is told of kinds, their versions and what a strategy resets. It must not
//! refuse a write: only applying can, see `apply`.

use crate::known_sets::KnownSets;
use crate::{Environment, Registry, Target, WriteOptions, metadata, set_type};
use pintle_apply::managed_fields::{Ignored, InvalidEntry, Managed, Versions, Write, is_reset};
use pintle_apply::{FieldSet, PathElement};
use pintle_resource::{Action, Convert, Path, Resource};
use pintle_schema::{Struct, Value, canonicalize, with_shown_empties};
use std::borrow::Cow;
use std::sync::Arc;

/// The versions of a resource that are served, as the upkeep of managed fields sees them.
pub(crate) struct KindVersions<'a> {
    versions: Vec<Version>,
    known_sets: &'a KnownSets,
}

struct Version {
    api_version: String,
    resource: Arc<Resource>,
    ignored: Ignored,
}

impl<'a> KindVersions<'a> {
    /// The versions of a target's resource, for writes to a subresource ("" for the object itself).
    pub(crate) fn new(registry: &'a Registry, target: &Target, subresource: &str) -> Self {
        let version = |resource: &Arc<Resource>| Version {
            api_version: resource.api_version(),
            resource: resource.clone(),
            ignored: ignored(resource, subresource),
        };
        // The reference knows the types of the legacy group apart from those of all others, so that an event's managers do not
        // survive a write in the other group.
        let is_legacy = |resource: &Resource| resource.group.is_empty();
        let kept = |resource: &&Arc<Resource>| is_legacy(resource) == is_legacy(&target.resource);
        let versions = target.stored.versions.iter().filter(kept).map(version).collect();
        KindVersions { versions, known_sets: &registry.known_sets }
    }

    fn find(&self, api_version: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }
}

/// What writes to a subresource reset.
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
        self.find(api_version).map(|version| &*version.resource.schema)
    }

    fn convert<'v>(&self, object: &'v Value, from: &str, to: &str) -> Cow<'v, Value> {
        let (Some(from), Some(to)) = (self.find(from), self.find(to)) else { return Cow::Borrowed(object) };
        fn convert(version: &Version) -> Option<&Convert> {
            version.resource.storage.as_ref()?.convert.as_ref()
        }
        let (up, down) = (convert(from), convert(to));
        if from.api_version == to.api_version || up.is_none() && down.is_none() {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        if let Some(up) = up {
            (up.to_storage)(&mut object);
        }
        if let Some(down) = down {
            (down.from_storage)(&mut object);
        }
        set_type(&mut object, &to.api_version, &to.resource.kind);
        canonicalize(&to.resource.schema, &mut object);
        Cow::Owned(object)
    }

    fn ignored(&self, api_version: &str) -> &Ignored {
        self.find(api_version).map_or(&Ignored::Nothing, |version| &version.ignored)
    }

    fn is_current(&self, schema: &Struct, fields: &Value, look: &dyn Fn() -> bool) -> bool {
        self.known_sets.is_current(schema, fields, look)
    }
}

/// What came with a new object and is no part of its canonical form.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sent<'a> {
    /// The managers that it brings.
    pub managed: Option<&'a Value>,
    /// What was empty in it: who sends a list without items where others have none at all sets it.
    pub empties: Option<&'a Value>,
}

impl Sent<'_> {
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
    /// Writes the owners of a new object's fields into it. The object is complete and of the storage version. Managers that it
    /// brings keep only what they own of fields that it does not have.
    pub(crate) fn track_new(
        &self,
        target: &Target,
        object: &mut Value,
        empties: Option<&Value>,
        options: &WriteOptions,
    ) {
        self.finish(target, object);
        let managed = object.remove_at(&["metadata", MANAGED_FIELDS]);
        self.track(target, "", None, Sent { managed: managed.as_ref(), empties }, object, options);
    }

    /// Writes the owners of an object's fields into it; after an update when it replaces a live one, as the target's version
    /// shows it. The object is complete, of the storage version and without managers. What cannot be tracked loses its owners.
    pub(crate) fn track(
        &self,
        target: &Target,
        subresource: &str,
        live: Option<&Value>,
        sent: Sent<'_>,
        object: &mut Value,
        options: &WriteOptions,
    ) {
        let versions = KindVersions::new(self, target, subresource);
        let api_version = target.resource.api_version();
        let write = Write {
            versions: &versions,
            api_version: &api_version,
            subresource,
            manager: &options.field_manager,
            now: &metadata::now_text(self.environment.as_ref()),
        };
        let mut served = in_served_form(target, object);
        if let Some(shown) = sent.empties.and_then(|sent| with_shown_empties(&target.resource.schema, &served, sent)) {
            served = Cow::Owned(shown);
        }
        let managed = sent.managers(subresource, live);
        let tracked = match live {
            Some(live) => write.update(&canonical(target, live), &served, managed, false),
            None => write.update(&empty(target), &served, managed, true),
        };
        if let Some(entries) = tracked.ok().and_then(Managed::encode) {
            metadata::set(object, MANAGED_FIELDS, entries);
        }
    }
}

/// A canonical object of the storage version as the target's has it.
fn in_served_form<'v>(target: &Target, object: &'v Value) -> Cow<'v, Value> {
    let Some(convert) = &target.storage().convert else { return Cow::Borrowed(object) };
    let mut object = object.clone();
    (convert.from_storage)(&mut object);
    canonicalize(&target.resource.schema, &mut object);
    Cow::Owned(object)
}

/// Conversion leaves fields behind that the version does not have.
fn canonical<'v>(target: &Target, served: &'v Value) -> Cow<'v, Value> {
    let mut served = Cow::Borrowed(served);
    if target.storage().convert.is_some() {
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

/// The one version of an object that is posted to a subresource and not stored.
struct Posted<'a>(&'a Struct);

impl Versions for Posted<'_> {
    fn schema(&self, _: &str) -> Option<&Struct> {
        Some(self.0)
    }

    fn convert<'v>(&self, object: &'v Value, _: &str, _: &str) -> Cow<'v, Value> {
        Cow::Borrowed(object)
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

/// Writes the owners of what is posted to a subresource into it, as the reference does though nobody will read them.
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
    canonicalize(schema, object);
    canonicalize(schema, &mut empty);
    let now = metadata::now_text(environment);
    let write =
        Write { versions: &Posted(schema), api_version, subresource, manager: &options.field_manager, now: &now };
    let tracked = write.update(&empty, object, Managed::default(), true);
    if let Some(entries) = tracked.ok().and_then(Managed::encode) {
        metadata::set(object, MANAGED_FIELDS, entries);
    }
}

pub(crate) const MANAGED_FIELDS: &str = "managedFields";

/// The managers that a request sends with the whole object, if it sends good ones; it may also ask that there be none.
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
