//! `Opaque`: values of libraries, such as addresses and quantities.

use crate::types::Type;
use std::any::Any;
use std::fmt::Debug;

/// A library's value. It borrows nothing.
pub trait Opaque: Any + Debug + Send + Sync {
    /// The name that `type()` gives.
    fn type_name(&self) -> &'static str;

    /// Its declared type.
    fn type_of(&self) -> Type;

    /// Equality with a value of the same type name. Others are never equal.
    fn equals(&self, other: &dyn Opaque) -> bool;

    /// Whether it can be compared with anything at all.
    fn is_comparable(&self) -> bool {
        true
    }

    /// For downcasts: `self`.
    fn as_any(&self) -> &dyn Any;

    /// What `size` and costs take it for, if it has a size.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Whether it is the zero of its type.
    fn is_zero(&self) -> bool {
        false
    }

    /// What `format('%s')` prints, if it can be printed.
    fn text(&self) -> Option<String> {
        None
    }
}
