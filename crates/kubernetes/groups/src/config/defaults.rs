//! Defaults of configuration files that are not constants: the cache size of a v1 KMS plugin.
//!
//! A v2 plugin has no cache.

use crate::defaulting::Rule;
use crate::defaulting::fields::{set_if_null, text};
use pintle_schema::{ApiType, Value};
use pintle_types::config_apiserver::v1::KMSConfiguration;

pub const RULES: &[Rule] = &[(KMSConfiguration::schema, cache_size)];

fn cache_size(plugin: &mut Value) {
    if matches!(text(plugin, KMSConfiguration::API_VERSION), "" | "v1") {
        set_if_null(plugin, KMSConfiguration::CACHESIZE, 1000);
    }
}
