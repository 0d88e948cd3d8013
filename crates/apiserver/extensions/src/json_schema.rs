//! `JsonSchema`: the OpenAPI schema of a custom resource, as written in its definition.
//!
//! Parsed from the JSON of a definition, whose shape the decoder has checked. Guarantees that all maps are sorted by key, so
//! that every walk over a schema has the same order. Must never validate.

use pintle_schema::{Map, Str, Value};

/// A schema with all keywords that a definition may contain, including those that validation rejects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonSchema {
    pub id: Str,
    /// `$schema`.
    pub dialect: Str,
    /// `$ref`.
    pub reference: Option<Str>,
    pub description: Str,
    /// `type`; "" when it is not stated.
    pub kind: Str,
    pub format: Str,
    pub title: Str,
    /// Null is equal to absence.
    pub default: Option<Value>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Str,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub multiple_of: Option<f64>,
    /// `enum`.
    pub values: Vec<Value>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<Str>,
    pub items: Option<Items>,
    pub all_of: Vec<JsonSchema>,
    pub one_of: Vec<JsonSchema>,
    pub any_of: Vec<JsonSchema>,
    pub not: Option<Box<JsonSchema>>,
    pub properties: Vec<(Str, JsonSchema)>,
    pub additional_properties: Option<SchemaOrBool>,
    pub pattern_properties: Vec<(Str, JsonSchema)>,
    /// The schema, or the names, that a property brings with it.
    pub dependencies: Option<Vec<(Str, Dependency)>>,
    pub additional_items: Option<SchemaOrBool>,
    pub definitions: Vec<(Str, JsonSchema)>,
    pub external_docs: Option<ExternalDocs>,
    pub example: Option<Value>,
    pub nullable: bool,
    pub preserve_unknown: Option<bool>,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    pub list_map_keys: Vec<Str>,
    pub list_type: Option<Str>,
    pub map_type: Option<Str>,
    pub validations: Vec<ValidationRule>,
    /// Whether a list or a map that is absent was sent, with nothing in it. Where a schema must be spelt in one way, that
    /// is another.
    pub sent_empty: bool,
}

/// The value of `items`.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    One(Box<JsonSchema>),
    /// One schema for each position, which validation rejects.
    Each(Vec<JsonSchema>),
}

/// The value of `additionalProperties` and `additionalItems`.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaOrBool {
    Schema(Box<JsonSchema>),
    Bool(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Dependency {
    Schema(Box<JsonSchema>),
    Names(Vec<Str>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExternalDocs {
    pub description: Str,
    pub url: Str,
}

/// A CEL rule of a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationRule {
    pub rule: Str,
    pub message: Str,
    pub message_expression: Str,
    pub reason: Option<Str>,
    pub field_path: Str,
    pub optional_old_self: Option<bool>,
}

impl JsonSchema {
    /// Parses the value of `openAPIV3Schema`. Keywords of the wrong shape are ignored.
    pub fn from_value(value: &Value) -> JsonSchema {
        JsonSchema::from_sent(value, None)
    }

    /// The same, with the tree of the empty lists and maps that were sent, which the stored form does not hold.
    pub fn from_sent(value: &Value, sent: Option<&Value>) -> JsonSchema {
        let inside = |key: &str| sent.and_then(|sent| sent.get(key));
        let is_empty = |key: &str| match inside(key) {
            Some(Value::Map(map)) => map.is_empty(),
            Some(Value::List(items)) => items.is_empty(),
            _ => false,
        };
        let one = |key: &str, value: &Value| Box::new(Self::from_sent(value, inside(key)));
        let text = |key: &str| text(value, key);
        let flag = |key: &str| value.get(key).and_then(Value::as_bool);
        let schemas = |key: &str| {
            let items = value.get(key).and_then(Value::as_list).unwrap_or(&[]).iter().enumerate();
            let sent = inside(key).and_then(Value::as_list).unwrap_or(&[]);
            items.map(|(at, item)| Self::from_sent(item, sent.get(at))).collect()
        };
        let present = |key: &str| value.get(key).filter(|value| !value.is_null());
        JsonSchema {
            id: text("id"),
            dialect: text("$schema"),
            reference: present("$ref").map(text_of),
            description: text("description"),
            kind: text("type"),
            format: text("format"),
            title: text("title"),
            default: present("default").map(opened),
            maximum: number(value, "maximum"),
            exclusive_maximum: flag("exclusiveMaximum").unwrap_or_default(),
            minimum: number(value, "minimum"),
            exclusive_minimum: flag("exclusiveMinimum").unwrap_or_default(),
            max_length: integer(value, "maxLength"),
            min_length: integer(value, "minLength"),
            pattern: text("pattern"),
            max_items: integer(value, "maxItems"),
            min_items: integer(value, "minItems"),
            unique_items: flag("uniqueItems").unwrap_or_default(),
            multiple_of: number(value, "multipleOf"),
            values: value.get("enum").and_then(Value::as_list).unwrap_or(&[]).iter().map(opened).collect(),
            max_properties: integer(value, "maxProperties"),
            min_properties: integer(value, "minProperties"),
            required: texts(value, "required"),
            items: match present("items") {
                Some(Value::List(items)) => Some(Items::Each(items.iter().map(Self::from_value).collect())),
                Some(items) => Some(Items::One(one("items", items))),
                None => is_empty("items").then(|| Items::Each(Vec::new())),
            },
            all_of: schemas("allOf"),
            one_of: schemas("oneOf"),
            any_of: schemas("anyOf"),
            not: present("not").map(|not| one("not", not)),
            properties: by_name(value, "properties", sent),
            additional_properties: schema_or_bool(present("additionalProperties"), inside("additionalProperties")),
            pattern_properties: by_name(value, "patternProperties", sent),
            dependencies: match value.get("dependencies").and_then(Value::as_map) {
                Some(map) => Some(dependencies(map)),
                None => is_empty("dependencies").then(Vec::new),
            },
            additional_items: schema_or_bool(present("additionalItems"), None),
            definitions: by_name(value, "definitions", sent),
            external_docs: present("externalDocs").map(|docs| ExternalDocs {
                description: self::text(docs, "description"),
                url: self::text(docs, "url"),
            }),
            example: present("example").map(opened),
            nullable: flag("nullable").unwrap_or_default(),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource").unwrap_or_default(),
            int_or_string: flag("x-kubernetes-int-or-string").unwrap_or_default(),
            list_map_keys: texts(value, "x-kubernetes-list-map-keys"),
            list_type: present("x-kubernetes-list-type").map(text_of),
            map_type: present("x-kubernetes-map-type").map(text_of),
            validations: value
                .get("x-kubernetes-validations")
                .and_then(Value::as_list)
                .unwrap_or(&[])
                .iter()
                .map(ValidationRule::from_value)
                .collect(),
            sent_empty: ["required", "properties", "x-kubernetes-list-map-keys"].into_iter().any(is_empty),
        }
    }

    /// The schema of a property.
    pub fn property(&self, name: &str) -> Option<&JsonSchema> {
        let at = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.properties[at].1)
    }

    /// The schema of all items, where there is one.
    pub fn item(&self) -> Option<&JsonSchema> {
        match &self.items {
            Some(Items::One(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema of all properties that are not named.
    pub fn additional(&self) -> Option<&JsonSchema> {
        match &self.additional_properties {
            Some(SchemaOrBool::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// Whether unknown fields are kept.
    pub fn preserves_unknown(&self) -> bool {
        self.preserve_unknown == Some(true)
    }

    /// Whether `has` returns true for this schema or one inside it; stops at the first.
    pub fn any(&self, has: &mut dyn FnMut(&JsonSchema) -> bool) -> bool {
        if has(self) {
            return true;
        }
        let of_items = match &self.items {
            Some(Items::One(item)) => item.any(has),
            Some(Items::Each(items)) => items.iter().any(|item| item.any(has)),
            None => false,
        };
        let named = |schemas: &[(Str, JsonSchema)], has: &mut dyn FnMut(&JsonSchema) -> bool| {
            schemas.iter().any(|(_, schema)| schema.any(has))
        };
        of_items
            || [&self.all_of, &self.any_of, &self.one_of].into_iter().flatten().any(|schema| schema.any(has))
            || self.not.as_ref().is_some_and(|not| not.any(has))
            || named(&self.properties, has)
            || self.additional().is_some_and(|schema| schema.any(has))
            || named(&self.pattern_properties, has)
            || matches!(&self.additional_items, Some(SchemaOrBool::Schema(schema)) if schema.any(has))
            || named(&self.definitions, has)
            || self.dependencies.iter().flatten().any(|(_, dependency)| match dependency {
                Dependency::Schema(schema) => schema.any(has),
                Dependency::Names(_) => false,
            })
    }
}

impl ValidationRule {
    fn from_value(value: &Value) -> ValidationRule {
        ValidationRule {
            rule: text(value, "rule"),
            message: text(value, "message"),
            message_expression: text(value, "messageExpression"),
            reason: value.get("reason").and_then(Value::as_str).map(Str::new),
            field_path: text(value, "fieldPath"),
            optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }
}

fn text(value: &Value, key: &str) -> Str {
    value.get(key).map(text_of).unwrap_or_default()
}

fn text_of(value: &Value) -> Str {
    match value {
        Value::String(text) => text.clone(),
        _ => Str::default(),
    }
}

fn texts(value: &Value, key: &str) -> Vec<Str> {
    value.get(key).and_then(Value::as_list).unwrap_or(&[]).iter().map(text_of).collect()
}

fn integer(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::as_i64)
}

fn number(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)? {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// Parses raw JSON in a schema.
fn opened(value: &Value) -> Value {
    match value {
        Value::Raw(_) => pintle_codec::json::opened(value).into_owned(),
        Value::List(items) => Value::List(items.iter().map(opened).collect()),
        Value::Map(map) => Value::Map(map.iter().map(|(key, value)| (key.clone(), opened(value))).collect()),
        scalar => scalar.clone(),
    }
}

fn by_name(value: &Value, key: &str, sent: Option<&Value>) -> Vec<(Str, JsonSchema)> {
    let sent = sent.and_then(|sent| sent.get(key));
    let Some(map) = value.get(key).and_then(Value::as_map) else { return Vec::new() };
    let mut schemas: Vec<(Str, JsonSchema)> = map
        .iter()
        .map(|(name, of)| (name.clone(), JsonSchema::from_sent(of, sent.and_then(|sent| sent.get(name)))))
        .collect();
    schemas.sort_by(|(a, _), (b, _)| a.cmp(b));
    schemas
}

fn schema_or_bool(value: Option<&Value>, sent: Option<&Value>) -> Option<SchemaOrBool> {
    match value? {
        Value::Bool(allowed) => Some(SchemaOrBool::Bool(*allowed)),
        schema => Some(SchemaOrBool::Schema(Box::new(JsonSchema::from_sent(schema, sent)))),
    }
}

fn dependencies(map: &Map) -> Vec<(Str, Dependency)> {
    let mut all: Vec<(Str, Dependency)> = map
        .iter()
        .map(|(name, value)| {
            let dependency = match value {
                Value::Map(_) => Dependency::Schema(Box::new(JsonSchema::from_value(value))),
                // A value that is neither a schema nor a list of names counts as an empty list.
                names => Dependency::Names(names.as_list().unwrap_or(&[]).iter().map(text_of).collect()),
            };
            (name.clone(), dependency)
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn keywords_are_read() {
        let schema = JsonSchema::from_value(&value!({
            "type": "object", "default": null, "nullable": true,
            "properties": {
                "b": {"type": "array", "items": {"type": "string", "maxLength": 3}, "x-kubernetes-list-type": "set"},
                "a": {"type": "number", "minimum": 1, "enum": [1, 2.5], "x-kubernetes-validations": [{"rule": "true"}]}
            },
            "additionalProperties": false,
            "dependencies": {"x": ["y"], "w": {"type": "string"}}
        }));
        assert_eq!((schema.default, schema.nullable), (None, true));
        assert_eq!(schema.properties.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(schema.additional_properties, Some(SchemaOrBool::Bool(false)));
        assert_eq!(schema.dependencies.as_ref().map(Vec::len), Some(2));
        let schema = JsonSchema::from_value(&value!({"properties": {"a": {"items": {"anyOf": [{"minimum": 2.5}]}}}}));
        assert_eq!(schema.property("a").and_then(JsonSchema::item).map(|item| item.any_of[0].minimum), Some(Some(2.5)));
        let neither = JsonSchema::from_sent(&value!({"type": "array"}), Some(&value!({"items": []})));
        assert_eq!(neither.items, Some(Items::Each(Vec::new())));
        let mut seen = 0;
        assert!(!schema.any(&mut |_| {
            seen += 1;
            false
        }));
        assert_eq!(seen, 4);
    }
}
