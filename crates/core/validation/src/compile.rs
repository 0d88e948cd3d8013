//! Compiles rules to checks, and reports rules that cannot apply to their value.
//! Guarantees that this runs once, when a kind is first validated; a misplaced rule is reported and left out, never
//! run.

use crate::check::{Check, Checks, Correlation, Stage, is_pointer, keys_of};
use crate::formats;
use crate::item_union::ItemUnion;
use crate::relation::{Bound, Condition, FieldCount, Message, Sibling};
use pintle_schema::rules::{Payload, Rule, RuleFunction};
use pintle_schema::{ListKind, Struct, Text, Type};

/// The value that rules apply to.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub ty: &'a Type,
    /// The struct with this field; for rules of a struct, the struct itself.
    pub owner: Option<&'a Struct>,
    /// Whether null and zero differ.
    pub pointer: bool,
    /// The fields within.
    schema: Option<&'a Struct>,
}

impl<'a> Target<'a> {
    pub fn of(ty: &'a Type, owner: Option<&'a Struct>, pointer: bool) -> Self {
        Target { ty, owner, pointer, schema: ty.as_struct() }
    }

    /// The rules of a struct.
    pub fn of_struct(schema: &'a Struct) -> Self {
        Target { ty: &Type::Any, owner: Some(schema), pointer: false, schema: Some(schema) }
    }

    pub fn item(self, ty: &'a Type) -> Self {
        Target::of(ty, self.owner, false)
    }
}

/// Why a rule cannot apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced(pub String);

/// Compiles the rules of a value. Rules of a struct as a whole are left to the plan.
pub fn compile(rules: &[Rule], on: Target<'_>, problems: &mut Vec<Misplaced>) -> Checks {
    let mut list = Vec::with_capacity(rules.len());
    rules.iter().for_each(|rule| check(rule, on, problems, &mut list));
    list.extend(ItemUnion::all(rules).into_iter().map(Check::ItemUnion));
    Checks::new(list, on.pointer)
}

fn check(rule: &Rule, on: Target<'_>, problems: &mut Vec<Misplaced>, list: &mut Vec<Check>) {
    match related(rule, on, problems) {
        Ok(Some(checks)) => list.extend(checks),
        Ok(None) => list.extend(check_alone(rule, on, problems)),
        Err(problem) => problems.push(problem),
    }
}

/// The checks of a rule that refers to other fields; `None` if it does not.
fn related(rule: &Rule, on: Target<'_>, problems: &mut Vec<Misplaced>) -> Result<Option<Vec<Check>>, Misplaced> {
    let field = |schema: Option<&Struct>, name: &'static str| {
        Sibling::of(schema, name).ok_or_else(|| Misplaced(format!("there is no field {name:?} that a rule here names")))
    };
    let sibling = |name: &'static str| field(on.owner, name);
    let values = |pairs: &[(&'static str, &'static str)]| {
        pairs
            .iter()
            .map(|(name, values)| Ok((sibling(name)?, values.split('|').collect())))
            .collect::<Result<Box<[_]>, Misplaced>>()
    };
    let bounds = |pairs: &[(&'static str, &'static str)]| {
        let bound =
            |(name, detail): &(&'static str, &'static str)| Ok(Check::Bound(Bound { field: sibling(name)?, detail }));
        pairs.iter().map(bound).collect::<Result<Vec<_>, Misplaced>>()
    };
    let field_count = |kind: FieldCount, names: &[&'static str]| {
        let fields = names.iter().map(|name| field(on.schema, name)).collect::<Result<Box<[_]>, Misplaced>>()?;
        Ok(vec![Check::FieldCount(kind, fields, on.ty.clone())])
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
        Rule::Message(pairs, inner) => {
            let message = Message::of(pairs).map_err(|right| Misplaced(format!("`message` is given {right}")))?;
            vec![Check::Message(message, on.ty.clone(), compile(inner, on, problems))]
        }
        Rule::WhenSeveral(inner) => vec![Check::Several(compile(inner, on, problems))],
        Rule::First(inner) => vec![Check::First(compile(inner, on, problems))],
        Rule::Last(_) => return Err(Misplaced("`last` is not for the inside of another tag".to_owned())),
        Rule::NotAbove(pairs) => bounds(pairs)?,
        Rule::AtLeastOne(names) => field_count(FieldCount::AtLeastOne, names)?,
        Rule::AtMostOne(names) => field_count(FieldCount::AtMostOne, names)?,
        Rule::Distinct(name) | Rule::DistinctItems(name) | Rule::DistinctWithAbsent(name) => {
            let Type::List(list) = on.ty else {
                return Err(Misplaced("`distinct` and its variants are for a list of structs".to_owned()));
            };
            let field = field(list.elem.as_struct(), name)?;
            vec![match rule {
                Rule::Distinct(_) => Check::Distinct(field),
                Rule::DistinctWithAbsent(_) => Check::DistinctWithAbsent(field),
                _ => Check::DistinctItems(field),
            }]
        }
        Rule::Labels => vec![Check::Labels],
        Rule::EachEntryKey(inner) => vec![Check::EachEntryKey(compile(inner, on.item(&Type::String), problems))],
        _ => return Ok(None),
    }))
}

fn check_alone(rule: &Rule, on: Target<'_>, problems: &mut Vec<Misplaced>) -> Option<Check> {
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
        Rule::Monotonic(detail) => Check::Monotonic(detail),
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
        Rule::Pattern(pattern) => match regex_lite::Regex::new(&format!("^(?:{})$", pattern.as_str())) {
            Ok(regex) => Check::Pattern(regex, pattern.clone()),
            Err(error) => {
                problems.push(Misplaced(format!("`pattern` is not a regular expression: {error}")));
                return None;
            }
        },
        Rule::Enum(values) => {
            // Fields named by a tag are reported in its order.
            let values: Vec<Text> = match (values.is_empty(), ty) {
                (false, _) => values.iter().map(|value| Text::Static(value)).collect(),
                (true, Type::Enum(of)) => {
                    let mut values: Vec<_> = of.values.iter().map(|value| value.value.clone()).collect();
                    values.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
                    values
                }
                (true, _) => return wrong("enum without values", "a type that has named values"),
            };
            Check::Enum(values.into(), matches!(ty, Type::Enum(_)))
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
                Check::Subfield(name, compile(inner, Target::of(&field.ty, on.schema, is_pointer(field)), problems))
            }
            None => return wrong("subfield", &format!("a struct with a field {name:?}")),
        },
        Rule::IfEnabled(gate, inner) => Check::Gate(gate, true, compile(inner, on, problems)),
        Rule::IfDisabled(gate, inner) => Check::Gate(gate, false, compile(inner, on, problems)),
        Rule::Alpha(_, inner) => Check::Shadow(Stage::Alpha, compile(inner, on, problems)),
        Rule::Beta(_, inner) => Check::Shadow(Stage::Beta, compile(inner, on, problems)),
        Rule::Custom(validate) => Check::Function(*validate, Payload::None, ""),
        Rule::External(validator, payload) => {
            let RuleFunction { name, accepts, validate, .. } = *validator;
            if let Err(right) = accepts(ty, payload) {
                problems.push(Misplaced(format!("`{name}`: {right}")));
                return None;
            }
            Check::Function(*validate, *payload, name)
        }
        // A rule of the struct, or not a check at all.
        Rule::UnionMember(_)
        | Rule::UnionDiscriminator(_)
        | Rule::ZeroOrOneOf(_)
        | Rule::Discriminator(_)
        | Rule::Member(..)
        | Rule::Opaque => return None,
        // `related` has handled them.
        Rule::When(..)
        | Rule::Unless(..)
        | Rule::WhenSet(..)
        | Rule::WhenUnset(..)
        | Rule::Message(..)
        | Rule::WhenSeveral(_)
        | Rule::First(_)
        | Rule::Last(_)
        | Rule::NotAbove(_)
        | Rule::AtLeastOne(_)
        | Rule::AtMostOne(_)
        | Rule::Distinct(_)
        | Rule::DistinctItems(_)
        | Rule::DistinctWithAbsent(_)
        | Rule::EachEntryKey(_)
        | Rule::Labels => return None,
    })
}
