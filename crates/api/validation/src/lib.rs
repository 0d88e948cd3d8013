//! The rules of the built-in kinds: what tags cannot say, one module for each group, and the rulebook of all.
//!
//! Rules judge typed views and never change anything; where they run and in which order is the plan's matter.

pub mod core;
mod outcomes;
pub mod shared;

pub use outcomes::OUTCOMES;

use pintle_validation::{Group, Rulebook};
use std::sync::LazyLock;

/// The groups that have rules beyond tags.
static GROUPS: &[&Group] = &[&crate::core::GROUP];

/// The rules of all built-in kinds.
pub fn rulebook() -> &'static Rulebook {
    static RULEBOOK: LazyLock<Rulebook> = LazyLock::new(|| Rulebook::new(GROUPS));
    &RULEBOOK
}

#[cfg(test)]
mod tests;
