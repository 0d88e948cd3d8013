//! Objects and tables that are stored nowhere, in the form that was negotiated, and the errors for forms that do not
//! fit. Guarantees kube-apiserver's messages. Must never read the cache.

use super::indent::indent;
use super::negotiation::{Format, MediaTypeOptions, ResponseKind};
use super::partial::partial;
use bytes::Bytes;
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::meta::v1::PartialObjectMetadata;
use pintle_registry::{Result, Status};
use pintle_resource::{Now, Printer, Resource};
use pintle_schema::{ApiType, Struct, Value, value};

/// The object column of a table's rows (`includeObject`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    None,
    Metadata,
    Object,
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
