//! Rules that refer to other fields: conditions, comparisons, and which fields may be set together.
//! Guarantees that fields are resolved when rules are compiled, so that a wrong name never reaches a request, and
//! that a valid value allocates nothing.

use crate::check::{at, is_pointer, is_set, key_text};
use crate::error::{ErrorKind, ErrorList, FoundWith};
use crate::path::FieldPath;
use pintle_schema::{Struct, Type, Value};
use std::collections::HashSet;

/// A struct's value, and the one that it replaces.
#[derive(Clone, Copy)]
pub struct Owner<'r> {
    pub value: &'r Value,
    pub old: Option<&'r Value>,
}

/// A field of a struct.
pub struct Sibling {
    name: &'static str,
    pointer: bool,
    schema_default: &'static str,
}

impl Sibling {
    /// The field with a name.
    pub fn of(owner: Option<&Struct>, name: &'static str) -> Option<Self> {
        let field = owner?.field(name)?;
        let schema_default = if matches!(field.ty, Type::Bool) { "false" } else { "" };
        Some(Sibling { name, pointer: is_pointer(field), schema_default })
    }

    pub fn is_set(&self, owner: &Value) -> bool {
        is_set(at(owner, self.name), self.pointer)
    }

    /// Whether an update changed the field.
    pub fn changed(&self, owner: Owner<'_>) -> bool {
        owner.old.is_some_and(|old| !crate::same_at(owner.value, old, self.name))
    }

    fn number(&self, owner: &Value) -> Option<i64> {
        match at(owner, self.name) {
            Value::Null if self.pointer => None,
            Value::Null => Some(0),
            value => value.as_i64(),
        }
    }

    fn is_one_of(&self, owner: &Value, values: &[&str]) -> bool {
        let mut values = values.iter().copied();
        // A list has the value of its only item, a struct that of its only field.
        let value = match at(owner, self.name) {
            Value::List(items) if items.len() == 1 => items.first().unwrap_or(&Value::Null),
            Value::Map(fields) if fields.len() == 1 => fields.values().next().unwrap_or(&Value::Null),
            value => value,
        };
        match value {
            Value::Null if self.pointer => values.any(str::is_empty),
            Value::Null => values.any(|value| value == self.schema_default),
            Value::Bool(is) => values.any(|value| value == if *is { "true" } else { "false" }),
            value => match value.as_i64() {
                Some(number) => values.any(|value| value.parse() == Ok(number)),
                None => values.any(|wanted| value.as_str() == Some(wanted)),
            },
        }
    }
}

/// A field, and those of its values that satisfy the condition.
pub type FieldValues = (Sibling, Box<[&'static str]>);

/// The condition of a rule.
pub enum Condition {
    /// Whether all fields have one of the values (`true`) or not all have (`false`).
    Values(Box<[FieldValues]>, bool),
    /// Whether the field is set (`true`) or not (`false`).
    Set(Sibling, bool),
}

impl Condition {
    pub fn holds(&self, owner: &Value) -> bool {
        match self {
            Condition::Values(fields, wanted) => {
                fields.iter().all(|(field, values)| field.is_one_of(owner, values)) == *wanted
            }
            Condition::Set(field, wanted) => field.is_set(owner) == *wanted,
        }
    }

    /// Whether an update changed a field that this reads.
    pub fn changed(&self, owner: Owner<'_>) -> bool {
        match self {
            Condition::Values(fields, _) => fields.iter().any(|(field, _)| field.changed(owner)),
            Condition::Set(field, _) => field.changed(owner),
        }
    }
}

/// A bound from another field.
pub struct Bound {
    pub field: Sibling,
    pub detail: &'static str,
}

impl Bound {
    pub fn validate(&self, value: &Value, owner: Owner<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let Some(bound) = self.field.number(owner.value) else { return };
        let number = value.as_i64().unwrap_or_default();
        if number > bound {
            errors.invalid(path, number, self.detail);
            errors.origin("notAbove");
        }
    }
}

/// How many of some fields may be set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FieldCount {
    AtLeastOne,
    AtMostOne,
}

impl FieldCount {
    /// `shown` is the value in messages.
    pub fn validate(
        self,
        fields: &[Sibling],
        value: &Value,
        shown: impl Fn() -> Value,
        path: &FieldPath<'_>,
        errors: &mut ErrorList,
    ) {
        let mut set = fields.iter().filter(|field| field.is_set(value));
        let names = || fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
        match (self, set.next(), set.next()) {
            (FieldCount::AtLeastOne, None, _) => {
                let detail = format!("must specify one of: {}", names());
                errors.push(ErrorKind::Required, path, Some(shown()), detail);
                errors.origin("atLeastOne");
            }
            (FieldCount::AtMostOne, _, Some(_)) => {
                errors.invalid(path, shown(), format!("must specify at most one of: {}", names()));
                errors.origin("atMostOne");
            }
            _ => {}
        }
    }
}

/// Beyond this many items, hashing is cheaper than comparing each with each.
const FEW: usize = 16;

/// The indexes of items whose field has the value of an earlier one's.
fn repeated<'v>(field: &Sibling, list: &'v Value) -> impl Iterator<Item = (usize, &'v Value)> {
    let items = list.as_list().unwrap_or_default();
    let mut seen = HashSet::new();
    let values = items.iter().map(|item| at(item, field.name)).enumerate();
    values.filter(move |(index, value)| match items.len() <= FEW {
        true => items.iter().take(*index).any(|earlier| crate::same(at(earlier, field.name), value)),
        false => !seen.insert(key_text(&[], value)),
    })
}

/// Reports the duplicate field of items.
pub fn distinct(field: &Sibling, list: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (index, value) in repeated(field, list).filter(|(_, value)| is_set(value, field.pointer)) {
        errors.duplicate(path.index(index).child(field.name), value.clone());
        errors.origin("distinct");
        errors.found_with(FoundWith::Item);
    }
}

/// Reports the duplicate field of items, including those without it.
pub fn distinct_with_absent(field: &Sibling, list: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (index, value) in repeated(field, list) {
        let shown = if value.is_null() { Value::from("") } else { value.clone() };
        errors.duplicate(path.index(index).child(field.name), shown);
        errors.origin("distinct");
        errors.found_with(FoundWith::Item);
    }
}

/// Reports items with a duplicate field, including those without it.
pub fn distinct_items(field: &Sibling, list: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (index, value) in repeated(field, list) {
        errors.duplicate(path.index(index), if value.is_null() { Value::from("") } else { value.clone() });
        errors.origin("distinctItems");
        errors.found_with(FoundWith::LastOfItem);
    }
}

/// The value that an error shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownValue {
    Own,
    Text(&'static str),
}

/// The message of a tag, which replaces that of the errors of other rules.
pub struct Message {
    /// `None` keeps the kind of the error.
    kind: Option<ErrorKind>,
    value: ShownValue,
    detail: &'static str,
}

impl Message {
    /// Parses the arguments of the tag; on error, returns the expected syntax.
    pub fn of(pairs: &[(&'static str, &'static str)]) -> Result<Self, String> {
        let ((name, detail), shown) = match pairs {
            [message] => (*message, None),
            [message, ("value", text)] => (*message, Some(*text)),
            _ => (("", ""), None),
        };
        let kind = match name {
            "detail" => None,
            "required" => Some(ErrorKind::Required),
            "invalid" => Some(ErrorKind::Invalid),
            "forbidden" => Some(ErrorKind::Forbidden),
            _ => {
                return Err("one of detail, required, invalid and forbidden, and after it value".to_owned());
            }
        };
        let value = shown.map_or(ShownValue::Own, ShownValue::Text);
        Ok(Message { kind, value, detail })
    }

    /// Replaces the message of the errors from an index on, and keeps one for each field.
    pub fn apply(&self, from: usize, shown: impl Fn() -> Value, errors: &mut ErrorList) {
        let Some(found) = errors.0.get_mut(from..).filter(|found| !found.is_empty()) else { return };
        for error in found {
            // Errors of these kinds show the number of items.
            let shows_count = self.kind.is_some() && matches!(error.kind, ErrorKind::TooMany | ErrorKind::TooFew);
            error.kind = self.kind.unwrap_or(error.kind);
            error.detail = self.detail.to_owned();
            match (self.value, shows_count) {
                (ShownValue::Text(text), _) => error.value = Some(text.into()),
                (ShownValue::Own, true) => error.value = Some(shown()),
                (ShownValue::Own, false) => _ = error.value.get_or_insert_with(&shown),
            }
        }
        let mut fields = HashSet::new();
        let mut index = 0;
        errors.0.retain(|error| {
            index += 1;
            index <= from || fields.insert(error.field.clone())
        });
    }
}
