//! Rules of ConfigMap.

use pintle_schema::{Map, Value, View};
use pintle_types::core::v1::ConfigMap;
use pintle_validation::{At, ErrorKind, ValidationContext, same_at};
use std::collections::BTreeMap;

/// The limit on the size of all keys and values, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The fields of an immutable ConfigMap that an update must not change.
pub fn keeps_immutable(config: At<'_, ConfigMap>, cx: &mut ValidationContext<'_>) {
    stays(config, &[ConfigMap::DATA.name(), ConfigMap::BINARY_DATA.name()], cx);
}

/// An object marked immutable keeps the mark and these fields.
pub fn stays<T>(object: At<'_, T>, fields: &[&str], cx: &mut ValidationContext<'_>) {
    let mark = ConfigMap::IMMUTABLE.name();
    let is_marked = |object: &Value| object.get(mark) == Some(&Value::Bool(true));
    let new = object.new.value();
    let Some(old) = object.old.map(View::value).filter(|old| is_marked(old)) else { return };
    let lost = (!is_marked(new)).then_some(mark);
    let changed = fields.iter().copied().filter(|field| !same_at(new, old, field));
    for field in lost.into_iter().chain(changed) {
        cx.errors.forbidden(object.path.child(field), "field is immutable when `immutable` is set");
    }
}

/// A key is in one of the two maps only.
pub fn data(data: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    let others = cx.root::<ConfigMap>().field(ConfigMap::BINARY_DATA).value();
    for (key, _) in data.new.value().as_map().into_iter().flat_map(Map::iter) {
        if others.get(key).is_some() {
            cx.errors.invalid(data.path.key(key), key.clone(), "duplicate of key present in binaryData");
        }
    }
}

/// All values together have a bound.
pub fn size(config: At<'_, ConfigMap>, cx: &mut ValidationContext<'_>) {
    let sum = |field: &str, bytes: fn(&str) -> usize| -> usize {
        let values = config.new.value().get(field).and_then(|map| map.as_map()).into_iter().flat_map(Map::values);
        values.filter_map(|value| value.as_str()).map(bytes).sum()
    };
    let total = sum(ConfigMap::DATA.name(), str::len) + sum(ConfigMap::BINARY_DATA.name(), decoded_len);
    if total > MAX_BYTES {
        cx.errors.push(ErrorKind::TooLong, config.path, None, format!("may not be more than {MAX_BYTES} bytes"));
    }
}

/// The number of bytes that a base64 text encodes.
pub fn decoded_len(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}
