//! Values as data: what mutations put into objects.
//!
//! Follows protobuf's mapping to JSON. Values of libraries have none, but for those that print.

use super::{List, Map, Value};
use crate::error::EvalError;
use pintle_schema::{Map as DataMap, Str, Value as Data, base64};

/// The largest integer that JSON's numbers hold exactly in every reader.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

impl Value<'_> {
    /// The value as JSON: large integers, bytes, moments and durations become strings.
    ///
    /// # Errors
    ///
    /// It holds what JSON cannot: a library's value, a type, a key that is no string.
    pub fn to_json(&self) -> Result<Data, EvalError> {
        self.write(true)
    }

    /// The value as the data of an object that a mutation applies; integers stay what they are.
    ///
    /// # Errors
    ///
    /// As `to_json`.
    pub fn to_object(&self) -> Result<Data, EvalError> {
        self.write(false)
    }

    fn write(&self, is_json: bool) -> Result<Data, EvalError> {
        Ok(match self {
            Value::Null => Data::Null,
            Value::Bool(b) => Data::Bool(*b),
            Value::Int(i) if is_json && i.unsigned_abs() > MAX_SAFE_INTEGER => Data::from(i.to_string()),
            Value::Int(i) => Data::Int(*i),
            Value::Uint(u) => match i64::try_from(*u) {
                Ok(i) if !is_json || *u <= MAX_SAFE_INTEGER => Data::Int(i),
                _ => Data::from(u.to_string()),
            },
            Value::Double(d) => Data::Float(*d),
            Value::String(text) => Data::String(text.to_shared()),
            Value::Bytes(bytes) => Data::from(base64::encode(bytes)),
            Value::Duration(duration) => Data::from(crate::library::time::print_duration(duration.nanos)),
            Value::Timestamp(moment) => Data::from(crate::standard::print_timestamp(moment)),
            Value::List(List::Data(elements, _)) => Data::List(elements.to_vec()),
            Value::List(list) => {
                Data::List(list.iter().map(|element| element?.write(is_json)).collect::<Result<_, EvalError>>()?)
            }
            Value::Map(Map::Data(map, _)) => Data::Map((*map).clone()),
            Value::Map(map @ Map::Entries(_)) => {
                let mut written = DataMap::with_capacity(map.len());
                for key in map.keys() {
                    let Some(value) = map.get(&key) else { continue };
                    written.set(key_text(&key, is_json)?, value?.write(is_json)?);
                }
                Data::Map(written)
            }
            Value::Optional(Some(value)) => value.write(is_json)?,
            Value::Struct(object) => {
                let mut written = DataMap::with_capacity(object.fields.len());
                for (name, value) in &object.fields {
                    written.set(name.clone(), value.write(is_json)?);
                }
                Data::Map(written)
            }
            Value::Preserved(data) => (*data).clone(),
            Value::Optional(None) | Value::Type(_) | Value::Opaque(_) => {
                let name = self.type_name();
                let name = name.rsplit('.').next().unwrap_or(name);
                return Err(EvalError::new(format!("type conversion error from '{name}' to '*structpb.Value'")));
            }
        })
    }

    /// Looks whether objects that an expression made are named after the fields that hold them: `Object{spec:
    /// Object.spec{..}}`.
    ///
    /// # Errors
    ///
    /// The names that differ.
    pub fn check_type_names(&self) -> Result<(), EvalError> {
        let Value::Struct(object) = self else { return Ok(()) };
        let mut wrong = Vec::new();
        check_names(self, &object.name, &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(EvalError::new(wrong.join("\n"))) }
    }
}

fn key_text(key: &Value<'_>, is_json: bool) -> Result<Str, EvalError> {
    match key {
        Value::String(text) => Ok(text.to_shared()),
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) if is_json => Ok(Str::from(key.shown())),
        other => {
            Err(EvalError::new(format!("map key \"{}\" is of type {}, not string", other.shown(), other.type_name())))
        }
    }
}

fn check_names(value: &Value<'_>, path: &str, wrong: &mut Vec<String>) {
    match value {
        Value::Struct(object) => {
            if object.name != path {
                wrong.push(format!(
                    "unexpected type name {}, expected {}, which matches field name path from root Object type",
                    pintle_schema::names::quoted(&object.name),
                    pintle_schema::names::quoted(path)
                ));
            }
            for (name, value) in &object.fields {
                check_names(value, &format!("{path}.{name}"), wrong);
            }
        }
        Value::List(list @ (List::Made(_) | List::Joined(_))) => {
            list.iter().flatten().for_each(|element| check_names(&element, path, wrong));
        }
        Value::Map(map @ Map::Entries(_)) => {
            for key in map.keys() {
                if let Some(Ok(value)) = map.get(&key) {
                    check_names(&value, path, wrong);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::{CURRENT_MINOR, Policy};
    use crate::{Environment, Value};
    use pintle_schema::value;

    fn evaluated(text: &str) -> Value<'static> {
        let environment = Environment::for_policy(CURRENT_MINOR, Policy { has_patches: true, ..Policy::default() });
        let program = Box::leak(Box::new(environment.compile(text).expect("it compiles")));
        program.evaluate(&[("object", Value::Null)], 1_000_000).value.expect("a value")
    }

    #[test]
    fn objects_of_mutations_become_data() {
        let object = evaluated("Object{spec: Object.spec{replicas: 3, ?absent: optional.none(), list: [1u, 2u]}}");
        assert_eq!(object.to_object().expect("data"), value!({"spec": {"replicas": 3, "list": [1, 2]}}));
        assert_eq!(object.check_type_names(), Ok(()));
        let wrong = evaluated("Object{spec: Object.other{}}").check_type_names().expect_err("another name");
        assert_eq!(
            wrong.to_string(),
            "unexpected type name \"Object.other\", expected \"Object.spec\", which matches field name path from root \
             Object type"
        );
    }

    #[test]
    fn values_of_patches_become_json() {
        for (text, json) in [
            ("9007199254740993", value!("9007199254740993")),
            ("b'hi'", value!("aGk=")),
            ("duration('90s')", value!("90s")),
            ("timestamp('2024-01-01T00:00:00Z')", value!("2024-01-01T00:00:00Z")),
            ("{1: true}", value!({"1": true})),
        ] {
            assert_eq!(evaluated(text).to_json().expect("JSON"), json, "{text}");
        }
        let error = evaluated("quantity('1')").to_json().expect_err("no JSON");
        assert_eq!(error.to_string(), "type conversion error from 'Quantity' to '*structpb.Value'");
    }
}
