//! Rules of devices in slices: attributes, capacities, nodes, taints and binding conditions.

use super::names as own;
use super::slice::chosen;
use crate::rules::internal_form::in_full;
use crate::rules::{invalid_each, items};
use pintle_schema::{Map, Value, names};
use pintle_types::resource::v1::{
    Device, DeviceAttribute, DeviceCapacity, DeviceCounterConsumption, ResourceSlice, ResourceSliceSpec,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::{BTreeMap, HashSet};

/// The most attributes and capacities of a device together.
const MOST: usize = 32;

/// The most values of its attributes.
const MOST_VALUES: usize = 48;

/// Attributes have names, and there are not too many.
pub fn attribute_names(attributes: At<'_, BTreeMap<String, DeviceAttribute>>, cx: &mut ValidationContext<'_>) {
    keys(attributes.new.value(), attributes.path, cx);
}

/// And so have capacities.
pub fn capacity(capacity: At<'_, BTreeMap<String, DeviceCapacity>>, cx: &mut ValidationContext<'_>) {
    keys(capacity.new.value(), capacity.path, cx);
}

fn keys(map: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    for key in map.as_map().into_iter().flat_map(Map::keys) {
        own::qualified(key, path, cx);
    }
}

/// An attribute has one value, or values of one type.
pub fn attribute(attribute: At<'_, DeviceAttribute>, cx: &mut ValidationContext<'_>) {
    const LONGEST: usize = 64;
    const ONE: &str = "exactly one value must be specified";
    type Attribute = DeviceAttribute;
    let text = |text: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>| {
        if text.len() > LONGEST {
            cx.errors.too_long(path, LONGEST);
        }
    };
    let version = |version: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>| {
        if names::version::Version::parse(version).is_none() {
            cx.errors.invalid(path, version, "must be a string compatible with semver.org spec 2.0.0");
        }
        text(version, path, cx);
    };
    if let Some(value) = attribute.new.field(Attribute::STRING).some() {
        text(value.as_str(), &attribute.path.to(Attribute::STRING), cx);
    }
    if let Some(value) = attribute.new.field(Attribute::VERSION).some() {
        version(value.as_str(), &attribute.path.to(Attribute::VERSION), cx);
    }
    for (at, value) in attribute.new.field(Attribute::STRINGS).iter().enumerate() {
        text(value.as_str(), &attribute.path.to(Attribute::STRINGS).index(at), cx);
    }
    for (at, value) in attribute.new.field(Attribute::VERSIONS).iter().enumerate() {
        version(value.as_str(), &attribute.path.to(Attribute::VERSIONS).index(at), cx);
    }
    let is_set = |value: &&Value| !value.is_null();
    match attribute.new.value().as_map().into_iter().flat_map(Map::values).filter(is_set).count() {
        0 => cx.errors.invalid(attribute.path, "", ONE),
        1 => {}
        _ => cx.errors.invalid(attribute.path, in_full(attribute.new), ONE),
    }
}

/// Each set of counters is drawn from once.
pub fn distinct_consumptions(list: At<'_, Vec<DeviceCounterConsumption>>, cx: &mut ValidationContext<'_>) {
    super::claim::distinct(list, DeviceCounterConsumption::COUNTER_SET, cx);
}

/// The capacity of a device, its nodes, and its binding conditions.
pub fn place_and_binding(device: At<'_, Device>, cx: &mut ValidationContext<'_>) {
    amounts(device, cx);
    place(device, cx);
    let conditions = device.new.field(Device::BINDING_CONDITIONS);
    let failures = device.new.field(Device::BINDING_FAILURE_CONDITIONS);
    let (path, failure_path) =
        (device.path.to(Device::BINDING_CONDITIONS), device.path.to(Device::BINDING_FAILURE_CONDITIONS));
    let validate = |list: &[Value], path: &FieldPath<'_>, cx: &mut ValidationContext<'_>| {
        const MOST: usize = 4;
        if list.len() > MOST {
            return cx.errors.too_many(path, list.len(), MOST);
        }
        let mut seen = HashSet::new();
        for (at, name) in list.iter().map(|name| name.as_str().unwrap_or_default()).enumerate() {
            invalid_each(name, names::label_key(name), &path.index(at), cx);
            if !seen.insert(name) {
                cx.errors.duplicate(path.index(at), name);
            }
        }
    };
    validate(items(conditions), &path, cx);
    validate(items(failures), &failure_path, cx);
    for (at, name) in items(failures).iter().enumerate() {
        if items(conditions).contains(name) {
            let detail = "bindingFailureConditions must not overlap with bindingConditions";
            cx.errors.invalid(failure_path.index(at), name.clone(), detail);
        }
    }
    match (items(conditions).is_empty(), items(failures).is_empty()) {
        (true, false) => {
            let detail = "bindingConditions are required to use bindingFailureConditions";
            cx.errors.invalid(path, conditions.value().clone(), detail);
        }
        (false, true) => {
            let detail = "bindingFailureConditions are required to use bindingConditions";
            cx.errors.invalid(failure_path, failures.value().clone(), detail);
        }
        _ => {}
    }
}

/// Not too much is reported for one device.
fn amounts(device: At<'_, Device>, cx: &mut ValidationContext<'_>) {
    let attributes = device.new.field(Device::ATTRIBUTES).value().as_map();
    let count = |value: &Value| value.as_map().map_or(0, Map::len);
    let all = count(device.new.field(Device::ATTRIBUTES).value()) + count(device.new.field(Device::CAPACITY).value());
    let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    if all > MOST {
        let detail = format!("the total number of attributes and capacities must not exceed {MOST}");
        cx.errors.invalid(device.path, whole(all), detail);
    }
    let values = |attribute: &Value| -> usize {
        let one = |value: &Value| value.as_list().map_or(1, <[Value]>::len);
        attribute.as_map().into_iter().flat_map(Map::values).map(one).sum()
    };
    let values: usize = attributes.into_iter().flat_map(Map::values).map(values).sum();
    if values > MOST_VALUES {
        let detail = format!("the total number of attribute values must not exceed {MOST_VALUES}");
        cx.errors.invalid(device.path, whole(values), detail);
    }
}

/// The node of a device, if devices have their own.
pub fn node_name(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<ResourceSlice>().field(ResourceSlice::SPEC);
    if spec.field(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION).get() != Some(true) {
        return;
    }
    match name.new.some().map(|name| name.as_str()) {
        Some("") => cx.errors.invalid(name.path, "", "must not be empty"),
        Some(text) => _ = invalid_each(text, names::dns1123_subdomain(text), name.path, cx),
        None => {}
    }
}

/// Whether devices do not select nodes; selectors are not validated then.
pub fn has_no_place(_: At<'_, Device>, cx: &ValidationContext<'_>) -> bool {
    let spec = cx.root::<ResourceSlice>().field(ResourceSlice::SPEC);
    spec.field(ResourceSliceSpec::PER_DEVICE_NODE_SELECTION).get() != Some(true)
}

/// A device selects its nodes if the slice has `perDeviceNodeSelection`.
fn place(device: At<'_, Device>, cx: &mut ValidationContext<'_>) {
    const FIELDS: &[&str] = &[Device::NODE_NAME.name(), Device::NODE_SELECTOR.name(), Device::ALL_NODES.name()];
    let is_set = |field: &&str| device.new.value().get(field).is_some_and(|value| !value.is_null());
    if has_no_place(device, cx) {
        if FIELDS.iter().any(is_set) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set \
                          to true in the ResourceSlice spec";
            cx.errors.invalid(device.path, Value::Null, detail);
        }
        return;
    }
    if device.new.field(Device::ALL_NODES).get() == Some(false) {
        cx.errors.invalid(device.path.to(Device::ALL_NODES), false, "must be either unset or set to true");
    }
    let one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set \
               to true in the ResourceSlice spec";
    let set = chosen(device.new.value(), FIELDS);
    match set.len() {
        0 => cx.errors.required(device.path, one),
        1 => {}
        _ => cx.errors.invalid(device.path, format!("{{{}}}", set.join(", ")), one),
    }
}
