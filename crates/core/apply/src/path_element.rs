//! `PathElement`: one element of a field path in managed fields.
//! Guarantees the order of sets, of `FieldsV1` and of conflict messages. Must never depend on the representation of a
//! value: an integer and a float of the same number are equal.

use pintle_codec::compat::print as go;
use pintle_codec::json::opened;
use pintle_schema::{Str, Value};
use std::cmp::Ordering;
use std::fmt;

/// The keys that identify an item of an associative list, sorted by name.
pub type KeyFields = Vec<(Str, Value)>;

/// One element of a field path.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct, or a key of a map.
    Field(Str),
    /// The item of an associative list with these keys.
    Key(KeyFields),
    /// The item of a set with this scalar value.
    Value(Value),
    /// The item of a list at this index.
    Index(i64),
}

impl PathElement {
    /// The element of a field.
    pub fn field(name: impl Into<Str>) -> Self {
        PathElement::Field(name.into())
    }

    /// The element of a list item; the keys may be in any order.
    pub fn key(mut fields: KeyFields) -> Self {
        if fields.len() > 1 {
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        PathElement::Key(fields)
    }

    /// The name, if it is the element of a field.
    pub fn as_field(&self) -> Option<&Str> {
        match self {
            PathElement::Field(name) => Some(name),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => compare_entries(a, b),
            (PathElement::Value(a), PathElement::Value(b)) => compare_values(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// The order of values in paths: numbers by value, then strings, booleans, lists, maps and null.
pub fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::Float(b)) => compare_floats(*a as f64, *b),
        (Value::Float(a), Value::Int(b)) => compare_floats(*a, *b as f64),
        (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let differing = a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|order| order.is_ne());
            differing.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Map(a), Value::Map(b)) => {
            let (mut a, mut b) = (a.entries().to_vec(), b.entries().to_vec());
            a.sort_by(|(a, _), (b, _)| a.cmp(b));
            b.sort_by(|(a, _), (b, _)| a.cmp(b));
            compare_entries(&a, &b)
        }
        (Value::Raw(a), Value::Raw(b)) if a == b => Ordering::Equal,
        (Value::Raw(_), _) | (_, Value::Raw(_)) => compare_values(&opened(a), &opened(b)),
        _ => rank_of_value(a).cmp(&rank_of_value(b)),
    }
}

/// Numbers that cannot be compared count as equal, as in kube-apiserver.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn compare_entries(a: &[(Str, Value)], b: &[(Str, Value)]) -> Ordering {
    let pairs = a.iter().zip(b);
    let mut orders = pairs.map(|((a, x), (b, y))| a.cmp(b).then_with(|| compare_values(x, y)));
    orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn rank_of_value(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::List(_) => 3,
        Value::Map(_) => 4,
        Value::Null => 5,
        Value::Raw(_) => rank_of_value(&opened(value)),
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_str("[")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{name}=")?;
                    write_value(f, value)?;
                }
                f.write_str("]")
            }
            PathElement::Value(value) => {
                f.write_str("[=")?;
                write_value(f, value)?;
                f.write_str("]")
            }
            PathElement::Index(at) => write!(f, "[{at}]"),
        }
    }
}

fn write_value(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Null => f.write_str("null"),
        Value::String(text) => f.write_str(&go::quoted(text)),
        Value::List(items) => {
            f.write_str("[")?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    f.write_str(",")?;
                }
                write_value(f, item)?;
            }
            f.write_str("]")
        }
        Value::Map(map) => map.iter().try_for_each(|(key, item)| {
            write!(f, "{key}=")?;
            write_value(f, item)
        }),
        scalar => f.write_str(&go::plain(scalar)),
    }
}

/// Formats a path as in conflict messages: `.spec.containers[name="a"].image`.
pub struct Path<'a>(pub &'a [PathElement]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn key(fields: &[(&'static str, Value)]) -> PathElement {
        PathElement::key(fields.iter().map(|(name, value)| (Str::new_static(name), value.clone())).collect())
    }

    #[test]
    fn elements_are_ordered_by_kind_then_content() {
        let ordered = [
            PathElement::field(""),
            PathElement::field("a"),
            PathElement::field("b"),
            key(&[("name", value!("a"))]),
            key(&[("name", value!("b"))]),
            key(&[("port", value!(80))]),
            key(&[("port", value!(80)), ("protocol", value!("TCP"))]),
            key(&[("port", value!(443))]),
            PathElement::Value(value!(1)),
            PathElement::Value(value!(1.5)),
            PathElement::Value(value!(2)),
            PathElement::Value(value!("1")),
            PathElement::Value(value!(false)),
            PathElement::Value(value!(true)),
            PathElement::Value(value!([])),
            PathElement::Value(value!([1])),
            PathElement::Value(value!({"a": 1})),
            PathElement::Value(value!({"b": 1, "a": 2})),
            PathElement::Value(value!(null)),
            PathElement::Index(-1),
            PathElement::Index(3),
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(PathElement::Value(value!(1)), PathElement::Value(value!(1.0)));
        assert_eq!(key(&[("b", value!(1)), ("a", value!(2))]), key(&[("a", value!(2)), ("b", value!(1))]));
    }

    #[test]
    fn paths_are_shown_as_in_conflicts() {
        let path = [
            PathElement::field("spec"),
            key(&[("protocol", value!("TCP")), ("containerPort", value!(80))]),
            PathElement::Value(value!("a\"b")),
            PathElement::Value(value!(1.5)),
            PathElement::Value(value!([true, null])),
            PathElement::Index(4),
        ];
        let expected = r#".spec[containerPort=80,protocol="TCP"][="a\"b"][=1.5][=[true,null]][4]"#;
        assert_eq!(Path(&path).to_string(), expected);
    }
}
