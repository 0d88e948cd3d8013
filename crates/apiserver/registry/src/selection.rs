//! `Selection`: which objects of a collection a request wants, decided from the headers of encoded objects.
//!
//! Budget: matching an object costs a scan of its labels, tens of nanoseconds.

use crate::Environment;
use crate::sharding::{self, ShardSelector};
use crate::status::{Result, Status};
use pintle_cache::objects::{Entry, Keys, LabelSketch};
use pintle_cache::{Object, State};
use pintle_resource::{FieldValue, Resource};
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::LabelSelector;
use pintle_schema::{Str, Value};

/// A label selector, a field selector and a shard selector, resolved against a resource.
#[derive(Clone, Debug)]
pub struct Selection {
    labels: LabelSelector,
    /// Of the labels that every object selected has.
    sketch: LabelSketch,
    fields: Vec<FieldTerm>,
    shard: Option<Box<ShardSelector>>,
}

#[derive(Clone, Debug)]
struct FieldTerm {
    source: Source,
    value: Str,
    equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Name,
    Namespace,
    Header(usize),
    Unset,
}

impl Selection {
    /// Reads the selectors of a query; `hub` is the resource whose selectable fields the headers contain.
    ///
    /// # Errors
    /// A selector cannot be read, or names a field the resource does not select by.
    pub fn parse(resource: &Resource, hub: &Resource, labels: &str, fields: &str) -> Result<Self> {
        let labels = LabelSelector::parse(labels).map_err(|error| Status::bad_request(error.to_string()))?;
        let selector = FieldSelector::parse(fields).map_err(|error| Status::bad_request(error.to_string()))?;
        let terms = selector.terms().iter().map(|term| {
            Ok(FieldTerm {
                source: source(resource, hub, &term.field)?,
                value: Str::new(&term.value),
                equal: !term.negated,
            })
        });
        let fields = terms.collect::<Result<Vec<_>>>()?;
        Ok(Selection { sketch: labels.exact_matches().collect(), labels, fields, shard: None })
    }

    /// Narrows it to a shard, if a selector of one is given; while the gate is off, that is ignored.
    ///
    /// # Errors
    /// The selector of the shard cannot be read.
    pub fn sharded(mut self, selector: &str, environment: &dyn Environment) -> Result<Self> {
        if !selector.is_empty() && environment.feature_enabled(sharding::GATE) {
            self.shard = Some(Box::new(ShardSelector::parse(selector)?));
        }
        Ok(self)
    }

    pub fn is_everything(&self) -> bool {
        self.has_no_terms() && self.shard.is_none()
    }

    /// Whether neither labels nor fields are selected.
    pub(crate) fn has_no_terms(&self) -> bool {
        self.labels.is_everything() && self.fields.is_empty()
    }

    /// The shard that is selected, if one is.
    pub fn shard(&self) -> Option<&ShardSelector> {
        self.shard.as_deref()
    }

    /// Whether an object of a snapshot may match, without decoding it. False positives are possible.
    pub fn may_select(&self, entry: &Entry) -> bool {
        entry.may_have(self.sketch)
    }

    pub fn matches(&self, object: &Object) -> bool {
        self.shard.as_deref().is_none_or(|shard| shard.matches(object)) && self.matches_terms(object)
    }

    fn matches_terms(&self, object: &Object) -> bool {
        self.fields.iter().all(|term| {
            let value = match term.source {
                Source::Name => object.name(),
                Source::Namespace => object.namespace(),
                Source::Header(index) => object.field(index),
                Source::Unset => "",
            };
            (value == term.value) == term.equal
        }) && (self.labels.is_everything() || self.labels.matches(|key| object.encoded.label(key)))
    }

    /// The same for an object that is stored nowhere and has nothing but a name.
    pub fn matches_name(&self, name: &str) -> bool {
        self.fields.iter().all(|term| {
            let value = if term.source == Source::Name { name } else { "" };
            (value == term.value) == term.equal
        }) && self.labels.matches(|_| None)
    }

    /// The one name the selection can match, if it says so.
    pub fn single_name(&self) -> Option<&str> {
        self.single(Source::Name)
    }

    /// Whether a request that names an object may have this selection: if fields are selected at all, the name is one.
    pub fn agrees_with_name(&self, name: &str) -> bool {
        self.fields.is_empty() || self.single_name() == Some(name)
    }

    /// The one namespace the selection can match, if it says so.
    pub fn single_namespace(&self) -> Option<&str> {
        self.single(Source::Namespace)
    }

    /// The index of a selectable field, and the only value of it that can match, if there is one.
    pub fn single_value(&self) -> Option<(usize, &str)> {
        self.fields.iter().filter(|term| term.equal).find_map(|term| match term.source {
            Source::Header(index) => Some((index, &*term.value)),
            _ => None,
        })
    }

    /// The keys of the newest objects that can match, when an index tells them; what else is selected still counts.
    pub fn indexed(&self, state: &State) -> Option<Keys> {
        self.index(state).map(|(_, keys)| keys)
    }

    /// The same, with the field whose index it is.
    pub(crate) fn index(&self, state: &State) -> Option<(usize, Keys)> {
        self.fields.iter().filter(|term| term.equal).find_map(|term| match term.source {
            Source::Header(field) => state.keys_with(field, &term.value).map(|keys| (field, keys)),
            _ => None,
        })
    }

    fn single(&self, source: Source) -> Option<&str> {
        let term = self.fields.iter().find(|term| term.source == source && term.equal)?;
        Some(&term.value)
    }
}

fn source(resource: &Resource, hub: &Resource, label: &str) -> Result<Source> {
    let known = resource.selectable.iter().find(|field| field.label == label);
    let refused = || Status::bad_request(resource.refuse_label(label));
    match (label, known.map(|field| &field.value)) {
        (_, Some(FieldValue::Alias(other))) if other != label => source(resource, hub, other),
        (_, Some(FieldValue::Unset)) => Ok(Source::Unset),
        (_, Some(FieldValue::Refused)) => Err(refused()),
        (_, Some(value)) => Ok(position(hub, label, value).map_or(Source::Unset, Source::Header)),
        ("metadata.name", None) => Ok(Source::Name),
        ("metadata.namespace", None) if resource.namespaced => Ok(Source::Namespace),
        _ => Err(refused()),
    }
}

/// The index of a field in the headers: versions with other field labels use the same one.
fn position(hub: &Resource, label: &str, value: &FieldValue) -> Option<usize> {
    let same_place =
        |other: &FieldValue| matches!((value, other), (FieldValue::Path(a), FieldValue::Path(b)) if a == b);
    let by_label = || hub.selectable.iter().position(|field| field.label == label);
    hub.selectable.iter().position(|field| same_place(&field.value)).or_else(by_label)
}

/// The values of a resource's selectable fields in an object, in the order the resource declares them.
pub fn field_values(hub: &Resource, object: &Value) -> Vec<String> {
    let schema = &hub.schema;
    hub.selectable.iter().map(|field| field.value.read(schema, object).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
