//! The condition `NonStructuralSchema` of a stored definition: why its schemas are not structural.
//!
//! Guarantees kube-apiserver's message, which names the versions' schemas even where all versions share one. Must never be asked about
//! definitions that were sent: validation rejects what the condition notes.

use super::Definition;
use crate::structural;
use pintle_schema::Value;
use pintle_validation::{ErrorList, FieldPath};

/// What is wrong with the schemas of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NonStructural {
    /// They are not structural.
    Violations(String),
    /// One has no structural form that could be checked.
    Unknown(String),
}

/// What is wrong with the schemas of a definition in its stored form; `None` if it drops unknown fields, as it could not be stored
/// then without structural schemas.
pub fn non_structural(object: &Value) -> Option<NonStructural> {
    if object.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let definition = Definition::of(object);
    let spec = FieldPath::new("spec");
    let mut errors = ErrorList::default();
    errors.invalid(spec.child("preserveUnknownFields"), true, "must be false");
    let versions = spec.child("versions");
    for (at, (version, own)) in definition.versions.iter().enumerate() {
        let Some(schema) = own.as_ref().or(definition.shared.as_ref()).and_then(Option::as_ref) else { continue };
        if let Err(reason) = structural::convertible(schema) {
            let name = super::text(version, "name");
            return Some(NonStructural::Unknown(format!(
                "failed to check validation schema for version {name}: {reason}"
            )));
        }
        let (version, path) = (versions.index(at), "schema.openAPIV3Schema");
        errors.0.extend(structural::validate(schema, &version.child(path)).0);
    }
    Some(NonStructural::Violations(errors.summary()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn of(preserves: Value, shared: Value, own: Value) -> Option<NonStructural> {
        let mut versions = value!([{"name": "v1"}, {"name": "v2"}]);
        if let (false, Some(first)) = (own.is_null(), versions.as_list_mut().and_then(|all| all.first_mut())) {
            first.set_at(&["schema", "openAPIV3Schema"], own);
        }
        let mut definition = value!({"spec": {"preserveUnknownFields": (preserves), "versions": (versions)}});
        if !shared.is_null() {
            definition.set_at(&["spec", "validation", "openAPIV3Schema"], shared);
        }
        non_structural(&definition)
    }

    #[test]
    fn the_schemas_of_all_versions_are_checked() {
        const OPEN: &str = "spec.preserveUnknownFields: Invalid value: true: must be false";
        let violations = |text: &str| Some(NonStructural::Violations(text.to_owned()));
        let at = |version: usize, rest: &str| format!("spec.versions[{version}].schema.openAPIV3Schema.{rest}");
        let rows = [
            (value!(false), value!({"type": "object"}), Value::Null, None),
            (Value::Null, Value::Null, Value::Null, None),
            (value!(true), Value::Null, Value::Null, violations(OPEN)),
            (value!(true), value!({"type": "object"}), Value::Null, violations(OPEN)),
            (
                value!(true),
                value!({"type": ""}),
                Value::Null,
                violations(&format!(
                    "[{OPEN}, {}, {}]",
                    at(0, "type: Required value: must not be empty at the root"),
                    at(1, "type: Required value: must not be empty at the root")
                )),
            ),
            (
                value!(true),
                value!({"type": "object"}),
                value!({"type": "integer"}),
                violations(&format!(
                    "[{OPEN}, {}]",
                    at(0, "type: Invalid value: \"integer\": must be object at the root")
                )),
            ),
            (
                value!(true),
                Value::Null,
                value!({"type": "object", "properties": {"a": {"$ref": "#/x"}}}),
                Some(NonStructural::Unknown(
                    "failed to check validation schema for version v1: OpenAPIV3Schema '$ref' is not supported"
                        .to_owned(),
                )),
            ),
        ];
        for (preserves, shared, own, wanted) in rows {
            assert_eq!(of(preserves, shared.clone(), own.clone()), wanted, "{shared:?} {own:?}");
        }
    }
}
