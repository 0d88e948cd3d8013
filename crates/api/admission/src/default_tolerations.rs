//! DefaultTolerationSeconds: pods stay five minutes on a node that fails.
//! Guarantees that a toleration the pod already has is not touched.
//! Must never look at other objects.

use crate::fields::push;
use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1::{Pod, PodSpec, TaintEffect, Toleration, TolerationOperator};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")]).mutating(mutate);

const SECONDS: i64 = 300;

fn mutate(_: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let mut tolerations = ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS);
    let own = tolerations.view().get();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = own.iter().any(|toleration| {
            (toleration.key == key || toleration.key.is_empty())
                && (toleration.effect == TaintEffect::NO_EXECUTE || toleration.effect == "")
        });
        if !tolerated {
            let toleration = Toleration {
                key: key.into(),
                operator: TolerationOperator::EXISTS,
                effect: TaintEffect::NO_EXECUTE,
                toleration_seconds: Some(SECONDS),
                ..Toleration::default()
            };
            push(tolerations.by_ref(), &toleration);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn what_is_not_tolerated_is_for_five_minutes() {
        let cluster = Cluster::new().with_account("default").await;
        let not_ready = "node.kubernetes.io/not-ready";
        let unreachable = "node.kubernetes.io/unreachable";
        let rows: [(_, &[&str]); 5] = [
            (value!([]), &[not_ready, unreachable]),
            (value!([{"key": "a", "operator": "Exists"}]), &["a", not_ready, unreachable]),
            (value!([{"operator": "Exists"}]), &[""]),
            (value!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]), &[unreachable, not_ready]),
            (
                value!([{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]),
                &[unreachable, not_ready, unreachable],
            ),
        ];
        for (before, keys) in rows {
            let pod = value!({
                "metadata": {"name": "p"},
                "spec": {"tolerations": before, "containers": [{"name": "c", "image": "i"}]}
            });
            let pod = cluster.create("", "pods", pod).await.expect("admitted");
            let tolerations = pod.at(&["spec", "tolerations"]).and_then(|list| list.as_list()).unwrap_or(&[]);
            assert_eq!(tolerations.iter().map(|toleration| toleration.str_at(&["key"])).collect::<Vec<_>>(), keys);
        }
    }
}
