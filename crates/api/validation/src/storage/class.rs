//! Rules of StorageClass and VolumeAttributesClass: parameters, topologies, and what cannot change.

use pintle_schema::Map;
use pintle_types::core::v1::{PersistentVolumeReclaimPolicy, TopologySelectorTerm};
use pintle_types::storage::v1::{StorageClass, VolumeAttributesClass};
use pintle_validation::{At, Cx, same, same_at};
use std::collections::BTreeMap;

const MAX_PARAMETERS: usize = 512;

/// What all parameters may come to, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// What a driver is told.
pub fn parameters(parameters: At<'_, BTreeMap<String, String>>, cx: &mut Cx<'_>) {
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
pub fn some_parameters(attributes: At<'_, BTreeMap<String, String>>, cx: &mut Cx<'_>) {
    parameters(attributes, cx);
    if attributes.new.value().is_zero() {
        cx.errors.required(attributes.path, "must contain at least one key/value pair");
    }
}

/// Volumes that are made on demand are not made ready for another claim.
pub fn reclaim_policy(policy: At<'_, Option<PersistentVolumeReclaimPolicy>>, cx: &mut Cx<'_>) {
    const SUPPORTED: &[&str] = &["Delete", "Retain"];
    if let Some(text) = policy.new.value().as_str().filter(|text| !text.is_empty() && !SUPPORTED.contains(text)) {
        cx.errors.not_supported(policy.path, text, SUPPORTED);
    }
}

/// No topology stands there twice.
pub fn distinct_topologies(terms: At<'_, Vec<TopologySelectorTerm>>, cx: &mut Cx<'_>) {
    let list = crate::shared::items(terms.new);
    for (index, term) in list.iter().enumerate() {
        if list.iter().take(index).any(|earlier| is_one_topology(earlier, term)) {
            let path = terms.path.index(index);
            cx.errors.duplicate(path.to(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS), "");
        }
    }
}

/// Whether two terms choose the same, in whatever order they say it.
fn is_one_topology(a: &pintle_schema::Value, b: &pintle_schema::Value) -> bool {
    use pintle_types::core::v1::TopologySelectorLabelRequirement as Requirement;
    let told = |term: &pintle_schema::Value| {
        let requirements = term.get(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS.name());
        let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for requirement in requirements.and_then(|list| list.as_list()).unwrap_or_default() {
            let values = requirement.get(Requirement::VALUES.name()).and_then(|values| values.as_list());
            let mut values: Vec<String> =
                values.unwrap_or_default().iter().filter_map(|value| value.as_str()).map(str::to_owned).collect();
            values.sort_unstable();
            told.insert(requirement.str_at(&[Requirement::KEY.name()]).to_owned(), values);
        }
        told
    };
    same(a, b) || told(a) == told(b)
}

/// A class of storage stays what it is.
pub fn keeps(class: At<'_, StorageClass>, cx: &mut Cx<'_>) {
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

/// A class of attributes stays what it is.
pub fn keeps_attributes(class: At<'_, VolumeAttributesClass>, cx: &mut Cx<'_>) {
    for field in [VolumeAttributesClass::DRIVER_NAME.name(), VolumeAttributesClass::PARAMETERS.name()] {
        if class.old.is_some_and(|old| !same_at(class.new.value(), old.value(), field)) {
            cx.errors.forbidden(class.path.child(field), format!("updates to {field} are forbidden."));
        }
    }
}
