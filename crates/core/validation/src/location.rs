//! `Location`: the position of the walk over an object. It is created on the stack for each value and contains
//! everything that rules may know about it.

use crate::custom_rule::Untyped;
use crate::path::FieldPath;
use crate::relation::Owner;
use pintle_schema::Value;

/// A value, the one that it replaces, and their path.
#[derive(Clone, Copy)]
pub(crate) struct Location<'r> {
    pub value: &'r Value,
    pub old: Option<&'r Value>,
    pub path: &'r FieldPath<'r>,
    /// The enclosing struct, whose fields rules may refer to.
    pub owner: Owner<'r>,
    /// Unchanged: only rules that always run are run.
    pub unchanged: bool,
    /// A value that the rules depend on changed: the value is validated even if it did not change.
    pub again: bool,
    /// An item of a list with several.
    pub several: bool,
}

impl<'r> Location<'r> {
    pub fn root(value: &'r Value, old: Option<&'r Value>, unchanged: bool) -> Self {
        Location {
            value,
            old,
            path: &FieldPath::ROOT,
            owner: Owner { value, old },
            unchanged,
            again: false,
            several: false,
        }
    }

    /// A view of the value as the struct of its fields.
    pub fn as_owner(&self) -> Owner<'r> {
        Owner { value: self.value, old: self.old }
    }

    #[inline]
    pub fn untyped(&self) -> Untyped<'r> {
        Untyped { value: self.value, old: self.old, path: self.path }
    }
}
