//! Handwritten rules: functions for what no tag can express, registered at a type or at a field of a type.
//! A rule is a function on typed views. Tables of them are static data; the plan puts each in its place.

use crate::path::FieldPath;
use crate::request::{At, Operation, Request, ValidationContext};
use pintle_schema::{FieldName, Struct, Value, View};

/// When a rule runs; flags are joined by `|`.
///
/// Without `ON_..` it runs on every operation; without `AFTER`, before the rules within the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When(pub u8);

impl When {
    pub const ANY: u8 = 0;
    pub const ON_CREATE: u8 = 1;
    pub const ON_UPDATE: u8 = 2;
    /// On updates through a subresource.
    pub const ON_PART: u8 = 4;
    /// After the rules within the value.
    pub const AFTER: u8 = 8;
    /// Runs on updates that do not change the value too: for rules that read other values.
    pub const ALWAYS: u8 = 16;
    /// Tags express the same: the results are compared.
    pub const COVERED: u8 = 32;

    pub(crate) fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    pub(crate) fn runs_on(self, request: &Request<'_>) -> bool {
        let asked = self.0 & (When::ON_CREATE | When::ON_UPDATE | When::ON_PART);
        let now = match (request.operation, request.subresource.is_empty()) {
            (Operation::Create, _) => When::ON_CREATE,
            (Operation::Update, true) => When::ON_UPDATE,
            (Operation::Update, false) => When::ON_PART,
        };
        asked == 0 || asked & now != 0
    }
}

/// A value whose type only the rule knows.
#[derive(Clone, Copy)]
pub struct Untyped<'r> {
    pub value: &'r Value,
    pub old: Option<&'r Value>,
    pub path: &'r FieldPath<'r>,
}

impl<'r> Untyped<'r> {
    /// A view of the value as a `T`.
    pub fn typed<T>(&self) -> At<'r, T> {
        At { new: View::new(self.value), old: self.old.map(View::new), path: self.path }
    }

    /// A view of the value as a field's type.
    pub fn typed_as<S, F>(&self, _: FieldName<S, F>) -> At<'r, F> {
        self.typed()
    }
}

/// A handwritten rule and its place.
pub struct CustomRule {
    pub name: &'static str,
    pub of: fn() -> &'static Struct,
    /// JSON name; "" for the struct itself.
    pub field: &'static str,
    pub when: When,
    pub run: fn(&Untyped<'_>, &mut ValidationContext<'_>),
}

/// A rule of a field: `at_field!(PodSpec::CONTAINERS, containers, AFTER | ON_CREATE)`.
#[macro_export]
macro_rules! at_field {
    ($of:ident :: $field:ident, $rule:expr $(, $($when:ident)|+)?) => {
        $crate::CustomRule {
            name: stringify!($rule),
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: $of::$field.name(),
            when: $crate::When(0 $($(| $crate::When::$when)+)?),
            run: |value, cx| $rule(value.typed_as($of::$field), cx),
        }
    };
}

/// A rule of a struct wherever it is used: `at_type!(Container, container)`.
#[macro_export]
macro_rules! at_type {
    ($of:ident, $rule:expr $(, $($when:ident)|+)?) => {
        $crate::CustomRule {
            name: stringify!($rule),
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: "",
            when: $crate::When(0 $($(| $crate::When::$when)+)?),
            run: |value, cx| $rule(value.typed::<$of>(), cx),
        }
    };
}
