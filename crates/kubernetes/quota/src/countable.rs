//! `Countable`: the usage of a resource's objects, and the names by which quotas limit it. Guarantees that every stored
//! namespaced resource can be counted, except events. Must never look at an object.

use crate::pods;
use crate::resource_claims::DeviceClasses;
use pintle_registry::{Operation, Registry};
use pintle_resource::Resource;
use pintle_schema::{Value, View};

/// The kind of usage of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Countable {
    Pods,
    Services,
    VolumeClaims,
    ResourceClaims,
    /// How many objects there are, under these names.
    Objects {
        name: String,
        alias: Option<&'static str>,
    },
}

/// Legacy names of object counts, from before all resources could be counted.
const ALIASES: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

const OF_PODS: [&str; 11] = [
    "count/pods",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const OF_SERVICES: [&str; 4] = ["count/services", "services", "services.loadbalancers", "services.nodeports"];

impl Countable {
    /// The kind of usage of a resource; `None` if it is not counted.
    pub fn of(resource: &Resource) -> Option<Countable> {
        let (group, plural) = (resource.group.as_str(), resource.plural.as_str());
        match (group, plural) {
            _ if !resource.namespaced => None,
            ("" | "events.k8s.io", "events") => None,
            ("", "pods") => Some(Countable::Pods),
            ("", "services") => Some(Countable::Services),
            ("", "persistentvolumeclaims") => Some(Countable::VolumeClaims),
            ("resource.k8s.io", "resourceclaims") => Some(Countable::ResourceClaims),
            ("", plural) => {
                let alias = ALIASES.iter().find(|alias| **alias == plural).copied();
                Some(Countable::Objects { name: format!("count/{plural}"), alias })
            }
            (group, plural) => Some(Countable::Objects { name: format!("count/{plural}.{group}"), alias: None }),
        }
    }

    /// Whether a write can change the usage. The objects show whether it does.
    pub fn is_charged(&self, operation: Operation, subresource: &str) -> bool {
        match self {
            Countable::Pods => matches!(
                (operation, subresource),
                (Operation::Create | Operation::Update, "") | (Operation::Update, "resize")
            ),
            Countable::Services => operation != Operation::Delete,
            Countable::VolumeClaims => operation != Operation::Delete && matches!(subresource, "" | "status"),
            Countable::ResourceClaims => operation != Operation::Delete && subresource.is_empty(),
            Countable::Objects { .. } => operation == Operation::Create && subresource.is_empty(),
        }
    }

    /// Whether an update can change the usage of an object. A pod's resources change only by a resize.
    pub fn may_change(&self, subresource: &str, object: &Value, old: Option<&Value>) -> bool {
        match (self, old) {
            (Countable::Pods, Some(old)) if subresource.is_empty() => {
                let [new, old] = [object, old].map(|pod| pods::is_terminating(View::new(pod)));
                new != old
            }
            _ => true,
        }
    }

    /// Whether objects of the resource have usage under a quota's name.
    pub fn counts_for(&self, name: &str, registry: &Registry) -> bool {
        match self {
            Countable::Pods => {
                OF_PODS.contains(&name)
                    || name.starts_with("hugepages-")
                    || name.starts_with("requests.hugepages-")
                    || is_extended_request(name)
            }
            Countable::Services => OF_SERVICES.contains(&name),
            Countable::VolumeClaims => {
                matches!(name, "count/persistentvolumeclaims" | "persistentvolumeclaims" | "requests.storage")
                    || name.ends_with(".storageclass.storage.k8s.io/persistentvolumeclaims")
                    || name.ends_with(".storageclass.storage.k8s.io/requests.storage")
            }
            Countable::ResourceClaims => {
                name == "count/resourceclaims.resource.k8s.io"
                    || name.ends_with(".deviceclass.resource.k8s.io/devices")
                    || is_extended_request(name) && DeviceClasses(registry).have(name)
            }
            Countable::Objects { name: own, alias } => name == own || *alias == Some(name),
        }
    }
}

/// Whether a quota's name is that of requests for a resource which nodes or device classes add to the system's own.
pub(crate) fn is_extended_request(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    name.starts_with("requests.") && (!is_native || name.starts_with(crate::resource_claims::IMPLICIT_PREFIX))
}
