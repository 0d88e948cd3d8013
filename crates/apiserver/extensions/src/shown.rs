//! How messages show parts of a definition: with the field names of kube-apiserver's own structs, absent ones
//! included.

use crate::json_schema::{Dependency, Items, JsonSchema, SchemaOrBool, ValidationRule};
use pintle_schema::{Map, Str, Value};

fn map<const N: usize>(entries: [(&'static str, Value); N]) -> Value {
    Value::Map(Map::from_entries(entries.into_iter().map(|(key, value)| (Str::new_static(key), value)).collect()))
}

fn text(text: &Str) -> Value {
    Value::String(text.clone())
}

fn optional<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Null, Into::into)
}

fn list<T>(items: &[T], show: impl Fn(&T) -> Value) -> Value {
    if items.is_empty() { Value::Null } else { Value::List(items.iter().map(show).collect()) }
}

fn by_name(schemas: &[(Str, JsonSchema)]) -> Value {
    if schemas.is_empty() {
        return Value::Null;
    }
    Value::Map(Map::from_entries(schemas.iter().map(|(name, of)| (name.clone(), schema(of))).collect()))
}

fn schema_or_bool(value: &Option<SchemaOrBool>) -> Value {
    match value {
        None => Value::Null,
        Some(SchemaOrBool::Bool(allows)) => map([("Allows", (*allows).into()), ("Schema", Value::Null)]),
        Some(SchemaOrBool::Schema(of)) => map([("Allows", true.into()), ("Schema", schema(of))]),
    }
}

/// A schema.
pub fn schema(of: &JsonSchema) -> Value {
    map([
        ("ID", text(&of.id)),
        ("Schema", text(&of.dialect)),
        ("Ref", optional(of.reference.clone())),
        ("Description", text(&of.description)),
        ("Type", text(&of.kind)),
        ("Nullable", of.nullable.into()),
        ("Format", text(&of.format)),
        ("Title", text(&of.title)),
        ("Default", optional(of.default.clone())),
        ("Maximum", optional(of.maximum)),
        ("ExclusiveMaximum", of.exclusive_maximum.into()),
        ("Minimum", optional(of.minimum)),
        ("ExclusiveMinimum", of.exclusive_minimum.into()),
        ("MaxLength", optional(of.max_length)),
        ("MinLength", optional(of.min_length)),
        ("Pattern", text(&of.pattern)),
        ("MaxItems", optional(of.max_items)),
        ("MinItems", optional(of.min_items)),
        ("UniqueItems", of.unique_items.into()),
        ("MultipleOf", optional(of.multiple_of)),
        ("Enum", list(&of.values, Value::clone)),
        ("MaxProperties", optional(of.max_properties)),
        ("MinProperties", optional(of.min_properties)),
        ("Required", list(&of.required, text)),
        (
            "Items",
            match &of.items {
                None => Value::Null,
                Some(Items::One(item)) => map([("Schema", schema(item)), ("JSONSchemas", Value::Null)]),
                Some(Items::Each(items)) => map([("Schema", Value::Null), ("JSONSchemas", list(items, schema))]),
            },
        ),
        ("AllOf", list(&of.all_of, schema)),
        ("OneOf", list(&of.one_of, schema)),
        ("AnyOf", list(&of.any_of, schema)),
        ("Not", of.not.as_ref().map_or(Value::Null, |not| schema(not))),
        ("Properties", by_name(&of.properties)),
        ("AdditionalProperties", schema_or_bool(&of.additional_properties)),
        ("PatternProperties", by_name(&of.pattern_properties)),
        ("Dependencies", of.dependencies.as_ref().map_or(Value::Null, |all| dependencies(all))),
        ("AdditionalItems", schema_or_bool(&of.additional_items)),
        ("Definitions", by_name(&of.definitions)),
        (
            "ExternalDocs",
            of.external_docs
                .as_ref()
                .map_or(Value::Null, |docs| map([("Description", text(&docs.description)), ("URL", text(&docs.url))])),
        ),
        ("Example", optional(of.example.clone())),
        ("XPreserveUnknownFields", optional(of.preserve_unknown)),
        ("XEmbeddedResource", of.embedded_resource.into()),
        ("XIntOrString", of.int_or_string.into()),
        ("XListMapKeys", list(&of.list_map_keys, text)),
        ("XListType", optional(of.list_type.clone())),
        ("XMapType", optional(of.map_type.clone())),
        ("XValidations", list(&of.validations, rule)),
    ])
}

fn dependencies(all: &[(Str, Dependency)]) -> Value {
    let entries = all.iter().map(|(name, dependency)| {
        let shown = match dependency {
            Dependency::Schema(of) => map([("Schema", schema(of)), ("Property", Value::Null)]),
            Dependency::Names(names) => map([("Schema", Value::Null), ("Property", list(names, text))]),
        };
        (name.clone(), shown)
    });
    Value::Map(Map::from_entries(entries.collect()))
}

/// A CEL rule.
pub fn rule(of: &ValidationRule) -> Value {
    map([
        ("Rule", text(&of.rule)),
        ("Message", text(&of.message)),
        ("MessageExpression", text(&of.message_expression)),
        ("Reason", optional(of.reason.clone())),
        ("FieldPath", text(&of.field_path)),
        ("OptionalOldSelf", optional(of.optional_old_self)),
    ])
}

fn field(value: &Value, name: &str) -> Value {
    match value.get(name) {
        Some(text @ Value::String(_)) => text.clone(),
        _ => Value::from(""),
    }
}

fn field_or_null(value: &Value, name: &str) -> Value {
    value.get(name).cloned().unwrap_or_default()
}

fn flag(value: &Value, name: &str) -> Value {
    value.get(name).and_then(Value::as_bool).unwrap_or_default().into()
}

fn items(value: &Value, name: &str, show: impl Fn(&Value) -> Value) -> Value {
    list(value.get(name).and_then(Value::as_list).unwrap_or(&[]), show)
}

/// The versions of a definition, in the form that it is stored in.
pub fn versions(spec: &Value) -> Value {
    items(spec, "versions", |version| {
        let of_schema = version.get("schema").filter(|schema| !schema.is_null()).map(|of| {
            let of = of.get("openAPIV3Schema").filter(|schema| !schema.is_null());
            map([("OpenAPIV3Schema", of.map_or(Value::Null, |of| schema(&JsonSchema::from_value(of))))])
        });
        map([
            ("Name", field(version, "name")),
            ("Served", flag(version, "served")),
            ("Storage", flag(version, "storage")),
            ("Deprecated", flag(version, "deprecated")),
            ("DeprecationWarning", field_or_null(version, "deprecationWarning")),
            ("Schema", of_schema.unwrap_or_default()),
            ("Subresources", subresources(version.get("subresources"))),
            (
                "AdditionalPrinterColumns",
                items(version, "additionalPrinterColumns", |column| {
                    map([
                        ("Name", field(column, "name")),
                        ("Type", field(column, "type")),
                        ("Format", field(column, "format")),
                        ("Description", field(column, "description")),
                        ("Priority", column.get("priority").and_then(Value::as_i64).unwrap_or_default().into()),
                        ("JSONPath", field(column, "JSONPath")),
                    ])
                }),
            ),
            ("SelectableFields", items(version, "selectableFields", |of| map([("JSONPath", field(of, "jsonPath"))]))),
        ])
    })
}

fn subresources(value: Option<&Value>) -> Value {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Value::Null };
    let scale = value.get("scale").filter(|scale| !scale.is_null()).map(|scale| {
        map([
            ("SpecReplicasPath", field(scale, "specReplicasPath")),
            ("StatusReplicasPath", field(scale, "statusReplicasPath")),
            ("LabelSelectorPath", field_or_null(scale, "labelSelectorPath")),
        ])
    });
    let status = value.get("status").filter(|status| !status.is_null()).map(|_| Value::map());
    map([("Status", status.unwrap_or_default()), ("Scale", scale.unwrap_or_default())])
}
