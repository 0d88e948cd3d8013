//! ExtendedResourceToleration: pods that request an extended resource tolerate the taint of its nodes. Guarantees one
//! toleration for each resource beyond the system's own. Must never drop a toleration.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut, names};
use pintle_types::core::v1::{
    Container, Pod, PodSpec, ResourceRequirements, TaintEffect, Toleration, TolerationOperator,
};
use std::collections::BTreeSet;

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "pods")]).mutating(mutate);

fn mutate(_: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    let containers = spec.field(PodSpec::CONTAINERS).iter().chain(spec.field(PodSpec::INIT_CONTAINERS).iter());
    let requests = containers.flat_map(|container| {
        container.field(Container::RESOURCES).field(ResourceRequirements::REQUESTS).get().into_keys()
    });
    let extended: BTreeSet<String> = requests.filter(|name| is_extended(name)).collect();
    if extended.is_empty() {
        return Ok(());
    }
    let tolerations = ViewMut::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::TOLERATIONS);
    let mut all = tolerations.view().get();
    for key in extended {
        let toleration = Toleration {
            key,
            operator: TolerationOperator::EXISTS,
            effect: TaintEffect::NO_SCHEDULE,
            ..Toleration::default()
        };
        let mut same = all.iter_mut().filter(|one| {
            (&one.key, &one.operator, &one.effect, &one.value)
                == (&toleration.key, &toleration.operator, &toleration.effect, &toleration.value)
        });
        match same.next() {
            Some(own) => *own = toleration,
            None => all.push(toleration),
        }
    }
    tolerations.set(all);
    Ok(())
}

/// Whether a resource has a domain that is not the system's.
fn is_extended(name: &str) -> bool {
    const QUOTA: &str = "requests.";
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with(QUOTA) && names::label_key(&format!("{QUOTA}{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    #[tokio::test]
    async fn requested_devices_are_tolerated() {
        let cluster = Cluster::with_plugins(&["ExtendedResourceToleration"]).with_account("default").await;
        let asks = |requests: Value| value!([{"name": "c", "resources": {"requests": requests}}]);
        let pod = value!({"metadata": {"name": "p"}, "spec": {
            "containers": (asks(value!({"cpu": "1", "b.com/gpu": "1", "x.kubernetes.io/y": "1"}))),
            "initContainers": (asks(value!({"a.com/gpu": "1"}))),
            "tolerations": [{"key": "b.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}});
        let pod = cluster.create("", "pods", pod).await.expect("admitted");
        let tolerations = pod.at(&["spec", "tolerations"]).and_then(Value::as_list).unwrap_or(&[]);
        let keys: Vec<_> = tolerations.iter().map(|toleration| toleration.str_at(&["key"])).collect();
        let own = ["b.com/gpu", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "a.com/gpu"];
        assert_eq!(keys, own);
    }
}
