//! TaintNodesByCondition: a new node takes no pods until it is ready.
//! Guarantees the taint once, after the node's own.
//! Must never touch existing nodes.

use crate::fields::push;
use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1::{Node, NodeSpec, Taint, TaintEffect};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::create("", "nodes")]).mutating(mutate);

fn mutate(_: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let not_ready =
        Taint { key: "node.kubernetes.io/not-ready".into(), effect: TaintEffect::NO_SCHEDULE, ..Taint::default() };
    let taints = ViewMut::<Node>::new(object).field(Node::SPEC).field(NodeSpec::TAINTS);
    let present =
        taints.view().get().iter().any(|taint| taint.key == not_ready.key && taint.effect == not_ready.effect);
    if !present {
        push(taints, &not_ready);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn the_taint_is_added_once() {
        let cluster = Cluster::new();
        let not_ready = value!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let other = value!({"key": "a", "effect": "NoSchedule"});
        let later = value!({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"});
        let rows = [
            (value!([]), vec![not_ready.clone()]),
            (value!([(other.clone())]), vec![other.clone(), not_ready.clone()]),
            (value!([(not_ready.clone()), (other.clone())]), vec![not_ready.clone(), other]),
            (value!([(later.clone())]), vec![later, not_ready]),
        ];
        for (before, after) in rows {
            let node = value!({"metadata": {"name": "n"}, "spec": {"taints": before}});
            let node = cluster.create("", "nodes", node).await.expect("admitted");
            assert_eq!(node.at(&["spec", "taints"]).and_then(|taints| taints.as_list()), Some(after.as_slice()));
        }
    }
}
