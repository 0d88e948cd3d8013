//! Defaults of built-in kinds that are not constants in `default` tags: functions, one file for each group.
//!
//! Defaulting is idempotent. It must never reject an object: values of the wrong shape are left unchanged.

pub(crate) mod fields;
#[cfg(test)]
mod tests;

use pintle_schema::{Struct, Value};

/// A type and a function that fills in what is missing in a value of it, see [`DefaultFunction`].
pub(crate) type Rule = (fn() -> &'static Struct, fn(&mut Value));

/// The same for a function that fills in the time, which is given in seconds since 1970.
pub(crate) type DatedRule = (fn() -> &'static Struct, fn(&mut Value, i64));
