//! DefaultTolerationSeconds: pods stay a while on a node that fails, five minutes unless another time is told.
//! Guarantees that a toleration the pod already has is not touched.
//! Must never look at other objects.

use crate::fields::push;
use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1::{Pod, PodSpec, TaintEffect, Toleration, TolerationOperator};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")]).mutating(mutate);

/// How long pods stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TolerationSeconds {
    pub not_ready: i64,
    pub unreachable: i64,
}

impl Default for TolerationSeconds {
    fn default() -> Self {
        TolerationSeconds { not_ready: 300, unreachable: 300 }
    }
}

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let mut tolerations = ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS);
    let own = tolerations.view().get();
    let TolerationSeconds { not_ready, unreachable } = request.configuration.toleration_seconds;
    for (key, seconds) in [("node.kubernetes.io/not-ready", not_ready), ("node.kubernetes.io/unreachable", unreachable)]
    {
        let tolerated = own.iter().any(|toleration| {
            (toleration.key == key || toleration.key.is_empty())
                && (toleration.effect == TaintEffect::NO_EXECUTE || toleration.effect == "")
        });
        if !tolerated {
            let toleration = Toleration {
                key: key.into(),
                operator: TolerationOperator::EXISTS,
                effect: TaintEffect::NO_EXECUTE,
                toleration_seconds: Some(seconds),
                ..Toleration::default()
            };
            push(tolerations.by_ref(), &toleration);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::TolerationSeconds;
    use crate::configuration::Configuration;
    use crate::testing::Cluster;
    use pintle_schema::value;

    #[tokio::test]
    async fn what_is_not_tolerated_is_for_a_while() {
        let toleration_seconds = TolerationSeconds { unreachable: 5, ..TolerationSeconds::default() };
        let configuration = Configuration { toleration_seconds, ..Configuration::default() };
        let cluster = Cluster::configured(&[], configuration).with_account("default").await;
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
            for toleration in tolerations {
                let seconds = toleration.get("tolerationSeconds").and_then(|seconds| seconds.as_i64());
                let expected = if toleration.str_at(&["key"]) == not_ready { 300 } else { 5 };
                assert!(seconds.is_none_or(|seconds| seconds == expected), "{toleration:?}");
            }
        }
    }
}
