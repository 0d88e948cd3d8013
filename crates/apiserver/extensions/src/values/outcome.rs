//! The result of a validation: kube-apiserver's errors, and the number of passed checks, by which the best of several
//! alternatives is chosen.

use super::Place;
use pintle_schema::Value;
use pintle_schema::names::quoted;
use pintle_validation::{ErrorKind, ErrorList, FieldPath};
use std::collections::HashSet;

/// Further errors of one object are dropped: a response has no room for them.
const MAX_ISSUES: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub issues: Vec<Issue>,
    pub matches: usize,
    /// The texts of the issues, once there are many: each is reported once.
    texts: HashSet<String>,
}

/// One error.
#[derive(Debug)]
pub(super) struct Issue {
    /// The message, by which duplicates are detected.
    text: String,
    name: String,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Required,
    NotAmong(Value, Vec<String>),
    TooLong(i64),
    TooMany(i64, i64),
    WrongType(Value),
    Invalid(Value),
    /// About the whole object.
    Plain,
}

impl Outcome {
    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }

    /// Drops the errors but keeps the number of passed checks.
    pub fn forgive(&mut self) {
        self.issues.clear();
        self.texts.clear();
    }

    pub fn add(&mut self, issue: Issue) {
        if self.issues.len() < MAX_ISSUES && self.texts.insert(issue.text.clone()) {
            self.issues.push(issue);
        }
    }

    pub fn merge(&mut self, other: Outcome) {
        self.matches += other.matches;
        if self.issues.is_empty() {
            (self.issues, self.texts) = (other.issues, other.texts);
        } else {
            other.issues.into_iter().for_each(|issue| self.add(issue));
        }
    }
}

impl Issue {
    fn new(place: &Place<'_>, cause: Cause, text: impl FnOnce(&str) -> String) -> Issue {
        let name = place.to_string();
        Issue { text: text(&name), name, cause }
    }

    pub fn required(place: &Place<'_>) -> Issue {
        Issue::new(place, Cause::Required, |name| format!("{name} in body is required"))
    }

    pub fn wrong_type(place: &Place<'_>, wanted: &str, found: &str) -> Issue {
        Issue::new(place, Cause::WrongType(found.into()), |name| {
            format!("{name} in body must be of type {wanted}: {}", quoted(found))
        })
    }

    pub fn format(place: &Place<'_>, format: &str, text: &str) -> Issue {
        Issue::wrong_type(place, format, text)
    }

    pub fn too_long(place: &Place<'_>, most: i64) -> Issue {
        Issue::new(place, Cause::TooLong(most), |name| format!("{name} in body should be at most {most} chars long"))
    }

    pub fn too_many(place: &Place<'_>, size: i64, most: i64, what: &str) -> Issue {
        Issue::new(place, Cause::TooMany(size, most), |name| {
            format!("{name} in body should have at most {most} {what}")
        })
    }

    pub fn not_among(place: &Place<'_>, value: &Value, allowed: &[Value]) -> Issue {
        let allowed: Vec<String> = allowed
            .iter()
            .map(|value| match value {
                Value::String(text) => text.to_string(),
                other => pintle_codec::json::to_string(other),
            })
            .collect();
        let text = allowed.join(" ");
        Issue::new(place, Cause::NotAmong(value.clone(), allowed), |name| {
            format!("{name} in body should be one of [{text}]")
        })
    }

    pub fn forbidden_property(place: &Place<'_>, name: &str) -> Issue {
        Issue::new(place, Cause::Invalid(name.into()), |of| format!("{of}.{name} in body is a forbidden property"))
    }

    /// An error about a value; `detail` follows the name of the value.
    pub fn invalid(place: &Place<'_>, value: Value, detail: String) -> Issue {
        Issue::new(place, Cause::Invalid(value), |name| format!("{name} in body {detail}"))
    }

    pub fn factor_must_be_positive(place: &Place<'_>, factor: f64) -> Issue {
        Issue::new(place, Cause::Invalid(Value::Float(factor)), |name| {
            format!(
                "factor MultipleOf declared for {name} must be positive: {}",
                pintle_schema::compat::float::print(factor)
            )
        })
    }

    /// An error about the whole object that names the value.
    pub fn plain(place: &Place<'_>, detail: &str) -> Issue {
        Issue::new(place, Cause::Plain, |name| format!("{} {detail}", quoted(name)))
    }

    /// An error about the whole object, in its own words.
    pub fn other(place: &Place<'_>, text: String) -> Issue {
        Issue::new(place, Cause::Plain, |_| text)
    }

    pub fn report(self, path: Option<&FieldPath<'_>>, errors: &mut ErrorList) {
        let Issue { text, name, cause } = self;
        let base = path.map(ToString::to_string);
        let name = name.strip_prefix('.').unwrap_or(&name);
        let field = match (&cause, name, base) {
            (Cause::Plain, _, base) | (_, "", base) => base.unwrap_or_else(|| "<nil>".to_owned()),
            (_, name, Some(base)) => format!("{base}.{name}"),
            (_, name, None) => name.to_owned(),
        };
        // Where kube-apiserver has no value, it prints an empty string.
        let or_empty = |value: Value| if value.is_null() { Value::from("") } else { value };
        match cause {
            Cause::Required => errors.required(field, ""),
            Cause::NotAmong(value, allowed) => {
                let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
                errors.not_supported(field, value, &allowed);
            }
            // Messages do not show a negative bound.
            Cause::TooLong(most) => match usize::try_from(most) {
                Ok(most) => errors.too_long(field, most),
                Err(_) => errors.push(ErrorKind::TooLong, field, None, "value is too long"),
            },
            Cause::TooMany(size, most) => match usize::try_from(most) {
                Ok(most) => errors.too_many(field, usize::try_from(size).unwrap_or_default(), most),
                Err(_) => errors.push(ErrorKind::TooMany, field, Some(size.into()), "has too many items"),
            },
            Cause::WrongType(value) => errors.push(ErrorKind::TypeInvalid, field, Some(or_empty(value)), text),
            Cause::Invalid(value) => errors.invalid(field, or_empty(value), text),
            Cause::Plain => errors.invalid(field, "", text),
        }
    }
}
