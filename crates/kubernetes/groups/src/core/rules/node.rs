//! Rules of Node: taints, resources, pod CIDRs, and fields that must not change.

use super::resource_names;
use crate::rules::internal_form::in_full;
use crate::rules::{Repeats, has_format, items, legacy_cidr};
use pintle_schema::names::{self, ip};
use pintle_schema::{Map, Value, View};
use pintle_types::core::v1::{
    ConfigMapNodeConfigSource, Node, NodeAddress, NodeConfigSource, NodeConfigStatus, NodeSpec, NodeStatus,
    NodeSwapStatus, NodeSystemInfo, Taint,
};
use pintle_validation::{At, ErrorKind, FieldPath, ValidationContext};

const PROVIDER_STAYS: &str = "node updates may not change providerID except from \"\" to valid";
const CIDRS_STAY: &str = "node updates may not change podCIDR except from \"\" to valid";

/// Rules of nodes that are created or updated, except through subresources.
pub fn node(node: At<'_, Node>, cx: &mut ValidationContext<'_>) {
    taints(node, cx);
    resources(node, cx);
    let info = node.new.field(Node::STATUS).field(NodeStatus::NODE_INFO);
    if let Some(swap) = info.field(NodeSystemInfo::SWAP).some()
        && let Some(capacity) = swap.field(NodeSwapStatus::CAPACITY).some().map(View::get).filter(|bytes| *bytes <= 0)
    {
        // kube-apiserver puts it beside the node's labels.
        let path = node.path.to(Node::METADATA);
        let path = path.child("nodeSwapStatus");
        cx.errors.invalid(path.to(NodeSwapStatus::CAPACITY), capacity, "must be greater than zero");
    }
    declared_features(node, cx);
    node.field(Node::SPEC, |spec| pod_cidrs(spec, cx));
}

/// Rules of updates of the node or its status.
pub fn update(node: At<'_, Node>, cx: &mut ValidationContext<'_>) {
    let Some(old) = node.old else { return };
    resources(node, cx);
    declared_features(node, cx);
    let old = old.field(Node::SPEC);
    node.field(Node::SPEC, |spec| {
        let (cidrs, before) = (items(spec.new.field(NodeSpec::POD_CIDRS)), items(old.field(NodeSpec::POD_CIDRS)));
        if !before.is_empty() {
            let changed = if cidrs.len() == before.len() {
                cidrs.iter().zip(before).filter(|(new, old)| new != old).count()
            } else {
                1
            };
            (0..changed).for_each(|_| cx.errors.forbidden(spec.path.to(NodeSpec::POD_CIDRS), CIDRS_STAY));
        }
        let provider = old.field(NodeSpec::PROVIDER_ID).as_str();
        if !provider.is_empty() && provider != spec.new.field(NodeSpec::PROVIDER_ID).as_str() {
            cx.errors.forbidden(spec.path.to(NodeSpec::PROVIDER_ID), PROVIDER_STAYS);
        }
    });
    if cx.request.subresource.is_empty() {
        // kube-apiserver validates taints as those of a new node, and once more.
        node.field(Node::SPEC, |spec| {
            spec.field(NodeSpec::TAINTS, |taints| {
                if !taints.unchanged() {
                    taint_values(taints, cx);
                }
            });
        });
        self::taints(node, cx);
    }
}

/// Taints have a key, a value and an effect. kube-apiserver reports them beside the labels.
pub fn taint_values(taints: At<'_, Vec<Taint>>, cx: &mut ValidationContext<'_>) {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let metadata = FieldPath::new(Node::METADATA.name());
    let list = metadata.to(NodeSpec::TAINTS);
    for (index, taint) in taints.new.iter().enumerate() {
        let path = list.index(index);
        has_format("k8s-label-key", taint.field(Taint::KEY).value(), &path.to(Taint::KEY), cx);
        has_format("k8s-label-value-at-once", taint.field(Taint::VALUE).value(), &path.to(Taint::VALUE), cx);
        let effect = taint.field(Taint::EFFECT).value().as_str().unwrap_or_default();
        if effect.is_empty() {
            cx.errors.required(path.to(Taint::EFFECT), "");
        } else if !EFFECTS.contains(&effect) {
            cx.errors.unknown_name(path.to(Taint::EFFECT), effect, EFFECTS);
        }
    }
}

/// The configuration that a kubelet should use is a ConfigMap by name, not a certain state of it.
pub fn config_source(source: At<'_, Option<NodeConfigSource>>, cx: &mut ValidationContext<'_>) {
    type Map = ConfigMapNodeConfigSource;
    let Some(source) = source.some() else { return };
    let Some(map) = config_map(source.new, source.path, cx) else { return };
    let path = source.path.to(NodeConfigSource::CONFIG_MAP);
    for (field, detail) in
        [(Map::UID, "uid must not be set in spec"), (Map::RESOURCE_VERSION, "resourceVersion must not be set in spec")]
    {
        if !map.field(field).as_str().is_empty() {
            cx.errors.forbidden(path.to(field), detail);
        }
    }
    config_map_names(map, &path, cx);
}

/// The configurations that a kubelet reports are certain states of ConfigMaps.
pub fn config_status(status: At<'_, Option<NodeConfigStatus>>, cx: &mut ValidationContext<'_>) {
    type Map = ConfigMapNodeConfigSource;
    type Status = NodeConfigStatus;
    let Some(status) = status.some() else { return };
    for field in [Status::ASSIGNED, Status::ACTIVE, Status::LAST_KNOWN_GOOD] {
        let Some(source) = status.new.field(field).some() else { continue };
        let path = status.path.to(field);
        let Some(map) = config_map(source, &path, cx) else { continue };
        let path = path.to(NodeConfigSource::CONFIG_MAP);
        for field in [Map::UID, Map::RESOURCE_VERSION] {
            if map.field(field).as_str().is_empty() {
                cx.errors.required(path.to(field), "");
            }
        }
        config_map_names(map, &path, cx);
    }
}

/// The ConfigMap of a source, which has no other member.
fn config_map<'a>(
    source: View<'a, NodeConfigSource>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) -> Option<View<'a, ConfigMapNodeConfigSource>> {
    let map = source.field(NodeConfigSource::CONFIG_MAP).some();
    if map.is_none() {
        cx.errors.invalid(path, in_full(source), "exactly one reference subfield must be non-nil");
    }
    map
}

fn config_map_names(map: View<'_, ConfigMapNodeConfigSource>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    type Map = ConfigMapNodeConfigSource;
    let fields = [
        (Map::NAMESPACE, "dns1123-label"),
        (Map::NAME, "dns1123-subdomain"),
        (Map::KUBELET_CONFIG_KEY, "config-map-key"),
    ];
    for (field, format) in fields {
        let (value, path) = (map.field(field), path.to(field));
        match value.as_str().is_empty() {
            true => cx.errors.required(path, ""),
            false => has_format(format, value.value(), &path, cx),
        }
    }
}

/// A node reports an address of a type once.
pub fn addresses(addresses: At<'_, Vec<NodeAddress>>, cx: &mut ValidationContext<'_>) {
    let list = items(addresses.new);
    let text = |at: usize, field: &str| list.get(at).map_or("", |address| address.str_at(&[field]));
    let identity = |at| (text(at, NodeAddress::TYPE.name()), text(at, NodeAddress::ADDRESS.name()));
    let mut repeats = Repeats::new(list.len(), identity);
    for (index, address) in list.iter().enumerate() {
        if repeats.is_repeated(index) {
            cx.errors.duplicate(addresses.path.index(index), in_full(View::<NodeAddress>::new(address)));
        }
    }
}

/// A node has a taint of an effect once for each key. kube-apiserver reports them beside the
/// labels.
fn taints(node: At<'_, Node>, cx: &mut ValidationContext<'_>) {
    let taints = items(node.new.field(Node::SPEC).field(NodeSpec::TAINTS));
    let text = |at: usize, field: &str| taints.get(at).map_or("", |taint| taint.str_at(&[field]));
    let identity = |at| (text(at, Taint::KEY.name()), text(at, Taint::EFFECT.name()));
    let mut repeats = Repeats::new(taints.len(), identity);
    let metadata = node.path.to(Node::METADATA);
    let list = metadata.to(NodeSpec::TAINTS);
    for (at, taint) in taints.iter().enumerate() {
        if repeats.is_repeated(at) {
            cx.errors.push(
                ErrorKind::Duplicate,
                list.index(at),
                Some(in_full(View::<Taint>::new(taint))),
                "taints must be unique by key and effect pair",
            );
        }
    }
}

fn resources(node: At<'_, Node>, cx: &mut ValidationContext<'_>) {
    let status = node.new.field(Node::STATUS);
    let root = node.path.to(Node::STATUS);
    for field in [NodeStatus::CAPACITY, NodeStatus::ALLOCATABLE] {
        let path = root.to(field);
        for (name, amount) in status.field(field).value().as_map().into_iter().flat_map(Map::iter) {
            resource_names::amount(name, amount, &path.child(name), cx);
        }
    }
}

/// Features are named each once, in the order of the alphabet.
fn declared_features(node: At<'_, Node>, cx: &mut ValidationContext<'_>) {
    let features = items(node.new.field(Node::STATUS).field(NodeStatus::DECLARED_FEATURES));
    let status = node.path.to(Node::STATUS);
    let path = status.to(NodeStatus::DECLARED_FEATURES);
    for (at, feature) in features.iter().enumerate() {
        let name = feature.as_str().unwrap_or_default();
        if let Some(why) = fault_of_feature_name(name) {
            let detail = format!("invalid feature name {}: {why}", names::quoted(name));
            cx.errors.invalid(path.index(at), name, detail);
        }
        match features.get(at + 1).and_then(Value::as_str) {
            Some(next) if next == name => cx.errors.duplicate(path.index(at + 1), next),
            Some(next) if next < name => {
                cx.errors.invalid(path.index(at + 1), next, "list must be sorted alphabetically");
            }
            _ => {}
        }
    }
}

fn fault_of_feature_name(name: &str) -> Option<&'static str> {
    match name {
        name if name.len() > 253 => Some("must be no more than 253 characters"),
        name if is_feature_name(name) => None,
        _ => Some(
            "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
             MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
        ),
    }
}

fn is_feature_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.split('/').all(is_part)
}

/// Pods get addresses of at most one block per family.
fn pod_cidrs(spec: At<'_, NodeSpec>, cx: &mut ValidationContext<'_>) {
    let cidrs = items(spec.new.field(NodeSpec::POD_CIDRS));
    let path = spec.path.to(NodeSpec::POD_CIDRS);
    for (at, cidr) in cidrs.iter().enumerate() {
        legacy_cidr(text_of(cidr), &path.index(at), cx);
    }
    if cidrs.len() < 2 {
        return;
    }
    let wrong = cidrs.iter().enumerate().find(|(_, cidr)| ip::parse_cidr_sloppy(text_of(cidr)).is_none());
    if let Some((at, cidr)) = wrong {
        let cidr = text_of(cidr);
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR address: {cidr})"
        );
        cx.errors.push(ErrorKind::Internal, path, None, detail);
    }
    // An IPv4-mapped address counts as IPv4.
    let is_v4 = |cidr: &Value| ip::parse_cidr_sloppy(text_of(cidr)).map(|cidr| cidr.address.to_canonical().is_ipv4());
    let has = |v4| cidrs.iter().any(|cidr| is_v4(cidr) == Some(v4));
    if wrong.is_some() || cidrs.len() > 2 || !(has(true) && has(false)) {
        let all = spec.new.field(NodeSpec::POD_CIDRS).value().clone();
        cx.errors.invalid(path, all, "may specify no more than one CIDR for each IP family");
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
