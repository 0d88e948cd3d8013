//! Rules of StorageClass and VolumeAttributesClass: parameters, topologies, immutable fields, and warnings of
//! deprecated
//! node labels in topologies.

use crate::core::rules::node_labels::{node_selector, old_label};
use crate::rules::warnings::Written;
use crate::rules::{Repeats, items, text_in};
use pintle_schema::{Map, View};
use pintle_types::core::v1::{PersistentVolumeReclaimPolicy, TopologySelectorLabelRequirement, TopologySelectorTerm};
use pintle_types::storage::v1::{CSIStorageCapacity, StorageClass, VolumeAttributesClass};
use pintle_validation::{At, FieldPath, ValidationContext, same_at};
use std::collections::BTreeMap;

const MAX_PARAMETERS: usize = 512;

/// The limit on the size of all parameters, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The parameters for a driver.
pub fn parameters(parameters: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    let entries = parameters.new.value().as_map();
    if entries.is_some_and(|entries| entries.len() > MAX_PARAMETERS) {
        return cx.errors.too_long(parameters.path, MAX_PARAMETERS);
    }
    let mut total = 0;
    for (key, value) in entries.into_iter().flat_map(Map::iter) {
        if key.is_empty() {
            cx.errors.invalid(parameters.path, "", "field can not be empty.");
        }
        total += key.len() + value.as_str().map_or(0, str::len);
    }
    if total > MAX_BYTES {
        cx.errors.too_long(parameters.path, MAX_BYTES);
    }
}

/// Attributes are parameters, at least one.
pub fn some_parameters(attributes: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    parameters(attributes, cx);
    if attributes.new.value().is_zero() {
        cx.errors.required(attributes.path, "must contain at least one key/value pair");
    }
}

/// Volumes that are made on demand are not made ready for another claim.
pub fn reclaim_policy(policy: At<'_, Option<PersistentVolumeReclaimPolicy>>, cx: &mut ValidationContext<'_>) {
    const SUPPORTED: &[&str] = &["Delete", "Retain"];
    if let Some(text) = policy.new.value().as_str().filter(|text| !text.is_empty() && !SUPPORTED.contains(text)) {
        cx.errors.unknown_name(policy.path, text, SUPPORTED);
    }
}

/// A topology has one expression for each label.
pub fn distinct_labels(list: At<'_, Vec<TopologySelectorLabelRequirement>>, cx: &mut ValidationContext<'_>) {
    let items = items(list.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, TopologySelectorLabelRequirement::KEY));
    for index in 0..items.len() {
        if repeats.is_repeated(index) {
            let label = text_in(items, index, TopologySelectorLabelRequirement::KEY);
            cx.errors.duplicate(list.path.index(index).to(TopologySelectorLabelRequirement::KEY), label);
        }
    }
}

/// No topology stands there twice. kube-apiserver compares with as many empty ones as there are topologies as well, so
/// that an empty one is always one too many.
pub fn distinct_topologies(terms: At<'_, Vec<TopologySelectorTerm>>, cx: &mut ValidationContext<'_>) {
    let topologies: Vec<BTreeMap<&str, Vec<&str>>> = terms.new.iter().map(topology).collect();
    for (index, term) in topologies.iter().enumerate() {
        let empty = if term.is_empty() { topologies.len() } else { 0 };
        let earlier = topologies.iter().take(index).filter(|earlier| *earlier == term).count();
        let path = terms.path.index(index);
        for _ in 0..earlier + empty {
            cx.errors.duplicate(path.to(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS), "");
        }
    }
}

/// The values of each key, each once and in an order of their own.
fn topology(term: View<'_, TopologySelectorTerm>) -> BTreeMap<&str, Vec<&str>> {
    let requirements = term.field(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS).iter();
    let pairs = requirements.map(|requirement| {
        let values = requirement.field(TopologySelectorLabelRequirement::VALUES).iter();
        let mut values: Vec<&str> = values.map(View::as_str).collect();
        values.sort_unstable();
        values.dedup();
        (requirement.field(TopologySelectorLabelRequirement::KEY).as_str(), values)
    });
    pairs.collect()
}

/// The fields of a storage class that must not change.
pub fn keeps(class: At<'_, StorageClass>, cx: &mut ValidationContext<'_>) {
    let fields = [
        StorageClass::PARAMETERS.name(),
        StorageClass::PROVISIONER.name(),
        StorageClass::RECLAIM_POLICY.name(),
        StorageClass::VOLUME_BINDING_MODE.name(),
    ];
    for field in fields {
        if class.old.is_some_and(|old| !same_at(class.new.value(), old.value(), field)) {
            cx.errors.immutable(class.path.child(field), class.new.value().get(field).cloned().unwrap_or_default());
        }
    }
}

/// The fields of a volume attributes class that must not change.
pub fn keeps_attributes(class: At<'_, VolumeAttributesClass>, cx: &mut ValidationContext<'_>) {
    for field in [VolumeAttributesClass::DRIVER_NAME.name(), VolumeAttributesClass::PARAMETERS.name()] {
        if class.old.is_some_and(|old| !same_at(class.new.value(), old.value(), field)) {
            cx.errors.forbidden(class.path.child(field), format!("updates to {field} are forbidden."));
        }
    }
}

/// Labels of nodes that have other names by now, in the topologies of a class.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let terms = FieldPath::new(StorageClass::ALLOWED_TOPOLOGIES.name());
    for (at, term) in written.view::<StorageClass>().field(StorageClass::ALLOWED_TOPOLOGIES).iter().enumerate() {
        let term_path = terms.index(at);
        let list = term_path.to(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS);
        for (at, expression) in term.field(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS).iter().enumerate() {
            let key = TopologySelectorLabelRequirement::KEY;
            let text = old_label(expression.field(key).as_str());
            warnings.extend(text.map(|text| format!("{}: {text}", list.index(at).to(key))));
        }
    }
}

/// The same, in the topology of a capacity.
pub fn warn_of_capacity(written: &Written<'_>, warnings: &mut Vec<String>) {
    let path = FieldPath::new(CSIStorageCapacity::NODE_TOPOLOGY.name());
    let topology = written.view::<CSIStorageCapacity>().field(CSIStorageCapacity::NODE_TOPOLOGY);
    node_selector(topology.or_zero(), &path, warnings);
}
