//! `Check`: one rule made ready to run on a value, and the judging of values that have no parts.
//!
//! A check is compiled once; running it on a right value allocates nothing.

use crate::error::{ErrorKind, ErrorList};
use crate::formats::{self, Format};
use crate::item_union::ItemUnion;
use crate::path::FieldPath;
use crate::relation::{self, Bound, Condition, Order, Owner, Sibling, Together, Words};
use pintle_schema::rules::{Change, Judge, Judged, Payload, Rule, Validator};
use pintle_schema::{Keys, List, ListKind, Literal, Map, Struct, Type, Value, names};

/// How the items of a list are told to be the same in the old list.
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
    Pattern(regex_lite::Regex, &'static str),
    Enum(Box<[&'static str]>),
    NotEqual(Literal),
    /// Distinct items; no key: as a whole.
    Unique(Box<[Box<str>]>),
    Item(&'static [(&'static str, &'static str)], Checks, Correlation),
    EachKey(Checks),
    /// The keys, told of their entries.
    EachEntryKey(Checks),
    EachVal(Checks, Correlation),
    Subfield(&'static str, Checks),
    /// Distinct in a field.
    Distinct(Sibling),
    Labels,
    HasKeys(&'static [&'static str]),
    Bound(Bound),
    Together(Together, Box<[Sibling]>, Type),
    /// The value stays; its type, for how it is shown.
    Fixed(&'static str, Type),
    NeverFalls(&'static str),
    If(Condition, Checks),
    Namespaced(bool, Checks),
    First(Checks),
    /// For items of lists that have more than one.
    Several(Checks),
    Worded(Words, Type, Checks),
    Gate(&'static str, bool, Checks),
    Shadow(Stage, Checks),
    ItemUnion(ItemUnion),
    Function(Judge, Payload, &'static str),
}

/// Rules of one value, and whether the value may be absent (a pointer).
#[derive(Default)]
pub struct Checks {
    pub pointer: bool,
    /// Whether one of them looks at fields beside the value.
    pub related: bool,
    pub list: Box<[Check]>,
}

impl Check {
    /// Whether the check looks at fields beside its value.
    fn is_related(&self) -> bool {
        match self {
            Check::If(..) | Check::Bound(_) | Check::Several(_) => true,
            Check::Gate(_, _, inner)
            | Check::Shadow(_, inner)
            | Check::Worded(_, _, inner)
            | Check::Namespaced(_, inner)
            | Check::First(inner) => inner.related,
            _ => false,
        }
    }
}

/// What rules stand on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub ty: &'a Type,
    /// The struct whose field this is; of rules on a struct, the struct itself.
    pub owner: Option<&'a Struct>,
    /// Whether null and zero are two things.
    pub pointer: bool,
    /// The fields inside.
    schema: Option<&'a Struct>,
}

impl<'a> Ground<'a> {
    pub fn of(ty: &'a Type, owner: Option<&'a Struct>, pointer: bool) -> Self {
        Ground { ty, owner, pointer, schema: ty.as_struct() }
    }

    /// A struct's own rules.
    pub fn of_struct(schema: &'a Struct) -> Self {
        Ground { ty: &Type::Any, owner: Some(schema), pointer: false, schema: Some(schema) }
    }

    pub fn item(self, ty: &'a Type) -> Self {
        Ground::of(ty, self.owner, false)
    }
}

/// What keeps a rule from being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Alpha,
    Beta,
}

/// Why a rule cannot stand where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced(pub String);

/// Compiles the rules of a value. Those that belong to a struct as a whole are left to the plan.
pub fn compile(rules: &[Rule], on: Ground<'_>, problems: &mut Vec<Misplaced>) -> Checks {
    let mut list = Vec::with_capacity(rules.len());
    rules.iter().for_each(|rule| check(rule, on, problems, &mut list));
    list.extend(ItemUnion::all(rules).into_iter().map(Check::ItemUnion));
    Checks { pointer: on.pointer, related: list.iter().any(Check::is_related), list: list.into() }
}

fn check(rule: &Rule, on: Ground<'_>, problems: &mut Vec<Misplaced>, list: &mut Vec<Check>) {
    match related(rule, on, problems) {
        Ok(Some(checks)) => list.extend(checks),
        Ok(None) => list.extend(check_alone(rule, on, problems)),
        Err(problem) => problems.push(problem),
    }
}

/// The checks of a rule that names other fields; `None` when it is no such rule.
fn related(rule: &Rule, on: Ground<'_>, problems: &mut Vec<Misplaced>) -> Result<Option<Vec<Check>>, Misplaced> {
    let field = |schema: Option<&Struct>, name: &'static str| {
        Sibling::of(schema, name).ok_or_else(|| Misplaced(format!("there is no field {name:?} that a rule here names")))
    };
    let sibling = |name: &'static str| field(on.owner, name);
    let values = |pairs: &[(&'static str, &'static str)]| {
        pairs.iter().map(|(name, values)| Ok((sibling(name)?, *values))).collect::<Result<Box<[_]>, Misplaced>>()
    };
    let bounds = |order: Order, pairs: &[(&'static str, &'static str)]| {
        let bound = |(name, detail): &(&'static str, &'static str)| {
            Ok(Check::Bound(Bound { order, field: sibling(name)?, detail }))
        };
        pairs.iter().map(bound).collect::<Result<Vec<_>, Misplaced>>()
    };
    let together = |kind: Together, names: &[&'static str]| {
        let fields = names.iter().map(|name| field(on.schema, name)).collect::<Result<Box<[_]>, Misplaced>>()?;
        Ok(vec![Check::Together(kind, fields, on.ty.clone())])
    };
    Ok(Some(match rule {
        Rule::When(pairs, inner) => {
            vec![Check::If(Condition::Values(values(pairs)?, true), compile(inner, on, problems))]
        }
        Rule::Unless(pairs, inner) => {
            vec![Check::If(Condition::Values(values(pairs)?, false), compile(inner, on, problems))]
        }
        Rule::WhenSet(name, inner) => {
            vec![Check::If(Condition::Set(sibling(name)?, true), compile(inner, on, problems))]
        }
        Rule::WhenUnset(name, inner) => {
            vec![Check::If(Condition::Set(sibling(name)?, false), compile(inner, on, problems))]
        }
        Rule::Worded(pairs, inner) => {
            let words = Words::of(pairs).map_err(|right| Misplaced(format!("`worded` is given {right}")))?;
            vec![Check::Worded(words, on.ty.clone(), compile(inner, on, problems))]
        }
        Rule::WhenNamespaced(inner) => vec![Check::Namespaced(true, compile(inner, on, problems))],
        Rule::WhenClusterWide(inner) => vec![Check::Namespaced(false, compile(inner, on, problems))],
        Rule::WhenSeveral(inner) => vec![Check::Several(compile(inner, on, problems))],
        Rule::First(inner) => vec![Check::First(compile(inner, on, problems))],
        Rule::Last(_) => return Err(Misplaced("`last` is not for the inside of another tag".to_owned())),
        Rule::NotAbove(pairs) => bounds(Order::NotAbove, pairs)?,
        Rule::NotBelow(pairs) => bounds(Order::NotBelow, pairs)?,
        Rule::Above(pairs) => bounds(Order::Above, pairs)?,
        Rule::AtLeastOne(names) => together(Together::AtLeastOne, names)?,
        Rule::AtMostOne(names) => together(Together::AtMostOne, names)?,
        Rule::NotTogether(names) => together(Together::Not, names)?,
        Rule::Distinct(name) => match on.ty {
            Type::List(list) => vec![Check::Distinct(field(list.elem.as_struct(), name)?)],
            _ => return Err(Misplaced("`distinct` is for a list of structs".to_owned())),
        },
        Rule::Labels => vec![Check::Labels],
        Rule::HasKeys(keys) => vec![Check::HasKeys(keys)],
        Rule::EachEntryKey(inner) => vec![Check::EachEntryKey(compile(inner, on.item(&Type::String), problems))],
        _ => return Ok(None),
    }))
}

fn check_alone(rule: &Rule, on: Ground<'_>, problems: &mut Vec<Misplaced>) -> Option<Check> {
    let ty = on.ty;
    let mut wrong = |tag: &str, right: &str| {
        problems.push(Misplaced(format!("`{tag}` is for {right}")));
        None
    };
    let size = |size: &u32| usize::try_from(*size).unwrap_or(usize::MAX);
    Some(match rule {
        Rule::Optional => Check::Optional,
        Rule::Required(detail) => Check::Required(detail),
        Rule::Forbidden(detail) => Check::Forbidden(detail),
        Rule::Immutable => Check::Immutable,
        Rule::Fixed(detail) => Check::Fixed(detail, ty.clone()),
        Rule::NeverFalls(detail) => Check::NeverFalls(detail),
        Rule::Update(changes) => Check::Update(changes),
        Rule::Minimum(_) | Rule::Maximum(_) if !matches!(ty, Type::Int32 | Type::Int64 | Type::IntOrString) => {
            return wrong("minimum and maximum", "an integer");
        }
        Rule::Minimum(least) => Check::Minimum(*least),
        Rule::Maximum(most) => Check::Maximum(*most),
        Rule::MinLength(_) | Rule::MaxLength(_) | Rule::MaxBytes(_) | Rule::Pattern(_)
            if !matches!(ty, Type::String | Type::Enum(_) | Type::Any | Type::IntOrString | Type::Bytes) =>
        {
            return wrong("min_length, max_length, max_bytes and pattern", "a string");
        }
        Rule::MinLength(least) => Check::MinLength(size(least)),
        Rule::MaxLength(most) => Check::MaxLength(size(most)),
        Rule::MaxBytes(most) => Check::MaxBytes(size(most)),
        Rule::MinItems(_) | Rule::MaxItems(_) if !matches!(ty, Type::List(_) | Type::Map(_)) => {
            return wrong("min_items and max_items", "a list or a map");
        }
        Rule::MinItems(least) => Check::MinItems(size(least)),
        Rule::MaxItems(most) => Check::MaxItems(size(most)),
        Rule::Format(name) => match formats::find(name) {
            Some(format) => Check::Format(format),
            None => return wrong("format", "one of the formats that are listed"),
        },
        Rule::Pattern(pattern) => match regex_lite::Regex::new(&format!("^(?:{pattern})$")) {
            Ok(regex) => Check::Pattern(regex, pattern),
            Err(error) => {
                problems.push(Misplaced(format!("`pattern` is not a regular expression: {error}")));
                return None;
            }
        },
        Rule::Enum(values) => {
            // Those that a tag names are told in its order.
            let values: Vec<&'static str> = match (values.is_empty(), ty) {
                (false, _) => values.to_vec(),
                (true, Type::Enum(of)) => {
                    let mut values: Vec<_> = of.values.iter().map(|value| value.value).collect();
                    values.sort_unstable();
                    values
                }
                (true, _) => return wrong("enum without values", "a type that has named values"),
            };
            Check::Enum(values.into())
        }
        Rule::NotEqual(other) => Check::NotEqual(*other),
        Rule::Unique(keys) => match ty {
            Type::List(list) => match (&list.kind, keys.is_empty()) {
                (ListKind::Map(keys), true) => Check::Unique(keys_of(keys)),
                _ => Check::Unique(keys.iter().map(|key| (*key).into()).collect()),
            },
            _ => return wrong("unique", "a list"),
        },
        Rule::Item(keys, inner) => match ty {
            Type::List(list) => Check::Item(keys, compile(inner, on.item(&list.elem), problems), Correlation::of(list)),
            _ => return wrong("item", "a list"),
        },
        Rule::EachKey(inner) => match ty {
            Type::Map(_) => Check::EachKey(compile(inner, on.item(&Type::String), problems)),
            _ => return wrong("each_key", "a map"),
        },
        Rule::EachVal(inner) => match ty {
            Type::List(list) => Check::EachVal(compile(inner, on.item(&list.elem), problems), Correlation::of(list)),
            Type::Map(map) => Check::EachVal(compile(inner, on.item(&map.elem), problems), Correlation::None),
            _ => return wrong("each_val", "a list or a map"),
        },
        Rule::Subfield(name, inner) => match on.schema.and_then(|schema| schema.field(name)) {
            Some(field) => {
                Check::Subfield(name, compile(inner, Ground::of(&field.ty, on.schema, is_pointer(field)), problems))
            }
            None => return wrong("subfield", &format!("a struct with a field {name:?}")),
        },
        Rule::IfEnabled(gate, inner) => Check::Gate(gate, true, compile(inner, on, problems)),
        Rule::IfDisabled(gate, inner) => Check::Gate(gate, false, compile(inner, on, problems)),
        Rule::Alpha(_, inner) => Check::Shadow(Stage::Alpha, compile(inner, on, problems)),
        Rule::Beta(_, inner) => Check::Shadow(Stage::Beta, compile(inner, on, problems)),
        Rule::Custom(judge) => Check::Function(*judge, Payload::None, ""),
        Rule::External(validator, payload) => {
            let Validator { name, accepts, judge, .. } = *validator;
            if let Err(right) = accepts(ty, payload) {
                problems.push(Misplaced(format!("`{name}`: {right}")));
                return None;
            }
            Check::Function(*judge, *payload, name)
        }
        // The struct's, or no check at all.
        Rule::UnionMember(_)
        | Rule::UnionDiscriminator(_)
        | Rule::ZeroOrOneOf(_)
        | Rule::Discriminator(_)
        | Rule::Member(..)
        | Rule::Opaque => return None,
        // `related` has seen to them.
        Rule::When(..)
        | Rule::Unless(..)
        | Rule::WhenSet(..)
        | Rule::WhenUnset(..)
        | Rule::Worded(..)
        | Rule::WhenSeveral(_)
        | Rule::WhenNamespaced(_)
        | Rule::WhenClusterWide(_)
        | Rule::First(_)
        | Rule::Last(_)
        | Rule::NotAbove(_)
        | Rule::NotBelow(_)
        | Rule::Above(_)
        | Rule::AtLeastOne(_)
        | Rule::AtMostOne(_)
        | Rule::NotTogether(_)
        | Rule::Distinct(_)
        | Rule::HasKeys(_)
        | Rule::EachEntryKey(_)
        | Rule::Labels => return None,
    })
}

/// Whether null and zero are two things for a field.
pub fn is_pointer(field: &pintle_schema::Field) -> bool {
    use pintle_schema::Presence::{Pointer, PointerAlways};
    matches!(field.presence, Pointer | PointerAlways)
}

/// Whether a value counts as there: set, and not zero unless it is behind a pointer.
pub fn is_set(value: &Value, pointer: bool) -> bool {
    if pointer { !value.is_null() } else { !value.is_zero() }
}

/// Judges a value that the check needs to look at alone. True ends the judging of the value.
pub fn leaf(
    check: &Check,
    pointer: bool,
    value: &Value,
    old: Option<&Value>,
    owner: Owner<'_>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) -> bool {
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
                errors.immutable(path, value.clone());
                errors.origin("immutable");
                return true;
            }
        }
        Check::NeverFalls(detail) => {
            let now = number(value).filter(|_| set);
            if let Some(old) = old.filter(|old| is_set(old, pointer)).and_then(number)
                && now.is_none_or(|now| now < old)
            {
                errors.invalid(
                    path,
                    now.unwrap_or_default(),
                    if detail.is_empty() { "cannot be decremented" } else { detail },
                );
                errors.origin("neverFalls");
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
            for message in (format.judge)(value) {
                errors.invalid(path, shown(value), message);
                errors.origin(format.origin);
            }
        }
        Check::Pattern(regex, pattern) => {
            if !regex.is_match(text(value)) {
                errors.invalid(path, shown(value), format!("must match the regular expression {pattern:?}"));
                errors.origin("pattern");
            }
        }
        Check::Enum(values) => {
            if !values.contains(&text(value)) {
                errors.not_supported(path, shown(value), values);
            }
        }
        Check::NotEqual(other) => not_equal(other, value, path, errors),
        Check::Unique(keys) => unique(keys, value, path, errors),
        Check::Distinct(field) => relation::distinct(field, value, path, errors),
        Check::ItemUnion(union) => union.judge(value, old, path, errors),
        Check::Labels => labels(value, path, errors),
        Check::HasKeys(keys) => {
            for key in keys.iter().filter(|key| value.get(key).is_none()) {
                errors.required(path.key(key), "");
                errors.origin("hasKeys");
            }
        }
        Check::Bound(bound) => bound.judge(value, owner, path, errors),
        Check::Function(judge, payload, origin) => {
            for fault in judge(Judged { value, old, payload: *payload }) {
                errors.push(fault.kind, path, Some(value.clone()), fault.detail);
                errors.origin(origin);
            }
        }
        Check::Item(..)
        | Check::EachKey(_)
        | Check::EachEntryKey(_)
        | Check::EachVal(..)
        | Check::Subfield(..)
        | Check::Fixed(..)
        | Check::Together(..)
        | Check::If(..)
        | Check::Namespaced(..)
        | Check::First(_)
        | Check::Several(_)
        | Check::Worded(..)
        | Check::Gate(..)
        | Check::Shadow(..) => {}
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
            let shown = match keys {
                [] => item.clone(),
                keys => keys
                    .iter()
                    .map(|key| (pintle_schema::Str::new(key), at(item, key).clone()))
                    .collect::<pintle_schema::Map>()
                    .into(),
            };
            errors.duplicate(path.index(index), shown);
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

static NULL: Value = Value::Null;

pub fn at<'a>(value: &'a Value, field: &str) -> &'a Value {
    value.get(field).unwrap_or(&NULL)
}
