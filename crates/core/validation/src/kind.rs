//! `KindRules`: the passes in which a kind is validated, if they are not the usual ones, and the order of fields.

use crate::custom_rule::{CustomRule, Replacement, ShownName, Skip, Untyped};
use crate::request::ValidationContext;
use pintle_schema::Struct;

/// One pass of kube-apiserver over an object. The errors of a pass stand before those of the next one.
#[derive(Clone, Copy)]
pub enum Pass {
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
    /// A rule that ends validation if it finds an error.
    First(fn(&Untyped<'_>, &mut ValidationContext<'_>)),
}

/// The passes of a kind. A kind without an entry has the usual ones.
pub struct KindRules {
    pub of: fn() -> &'static Struct,
    pub create: &'static [Pass],
    pub update: &'static [Pass],
    /// By subresource; others have the usual passes of an update.
    pub parts: &'static [(&'static str, &'static [Pass])],
}

/// The passes that most kinds have.
pub const CREATE: &[Pass] = &[Pass::Metadata, Pass::Rules];
pub const UPDATE: &[Pass] = &[Pass::MetadataUpdate, Pass::Rules];

impl KindRules {
    /// The usual passes; override some with `..KindRules::of(schema)`.
    pub const fn of(of: fn() -> &'static Struct) -> Self {
        KindRules { of, create: CREATE, update: UPDATE, parts: &[] }
    }
}

/// A field of a type, by its JSON name.
pub type FieldOf = (fn() -> &'static Struct, &'static str);

/// The order in which the fields of a type are validated, if it is not that of the struct.
pub struct FieldOrder {
    pub of: fn() -> &'static Struct,
    /// The field, of another type, whose values have this order; `None` for all values of the type.
    pub within: Option<FieldOf>,
    /// The first fields, by JSON name. The others follow in the order of the struct.
    pub fields: &'static [&'static str],
}

/// The rules of an API group, in tables.
pub struct Group {
    /// The kinds whose passes are not the usual ones.
    pub kinds: &'static [KindRules],
    /// Handwritten rules.
    pub custom_rules: &'static [CustomRule],
    /// The types whose fields are not validated in the order of the struct.
    pub orders: &'static [FieldOrder],
    /// The fields that are not always validated.
    pub skips: &'static [Skip],
    /// The fields in place of which something else is validated.
    pub replacements: &'static [Replacement],
    /// The fields that have another name in the paths of errors.
    pub names: &'static [ShownName],
}

impl Group {
    /// No rules; override some tables with `..Group::NONE`.
    pub const NONE: Group =
        Group { kinds: &[], custom_rules: &[], orders: &[], skips: &[], replacements: &[], names: &[] };
}

/// A typed rule as a pass: `pass!(ConfigMap, immutable)`; `first: ` ends validation if it finds an error.
#[macro_export]
macro_rules! pass {
    ($of:ident, $rule:expr) => {
        $crate::Pass::Rule(|value, cx| $rule(value.typed::<$of>(), cx))
    };
    ($of:ident, first: $rule:expr) => {
        $crate::Pass::First(|value, cx| $rule(value.typed::<$of>(), cx))
    };
}

/// The order of a type's fields: `field_order!(Ingress: [SPEC, STATUS])`, or only of the values of a field:
/// `field_order!(Container in PodSpec::INIT_CONTAINERS: [NAME, IMAGE])`.
#[macro_export]
macro_rules! field_order {
    ($of:ident : [$($name:ident),* $(,)?]) => {
        $crate::FieldOrder {
            of: <$of as ::pintle_schema::ApiType>::schema,
            within: None,
            fields: &[$($of::$name.name()),*],
        }
    };
    ($of:ident in $owner:ident :: $field:ident : [$($name:ident),* $(,)?]) => {
        $crate::FieldOrder {
            within: Some((<$owner as ::pintle_schema::ApiType>::schema, $owner::$field.name())),
            ..$crate::field_order!($of: [$($name),*])
        }
    };
}
