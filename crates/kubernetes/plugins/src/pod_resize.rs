//! PodResizeValidator: a running pod does not exceed its node's capacity. Guarantees that an impossible resize is
//! rejected at once. Must never check a pod without a node.

use crate::limits::of_pod;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::{Cause, Result};
use pintle_registry::{Status, metadata};
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::{Node, Pod, PodSpec};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::update("", "pods", "resize")]).validating(validate);

const NODES: Kind<Node> = Kind::new("", "nodes");
const OS: &str = "kubernetes.io/os";

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    let name = spec.field(PodSpec::NODE_NAME).as_str();
    let changes = request.old().is_some_and(|old| metadata::generation(old) != metadata::generation(object));
    if name.is_empty() || !changes {
        return Ok(());
    }
    let Some(node) = request.find(&NODES, "", name)? else {
        return Err(request.forbidden(object, format!("node {name:?} not found")));
    };
    if let Some(os) = node.metadata.labels.get(OS).filter(|os| *os != "linux") {
        let why = format!("pod resize is only supported on linux nodes, node {name:?} is {os:?}");
        return Err(because(request.forbidden(object, why), "UnsupportedPlatform"));
    }
    let too_much = too_much(spec, &node);
    if too_much.is_empty() {
        return Ok(());
    }
    let why = format!("node didn't have enough allocatable resources: {}", too_much.join("; "));
    Err(because(request.forbidden(object, why), "NodeCapacity"))
}

/// The requests that exceed the node's allocatable resources.
fn too_much(spec: View<'_, PodSpec>, node: &Node) -> Vec<String> {
    let requests = of_pod(spec).requests;
    let overhead = spec.field(PodSpec::OVERHEAD).get();
    let none = Quantity::from_i64(0);
    let rows = ["cpu", "memory"].into_iter().filter_map(|resource| {
        let requested = requests.get(resource).unwrap_or(&none).add(overhead.get(resource).unwrap_or(&none));
        let allocatable = node.status.allocatable.get(resource).unwrap_or(&none);
        let number = if resource == "cpu" { Quantity::milli_value } else { Quantity::value };
        let (asked, there) = (number(&requested), number(allocatable));
        (requested > *allocatable).then(|| format!("{resource}, requested: {asked}, allocatable: {there}"))
    });
    rows.collect()
}

fn because(mut refusal: Status, reason: &str) -> Status {
    if let Some(details) = &mut refusal.details {
        details.causes.push(Cause { reason: reason.to_owned(), message: String::new(), field: String::new() });
    }
    refusal
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    fn pod(node: &str, generation: i64, cpu: &str) -> Value {
        value!({"metadata": {"name": "p", "generation": generation}, "spec": {"nodeName": node, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "2Gi"}}}
        ]}})
    }

    #[tokio::test]
    async fn a_pod_stays_within_its_node() {
        let cluster = Cluster::new();
        let nodes = [("linux", "8Gi"), ("windows", "8Gi"), ("small", "1Gi")];
        for (name, memory) in nodes {
            let os = if name == "windows" { name } else { "linux" };
            let node = value!({
                "metadata": {"name": name, "labels": {"kubernetes.io/os": os}},
                "status": {"allocatable": {"cpu": "2", "memory": memory}}
            });
            cluster.store("", "nodes", node).await;
        }
        let rows = [
            (pod("linux", 2, "2"), "", ""),
            (pod("", 2, "9"), "", ""),
            (pod("linux", 1, "9"), "", ""),
            (pod("gone", 2, "1"), "node \"gone\" not found", ""),
            (
                pod("windows", 2, "1"),
                "pod resize is only supported on linux nodes, node \"windows\" is \"windows\"",
                "UnsupportedPlatform",
            ),
            (
                pod("small", 2, "2500m"),
                "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, \
                 requested: 2147483648, allocatable: 1073741824",
                "NodeCapacity",
            ),
        ];
        for (new, why, cause) in rows {
            let old = pod(new.str_at(&["spec", "nodeName"]), 1, "1");
            let refusal = cluster.update(("", "pods", "resize"), &old, new, "alice").err();
            let expected = if why.is_empty() { String::new() } else { format!("pods \"p\" is forbidden: {why}") };
            assert_eq!(refusal.as_ref().map_or("", |refusal| &refusal.message), expected);
            let causes = refusal.and_then(|refusal| refusal.details).map(|details| details.causes).unwrap_or_default();
            assert_eq!(causes.first().map_or("", |first| &first.reason), cause);
        }
    }
}
