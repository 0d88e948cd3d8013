//! One object in the form that was negotiated. Guarantees that stored bytes are copied where the form allows it, and
//! that what does not depend on the time of day is kept in the side cache. Must never wait: objects are converted
//! before.

use super::converted::Converted;
use super::document::{IncludeObject, TABLE_END, encode, not_a_list, table};
use super::negotiation::{Format, MediaTypeOptions, ResponseKind};
use super::partial::{MetadataForm, hide, metadata_alone, put_partial};
use bytes::Bytes;
use pintle_cache::{Object, Variant};
use pintle_codec::{json, protobuf};
use pintle_meta::meta::v1::{ObjectMeta, PartialObjectMetadata, Table};
use pintle_registry::{Payload, Registry, Result, Status, Target};
use pintle_resource::{Now, Printer};
use pintle_schema::{ApiType, Map, Str, Value, canonicalize};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Everything needed to show objects of one target.
pub struct ObjectEncoder<'a> {
    pub registry: &'a Registry,
    pub target: &'a Target,
    pub wanted: MediaTypeOptions,
    pub include_object: IncludeObject,
    /// Objects converted in advance; empty where conversion does not wait.
    pub converted: &'a Converted,
}

impl ObjectEncoder<'_> {
    /// One object as the body of a response.
    ///
    /// # Errors
    /// The stored object cannot be decoded, or the form does not fit a single object.
    pub fn object(&self, payload: &Payload) -> Result<Bytes> {
        match (self.wanted.shape, payload) {
            (ResponseKind::Object, Payload::Stored(object)) if self.wanted == MediaTypeOptions::JSON => {
                let json = self.stored_json(object)?;
                let mut bytes = Vec::with_capacity(json.len() + 1);
                bytes.extend_from_slice(&json);
                bytes.push(b'\n');
                Ok(bytes.into())
            }
            (ResponseKind::Object, Payload::Stored(object)) if self.wanted.format == Format::Protobuf => {
                let raw = self.stored_protobuf(object)?;
                let mut bytes = Vec::with_capacity(raw.len() + 64);
                let resource = &self.target.resource;
                protobuf::encode_envelope(&resource.api_version(), &resource.kind, &raw, &mut bytes);
                Ok(bytes.into())
            }
            (ResponseKind::Object, _) => {
                let value = self.served(payload)?;
                Ok(encode(&value, &self.target.resource.schema, self.wanted))
            }
            (ResponseKind::Table, _) => {
                let object = self.printed(payload)?;
                let version = object.str_at(&["metadata", "resourceVersion"]).to_owned();
                let mut meta = Map::new();
                if !version.is_empty() {
                    meta.push(Str::new_static("resourceVersion"), version.into());
                }
                let rows = vec![self.row(payload)?];
                Ok(self.encode_table(meta, rows))
            }
            (ResponseKind::Partial, _) => {
                let object = self.partial(&self.printed(payload)?);
                Ok(encode(&object, PartialObjectMetadata::schema(), self.wanted))
            }
            (ResponseKind::PartialList, _) => {
                Err(not_a_list(&self.target.storage().schema, &self.target.resource.kind))
            }
        }
    }

    /// A stored object as JSON in the target's version, for watches and lists.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn stored_json(&self, object: &Arc<Object>) -> Result<Bytes> {
        if self.registry.serves_stored_form(self.target) && !self.converted.has(object) {
            return Ok(object.encoded.json().clone());
        }
        self.registry.cache.derived.get_or_insert_with(object.id, self.variant(Format::Json), || {
            let value = self.served(&Payload::Stored(object.clone()))?;
            let mut bytes = Vec::new();
            json::encode(&value, &mut bytes);
            Ok(bytes.into())
        })
    }

    /// The protobuf message of a stored object in the target's version, without its envelope.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn stored_protobuf(&self, object: &Arc<Object>) -> Result<Bytes> {
        self.registry.cache.derived.get_or_insert_with(object.id, self.variant(Format::Protobuf), || {
            let value = self.served(&Payload::Stored(object.clone()))?;
            let mut bytes = Vec::new();
            protobuf::encode(&self.target.resource.schema, &value, &mut bytes);
            Ok(bytes.into())
        })
    }

    /// The key of a cached encoding. It includes the version, since versions of a resource share its stored objects.
    fn variant(&self, format: Format) -> Variant {
        let resource = &self.target.resource;
        let mut hasher = DefaultHasher::new();
        // The schema id changes when the schema of a version is replaced.
        (&resource.version, &resource.group, resource.schema.compiled.id(), format as u8).hash(&mut hasher);
        Variant(hasher.finish())
    }

    /// The object in the target's version, canonical.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn served(&self, payload: &Payload) -> Result<Value> {
        let mut value = match self.converted.get(payload) {
            Some(converted) => {
                let mut value = converted.clone();
                self.registry.decorate(self.target, &mut value);
                value
            }
            None if self.registry.serves_stored_form(self.target) => return self.storage_value(payload),
            None => {
                let mut value = self.storage_value(payload)?;
                self.registry.to_served_now(self.target, &mut value)?;
                value
            }
        };
        canonicalize(&self.target.resource.schema, &mut value);
        Ok(value)
    }

    /// What is printed and whose metadata is shown: of kinds that were defined at run time the object in the target's
    /// version, of others as it is stored.
    pub(super) fn printed(&self, payload: &Payload) -> Result<Value> {
        match self.target.resource.custom {
            Some(_) => self.served(payload),
            None => self.storage_value(payload),
        }
    }

    fn storage_value(&self, payload: &Payload) -> Result<Value> {
        match payload {
            Payload::Stored(object) => self.registry.decode(self.target, object),
            Payload::Value(value) => Ok((**value).clone()),
        }
    }

    /// The table row of an object.
    ///
    /// # Errors
    /// The object cannot be converted to the target's version.
    pub fn row(&self, payload: &Payload) -> Result<Value> {
        self.row_at(payload, &self.now())
    }

    /// The same with the ages of a time.
    ///
    /// # Errors
    /// The object cannot be converted to the target's version.
    pub(super) fn row_at(&self, payload: &Payload, now: &Now) -> Result<Value> {
        let object = &self.printed(payload)?;
        let printer = self.printer();
        let mut row = Map::new();
        row.push(Str::new_static("cells"), Value::List(printer.cells(object, now)));
        let conditions = printer.conditions(object).unwrap_or_default();
        if !conditions.is_empty() {
            row.push(Str::new_static("conditions"), Value::List(conditions));
        }
        let shown = match self.include_object {
            IncludeObject::None => Value::Null,
            IncludeObject::Metadata => self.partial(object),
            IncludeObject::Object => self.served(payload)?,
        };
        row.push(Str::new_static("object"), shown);
        Ok(Value::Map(row))
    }

    pub(super) fn printer(&self) -> &dyn Printer {
        match self.target.resource.custom {
            Some(_) => &*self.target.resource.printer,
            None => &*self.target.stored.hub.printer,
        }
    }

    pub(crate) fn now(&self) -> Now {
        Now::At(self.registry.environment.now_unix())
    }

    /// A table, without columns if a stream has already sent them.
    pub fn table(&self, meta: Map, with_columns: bool, rows: Vec<Value>) -> Value {
        table(self.printer(), Value::Map(meta), with_columns, rows, self.wanted)
    }

    /// Appends a table in JSON up to its first row; `TABLE_END` follows the last one.
    pub(crate) fn put_table_head(&self, meta: Map, with_columns: bool, out: &mut Vec<u8>) {
        json::encode(&self.table(meta, with_columns, Vec::new()), out);
        // An empty table ends in the empty list of rows: remove its end.
        out.truncate(out.len().saturating_sub(TABLE_END.len()));
    }

    fn encode_table(&self, meta: Map, rows: Vec<Value>) -> Bytes {
        encode(&self.table(meta, true, rows), Table::schema(), self.wanted)
    }

    /// Annotations that are shown in the whole object only.
    fn hidden(&self) -> &'static [&'static str] {
        self.target.stored.hub.hidden_annotations
    }

    /// How the metadata of stored objects are shown alone.
    pub(super) fn metadata_form(&self) -> MetadataForm {
        let (hidden, version) = (self.hidden(), self.wanted.meta_version());
        MetadataForm { hidden, is_sorted: self.target.resource.custom.is_some(), version }
    }

    /// An object's metadata (`PartialObjectMetadata`).
    pub fn partial(&self, object: &Value) -> Value {
        self.metadata_alone(object.get("metadata").cloned().unwrap_or_else(Value::map))
    }

    fn metadata_alone(&self, mut metadata: Value) -> Value {
        hide(&mut metadata, self.hidden());
        metadata_alone(metadata, self.wanted)
    }

    /// The metadata of a stored object alone, which is not decoded as a whole unless it was converted.
    ///
    /// # Errors
    /// The object cannot be decoded.
    pub(super) fn partial_of(&self, object: &Arc<Object>) -> Result<Value> {
        if self.converted.has(object) {
            return Ok(self.partial(&self.served(&Payload::Stored(object.clone()))?));
        }
        let metadata =
            json::decode_trusted(ObjectMeta::schema(), object.encoded.metadata()).map_err(Status::internal)?;
        Ok(self.metadata_alone(metadata))
    }

    /// Appends the metadata of a stored object alone, spliced from its bytes if it was not converted.
    ///
    /// # Errors
    /// The object cannot be decoded.
    pub fn put_partial(&self, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        match self.converted.has(object) {
            true => json::encode(&self.partial_of(object)?, out),
            false => put_partial(object, self.metadata_form(), out),
        }
        Ok(())
    }
}
