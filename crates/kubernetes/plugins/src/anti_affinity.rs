//! LimitPodHardAntiAffinityTopology: no pod can repel others from more than a node. Guarantees that required
//! anti-affinity has the hostname topology key. Must never check preferred terms.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Affinity, Pod, PodAffinityTerm, PodAntiAffinity, PodSpec};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")]).validating(validate);

const HOST: &str = "kubernetes.io/hostname";

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let affinity = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::AFFINITY).or_zero();
    let terms = affinity.field(Affinity::POD_ANTI_AFFINITY).or_zero();
    let terms = terms.field(PodAntiAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION).iter();
    let mut keys = terms.map(|term| term.field(PodAffinityTerm::TOPOLOGY_KEY).as_str());
    match keys.find(|key| *key != HOST) {
        None => Ok(()),
        Some(key) => Err(request.forbidden(
            object,
            format!(
                "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOST} is allowed"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    #[tokio::test]
    async fn only_hosts_may_be_kept_free() {
        let cluster = Cluster::with_plugins(&["LimitPodHardAntiAffinityTopology"]).with_account("default").await;
        let required =
            |key: &str| value!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": (key.to_owned())}]});
        let preferred = value!({"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]});
        let refusal = "pods \"p\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone \
                       but only key kubernetes.io/hostname is allowed";
        let rows: [(Value, Option<&str>); 3] =
            [(required("zone"), Some(refusal)), (required("kubernetes.io/hostname"), None), (preferred, None)];
        for (anti, expected) in rows {
            let pod = value!({"metadata": {"name": "p"}, "spec": {"affinity": {"podAntiAffinity": anti}}});
            let refused = cluster.create("", "pods", pod).await.err().map(|status| status.message);
            assert_eq!(refused.as_deref(), expected);
        }
    }
}
