//! `Location`: where the walk over an object is. A spot is made on the stack for each value and says all that rules may know of it.

use crate::custom_rule::Untyped;
use crate::path::FieldPath;
use crate::relation::Owner;
use pintle_schema::Value;

/// A value, the one it replaces, and where they are.
#[derive(Clone, Copy)]
pub(crate) struct Location<'r> {
    pub value: &'r Value,
    pub old: Option<&'r Value>,
    pub path: &'r FieldPath<'r>,
    /// The struct that it is in, whose fields rules may name.
    pub owner: Owner<'r>,
    /// Nothing changed: only rules that always run are run.
    pub unchanged: bool,
    /// What the rules depend on changed: the value is judged whether it did or not.
    pub again: bool,
    /// An item of a list that has more.
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

    /// The value as the struct that its fields are in.
    pub fn as_owner(&self) -> Owner<'r> {
        Owner { value: self.value, old: self.old }
    }

    #[inline]
    pub fn untyped(&self) -> Untyped<'r> {
        Untyped { value: self.value, old: self.old, path: self.path }
    }
}
