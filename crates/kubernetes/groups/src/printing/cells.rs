//! Helpers for the cells of many kinds: text with a placeholder, numbers, ages, labels, lists.
//!
//! Each function reads a typed view and returns a cell, or text for one. None knows a kind or can fail.

use super::Now;
use pintle_schema::label_selector::{self, Expression};
use pintle_schema::{FieldName, Map, MicroTime, Str, Time, Value, View};
use pintle_types::core::v1::{Container, PodSpec, PodTemplateSpec};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta, PartialObjectMetadata};
use std::collections::BTreeSet;

pub const NONE: &str = "<none>";
pub const UNKNOWN: &str = "<unknown>";
pub const UNSET: &str = "<unset>";

/// Steps into a field, be its owner there or behind a pointer; behind an absent one every field is absent.
pub trait To<'a, S> {
    fn to<F>(self, field: FieldName<S, F>) -> View<'a, F>;
}

impl<'a, S> To<'a, S> for View<'a, S> {
    fn to<F>(self, field: FieldName<S, F>) -> View<'a, F> {
        self.field(field)
    }
}

impl<'a, S> To<'a, S> for View<'a, Option<S>> {
    fn to<F>(self, field: FieldName<S, F>) -> View<'a, F> {
        self.or_zero().field(field)
    }
}

/// The metadata that every object has.
pub fn metadata<T>(object: View<'_, T>) -> View<'_, ObjectMeta> {
    View::<PartialObjectMetadata>::new(object.value()).to(PartialObjectMetadata::METADATA)
}

/// The text of a string, enumerated string or quantity, "" when absent.
pub fn str_of<T>(view: View<'_, T>) -> &str {
    view.value().as_str().unwrap_or("")
}

pub fn str_or<'a, T>(view: View<'a, T>, stand_in: &'a str) -> &'a str {
    Some(str_of(view)).filter(|text| !text.is_empty()).unwrap_or(stand_in)
}

pub fn int_of<T>(view: View<'_, T>) -> i64 {
    view.value().as_i64().unwrap_or(0)
}

pub fn text<T>(view: View<'_, T>) -> Value {
    Value::String(match view.value() {
        Value::String(text) => text.clone(),
        _ => Str::default(),
    })
}

pub fn text_or<T>(view: View<'_, T>, stand_in: &'static str) -> Value {
    Value::String(match view.value() {
        Value::String(text) if !text.is_empty() => text.clone(),
        _ => Str::new_static(stand_in),
    })
}

/// The value as it is, whatever its type.
pub fn json_or<T>(view: View<'_, T>, stand_in: impl Into<Value>) -> Value {
    if view.is_set() { view.value().clone() } else { stand_in.into() }
}

/// A number, or a text such as a percentage, always as text.
pub fn scalar_text_or<T>(view: View<'_, T>, stand_in: &'static str) -> Value {
    match view.value() {
        Value::Int(number) => number.to_string().into(),
        Value::String(text) => text.clone().into(),
        _ => stand_in.into(),
    }
}

pub fn number<T>(view: View<'_, T>) -> Value {
    int_of(view).into()
}

pub fn flag<T>(view: View<'_, T>) -> Value {
    flag_or(view, false)
}

pub fn flag_or<T>(view: View<'_, T>, stand_in: bool) -> Value {
    view.value().as_bool().unwrap_or(stand_in).into()
}

/// How many entries a list or map has.
pub fn len<T>(view: View<'_, T>) -> i64 {
    let entries = view.value().as_list().map_or(0, <[Value]>::len) + view.value().as_map().map_or(0, Map::len);
    i64::try_from(entries).unwrap_or(i64::MAX)
}

pub fn count<T>(view: View<'_, T>) -> Value {
    len(view).into()
}

pub fn name<T>(object: View<'_, T>) -> Value {
    text(metadata(object).to(ObjectMeta::NAME))
}

/// The age of an object.
pub fn age<T>(object: View<'_, T>, now: &Now) -> Value {
    since(metadata(object).to(ObjectMeta::CREATION_TIMESTAMP), now).into()
}

pub fn deleted<T>(object: View<'_, T>) -> bool {
    metadata(object).to(ObjectMeta::DELETION_TIMESTAMP).is_set()
}

pub fn annotation<'a, T>(object: View<'a, T>, key: &str) -> Option<&'a str> {
    entry(metadata(object).to(ObjectMeta::ANNOTATIONS), key)
}

/// The text at a key of a map.
pub fn entry<'a, T>(map: View<'a, T>, key: &str) -> Option<&'a str> {
    map.value().get(key)?.as_str()
}

/// The seconds of a field that holds a time.
pub trait Moment {
    fn seconds(self) -> Option<i64>;
}

impl Moment for View<'_, Time> {
    fn seconds(self) -> Option<i64> {
        Some(self.get()).filter(|time| !time.is_zero()).map(|time| time.seconds)
    }
}

impl Moment for View<'_, Option<Time>> {
    fn seconds(self) -> Option<i64> {
        self.or_zero().seconds()
    }
}

impl Moment for View<'_, MicroTime> {
    fn seconds(self) -> Option<i64> {
        Some(self.get()).filter(|time| !time.is_zero()).map(|time| time.seconds)
    }
}

/// How long ago a time was.
pub fn since(time: impl Moment, now: &Now) -> String {
    since_or(time, now, UNKNOWN)
}

pub fn since_or(time: impl Moment, now: &Now, stand_in: &str) -> String {
    time.seconds().map_or_else(|| stand_in.to_owned(), |seconds| now.since(seconds))
}

/// The texts of a list of strings.
pub fn strings<'a, T: 'a>(list: View<'a, Vec<T>>) -> impl Iterator<Item = &'a str> {
    list.iter().map(str_of)
}

pub fn join<I: IntoIterator<Item: AsRef<str>>>(texts: I, separator: &str) -> String {
    let mut joined = String::new();
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text.as_ref());
    }
    joined
}

/// The text, or another one instead of none.
pub fn or(text: String, stand_in: &str) -> Value {
    if text.is_empty() { stand_in.into() } else { text.into() }
}

/// Each text once, in order.
pub fn joined_set<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    join(texts.filter(|text| !text.is_empty()).collect::<BTreeSet<_>>(), ",")
}

/// At most so many texts, and how many more there are.
pub fn clipped(texts: &[String], most: usize, separator: &str) -> String {
    let shown = join(texts.iter().take(most), separator);
    if texts.len() > most { format!("{shown} + {} more...", texts.len() - most) } else { shown }
}

/// The first three texts.
pub fn more3(texts: Vec<String>) -> Value {
    or(clipped(&texts, 3, ","), UNSET)
}

/// The entries of a map of strings, sorted by key.
fn sorted<'a, T>(map: View<'a, T>) -> Vec<(&'a str, &'a str)> {
    let entries = map.value().as_map().map_or(&[][..], Map::entries).iter();
    let mut entries: Vec<_> = entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or(""))).collect();
    entries.sort_unstable();
    entries
}

/// A map of labels, sorted.
pub fn labels<T>(map: View<'_, T>) -> Value {
    or(join(sorted(map).into_iter().map(|(key, value)| format!("{key}={value}")), ","), NONE)
}

/// A label selector's canonical text.
pub fn selector<T: SelectorField>(field: View<'_, T>) -> Value {
    match selector_text(field) {
        Some(text) => or(text, NONE),
        None => "<error>".into(),
    }
}

/// Fields that hold a label selector.
pub trait SelectorField {}
impl SelectorField for LabelSelector {}
impl SelectorField for Option<LabelSelector> {}

/// The canonical text, `None` when the selector is not valid. One that is absent selects nothing, which reads "".
pub fn selector_text<T: SelectorField>(field: View<'_, T>) -> Option<String> {
    let view = View::<LabelSelector>::new(field.value());
    let requirements: Vec<LabelSelectorRequirement> =
        view.to(LabelSelector::MATCH_EXPRESSIONS).iter().map(View::get).collect();
    let values: Vec<Vec<Str>> =
        requirements.iter().map(|requirement| requirement.values.iter().map(Str::new).collect()).collect();
    let expressions = requirements.iter().zip(&values).map(|(requirement, values)| Expression {
        key: &requirement.key,
        operator: requirement.operator.as_str(),
        values,
    });
    let labels = sorted(view.to(LabelSelector::MATCH_LABELS));
    label_selector::LabelSelector::from_parts(labels, expressions).ok().map(|selector| selector.to_string())
}

/// A label selector as Go shows the struct.
pub fn selector_debug(selector: View<'_, LabelSelector>) -> String {
    let mut labels = String::new();
    for (key, value) in sorted(selector.to(LabelSelector::MATCH_LABELS)) {
        labels += &format!("{key}: {value},");
    }
    let mut expressions = String::new();
    for requirement in selector.to(LabelSelector::MATCH_EXPRESSIONS).iter() {
        let key = str_of(requirement.to(LabelSelectorRequirement::KEY));
        let operator = str_of(requirement.to(LabelSelectorRequirement::OPERATOR));
        let values = join(strings(requirement.to(LabelSelectorRequirement::VALUES)), " ");
        expressions += &format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},");
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

/// The first entry of a list whose field has this value: a condition or address of some type.
pub fn find<'a, T, F>(list: View<'a, Vec<T>>, field: FieldName<T, F>, wanted: &str) -> Option<View<'a, T>> {
    list.iter().find(|item| str_of(item.field(field)) == wanted)
}

/// The names of a template's containers.
pub fn containers(template: View<'_, PodTemplateSpec>) -> Value {
    of_containers(template, Container::NAME)
}

/// The images of a template's containers.
pub fn images(template: View<'_, PodTemplateSpec>) -> Value {
    of_containers(template, Container::IMAGE)
}

fn of_containers(template: View<'_, PodTemplateSpec>, field: FieldName<Container, String>) -> Value {
    let containers = template.to(PodTemplateSpec::SPEC).to(PodSpec::CONTAINERS);
    join(containers.iter().map(|container| container.to(field).as_str()), ",").into()
}

/// A kind or resource with its group, and a name: `deployment.apps/web`.
pub fn qualified(word: &str, group: &str, name: &str) -> String {
    if group.is_empty() { format!("{word}/{name}") } else { format!("{word}.{group}/{name}") }
}

/// A text of an entry that may not be there.
pub fn text_of<T, F>(entry: Option<View<'_, T>>, field: FieldName<T, F>) -> Value {
    entry.map_or_else(|| "".into(), |entry| text(entry.field(field)))
}

/// The name of an object, marked when one of these annotations makes it the default of its kind.
pub fn default_name<T>(object: View<'_, T>, annotations: &[&str]) -> Value {
    if annotations.iter().any(|key| annotation(object, key) == Some("true")) {
        format!("{} (default)", str_of(metadata(object).to(ObjectMeta::NAME))).into()
    } else {
        name(object)
    }
}
