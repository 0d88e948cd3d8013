//! Embedded objects: their `apiVersion` and `kind` are strings, and their metadata has the shape of all metadata. Guarantees
//! that coerced metadata is canonical. Must never touch an object's own metadata, which is decoded before.

use crate::json_schema::JsonSchema;
use crate::prune::At;
use pintle_codec::{Decoded, StrictProblem, Strictness, json};
use pintle_meta::v1::ObjectMeta;
use pintle_schema::{ApiType, Map, Value, canonicalize};
use pintle_validation::{ErrorList, FieldPath};

/// The treatment of a value of the wrong shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It is an error: the object was sent.
    Refused,
    /// Removed: the object was stored without this check.
    Dropped,
}

/// Coerces the embedded objects of a value. Returns the paths of unknown metadata, sorted.
///
/// # Errors
/// A type or metadata has the wrong shape and is rejected.
pub fn coerce(value: &mut Value, schema: &JsonSchema, malformed: Malformed) -> Result<Vec<String>, String> {
    let mut coercion = Coercion { malformed, unknown: Vec::new() };
    coercion.value(value, schema, &At::Root, &FieldPath::ROOT)?;
    coercion.unknown.sort_unstable();
    Ok(coercion.unknown)
}

struct Coercion {
    malformed: Malformed,
    unknown: Vec<String>,
}

impl Coercion {
    fn value(
        &mut self,
        value: &mut Value,
        schema: &JsonSchema,
        at: &At<'_>,
        path: &FieldPath<'_>,
    ) -> Result<(), String> {
        match value {
            Value::Map(map) => {
                if schema.embedded_resource {
                    self.object(map, at, path)?;
                }
                for (name, value) in map.iter_mut() {
                    let at = At::Field(at, name);
                    match (schema.property(name), schema.additional()) {
                        (Some(property), _) => self.value(value, property, &at, &path.child(name))?,
                        (None, Some(additional)) => self.value(value, additional, &at, &path.key(name))?,
                        (None, None) => {}
                    }
                }
            }
            Value::List(items) => {
                let Some(item) = schema.item() else { return Ok(()) };
                for (index, value) in items.iter_mut().enumerate() {
                    self.value(value, item, &At::Item(at, index), &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn object(&mut self, map: &mut Map, at: &At<'_>, path: &FieldPath<'_>) -> Result<(), String> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = map.get(name).filter(|value| value.as_str().is_none()) else { continue };
            if self.malformed == Malformed::Refused {
                return Err(invalid(path.child(name), value, "must be a string"));
            }
            map.remove(name);
        }
        let Some(metadata) = map.get_mut("metadata") else { return Ok(()) };
        let decoded = match decode(metadata) {
            Ok(decoded) => decoded,
            Err(why) if self.malformed == Malformed::Refused => {
                return Err(invalid(path.child("metadata"), metadata, why));
            }
            Err(_) => well_formed(metadata),
        };
        for problem in decoded.problems {
            if let StrictProblem::UnknownField(name) = problem {
                self.unknown.push(format!("{}.{name}", At::Field(at, "metadata").path()));
            }
        }
        *metadata = decoded.value;
        canonicalize(ObjectMeta::schema(), metadata);
        Ok(())
    }
}

fn decode(metadata: &Value) -> Result<Decoded, String> {
    json::conform_json(ObjectMeta::schema(), metadata.clone(), Strictness::Collect).map_err(|error| error.to_string())
}

/// The fields of metadata that can be decoded.
fn well_formed(metadata: &Value) -> Decoded {
    let kept = json::conforming_fields(ObjectMeta::schema(), metadata);
    decode(&kept).unwrap_or_else(|_| Decoded { value: Value::map(), problems: Vec::new() })
}

fn invalid(path: FieldPath<'_>, value: &Value, why: impl Into<String>) -> String {
    let mut errors = ErrorList::default();
    errors.invalid(path, value.clone(), why.into());
    errors.0.iter().map(pintle_validation::FieldError::line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn schema() -> JsonSchema {
        JsonSchema::from_value(&value!({"type": "object", "properties": {"e": {"type": "object",
            "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}))
    }

    #[test]
    fn metadata_of_objects_inside_is_decoded() {
        let mut object = value!({"e": {"kind": "Pod", "metadata": {"name": "a", "junk": 1, "labels": {}}, "spec": 1}});
        assert_eq!(coerce(&mut object, &schema(), Malformed::Refused), Ok(vec!["e.metadata.junk".to_owned()]));
        assert_eq!(object, value!({"e": {"kind": "Pod", "metadata": {"name": "a"}, "spec": 1}}));
    }

    #[test]
    fn embedded_objects_of_the_wrong_shape_are_rejected_or_dropped() {
        let rows = [
            (
                value!({"metadata": {"labels": {"x": 1}, "name": "a"}}),
                "e.metadata: Invalid value: {\"labels\":{\"x\":1},\"name\":\"a\"}: json: cannot unmarshal number into Go \
                 struct field ObjectMeta.labels of type string",
                value!({"metadata": {"name": "a"}}),
            ),
            (
                value!({"metadata": 5}),
                "e.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta",
                value!({"metadata": {}}),
            ),
            (value!({"apiVersion": 1}), "e.apiVersion: Invalid value: 1: must be a string", value!({})),
        ];
        for (sent, refusal, kept) in rows {
            let mut object = value!({"e": (sent)});
            assert_eq!(coerce(&mut object.clone(), &schema(), Malformed::Refused), Err(refusal.to_owned()));
            assert_eq!(coerce(&mut object, &schema(), Malformed::Dropped), Ok(Vec::new()));
            assert_eq!(object, value!({"e": (kept)}));
        }
    }
}
