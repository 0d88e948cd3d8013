//! Rules of the types that all groups use: label selectors and conditions.
//!
//! Functions for the rules of kinds; a type alone is never judged, since not every kind's are.

pub mod condition;
pub mod label_selector;
