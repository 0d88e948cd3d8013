//! What defaulting fills into objects of the built-in kinds beyond the constants of their `default` tags: functions, a file
//! for each group.
//!
//! Applying twice changes nothing more. Nothing here may refuse an object: what has the wrong shape is left as it is.

mod admissionregistration;
mod apiextensions;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod config;
mod core;
mod fields;
mod flowcontrol;
mod image;
mod networking;
mod persistent_volume;
mod pod;
mod rbac;
mod resource;
mod service;
mod storage;
#[cfg(test)]
mod tests;

pub(crate) use self::core::namespace_label;
use pintle_resource::{DefaultFunction, DefaultFunctions};
use pintle_schema::{Struct, Value};
use std::sync::{Arc, LazyLock};

/// A type and a function that fills in what is missing in a value of it, see [`DefaultFunction`].
type Rule = (fn() -> &'static Struct, fn(&mut Value));

/// The same for a function that fills in the time, which is given in seconds since 1970.
type DatedRule = (fn() -> &'static Struct, fn(&mut Value, i64));

/// Every function that fills in the time.
const DATED: &[DatedRule] = resource::DATED;

/// Every other function, by group. Those of one type run in the order they stand in.
const RULES: &[&[Rule]] = &[
    admissionregistration::RULES,
    apiextensions::RULES,
    apps::RULES,
    autoscaling::RULES,
    batch::RULES,
    certificates::RULES,
    config::RULES,
    core::RULES,
    flowcontrol::RULES,
    networking::RULES,
    persistent_volume::RULES,
    pod::RULES,
    rbac::RULES,
    resource::RULES,
    service::RULES,
    storage::RULES,
];

/// The functions of all built-in types.
pub static DEFAULTS: LazyLock<Arc<DefaultFunctions>> = LazyLock::new(|| {
    let plain = RULES.iter().copied().flatten().map(|(schema, fill)| (schema(), DefaultFunction::Plain(*fill)));
    let dated = DATED.iter().map(|(schema, fill)| (schema(), DefaultFunction::Dated(*fill)));
    Arc::new(DefaultFunctions::new(plain.chain(dated)))
});

/// Applies the defaults to a decoded object of a built-in type, at a time in seconds since 1970.
pub fn apply(schema: &Struct, object: &mut Value, now_unix: i64) {
    DEFAULTS.apply(schema, object, now_unix);
}
