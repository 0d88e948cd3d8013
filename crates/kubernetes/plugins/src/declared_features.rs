//! NodeDeclaredFeatureValidator: a pod on a node is not changed in a way that its node does not support. Guarantees
//! that the node declares the features that a change needs. Must never reject an update without a change of the spec.

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_gates as gates;
use pintle_registry::metadata;
use pintle_registry::status::Result;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::{Container, ContainerRestartPolicy, Node, Pod, PodQOSClass, PodSpec, PodStatus};

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::update("", "pods", ""), Requests::update("", "pods", "resize")]).validating(validate);

const NODES: Kind<Node> = Kind::new("", "nodes");
/// A feature, and whether a change from an old to a new pod needs it.
type Feature = (&'static str, fn(View<'_, Pod>, View<'_, Pod>) -> bool);

/// The features that changes can need, sorted by name.
const FEATURES: [Feature; 3] = [
    ("GuaranteedQoSPodCPUResize", resizes_guaranteed_cpu),
    ("InPlacePodLevelResourcesVerticalScaling", resizes_pod),
    ("InPlacePodVerticalScalingInitContainers", resizes_init_containers),
];

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let name = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::NODE_NAME).as_str();
    let Some(old) = request.old().filter(|old| metadata::generation(old) != metadata::generation(object)) else {
        return Ok(());
    };
    if name.is_empty() || !request.environment().gates().is_on(&gates::NODE_DECLARED_FEATURES) {
        return Ok(());
    }
    let mut needed: Vec<&str> = FEATURES
        .iter()
        .filter(|(_, is_needed)| is_needed(View::new(old), View::new(object)))
        .map(|(name, _)| *name)
        .collect();
    if needed.is_empty() {
        return Ok(());
    }
    let Some(node) = request.find(&NODES, "", name)? else {
        return Err(request.forbidden(object, format!("node {name:?} not found")));
    };
    needed.retain(|feature| !node.status.declared_features.iter().any(|declared| declared == feature));
    if needed.is_empty() {
        return Ok(());
    }
    let features = needed.join(", ");
    let why = format!("pod update requires features {features} which are not available on node {name:?}");
    Err(request.forbidden(object, why))
}

/// Whether the CPU requests of a container change in a pod that has its resources guaranteed.
fn resizes_guaranteed_cpu(old: View<'_, Pod>, new: View<'_, Pod>) -> bool {
    let none = Quantity::from_i64(0);
    let cpu = |container: View<'_, Container>| {
        let requests = container.field(Container::RESOURCES).get().requests;
        requests.get("cpu").unwrap_or(&none).clone()
    };
    let [old_containers, new_containers] = [old, new].map(|pod| pod.field(Pod::SPEC).field(PodSpec::CONTAINERS));
    old.field(Pod::STATUS).field(PodStatus::QOS_CLASS).get() == PodQOSClass::GUARANTEED
        && old_containers.iter().zip(new_containers.iter()).any(|(old, new)| cpu(old) != cpu(new))
}

fn resizes_pod(old: View<'_, Pod>, new: View<'_, Pod>) -> bool {
    let [old, new] = [old, new].map(|pod| pod.field(Pod::SPEC).field(PodSpec::RESOURCES).get());
    old != new
}

/// Whether the resources of an init container change that ends before the others start.
fn resizes_init_containers(old: View<'_, Pod>, new: View<'_, Pod>) -> bool {
    let [old, new] = [old, new].map(|pod| pod.field(Pod::SPEC).field(PodSpec::INIT_CONTAINERS));
    let is_sidecar = |container: View<'_, Container>| {
        container.field(Container::RESTART_POLICY).get() == Some(ContainerRestartPolicy::ALWAYS)
    };
    let resources = |container: View<'_, Container>| container.field(Container::RESOURCES).get();
    old.iter().zip(new.iter()).any(|(old, new)| !is_sidecar(old) && resources(old) != resources(new))
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    /// A pod that has all its resources guaranteed.
    fn pod(node: &str) -> Value {
        let resources = || value!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        value!({
            "metadata": {"name": "p", "generation": 1},
            "spec": {
                "nodeName": (node.to_owned()),
                "containers": [{"name": "c", "image": "i", "resources": (resources())}],
                "initContainers": [
                    {"name": "first", "image": "i", "resources": (resources())},
                    {"name": "beside", "image": "i", "resources": (resources()), "restartPolicy": "Always"}
                ]
            },
            "status": {"qosClass": "Guaranteed"}
        })
    }

    fn resized(mut pod: Value, list: &str, at: usize) -> Value {
        pod.set_at(&["metadata", "generation"], 2);
        let lists = pod.as_map_mut().and_then(|pod| pod.entry("spec").as_map_mut()).map(|spec| spec.entry(list));
        if let Some(Value::List(containers)) = lists {
            containers[at].set_at(&["resources", "requests", "cpu"], "2");
            containers[at].set_at(&["resources", "limits", "cpu"], "2");
        }
        pod
    }

    #[tokio::test]
    async fn a_change_needs_the_features_of_the_node() {
        let cluster = Cluster::new();
        let all = [
            "GuaranteedQoSPodCPUResize",
            "InPlacePodLevelResourcesVerticalScaling",
            "InPlacePodVerticalScalingInitContainers",
        ];
        for (name, features) in [("all", &all[..]), ("one", &all[..1]), ("none", &[])] {
            let features = features.iter().map(|feature| Value::from(*feature)).collect();
            let status = value!({
                "declaredFeatures": (Value::List(features)), "allocatable": {"cpu": "8", "memory": "8Gi"}
            });
            cluster.store("", "nodes", value!({"metadata": {"name": name}, "status": status})).await;
        }
        let whole = |mut pod: Value| {
            pod.set_at(&["metadata", "generation"], 2);
            pod.set_at(&["spec", "resources"], value!({"requests": {"cpu": "3"}}));
            pod
        };
        let unmarked = |mut pod: Value| {
            pod.set_at(&["metadata", "generation"], 1);
            pod
        };
        let burstable = |node: &str| {
            let mut pod = pod(node);
            pod.set_at(&["status", "qosClass"], "Burstable");
            pod
        };
        let rows = [
            (pod("none"), resized(pod("none"), "containers", 0), &all[..1]),
            (pod("one"), resized(pod("one"), "containers", 0), &[]),
            (burstable("none"), resized(burstable("none"), "containers", 0), &[]),
            (pod("none"), resized(pod("none"), "initContainers", 0), &all[2..]),
            (pod("none"), resized(pod("none"), "initContainers", 1), &[]),
            (pod("none"), whole(pod("none")), &all[1..2]),
            (pod("one"), whole(resized(resized(pod("one"), "initContainers", 0), "containers", 0)), &all[1..]),
            (pod("all"), whole(resized(resized(pod("all"), "initContainers", 0), "containers", 0)), &[]),
            (pod("none"), unmarked(resized(pod("none"), "containers", 0)), &[]),
            (pod(""), resized(pod(""), "containers", 0), &[]),
        ];
        for (old, new, missing) in rows {
            let node = old.str_at(&["spec", "nodeName"]).to_owned();
            for subresource in ["", "resize"] {
                let refusal = cluster.update(("", "pods", subresource), &old, new.clone(), "alice").err();
                let missing = missing.join(", ");
                let expected = format!(
                    "pods \"p\" is forbidden: pod update requires features {missing} which are not available on node \
                     \"{node}\""
                );
                let expected = if missing.is_empty() { "" } else { &expected };
                assert_eq!(refusal.map(|refusal| refusal.message).unwrap_or_default(), expected);
            }
        }
        let gone = cluster.update(("", "pods", ""), &pod("gone"), resized(pod("gone"), "containers", 0), "alice");
        assert_eq!(gone.unwrap_err().message, "pods \"p\" is forbidden: node \"gone\" not found");
    }
}
