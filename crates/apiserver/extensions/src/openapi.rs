//! The published OpenAPI schema of a definition: with the type and metadata of all objects, and in version 2 without
//! unsupported keywords. Guarantees kube-apiserver's keywords. Must never publish anything that is not in the definition.

use crate::json_schema::{JsonSchema, SchemaOrBool, ValidationRule};
use crate::merge_schema::meta_fields;
use pintle_meta::v1::TypeMeta;
use pintle_resource::OpenApiVersion;
use pintle_schema::{ApiType, Map, Str, Value, value};

/// The schema of the objects of a version. `metadata` refers to the type of their metadata.
pub fn of_object(schema: &JsonSchema, version: OpenApiVersion, metadata: &str) -> Value {
    let publishing = Publishing { version, metadata };
    let is_open = version == OpenApiVersion::V2 && schema.preserves_unknown();
    if is_open || *schema == JsonSchema::default() {
        // Clients of version 2 would reject unnamed properties.
        return value!({"type": "object"});
    }
    let mut published = publishing.schema(schema);
    publishing.add_meta_fields(&mut published);
    Value::Map(published)
}

/// The description of the metadata of all objects. Tests of clients look for its first words in what `kubectl explain` prints.
const METADATA: &str =
    "Standard object's metadata: its name, labels and annotations, and what the server notes about it.";

struct Publishing<'a> {
    version: OpenApiVersion,
    metadata: &'a str,
}

fn push(out: &mut Map, key: &'static str, value: impl Into<Value>) {
    out.push(Str::new_static(key), value.into());
}

fn push_text(out: &mut Map, key: &'static str, text: &Str) {
    if !text.is_empty() {
        push(out, key, Value::String(text.clone()));
    }
}

fn push_some<T: Into<Value>>(out: &mut Map, key: &'static str, value: Option<T>) {
    if let Some(value) = value {
        push(out, key, value);
    }
}

fn push_flag(out: &mut Map, key: &'static str, is_set: bool) {
    if is_set {
        push(out, key, true);
    }
}

fn push_list(out: &mut Map, key: &'static str, items: Vec<Value>) {
    if !items.is_empty() {
        push(out, key, Value::List(items));
    }
}

impl Publishing<'_> {
    fn is_v2(&self) -> bool {
        self.version == OpenApiVersion::V2
    }

    fn schema(&self, of: &JsonSchema) -> Map {
        let keeps_unknown = of.preserves_unknown();
        // Clients of version 2 do not support items and properties together with null or unknown fields.
        let is_closed = !self.is_v2() || !of.nullable && !keeps_unknown;
        let is_untyped =
            self.is_v2() && (of.nullable || keeps_unknown && of.kind == "object" || of.kind == "array" && !is_closed);
        let mut out = Map::new();
        push_text(&mut out, "description", &of.description);
        if !is_untyped {
            push_text(&mut out, "type", &of.kind);
        }
        push_text(&mut out, "format", &of.format);
        push_text(&mut out, "title", &of.title);
        if !self.is_v2() {
            push_some(&mut out, "default", of.default.clone());
            push_flag(&mut out, "nullable", of.nullable);
        }
        self.bounds(&mut out, of);
        push_list(&mut out, "enum", of.values.clone());
        let required =
            of.required.iter().filter(|name| !self.is_v2() || !of.property(name).is_some_and(|of| of.nullable));
        push_list(&mut out, "required", required.map(|name| Value::String(name.clone())).collect());
        if is_closed {
            push_some(&mut out, "items", of.item().map(|item| Value::Map(self.schema(item))));
            let properties: Map =
                of.properties.iter().map(|(name, of)| (name.clone(), Value::Map(self.schema(of)))).collect();
            if !properties.is_empty() {
                push(&mut out, "properties", properties);
            }
        }
        match &of.additional_properties {
            Some(SchemaOrBool::Schema(additional)) => push(&mut out, "additionalProperties", self.schema(additional)),
            Some(SchemaOrBool::Bool(allows)) => push(&mut out, "additionalProperties", *allows),
            None => {}
        }
        if !self.is_v2() {
            self.alternatives(&mut out, of);
        }
        if let Some(docs) = &of.external_docs {
            let mut shown = Map::new();
            push_text(&mut shown, "description", &docs.description);
            push_text(&mut shown, "url", &docs.url);
            push(&mut out, "externalDocs", shown);
        }
        push_some(&mut out, "example", of.example.clone());
        extensions(&mut out, of);
        if of.embedded_resource && !(self.is_v2() && keeps_unknown) {
            self.add_meta_fields(&mut out);
            let required = out.entry("required");
            if required.is_null() {
                *required = Value::List(Vec::new());
            }
            for name in ["kind", "apiVersion"] {
                if let Some(list) = required.as_list_mut().filter(|list| !list.contains(&name.into())) {
                    list.push(name.into());
                }
            }
        }
        out
    }

    fn bounds(&self, out: &mut Map, of: &JsonSchema) {
        push_some(out, "maximum", of.maximum);
        push_flag(out, "exclusiveMaximum", of.exclusive_maximum);
        push_some(out, "minimum", of.minimum);
        push_flag(out, "exclusiveMinimum", of.exclusive_minimum);
        push_some(out, "maxLength", of.max_length);
        push_some(out, "minLength", of.min_length);
        push_text(out, "pattern", &of.pattern);
        push_some(out, "maxItems", of.max_items);
        push_some(out, "minItems", of.min_items);
        push_flag(out, "uniqueItems", of.unique_items);
        push_some(out, "multipleOf", of.multiple_of);
        push_some(out, "maxProperties", of.max_properties);
        push_some(out, "minProperties", of.min_properties);
    }

    fn alternatives(&self, out: &mut Map, of: &JsonSchema) {
        let list = |clauses: &[JsonSchema]| clauses.iter().map(|of| Value::Map(self.schema(of))).collect::<Vec<_>>();
        let (mut all, mut any) = (list(&of.all_of), list(&of.any_of));
        if of.int_or_string && !crate::structural::says_int_or_string(of) {
            let either = vec![value!({"type": "integer"}), value!({"type": "string"})];
            match any.is_empty() {
                true => any = either,
                false => all.insert(0, value!({"anyOf": (Value::List(either))})),
            }
        }
        push_list(out, "allOf", all);
        push_list(out, "oneOf", list(&of.one_of));
        push_list(out, "anyOf", any);
        push_some(out, "not", of.not.as_ref().map(|not| Value::Map(self.schema(not))));
    }

    /// Adds the fields that every object has.
    fn add_meta_fields(&self, out: &mut Map) {
        let properties = out.entry("properties").make_map();
        TypeMeta::schema().each_field(&mut |field| {
            let doc = field.doc.to_key();
            properties.set(field.name.to_key(), value!({"description": (Value::String(doc)), "type": "string"}));
        });
        let [.., metadata] = meta_fields();
        let shown = match self.version {
            OpenApiVersion::V2 => value!({"description": (METADATA), "$ref": (self.metadata)}),
            // A reference may not have siblings.
            OpenApiVersion::V3 => value!({"description": (METADATA), "allOf": [{"$ref": (self.metadata)}]}),
        };
        properties.set(metadata.name.to_key(), shown);
    }
}

fn extensions(out: &mut Map, of: &JsonSchema) {
    push_flag(out, "x-kubernetes-preserve-unknown-fields", of.preserves_unknown());
    push_flag(out, "x-kubernetes-embedded-resource", of.embedded_resource);
    push_flag(out, "x-kubernetes-int-or-string", of.int_or_string);
    let keys = of.list_map_keys.iter().map(|key| Value::String(key.clone())).collect();
    push_list(out, "x-kubernetes-list-map-keys", keys);
    push_some(out, "x-kubernetes-list-type", of.list_type.clone());
    push_some(out, "x-kubernetes-map-type", of.map_type.clone());
    push_list(out, "x-kubernetes-validations", of.validations.iter().map(rule).collect());
}

fn rule(of: &ValidationRule) -> Value {
    let mut out = Map::new();
    push(&mut out, "rule", of.rule.clone());
    push_text(&mut out, "message", &of.message);
    push_text(&mut out, "messageExpression", &of.message_expression);
    push_some(&mut out, "reason", of.reason.clone());
    push_text(&mut out, "fieldPath", &of.field_path);
    push_some(&mut out, "optionalOldSelf", of.optional_old_self);
    Value::Map(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_meta::meta::v1::ObjectMeta;

    fn published(spec: Value, version: OpenApiVersion) -> Value {
        let schema = value!({"type": "object", "properties": {"spec": (spec)}});
        let of = of_object(&JsonSchema::from_value(&schema), version, "#/M");
        let metadata = of.at(&["properties", "metadata"]).cloned().unwrap_or_default();
        match version {
            OpenApiVersion::V2 => assert_eq!(metadata, value!({"description": (METADATA), "$ref": "#/M"})),
            OpenApiVersion::V3 => {
                assert_eq!(metadata, value!({"description": (METADATA), "allOf": [{"$ref": "#/M"}]}));
            }
        }
        assert_eq!(of.str_at(&["properties", "kind", "type"]), "string");
        of.at(&["properties", "spec"]).cloned().unwrap_or_default()
    }

    /// Kubernetes' conformance tests look for these words in what `kubectl explain` prints of a custom resource.
    #[test]
    fn fields_of_all_objects_are_described_in_known_words() {
        let schema = JsonSchema::from_value(&value!({"type": "object", "properties": {"spec": {"type": "object"}}}));
        let of = of_object(&schema, OpenApiVersion::V3, "#/M");
        for (field, words) in [("apiVersion", "APIVersion defines "), ("metadata", "Standard object's metadata")] {
            let description = of.str_at(&["properties", field, "description"]);
            assert!(description.starts_with(words), "{field}: {description}");
        }
        let mut created = String::new();
        ObjectMeta::schema().each_field(&mut |field| {
            if field.name.as_str() == "creationTimestamp" {
                created = field.doc.to_key().to_string();
            }
        });
        assert!(created.starts_with("CreationTimestamp is a timestamp "), "{created}");
    }

    #[test]
    fn each_version_has_the_keywords_it_knows() {
        let text = || value!({"type": "string"});
        let rows = [
            (
                value!({"type": "string", "default": "x", "maxLength": 3, "pattern": "a", "description": "A text."}),
                value!({"description": "A text.", "type": "string", "default": "x", "maxLength": 3, "pattern": "a"}),
                value!({"description": "A text.", "type": "string", "maxLength": 3, "pattern": "a"}),
            ),
            (
                value!({"type": "object", "nullable": true, "properties": {"a": (text())}}),
                value!({"type": "object", "nullable": true, "properties": {"a": (text())}}),
                value!({}),
            ),
            (
                value!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": (text())}}),
                value!({"type": "object", "properties": {"a": (text())}, "x-kubernetes-preserve-unknown-fields": true}),
                value!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            (
                value!({"x-kubernetes-int-or-string": true}),
                value!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}),
                value!({"x-kubernetes-int-or-string": true}),
            ),
            (
                value!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "nullable": true}, "b": (text())}}),
                value!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "nullable": true}, "b": (text())}}),
                value!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": (text())}}),
            ),
        ];
        for (schema, v3, v2) in rows {
            assert_eq!(published(schema.clone(), OpenApiVersion::V3), v3);
            assert_eq!(published(schema, OpenApiVersion::V2), v2);
        }
        assert_eq!(of_object(&JsonSchema::default(), OpenApiVersion::V3, "#/M"), value!({"type": "object"}));
    }
}
