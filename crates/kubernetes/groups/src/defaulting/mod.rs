//! What defaulting fills into objects of the built-in kinds beyond the constants of their `default` tags: functions, a file
//! for each group.
//!
//! Applying twice changes nothing more. Nothing here may refuse an object: what has the wrong shape is left as it is.

pub(crate) mod fields;
#[cfg(test)]
mod tests;

use pintle_schema::{Struct, Value};

/// A type and a function that fills in what is missing in a value of it, see [`DefaultFunction`].
pub(crate) type Rule = (fn() -> &'static Struct, fn(&mut Value));

/// The same for a function that fills in the time, which is given in seconds since 1970.
pub(crate) type DatedRule = (fn() -> &'static Struct, fn(&mut Value, i64));
