//! `Check`: one rule made ready to run on a value, and the judging of values that have no parts.
//!
//! A check is compiled once; running it on a right value allocates nothing.

use crate::error::{ErrorKind, ErrorList};
use crate::formats::Format;
use crate::item_union::ItemUnion;
use crate::location::Location;
use crate::path::FieldPath;
use crate::relation::{self, Bound, Condition, FieldCount, Message, Sibling};
use pintle_schema::rules::{Change, Payload, RuleInput, ValidateFn};
use pintle_schema::{Gate, Keys, List, ListKind, Literal, Map, Text, Type, Value, names};

/// How an item of a list is found in the old list.
#[derive(Clone)]
pub enum Correlation {
    None,
    Whole,
    Keys(Box<[Box<str>]>),
}

impl Correlation {
    pub fn of(list: &List) -> Self {
        match &list.kind {
            ListKind::Atomic => Correlation::None,
            ListKind::Set => Correlation::Whole,
            ListKind::Map(keys) => Correlation::Keys(keys_of(keys)),
        }
    }
}

pub fn keys_of(keys: &Keys) -> Box<[Box<str>]> {
    keys.iter().map(Into::into).collect()
}

/// A rule, ready to run.
pub enum Check {
    Optional,
    Required(&'static str),
    Forbidden(&'static str),
    Immutable,
    Update(&'static [Change]),
    Minimum(i64),
    Maximum(i64),
    MinLength(usize),
    MaxLength(usize),
    MaxBytes(usize),
    MinItems(usize),
    MaxItems(usize),
    Format(&'static Format),
    Pattern(regex_lite::Regex, Text),
    /// One of the values; whether the type is one of named values.
    Enum(Box<[Text]>, bool),
    NotEqual(Literal),
    /// Distinct items; no key: as a whole.
    Unique(Box<[Box<str>]>),
    Item(&'static [(&'static str, &'static str)], Checks, Correlation),
    EachKey(Checks),
    /// The keys; errors are at the entries.
    EachEntryKey(Checks),
    EachVal(Checks, Correlation),
    Subfield(&'static str, Checks),
    /// Distinct in a field.
    Distinct(Sibling),
    /// Distinct in a field; the error is at the item.
    DistinctItems(Sibling),
    /// Distinct in a field, even without it.
    DistinctWithAbsent(Sibling),
    Labels,
    Bound(Bound),
    FieldCount(FieldCount, Box<[Sibling]>, Type),
    /// The value stays; its type, for how it is shown.
    Fixed(&'static str, Type),
    Monotonic(&'static str),
    If(Condition, Checks),
    First(Checks),
    /// For items of lists that have more than one.
    Several(Checks),
    Message(Message, Type, Checks),
    Gate(&'static Gate, bool, Checks),
    Shadow(Stage, Checks),
    ItemUnion(ItemUnion),
    Function(ValidateFn, Payload, &'static str),
}

/// Rules of one value, and whether the value may be absent (a pointer).
#[derive(Default)]
pub struct Checks {
    pub pointer: bool,
    /// Whether one of them reads other fields of the struct.
    pub related: bool,
    /// Whether none of them fails for an absent value that replaces none.
    pub ignores_absent: bool,
    pub list: Box<[Check]>,
}

impl Checks {
    pub fn new(list: Vec<Check>, pointer: bool) -> Self {
        let related = list.iter().any(Check::is_related);
        let ends = list.first().is_some_and(|check| matches!(check, Check::Optional | Check::Forbidden(_)));
        let ignores_absent = ends || list.iter().all(|check| check.ignores_absent(pointer));
        Checks { pointer, related, ignores_absent, list: list.into() }
    }
}

impl Check {
    /// Whether the check never fails for an absent value that replaces none.
    fn ignores_absent(&self, pointer: bool) -> bool {
        match self {
            Check::Fixed(..) | Check::Item(..) | Check::EachKey(_) | Check::EachEntryKey(_) | Check::EachVal(..) => {
                true
            }
            Check::If(_, inner)
            | Check::First(inner)
            | Check::Several(inner)
            | Check::Message(_, _, inner)
            | Check::Gate(_, _, inner)
            | Check::Shadow(_, inner) => inner.ignores_absent,
            Check::Subfield(_, inner) => pointer || inner.ignores_absent,
            // They read more than the value.
            Check::FieldCount(..) | Check::Bound(_) | Check::Function(..) => pointer,
            leaf => {
                let mut errors = ErrorList::default();
                self::leaf(leaf, pointer, &Location::root(&NULL, None, false), &mut errors);
                errors.is_empty()
            }
        }
    }

    /// Whether the check has inner rules, or formats the value by its type.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(
            self,
            Check::Item(..)
                | Check::EachKey(_)
                | Check::EachEntryKey(_)
                | Check::EachVal(..)
                | Check::Subfield(..)
                | Check::Fixed(..)
                | Check::FieldCount(..)
                | Check::If(..)
                | Check::First(_)
                | Check::Several(_)
                | Check::Message(..)
                | Check::Gate(..)
                | Check::Shadow(..)
        )
    }

    /// Whether the check reads other fields of the struct.
    pub(crate) fn is_related(&self) -> bool {
        match self {
            Check::If(..) | Check::Bound(_) | Check::Several(_) => true,
            Check::Gate(_, _, inner) | Check::Shadow(_, inner) | Check::Message(_, _, inner) | Check::First(inner) => {
                inner.related
            }
            _ => false,
        }
    }
}

/// The stage of a rule that is not always enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Alpha,
    Beta,
}

/// Whether null and zero are two things for a field.
pub fn is_pointer(field: &pintle_schema::Field) -> bool {
    use pintle_schema::Presence::{Pointer, PointerAlways};
    matches!(field.presence, Pointer | PointerAlways)
}

/// Whether a value counts as there: set, and not zero unless it is behind a pointer.
#[inline]
pub fn is_set(value: &Value, pointer: bool) -> bool {
    if pointer { !value.is_null() } else { !value.is_zero() }
}

/// Judges a value that the check needs to look at alone. True ends the judging of the value.
pub(crate) fn leaf(check: &Check, pointer: bool, location: &Location<'_>, errors: &mut ErrorList) -> bool {
    let Location { value, old, owner, path, .. } = *location;
    let set = is_set(value, pointer);
    match check {
        Check::Optional => return !set,
        Check::Required(detail) => {
            if !set {
                errors.required(path, *detail);
            }
            return !set;
        }
        Check::Forbidden(detail) => {
            if set {
                errors.forbidden(path, *detail);
            }
            return true;
        }
        Check::Immutable => {
            if old.is_some_and(|old| !crate::same(value, old)) {
                // The error shows no value.
                errors.immutable(path, Value::Null);
                errors.origin("immutable");
                return true;
            }
        }
        Check::Monotonic(detail) => {
            // A number that is no pointer is 0 where it is absent.
            let now = number(value).filter(|_| set || !pointer);
            if let Some(old) = old.filter(|old| !pointer || is_set(old, pointer)).and_then(number)
                && now.is_none_or(|now| now < old)
            {
                errors.invalid(
                    path,
                    now.unwrap_or_default(),
                    if detail.is_empty() { "cannot be decremented" } else { detail },
                );
                errors.origin("monotonic");
            }
        }
        Check::Update(changes) => return update(changes, pointer, value, old, path, errors),
        _ if pointer && !set => {}
        Check::Minimum(least) => {
            if let Some(number) = number(value).filter(|number| number < least) {
                errors.invalid(path, number, format!("must be greater than or equal to {least}"));
                errors.origin("minimum");
            }
        }
        Check::Maximum(most) => {
            if let Some(number) = number(value).filter(|number| number > most) {
                errors.invalid(path, number, format!("must be less than or equal to {most}"));
                errors.origin("maximum");
            }
        }
        Check::MinLength(least) => {
            if text(value).chars().count() < *least {
                let detail = format!("must be at least {}", counted(*least, "character"));
                errors.push(ErrorKind::TooShort, path, Some(value.clone()), detail);
                errors.origin("minLength");
            }
        }
        Check::MaxLength(most) => {
            // Characters are never more than bytes.
            if text(value).len() > *most && text(value).chars().count() > *most {
                let detail = format!("may not be more than {}", counted(*most, "character"));
                errors.push(ErrorKind::TooLong, path, None, detail);
                errors.origin("maxLength");
            }
        }
        Check::MaxBytes(most) => {
            if text(value).len() > *most {
                errors.too_long(path, *most);
                errors.origin("maxBytes");
            }
        }
        Check::MinItems(least) => {
            if count(value) < *least {
                let detail = format!("must have at least {}", counted(*least, "item"));
                errors.push(ErrorKind::TooFew, path, Some(Value::Int(count(value) as i64)), detail);
                errors.origin("minItems");
            }
        }
        Check::MaxItems(most) => {
            if count(value) > *most {
                errors.too_many(path, count(value), *most);
                errors.origin("maxItems");
                return true;
            }
        }
        Check::Format(format) => {
            let messages = (format.validate)(value);
            if !messages.is_empty() {
                for message in messages {
                    let value = value.as_str().map_or_else(|| shown(value), |text| Value::from(&*(format.part)(text)));
                    errors.invalid(path, value, message);
                    errors.origin(format.origin);
                }
            }
        }
        Check::Pattern(regex, pattern) => {
            if !regex.is_match(text(value)) {
                errors.invalid(path, shown(value), format!("must match the regular expression {:?}", pattern.as_str()));
                errors.origin("pattern");
            }
        }
        Check::Enum(values, is_named) => {
            let text = text(value);
            if !values.iter().any(|allowed| allowed.is(text)) {
                let values: Vec<&str> = values.iter().map(Text::as_str).collect();
                match *is_named {
                    true => errors.unknown_name(path, text, &values),
                    false => errors.not_supported(path, shown(value), &values),
                }
            }
        }
        Check::NotEqual(other) => not_equal(other, value, path, errors),
        Check::Unique(keys) => unique(keys, value, path, errors),
        Check::Distinct(field) => relation::distinct(field, value, path, errors),
        Check::DistinctItems(field) => relation::distinct_items(field, value, path, errors),
        Check::DistinctWithAbsent(field) => relation::distinct_with_absent(field, value, path, errors),
        Check::ItemUnion(union) => union.validate(value, old, path, errors),
        Check::Labels => labels(value, path, errors),
        Check::Bound(bound) => bound.validate(value, owner, path, errors),
        Check::Function(validate, payload, origin) => {
            for fault in validate(RuleInput { value, old, payload: *payload }) {
                errors.push(fault.kind, path, Some(value.clone()), fault.detail);
                errors.origin(origin);
            }
        }
        with_parts => debug_assert!(with_parts.has_parts(), "a leaf that nothing validates"),
    }
    false
}

fn labels(value: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (key, value) in value.as_map().into_iter().flat_map(Map::iter) {
        let value = value.as_str().unwrap_or_default();
        names::label_key(key).into_iter().for_each(|message| errors.invalid(path, key.clone(), message));
        names::label_value(value).into_iter().for_each(|message| errors.invalid(path, value, message));
    }
}

/// A value as messages show it: an absent string is an empty one.
fn shown(value: &Value) -> Value {
    if value.is_null() { Value::from("") } else { value.clone() }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Null => Some(0),
        value => value.as_i64(),
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => 0,
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn update(
    changes: &[Change],
    pointer: bool,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) -> bool {
    let Some(old) = old else { return false };
    let (was, is) = (is_set(old, pointer), is_set(value, pointer));
    let (change, detail) = match (was, is) {
        (false, true) => (Change::NoSet, "field cannot be set once created"),
        (true, false) => (Change::NoUnset, "field cannot be cleared once set"),
        (true, true) => (Change::NoModify, "field cannot be modified once set"),
        (false, false) => return false,
    };
    let forbidden = changes.contains(&change);
    if forbidden {
        errors.invalid(path, Value::Null, detail);
        errors.origin("update");
    }
    forbidden
}

fn not_equal(other: &Literal, value: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let (equal, shown) = match other {
        Literal::Bool(other) => (value.as_bool().unwrap_or_default() == *other, other.to_string()),
        Literal::Int(other) => (number(value) == Some(*other), other.to_string()),
        Literal::String(other) => (text(value) == *other, pintle_schema::names::quoted(other)),
        Literal::Empty => (value.is_zero(), "{}".to_owned()),
    };
    if equal {
        errors.invalid(path, value.clone(), format!("must not be equal to {shown}"));
        errors.origin("neq");
    }
}

/// Beyond this many items, a set of hashes is cheaper than comparing each with each.
const FEW: usize = 16;

fn unique(keys: &[Box<str>], value: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let items = value.as_list().unwrap_or(&[]);
    let alike = |a: &Value, b: &Value| match keys {
        [] => crate::same(a, b),
        keys => keys.iter().all(|key| crate::same(at(a, key), at(b, key))),
    };
    let mut seen = std::collections::HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let again = match items.len() <= FEW {
            true => items[..index].iter().any(|before| alike(before, item)),
            false => !seen.insert(key_text(keys, item)),
        };
        if again {
            errors.duplicate(path.index(index), item.clone());
        }
    }
}

pub fn key_text(keys: &[Box<str>], item: &Value) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    match keys {
        [] => _ = write!(text, "{item:?}"),
        keys => keys.iter().for_each(|key| _ = write!(text, "{:?}/", at(item, key))),
    }
    text
}

pub(crate) static NULL: Value = Value::Null;

#[inline]
pub fn at<'a>(value: &'a Value, field: &str) -> &'a Value {
    value.get(field).unwrap_or(&NULL)
}
