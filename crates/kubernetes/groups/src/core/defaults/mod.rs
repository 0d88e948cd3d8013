//! Defaults of the core group besides pods, services and persistent volumes.
//!
//! Labels and selectors copied from templates, a node's allocatable resources, limit ranges, a namespace's name label.

mod image;
mod persistent_volume;
mod pod;
mod service;

use crate::defaulting::Rule;
use crate::defaulting::fields::{fill_map, get_mut, is_zero, put, text};
use pintle_schema::{ApiType, Str, Value, View};
use pintle_types::core::v1::{
    LimitRangeItem, LimitType, Namespace, NodeStatus, PodTemplateSpec, ReplicationController, ReplicationControllerSpec,
};
use pintle_types::meta::v1::ObjectMeta;

/// The defaults of all types of the group.
pub const ALL: &[&[Rule]] = &[RULES, persistent_volume::RULES, pod::RULES, service::RULES];

const RULES: &[Rule] = &[
    (ReplicationController::schema, replication_controller),
    (Namespace::schema, namespace_label),
    (NodeStatus::schema, allocatable),
    (LimitRangeItem::schema, limit_range_item),
];

/// The default selector and labels of a replication controller are the labels of its template.
fn replication_controller(controller: &mut Value) {
    let view = View::<ReplicationController>::new(controller);
    let template = view.field(ReplicationController::SPEC).field(ReplicationControllerSpec::TEMPLATE).or_zero();
    let labels = template.field(PodTemplateSpec::METADATA).field(ObjectMeta::LABELS).value();
    if labels.is_zero() {
        return;
    }
    let labels = labels.clone();
    let spec = controller.map_entry(ReplicationController::SPEC.name());
    if is_zero(spec, ReplicationControllerSpec::SELECTOR) {
        put(spec, ReplicationControllerSpec::SELECTOR, labels.clone());
    }
    let metadata = View::<ReplicationController>::new(controller).field(ReplicationController::METADATA).value();
    if is_zero(metadata, ObjectMeta::LABELS) {
        put(controller.map_entry(ReplicationController::METADATA.name()), ObjectMeta::LABELS, labels);
    }
}

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Sets the label with a namespace's name, and replaces another value of it.
pub(crate) fn namespace_label(namespace: &mut Value) {
    let Some(metadata) = get_mut(namespace, Namespace::METADATA) else { return };
    let name = Str::new(text(metadata, ObjectMeta::NAME));
    let labels = View::<ObjectMeta>::new(metadata).field(ObjectMeta::LABELS).value();
    if !name.is_empty() && labels.get(NAME_LABEL).and_then(Value::as_str) != Some(&name) {
        let labels = metadata.map_entry(ObjectMeta::LABELS.name());
        labels.make_map().set(Str::new_static(NAME_LABEL), name);
    }
}

fn allocatable(status: &mut Value) {
    let capacity = View::<NodeStatus>::new(status).field(NodeStatus::CAPACITY).value();
    if is_zero(status, NodeStatus::ALLOCATABLE) && !capacity.is_zero() {
        let capacity = capacity.clone();
        put(status, NodeStatus::ALLOCATABLE, capacity);
    }
}

/// A container's default limit is the most it may have, its default request the default limit or else the least.
fn limit_range_item(item: &mut Value) {
    if text(item, LimitRangeItem::TYPE) == LimitType::CONTAINER.as_str() {
        fill_map(item, LimitRangeItem::MAX, LimitRangeItem::DEFAULT);
        fill_map(item, LimitRangeItem::DEFAULT, LimitRangeItem::DEFAULT_REQUEST);
        fill_map(item, LimitRangeItem::MIN, LimitRangeItem::DEFAULT_REQUEST);
    }
}
