//! The group of metrics as metrics-server has it, with one node and one pod that were measured.
//! Guarantees that clients can only read it. Must never measure anything: the values are the test's.

use pintle_registry::{Registry, WriteOptions};
use pintle_resource::{Group, Resource, Storage, Verbs};
use pintle_schema::{ApiType, ApiValue, Duration, Quantity, Time};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::collections::BTreeMap;

pub const GROUP: &str = "metrics.k8s.io";
pub const VERSION: &str = "v1beta1";

/// The usage of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "metrics.k8s.io", version = "v1beta1", plural = "nodes", singular = "node", cluster))]
struct NodeMetrics {
    /// The kind and API version of the object.
    #[k8s(inline)]
    type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    metadata: ObjectMeta,
    /// When the interval ended.
    #[k8s(proto = 2, optional)]
    timestamp: Option<Time>,
    /// How long it was.
    #[k8s(proto = 3, optional)]
    window: Duration,
    /// The usage.
    #[k8s(proto = 4, optional)]
    usage: BTreeMap<String, Quantity>,
}

/// The usage of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "metrics.k8s.io", version = "v1beta1", plural = "pods", singular = "pod", namespaced))]
struct PodMetrics {
    /// The kind and API version of the object.
    #[k8s(inline)]
    type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    metadata: ObjectMeta,
    /// When the interval ended.
    #[k8s(proto = 2, optional)]
    timestamp: Option<Time>,
    /// How long it was.
    #[k8s(proto = 3, optional)]
    window: Duration,
    /// The usage of each container.
    #[k8s(proto = 4, optional, list_type = atomic)]
    containers: Vec<ContainerMetrics>,
}

/// The usage of a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct ContainerMetrics {
    /// Its name.
    #[k8s(proto = 1, optional)]
    name: String,
    /// The usage.
    #[k8s(proto = 2, optional)]
    usage: BTreeMap<String, Quantity>,
}

/// The group, whose objects only the server itself writes.
pub fn group() -> Group {
    let verbs = Verbs::GET.and(Verbs::LIST);
    let nodes = Resource {
        verbs,
        storage: Some(Storage::of::<NodeMetrics>().under("/registry/metrics.k8s.io/nodes/")),
        ..Resource::of::<NodeMetrics>()
    };
    let pods = Resource {
        verbs,
        storage: Some(Storage::of::<PodMetrics>().under("/registry/metrics.k8s.io/pods/")),
        ..Resource::of::<PodMetrics>()
    };
    Group::new(GROUP, [nodes, pods])
}

fn usage(cpu: &str, memory: &str) -> BTreeMap<String, Quantity> {
    let quantity = |text: &str| text.parse::<Quantity>().expect("a quantity");
    [("cpu", quantity(cpu)), ("memory", quantity(memory))].map(|(name, value)| (name.to_owned(), value)).into()
}

/// Writes the usage of a node and a pod.
pub async fn measure(registry: &Registry) {
    let type_meta = |kind: &str| TypeMeta { kind: kind.to_owned(), api_version: format!("{GROUP}/{VERSION}") };
    let (timestamp, window) = (Some(Time::from_seconds(1_700_000_000)), Duration { nanos: 30_000_000_000 });
    let node = NodeMetrics {
        type_meta: type_meta("NodeMetrics"),
        metadata: ObjectMeta { name: "n".to_owned(), ..ObjectMeta::default() },
        timestamp,
        window,
        usage: usage("250m", "1Gi"),
    };
    let pod = PodMetrics {
        type_meta: type_meta("PodMetrics"),
        metadata: ObjectMeta { name: "p".to_owned(), namespace: "default".to_owned(), ..ObjectMeta::default() },
        timestamp,
        window,
        containers: vec![ContainerMetrics { name: "c".to_owned(), usage: usage("100m", "64Mi") }],
    };
    for (resource, namespace, object) in [("nodes", "", node.to_value()), ("pods", "default", pod.to_value())] {
        let target = registry.target_of([GROUP, VERSION, resource], namespace, "").expect("a resource");
        let written = registry.create(&target, object, &WriteOptions::of_server("collector")).await;
        written.map(drop).expect("written");
    }
}
