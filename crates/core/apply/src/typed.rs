//! Objects with a schema: their field sets, comparison, and structured merge.
//! Every walk takes a [`Node`], the type of the root: usually a struct's schema, or [`Node::DEDUCED`] for objects of
//! an unknown type. Must never change its input; results are not canonical.

mod atomic;
mod compare;
mod element;
mod error;
mod fields;
mod lookup;
mod merge;
mod node;
mod reconcile;
mod remove;
#[cfg(test)]
mod tests;
mod validate;

pub use atomic::atomic_paths;
pub use compare::{Comparison, compare};
pub use error::{TypedError, TypedErrors};
pub use fields::fields_of;
pub use merge::merge;
pub use node::Node;
pub use reconcile::{ensure_named_fields_are_members, is_outdated, reconcile_with_schema};
pub use remove::{extract_items, remove_items};
pub use validate::{Duplicates, Examined, examine, validate};
