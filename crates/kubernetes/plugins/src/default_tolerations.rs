//! DefaultTolerationSeconds: pods stay on a failed node for five minutes by default. Guarantees that an existing
//! toleration of the pod is not changed. Must never read other objects.

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
    use pintle_schema::{Value, value};

    #[tokio::test]
    async fn missing_tolerations_are_added_with_seconds() {
        let toleration_seconds = TolerationSeconds { unreachable: 5, ..TolerationSeconds::default() };
        let configuration = Configuration { toleration_seconds, ..Configuration::default() };
        let cluster = Cluster::configured(&[], configuration).with_account("default").await;
        let (not_ready, unreachable) = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable");
        let (of_not_ready, of_unreachable) = ((not_ready, Some(300)), (unreachable, Some(5)));
        type Toleration<'a> = (&'a str, Option<i64>);
        let rows: [(_, &[Toleration<'_>]); 5] = [
            (value!([]), &[of_not_ready, of_unreachable]),
            (value!([{"key": "a", "operator": "Exists"}]), &[("a", None), of_not_ready, of_unreachable]),
            (value!([{"operator": "Exists"}]), &[("", None)]),
            (value!([{"key": unreachable, "effect": "NoExecute"}]), &[(unreachable, None), of_not_ready]),
            (
                value!([{"key": unreachable, "effect": "NoSchedule"}]),
                &[(unreachable, None), of_not_ready, of_unreachable],
            ),
        ];
        for (before, expected) in rows {
            let pod = value!({
                "metadata": {"name": "p"},
                "spec": {"tolerations": before, "containers": [{"name": "c", "image": "i"}]}
            });
            let pod = cluster.create("", "pods", pod).await.expect("admitted");
            let tolerations = pod.at(&["spec", "tolerations"]).and_then(|list| list.as_list()).unwrap_or(&[]);
            let seconds = |of: &Value| of.get("tolerationSeconds").and_then(|seconds| seconds.as_i64());
            let found: Vec<_> = tolerations.iter().map(|of| (of.str_at(&["key"]), seconds(of))).collect();
            assert_eq!(found, expected);
        }
    }
}
