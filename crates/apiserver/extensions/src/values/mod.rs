//! Validation of a custom resource's values against a compiled schema.
//!
//! Errors are those of kube-apiserver; properties that it visits in random order are sorted by name. Guarantees that unchanged
//! values of an update are no errors (ratcheting). Must never change a value.

mod correlation;
mod formats;
mod number;
mod outcome;
#[cfg(test)]
mod tests;

pub use formats::is_known_format;

use crate::json_schema::{Items, JsonSchema, SchemaOrBool};
use crate::pattern;
pub(crate) use correlation::Correlated;
use formats::Format;
use outcome::{Issue, Outcome};
use pintle_schema::{Str, Value};
use pintle_validation::{ErrorList, FieldPath};
use std::fmt;

/// The use of a compiled schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Objects of the resource: formats that kube-apiserver does not know hold for nothing.
    Objects,
    /// Defaults in the definition.
    Defaults,
}

/// A compiled schema, which validates values.
#[derive(Debug, Default)]
pub struct ValueSchema {
    types: Types,
    nullable: bool,
    /// The format's name and its check of strings.
    format: Str,
    string_format: Option<&'static Format>,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    minimum: Option<f64>,
    exclusive_minimum: bool,
    multiple_of: Option<f64>,
    max_length: Option<i64>,
    min_length: Option<i64>,
    pattern: Option<Str>,
    max_items: Option<i64>,
    min_items: Option<i64>,
    unique_items: bool,
    values: Vec<Value>,
    max_properties: Option<i64>,
    min_properties: Option<i64>,
    required: Vec<Str>,
    items: Option<Box<ValueSchema>>,
    all_of: Vec<ValueSchema>,
    one_of: Vec<ValueSchema>,
    any_of: Vec<ValueSchema>,
    not: Option<Box<ValueSchema>>,
    properties: Vec<(Str, ValueSchema)>,
    additional: Additional,
    /// The keys of an associative list.
    list_map_keys: Option<Vec<Str>>,
}

/// The schema of properties without a name in `properties`.
#[derive(Debug, Default)]
enum Additional {
    #[default]
    Anything,
    None,
    Schema(Box<ValueSchema>),
}

/// The allowed types of a value; none means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Types(Vec<Str>);

impl Types {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    fn joined(&self) -> String {
        self.0.iter().map(Str::as_str).collect::<Vec<_>>().join(",")
    }
}

impl ValueSchema {
    pub fn new(schema: &JsonSchema, purpose: Purpose) -> ValueSchema {
        let all = |schemas: &[JsonSchema]| schemas.iter().map(|schema| Self::new(schema, purpose)).collect();
        let one = |schema: &JsonSchema| Box::new(Self::new(schema, purpose));
        let types = match (schema.int_or_string && purpose == Purpose::Objects, schema.kind.as_str()) {
            (true, _) => vec!["integer".into(), "string".into()],
            (false, "") => Vec::new(),
            (false, _) => vec![schema.kind.clone()],
        };
        let types = Types(types);
        let format = match purpose {
            Purpose::Objects if !formats::is_known(&types.0, &schema.format) => Str::default(),
            _ => schema.format.clone(),
        };
        ValueSchema {
            nullable: schema.nullable,
            string_format: formats::find(&format),
            format,
            types,
            maximum: schema.maximum,
            exclusive_maximum: schema.exclusive_maximum,
            minimum: schema.minimum,
            exclusive_minimum: schema.exclusive_minimum,
            multiple_of: schema.multiple_of,
            max_length: schema.max_length,
            min_length: schema.min_length,
            pattern: Some(&schema.pattern).filter(|pattern| !pattern.is_empty()).cloned(),
            max_items: schema.max_items,
            min_items: schema.min_items,
            unique_items: schema.unique_items,
            values: schema.values.clone(),
            max_properties: schema.max_properties,
            min_properties: schema.min_properties,
            required: schema.required.clone(),
            items: match &schema.items {
                Some(Items::One(item)) => Some(one(item)),
                _ => None,
            },
            all_of: all(&schema.all_of),
            one_of: all(&schema.one_of),
            any_of: all(&schema.any_of),
            not: schema.not.as_ref().map(|not| one(not)),
            properties: schema.properties.iter().map(|(name, of)| (name.clone(), Self::new(of, purpose))).collect(),
            additional: match &schema.additional_properties {
                None | Some(SchemaOrBool::Bool(true)) => Additional::Anything,
                Some(SchemaOrBool::Bool(false)) => Additional::None,
                Some(SchemaOrBool::Schema(schema)) => Additional::Schema(one(schema)),
            },
            list_map_keys: (schema.list_type.as_deref() == Some("map")).then(|| schema.list_map_keys.clone()),
        }
    }

    /// Validates a value. Parts that are equal to those of the value it replaces are valid.
    ///
    /// Errors have paths below `path`, or below the object itself.
    pub fn validate(&self, value: &Value, old: Option<&Value>, path: Option<&FieldPath<'_>>) -> ErrorList {
        let correlated = old.map(|old| Correlated { schema: self, old });
        let outcome = self.child(value, &Place::ROOT, correlated);
        let mut errors = ErrorList::default();
        outcome.issues.into_iter().for_each(|issue| issue.report(path, &mut errors));
        errors
    }

    fn property(&self, name: &str) -> Option<&ValueSchema> {
        let at = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.properties[at].1)
    }

    /// Validates a value that may be the same as before.
    fn child(&self, value: &Value, place: &Place<'_>, old: Option<Correlated<'_>>) -> Outcome {
        let mut outcome = self.run(value, place, old);
        if !outcome.is_valid() && old.is_some_and(|old| old.is_equal(value)) {
            outcome.forgive();
        }
        outcome
    }

    fn run(&self, value: &Value, place: &Place<'_>, old: Option<Correlated<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            self.type_of(value, place, &mut outcome);
            self.one_of_values(value, place, &mut outcome);
            return outcome;
        }
        if !self.types.0.is_empty() || !self.format.is_empty() {
            self.type_of(value, place, &mut outcome);
            outcome.matches += 1;
        }
        outcome.merge(self.logical(value, place, old));
        outcome.matches += 1;
        match value {
            Value::String(text) => {
                self.string(text, place, &mut outcome);
                outcome.matches += 1;
                if let Some(format) = self.string_format {
                    if !(format.is)(text) {
                        outcome.add(Issue::format(place, &self.format, text));
                    }
                    outcome.matches += 1;
                }
            }
            Value::Int(_) | Value::Float(_) => {
                outcome.merge(number::validate(self, value, place));
                outcome.matches += 1;
            }
            Value::List(items) => {
                outcome.merge(self.list(items, place, old));
                outcome.matches += 1;
            }
            _ => {}
        }
        self.one_of_values(value, place, &mut outcome);
        outcome.matches += 1;
        if let Value::Map(_) = value {
            outcome.merge(self.object(value, place, old));
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    fn type_of(&self, value: &Value, place: &Place<'_>, outcome: &mut Outcome) {
        let kind = type_name(value);
        if value.is_null() {
            if !self.types.0.is_empty() && !self.types.has("null") && !self.nullable {
                outcome.add(Issue::wrong_type(place, &self.types.joined(), kind));
            } else {
                outcome.matches += 1;
            }
            return;
        }
        let format = match value {
            Value::Int(_) => "int64",
            Value::Float(_) => "float64",
            _ => "",
        };
        let whole = matches!(value, Value::Float(number) if number::is_whole(*number)) && self.types.has("integer");
        let as_number = matches!(value, Value::Int(_)) && self.types.has("number");
        let has_text = matches!(value, Value::String(_) | Value::List(_));
        let fits = self.types.has(kind) || format == self.format || whole || as_number;
        if !has_text && !self.format.is_empty() && !fits {
            outcome.add(Issue::wrong_type(place, &self.format, format));
            return;
        }
        let is_numeric = self.types.has("number") || self.types.has("integer");
        let passes = !is_numeric && !self.format.is_empty() && has_text;
        if passes || self.types.has(kind) || whole || as_number {
            outcome.matches += 1;
        } else {
            outcome.add(Issue::wrong_type(place, &self.types.joined(), kind));
        }
    }

    fn string(&self, text: &str, place: &Place<'_>, outcome: &mut Outcome) {
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = self.max_length.filter(|most| length() > *most) {
            return outcome.add(Issue::too_long(place, most));
        }
        if let Some(least) = self.min_length.filter(|least| length() < *least) {
            return outcome.add(Issue::invalid(
                place,
                Value::from(text),
                format!("should be at least {least} chars long"),
            ));
        }
        let Some(pattern) = &self.pattern else { return };
        match pattern::matches(pattern, text) {
            Ok(true) => {}
            Ok(false) => outcome.add(Issue::invalid(place, Value::from(text), format!("should match '{pattern}'"))),
            Err(error) => {
                let detail = format!("should match '{pattern}, but pattern is invalid: {error}'");
                outcome.add(Issue::invalid(place, Value::from(text), detail));
            }
        }
    }

    fn one_of_values(&self, value: &Value, place: &Place<'_>, outcome: &mut Outcome) {
        if !self.values.is_empty() && !self.values.iter().any(|allowed| number::is_converted(value, allowed)) {
            outcome.add(Issue::not_among(place, value, &self.values));
        }
    }

    fn list(&self, items: &[Value], place: &Place<'_>, old: Option<Correlated<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(schema) = &self.items {
            let index = old.and_then(Correlated::index);
            for (at, item) in items.iter().enumerate() {
                let old = index.as_ref().and_then(|index| index.find(item));
                outcome.merge(schema.child(item, &place.index(at), old));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = self.min_items.filter(|least| size < *least) {
            outcome.add(Issue::invalid(place, Value::Int(size), format!("should have at least {least} items")));
        }
        if let Some(most) = self.max_items.filter(|most| size > *most) {
            outcome.add(Issue::too_many(place, size, most, "items"));
        }
        if self.unique_items && has_duplicates(items) {
            outcome.add(Issue::invalid(place, Value::Null, "shouldn't contain duplicates".to_owned()));
        }
        outcome.matches += 1;
        outcome
    }

    fn object(&self, value: &Value, place: &Place<'_>, old: Option<Correlated<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        let Value::Map(map) = value else { return outcome };
        let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(least) = self.min_properties.filter(|least| size < *least) {
            outcome.add(Issue::invalid(place, Value::Int(size), format!("should have at least {least} properties")));
        }
        if let Some(most) = self.max_properties.filter(|most| size > *most) {
            outcome.add(Issue::too_many(place, size, most, "properties"));
        }
        if !matches!(self.additional, Additional::Anything) {
            let mut others: Vec<_> = map.iter().filter(|(name, _)| self.property(name).is_none()).collect();
            others.sort_by_key(|(name, _)| *name);
            for (name, value) in others {
                match &self.additional {
                    Additional::Schema(schema) => {
                        let old = old.and_then(|old| old.key(name, place));
                        outcome.merge(schema.child(value, &place.dotted(name), old));
                    }
                    _ => outcome.add(Issue::forbidden_property(place, name)),
                }
            }
        }
        for (name, schema) in &self.properties {
            if let Some(value) = map.get(name) {
                let old = old.and_then(|old| old.key(name, place));
                outcome.merge(schema.child(value, &place.property(name), old));
            }
        }
        for name in self.required.iter().filter(|name| map.get(name).is_none()) {
            outcome.add(Issue::required(&place.dotted(name)));
        }
        outcome
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`. When all alternatives fail, the errors of the one that met most are reported.
    fn logical(&self, value: &Value, place: &Place<'_>, old: Option<Correlated<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if !self.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            let mut success = None;
            for schema in &self.any_of {
                let found = schema.run(value, place, old);
                if found.is_valid() {
                    success = Some(found);
                    break;
                }
                if best.as_ref().is_none_or(|best| found.matches > best.matches) {
                    best = Some(found);
                }
            }
            if success.is_none() {
                outcome.add(Issue::plain(place, "must validate at least one schema (anyOf)"));
            }
            outcome.merge(success.or(best).unwrap_or_default());
        }
        if !self.one_of.is_empty() {
            let (mut best, mut success): (Option<Outcome>, Option<Outcome>) = (None, None);
            let mut valid = 0;
            for schema in &self.one_of {
                let found = schema.run(value, place, old);
                if found.is_valid() {
                    valid += 1;
                    best = None;
                    success.get_or_insert(found);
                } else if valid == 0 && best.as_ref().is_none_or(|best| found.matches > best.matches) {
                    best = Some(found);
                }
            }
            match valid {
                1 => outcome.merge(success.unwrap_or_default()),
                _ => {
                    let found = if valid == 0 {
                        "Found none valid".to_owned()
                    } else {
                        format!("Found {valid} valid alternatives")
                    };
                    outcome
                        .add(Issue::plain(place, &format!("must validate one and only one schema (oneOf). {found}")));
                    outcome.merge(best.unwrap_or_default());
                }
            }
        }
        if !self.all_of.is_empty() {
            let mut valid = 0;
            for schema in &self.all_of {
                let found = schema.run(value, place, old);
                valid += usize::from(found.is_valid());
                outcome.merge(found);
            }
            if valid != self.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.add(Issue::plain(place, &format!("must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &self.not
            && not.run(value, place, old).is_valid()
        {
            outcome.add(Issue::plain(place, "must not validate the schema (not)"));
        }
        outcome.matches += 1;
        outcome
    }
}

fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::new();
    !items.iter().all(|item| seen.insert(pintle_codec::json::to_vec(item)))
}

/// The name of a value's type in schemas.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        Value::Raw(_) => "object",
    }
}

/// Where in an object a value is; it becomes text only when something is wrong.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// Of the object itself, without a dot.
    Property(&'a str),
    Dotted(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    const ROOT: Place<'static> = Place { parent: None, step: Step::Root };

    fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    fn property(&'a self, name: &'a str) -> Place<'a> {
        let step = if self.is_root() { Step::Property(name) } else { Step::Dotted(name) };
        Place { parent: Some(self), step }
    }

    fn dotted(&'a self, name: &'a str) -> Place<'a> {
        Place { parent: Some(self), step: Step::Dotted(name) }
    }

    fn index(&'a self, at: usize) -> Place<'a> {
        Place { parent: Some(self), step: Step::Index(at) }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Property(name) => f.write_str(name),
            Step::Dotted(name) => write!(f, ".{name}"),
            Step::Index(at) => write!(f, "[{at}]"),
        }
    }
}
