//! The API groups in discovery's order, their versions in order of preference, and look-ups in all resources.
//!
//! The one list that names every group; it never says anything about a kind.

use crate::defaulting::DEFAULTS;
use crate::internal::internal;
use crate::rules::{validator, warnings};
use crate::{printing, unserved};
use pintle_resource::{GroupPriorities, Resource, ResourceTable, Resources, VersionPriorities};
use pintle_schema::Str;
use std::sync::{Arc, LazyLock};

/// An API group.
pub struct Group {
    /// "" is the core group.
    pub name: &'static str,
    /// How the group ranks in discovery; `None` for apiregistration, which has no APIService of its own.
    pub priority: Option<i32>,
    /// The preferred one first.
    pub versions: &'static [GroupVersion],
    /// In discovery's order: by version, then by name.
    resources: fn() -> Vec<Resource>,
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
    Group { name: "", priority: Some(18000), versions: &[v("v1", 1)], resources: crate::core::resources },
    Group {
        name: "apiregistration.k8s.io",
        priority: None,
        versions: &[v("v1", 0)],
        resources: crate::apiregistration::resources,
    },
    Group { name: "apps", priority: Some(17800), versions: &[v("v1", 15)], resources: crate::apps::resources },
    Group {
        name: "events.k8s.io",
        priority: Some(17750),
        versions: &[v("v1", 15)],
        resources: crate::events::resources,
    },
    Group {
        name: "authentication.k8s.io",
        priority: Some(17700),
        versions: &[v("v1", 15)],
        resources: crate::authentication::resources,
    },
    Group {
        name: "authorization.k8s.io",
        priority: Some(17600),
        versions: &[v("v1", 15)],
        resources: crate::authorization::resources,
    },
    Group {
        name: "autoscaling",
        priority: Some(17500),
        versions: &[v("v2", 30), v("v1", 15)],
        resources: crate::autoscaling::resources,
    },
    Group { name: "batch", priority: Some(17400), versions: &[v("v1", 15)], resources: crate::batch::resources },
    Group {
        name: "certificates.k8s.io",
        priority: Some(17300),
        versions: &[v("v1", 15), v("v1beta1", 9), v("v1alpha1", 1)],
        resources: crate::certificates::resources,
    },
    Group {
        name: "networking.k8s.io",
        priority: Some(17200),
        versions: &[v("v1", 15), v("v1beta1", 9)],
        resources: crate::networking::resources,
    },
    Group { name: "policy", priority: Some(17100), versions: &[v("v1", 15)], resources: crate::policy::resources },
    Group {
        name: "rbac.authorization.k8s.io",
        priority: Some(17000),
        versions: &[v("v1", 15)],
        resources: crate::rbac::resources,
    },
    Group {
        name: "storage.k8s.io",
        priority: Some(16800),
        versions: &[v("v1", 15), v("v1beta1", 9)],
        resources: crate::storage::resources,
    },
    Group {
        name: "admissionregistration.k8s.io",
        priority: Some(16700),
        versions: &[v("v1", 15), v("v1beta1", 12), v("v1alpha1", 9)],
        resources: crate::admissionregistration::resources,
    },
    Group {
        name: "apiextensions.k8s.io",
        priority: Some(16700),
        versions: &[v("v1", 15)],
        resources: crate::apiextensions::resources,
    },
    Group {
        name: "scheduling.k8s.io",
        priority: Some(16600),
        versions: &[v("v1", 15), v("v1alpha2", 2)],
        resources: crate::scheduling::resources,
    },
    Group {
        name: "coordination.k8s.io",
        priority: Some(16500),
        versions: &[v("v1", 15), v("v1beta1", 13), v("v1alpha2", 12)],
        resources: crate::coordination::resources,
    },
    Group { name: "node.k8s.io", priority: Some(16300), versions: &[v("v1", 15)], resources: crate::node::resources },
    Group {
        name: "discovery.k8s.io",
        priority: Some(16200),
        versions: &[v("v1", 15)],
        resources: crate::discovery::resources,
    },
    Group {
        name: "resource.k8s.io",
        priority: Some(16200),
        versions: &[v("v1", 21), v("v1beta2", 15), v("v1beta1", 9), v("v1alpha3", 1)],
        resources: crate::resource::resources,
    },
    Group {
        name: "flowcontrol.apiserver.k8s.io",
        priority: Some(16100),
        versions: &[v("v1", 21)],
        resources: crate::flowcontrol::resources,
    },
    Group {
        name: "internal.apiserver.k8s.io",
        priority: Some(16000),
        versions: &[v("v1alpha1", 9)],
        resources: crate::apiserverinternal::resources,
    },
    Group {
        name: "storagemigration.k8s.io",
        priority: Some(15800),
        versions: &[v("v1beta1", 9)],
        resources: crate::storagemigration::resources,
    },
];

/// The built-in resources, made when first asked for.
static RESOURCES: LazyLock<Vec<Arc<Resource>>> =
    LazyLock::new(|| GROUPS.iter().flat_map(|group| (group.resources)()).map(complete).map(Arc::new).collect());

/// A resource with its defaults, columns, rules and warnings, which stand in tables of their own.
fn complete(resource: Resource) -> Resource {
    let stored = resource.storage.as_ref();
    let api_version = stored.map_or_else(|| resource.api_version(), |storage| storage.api_version.to_string());
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = stored.map_or(&resource.kind, |storage| &storage.kind);
    Resource {
        unserved: stored.map(|storage| unserved::of(&storage.prefix)).unwrap_or_default(),
        defaults: DEFAULTS.clone(),
        printer: Arc::new(printing::printer(group, kind)),
        hidden_annotations: printing::hidden_annotations(group, kind),
        rules: validator().clone(),
        warn: stored.and_then(|storage| warnings::of(&storage.schema)),
        ..resource
    }
}

/// Every version of every resource, in discovery's order.
pub fn all() -> impl Iterator<Item = &'static Arc<Resource>> {
    RESOURCES.iter()
}

/// The resource of a group, a version and a plural name.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Arc<Resource>> {
    all().find(|one| one.plural == plural && one.group == group && one.version == version)
}

/// The built-in resources as a table, of which those are served that a condition chooses.
pub fn table(is_served: impl Fn(&Resource) -> bool) -> ResourceTable {
    let mut table = ResourceTable::default();
    for group in GROUPS {
        for version in group.versions {
            let priority = group.priority.unwrap_or(FIRST_PRIORITY);
            let group_priorities = GroupPriorities { priority, built_in: true };
            let priorities = VersionPriorities { group: group_priorities, version: version.priority };
            table.rank(Str::new_static(group.name), Str::new_static(version.name), priorities);
        }
    }
    all().for_each(|resource| table.install(resource.clone(), is_served(resource)));
    internal().for_each(|resource| table.install(resource.clone(), false));
    table
}

/// A table of the built-in resources, all of them served, to which others can be added.
pub fn resources() -> Arc<Resources> {
    Arc::new(Resources::new(table(|_| true)))
}

/// Of the one group that no APIService can precede.
const FIRST_PRIORITY: i32 = 20_001;

/// The names of the groups in discovery's order, the core group ("") first.
pub fn group_order() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.name)
}
