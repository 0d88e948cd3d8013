//! A type as an OpenAPI schema, in either version.
//!
//! Version 2 has no defaults and no alternatives; in version 3 a reference with a description is wrapped in `allOf`. A type's
//! name is used only to refer to it.

use super::cel::EnabledRules;
use super::common_kinds::CommonKinds;
use super::definitions::{Definition, Kind, scalar_name};
use super::rules::is_pointer;
use super::{Dialect, GROUP_VERSION_KIND, group_version_kind, names, push};
use pintle_meta::meta::v1::TypeMeta;
use pintle_resource::{CustomKind, OpenApiVersion};
use pintle_schema::{
    ApiType, Enum, Field, FieldDefault, Form, Keys, List, ListKind, Map, Presence, Str, Struct, Type, Value, value,
};

/// Writes schemas in one dialect.
pub(crate) struct Schemas<'a> {
    pub dialect: Dialect,
    /// What the kinds of every group are listed for.
    pub common: CommonKinds<'a>,
    /// The validation rules to publish, if any.
    pub rules: Option<EnabledRules<'a>>,
    /// Whether the values of enumerations are left out.
    pub hides_enums: bool,
}

impl Schemas<'_> {
    pub fn definition(&self, definition: &Definition) -> Value {
        match definition {
            Definition::Struct { schema, kind } => self.named_struct(schema, kind.as_ref()),
            Definition::Scalar(ty) => self.named_scalar(ty),
            Definition::Custom { custom, kind } => self.custom(&**custom, kind),
            Definition::List { item, kind, custom } => self.list_of_kind(item, kind, custom.as_deref()),
        }
    }

    fn custom(&self, custom: &dyn CustomKind, kind: &Kind) -> Value {
        let version = match self.dialect {
            Dialect::V2 => OpenApiVersion::V2,
            Dialect::V3 => OpenApiVersion::V3,
        };
        let metadata = self.dialect.reference(&names::meta("ObjectMeta"));
        let mut out = custom.openapi(version, metadata.as_str().unwrap_or_default());
        let map = out.make_map();
        push(map, GROUP_VERSION_KIND, Value::List(vec![group_version_kind(&kind.group, &kind.version, &kind.kind)]));
        push_selectable(map, custom.selectable_paths());
        out
    }

    fn named_struct(&self, schema: &Struct, kind: Option<&Kind>) -> Value {
        let mut out = Map::new();
        describe(&mut out, &schema.doc);
        if matches!(schema.form, Form::Plain | Form::Wrapper) {
            self.object(&mut out, schema);
        }
        if let Some(kind) = kind {
            push(&mut out, GROUP_VERSION_KIND, self.kinds(kind));
        }
        Value::Map(out)
    }

    /// A kind of every group is listed for several.
    fn kinds(&self, kind: &Kind) -> Value {
        let is_common = matches!(kind.kind.as_str(), "DeleteOptions" | "WatchEvent") && kind.group.is_empty();
        let versions = match is_common {
            true => self.common.group_versions(),
            false => vec![(kind.group.as_str(), kind.version.as_str())],
        };
        let kinds = versions.into_iter().map(|(group, version)| group_version_kind(group, version, &kind.kind));
        Value::List(kinds.collect())
    }

    /// The members of an object schema.
    fn object(&self, out: &mut Map, schema: &Struct) {
        push(out, "type", "object");
        let (mut properties, mut required) = (Map::new(), Vec::new());
        schema.each_field(&mut |field| {
            properties.push(field.name.to_key(), self.property(field));
            if field.is_required() || self.rules.as_ref().is_some_and(|rules| rules.demands(field)) {
                required.push(Value::String(field.name.to_key()));
            }
        });
        if !properties.is_empty() {
            push(out, "properties", properties);
        }
        if !required.is_empty() {
            push(out, "required", Value::List(required));
        }
        if schema.atomic {
            push(out, "x-kubernetes-map-type", "atomic");
        }
        if schema.preserve_unknown {
            push(out, "x-kubernetes-preserve-unknown-fields", true);
        }
        if let Some(discriminator) = schema.union {
            push(out, "x-kubernetes-unions", union_of(schema, discriminator));
        }
        if let Some(rules) = &self.rules {
            rules.publish_struct(out, schema);
        }
    }

    fn property(&self, field: &Field) -> Value {
        let mut out = Map::new();
        match &field.ty {
            Type::Enum(named) if named.closed && !self.hides_enums => {
                push(&mut out, "description", described_values(&field.doc, named))
            }
            _ => describe(&mut out, &field.doc),
        }
        self.typed(&mut out, &field.ty);
        if let Some(default) = self.default_of(field) {
            push(&mut out, "default", default);
        }
        if field.nullable && self.dialect == Dialect::V3 && names_nothing(&field.ty) {
            push(&mut out, "nullable", true);
        }
        if let Some(atomic) = field.atomic {
            let key = match &field.ty {
                Type::Bytes => "x-kubernetes-list-type",
                _ => "x-kubernetes-map-type",
            };
            push(&mut out, key, if atomic { "atomic" } else { "granular" });
        }
        if !field.patch_merge_key.is_empty() {
            push(&mut out, "x-kubernetes-patch-merge-key", field.patch_merge_key);
        }
        if !field.patch_strategy.is_empty() {
            push(&mut out, "x-kubernetes-patch-strategy", field.patch_strategy);
        }
        if let Some(rules) = &self.rules {
            rules.publish(&mut out, &field.rules, &field.ty, is_pointer(field));
        }
        self.wrapped(out)
    }

    /// The schema of a list's or map's element, which is never a pointer and so has a default.
    fn element(&self, ty: &Type) -> Value {
        let mut out = Map::new();
        self.typed(&mut out, ty);
        if let Some(default) = zero(ty).filter(|_| self.dialect == Dialect::V3) {
            push(&mut out, "default", default);
        }
        self.wrapped(out)
    }

    /// In version 3, a reference may not have siblings.
    fn wrapped(&self, mut out: Map) -> Value {
        if self.dialect == Dialect::V3 && out.len() > 1 {
            let entries = out.entries_mut();
            if let Some((key, value)) = entries.iter_mut().find(|(key, _)| key == "$ref") {
                let reference = Map::from_entries(vec![(key.clone(), std::mem::take(value))]);
                *key = Str::new_static("allOf");
                *value = Value::List(vec![Value::Map(reference)]);
            }
        }
        Value::Map(out)
    }

    fn typed(&self, out: &mut Map, ty: &Type) {
        match ty {
            Type::Struct(schema) if schema.form == Form::Wrapper => match schema.fields.first() {
                Some(only) => self.typed(out, &only.ty),
                None => push(out, "type", "object"),
            },
            Type::Struct(schema) => match names::of_struct(schema) {
                Some(name) => push(out, "$ref", self.dialect.reference(&name)),
                None => self.object(out, schema),
            },
            Type::List(list) => self.list(out, list),
            Type::Map(map) => {
                push(out, "type", "object");
                push(out, "additionalProperties", self.element(&map.elem));
            }
            Type::Enum(named) => {
                push(out, "type", "string");
                if named.closed && !self.hides_enums {
                    let mut values: Vec<&str> = named.values.iter().map(|value| value.value.as_str()).collect();
                    values.sort_unstable();
                    push(out, "enum", values);
                }
            }
            scalar => match scalar_name(scalar) {
                Some(name) => push(out, "$ref", self.dialect.reference(&name)),
                None => plain_scalar(out, scalar),
            },
        }
    }

    fn list(&self, out: &mut Map, list: &List) {
        push(out, "type", "array");
        push(out, "items", self.element(&list.elem));
        if !list.declared {
            return;
        }
        let kind = match &list.kind {
            ListKind::Atomic => "atomic",
            ListKind::Set => "set",
            ListKind::Map(keys) => {
                push(out, "x-kubernetes-list-map-keys", key_names(keys));
                "map"
            }
        };
        push(out, "x-kubernetes-list-type", kind);
    }

    /// The default of a field: as published, or the zero value that JSON always contains.
    fn default_of(&self, field: &Field) -> Option<Value> {
        if self.dialect == Dialect::V2 {
            return None;
        }
        if let Some(default @ (FieldDefault::Published(_) | FieldDefault::Value(_))) = &field.default {
            return Some(default.to_value());
        }
        match (field.presence, &field.ty) {
            (Presence::Pointer | Presence::PointerAlways, _) => None,
            (_, Type::Struct(_)) | (Presence::Always, _) => zero(&field.ty),
            _ => None,
        }
    }

    /// Types with a form of their own on the wire.
    fn named_scalar(&self, ty: &Type) -> Value {
        let v3 = self.dialect == Dialect::V3;
        match ty {
            Type::Time => value!({
                "description": "A moment in RFC 3339 form, in whole seconds.", "type": "string", "format": "date-time"
            }),
            Type::MicroTime => value!({
                "description": "A moment in RFC 3339 form, in microseconds.", "type": "string", "format": "date-time"
            }),
            Type::Duration => value!({
                "description": "A length of time as a sequence of numbers with units, such as \"1h30m\" or \"250ms\".",
                "type": "string",
            }),
            Type::FieldsV1 => value!({
                "description": "A set of fields as a tree: \"f:name\" is a field, \"k:{keys}\", \"v:value\" and \"i:index\" are items of lists, \".\" is the node itself.",
                "type": "object",
            }),
            Type::Quantity if v3 => value!({
                "description": QUANTITY, "oneOf": [{ "type": "string" }, { "type": "number" }]
            }),
            Type::Quantity => value!({ "description": QUANTITY, "type": "string" }),
            Type::IntOrString if v3 => value!({
                "description": INT_OR_STRING,
                "format": "int-or-string",
                "oneOf": [{ "type": "integer" }, { "type": "string" }],
            }),
            Type::IntOrString => value!({
                "description": INT_OR_STRING, "type": "string", "format": "int-or-string"
            }),
            Type::RawExtension => value!({
                "description": "An object of any kind, kept as it is given.", "type": "object"
            }),
            _ => value!({ "description": "Any JSON value: an object, a list, a string, a number, a boolean or null." }),
        }
    }

    fn list_of_kind(&self, item: &str, kind: &Kind, custom: Option<&dyn CustomKind>) -> Value {
        let mut properties = Map::new();
        // Lists of custom resources have no defaults.
        let has_defaults = self.dialect == Dialect::V3 && custom.is_none();
        let described = |text: &'static str, reference: &str| {
            let mut out = Map::new();
            push(&mut out, "description", text);
            push(&mut out, "$ref", self.dialect.reference(reference));
            if has_defaults {
                push(&mut out, "default", Value::map());
            }
            self.wrapped(out)
        };
        TypeMeta::schema().each_field(&mut |field| properties.push(field.name.to_key(), self.property(field)));
        push(&mut properties, "metadata", described("Metadata of the list.", &names::meta("ListMeta")));
        let mut items = Map::new();
        push(&mut items, "$ref", self.dialect.reference(item));
        if has_defaults {
            push(&mut items, "default", Value::map());
        }
        let items = self.wrapped(items);
        push(
            &mut properties,
            "items",
            value!({
                "description": "The objects of the list.", "type": "array", "items": items
            }),
        );
        let name = kind.kind.strip_suffix("List").unwrap_or(&kind.kind);
        let mut out = value!({
            "description": (format!("A list of {name} objects.")),
            "type": "object",
            "properties": properties,
            "required": ["items"],
            "x-kubernetes-group-version-kind": [(group_version_kind(&kind.group, &kind.version, &kind.kind))],
        });
        push_selectable(out.make_map(), custom.map_or(&[][..], |custom| custom.selectable_paths()));
        out
    }
}

/// A struct as a union of its fields, each with its name in Go.
fn union_of(schema: &Struct, discriminator: &'static str) -> Value {
    let mut members = Vec::new();
    schema.each_field(&mut |field| {
        if field.name.as_str() != discriminator {
            members.push((field.name.to_key(), Value::from(names::capital(&field.name))));
        }
    });
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut out = Map::new();
    if !discriminator.is_empty() {
        push(&mut out, "discriminator", discriminator);
    }
    push(&mut out, "fields-to-discriminateBy", Map::from_entries(members));
    Value::List(vec![Value::Map(out)])
}

/// The fields that selectors may name, of a kind that was defined at run time.
fn push_selectable(out: &mut Map, paths: &[Str]) {
    if !paths.is_empty() {
        let paths = paths.iter().map(|path| value!({"fieldPath": (Value::String(path.clone()))}));
        push(out, "x-kubernetes-selectable-fields", Value::List(paths.collect()));
    }
}

const QUANTITY: &str = "A number with an optional unit: decimal (m, k, M, G, T, P, E), binary (Ki, Mi, Gi, Ti, Pi, Ei) \
                        or an exponent, such as \"250m\", \"1.5Gi\" or \"1e3\". It is stored in its canonical form.";
const INT_OR_STRING: &str = "An integer or a string, such as a port's number or name, or a count or percentage.";

fn describe(out: &mut Map, doc: &str) {
    if !doc.is_empty() {
        push(out, "description", doc);
    }
}

/// The field's documentation followed by that of its values.
fn described_values(doc: &str, named: &Enum) -> String {
    let mut values: Vec<_> = named.values.iter().collect();
    values.sort_unstable_by_key(|value| value.value.as_str());
    let mut text = format!("{doc}\n\nPossible enum values:");
    for value in values {
        text.push_str(&format!("\n - `{:?}` {}", value.value.as_str(), value.doc.replace('\n', " ")));
    }
    text.trim_start().to_owned()
}

/// Whether the type is written in place, not by reference.
fn names_nothing(ty: &Type) -> bool {
    match ty {
        Type::Struct(schema) => names::of_struct(schema).is_none(),
        scalar => scalar_name(scalar).is_none(),
    }
}

fn key_names(keys: &Keys) -> Vec<&str> {
    keys.iter().collect()
}

/// Type and format of a scalar that has no name.
pub(crate) fn plain_scalar(out: &mut Map, ty: &Type) {
    let (name, format) = match ty {
        Type::Bool => ("boolean", ""),
        Type::Int32 => ("integer", "int32"),
        Type::Int64 => ("integer", "int64"),
        Type::Float64 => ("number", "double"),
        Type::Bytes => ("string", "byte"),
        Type::String | Type::Enum(_) => ("string", ""),
        // Anything at all.
        _ => return,
    };
    push(out, "type", name);
    if !format.is_empty() {
        push(out, "format", format);
    }
}

/// The zero value of a type that is published with one.
fn zero(ty: &Type) -> Option<Value> {
    match ty {
        Type::Bool => Some(false.into()),
        Type::Int32 | Type::Int64 | Type::Float64 => Some(0.into()),
        Type::String | Type::Enum(_) => Some("".into()),
        Type::Struct(schema) if schema.form == Form::Plain => Some(Value::map()),
        _ => None,
    }
}
