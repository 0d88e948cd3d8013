//! Representations: an object, or a list of them, in the form that was negotiated.
//!
//! The common case copies the stored bytes. Everything else is made from the decoded object, and what does not depend
//! on the time of day is kept in the side cache.

pub mod converted;
mod list_metadata;
mod message;
mod partial;
mod rows;
mod splice;

use crate::body::{Body, Size};
use crate::negotiation::{Format, MediaTypeOptions, ResponseKind};
use bytes::Bytes;
use converted::Converted;
use list_metadata::{custom_list_meta, list_meta, typed_list_meta};
use message::message_size;
pub use message::put_message;
pub use partial::partial;
use partial::{MetadataForm, hide, put_partial};
use pintle_cache::{Object, Variant};
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::meta::v1::{PartialObjectMetadata, PartialObjectMetadataList, Table};
use pintle_registry::{Page, Payload, Registry, Result, Status, Target};
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

    /// A list as the body of a response.
    ///
    /// # Errors
    /// A stored object cannot be decoded, or the form does not fit a list.
    pub fn list(&self, page: Page) -> Result<Body> {
        match self.wanted.shape {
            ResponseKind::Object
                if self.wanted == MediaTypeOptions::JSON
                    && self.registry.serves_stored_form(self.target)
                    && self.converted.is_empty() =>
            {
                Ok(if self.target.resource.custom.is_some() { self.spliced_whole(page) } else { self.spliced(page) })
            }
            ResponseKind::Object if self.wanted.format == Format::Protobuf => self.list_protobuf(page),
            ResponseKind::Object => {
                let is_custom = self.target.resource.custom.is_some();
                let mut items = Vec::with_capacity(page.items.len());
                for object in page.items.iter() {
                    let mut item = self.served(&Payload::Stored(object.clone()))?;
                    // Items of built-in lists have no `apiVersion` and `kind`.
                    if !is_custom {
                        let map = item.make_map();
                        map.remove("kind");
                        map.remove("apiVersion");
                    }
                    items.push(item);
                }
                let resource = &self.target.resource;
                let (kind, api_version) = (resource.list_kind().into_owned(), resource.api_version());
                let list = match is_custom {
                    true => value!({
                        "apiVersion": api_version, "items": (Value::List(items)), "kind": kind,
                        "metadata": (custom_list_meta(&page))
                    }),
                    false => value!({
                        "kind": kind, "apiVersion": api_version, "metadata": (typed_list_meta(&page)), "items": (Value::List(items))
                    }),
                };
                Ok(Body::Full(self.finish(&list)))
            }
            ResponseKind::Table if self.wanted.format == Format::Json && !self.wanted.pretty => self.list_table(page),
            ResponseKind::Table => {
                let rows = page.items.iter().map(|object| self.row(&Payload::Stored(object.clone())));
                let rows = rows.collect::<Result<Vec<_>>>()?;
                Ok(Body::Full(self.encode_table(list_meta(&page), rows)))
            }
            ResponseKind::PartialList => self.list_partial(page),
            ResponseKind::Partial => Err(is_a_list(&self.target.resource)),
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
                self.registry.dress(self.target, &mut value);
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

    fn spliced(&self, page: Page) -> Body {
        let resource = &self.target.resource;
        let mut head = Vec::with_capacity(256);
        head.extend_from_slice(
            format!("{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":", resource.kind, resource.api_version())
                .as_bytes(),
        );
        json::encode(&Value::Map(typed_list_meta(&page)), &mut head);
        head.extend_from_slice(b",\"items\":[");
        // Items of built-in lists have no `apiVersion` and `kind`: this prefix of fixed length is cut off.
        let skip = format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", resource.kind, resource.api_version()).len();
        let tail = b"]}\n";
        let items: usize = page.items.iter().map(|object| from(object, skip).len() + 1).sum();
        let total = head.len() + items + page.items.len().saturating_sub(1) + tail.len();
        let mut separator = b"".as_slice();
        let put = move |object: &Object, out: &mut Vec<u8>| {
            out.extend_from_slice(std::mem::replace(&mut separator, b","));
            out.push(b'{');
            out.extend_from_slice(from(object, skip));
        };
        splice::items(page.items, Size::Exactly(total as u64), head, put, tail)
    }

    /// The same for custom resources, whose lists are sorted by field and whose items have `apiVersion` and `kind`.
    fn spliced_whole(&self, page: Page) -> Body {
        let resource = &self.target.resource;
        let head = format!("{{\"apiVersion\":\"{}\",\"items\":[", resource.api_version()).into_bytes();
        let mut tail = format!("],\"kind\":\"{}\",\"metadata\":", resource.list_kind()).into_bytes();
        json::encode(&Value::Map(custom_list_meta(&page)), &mut tail);
        tail.extend_from_slice(b"}\n");
        let items: usize = page.items.iter().map(|object| object.encoded.json().len() + 1).sum();
        let total = head.len() + items.saturating_sub(1) + tail.len();
        let mut separator = b"".as_slice();
        let put = move |object: &Object, out: &mut Vec<u8>| {
            out.extend_from_slice(std::mem::replace(&mut separator, b","));
            out.extend_from_slice(object.encoded.json());
        };
        splice::items(page.items, Size::Exactly(total as u64), head, put, tail)
    }

    fn list_protobuf(&self, page: Page) -> Result<Body> {
        let mut meta = Vec::new();
        protobuf::encode(pintle_meta::meta::v1::ListMeta::schema(), &Value::Map(typed_list_meta(&page)), &mut meta);
        let messages = page.items.iter().map(|object| self.stored_protobuf(object)).collect::<Result<Vec<_>>>()?;
        let raw = message_size(meta.len()) + messages.iter().map(|message| message_size(message.len())).sum::<usize>();
        let resource = &self.target.resource;
        let mut head = Vec::new();
        let tail = protobuf::open_envelope(&resource.api_version(), &format!("{}List", resource.kind), raw, &mut head);
        let total = head.len() + raw + tail.len();
        put_message(&mut head, 1, &meta);
        let mut messages = messages.into_iter();
        let put = move |_: &Object, out: &mut Vec<u8>| {
            messages.next().into_iter().for_each(|message| put_message(out, 2, &message));
        };
        Ok(splice::items(page.items, Size::Buffered(total as u64), head, put, tail))
    }

    fn list_partial(&self, page: Page) -> Result<Body> {
        let is_spliced =
            self.wanted == (MediaTypeOptions { shape: ResponseKind::PartialList, ..MediaTypeOptions::JSON });
        if !is_spliced || !self.converted.is_empty() {
            let items =
                page.items.iter().map(|object| Ok(self.partial(&self.printed(&Payload::Stored(object.clone()))?)));
            let items = items.collect::<Result<Vec<_>>>()?;
            let items = if items.is_empty() { Value::Null } else { Value::List(items) };
            let list = value!({
                "kind": "PartialObjectMetadataList", "apiVersion": (self.wanted.meta_version()), "metadata": (list_meta(&page)), "items": items
            });
            return Ok(Body::Full(encode(&list, PartialObjectMetadataList::schema(), self.wanted)));
        }
        let mut head =
            b"{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":".to_vec();
        json::encode(&Value::Map(list_meta(&page)), &mut head);
        head.extend_from_slice(b",\"items\":");
        if page.items.is_empty() {
            // Unlike other lists: kube-apiserver gathers these items, and gathers nothing.
            head.extend_from_slice(b"null}\n");
            return Ok(Body::Full(head.into()));
        }
        let size: usize = page.items.iter().map(|object| object.encoded.metadata().len() + 80).sum();
        let form = self.metadata_form();
        let mut separator = b"[".as_slice();
        let put = move |object: &Object, out: &mut Vec<u8>| {
            out.extend_from_slice(std::mem::replace(&mut separator, b","));
            put_partial(object, form, out);
        };
        Ok(splice::items(page.items, Size::About(size as u64), head, put, b"]}\n"))
    }

    /// The table row of an object.
    ///
    /// # Errors
    /// The object cannot be converted to the target's version.
    pub fn row(&self, payload: &Payload) -> Result<Value> {
        let object = &self.printed(payload)?;
        let printer = self.printer();
        let mut row = Map::new();
        row.push(Str::new_static("cells"), Value::List(printer.cells(object, &self.now())));
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

    /// A table written row by row.
    fn list_table(&self, page: Page) -> Result<Body> {
        if page.items.is_empty() {
            return Ok(Body::Full(self.encode_table(list_meta(&page), Vec::new())));
        }
        let rows = page.items.iter().map(|object| self.stored_row(object)).collect::<Result<Vec<_>>>()?;
        let size: usize = rows.iter().zip(page.items.iter()).map(|(row, object)| row.size(object)).sum();
        let mut head = Vec::new();
        self.put_table_head(list_meta(&page), true, &mut head);
        let now = self.now();
        let mut rows = rows.into_iter();
        let mut separator = b"".as_slice();
        let put = move |object: &Object, out: &mut Vec<u8>| {
            out.extend_from_slice(std::mem::replace(&mut separator, b","));
            rows.next().into_iter().for_each(|row| row.put(object, now, out));
        };
        Ok(splice::items(page.items, Size::About(size as u64), head, put, b"]}\n"))
    }

    fn encode_table(&self, meta: Map, rows: Vec<Value>) -> Bytes {
        let is_null = rows.is_empty() && self.printer().empty_is_null();
        let mut table = self.table(meta, true, rows);
        if is_null {
            table.set_at(&["rows"], Value::Null);
        }
        encode(&table, Table::schema(), self.wanted)
    }

    fn finish(&self, list: &Value) -> Bytes {
        let schema = &self.target.resource.schema;
        if self.wanted.format == Format::Cbor {
            let mut bytes = Vec::new();
            cbor::encode_list(schema, list, &mut bytes);
            return bytes.into();
        }
        encode(list, schema, self.wanted)
    }

    /// Annotations that are shown in the whole object only.
    fn hidden(&self) -> &'static [&'static str] {
        self.target.stored.hub.hidden_annotations
    }

    /// How the metadata of stored objects are shown alone.
    fn metadata_form(&self) -> MetadataForm {
        MetadataForm { hidden: self.hidden(), is_sorted: self.target.resource.custom.is_some() }
    }

    /// An object's metadata (`PartialObjectMetadata`).
    pub fn partial(&self, object: &Value) -> Value {
        let mut shown = partial(object, self.wanted);
        if let Some(metadata) = shown.get_mut("metadata") {
            hide(metadata, self.hidden());
        }
        shown
    }

    /// Appends the metadata of a stored object alone, spliced from its bytes if it was not converted.
    ///
    /// # Errors
    /// The object cannot be decoded.
    pub fn put_partial(&self, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        match self.converted.has(object) {
            true => json::encode(&self.partial(&self.served(&Payload::Stored(object.clone()))?), out),
            false => put_partial(object, self.metadata_form(), out),
        }
        Ok(())
    }
}

/// The end of a table in JSON.
pub(crate) const TABLE_END: &[u8] = b"]}";

/// The JSON of a stored object without its first `skip` bytes.
fn from(object: &Object, skip: usize) -> &[u8] {
    object.encoded.json().get(skip..).unwrap_or_default()
}

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

/// JSON with two spaces of indentation, as Go's `Indent` writes it.
pub fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let newline = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (at, byte) in json.iter().enumerate() {
        if in_string {
            in_string = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
            out.push(*byte);
            continue;
        }
        match byte {
            b'"' => {
                in_string = true;
                out.push(*byte);
            }
            b'{' | b'[' => {
                out.push(*byte);
                if !matches!(json.get(at + 1), Some(b'}' | b']')) {
                    depth += 1;
                    newline(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(json.get(at.wrapping_sub(1)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    newline(&mut out, depth);
                }
                out.push(*byte);
            }
            b',' => {
                out.push(*byte);
                newline(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests;
