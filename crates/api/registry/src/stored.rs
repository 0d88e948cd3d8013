//! `KubernetesForm`: objects as kube-apiserver stores them, from and to the images that are used here.
//! Guarantees the reference's bytes: protobuf in its envelope or JSON, in the storage version, without a resourceVersion.
//! Must never know a resource by name: what differs is in its `Storage`.

use crate::selection::field_values;
use crate::set_type;
use bytes::Bytes;
use pintle_cache::image;
use pintle_codec::{Strictness, json, protobuf};
use pintle_kinds::defaults::{self, UNDATED};
use pintle_kinds::internal::internal;
use pintle_kinds::resource::{Resource, Storage};
use pintle_kinds::unserved;
use pintle_schema::{Value, canonicalize};
use pintle_storage::{FormError, StoredForm};
use std::collections::HashMap;
use std::fmt::Display;

/// The form that stores shared with the reference keep.
pub struct KubernetesForm {
    /// All versions of each resource, the storage version first, by storage prefix.
    versions: HashMap<&'static str, Vec<(&'static Resource, &'static Storage)>>,
    /// Everything is written as JSON.
    pub json: bool,
}

impl Default for KubernetesForm {
    fn default() -> Self {
        KubernetesForm::new(pintle_kinds::all().chain(internal()))
    }
}

impl KubernetesForm {
    /// The form of the objects of these resources, all versions of each.
    pub fn new(resources: impl Iterator<Item = &'static Resource>) -> Self {
        let mut versions: HashMap<_, Vec<_>> = HashMap::new();
        for resource in resources {
            if let Some(storage) = &resource.storage {
                versions.entry(storage.prefix).or_default().push((resource, storage));
            }
        }
        for versions in versions.values_mut() {
            versions.sort_by_key(|(resource, storage)| resource.api_version() != storage.api_version);
        }
        KubernetesForm { versions, json: false }
    }

    /// The versions of the resource that a key belongs to.
    fn versions_of(&self, key: &str) -> Result<&[(&'static Resource, &'static Storage)], FormError> {
        let slashes = key.match_indices('/').map(|(at, _)| at).skip(2).take(2);
        let found = slashes.filter_map(|at| self.versions.get(&key[..=at])).last();
        found.map(Vec::as_slice).ok_or_else(|| FormError("no resource is stored there".to_owned()))
    }

    /// The stored form of a canonical object in the storage version that has no resourceVersion.
    pub(crate) fn encode(&self, storage: &Storage, object: &Value) -> Bytes {
        encode(storage, object, self.json)
    }
}

/// The reference's form of a canonical object in the storage version, in protobuf where it has one and no JSON is asked for.
pub(crate) fn encode(storage: &Storage, object: &Value, as_json: bool) -> Bytes {
    let mut stored = Vec::with_capacity(1024);
    if as_json || storage.json {
        json::encode(object, &mut stored);
        stored.push(b'\n');
    } else {
        protobuf::encode_object(storage.api_version, storage.kind, (storage.schema)(), object, &mut stored);
    }
    Bytes::from(stored)
}

fn unknown(api_version: &str) -> FormError {
    FormError(format!("no kind is known in version {api_version:?}"))
}

fn wrong(error: impl Display) -> FormError {
    FormError(error.to_string())
}

impl StoredForm for KubernetesForm {
    fn to_stored(&self, key: &str, record: &Bytes) -> Result<Bytes, FormError> {
        let [(_, storage), ..] = self.versions_of(key)? else { return Err(wrong("no version is stored")) };
        let json = image::object(record).map_err(wrong)?;
        let mut object = json::decode_trusted((storage.schema)(), &json).map_err(wrong)?;
        object.remove_at(&["metadata", "resourceVersion"]);
        Ok(self.encode(storage, &object))
    }

    fn to_used(&self, key: &str, stored: &Bytes) -> Result<Bytes, FormError> {
        let versions = self.versions_of(key)?;
        let [(hub, home), ..] = versions else { return Err(wrong("no version is stored")) };
        let (api_version, mut object) = decode(versions, stored)?;
        let is_other = |(resource, _): &&(&Resource, _)| resource.api_version() == api_version;
        let written = match api_version == home.api_version {
            true => Some(&(*hub, *home)),
            false => versions.iter().find(is_other),
        };
        match written {
            Some((resource, storage)) => {
                if let Some(normalize) = resource.strategy.normalize {
                    normalize(&mut object);
                }
                if api_version != home.api_version {
                    defaults::apply((resource.schema)(), &mut object, UNDATED);
                    if let Some(convert) = &storage.convert {
                        (convert.to_storage)(&mut object);
                    }
                }
            }
            None => {
                let old = unserved::find(home.prefix, &api_version).ok_or_else(|| unknown(&api_version))?;
                defaults::apply((old.schema)(), &mut object, UNDATED);
                if let Some(convert) = old.to_storage {
                    convert(&mut object);
                }
                if let Some(normalize) = hub.strategy.normalize {
                    normalize(&mut object);
                }
            }
        }
        if api_version != home.api_version {
            set_type(&mut object, home.api_version, home.kind);
        }
        let schema = (home.schema)();
        defaults::apply(schema, &mut object, UNDATED);
        canonicalize(schema, &mut object);
        let fields = field_values(hub, &object);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        // Another version is told without a look at the rest.
        let is_stale = api_version != home.api_version || self.encode(home, &object) != *stored;
        let encode = if is_stale { image::encode_stale } else { image::encode };
        Ok(encode(&object, &fields))
    }
}

/// The stored object in the version that it was stored in, and that version.
fn decode(versions: &[(&'static Resource, &'static Storage)], stored: &[u8]) -> Result<(String, Value), FormError> {
    // The storage version may be one that is not served, and so may the version of an object from long ago.
    let schema_of = |api_version: &str| {
        let known = versions.iter().find_map(|(resource, storage)| match () {
            () if storage.api_version == api_version => Some((storage.schema)()),
            () if resource.api_version() == api_version => Some((resource.schema)()),
            () => None,
        });
        let prefix = versions.first().map_or("", |(_, storage)| storage.prefix);
        known.or_else(|| unserved::find(prefix, api_version).map(|old| (old.schema)()))
    };
    if !stored.starts_with(protobuf::MAGIC) {
        let untyped = json::parse(stored, Strictness::Ignore).map_err(wrong)?.value;
        let api_version = untyped.str_at(&["apiVersion"]);
        let schema = schema_of(api_version).ok_or_else(|| unknown(api_version))?;
        let object = json::decode(schema, stored, Strictness::Ignore).map_err(wrong)?.value;
        return Ok((api_version.to_owned(), object));
    }
    let envelope = protobuf::decode_envelope(stored).map_err(wrong)?;
    let schema = schema_of(envelope.api_version).ok_or_else(|| unknown(envelope.api_version))?;
    let mut object = protobuf::decode(schema, envelope.raw).map_err(wrong)?;
    set_type(&mut object, envelope.api_version, envelope.kind);
    Ok((envelope.api_version.to_owned(), object))
}

#[cfg(test)]
mod tests;
