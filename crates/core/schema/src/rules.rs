//! `Rule`: a validation rule of a field or a struct, as data: static for built-in types, shared for schemas that are
//! created at run time.
//!
//! The derive emits rules with the fields; the validation engine compiles and runs them, and OpenAPI publishes them.
//! Rules are data: a thousand types with rules must add no code.

use crate::gates::Gate;
use crate::schema::{Literal, Slice, Text, Type};
use crate::value::Value;

/// The type of a field error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    Required,
    Invalid,
    TypeInvalid,
    NotSupported,
    NotFound,
    Duplicate,
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    Internal,
}

/// The rule of one tag. The rules of a field run in the order in which they are written. Schemas that are created at
/// run
/// time use bounds, patterns, and rules of items, keys and values, so their data may be owned; the rest is static.
#[derive(Clone)]
pub enum Rule {
    /// The value may be absent or zero; the other rules are then skipped.
    Optional,
    /// An absent or zero value is an error with this detail.
    Required(&'static str),
    /// A value that is not absent or zero is an error with this detail.
    Forbidden(&'static str),
    /// Updates must not change the value.
    Immutable,
    /// Updates must not change the value, with the detail of the error; its other rules run all the same.
    Fixed(&'static str),
    /// Updates must not decrease the number; with the detail of the error.
    Monotonic(&'static str),
    /// Changes that updates must not make.
    Update(&'static [Change]),
    Minimum(i64),
    Maximum(i64),
    /// In characters.
    MinLength(u32),
    /// In characters.
    MaxLength(u32),
    MaxBytes(u32),
    MinItems(u32),
    MaxItems(u32),
    /// The name of a format.
    Format(&'static str),
    Pattern(Text),
    /// The values that are allowed; those of the field's type when none is named.
    Enum(&'static [&'static str]),
    NotEqual(Literal),
    /// Items of a list are distinct in these keys, or as a whole when none is named.
    Unique(&'static [&'static str]),
    /// Items of a list differ in this field, where they have it; the error is at the field.
    Distinct(&'static str),
    /// Items of a list differ in this field; the error is at the item.
    DistinctItems(&'static str),
    /// Items of a list are distinct in a field, even those that lack it.
    DistinctWithAbsent(&'static str),
    /// Keys and values of a map are valid label keys and values.
    Labels,
    /// The number is not greater than other fields of the struct; with the details of the errors.
    NotAbove(&'static [(&'static str, &'static str)]),
    /// At least one of these fields of the struct is set.
    AtLeastOne(&'static [&'static str]),
    /// At most one of these fields of the struct is set.
    AtMostOne(&'static [&'static str]),
    /// Exactly one member of the union is set.
    UnionMember(Member),
    /// The field names the member of the union that is set.
    UnionDiscriminator(&'static str),
    /// At most one member of the union is set.
    ZeroOrOneOf(Member),
    /// The field's value selects the rules of fields tagged `member`.
    Discriminator(&'static str),
    /// Applies while the discriminator has the value. With a value that no rule of the field names, the field is
    /// forbidden.
    Member(Member, Slice<Rule>),
    /// The item of an associative list with these keys.
    Item(&'static [(&'static str, &'static str)], Slice<Rule>),
    EachKey(Slice<Rule>),
    /// The keys of a map; errors are at the entries.
    EachEntryKey(Slice<Rule>),
    EachVal(Slice<Rule>),
    Subfield(&'static str, Slice<Rule>),
    IfEnabled(&'static Gate, Slice<Rule>),
    IfDisabled(&'static Gate, Slice<Rule>),
    /// Applies while other fields of the struct have these values; `|` separates alternatives.
    When(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Applies unless other fields of the struct have these values.
    Unless(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Applies while another field of the struct is set.
    WhenSet(&'static str, Slice<Rule>),
    /// Applies while another field of the struct is not set.
    WhenUnset(&'static str, Slice<Rule>),
    /// Applies to the items of a list that has more than one.
    WhenSeveral(Slice<Rule>),
    /// Runs first; if it fails, no other rule runs.
    First(Slice<Rule>),
    /// Runs after the rules of the fields or items of the value.
    Last(Slice<Rule>),
    /// Errors of the rules within have this detail, and this kind or value if one is given.
    Message(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Since this version, run and compared with handwritten rules, not enforced.
    Alpha(&'static str, Slice<Rule>),
    /// Since this version, enforced unless the gate is off.
    Beta(&'static str, Slice<Rule>),
    /// The rules of the field's type do not apply here.
    Opaque,
    /// A function beside the type.
    Custom(ValidateFn),
    /// A validator of another crate, with its payload.
    External(&'static RuleFunction, Payload),
}

impl Rule {
    /// The rules in the brackets of the tag; `None` for a tag without brackets.
    pub fn chained(&self) -> Option<&[Rule]> {
        match self {
            Rule::Member(_, inner)
            | Rule::Item(_, inner)
            | Rule::EachKey(inner)
            | Rule::EachEntryKey(inner)
            | Rule::EachVal(inner)
            | Rule::Subfield(_, inner)
            | Rule::IfEnabled(_, inner)
            | Rule::IfDisabled(_, inner)
            | Rule::When(_, inner)
            | Rule::Unless(_, inner)
            | Rule::WhenSet(_, inner)
            | Rule::WhenUnset(_, inner)
            | Rule::WhenSeveral(inner)
            | Rule::First(inner)
            | Rule::Last(inner)
            | Rule::Message(_, inner)
            | Rule::Alpha(_, inner)
            | Rule::Beta(_, inner) => Some(inner),
            _ => None,
        }
    }
}

/// A change that an update must not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    NoSet,
    NoUnset,
    NoModify,
}

/// A member of a union, or a field that a discriminator selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The union of the struct; "" for the only one.
    pub union: &'static str,
    /// The discriminator's value for it; "" for the capitalized field name.
    pub value: &'static str,
}

/// The arguments of a validator of another crate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    None,
    Int(i64),
    Text(&'static str),
    Texts(&'static [&'static str]),
}

/// The value to validate, and on update the one that it replaces. An unchanged value is not validated.
#[derive(Clone, Copy)]
pub struct RuleInput<'a> {
    pub value: &'a Value,
    pub old: Option<&'a Value>,
    pub payload: Payload,
}

/// An error that a function found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub detail: String,
}

/// Validates a value, and returns the errors. An empty list allocates nothing.
pub type ValidateFn = fn(RuleInput<'_>) -> Vec<Fault>;

/// A validator of another crate, which is one static of this type.
pub struct RuleFunction {
    /// The origin of its errors.
    pub name: &'static str,
    pub doc: &'static str,
    /// Whether it applies to values of a type. Called when rules are compiled; the error says which types are right.
    pub accepts: fn(&Type, &Payload) -> Result<(), String>,
    pub validate: ValidateFn,
    /// Its form in OpenAPI: a key and a value.
    pub published: fn(&Payload) -> Option<(&'static str, Value)>,
}

/// Whether a tag of these places applies to values of a type. The derive calls it for types that it knows by name only.
///
/// The places are the bits of `Place` in the catalogue of tags. A struct may be a wrapper of a list or map.
#[doc(hidden)]
pub const fn may_stand(ty: &Type, places: u8) -> bool {
    const INT: u8 = 1;
    const STRING: u8 = 2;
    let is = match ty {
        Type::Bool => 4,
        Type::Int32 | Type::Int64 => INT,
        Type::IntOrString => INT | STRING,
        Type::List(_) => 8,
        Type::Map(_) => 16,
        Type::Struct(_) => 8 | 16 | 32,
        Type::Any | Type::Json | Type::RawExtension => u8::MAX,
        _ => STRING,
    };
    places & is != 0
}
