//! Rules of ConfigMap.

use pintle_schema::Map;
use pintle_types::core::v1::ConfigMap;
use pintle_validation::{At, Cx, ErrorKind};
use std::collections::BTreeMap;

/// What keys and values may come to, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// An object marked immutable stays as it is, mark included.
pub fn keeps_immutable(config: At<'_, ConfigMap>, cx: &mut Cx<'_>) {
    let Some(old) = config.old.filter(|old| old.field(ConfigMap::IMMUTABLE).get() == Some(true)) else { return };
    let mut forbid = |same: bool, field: &str| {
        if !same {
            cx.errors.forbidden(config.path.child(field), "field is immutable when `immutable` is set");
        }
    };
    forbid(config.new.field(ConfigMap::IMMUTABLE).get() == Some(true), ConfigMap::IMMUTABLE.name());
    let same = |field: &str| pintle_validation::same_at(config.new.value(), old.value(), field);
    for field in [ConfigMap::DATA.name(), ConfigMap::BINARY_DATA.name()] {
        forbid(same(field), field);
    }
}

/// Keys stand in one of the two maps.
pub fn data(data: At<'_, BTreeMap<String, String>>, cx: &mut Cx<'_>) {
    let others = cx.root::<ConfigMap>().field(ConfigMap::BINARY_DATA).value();
    for (key, _) in data.new.value().as_map().into_iter().flat_map(Map::iter) {
        if others.get(key).is_some() {
            cx.errors.invalid(data.path.key(key), key.clone(), "duplicate of key present in binaryData");
        }
    }
}

/// All values together have a bound.
pub fn size(config: At<'_, ConfigMap>, cx: &mut Cx<'_>) {
    let sum = |field: &str, bytes: fn(&str) -> usize| -> usize {
        let values = config.new.value().get(field).and_then(|map| map.as_map()).into_iter().flat_map(Map::values);
        values.filter_map(|value| value.as_str()).map(bytes).sum()
    };
    let total = sum(ConfigMap::DATA.name(), str::len) + sum(ConfigMap::BINARY_DATA.name(), decoded_len);
    if total > MAX_BYTES {
        cx.errors.push(ErrorKind::TooLong, config.path, None, format!("may not be more than {MAX_BYTES} bytes"));
    }
}

/// How many bytes a base64 text stands for.
pub fn decoded_len(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}
