//! Field errors, with kube-apiserver's messages.
//! Guarantees that an error is a value with path, kind, bad value and detail, which is formatted in one place, here.

use crate::order::{Key, Phase};
use crate::path::{FieldPath, PathNode};
use pintle_codec::json;
use pintle_schema::names::quoted;
pub use pintle_schema::rules::ErrorKind;
use pintle_schema::{Str, Value};
use std::collections::HashSet;
use std::fmt::Write;

/// The text of a kind of error.
pub trait ErrorWords {
    /// The `reason` of a cause in a Status.
    fn reason(self) -> &'static str;
    /// The beginning of a message.
    fn text(self) -> &'static str;
    /// Whether a message contains the bad value.
    fn shows_value(self) -> bool;
}

impl ErrorWords for ErrorKind {
    fn reason(self) -> &'static str {
        match self {
            ErrorKind::Required => "FieldValueRequired",
            ErrorKind::Invalid => "FieldValueInvalid",
            ErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            ErrorKind::NotSupported => "FieldValueNotSupported",
            ErrorKind::NotFound => "FieldValueNotFound",
            ErrorKind::Duplicate => "FieldValueDuplicate",
            ErrorKind::Forbidden => "FieldValueForbidden",
            ErrorKind::TooLong => "FieldValueTooLong",
            ErrorKind::TooShort => "FieldValueTooShort",
            ErrorKind::TooMany => "FieldValueTooMany",
            ErrorKind::TooFew => "FieldValueTooFew",
            ErrorKind::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            ErrorKind::Required => "Required value",
            ErrorKind::Invalid | ErrorKind::TypeInvalid => "Invalid value",
            ErrorKind::NotSupported => "Unsupported value",
            ErrorKind::NotFound => "Not found",
            ErrorKind::Duplicate => "Duplicate value",
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::TooLong => "Too long",
            ErrorKind::TooShort => "Too short",
            ErrorKind::TooMany => "Too many",
            ErrorKind::TooFew => "Too few",
            ErrorKind::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            ErrorKind::Required | ErrorKind::Forbidden | ErrorKind::TooLong | ErrorKind::TooShort | ErrorKind::Internal
        )
    }
}

/// One error of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    pub kind: ErrorKind,
    pub field: String,
    /// The bad value, if the kind shows it.
    pub value: Option<Value>,
    pub detail: String,
    /// The tag or format that the value violates, "" if unknown. Clients never see it; the comparison of rules uses
    /// it.
    pub origin: &'static str,
    pub(crate) twin: Twin,
    pub(crate) place: Place,
}

/// Where an error stands among the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Place {
    /// Behind those with a key, in the order in which they were found.
    #[default]
    Last,
    /// As the rule declares that is about to end; with the nodes of the error's path.
    Unkeyed(Vec<PathNode>, FoundWith),
    Keyed(Key),
}

/// What the error of a tag on a list is found with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundWith {
    List,
    /// The item that its path leads to: before its other errors, or after them if the tag is in `last`.
    Item,
    /// The item, if the tag is in `last`.
    LastOfItem,
}

impl Place {
    fn key(&self) -> (bool, &[u32]) {
        match self {
            Place::Keyed(key) => (false, key),
            _ => (true, &[]),
        }
    }
}

/// The path of an error. Only of a `FieldPath` the nodes are known; errors at other texts stand where their rule does.
pub trait ErrorPath {
    fn text(&self) -> String;

    fn nodes(&self) -> Vec<PathNode> {
        Vec::new()
    }
}

impl ErrorPath for FieldPath<'_> {
    fn text(&self) -> String {
        self.to_string()
    }

    fn nodes(&self) -> Vec<PathNode> {
        FieldPath::nodes(self)
    }
}

impl ErrorPath for str {
    fn text(&self) -> String {
        self.to_owned()
    }
}

impl ErrorPath for String {
    fn text(&self) -> String {
        self.clone()
    }
}

impl<P: ErrorPath + ?Sized> ErrorPath for &P {
    fn text(&self) -> String {
        (**self).text()
    }

    fn nodes(&self) -> Vec<PathNode> {
        (**self).nodes()
    }
}

/// Whether another rule should find the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Twin {
    #[default]
    None,
    Handwritten,
    Staged(crate::check::Stage),
}

impl FieldError {
    /// `{text}[: {value}][: {detail}]`: the message of a cause.
    pub fn body(&self) -> String {
        let mut body = self.kind.text().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            body.push_str(": ");
            show(value, &mut body);
        }
        if !self.detail.is_empty() {
            let _ = write!(body, ": {}", self.detail);
        }
        body
    }

    /// Whether another implementation of the rule found the same: the same kind of error at the same field, and the
    /// same origin if both have one.
    pub(crate) fn is_twin_of(&self, other: &FieldError) -> bool {
        let origins = [self.origin, other.origin];
        self.field == other.field && self.kind == other.kind && (origins.contains(&"") || self.origin == other.origin)
    }

    /// Whether it was found by a tag that is compared with handwritten rules.
    pub fn is_declared(&self) -> bool {
        matches!(self.twin, Twin::Staged(_))
    }

    /// `{field}: {body}`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.field, self.body())
    }
}

fn show(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Float(number) => out.push_str(&pintle_schema::compat::float::print(*number)),
        other => {
            let mut bytes = Vec::new();
            json::encode(other, &mut bytes);
            out.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// The text of a type of its own, whose values have names: messages show it as JSON, and other texts as Go quotes them.
pub fn named(name: &str) -> Value {
    let shown = json::to_string(&Value::from(name));
    if shown == quoted(name) { Value::from(name) } else { Value::Raw(Str::from(shown)) }
}

/// Errors in the order in which they were found, until they are sorted by their keys: that is the order clients see.
#[derive(Clone, Debug, Default)]
pub struct ErrorList(pub Vec<FieldError>, ErrorBudget);

impl PartialEq for ErrorList {
    fn eq(&self, other: &ErrorList) -> bool {
        self.0 == other.0
    }
}

/// The number of errors in a response. kube-apiserver returns all: an object of 3 MB with a million empty items gets
/// a response of gigabytes.
const MAX_REPORTED: usize = 1000;

/// The size of these errors in bytes, after which no more are reported: each may quote a value as long as the object.
const MAX_REPORTED_BYTES: usize = 1 << 20;

/// How much of the response's limits the errors have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ErrorBudget {
    errors: usize,
    bytes: usize,
}

impl ErrorBudget {
    fn has_room(self) -> bool {
        self.errors < MAX_REPORTED && self.bytes < MAX_REPORTED_BYTES
    }

    /// Counts an error. Quoted values are measured only while there is room.
    fn take(&mut self, error: &FieldError) {
        let has_room = self.has_room();
        self.errors += 1;
        if has_room {
            let quoted = error.value.as_ref().map_or(0, value_bytes);
            self.bytes = self.bytes.saturating_add(error.field.len() + error.detail.len() + quoted);
        }
    }
}

/// The approximate length of a value when quoted.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) | Value::Raw(text) => text.len() + 2,
        Value::List(items) => items.iter().map(|item| value_bytes(item) + 1).sum::<usize>() + 2,
        Value::Map(map) => map.iter().map(|(key, item)| key.len() + value_bytes(item) + 2).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 8,
    }
}

impl ErrorList {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn push(&mut self, kind: ErrorKind, field: impl ErrorPath, value: Option<Value>, detail: impl Into<String>) {
        // Of unreported errors only their existence and place matter.
        if self.1.errors != self.0.len() {
            // Some were removed, such as those of alternatives.
            self.1 = ErrorBudget::default();
            self.0.iter().take(MAX_REPORTED).for_each(|error| self.1.take(error));
            self.1.errors = self.0.len();
        }
        let is_told = self.1.has_room();
        let error = FieldError {
            kind,
            field: field.text(),
            value: value.filter(|_| is_told),
            detail: if is_told { detail.into() } else { String::new() },
            origin: "",
            twin: Twin::None,
            place: if is_told { Place::Unkeyed(field.nodes(), FoundWith::List) } else { Place::Last },
        };
        self.1.take(&error);
        self.0.push(error);
    }

    /// Says what the last error is found with.
    pub(crate) fn found_with(&mut self, what: FoundWith) {
        if let Some(Place::Unkeyed(_, found_with)) = self.0.last_mut().map(|error| &mut error.place) {
            *found_with = what;
        }
    }

    /// Gives keys to the errors from an index on that have none yet, as the rules of a phase found them.
    pub(crate) fn place(&mut self, from: usize, phase: Phase, key: impl Fn(Phase, &[PathNode]) -> Key) {
        for error in self.0.iter_mut().skip(from) {
            if let Place::Unkeyed(nodes, found_with) = &error.place {
                let phase = match (phase, found_with) {
                    (Phase::Before, FoundWith::Item) => Phase::BeforePart(1),
                    (Phase::After, FoundWith::Item | FoundWith::LastOfItem) => Phase::Inside(1),
                    (phase, _) => phase,
                };
                error.place = Place::Keyed(key(phase, nodes));
            }
        }
    }

    /// Makes what a rule had validated another time its own finding, in the order of that.
    pub(crate) fn unplace(&mut self, from: usize) {
        if let Some(found) = self.0.get_mut(from..) {
            found.sort_by(|a, b| a.place.key().cmp(&b.place.key()));
            found.iter_mut().for_each(|error| error.place = Place::Unkeyed(Vec::new(), FoundWith::List));
        }
    }

    /// The keys of the errors found so far.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.iter().filter_map(|error| match &error.place {
            Place::Keyed(key) => Some(key),
            _ => None,
        })
    }

    /// The errors in kube-apiserver's order. Those that are not reported, and so have no key, stay behind.
    pub(crate) fn into_sorted(mut self) -> Self {
        if self.0.len() > 1 {
            self.0.sort_by(|a, b| a.place.key().cmp(&b.place.key()));
        }
        self
    }

    /// Sets the origin of the last error.
    pub fn origin(&mut self, origin: &'static str) {
        if let Some(last) = self.0.last_mut() {
            last.origin = origin;
        }
    }

    /// Marks the last error as found by a tag too: the results are compared.
    pub fn covered(&mut self) {
        if let Some(last) = self.0.last_mut() {
            last.twin = Twin::Handwritten;
        }
    }

    /// One error for each message of a format.
    pub fn invalid_each<M: Into<String>>(
        &mut self,
        field: impl ErrorPath,
        value: &Value,
        messages: impl IntoIterator<Item = M>,
    ) {
        for message in messages {
            self.invalid(&field, value.clone(), message);
        }
    }

    pub fn duplicate(&mut self, field: impl ErrorPath, value: impl Into<Value>) {
        self.push(ErrorKind::Duplicate, field, Some(value.into()), "");
    }

    pub fn not_found(&mut self, field: impl ErrorPath, value: impl Into<Value>) {
        self.push(ErrorKind::NotFound, field, Some(value.into()), "");
    }

    /// Too many items: the bad value is their number.
    pub fn too_many(&mut self, field: impl ErrorPath, found: usize, most: usize) {
        let detail = format!("must have at most {most} {}", if most == 1 { "item" } else { "items" });
        self.push(ErrorKind::TooMany, field, Some(Value::Int(found as i64)), detail);
    }

    pub fn required(&mut self, field: impl ErrorPath, detail: impl Into<String>) {
        self.push(ErrorKind::Required, field, None, detail);
    }

    pub fn invalid(&mut self, field: impl ErrorPath, value: impl Into<Value>, detail: impl Into<String>) {
        self.push(ErrorKind::Invalid, field, Some(value.into()), detail);
    }

    pub fn forbidden(&mut self, field: impl ErrorPath, detail: impl Into<String>) {
        self.push(ErrorKind::Forbidden, field, None, detail);
    }

    pub fn too_long(&mut self, field: impl ErrorPath, bytes: usize) {
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        self.push(ErrorKind::TooLong, field, None, format!("may not be more than {bytes} {unit}"));
    }

    pub fn not_supported(&mut self, field: impl ErrorPath, value: impl Into<Value>, supported: &[&str]) {
        let names: Vec<String> = supported.iter().map(|name| quoted(name)).collect();
        let detail = format!("supported values: {}", names.join(", "));
        self.push(ErrorKind::NotSupported, field, Some(value.into()), detail);
    }

    /// An unknown name, which messages show as [`named`] does.
    pub fn unknown_name(&mut self, field: impl ErrorPath, name: &str, supported: &[&str]) {
        self.not_supported(field, named(name), supported);
    }

    pub fn immutable(&mut self, field: impl ErrorPath, value: impl Into<Value>) {
        self.invalid(field, value, "field is immutable");
    }

    /// Whether both contain errors of the same kinds at the same fields, one by one.
    pub fn is_about_the_same_as(&self, other: &ErrorList) -> bool {
        let about = |error: &FieldError| (error.kind, error.field.clone());
        self.0.iter().map(about).eq(other.0.iter().map(about))
    }

    /// The reported errors, which are the first ones.
    pub fn reported(&self) -> impl Iterator<Item = &FieldError> {
        let mut room = ErrorBudget::default();
        self.0.iter().take_while(move |error| {
            let has_room = room.has_room();
            room.take(error);
            has_room
        })
    }

    /// All lines as one message: a single line as it is, several in brackets, without duplicates.
    pub fn summary(&self) -> String {
        let mut known = HashSet::new();
        let mut lines: Vec<String> = self.reported().map(FieldError::line).collect();
        lines.retain(|line| known.insert(line.clone()));
        if lines.len() == 1 { lines.swap_remove(0) } else { format!("[{}]", lines.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn texts_are_the_references() {
        let mut errors = ErrorList::default();
        errors.required("metadata.name", "name or generateName is required");
        errors.invalid("spec.replicas", -1, "must be greater than or equal to 0");
        errors.not_supported("dryRun", value!(["None"]), &["All"]);
        errors.unknown_name("effect", "<a&b>\u{1}", &["A"]);
        errors.unknown_name("effect", "b", &["A"]);
        errors.too_long("fieldManager", 128);
        errors.invalid("fieldManager", "a\u{1}b", "invalid character U+0001 (at position 1)");
        let bodies: Vec<String> = errors.0.iter().map(FieldError::body).collect();
        assert_eq!(
            bodies,
            [
                "Required value: name or generateName is required",
                "Invalid value: -1: must be greater than or equal to 0",
                "Unsupported value: [\"None\"]: supported values: \"All\"",
                "Unsupported value: \"\\u003ca\\u0026b\\u003e\\u0001\": supported values: \"A\"",
                "Unsupported value: \"b\": supported values: \"A\"",
                "Too long: may not be more than 128 bytes",
                "Invalid value: \"a\\x01b\": invalid character U+0001 (at position 1)",
            ]
        );
        assert!(
            errors
                .summary()
                .starts_with("[metadata.name: Required value: name or generateName is required, spec.replicas: ")
        );
    }

    #[test]
    fn no_more_errors_are_told_than_an_answer_has_room_for() {
        let mut errors = ErrorList::default();
        for at in 0..3 * MAX_REPORTED {
            errors.invalid(format!("spec.list[{at}]"), "x", "is wrong");
        }
        assert_eq!((errors.0.len(), errors.reported().count()), (3 * MAX_REPORTED, MAX_REPORTED));
        let last = format!("spec.list[{}]: Invalid value: \"x\": is wrong]", MAX_REPORTED - 1);
        assert!(errors.summary().ends_with(&last));
        let mut long = ErrorList::default();
        (0..10).for_each(|_| long.invalid("spec", "x".repeat(MAX_REPORTED_BYTES / 2), "is wrong"));
        assert_eq!(long.reported().count(), 2);
        // Removed errors free their part of the limits.
        long.0.truncate(1);
        (0..10).for_each(|_| long.invalid("spec", "x", "is wrong"));
        assert_eq!((long.reported().count(), long.0.iter().all(|error| !error.detail.is_empty())), (11, true));
        let untold = errors.0.last().expect("errors");
        assert_eq!((untold.detail.len(), &untold.value), (0, &None));
    }

    #[test]
    fn equal_lines_are_told_once() {
        let mut errors = ErrorList::default();
        errors.required("a", "");
        errors.required("a", "");
        assert_eq!((errors.summary().as_str(), errors.0.len()), ("a: Required value", 2));
    }
}
