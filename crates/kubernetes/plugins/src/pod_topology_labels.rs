//! PodTopologyLabels: pods carry the zone and region of the node they are bound to.
//! Guarantees that only these two labels are set, and only when the node has them.
//! Must never change a pod that stays where it is.

use crate::fields::set_entry;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Node, Pod, PodSpec};
use pintle_types::meta::v1::ObjectMeta;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::create("", "pods"), Requests::update("", "pods", "binding")]).mutating(mutate);

const NODES: Kind<Node> = Kind::new("", "nodes");
const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let name = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_NAME).as_str();
    if name.is_empty() || !request.environment().feature_enabled("PodTopologyLabelsAdmission") {
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
            let bound = cluster.update(("", "pods", "binding"), &pod(""), pod(node), "alice").expect("admitted");
            assert_eq!(bound.at(&["metadata", "labels"]), Some(&value!({"topology.kubernetes.io/zone": zone})));
        }
    }
}
