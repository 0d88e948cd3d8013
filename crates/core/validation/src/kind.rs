//! `KindRules`: the validation steps of a kind, if they are not the usual ones.

use crate::custom_rule::{CustomRule, Untyped};
use crate::request::ValidationContext;
use pintle_schema::Struct;

/// One step of validation. Errors are in the order of the steps.
#[derive(Clone, Copy)]
pub enum Step {
    /// The rules of metadata for a new object.
    Metadata,
    /// The rules of metadata compared with the stored object's.
    MetadataUpdate,
    /// As `Metadata` and `MetadataUpdate`, for kinds whose finalizers need no domain.
    PlainMetadata,
    PlainMetadataUpdate,
    /// All rules of the kind: tags and handwritten ones.
    Rules,
    /// The rules of one field of the kind, by JSON name.
    Field(&'static str),
    /// A rule that runs only here.
    Rule(fn(&Untyped<'_>, &mut ValidationContext<'_>)),
}

/// The steps of a kind. A kind without an entry has the usual ones.
pub struct KindRules {
    pub of: fn() -> &'static Struct,
    pub create: &'static [Step],
    pub update: &'static [Step],
    /// By subresource; others have the usual steps of an update.
    pub parts: &'static [(&'static str, &'static [Step])],
}

/// The steps that most kinds have.
pub const CREATE: &[Step] = &[Step::Metadata, Step::Rules];
pub const UPDATE: &[Step] = &[Step::MetadataUpdate, Step::Rules];

impl KindRules {
    /// The usual steps; override some with `..KindRules::of(schema)`.
    pub const fn of(of: fn() -> &'static Struct) -> Self {
        KindRules { of, create: CREATE, update: UPDATE, parts: &[] }
    }
}

/// The rules of an API group: a table of kinds and a table of handwritten rules.
pub struct Group {
    pub kinds: &'static [KindRules],
    pub custom_rules: &'static [CustomRule],
}

/// A typed rule as a step: `step!(ConfigMap, immutable)`.
#[macro_export]
macro_rules! step {
    ($of:ident, $rule:expr) => {
        $crate::Step::Rule(|value, cx| $rule(value.typed::<$of>(), cx))
    };
}
