//! The API groups in discovery's order, their versions in order of preference, and look-ups in all resources.
//!
//! The one list that names every group; it never says anything about a kind.

use crate::resource::Resource;

/// An API group.
pub struct Group {
    /// "" is the core group.
    pub name: &'static str,
    /// How the group ranks in discovery; `None` for apiregistration, which has no APIService of its own.
    pub priority: Option<i32>,
    /// The preferred one first.
    pub versions: &'static [GroupVersion],
    /// In discovery's order: by version, then by name.
    resources: &'static [&'static Resource],
}

/// A version of an API group.
pub struct GroupVersion {
    pub name: &'static str,
    /// How the version ranks in its group.
    pub priority: i32,
}

const fn v(name: &'static str, priority: i32) -> GroupVersion {
    GroupVersion { name, priority }
}

/// All groups.
pub static GROUPS: &[Group] = &[
    Group { name: "", priority: Some(18000), versions: &[v("v1", 1)], resources: crate::core::RESOURCES },
    Group {
        name: "apiregistration.k8s.io",
        priority: None,
        versions: &[v("v1", 0)],
        resources: crate::apiregistration::RESOURCES,
    },
    Group { name: "apps", priority: Some(17800), versions: &[v("v1", 15)], resources: crate::apps::RESOURCES },
    Group {
        name: "events.k8s.io",
        priority: Some(17750),
        versions: &[v("v1", 15)],
        resources: crate::events::RESOURCES,
    },
    Group {
        name: "authentication.k8s.io",
        priority: Some(17700),
        versions: &[v("v1", 15)],
        resources: crate::authentication::RESOURCES,
    },
    Group {
        name: "authorization.k8s.io",
        priority: Some(17600),
        versions: &[v("v1", 15)],
        resources: crate::authorization::RESOURCES,
    },
    Group {
        name: "autoscaling",
        priority: Some(17500),
        versions: &[v("v2", 30), v("v1", 15)],
        resources: crate::autoscaling::RESOURCES,
    },
    Group { name: "batch", priority: Some(17400), versions: &[v("v1", 15)], resources: crate::batch::RESOURCES },
    Group {
        name: "certificates.k8s.io",
        priority: Some(17300),
        versions: &[v("v1", 15), v("v1beta1", 9), v("v1alpha1", 1)],
        resources: crate::certificates::RESOURCES,
    },
    Group {
        name: "networking.k8s.io",
        priority: Some(17200),
        versions: &[v("v1", 15), v("v1beta1", 9)],
        resources: crate::networking::RESOURCES,
    },
    Group { name: "policy", priority: Some(17100), versions: &[v("v1", 15)], resources: crate::policy::RESOURCES },
    Group {
        name: "rbac.authorization.k8s.io",
        priority: Some(17000),
        versions: &[v("v1", 15)],
        resources: crate::rbac::RESOURCES,
    },
    Group {
        name: "storage.k8s.io",
        priority: Some(16800),
        versions: &[v("v1", 15), v("v1beta1", 9)],
        resources: crate::storage::RESOURCES,
    },
    Group {
        name: "admissionregistration.k8s.io",
        priority: Some(16700),
        versions: &[v("v1", 15), v("v1beta1", 12), v("v1alpha1", 9)],
        resources: crate::admissionregistration::RESOURCES,
    },
    Group {
        name: "apiextensions.k8s.io",
        priority: Some(16700),
        versions: &[v("v1", 15)],
        resources: crate::apiextensions::RESOURCES,
    },
    Group {
        name: "scheduling.k8s.io",
        priority: Some(16600),
        versions: &[v("v1", 15), v("v1alpha2", 2)],
        resources: crate::scheduling::RESOURCES,
    },
    Group {
        name: "coordination.k8s.io",
        priority: Some(16500),
        versions: &[v("v1", 15), v("v1beta1", 13), v("v1alpha2", 12)],
        resources: crate::coordination::RESOURCES,
    },
    Group { name: "node.k8s.io", priority: Some(16300), versions: &[v("v1", 15)], resources: crate::node::RESOURCES },
    Group {
        name: "discovery.k8s.io",
        priority: Some(16200),
        versions: &[v("v1", 15)],
        resources: crate::discovery::RESOURCES,
    },
    Group {
        name: "resource.k8s.io",
        priority: Some(16200),
        versions: &[v("v1", 21), v("v1beta2", 15), v("v1beta1", 9), v("v1alpha3", 1)],
        resources: crate::dynamic_resources::RESOURCES,
    },
    Group {
        name: "flowcontrol.apiserver.k8s.io",
        priority: Some(16100),
        versions: &[v("v1", 21)],
        resources: crate::flowcontrol::RESOURCES,
    },
    Group {
        name: "internal.apiserver.k8s.io",
        priority: Some(16000),
        versions: &[v("v1alpha1", 9)],
        resources: crate::apiserverinternal::RESOURCES,
    },
    Group {
        name: "storagemigration.k8s.io",
        priority: Some(15800),
        versions: &[v("v1beta1", 9)],
        resources: crate::storagemigration::RESOURCES,
    },
];

/// Every version of every resource, in discovery's order.
pub fn all() -> impl Iterator<Item = &'static Resource> {
    GROUPS.iter().flat_map(|group| group.resources.iter().copied())
}

/// The resource of a group, a version and a plural name.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    let group = GROUPS.iter().find(|candidate| candidate.name == group)?;
    group.resources.iter().copied().find(|resource| resource.plural == plural && resource.version == version)
}

/// The names of the groups in discovery's order, the core group ("") first.
pub fn group_order() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.name)
}
