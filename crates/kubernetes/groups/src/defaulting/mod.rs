//! What defaulting fills into objects of the built-in kinds beyond the constants of their `default` tags: functions, a file
//! for each group.
//!
//! Applying twice changes nothing more. Nothing here may refuse an object: what has the wrong shape is left as it is.

pub(crate) mod fields;
#[cfg(test)]
mod tests;

use pintle_resource::{DefaultFunction, DefaultFunctions};
use pintle_schema::{Struct, Value};
use std::sync::{Arc, LazyLock};

/// A type and a function that fills in what is missing in a value of it, see [`DefaultFunction`].
pub(crate) type Rule = (fn() -> &'static Struct, fn(&mut Value));

/// The same for a function that fills in the time, which is given in seconds since 1970.
pub(crate) type DatedRule = (fn() -> &'static Struct, fn(&mut Value, i64));

/// Every function that fills in the time.
const DATED: &[DatedRule] = crate::resource::defaults::DATED;

/// Every other function, by group. Those of one type run in the order they stand in.
const RULES: &[&[Rule]] = &[
    crate::admissionregistration::defaults::RULES,
    crate::apiextensions::defaults::RULES,
    crate::apps::defaults::RULES,
    crate::autoscaling::defaults::RULES,
    crate::batch::defaults::RULES,
    crate::certificates::defaults::RULES,
    crate::config::defaults::RULES,
    crate::core::defaults::RULES,
    crate::flowcontrol::defaults::RULES,
    crate::networking::defaults::RULES,
    crate::core::defaults::persistent_volume::RULES,
    crate::core::defaults::pod::RULES,
    crate::rbac::defaults::RULES,
    crate::resource::defaults::RULES,
    crate::core::defaults::service::RULES,
    crate::storage::defaults::RULES,
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
