//! Representations: an object, or a list of them, in the form that was negotiated.
//!
//! The common case copies the stored bytes. Everything else is made from the decoded object, and what does not depend
//! on the time of day is kept in the side cache.

mod batches;
pub mod converted;
mod indent;
mod list;
mod list_metadata;
mod message;
mod partial;
mod pieces;
mod rows;

use crate::negotiation::{Format, MediaTypeOptions, ResponseKind};
pub(crate) use batches::batch;
use bytes::Bytes;
use converted::Converted;
use indent::indent;
pub use list::ListEncoder;
pub use message::put_message;
pub use partial::partial;
use partial::{MetadataForm, hide, metadata_alone, put_partial};
use pintle_cache::{Object, Variant};
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::meta::v1::{ObjectMeta, PartialObjectMetadata, Table};
use pintle_registry::{Payload, Registry, Result, Status, Target};
use pintle_resource::Resource;
use pintle_resource::{Now, Printer};
use pintle_schema::{ApiType, Map, Str, Struct, Value, canonicalize, value};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The object column of a table's rows (`includeObject`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    None,
    Metadata,
    Object,
}

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
    fn row_at(&self, payload: &Payload, now: &Now) -> Result<Value> {
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

    fn printer(&self) -> &dyn Printer {
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
    fn metadata_form(&self) -> MetadataForm {
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
    fn partial_of(&self, object: &Arc<Object>) -> Result<Value> {
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

/// The end of a table in JSON.
pub(crate) const TABLE_END: &[u8] = b"]}";

/// Encodes an object that is not stored, whole or as its metadata.
///
/// # Errors
/// The form does not fit a single object.
pub fn made(object: &Value, kind: &str, schema: &Struct, wanted: MediaTypeOptions) -> Result<Bytes> {
    match wanted.shape {
        ResponseKind::Partial => Ok(encode(&partial(object, wanted), PartialObjectMetadata::schema(), wanted)),
        ResponseKind::PartialList => Err(not_a_list(schema, kind)),
        ResponseKind::Object | ResponseKind::Table => Ok(encode(object, schema, wanted)),
    }
}

/// The error for list metadata requested of a single object.
pub fn not_a_list(schema: &Struct, kind: &str) -> Status {
    let ty = go_type(schema, kind);
    if ty == UNSTRUCTURED {
        return Status::unexplained("content is not a list");
    }
    type_is_no_list(&ty)
}

/// The same for an object of one of Go's types.
pub fn type_is_no_list(ty: &str) -> Status {
    let message = format!("you requested PartialObjectMetadataList, but the requested object is not a list (*{ty})");
    Status::new(406, "NotAcceptable", message)
}

/// The error for object metadata requested of a list.
pub fn is_a_list(resource: &Resource) -> Status {
    let schema = resource.storage.as_ref().map_or(&resource.schema, |storage| &storage.schema);
    let ty = go_type(schema, &resource.kind);
    let message = format!("you requested PartialObjectMetadata, but the requested object is a list (*{ty}List)");
    Status::new(406, "NotAcceptable", message)
}

/// kube-apiserver's type of custom resources.
const UNSTRUCTURED: &str = "unstructured.Unstructured";

/// The type that kube-apiserver has for a kind of any version: that of the version it is stored in.
fn go_type(schema: &Struct, kind: &str) -> String {
    match schema.group_version().0 {
        "" => UNSTRUCTURED.to_owned(),
        package => format!("{package}.{kind}"),
    }
}

/// The rows of objects that are stored nowhere.
pub fn made_rows(
    printer: &dyn Printer,
    objects: &[Value],
    include: IncludeObject,
    now_unix: i64,
    wanted: MediaTypeOptions,
) -> Vec<Value> {
    let row = |object: &Value| {
        let shown = match include {
            IncludeObject::None => Value::Null,
            IncludeObject::Metadata => partial(object, wanted),
            IncludeObject::Object => object.clone(),
        };
        value!({"cells": (Value::List(printer.cells(object, &Now::At(now_unix)))), "object": shown})
    };
    objects.iter().map(row).collect()
}

/// A table with a kind's columns, if they are wanted.
pub fn table(
    printer: &dyn Printer,
    meta: Value,
    with_columns: bool,
    rows: Vec<Value>,
    wanted: MediaTypeOptions,
) -> Value {
    let columns = printer.columns().into_iter().map(|column| {
        value!({
            "name": (column.name), "type": (column.ty), "format": (column.format), "description": (column.description),
            "priority": (column.priority)
        })
    });
    let columns = if with_columns { Value::List(columns.collect()) } else { Value::Null };
    value!({
        "kind": "Table", "apiVersion": (wanted.meta_version()), "metadata": meta, "columnDefinitions": columns,
        "rows": (Value::List(rows))
    })
}

/// Encodes a document in the form that was negotiated.
pub fn encode(value: &Value, schema: &Struct, wanted: MediaTypeOptions) -> Bytes {
    match wanted.format {
        Format::Json => {
            let mut bytes = Vec::with_capacity(1024);
            json::encode(value, &mut bytes);
            if wanted.pretty {
                // Indented text ends without a line break.
                return indent(&bytes).into();
            }
            bytes.push(b'\n');
            bytes.into()
        }
        Format::Yaml => yaml::encode(value).into_bytes().into(),
        Format::Cbor => {
            let mut bytes = Vec::with_capacity(1024);
            cbor::encode(schema, value, &mut bytes);
            bytes.into()
        }
        Format::Protobuf => {
            let mut raw = Vec::with_capacity(1024);
            protobuf::encode(schema, value, &mut raw);
            let mut bytes = Vec::with_capacity(raw.len() + 64);
            protobuf::encode_envelope(value.str_at(&["apiVersion"]), value.str_at(&["kind"]), &raw, &mut bytes);
            bytes.into()
        }
    }
}

#[cfg(test)]
mod tests;
