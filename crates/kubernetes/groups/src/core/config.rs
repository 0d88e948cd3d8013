//! ConfigMaps and Secrets.
//!
//! A Secret never leaves this module's hands with `stringData`: it is for writing only.

use crate::printing::printer;
use crate::views::clear;
use pintle_resource::{GENERAL, NOT_SUPPORTED, Resource, Selectable, Storage, Strategy};
use pintle_schema::{ApiValue, Bytes, Value, ViewMut};
use pintle_types::core::v1;

pub(super) fn config_maps() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ConfigMap>()),
        printer: printer(&super::columns::CONFIG_MAP),
        ..Resource::of::<v1::ConfigMap>()
    }
}

pub(super) fn secrets() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Secret>()),
        selectable: vec![Selectable::path("type", &["type"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &Strategy { normalize: Some(merge_string_data), ..GENERAL },
        printer: printer(&super::columns::SECRET),
        warn: Some(super::rules::key_pair::warn),
        ..Resource::of::<v1::Secret>()
    }
}

/// Merges `stringData` over `data`.
fn merge_string_data(object: &mut Value) {
    let mut secret = ViewMut::<v1::Secret>::new(object);
    let strings = secret.view().field(v1::Secret::STRING_DATA).get();
    if !strings.is_empty() {
        let data = secret.by_ref().field(v1::Secret::DATA).raw().make_map();
        for (key, text) in strings {
            data.set(key, Bytes(text.into_bytes()).to_value());
        }
    }
    clear(&mut secret, v1::Secret::STRING_DATA);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::normalized;
    use pintle_schema::value;

    #[test]
    fn string_data_is_merged_over_data() {
        let rows = [
            (value!({"stringData": {"a": "x"}}), value!({"data": {"a": "eA=="}})),
            (
                value!({"data": {"a": "eQ==", "b": "eg=="}, "stringData": {"a": "x"}}),
                value!({"data": {"a": "eA==", "b": "eg=="}}),
            ),
            (value!({"data": {"a": "eQ=="}, "stringData": {}}), value!({"data": {"a": "eQ=="}})),
        ];
        for (given, expected) in rows {
            assert_eq!(normalized(&secrets(), given.clone()), normalized(&plain_secrets(), expected), "{given:?}");
        }
    }

    /// Secrets that nothing is done to.
    fn plain_secrets() -> Resource {
        Resource::of::<v1::Secret>()
    }
}
