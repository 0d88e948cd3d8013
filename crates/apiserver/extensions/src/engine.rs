//! `CustomSchema`: the engine for the objects of one version of a definition.
//!
//! Made once of the version's schema and shared by all requests. The schema stays text until an object needs it: a tree takes many
//! times the memory, and most definitions have no objects for long. Guarantees that a value that was completed has all defaults, no field
//! that the schema does not know unless the definition keeps those, and its fields in the order of their names, as kube-apiserver writes
//! them.

use crate::embedded::{self, Malformed};
use crate::json_schema::JsonSchema;
use crate::merge_schema;
use crate::object;
use crate::openapi;
use crate::prune;
use crate::rules::{Budget, OldObject, RULE_TIMES, RuleReport, RuleTree, field_of};
use crate::structural;
use crate::values::{Purpose, ValueSchema};
use pintle_codec::compat::print as go;
use pintle_codec::{Strictness, limits};
use pintle_resource::OpenApiVersion;
use pintle_schema::compat;
use pintle_schema::{Struct, Value};
use pintle_validation::{ErrorKind, ErrorList, FieldPath, ObjectRule};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The schema of one version, ready for objects.
pub struct CustomSchema {
    schema: Arc<SchemaText>,
    unknown: UnknownFields,
    /// Made when the first object is validated, as is that of the status.
    values: OnceLock<ValueSchema>,
    status: OnceLock<Option<ValueSchema>>,
    scale: Option<Scale>,
    /// Compiled when the first object is validated. `None` without rules.
    rules: OnceLock<Option<RuleTree>>,
    /// Made when an object is first written.
    merge_schema: OnceLock<Struct>,
}

/// The JSON of a schema, and its tree once that was needed. Versions of the same schema share both.
#[derive(Default)]
pub struct SchemaText {
    text: Box<str>,
    tree: OnceLock<SchemaTree>,
}

struct SchemaTree {
    schema: JsonSchema,
    /// Whether objects hold other objects.
    embeds: bool,
}

impl SchemaTree {
    fn of(schema: JsonSchema) -> Self {
        SchemaTree { embeds: schema.any(&mut |schema| schema.embedded_resource), schema }
    }
}

impl SchemaText {
    /// The text of a schema as `openAPIV3Schema` holds it.
    pub fn of(schema: &Value) -> Self {
        let text = pintle_codec::json::to_string(schema).into_boxed_str();
        match pintle_codec::json::depth(&text) < limits::TREE_DEPTH {
            true => SchemaText { text, tree: OnceLock::new() },
            // Parts that were decoded one by one can be deeper together than a document may be.
            false => SchemaText { text: Box::default(), tree: SchemaTree::of(JsonSchema::from_value(schema)).into() },
        }
    }

    fn parse(&self) -> JsonSchema {
        let parsed = pintle_codec::json::parse(self.text.as_bytes(), Strictness::Ignore);
        parsed.map(|parsed| JsonSchema::from_value(&parsed.value)).unwrap_or_default()
    }

    fn tree(&self) -> &SchemaTree {
        self.tree.get_or_init(|| SchemaTree::of(self.parse()))
    }

    /// Calls a function with the schema, which is kept no longer than that unless objects need it too.
    fn with<T>(&self, read: impl FnOnce(&JsonSchema) -> T) -> T {
        match self.tree.get() {
            Some(tree) => read(&tree.schema),
            None => read(&self.parse()),
        }
    }
}

/// The paths of replicas in a definition, as written there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub selector: Option<String>,
}

impl Scale {
    /// The names on the way of a path.
    pub fn steps(path: &str) -> Vec<&str> {
        path.strip_prefix('.').unwrap_or(path).split('.').collect()
    }
}

/// What becomes of fields that the schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    #[default]
    Dropped,
    /// They are kept, and the schema need not be structural: a definition from before schemas were (`preserveUnknownFields: true`).
    Kept,
}

/// Errors after which rules are not evaluated: they may rely on the schema.
const BLOCKING: [ErrorKind; 5] =
    [ErrorKind::NotSupported, ErrorKind::Required, ErrorKind::TooLong, ErrorKind::TooMany, ErrorKind::TypeInvalid];

impl CustomSchema {
    pub fn new(schema: Arc<SchemaText>, scale: Option<Scale>, unknown: UnknownFields) -> Self {
        CustomSchema {
            schema,
            unknown,
            values: OnceLock::new(),
            status: OnceLock::new(),
            scale,
            merge_schema: OnceLock::new(),
            rules: OnceLock::new(),
        }
    }

    fn schema(&self) -> &JsonSchema {
        &self.schema.tree().schema
    }

    /// Whether objects hold other objects.
    fn embeds(&self) -> bool {
        self.schema.tree().embeds
    }

    /// The value schema of whole objects.
    fn values(&self) -> &ValueSchema {
        self.values.get_or_init(|| ValueSchema::new(self.schema(), Purpose::Objects))
    }

    /// The value schema of a status.
    fn status(&self) -> Option<&ValueSchema> {
        let of_status = || self.schema().property("status").map(|schema| ValueSchema::new(schema, Purpose::Objects));
        self.status.get_or_init(of_status).as_ref()
    }

    fn keeps_unknown(&self) -> bool {
        self.unknown == UnknownFields::Kept
    }

    /// Whether a schema of this version tells what its objects consist of. A definition that drops unknown fields was not stored without
    /// a structural one, unless it has none.
    fn describes(&self, schema: &JsonSchema) -> bool {
        *schema != JsonSchema::default() && (!self.keeps_unknown() || structural::describes(schema))
    }

    /// The schema by which apply merges objects.
    pub fn merge_schema(&self) -> &Struct {
        self.merge_schema.get_or_init(|| match self.describes(self.schema()) {
            true => merge_schema::of_object(self.schema(), self.keeps_unknown()),
            false => merge_schema::of_anything(),
        })
    }

    /// Removes unknown fields of a sent object, and nulls that mean absence, unless unknown fields are kept. Returns the paths of the
    /// former, in the order of the report.
    ///
    /// # Errors
    /// The type or the metadata of an embedded object has the wrong shape.
    pub fn coerce(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let mut unknown = Vec::new();
        if !self.keeps_unknown() {
            unknown = prune::prune_reporting(object, Some(self.schema()));
        }
        self.drop_nulls(object);
        if self.embeds() {
            unknown.extend(embedded::coerce(object, self.schema(), Malformed::Refused)?);
        }
        Ok(unknown)
    }

    /// The schema that OpenAPI publishes.
    pub fn openapi(&self, version: OpenApiVersion, metadata: &str) -> Value {
        let nothing = JsonSchema::default();
        self.schema.with(|schema| {
            // Clients of version 2 would reject unnamed properties.
            let is_open = version == OpenApiVersion::V2 && self.keeps_unknown();
            let published = if is_open || !self.describes(schema) { &nothing } else { schema };
            openapi::of_object(published, version, metadata)
        })
    }

    /// Why an object has no valid scale.
    pub fn scale_problem(&self, object: &Value) -> Option<String> {
        let path = &self.scale.as_ref()?.spec_replicas;
        let is_there = object.at(&Scale::steps(path)).is_some();
        (!is_there).then(|| format!("the spec replicas field {path:?} does not exist"))
    }

    /// Normalizes a stored object as a sent one, and completes it. Idempotent.
    pub fn reread(&self, object: &mut Value) {
        self.drop_nulls(object);
        self.complete(object);
        object::settle_zeros(object);
    }

    fn drop_nulls(&self, object: &mut Value) {
        if !self.keeps_unknown() {
            object::drop_nulls(object, Some(self.schema()));
        }
    }

    /// Completes an object: applies defaults and drops unknown fields. Nulls are left, as those of an applied configuration are
    /// not taken for absence. Idempotent.
    pub fn complete(&self, object: &mut Value) {
        object::default(object, self.schema());
        if self.embeds() {
            // Sent objects were coerced before; stored objects are accepted in any shape.
            let _ = embedded::coerce(object, self.schema(), Malformed::Dropped);
        }
        self.prune(object);
    }

    /// Drops unknown fields and sorts the others, without defaults, as after a conversion.
    pub fn prune(&self, object: &mut Value) {
        if !self.keeps_unknown() {
            prune::prune(object, self.schema(), true);
        }
        let Value::Map(map) = object else { return };
        for (_, value) in map.iter_mut().filter(|(name, _)| *name != "metadata") {
            value.sort_keys();
        }
        // Type and metadata come first, in kube-apiserver's order of names.
        map.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
    }

    /// The same for an object that comes out of a conversion: it is read as a stored one, without the nulls that mean absence.
    pub fn read_converted(&self, object: &mut Value) {
        self.drop_nulls(object);
        self.prune(object);
    }

    fn of_object(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        errors.0.extend(self.values().validate(object, old, None).0);
        if let Some(scale) = &self.scale {
            replicas(object, &scale.spec_replicas, errors);
            self.of_scaled_status(object, errors);
        }
        self.of_structure(object, old, errors);
    }

    /// What is validated beside the values: the objects within the object, and its lists.
    fn of_structure(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        object::validate_embedded(object, self.schema(), false, &FieldPath::ROOT, errors);
        self.of_lists(object, old, errors);
    }

    fn of_lists(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        let found = |object: &Value| {
            let mut errors = ErrorList::default();
            object::validate_lists(object, self.schema(), &FieldPath::ROOT, &mut errors);
            errors
        };
        // Lists that were wrong before may be wrong still.
        let found_now = found(object);
        if !found_now.is_empty() && old.is_none_or(|old| found(old).is_empty()) {
            errors.0.extend(found_now.0);
        }
    }

    /// The CEL rules, of the whole object whichever part was written.
    fn of_rules(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList, warnings: &mut Vec<String>) {
        let tree = self.rules.get_or_init(|| {
            let tree = RuleTree::new(self.schema(), true).ok().filter(|_| self.describes(self.schema()));
            tree.filter(|tree| tree.root().is_some())
        });
        let Some(rules) = tree.as_ref().and_then(RuleTree::root) else { return };
        if errors.0.iter().any(|error| BLOCKING.contains(&error.kind)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            return errors.invalid(field_of(&FieldPath::ROOT), Value::Null, detail);
        }
        let replaced = old.map(|old| OldObject { old, schema: self.values(), ratchets: true });
        let (mut budget, started) = (Budget::OF_OBJECT, Instant::now());
        rules.evaluate(object, replaced, &FieldPath::ROOT, &mut budget, &mut RuleReport { errors, warnings });
        RULE_TIMES.evaluation.observe_duration(started.elapsed());
    }

    fn of_status(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        if let (Some(schema), Some(status)) = (self.status(), object.get("status")) {
            let old = old.and_then(|old| old.get("status"));
            errors.0.extend(schema.validate(status, old, Some(&FieldPath::new("status"))).0);
        }
        self.of_scaled_status(object, errors);
        self.of_lists(object, old, errors);
    }

    fn of_scaled_status(&self, object: &Value, errors: &mut ErrorList) {
        let Some(scale) = &self.scale else { return };
        replicas(object, &scale.status_replicas, errors);
        let Some(path) = &scale.selector else { return };
        match nested(object, path) {
            Err(why) => errors.invalid(path, "", why),
            Ok(Some(value)) if value.as_str().is_none() => errors.invalid(path, "", wrong_type(path, value, "string")),
            Ok(_) => {}
        }
    }
}

impl ObjectRule for CustomSchema {
    fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        subresource: &str,
        errors: &mut ErrorList,
        warnings: &mut Vec<String>,
    ) {
        match subresource {
            "status" => self.of_status(object, old, errors),
            _ => self.of_object(object, old, errors),
        }
        self.of_rules(object, old, errors, warnings);
    }

    fn validate_of_other_type(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &mut ErrorList,
        warnings: &mut Vec<String>,
    ) {
        self.of_structure(object, old, errors);
        self.of_rules(object, old, errors, warnings);
    }
}

fn replicas(object: &Value, path: &str, errors: &mut ErrorList) {
    match nested(object, path) {
        Err(why) => errors.invalid(path, 0, why),
        Ok(None) => {}
        Ok(Some(Value::Int(number))) if *number < 0 => {
            errors.invalid(path, *number, "should be a non-negative integer");
        }
        Ok(Some(Value::Int(number))) if *number > i64::from(i32::MAX) => {
            errors.invalid(path, *number, format!("should be less than or equal to {}", i32::MAX));
        }
        Ok(Some(Value::Int(_))) => {}
        Ok(Some(other)) => errors.invalid(path, 0, wrong_type(path, other, "int64")),
    }
}

/// The value at a path of a scale, if there is one.
///
/// # Errors
/// A value on the way is no map.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut way = String::new();
    for step in Scale::steps(path) {
        way.push('.');
        way.push_str(step);
        value = match value {
            Value::Null => return Ok(None),
            Value::Map(map) => match map.get(step) {
                Some(inside) => inside,
                None => return Ok(None),
            },
            other => return Err(wrong_type(&way, other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

/// kube-apiserver's message for a value of another Go type than its path requires.
fn wrong_type(path: &str, value: &Value, wanted: &str) -> String {
    let found = compat::type_of(value);
    format!("{path} accessor error: {} is of the type {found}, expected {wanted}", go::plain(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn engine() -> CustomSchema {
        let schema = value!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 1},
                "name": {"type": "string", "maxLength": 3},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}},
            "status": {"type": "object", "properties": {"phase": {"type": "string", "enum": ["Up", "Down"]},
                "replicas": {"type": "integer"}}}}});
        let scale = Scale {
            spec_replicas: ".spec.size".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            selector: None,
        };
        CustomSchema::new(Arc::new(SchemaText::of(&schema)), Some(scale), UnknownFields::Dropped)
    }

    fn lines(object: &Value, old: Option<&Value>, subresource: &str) -> Vec<String> {
        let mut errors = ErrorList::default();
        engine().validate(object, old, subresource, &mut errors, &mut Vec::new());
        errors.0.iter().map(|error| error.line()).collect()
    }

    #[test]
    fn objects_are_completed() {
        let mut object = value!({"spec": {"tags": null, "name": "a", "other": 1}, "kind": "K", "other": 1,
            "metadata": {"name": "a", "labels": {}}, "apiVersion": "g/v"});
        let mut applied = object.clone();
        engine().complete(&mut applied);
        assert_eq!(applied.at(&["spec", "tags"]), Some(&Value::Null));
        assert_eq!(lines(&applied, None, "").len(), 1, "null is no list");
        let mut converted = object.clone();
        engine().read_converted(&mut converted);
        assert_eq!(converted.get("spec"), Some(&value!({"name": "a"})));
        engine().reread(&mut object);
        let complete =
            r#"{"apiVersion":"g/v","kind":"K","metadata":{"name":"a","labels":{}},"spec":{"name":"a","size":3}}"#;
        assert_eq!(pintle_codec::json::to_string(&object), complete);
    }

    #[test]
    fn unknown_fields_are_kept_where_the_definition_says_so() {
        let of = |schema: &Value| CustomSchema::new(Arc::new(SchemaText::of(schema)), None, UnknownFields::Kept);
        let structural = value!({"type": "object", "properties": {"a": {"type": "string"}}});
        let loose = value!({"properties": {"list": {"type": "array"}}});
        for (schema, is_described) in [(&structural, true), (&loose, false), (&Value::map(), false)] {
            let engine = of(schema);
            let mut object = value!({"b": {"d": 1, "c": null}, "a": null, "kind": "K"});
            assert_eq!(engine.coerce(&mut object), Ok(Vec::new()));
            engine.reread(&mut object);
            let kept = r#"{"a":null,"b":{"c":null,"d":1},"kind":"K"}"#;
            assert_eq!(pintle_codec::json::to_string(&object), kept, "{schema:?}");
            let mut converted = object.clone();
            engine.read_converted(&mut converted);
            assert_eq!(converted, object);
            let published = [OpenApiVersion::V2, OpenApiVersion::V3].map(|version| engine.openapi(version, "#/M"));
            assert_eq!(published[0], value!({"type": "object"}), "{schema:?}");
            assert_eq!(published[1].at(&["properties", "a"]).is_some(), is_described, "{schema:?}");
            assert_eq!(engine.merge_schema().field("a").is_some(), is_described, "{schema:?}");
            assert!(engine.merge_schema().preserve_unknown);
        }
    }

    #[test]
    fn negative_zeros_are_read_as_zeros() {
        let mut object = value!({"spec": {"size": (-0.0), "name": "a"}});
        engine().complete(&mut object);
        assert_eq!(pintle_codec::json::to_string(&object), r#"{"spec":{"name":"a","size":-0}}"#, "rules see it");
        engine().reread(&mut object);
        assert_eq!(pintle_codec::json::to_string(&object), r#"{"spec":{"name":"a","size":0}}"#);
    }

    #[test]
    fn updates_may_leave_what_was_wrong() {
        let old = value!({"spec": {"name": "long", "size": 1, "tags": ["a", "a"]}});
        let other = value!({"spec": {"name": "long", "size": 0, "tags": ["a", "a"]}});
        let too_small = "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1";
        assert_eq!(lines(&old, Some(&old), ""), [""; 0]);
        assert_eq!(lines(&other, Some(&old), ""), [too_small]);
        let too_long = "spec.name: Too long: may not be more than 3 bytes";
        assert_eq!(lines(&old, None, ""), [too_long, "spec.tags[1]: Duplicate value: \"a\""]);
    }

    #[test]
    fn objects_of_another_type_are_checked_in_part() {
        let object = value!({"kind": "Other", "spec": {"name": "long", "size": 0, "tags": ["a", "a"]}});
        let mut errors = ErrorList::default();
        engine().validate_of_other_type(&object, None, &mut errors, &mut Vec::new());
        let found: Vec<String> = errors.0.iter().map(|error| error.line()).collect();
        assert_eq!(found, ["spec.tags[1]: Duplicate value: \"a\""]);
    }

    #[test]
    fn values_of_other_types_have_no_replicas() {
        let rows = [
            (
                value!({"spec": ["a", {"b": 1}]}),
                ".spec.size accessor error: [a map[b:1]] is of the type []interface {}, \
              expected map[string]interface{}",
            ),
            (
                value!({"spec": {"size": {"a": 1}}}),
                ".spec.size accessor error: map[a:1] is of the type \
              map[string]interface {}, expected int64",
            ),
        ];
        for (object, wanted) in rows {
            let wanted = format!(".spec.size: Invalid value: 0: {wanted}");
            assert_eq!(lines(&object, None, "").last(), Some(&wanted));
        }
        assert_eq!(lines(&value!({"spec": null}), None, "").len(), 1);
    }

    #[test]
    fn the_status_is_validated_separately() {
        let object = value!({"spec": {"size": 0}, "status": {"phase": "Off", "replicas": (-1)}});
        assert_eq!(
            lines(&object, None, "status"),
            [
                "status.phase: Unsupported value: \"Off\": supported values: \"Up\", \"Down\"",
                ".status.replicas: Invalid value: -1: should be a non-negative integer",
            ]
        );
    }
}
