//! Pruning: removes unknown fields, and returns their paths. Guarantees kube-apiserver's order and spelling of paths. A path is
//! formatted only for a removed field. Must never change a field that the schema knows.

use crate::json_schema::{JsonSchema, SchemaOrBool};
use crate::object::META_FIELDS;
use pintle_schema::Value;

/// Removes the fields that a schema does not know. An embedded object, and the whole if it is one, keeps its type and metadata.
pub fn prune(value: &mut Value, schema: &JsonSchema, is_object: bool) {
    Pruning { removed: None }.prune(value, Some(schema), schema.embedded_resource || is_object, &At::Root);
}

/// The same for an object of this schema; returns the paths of the removed fields, sorted.
pub fn prune_reporting(object: &mut Value, schema: Option<&JsonSchema>) -> Vec<String> {
    let mut pruning = Pruning { removed: Some(Vec::new()) };
    // Without a schema, only the fields of every object are known.
    let none = JsonSchema::default();
    pruning.prune(object, Some(schema.unwrap_or(&none)), true, &At::Root);
    let mut removed = pruning.removed.unwrap_or_default();
    removed.sort_unstable();
    removed
}

/// The way to a value, written as a path only when it is reported.
pub(crate) enum At<'a> {
    Root,
    Field(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    fn write(&self, path: &mut String) {
        match self {
            At::Root => {}
            At::Field(parent, name) => {
                parent.write(path);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            At::Item(parent, at) => {
                parent.write(path);
                path.push_str(&format!("[{at}]"));
            }
        }
    }

    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path);
        path
    }
}

struct Pruning {
    /// The paths of removed fields, if they are wanted.
    removed: Option<Vec<String>>,
}

impl Pruning {
    fn remove(&mut self, at: &At<'_>, name: &str) {
        if let Some(removed) = &mut self.removed {
            removed.push(At::Field(at, name).path());
        }
    }

    fn prune(&mut self, value: &mut Value, schema: Option<&JsonSchema>, is_object: bool, at: &At<'_>) {
        if let Some(schema) = schema.filter(|schema| schema.preserves_unknown()) {
            return self.keep(value, schema, is_object, at);
        }
        match value {
            Value::Map(map) => map.retain(|name, value| {
                if is_object && META_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let is_known = schema.is_some_and(|schema| self.known(name, value, schema, at));
                if !is_known {
                    self.remove(at, name);
                }
                is_known
            }),
            Value::List(items) => {
                let item = schema.and_then(JsonSchema::item);
                for (index, value) in items.iter_mut().enumerate() {
                    self.prune(value, item, item.is_some_and(|item| item.embedded_resource), &At::Item(at, index));
                }
            }
            _ => {}
        }
    }

    /// Prunes the known parts of a value whose unknown fields are kept.
    fn keep(&mut self, value: &mut Value, schema: &JsonSchema, is_object: bool, at: &At<'_>) {
        match value {
            Value::Map(map) => {
                for (name, value) in map.iter_mut() {
                    if !is_object || !META_FIELDS.contains(&name.as_str()) {
                        self.known(name, value, schema, at);
                    }
                }
            }
            Value::List(items) => {
                let Some(item) = schema.item() else { return };
                for (index, value) in items.iter_mut().enumerate() {
                    self.keep(value, item, item.embedded_resource, &At::Item(at, index));
                }
            }
            _ => {}
        }
    }

    /// Prunes a field's value if the schema knows the field. Returns whether it does.
    fn known(&mut self, name: &str, value: &mut Value, schema: &JsonSchema, at: &At<'_>) -> bool {
        let schema = match (schema.property(name), &schema.additional_properties) {
            (Some(property), _) => Some(property),
            (None, Some(SchemaOrBool::Schema(additional))) => Some(&**additional),
            (None, Some(SchemaOrBool::Bool(_))) => None,
            (None, None) => return false,
        };
        self.prune(value, schema, schema.is_some_and(|schema| schema.embedded_resource), &At::Field(at, name));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn removed_fields_are_reported_by_their_paths() {
        let schema = JsonSchema::from_value(&value!({"type": "object", "properties": {"spec": {"type": "object",
            "properties": {
                "a": {"type": "string"},
                "ap": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "typed": {"type": "object"},
                    "list": {"type": "array", "items": {"type": "object"}}}},
                "open": {"x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object"}},
                "e": {"type": "object", "x-kubernetes-embedded-resource": true}}}}}));
        let mut object = value!({"kind": "K", "metadata": {"x": 1}, "z": 1, "spec": {
            "a": "", "b": {"c": 1}, "ap": {"any": [{}, {"x": 1}]}, "free": {"j": 1, "typed": {"j": 1}, "list": [{"j": 1}]},
            "open": [{"kept": 1}], "e": {"kind": "K", "metadata": {}, "junk": 1}}});
        let removed = prune_reporting(&mut object, Some(&schema));
        assert_eq!(
            removed,
            ["spec.ap.any[1].x", "spec.b", "spec.e.junk", "spec.free.list[0].j", "spec.free.typed.j", "z"]
        );
        let kept = value!({"kind": "K", "metadata": {"x": 1}, "spec": {"a": "", "ap": {"any": [{}, {}]},
            "free": {"j": 1, "typed": {}, "list": [{}]}, "open": [{"kept": 1}], "e": {"kind": "K", "metadata": {}}}});
        assert_eq!(object, kept);
        let mut unknown = value!({"kind": "K", "spec": {"a": 1}});
        assert_eq!(prune_reporting(&mut unknown, None), ["spec"]);
    }
}
