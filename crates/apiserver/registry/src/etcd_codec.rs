//! `EtcdCodec`: converts between the encoded objects of the cache and kube-apiserver's stored form. Guarantees kube-apiserver's
//! bytes: protobuf in its envelope or JSON, in the storage version, without a resourceVersion. Must never know a resource by
//! name: differences are in its `Storage`.

use crate::defined::is_shown_otherwise;
use crate::selection::field_values;
use crate::{metadata, set_type};
use bytes::Bytes;
use pintle_cache::encoded_object;
use pintle_codec::{Strictness, cbor, json, protobuf};
use pintle_meta::meta::v1::ObjectMeta;
use pintle_resource::{Resources, Storage, StoredVersions, UNDATED, convert_now};
use pintle_schema::{ApiType, Str, Struct, Value, canonicalize};
use pintle_storage::{Store, ValueCodec, ValueCodecError};
use std::any::Any;
use std::fmt::Display;
use std::sync::Arc;

/// The form that stores shared with kube-apiserver keep.
pub struct EtcdCodec {
    /// The stored resources.
    pub resources: Arc<Resources>,
    /// Everything is written as JSON.
    pub json: bool,
    /// Objects of custom kinds are written as CBOR, unless they exceed its limits. They are read in both forms.
    pub custom_as_cbor: bool,
}

impl EtcdCodec {
    pub fn new(resources: Arc<Resources>) -> Self {
        EtcdCodec { resources, json: false, custom_as_cbor: false }
    }

    /// The form that a store keeps, if it keeps this one.
    pub fn of(store: &dyn Store) -> Option<&Self> {
        store.value_codec().and_then(|form| (form as &dyn Any).downcast_ref())
    }

    /// The versions of the resource that a key belongs to.
    fn versions_of(&self, key: &str) -> Result<Arc<StoredVersions>, ValueCodecError> {
        let table = self.resources.read();
        let slashes = key.match_indices('/').map(|(at, _)| at).skip(2).take(2);
        let found = slashes.filter_map(|at| table.stored(&key[..=at])).last();
        found.cloned().ok_or(ValueCodecError::NoResource)
    }

    /// The stored form of a canonical object in the storage version that has no resourceVersion.
    pub(crate) fn encode(&self, storage: &Storage, object: &Value) -> Bytes {
        if self.custom_as_cbor
            && self.is_custom(storage)
            && let Some(stored) = encode_cbor(&storage.schema, object)
        {
            return stored;
        }
        let older = storage.kept_as.as_ref().and_then(|version| self.encode_older(storage, version, object));
        older.unwrap_or_else(|| encode(storage, object, self.json))
    }

    fn is_custom(&self, storage: &Storage) -> bool {
        self.resources.read().stored(&storage.prefix).is_some_and(|stored| stored.hub.custom.is_some())
    }

    /// The same in an earlier version, which servers of earlier releases can read. `None` if the object has no such form: it
    /// is then kept in the storage version.
    fn encode_older(&self, storage: &Storage, version: &Str, object: &Value) -> Option<Bytes> {
        let versions = self.resources.read().stored(&storage.prefix)?.clone();
        let older = versions.versions.iter().find(|resource| resource.api_version() == version.as_str())?;
        let own = older.storage.as_ref()?;
        let mut object = object.clone();
        if let Some(conversion) = own.conversion.as_deref() {
            convert_now(conversion, &mut object, &storage.api_version, version).ok()?;
        }
        set_type(&mut object, version, &older.kind);
        canonicalize(&older.schema, &mut object);
        let kept = Storage { api_version: version.clone(), schema: older.schema.clone(), ..own.clone() };
        Some(encode(&kept, &object, self.json))
    }
}

/// The same in CBOR; `None` if it could not be read again, as more items of a list or a map than fit are rejected.
fn encode_cbor(schema: &Struct, object: &Value) -> Option<Bytes> {
    let mut stored = Vec::with_capacity(1024);
    cbor::encode(schema, object, &mut stored);
    cbor::parse(&stored).is_ok().then(|| Bytes::from(stored))
}

/// kube-apiserver's form of a canonical object in the storage version: protobuf where the kind has it and JSON is not
/// requested.
pub(crate) fn encode(storage: &Storage, object: &Value, as_json: bool) -> Bytes {
    let mut stored = Vec::with_capacity(1024);
    if as_json || storage.json {
        json::encode(object, &mut stored);
        stored.push(b'\n');
    } else {
        protobuf::encode_object(&storage.api_version, &storage.kind, &storage.schema, object, &mut stored);
    }
    Bytes::from(stored)
}

fn unknown(api_version: &str) -> ValueCodecError {
    ValueCodecError::Invalid(format!("no kind is known in version {api_version:?}"))
}

fn wrong(error: impl Display) -> ValueCodecError {
    ValueCodecError::Invalid(error.to_string())
}

impl ValueCodec for EtcdCodec {
    fn encode_stored(&self, key: &str, record: &Bytes) -> Result<Bytes, ValueCodecError> {
        let stored = self.versions_of(key)?;
        let storage = home(&stored)?;
        // What is stored, however it is shown.
        let json = match encoded_object::original(record).map_err(wrong)? {
            Some(original) => original,
            None => encoded_object::object(record).map_err(wrong)?,
        };
        let mut object = json::decode_trusted(&storage.schema, &json).map_err(wrong)?;
        object.remove_at(&["metadata", "resourceVersion"]);
        Ok(self.encode(storage, &object))
    }

    fn decode_stored(&self, key: &str, stored: &Bytes) -> Result<Bytes, ValueCodecError> {
        let versions = self.versions_of(key)?;
        let home = home(&versions)?;
        let (api_version, mut object) = decode(&versions, stored)?;
        let is_home = api_version == home.api_version;
        let written = if is_home { Some(&versions.hub) } else { versions.version(&api_version) };
        let mut stays = false;
        let original = written.and_then(|resource| resource.custom.as_ref()).map(|custom| {
            count_first_generation(&mut object);
            let original = object.clone();
            custom.reread(&mut object);
            original
        });
        match written {
            Some(resource) => {
                if let Some(normalize) = resource.strategy.normalize {
                    normalize(&mut object);
                }
                if !is_home {
                    resource.default(&mut object, UNDATED);
                    let conversion = resource.storage.as_ref().and_then(|own| own.conversion.as_deref());
                    // What has to wait for its conversion stays of its version until it is shown or written.
                    stays = conversion.is_some_and(|conversion| !conversion.is_immediate());
                    if let Some(conversion) = conversion.filter(|_| !stays) {
                        convert_now(conversion, &mut object, &api_version, &home.api_version).map_err(wrong)?;
                    }
                }
            }
            None => {
                let old = versions.hub.unserved(&api_version).ok_or_else(|| unknown(&api_version))?;
                versions.hub.defaults.apply((old.schema)(), &mut object, UNDATED);
                if let Some(convert) = old.to_storage {
                    convert(&mut object);
                }
                if let Some(normalize) = versions.hub.strategy.normalize {
                    normalize(&mut object);
                }
            }
        }
        let schema = &home.schema;
        if !is_home && !stays {
            set_type(&mut object, &home.api_version, &home.kind);
        }
        // Custom resources have the defaults of the version that they are stored in.
        if is_home || versions.hub.custom.is_none() {
            versions.hub.defaults.apply(schema, &mut object, UNDATED);
        }
        if let Some(complete) = versions.hub.strategy.complete_stored {
            complete(&mut object);
        }
        canonicalize(schema, &mut object);
        let original = original.filter(|original| is_shown_otherwise(original, &object));
        let fields = field_values(&versions, &object);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        // Another version is stale whatever its content.
        let is_kept = api_version == home.kept_as.as_ref().unwrap_or(&home.api_version).as_str();
        let is_stale = !is_kept || self.encode(home, &object) != *stored;
        Ok(match original {
            Some(original) => encoded_object::encode_beside(&object, &fields, &original),
            None if is_stale => encoded_object::encode_stale(&object, &fields),
            None => encoded_object::encode(&object, &fields),
        })
    }

    /// A definition may have changed or gone.
    fn may_change(&self, key: &str) -> bool {
        !self.versions_of(key).is_ok_and(|versions| versions.hub.custom.is_none())
    }
}

/// How the storage version of a resource is stored.
fn home(versions: &StoredVersions) -> Result<&Storage, ValueCodecError> {
    versions.hub.storage.as_ref().ok_or_else(|| wrong("no version is stored"))
}

/// The stored object in the version that it was stored in, and that version.
fn decode(versions: &StoredVersions, stored: &[u8]) -> Result<(String, Value), ValueCodecError> {
    // The storage version may be one that is not served, and so may the version of an object from long ago.
    let schema_of = |api_version: &str| {
        let known = versions.versions.iter().find_map(|resource| match &resource.storage {
            Some(storage) if storage.api_version == api_version => Some(&*storage.schema),
            _ if resource.api_version() == api_version => Some(&*resource.schema),
            _ => None,
        });
        known.or_else(|| versions.hub.unserved(api_version).map(|old| (old.schema)()))
    };
    if !stored.starts_with(protobuf::MAGIC) {
        let is_cbor = stored.starts_with(cbor::SELF_DESCRIBED);
        let untyped = match is_cbor {
            true => cbor::parse(stored).map_err(wrong)?,
            false => json::parse(stored, Strictness::Ignore).map_err(wrong)?.value,
        };
        let api_version = untyped.str_at(&["apiVersion"]).to_owned();
        let schema = schema_of(&api_version).ok_or_else(|| unknown(&api_version))?;
        let decoded = match is_cbor {
            true => json::conform_json(schema, untyped.clone(), Strictness::Ignore),
            false => json::decode(schema, stored, Strictness::Ignore),
        };
        let object = match decoded {
            Ok(decoded) => decoded.value,
            Err(_) if versions.hub.custom.is_some() => with_readable_metadata(schema, untyped)?,
            Err(error) => return Err(wrong(error)),
        };
        return Ok((api_version, object));
    }
    let envelope = protobuf::decode_envelope(stored).map_err(wrong)?;
    let schema = schema_of(envelope.api_version).ok_or_else(|| unknown(envelope.api_version))?;
    let mut object = protobuf::decode(schema, envelope.raw).map_err(wrong)?;
    set_type(&mut object, envelope.api_version, envelope.kind);
    Ok((envelope.api_version.to_owned(), object))
}

/// Decodes an object of a custom kind without the fields of its metadata that have values of wrong types: servers of old did not check
/// them.
fn with_readable_metadata(schema: &Struct, mut object: Value) -> Result<Value, ValueCodecError> {
    if let Some(metadata) = object.get_mut("metadata").filter(|metadata| metadata.as_map().is_some()) {
        *metadata = json::conforming_fields(ObjectMeta::schema(), metadata);
    }
    json::conform_json(schema, object, Strictness::Ignore).map(|decoded| decoded.value).map_err(wrong)
}

/// Objects of custom kinds from before there were generations are of the first one.
fn count_first_generation(object: &mut Value) {
    if object.get("metadata").is_some() && metadata::generation(object) == 0 {
        metadata::set(object, "generation", 1);
    }
}

#[cfg(test)]
mod tests;
