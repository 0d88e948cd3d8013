//! Handwritten rules: functions for what no tag can express, registered at a type or at a field of a type.
//! A rule is a function on typed views. Tables of them are static data; the plan puts each in its place.

use crate::order::Phase;
use crate::path::FieldPath;
use crate::request::{At, Operation, Request, ValidationContext};
use pintle_schema::{FieldName, Struct, Value, View};

/// When a rule runs; flags are joined by `|`.
///
/// Without `ON_..` it runs on every operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When(pub u8);

impl When {
    pub const ANY: u8 = 0;
    pub const ON_CREATE: u8 = 1;
    pub const ON_UPDATE: u8 = 2;
    /// On updates through a subresource.
    pub const ON_PART: u8 = 4;
    /// Runs on updates that do not change the value too: for rules that read other values.
    pub const ALWAYS: u8 = 8;
    /// Tags express the same: the results are compared.
    pub const COVERED: u8 = 16;

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
    /// Where its errors stand among those of the value.
    pub phase: Phase,
    pub run: fn(&Untyped<'_>, &mut ValidationContext<'_>),
}

/// A rule of a field: `at_field!(PodSpec::CONTAINERS, containers, phase = After, ON_CREATE)`. The phase is one of
/// [`Phase`], `Before` if there is none.
#[macro_export]
macro_rules! at_field {
    ($of:ident :: $field:ident, $rule:expr $(, $($when:ident)|+)?) => {
        $crate::at_field!($of::$field, $rule, phase = Before $(, $($when)|+)?)
    };
    ($of:ident :: $field:ident, $rule:expr, phase = $phase:expr $(, $($when:ident)|+)?) => {
        $crate::CustomRule {
            name: stringify!($rule),
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: $of::$field.name(),
            when: $crate::When(0 $($(| $crate::When::$when)+)?),
            phase: $crate::phase!($phase),
            run: |value, cx| $rule(value.typed_as($of::$field), cx),
        }
    };
}

/// A rule of a struct wherever it is used: `at_type!(Container, container)`.
#[macro_export]
macro_rules! at_type {
    ($of:ident, $rule:expr $(, $($when:ident)|+)?) => {
        $crate::at_type!($of, $rule, phase = Before $(, $($when)|+)?)
    };
    ($of:ident, $rule:expr, phase = $phase:expr $(, $($when:ident)|+)?) => {
        $crate::CustomRule {
            name: stringify!($rule),
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: "",
            when: $crate::When(0 $($(| $crate::When::$when)+)?),
            phase: $crate::phase!($phase),
            run: |value, cx| $rule(value.typed::<$of>(), cx),
        }
    };
}

/// The phase of a rule, by its name alone.
#[doc(hidden)]
#[macro_export]
macro_rules! phase {
    ($phase:expr) => {{
        #[allow(unused_imports, reason = "one of them is used")]
        use $crate::Phase::{After, Before, BeforeField, BeforePart, Inside};
        $phase
    }};
}

/// A field that is not looked into while a condition holds, because kube-apiserver does not do so.
pub struct Skip {
    pub of: fn() -> &'static Struct,
    /// JSON name; "" for each field of the struct.
    pub field: &'static str,
    /// Whether the rules of the field itself are skipped too.
    pub whole: bool,
    /// By the struct that has the field, and the field's name.
    pub when: fn(&Untyped<'_>, &str, &ValidationContext<'_>) -> bool,
}

/// A field whose content is skipped: `skip_inside!(LimitResponse::QUEUING, never_queues)`. The rules of the field itself run.
/// If it may be any field of a struct, the condition gets its name: `skip_inside!(MetricSpec, is_later_source)`.
#[macro_export]
macro_rules! skip_inside {
    ($of:ident :: $field:ident, $when:expr) => {
        $crate::Skip {
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: $of::$field.name(),
            whole: false,
            when: |owner, _, cx| $when(owner.typed::<$of>(), cx),
        }
    };
    ($of:ident, $when:expr) => {
        $crate::Skip {
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: "",
            whole: false,
            when: |owner, field, cx| $when(owner.typed::<$of>(), field, cx),
        }
    };
}

/// The same with the field's own rules: `skip!(PodSpec::RESOURCES, is_on_windows)`.
#[macro_export]
macro_rules! skip {
    ($($field:ident)::+, $when:expr) => {
        $crate::Skip { whole: true, ..$crate::skip_inside!($($field)::+, $when) }
    };
}

/// The name of a field in the paths of errors in it, if that is not its name.
pub struct ShownName {
    pub of: fn() -> &'static Struct,
    pub field: &'static str,
    pub shown: &'static str,
}

/// The shown name of a field: `shown_name!(VolumeSource::GCE_PERSISTENT_DISK = "persistentDisk")`.
#[macro_export]
macro_rules! shown_name {
    ($of:ident :: $field:ident = $shown:expr) => {
        $crate::ShownName { of: <$of as ::pintle_schema::ApiType>::schema, field: $of::$field.name(), shown: $shown }
    };
}

/// What kube-apiserver validates in place of the content of a field.
pub struct Replacement {
    pub of: fn() -> &'static Struct,
    pub field: &'static str,
    /// By the struct that has the field; `None` for the field's own value.
    pub value: fn(&Untyped<'_>, &ValidationContext<'_>) -> Option<Value>,
}

/// The replaced content of a field: `replace!(StatefulSetSpec::TEMPLATE, as_pods_get_it)`.
#[macro_export]
macro_rules! replace {
    ($of:ident :: $field:ident, $value:expr) => {
        $crate::Replacement {
            of: <$of as ::pintle_schema::ApiType>::schema,
            field: $of::$field.name(),
            value: |owner, cx| $value(owner.typed::<$of>(), cx),
        }
    };
}
