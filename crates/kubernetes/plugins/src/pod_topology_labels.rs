//! PodTopologyLabels: pods carry the zone and region of the node they are bound to.
//! Guarantees that only these two labels are set, and only when the node has them.
//! Must never change a pod that stays where it is.

use crate::fields::set_entry;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_gates as gates;
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Binding, Node, Pod, PodSpec};
use pintle_types::meta::v1::ObjectMeta;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::create("", "pods"), BINDING, Requests::create("", "bindings")]).mutating(mutate);

/// A binding, whose labels are copied to the pod.
const BINDING: Requests = Requests { subresource: "binding", ..Requests::create("", "pods") };

const NODES: Kind<Node> = Kind::new("", "nodes");
const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let is_pod = request.resource() == "pods" && request.subresource().is_empty();
    let name = match is_pod {
        true => View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_NAME).as_str(),
        false => object.str_at(&[Binding::TARGET.name(), "name"]),
    };
    if name.is_empty() || !request.environment().gates().is_on(&gates::POD_TOPOLOGY_LABELS_ADMISSION) {
        return Ok(());
    }
    let Some(node) = request.find(&NODES, "", name)? else { return Ok(()) };
    for key in LABELS {
        if let Some(value) = node.metadata.labels.get(key) {
            set_entry(ViewMut::<Pod>::new(object).field(Pod::METADATA), ObjectMeta::LABELS, key, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn labels_of_the_node() {
        let cluster = Cluster::new().with_account("default").await;
        let labels = value!({"topology.kubernetes.io/zone": "z", "other": "o"});
        cluster.store("", "nodes", value!({"metadata": {"name": "n", "labels": labels}})).await;
        let pod = |node: &str| value!({"metadata": {"name": "p", "labels": {"topology.kubernetes.io/zone": "own"}}, "spec": {"nodeName": node}});
        for (node, zone) in [("", "own"), ("gone", "own"), ("n", "z")] {
            let created = cluster.create("", "pods", pod(node)).await.expect("admitted");
            assert_eq!(created.at(&["metadata", "labels"]), Some(&value!({"topology.kubernetes.io/zone": zone})));
            let labels = value!({"topology.kubernetes.io/zone": "own"});
            let binding = value!({"metadata": {"name": "p", "labels": labels}, "target": {"name": node}});
            let bound = cluster.post(("", "pods", "binding"), "p", binding, "alice").expect("admitted");
            assert_eq!(bound.at(&["metadata", "labels"]), Some(&value!({"topology.kubernetes.io/zone": zone})));
        }
    }
}
