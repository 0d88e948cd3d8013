//! Nodes and component statuses.
//!
//! Component statuses are probed on request and never stored.

use crate::printing::printer;
use crate::views::clear;
use pintle_resource::{
    Context, NOT_SUPPORTED, Part, Resource, STATUS, STATUS_PATHS, Selectable, Storage, Strategy, Subresource, Verbs,
    WITH_STATUS,
};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::core::v1;

pub(super) fn component_statuses() -> Resource {
    Resource {
        verbs: Verbs::GET.and(Verbs::LIST),
        deprecation: Str::new_static("v1 ComponentStatus is deprecated in v1.19+"),
        printer: printer(&super::columns::COMPONENT_STATUS),
        ..Resource::of::<v1::ComponentStatus>()
    }
}

pub(super) fn nodes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Node>().under("/registry/minions/")),
        subresources: vec![
            Subresource::connect::<v1::NodeProxyOptions>("proxy", Verbs::PROXY),
            Subresource::status::<v1::Node>(&NODE_STATUS),
        ],
        selectable: vec![Selectable::path("spec.unschedulable", &["spec", "unschedulable"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &NODE,
        printer: printer(&super::columns::node::NODE),
        warn: Some(super::rules::cluster_warnings::node),
        ..Resource::of::<v1::Node>()
    }
}

static NODE: Strategy = Strategy {
    // Unlike others, a node may be made with its status.
    create_clears: &[&["status", "config"], &["spec", "configSource"]],
    update_keeps: STATUS_PATHS,
    normalize: Some(mirror_pod_cidr),
    prepare_update: Some(drop_config),
    ..WITH_STATUS
};

static NODE_STATUS: Part = Part { prepare: Some(drop_config), ..STATUS };

/// Fields that kubelets no longer use are kept only if the stored node has them.
fn drop_config(node: &mut Value, old: &Value, _: &mut Context) {
    for path in [["status", "config"], ["spec", "configSource"]] {
        if old.at(&path).is_none_or(Value::is_null) {
            node.remove_at(&path);
        }
    }
}

/// Keeps `podCIDR` and the first of `podCIDRs` equal; where they differ the single one is right.
fn mirror_pod_cidr(object: &mut Value) {
    let mut spec = ViewMut::<v1::Node>::new(object).field(v1::Node::SPEC);
    let single = spec.view().field(v1::NodeSpec::POD_CIDR).get();
    let first = spec.view().field(v1::NodeSpec::POD_CIDRS).iter().next().map(|cidr| cidr.get());
    match first {
        Some(first) if single.is_empty() => spec.field(v1::NodeSpec::POD_CIDR).set(first),
        Some(first) if first == single => {}
        None if single.is_empty() => clear(&mut spec, v1::NodeSpec::POD_CIDR),
        _ => spec.field(v1::NodeSpec::POD_CIDRS).set(vec![single]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::normalized;
    use pintle_resource::same_at;
    use pintle_schema::value;

    #[test]
    fn pod_cidr_is_mirrored() {
        let (a, b) = ("10.0.0.0/24", "10.0.1.0/24");
        let rows = [
            (value!({"podCIDR": a}), value!({"podCIDR": a, "podCIDRs": [a]})),
            (value!({"podCIDRs": [a, b]}), value!({"podCIDR": a, "podCIDRs": [a, b]})),
            (value!({"podCIDR": b, "podCIDRs": [a]}), value!({"podCIDR": b, "podCIDRs": [b]})),
            (value!({}), value!({})),
        ];
        for (given, expected) in rows {
            let node = normalized(&nodes(), value!({"spec": (given.clone())}));
            assert!(same_at(&node, &value!({"spec": expected}), &["spec"]), "{given:?}: {node:?}");
        }
    }
}
