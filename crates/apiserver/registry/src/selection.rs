//! `Selection`: which objects of a collection a request wants, decided from the headers of encoded objects.
//!
//! Budget: matching an object costs a scan of its labels, tens of nanoseconds.

use crate::sharding::ShardSelector;
use crate::status::{Result, Status};
use crate::{Environment, Target};
use pintle_cache::objects::{Entry, Keys, LabelSketch};
use pintle_cache::{Object, State};
use pintle_meta::gates;
use pintle_resource::{FieldValue, Resource, Selectable, StoredVersions};
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::LabelSelector;
use pintle_schema::{Str, Value};
use std::sync::Arc;

/// A label selector, a field selector and a shard selector, resolved against a resource.
#[derive(Clone, Debug)]
pub struct Selection {
    labels: LabelSelector,
    /// Of the labels that every object selected has.
    sketch: LabelSketch,
    fields: Box<[FieldTerm]>,
    shard: Option<Box<ShardSelector>>,
}

#[derive(Clone, Debug)]
struct FieldTerm {
    source: Source,
    value: Str,
    equal: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Name,
    Namespace,
    Header(usize),
    Unset,
    /// The scalar at a path in the object as the version of the request shows it, which it has to be converted for.
    Shown(Arc<FieldValue>),
}

impl Selection {
    /// Reads the selectors of a query for a target's collection.
    ///
    /// # Errors
    /// A selector cannot be read, or names a field the resource does not select by.
    pub fn of(target: &Target, labels: &str, fields: &str) -> Result<Self> {
        let mut selection = Selection::parse(&target.resource, &target.stored.selectable, labels, fields)?;
        if target.stored.converts_later() {
            let of_path = |field: &Selectable| match &field.value {
                FieldValue::Path(_) => Some(Arc::new(field.value.clone())),
                _ => None,
            };
            // Terms of one field share its path.
            let shown: Vec<_> = target.stored.selectable.iter().map(of_path).collect();
            for term in &mut selection.fields {
                if let Source::Header(at) = term.source
                    && let Some(Some(value)) = shown.get(at)
                {
                    term.source = Source::Shown(value.clone());
                }
            }
        }
        Ok(selection)
    }

    /// The same for a resource whose objects convert at once; `kept` are the fields that the headers contain.
    ///
    /// # Errors
    /// A selector cannot be read, or names a field the resource does not select by.
    pub fn parse(resource: &Resource, kept: &[Selectable], labels: &str, fields: &str) -> Result<Self> {
        let labels = LabelSelector::parse(labels).map_err(|error| Status::bad_request(error.to_string()))?;
        let selector = FieldSelector::parse(fields).map_err(|error| Status::bad_request(error.to_string()))?;
        let terms = selector.terms().iter().map(|term| {
            Ok(FieldTerm {
                source: source(resource, kept, &term.field)?,
                value: Str::new(&term.value),
                equal: !term.negated,
            })
        });
        let fields = terms.collect::<Result<Box<[_]>>>()?;
        Ok(Selection { sketch: labels.exact_matches().collect(), labels, fields, shard: None })
    }

    /// Narrows it to a shard, if a selector of one is given; while the gate is off, that is ignored.
    ///
    /// # Errors
    /// The selector of the shard cannot be read.
    pub fn sharded(mut self, selector: &str, environment: &dyn Environment) -> Result<Self> {
        if !selector.is_empty() && environment.gates().is_on(&gates::SHARDED_LIST_AND_WATCH) {
            self.shard = Some(Box::new(ShardSelector::parse(selector)?));
        }
        Ok(self)
    }

    /// How many bytes of memory it takes, which follows from what was asked for.
    pub fn held_bytes(&self) -> usize {
        let terms = self.fields.iter().map(|term| size_of::<FieldTerm>() + term.value.len());
        let shard = self.shard.as_ref().map_or(0, |shard| shard.held_bytes());
        self.labels.held_bytes() + terms.sum::<usize>() + shard
    }

    /// What it costs to match an object, in comparisons: a requirement takes some eight bytes and more.
    pub fn cost(&self) -> usize {
        1 + self.fields.len() + self.labels.held_bytes() / 8
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
                Source::Shown(_) => return true,
            };
            (value == term.value) == term.equal
        }) && (self.labels.is_everything() || self.labels.matches(|key| object.encoded.label(key)))
    }

    /// Whether the selection can only be decided when objects have been converted, by `matches_shown`.
    pub fn needs_shown(&self) -> bool {
        self.fields.iter().any(|term| matches!(term.source, Source::Shown(_)))
    }

    /// Whether an object that matches otherwise is selected, as the version of the request shows it.
    pub fn matches_shown(&self, resource: &Resource, shown: &Value) -> bool {
        self.fields.iter().all(|term| match &term.source {
            Source::Shown(field) => {
                let value = field.read(&resource.schema, shown).unwrap_or_default();
                (value == *term.value) == term.equal
            }
            _ => true,
        })
    }

    /// The same for an object that is stored nowhere and has nothing but a name.
    pub fn matches_name(&self, name: &str) -> bool {
        self.fields.iter().all(|term| {
            let value = if matches!(term.source, Source::Name) { name } else { "" };
            (value == term.value) == term.equal
        }) && self.labels.matches(|_| None)
    }

    /// The only name that the selection can match, if there is one.
    pub fn single_name(&self) -> Option<&str> {
        self.single(|source| matches!(source, Source::Name))
    }

    /// Whether a request that names an object may have this selection: if fields are selected at all, the name is one.
    pub fn agrees_with_name(&self, name: &str) -> bool {
        self.fields.is_empty() || self.single_name() == Some(name)
    }

    /// The only namespace that the selection can match, if there is one.
    pub fn single_namespace(&self) -> Option<&str> {
        self.single(|source| matches!(source, Source::Namespace))
    }

    /// The index of a selectable field, and the only value of it that can match, if there is one.
    pub fn single_value(&self) -> Option<(usize, &str)> {
        self.fields.iter().filter(|term| term.equal).find_map(|term| match term.source {
            Source::Header(index) => Some((index, &*term.value)),
            _ => None,
        })
    }

    /// The keys of the newest objects that can match, from an index; the rest of the selection still has to be checked.
    pub fn indexed(&self, state: &State) -> Option<Keys> {
        self.index(state).map(|(_, keys)| keys)
    }

    /// The same, with the indexed field.
    pub(crate) fn index(&self, state: &State) -> Option<(usize, Keys)> {
        self.fields.iter().filter(|term| term.equal).find_map(|term| match term.source {
            Source::Header(field) => state.keys_with(field, &term.value).map(|keys| (field, keys)),
            _ => None,
        })
    }

    fn single(&self, is_it: impl Fn(&Source) -> bool) -> Option<&str> {
        let term = self.fields.iter().find(|term| is_it(&term.source) && term.equal)?;
        Some(&term.value)
    }
}

fn source(resource: &Resource, kept: &[Selectable], label: &str) -> Result<Source> {
    let known = resource.selectable.iter().find(|field| field.label == label);
    let refused = || Status::bad_request(resource.refuse_label(label));
    match (label, known.map(|field| &field.value)) {
        (_, Some(FieldValue::Alias(other))) if other != label => source(resource, kept, other),
        (_, Some(FieldValue::Unset)) => Ok(Source::Unset),
        (_, Some(FieldValue::Refused)) => Err(refused()),
        (_, Some(value)) => Ok(position(kept, label, value).map_or(Source::Unset, Source::Header)),
        ("metadata.name", None) => Ok(Source::Name),
        ("metadata.namespace", None) if resource.namespaced => Ok(Source::Namespace),
        _ => Err(refused()),
    }
}

/// The index of a field in the headers: versions with other field labels use the same one.
fn position(kept: &[Selectable], label: &str, value: &FieldValue) -> Option<usize> {
    let same_place =
        |other: &FieldValue| matches!((value, other), (FieldValue::Path(a), FieldValue::Path(b)) if a == b);
    let by_label = || kept.iter().position(|field| field.label == label);
    kept.iter().position(|field| same_place(&field.value)).or_else(by_label)
}

/// The values of a resource's selectable fields in an object of the storage version, in the order in which they are kept.
pub fn field_values(stored: &StoredVersions, object: &Value) -> Vec<String> {
    let schema = &stored.hub.schema;
    stored.selectable.iter().map(|field| field.value.read(schema, object).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
