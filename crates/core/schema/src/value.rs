//! `Value`: an object while a request works on it.
//! Guarantees a JSON-shaped tree with interned keys and inline small strings that keeps the order of its entries;
//! `canonicalize` converts it to the canonical order and form.
//! Must never outlive its request.

use smol_str::SmolStr;

pub use crate::map::Map;

/// A key or string: static (interned from a schema), inline (up to 23 bytes) or shared.
pub type Str = SmolStr;

/// A JSON-shaped value. Structs are maps whose keys are JSON field names, Go's inlined structs flattened into them.
///
/// Bytes are base64 text, times RFC 3339 text, quantities their canonical text, int-or-string an `Int` or `String`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(Str),
    List(Vec<Value>),
    Map(Map),
    /// JSON text that is not parsed: a raw extension that is not null, as it was written, including whitespace; a
    /// field set that is not empty, as it is stored; and a null that is not absent, see `Value::NO_TIME`.
    Raw(Str),
}

impl Value {
    /// An empty map.
    pub fn map() -> Self {
        Value::Map(Map::new())
    }

    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    #[inline]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_list_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    #[inline]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The zero time behind a pointer: null in JSON, but the pointer is set.
    pub const NO_TIME: Value = Value::Raw(Str::new_static("null"));

    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Go's zero value: null, false, 0, "", and an empty list or map.
    #[inline]
    pub fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(b) => !b,
            Value::Int(i) => *i == 0,
            Value::Float(f) => *f == 0.0,
            Value::String(s) => s.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(map) => map.is_empty(),
            Value::Raw(_) => false,
        }
    }

    /// A field of a map; `None` if it is absent or this is not a map.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_map_mut()?.get_mut(key)
    }

    /// Follows field names through maps.
    pub fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key.as_ref()))
    }

    pub fn at_mut<S: AsRef<str>>(&mut self, path: &[S]) -> Option<&mut Value> {
        path.iter().try_fold(self, |value, key| value.get_mut(key.as_ref()))
    }

    /// The string at a path of field names, "" if there is none.
    pub fn str_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or("")
    }

    /// The map in a field, created if it is absent or of another type.
    pub fn map_entry(&mut self, key: &str) -> &mut Value {
        let slot = self.make_map().entry(key);
        slot.make_map();
        slot
    }

    /// Sets the value at a path, and creates maps on the way.
    pub fn set_at<S: AsRef<str>>(&mut self, path: &[S], value: impl Into<Value>) {
        let Some((last, parents)) = path.split_last() else {
            *self = value.into();
            return;
        };
        let parent = parents.iter().fold(self, |value, key| value.map_entry(key.as_ref()));
        parent.make_map().set(Str::new(last), value);
    }

    /// Removes the value at a path and returns it.
    pub fn remove_at(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        self.at_mut(parents)?.as_map_mut()?.remove(last)
    }

    /// This value as a map, replaced by an empty one if it is something else.
    pub fn make_map(&mut self) -> &mut Map {
        if !matches!(self, Value::Map(_)) {
            *self = Value::Map(Map::new());
        }
        match self {
            Value::Map(map) => map,
            _ => unreachable!("made a map just above"),
        }
    }

    /// Brings the fields of all maps in this value into the order of their names.
    pub fn sort_keys(&mut self) {
        match self {
            Value::Map(map) => {
                if !map.entries().is_sorted_by(|(a, _), (b, _)| a <= b) {
                    map.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                map.iter_mut().for_each(|(_, value)| value.sort_keys());
            }
            Value::List(items) => items.iter_mut().for_each(Value::sort_keys),
            _ => {}
        }
    }

    /// The name of this JSON type in kube-apiserver's messages.
    pub fn json_kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
            Value::Raw(text) => match text.as_bytes().first() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "bool",
                Some(b'n') => "null",
                _ => "number",
            },
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}
impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(Str::new(value))
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(Str::from(value))
    }
}
impl From<Str> for Value {
    fn from(value: Str) -> Self {
        Value::String(value)
    }
}
impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Value::Map(value)
    }
}
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

/// A `Value` from JSON syntax: `value!({ "a": 1, "b": [x, y] })`.
#[macro_export]
macro_rules! value {
    (null) => { $crate::Value::Null };
    ([ $($item:tt),* $(,)? ]) => { $crate::Value::List(vec![ $( $crate::value!($item) ),* ]) };
    ({ $($key:literal : $item:tt),* $(,)? }) => {
        $crate::Value::Map($crate::Map::from_entries(vec![ $( ($crate::Str::new_static($key), $crate::value!($item)) ),* ]))
    };
    ($other:expr) => { $crate::Value::from($other) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_read_and_removed() {
        let mut object = Value::map();
        object.set_at(&["metadata", "name"], "web");
        object.set_at(&["metadata", "labels", "app"], "web");
        assert_eq!(object, value!({"metadata": {"name": "web", "labels": {"app": "web"}}}));
        assert_eq!(object.str_at(&["metadata", "labels", "app"]), "web");
        assert_eq!(object.str_at(&["metadata", "absent", "app"]), "");
        assert_eq!(object.remove_at(&["metadata", "name"]), Some(Value::from("web")));
        assert_eq!(object.remove_at(&["spec", "name"]), None);
        assert_eq!(object, value!({"metadata": {"labels": {"app": "web"}}}));
    }

    #[test]
    fn setting_keeps_the_place_of_a_key() {
        let mut map = value!({"a": 1, "b": 2}).as_map().cloned().unwrap_or_default();
        assert_eq!(map.set("a", 3), Some(Value::Int(1)));
        map.set("c", 4);
        assert_eq!(Value::Map(map), value!({"a": 3, "b": 2, "c": 4}));
    }
}
