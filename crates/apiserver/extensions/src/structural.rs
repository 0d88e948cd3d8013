//! Whether a schema is structural: types are declared outside of logical junctors.
//!
//! Returns kube-apiserver's messages, sorted as there. Called for new definitions, and for stored ones, whose condition
//! `NonStructuralSchema` they are in. Must never look at values.

use crate::json_schema::{Items, JsonSchema, SchemaOrBool};
use crate::pattern;
use pintle_validation::{ErrorList, FieldPath};

/// Why a schema has no structural form at all, in the words of kube-apiserver.
///
/// # Errors
/// It uses a keyword that such a form has no place for.
pub fn convertible(schema: &JsonSchema) -> Result<(), String> {
    unsupported(schema)?;
    logical(schema)?;
    preserves(schema)?;
    match &schema.items {
        Some(Items::Each(items)) if !items.is_empty() => return Err(ITEMS_ARE_A_LIST.to_owned()),
        Some(Items::One(item)) => convertible(item)?,
        _ => {}
    }
    schema.properties.iter().try_for_each(|(_, property)| convertible(property))?;
    schema.additional().map_or(Ok(()), convertible)
}

/// Whether a schema is structural, and states known types only. Others are stored with definitions from before there were structural
/// schemas; apply and OpenAPI take them for no schema.
pub fn describes(schema: &JsonSchema) -> bool {
    is_structural(schema) && !schema.any(&mut |schema| !is_valid_type(&schema.kind))
}

/// Whether a schema is structural.
pub fn is_structural(schema: &JsonSchema) -> bool {
    convertible(schema).is_ok() && validate(schema, &FieldPath::ROOT).is_empty()
}

/// The types that a schema may state, in the order in which messages list them.
pub const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Whether a schema may state a type; "" is none.
pub fn is_valid_type(kind: &str) -> bool {
    kind.is_empty() || TYPES.contains(&kind)
}

const ITEMS_ARE_A_LIST: &str = "OpenAPIV3Schema 'items' must be a schema, but is an array";

/// The schemas below `not`, `allOf`, `anyOf` and `oneOf`.
fn logical(schema: &JsonSchema) -> Result<(), String> {
    let junctors = schema.all_of.iter().chain(&schema.any_of).chain(&schema.one_of);
    schema.not.iter().map(|not| &**not).chain(junctors).try_for_each(convertible)
}

fn preserves(schema: &JsonSchema) -> Result<(), String> {
    match schema.preserve_unknown {
        Some(false) => {
            Err("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned())
        }
        _ => Ok(()),
    }
}

fn unsupported(schema: &JsonSchema) -> Result<(), String> {
    let keywords = [
        ("id", !schema.id.is_empty()),
        ("schema", !schema.dialect.is_empty()),
        ("$ref", schema.reference.as_ref().is_some_and(|reference| !reference.is_empty())),
        ("patternProperties", !schema.pattern_properties.is_empty()),
        ("dependencies", schema.dependencies.as_ref().is_some_and(|all| !all.is_empty())),
        ("additionalItems", schema.additional_items.is_some()),
        ("definitions", !schema.definitions.is_empty()),
    ];
    match keywords.into_iter().find(|(_, used)| *used) {
        Some((keyword, _)) => Err(format!("OpenAPIV3Schema '{keyword}' is not supported")),
        None => Ok(()),
    }
}

/// The level of a schema within an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The errors of a schema that is not structural.
pub fn validate(schema: &JsonSchema, path: &FieldPath<'_>) -> ErrorList {
    let mut errors = ErrorList::default();
    invariants(schema, Level::Root, path, &mut errors);
    complete(schema, Some(schema), path, path, &mut errors);
    errors.0.sort_by_cached_key(|error| error.line());
    errors
}

fn invariants(schema: &JsonSchema, level: Level, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let item = schema.item();
    if schema.kind == "array" && item.is_none() {
        errors.required(path.child("items"), "must be specified");
    }
    if let Some(item) = item {
        invariants(item, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        invariants(property, Level::Field, &path.child("properties").key(name), errors);
    }
    if let Some(additional) = &schema.additional_properties {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.forbidden(path, "must not be used at the root");
        }
        if let SchemaOrBool::Schema(additional) = additional {
            invariants(additional, Level::Field, &path, errors);
        }
    }
    extensions(schema, path, errors);
    values(schema, is_int_or_string(&schema.any_of), has_int_or_string(schema), path, errors);
    type_of(schema, level, path, errors);
    metadata_of(schema, level, path, errors);
    if schema.embedded_resource && !schema.preserves_unknown() && schema.properties.is_empty() {
        let detail =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.required(path.child("properties"), detail);
    }
}

fn extensions(schema: &JsonSchema, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    if schema.int_or_string && schema.preserves_unknown() {
        errors.invalid(path.child("x-kubernetes-preserve-unknown-fields"), true, detail);
    }
    if schema.int_or_string && schema.embedded_resource {
        errors.invalid(path.child("x-kubernetes-embedded-resource"), true, detail);
    }
}

fn type_of(schema: &JsonSchema, level: Level, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let kind = path.child("type");
    if schema.embedded_resource && schema.kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        match schema.kind.as_str() {
            "" => errors.required(kind, detail),
            other => errors.invalid(kind, other, detail),
        }
    } else if schema.kind.is_empty() && !schema.int_or_string && !schema.preserves_unknown() {
        errors.required(
            kind,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        );
    }
    if schema.embedded_resource && schema.additional_properties.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(path.child("additionalProperties"), detail);
    }
    if level == Level::Root && !schema.kind.is_empty() && schema.kind != "object" {
        errors.invalid(kind, schema.kind.clone(), "must be object at the root");
    }
}

/// Validates the schema of object metadata.
fn metadata_of(schema: &JsonSchema, level: Level, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let is_object = level == Level::Root || schema.embedded_resource;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema.property(name).filter(|property| is_object && property.kind != "string") {
            errors.invalid(properties.key(name).child("type"), property.kind.clone(), "must be string");
        }
    }
    let Some(metadata) = schema.property("metadata") else { return };
    let path = properties.key("metadata");
    if is_object && metadata.kind != "object" {
        errors.invalid(path.child("type"), metadata.kind.clone(), "must be object");
    }
    if level == Level::Root && says_more_than_names(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.forbidden(path, detail);
    }
}

fn says_more_than_names(metadata: &JsonSchema) -> bool {
    let only_names = metadata.properties.iter().all(|(name, _)| name == "name" || name == "generateName");
    let mut rest = JsonSchema { kind: Default::default(), default: None, ..without_empty(metadata) };
    if only_names {
        rest.properties.clear();
    }
    rest != JsonSchema::default()
}

/// A schema without the empty keywords that a structural form has no place for.
fn without_empty(schema: &JsonSchema) -> JsonSchema {
    JsonSchema {
        reference: schema.reference.clone().filter(|reference| !reference.is_empty()),
        dependencies: schema.dependencies.clone().filter(|all| !all.is_empty()),
        ..schema.clone()
    }
}

/// Whether the schemas are the allowed form of "an integer or a string" with `x-kubernetes-int-or-string`.
fn is_int_or_string(any_of: &[JsonSchema]) -> bool {
    let is = |schema: &JsonSchema, kind: &str| {
        let rest = JsonSchema { kind: Default::default(), ..without_empty(schema) };
        schema.kind == kind && rest == JsonSchema::default()
    };
    matches!(any_of, [integer, string] if is(integer, "integer") && is(string, "string"))
}

/// Whether a schema spells "an integer or a string" itself, in one of the two ways that it may.
pub(crate) fn says_int_or_string(schema: &JsonSchema) -> bool {
    is_int_or_string(&schema.any_of) || has_int_or_string(schema)
}

fn has_int_or_string(schema: &JsonSchema) -> bool {
    schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of))
}

fn values(
    schema: &JsonSchema,
    skip_any_of: bool,
    skip_first_any_of: bool,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    if !skip_any_of {
        each("anyOf", &schema.any_of, path, &mut |clause, path, _| nested_values(clause, false, path, errors));
    }
    each("allOf", &schema.all_of, path, &mut |clause, path, at| {
        nested_values(clause, skip_first_any_of && at == 0, path, errors);
    });
    each("oneOf", &schema.one_of, path, &mut |clause, path, _| nested_values(clause, false, path, errors));
    if let Some(not) = &schema.not {
        nested_values(not, false, &path.child("not"), errors);
    }
    if !schema.pattern.is_empty()
        && let Err(error) = pattern::check(&schema.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.invalid(path.child("pattern"), schema.pattern.clone(), detail);
    }
}

fn each(
    name: &str,
    clauses: &[JsonSchema],
    path: &FieldPath<'_>,
    visit: &mut dyn FnMut(&JsonSchema, &FieldPath<'_>, usize),
) {
    let path = path.child(name);
    clauses.iter().enumerate().for_each(|(at, clause)| visit(clause, &path.index(at), at));
}

/// A schema inside a logical junctor: it may have value validations, but no structural keywords.
fn nested_values(schema: &JsonSchema, skip_any_of: bool, path: &FieldPath<'_>, errors: &mut ErrorList) {
    values(schema, skip_any_of, false, path, errors);
    if let Some(item) = schema.item() {
        nested_values(item, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        nested_values(property, false, &path.child("properties").key(name), errors);
    }
    const EMPTY: &str = "must be empty to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FALSE: &str = "must be false to be structural";
    let is_open = matches!(&schema.additional_properties, Some(SchemaOrBool::Schema(_) | SchemaOrBool::Bool(true)));
    let wrong = [
        ("type", !schema.kind.is_empty(), EMPTY),
        ("additionalProperties", is_open, UNDEFINED),
        ("default", schema.default.is_some(), UNDEFINED),
        ("title", !schema.title.is_empty(), EMPTY),
        ("description", !schema.description.is_empty(), EMPTY),
        ("nullable", schema.nullable, FALSE),
        ("x-kubernetes-preserve-unknown-fields", schema.preserves_unknown(), FALSE),
        ("x-kubernetes-embedded-resource", schema.embedded_resource, FALSE),
        ("x-kubernetes-int-or-string", schema.int_or_string, FALSE),
        ("x-kubernetes-list-map-keys", !schema.list_map_keys.is_empty(), EMPTY),
        ("x-kubernetes-list-type", schema.list_type.is_some(), UNDEFINED),
        ("x-kubernetes-map-type", schema.map_type.is_some(), UNDEFINED),
        ("x-kubernetes-validations", !schema.validations.is_empty(), EMPTY),
    ];
    for (keyword, _, detail) in wrong.into_iter().filter(|(_, is_wrong, _)| *is_wrong) {
        errors.forbidden(path.child(keyword), detail);
    }
    if schema.property("metadata").is_some() {
        errors.forbidden(path.child("properties").key("metadata"), "must not be specified in a nested context");
    }
}

/// Whether the fields of logical junctors are declared outside of them.
fn complete(
    clause: &JsonSchema,
    schema: Option<&JsonSchema>,
    path: &FieldPath<'_>,
    said: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = schema else {
        return errors.required(path, format!("because it is defined in {said}"));
    };
    if let Some(not) = &clause.not {
        nested_complete(not, Some(schema), path, &said.child("not"), errors);
    }
    for (name, clauses) in [("allOf", &clause.all_of), ("anyOf", &clause.any_of), ("oneOf", &clause.one_of)] {
        each(name, clauses, said, &mut |clause, said, _| nested_complete(clause, Some(schema), path, said, errors));
    }
}

fn nested_complete(
    clause: &JsonSchema,
    schema: Option<&JsonSchema>,
    path: &FieldPath<'_>,
    said: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = schema else {
        return errors.required(path, format!("because it is defined in {said}"));
    };
    complete(clause, Some(schema), path, said, errors);
    if let Some(item) = clause.item() {
        nested_complete(item, schema.item(), &path.child("items"), &said.child("items"), errors);
    }
    for (name, property) in &clause.properties {
        let (path, said) = (path.child("properties"), said.child("properties"));
        nested_complete(property, schema.property(name), &path.key(name), &said.key(name), errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, value};

    fn lines(schema: &Value) -> Vec<String> {
        let path = FieldPath::new("s");
        validate(&JsonSchema::from_value(schema), &path).0.iter().map(|error| error.line()).collect()
    }

    #[test]
    fn types_are_required() {
        let schema = value!({"properties": {
            "a": {}, "b": {"type": "array"}, "c": {"type": "array", "items": {}}, "d": {"x-kubernetes-int-or-string": true},
            "e": {"x-kubernetes-preserve-unknown-fields": true}, "f": {"type": "object", "additionalProperties": {}}}});
        assert_eq!(
            lines(&schema),
            [
                "s.properties[a].type: Required value: must not be empty for specified object fields",
                "s.properties[b].items: Required value: must be specified",
                "s.properties[c].items.type: Required value: must not be empty for specified array items",
                "s.properties[f].additionalProperties.type: Required value: must not be empty for specified object fields",
                "s.type: Required value: must not be empty at the root",
            ]
        );
        assert_eq!(
            lines(&value!({"type": "string"})),
            ["s.type: Invalid value: \"string\": must be object at the root"]
        );
    }

    #[test]
    fn logical_schemas_do_not_structure() {
        let schema = value!({"type": "object", "properties": {"a": {"type": "string"}},
            "anyOf": [{"type": "object", "properties": {"a": {"minLength": 1, "default": "x"}}},
                {"properties": {"b": {"minLength": 1}}}]});
        assert_eq!(
            lines(&schema),
            [
                "s.anyOf[0].properties[a].default: Forbidden: must be undefined to be structural",
                "s.anyOf[0].type: Forbidden: must be empty to be structural",
                "s.properties[b]: Required value: because it is defined in s.anyOf[1].properties[b]",
            ]
        );
        let int_or_string = value!([{"type": "integer"}, {"type": "string"}]);
        let port = value!({"x-kubernetes-int-or-string": true, "anyOf": (int_or_string.clone())});
        let bounded = value!({"x-kubernetes-int-or-string": true,
            "allOf": [{"anyOf": (int_or_string)}, {"pattern": "a"}]});
        assert_eq!(lines(&value!({"type": "object", "properties": {"p": (port), "q": (bounded)}})), [""; 0]);
        let spelled = value!({"x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer", "$ref": ""}, {"type": "string", "dependencies": {}}]});
        assert_eq!(lines(&value!({"type": "object", "properties": {"p": (spelled)}})), [""; 0]);
    }

    #[test]
    fn metadata_may_bound_names() {
        let of = |metadata: Value| lines(&value!({"type": "object", "properties": {"metadata": (metadata)}}));
        let names = value!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}});
        assert_eq!(of(names), [""; 0]);
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        let more = value!({"type": "object", "properties": {"labels": {"type": "object"}}});
        assert_eq!(of(more), [format!("s.properties[metadata]: Forbidden: {detail}")]);
    }

    #[test]
    fn some_keywords_have_no_place() {
        let of = |schema: Value| convertible(&JsonSchema::from_value(&schema));
        let inside = value!({"type": "object", "properties": {"a": {"not": {"id": "x"}}}});
        assert_eq!(of(inside), Err("OpenAPIV3Schema 'id' is not supported".to_owned()));
        let list = value!({"type": "array", "items": [{"type": "string"}]});
        assert_eq!(of(list), Err(ITEMS_ARE_A_LIST.to_owned()));
        assert_eq!(of(value!({"type": "object"})), Ok(()));
    }
}
