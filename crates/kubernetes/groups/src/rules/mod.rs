//! Functions that the rules of several kinds share: selectors, numbers, names.
//!
//! Each validates one value at one path. None knows a kind.

pub(crate) mod condition;
pub(crate) mod difference;
pub(crate) mod internal_form;
pub(crate) mod label_selector;
pub(crate) mod warnings;

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod warning_tests;

use pintle_expressions::FaultKind;
use pintle_gates as gates;
use pintle_schema::{ApiType, ApiValue, FieldName, Map, Value, View, names};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use pintle_validation::{At, ErrorKind, FieldPath, ValidationContext, check, formats, named};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// Whether labels have all that a plain selector asks for; an empty one asks for nothing.
pub fn selects(selector: View<'_, BTreeMap<String, String>>, metadata: View<'_, ObjectMeta>) -> bool {
    let labels = metadata.field(ObjectMeta::LABELS).value();
    let mut wanted = selector.value().as_map().into_iter().flat_map(|map| map.iter());
    if selector.value().as_map().map_or(0, Map::len) <= FEW {
        return wanted.all(|(key, value)| labels.get(key) == Some(value));
    }
    let labels: HashMap<_, _> = labels.as_map().into_iter().flat_map(|map| map.iter()).collect();
    wanted.all(|(key, value)| labels.get(key) == Some(&value))
}

/// Keys and values of labels at any place.
pub fn labels(labels: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    let path = labels.path.to_string();
    pintle_validation::metadata::validate_labels(Some(labels.new.value()), &path, &mut cx.errors);
}

/// Reports the fields of a struct that are set and must not be.
pub fn forbid<T: ApiType>(
    owner: View<'_, T>,
    path: &FieldPath<'_>,
    fields: &[&str],
    detail: &str,
    cx: &mut ValidationContext<'_>,
) {
    for name in fields {
        let field = T::schema().fields.iter().find(|field| &*field.name == *name);
        let value = owner.value().get(name).unwrap_or(&Value::Null);
        if field.is_some_and(|field| check::is_set(value, check::is_pointer(field))) {
            cx.errors.forbidden(path.child(name), detail);
        }
    }
}

/// A field that updates must leave as it is, reported with the new value.
pub fn immutable<T: ApiValue>(field: At<'_, T>, cx: &mut ValidationContext<'_>) {
    if field.old.is_some() && !field.unchanged() {
        cx.errors.immutable(field.path, crate::rules::internal_form::in_full(field.new));
    }
}

/// Validates an address in an old field; returns whether it is valid.
pub fn legacy_ip(address: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let messages = names::ip::ip_legacy(address, cx.enabled(&gates::STRICT_IP_CIDR_VALIDATION));
    invalid_each(address, messages, path, cx)
}

/// Validates a CIDR in an old field; returns whether it is valid.
pub fn legacy_cidr(block: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let messages = names::ip::cidr_legacy(block, cx.enabled(&gates::STRICT_IP_CIDR_VALIDATION));
    invalid_each(block, messages, path, cx)
}

/// Reports one error for each message about a text; returns whether there was none.
pub fn invalid_each(text: &str, messages: Vec<String>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let is_right = messages.is_empty();
    for message in messages {
        cx.errors.invalid(path, text, message);
    }
    is_right
}

/// Validates a value by a format of the tag `format`.
pub fn has_format(format: &str, value: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let messages = formats::find(format).map(|format| (format.validate)(value)).unwrap_or_default();
    if !messages.is_empty() {
        // Go shows a string that is absent as an empty one.
        let shown = if value.is_null() { Value::from("") } else { value.clone() };
        cx.errors.invalid_each(path, &shown, messages);
    }
}

/// Beyond this many items, remembering is cheaper than comparing each with each.
const FEW: usize = 16;

/// Finds items of a list with the key of an earlier one. Short lists are compared without an index.
pub struct Repeats<K, F> {
    key: F,
    seen: Option<HashSet<K>>,
}

impl<K: Eq + Hash, F: Fn(usize) -> K> Repeats<K, F> {
    /// For a list of a length, with the key of an item. Items must be asked for once each, in their order.
    pub fn new(items: usize, key: F) -> Self {
        Repeats { key, seen: (items > FEW).then(HashSet::new) }
    }

    pub fn is_repeated(&mut self, at: usize) -> bool {
        let key = (self.key)(at);
        match &mut self.seen {
            Some(seen) => !seen.insert(key),
            None => (0..at).any(|earlier| (self.key)(earlier) == key),
        }
    }
}

/// Texts that are looked up again and again; of few it remembers nothing.
pub struct Texts<'a, F> {
    count: usize,
    text: F,
    index: Option<HashSet<&'a str>>,
}

impl<'a, F: Fn(usize) -> &'a str> Texts<'a, F> {
    /// So many texts, each by its number.
    pub fn new(count: usize, text: F) -> Self {
        let index = (count > FEW).then(|| (0..count).map(&text).collect());
        Texts { count, text, index }
    }

    pub fn contains(&self, wanted: &str) -> bool {
        match &self.index {
            Some(index) => index.contains(wanted),
            None => (0..self.count).any(|at| (self.text)(at) == wanted),
        }
    }
}

/// The items of a list.
pub fn items<T>(list: View<'_, Vec<T>>) -> &[Value] {
    list.value().as_list().unwrap_or_default()
}

/// A text in an item of a list.
pub fn text_in<S, F>(items: &[Value], at: usize, field: FieldName<S, F>) -> &str {
    items.get(at).map_or("", |item| item.str_at(&[field.name()]))
}

/// A selector by labels, whose values must be such that labels can have them.
pub fn label_selector(selector: At<'_, LabelSelector>, cx: &mut ValidationContext<'_>) {
    type Requirement = LabelSelectorRequirement;
    selector.field(LabelSelector::MATCH_LABELS, |wanted| labels(wanted, cx));
    selector.field(LabelSelector::MATCH_EXPRESSIONS, |expressions| {
        expressions.each(|expression| {
            let path = expression.path;
            let values = items(expression.new.field(Requirement::VALUES));
            match (expression.new.field(Requirement::OPERATOR).value().as_str().unwrap_or_default(), values.is_empty())
            {
                ("In" | "NotIn", true) => {
                    let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                    cx.errors.required(path.to(Requirement::VALUES), detail);
                }
                ("Exists" | "DoesNotExist", false) => {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    cx.errors.forbidden(path.to(Requirement::VALUES), detail);
                }
                ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
                (other, _) => {
                    cx.errors.invalid(path.to(Requirement::OPERATOR), named(other), "not a valid selector operator");
                }
            }
            let key = expression.new.field(Requirement::KEY).as_str();
            invalid_each(key, names::label_key(key), &path.to(Requirement::KEY), cx);
            for (at, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                invalid_each(value, names::label_value(value), &path.to(Requirement::VALUES).index(at), cx);
            }
        });
    });
}

/// A name in the domain of who gives it; errors show the part that is wrong.
pub fn domain_prefixed_path(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    for fault in names::domain_prefixed_path(name.new.as_str()) {
        match fault {
            names::Fault::Required => cx.errors.required(name.path, ""),
            names::Fault::Invalid { value, detail } => cx.errors.invalid(name.path, value, detail),
        }
    }
}

/// Reports why an expression is no program.
pub fn report_expression(
    path: &FieldPath<'_>,
    text: &str,
    fault: &pintle_expressions::CompileFault,
    cx: &mut ValidationContext<'_>,
) {
    match fault.kind {
        FaultKind::Invalid => cx.errors.invalid(path, text, &fault.detail),
        FaultKind::Internal => cx.errors.push(ErrorKind::Internal, path, None, &fault.detail),
    }
}
