//! `Rule`: what a tag says of the values that a field may have, as data: static for built-in types, shared for schemas
//! that are made at run time.
//!
//! The derive writes these beside the fields; the validation engine compiles and runs them, the publishers show them.
//! Rules are data: a thousand types with rules must cost no code.

use crate::schema::{Literal, Slice, Text, Type};
use crate::value::Value;

/// What kind of wrong a field is.
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

/// One rule, as one tag states it. Rules of a field hold in the order in which they are written. What a schema of run time
/// needs (bounds, patterns, and rules for items, keys and values) may be owned; the rest is known when the program is compiled.
#[derive(Clone)]
pub enum Rule {
    /// Absent or zero is fine, and ends the judging of the field.
    Optional,
    /// Absent or zero is an error with this detail.
    Required(&'static str),
    /// Anything but absent or zero is an error with this detail.
    Forbidden(&'static str),
    /// Updates must not change the value.
    Immutable,
    /// Updates must not change the value, which is judged further all the same; with what is told otherwise.
    Fixed(&'static str),
    /// Updates must not make the number less; with what is told otherwise.
    Monotonic(&'static str),
    /// What updates must not do.
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
    /// Items of a list differ in this field, where they have it.
    Distinct(&'static str),
    /// Items of a list differ in this field, and the item is told.
    DistinctItems(&'static str),
    /// Keys and values of a map are those of labels.
    Labels,
    /// Not more than another field beside this one; with what is told otherwise.
    NotAbove(&'static [(&'static str, &'static str)]),
    /// Of these fields of the struct one is set.
    AtLeastOne(&'static [&'static str]),
    /// Of these fields of the struct one may be set; the struct is invalid with more.
    NotTogether(&'static [&'static str]),
    /// Of the members of a union exactly one is set.
    UnionMember(Member),
    /// The field names the member of the union that is set.
    UnionDiscriminator(&'static str),
    /// Of the members at most one is set.
    ZeroOrOneOf(Member),
    /// The field chooses, by its value, what holds for fields tagged with `member`.
    Discriminator(&'static str),
    /// Holds while the discriminator has the value; with another value the field is forbidden unless it has rules of its own for that.
    Member(Member, Slice<Rule>),
    /// The item of an associative list with these keys.
    Item(&'static [(&'static str, &'static str)], Slice<Rule>),
    EachKey(Slice<Rule>),
    /// The keys of a map, told of their entries.
    EachEntryKey(Slice<Rule>),
    EachVal(Slice<Rule>),
    Subfield(&'static str, Slice<Rule>),
    Subfields(&'static [&'static str], Slice<Rule>),
    IfEnabled(&'static str, Slice<Rule>),
    IfDisabled(&'static str, Slice<Rule>),
    /// Holds while fields beside this one have these values, `|` between those that will do.
    When(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Holds unless fields beside this one have these values.
    Unless(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Holds while a field beside this one is set.
    WhenSet(&'static str, Slice<Rule>),
    /// Holds while a field beside this one is not set.
    WhenUnset(&'static str, Slice<Rule>),
    /// Holds for the items of a list that has more than one.
    WhenSeveral(Slice<Rule>),
    OnUpdate(Slice<Rule>),
    /// Judged before all else; when it fails, nothing else is.
    First(Slice<Rule>),
    /// Judged after what is inside the value.
    Last(Slice<Rule>),
    /// Errors of the rules within have this detail, and this kind or value if one is given.
    Message(&'static [(&'static str, &'static str)], Slice<Rule>),
    /// Told of another place: so many steps up, and down by names.
    ErrorPath(&'static str, Slice<Rule>),
    /// In the shadow since this version: run and compared, never answered.
    Alpha(&'static str, Slice<Rule>),
    /// Answered since this version, unless switched off.
    Beta(&'static str, Slice<Rule>),
    /// The rules of the field's own type do not hold here.
    Opaque,
    /// A function beside the type.
    Custom(Judge),
    /// A validator from outside, with its payload.
    External(&'static RuleFunction, Payload),
}

impl Rule {
    /// The rules that a tag chains to itself; `None` for one that stands alone.
    pub fn chained(&self) -> Option<&[Rule]> {
        match self {
            Rule::Member(_, inner)
            | Rule::Item(_, inner)
            | Rule::EachKey(inner)
            | Rule::EachEntryKey(inner)
            | Rule::EachVal(inner)
            | Rule::Subfield(_, inner)
            | Rule::Subfields(_, inner)
            | Rule::IfEnabled(_, inner)
            | Rule::IfDisabled(_, inner)
            | Rule::When(_, inner)
            | Rule::Unless(_, inner)
            | Rule::WhenSet(_, inner)
            | Rule::WhenUnset(_, inner)
            | Rule::WhenSeveral(inner)
            | Rule::OnUpdate(inner)
            | Rule::First(inner)
            | Rule::Last(inner)
            | Rule::Message(_, inner)
            | Rule::ErrorPath(_, inner)
            | Rule::Alpha(_, inner)
            | Rule::Beta(_, inner) => Some(inner),
            _ => None,
        }
    }
}

/// A change of a value that an update may be forbidden to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    NoSet,
    NoUnset,
    NoModify,
}

/// A member of a union, or of a set of fields of which one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which union of the struct; "" for the only one.
    pub union: &'static str,
    /// The discriminator's value for it; "" for the field's name with a capital.
    pub value: &'static str,
}

/// What a validator from outside is given besides the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    None,
    Int(i64),
    Text(&'static str),
    Texts(&'static [&'static str]),
}

/// A value being judged, and on update the one it replaces. An unchanged value is never judged.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub value: &'a Value,
    pub old: Option<&'a Value>,
    pub payload: Payload,
}

/// What a function found wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub detail: String,
}

/// Judges a value; an empty list (which allocates nothing) says that it is right.
pub type Judge = fn(Judged<'_>) -> Vec<Fault>;

/// A validator that is not built in: one static of this type is all that it takes.
pub struct RuleFunction {
    /// The origin that its errors name.
    pub name: &'static str,
    pub doc: &'static str,
    /// Whether it can judge values of a type, told when rules are compiled; the text says what would be right.
    pub accepts: fn(&Type, &Payload) -> Result<(), String>,
    pub validate: Judge,
    /// What OpenAPI shows of it: a key and a value.
    pub published: fn(&Payload) -> Option<(&'static str, Value)>,
}

/// Whether a tag of these places may stand on values of a type: the derive's way to ask of types that have a name of their own.
///
/// The places are the bits of `Place` in the catalogue of tags. A struct may be a list or map in a message of its own.
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
