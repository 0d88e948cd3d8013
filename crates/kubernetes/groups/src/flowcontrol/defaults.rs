//! Defaults of the flowcontrol group that are not constants: the shares of a v1beta3 priority level.
//!
//! In v1beta3 an annotation distinguishes zero shares from absent ones.

use crate::defaulting::Rule;
use crate::defaulting::fields::{get_mut, set_if_zero};
use pintle_schema::{ApiType, Value, View};
use pintle_types::flowcontrol::v1beta3::{
    LimitedPriorityLevelConfiguration, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
};
use pintle_types::meta::v1::ObjectMeta;

pub const RULES: &[Rule] = &[(PriorityLevelConfiguration::schema, shares)];

const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

fn shares(level: &mut Value) {
    let view = View::<PriorityLevelConfiguration>::new(level);
    let annotations = view.field(PriorityLevelConfiguration::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    if annotations.get(PRESERVE_ZERO).is_some() {
        return;
    }
    let limited = get_mut(level, PriorityLevelConfiguration::SPEC)
        .and_then(|spec| get_mut(spec, PriorityLevelConfigurationSpec::LIMITED));
    if let Some(limited) = limited {
        set_if_zero(limited, LimitedPriorityLevelConfiguration::NOMINAL_CONCURRENCY_SHARES, 30);
    }
}
