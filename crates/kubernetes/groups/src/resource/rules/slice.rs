//! Rules of resource slices: their driver, their pool and the nodes that can use them.

use super::names as own;
use crate::rules::internal_form::in_full;
use crate::rules::warnings::Written;
use crate::rules::{invalid_each, items};
use pintle_schema::{Value, names};
use pintle_types::core::v1::NodeSelector;
use pintle_types::resource::v1::{CounterSet, Device, ResourcePool, ResourceSlice, ResourceSliceSpec};
use pintle_types::resource::v1alpha3::{DeviceTaintSelector, ResourcePoolStatusRequest};
use pintle_validation::{At, ValidationContext, same};

type Spec = ResourceSliceSpec;

pub fn driver(driver: At<'_, String>, cx: &mut ValidationContext<'_>) {
    own::driver(driver.new.as_str(), driver.path, cx);
}

pub fn pool_name(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    own::pool(name.new.as_str(), name.path, cx);
}

/// Whose devices these are stays.
pub fn pool_stays(pool: At<'_, ResourcePool>, cx: &mut ValidationContext<'_>) {
    let Some(old) = cx.old_root::<ResourceSlice>().map(|old| old.field(ResourceSlice::SPEC)) else { return };
    let new = cx.root::<ResourceSlice>().field(ResourceSlice::SPEC);
    let name = new.field(Spec::POOL).field(ResourcePool::NAME);
    if name.as_str() != old.field(Spec::POOL).field(ResourcePool::NAME).as_str() {
        cx.errors.immutable(pool.path.to(ResourcePool::NAME), name.value().clone());
    }
    let spec = pintle_validation::FieldPath::new(ResourceSlice::SPEC.name());
    for field in [Spec::DRIVER.name(), Spec::NODE_NAME.name()] {
        let (now, before) = (new.value().get(field).unwrap_or(&Value::Null), old.value().get(field));
        if !same(now, before.unwrap_or(&Value::Null)) {
            cx.errors.immutable(spec.child(field), now.clone());
        }
    }
}

/// Warns of upper case in a driver name: components on nodes use it in file names.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let driver = written.view::<ResourceSlice>().field(ResourceSlice::SPEC).field(Spec::DRIVER).as_str();
    if driver.chars().any(char::is_uppercase) {
        let driver = names::quoted(driver);
        let text = format!("driver names should be lowercase; {driver} contains uppercase characters");
        warnings.push(format!("spec.driver: {text}"));
    }
}

/// The name of a node, if there is one.
pub fn node_name(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    match name.new.some().map(|name| name.as_str()) {
        Some("") => cx.errors.invalid(name.path, "", "must be either unset or set to a non-empty string"),
        Some(text) => _ = invalid_each(text, names::dns1123_subdomain(text), name.path, cx),
        None => {}
    }
}

pub fn one_term(selector: At<'_, Option<NodeSelector>>, cx: &mut ValidationContext<'_>) {
    let Some(selected) = selector.new.some() else { return };
    let terms = selected.field(NodeSelector::NODE_SELECTOR_TERMS);
    if items(terms).len() != 1 {
        let path = selector.path.to(NodeSelector::NODE_SELECTOR_TERMS);
        cx.errors.invalid(path, in_full(terms), "must have exactly one node selector term");
    }
}

pub fn true_or_unset(choice: At<'_, Option<bool>>, cx: &mut ValidationContext<'_>) {
    if choice.new.get() == Some(false) {
        cx.errors.invalid(choice.path, false, "must be either unset or set to true");
    }
}

/// Those of some fields that choose nodes, as messages list them.
pub fn chosen(value: &Value, fields: &[&str]) -> Vec<String> {
    let is_chosen = |field: &&&str| match value.get(field) {
        Some(Value::Bool(is_on)) => *is_on,
        Some(Value::String(name)) => !name.is_empty(),
        other => other.is_some_and(|value| !value.is_null()),
    };
    fields.iter().filter(is_chosen).map(|field| format!("`{field}`")).collect()
}

/// The devices are in one place, or each is in its own.
pub fn one_place(_: At<'_, Option<bool>>, cx: &mut ValidationContext<'_>) {
    const FIELDS: &[&str] = &[
        Spec::NODE_NAME.name(),
        Spec::NODE_SELECTOR.name(),
        Spec::ALL_NODES.name(),
        Spec::PER_DEVICE_NODE_SELECTION.name(),
    ];
    let spec = cx.root::<ResourceSlice>().field(ResourceSlice::SPEC);
    let path = pintle_validation::FieldPath::new(ResourceSlice::SPEC.name());
    let one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let set = chosen(spec.value(), FIELDS);
    match set.len() {
        0 => cx.errors.required(path, one),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", set.join(", "));
            cx.errors.invalid(path, shown, format!("{one}, but multiple fields are set"));
        }
    }
    // Each is there even if there is nothing in it, as long as there is something in the other.
    let (counters, devices) = (items(spec.field(Spec::SHARED_COUNTERS)), items(spec.field(Spec::DEVICES)));
    let is_there = |list: &[Value], path| !list.is_empty() || cx.was_sent_empty(&path);
    if !(counters.is_empty() && devices.is_empty())
        && is_there(counters, path.to(Spec::SHARED_COUNTERS))
        && is_there(devices, path.to(Spec::DEVICES))
    {
        cx.errors.invalid(path, "", "only one of `sharedCounters` or `devices` is allowed");
    }
}

/// The number of devices is limited.
pub fn devices(devices: At<'_, Vec<Device>>, cx: &mut ValidationContext<'_>) {
    let (found, most) = (items(devices.new).len(), most_devices(devices));
    if found > most {
        cx.errors.too_many(devices.path, found, most);
    }
}

/// Devices have distinct names. Too many are not compared.
pub fn distinct_devices(devices: At<'_, Vec<Device>>, cx: &mut ValidationContext<'_>) {
    if items(devices.new).len() <= most_devices(devices) {
        super::claim::distinct(devices, Device::NAME, cx);
    }
}

/// How many devices there may be.
fn most_devices(devices: At<'_, Vec<Device>>) -> usize {
    const MOST: usize = 128;
    const MOST_INVOLVED: usize = 64;
    let is_involved = devices.new.iter().any(|device| {
        !device.field(Device::TAINTS).value().is_zero() || !device.field(Device::CONSUMES_COUNTERS).value().is_zero()
    });
    if is_involved { MOST_INVOLVED } else { MOST }
}

/// Sets of counters have distinct names.
pub fn distinct_counters(sets: At<'_, Vec<CounterSet>>, cx: &mut ValidationContext<'_>) {
    super::claim::distinct(sets, CounterSet::NAME, cx);
}

/// The devices that a taint is for.
pub fn tainted(selector: At<'_, DeviceTaintSelector>, cx: &mut ValidationContext<'_>) {
    if let Some(driver) = selector.new.field(DeviceTaintSelector::DRIVER).some() {
        own::driver(driver.as_str(), &selector.path.to(DeviceTaintSelector::DRIVER), cx);
    }
    if let Some(pool) = selector.new.field(DeviceTaintSelector::POOL).some() {
        own::pool(pool.as_str(), &selector.path.to(DeviceTaintSelector::POOL), cx);
    }
}

/// The pool that is asked about, if it is one.
pub fn wanted_pool(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    if let Some(text) = name.new.some() {
        own::pool_in_segments(text.as_str(), name.path, cx);
    }
}

pub fn pool_in_segments(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    if !name.new.as_str().is_empty() {
        own::pool_in_segments(name.new.as_str(), name.path, cx);
    }
}

/// The status is immutable once set.
pub fn status_stays(request: At<'_, ResourcePoolStatusRequest>, cx: &mut ValidationContext<'_>) {
    let old = request.old.and_then(|old| old.field(ResourcePoolStatusRequest::STATUS).some());
    let new = request.new.field(ResourcePoolStatusRequest::STATUS);
    if let Some(old) = old
        && !same(new.value(), old.value())
    {
        cx.errors.immutable(request.path.to(ResourcePoolStatusRequest::STATUS), in_full(new));
    }
}
