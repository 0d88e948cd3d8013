//! Defaults of the kinds of configuration files.
//!
//! The server reads these files when it starts. No path serves these kinds.

pub(crate) mod defaults;

use crate::group::TypeFunctions;
use pintle_resource::{DefaultFunctions, UNDATED};
use pintle_schema::{Struct, Value};
use std::sync::LazyLock;

/// Applies the defaults to a decoded file.
pub fn apply_defaults(schema: &Struct, file: &mut Value) {
    static DEFAULTS: LazyLock<DefaultFunctions> =
        LazyLock::new(|| TypeFunctions::default().defaults(defaults::RULES).default_functions());
    DEFAULTS.apply(schema, file, UNDATED);
}

#[cfg(test)]
mod tests {
    use super::apply_defaults;
    use pintle_schema::{ApiType, Value, value};
    use pintle_types::config_apiserver::v1::KMSConfiguration;

    #[test]
    fn only_the_first_kind_of_key_service_has_a_cache() {
        for (mut plugin, size) in [(value!({}), Value::Int(1000)), (value!({"apiVersion": "v2"}), Value::Null)] {
            apply_defaults(KMSConfiguration::schema(), &mut plugin);
            assert_eq!(plugin.get("cachesize").cloned().unwrap_or_default(), size);
        }
    }
}
