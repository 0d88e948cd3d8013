//! `Group`: an API group with its versions and resources, as it is installed in a table.
//!
//! The built-in groups and those of others are installed by the same call. Nothing here knows a group by name.

use crate::table::{GroupPriorities, ResourceTable, VersionPriorities};
use crate::{Resource, Storage};
use pintle_schema::Str;
use std::sync::Arc;

/// A version of an API group.
#[derive(Clone, Debug)]
pub struct GroupVersion {
    pub name: Str,
    /// The priority of the version in its group: `versionPriority` of its APIService.
    pub priority: i32,
}

/// An API group, complete with its resources.
#[derive(Clone)]
pub struct Group {
    /// "" is the core group.
    pub name: Str,
    /// The priority of the group in discovery: `groupPriorityMinimum` of its APIServices. `None` for the group of the
    /// APIServices themselves, which comes before the others.
    pub priority: Option<i32>,
    /// Whether it is a group of Kubernetes itself.
    pub built_in: bool,
    /// The preferred one first.
    pub versions: Vec<GroupVersion>,
    /// In discovery's order: by version, then by name.
    pub resources: Vec<Arc<Resource>>,
    /// Resources that servers keep in a shared store for each other; never served.
    pub internal: Vec<Arc<Resource>>,
}

impl Group {
    /// A group of one's own, with all versions of its resources. It ranks in discovery as the groups of custom resources do.
    pub fn new(name: &'static str, resources: impl IntoIterator<Item = Resource>) -> Self {
        let resources: Vec<_> = resources.into_iter().map(Arc::new).collect();
        let mut versions: Vec<GroupVersion> = Vec::new();
        for resource in &resources {
            if versions.iter().all(|version| version.name != resource.version) {
                let priority = VersionPriorities::CUSTOM.version;
                versions.push(GroupVersion { name: resource.version.clone(), priority });
            }
        }
        let priority = Some(VersionPriorities::CUSTOM.group.priority);
        let name = Str::new_static(name);
        Group { name, priority, built_in: false, versions, resources, internal: Vec::new() }
    }
}

impl Group {
    /// The same group for stores that are shared with servers of a minor release of Kubernetes 1: resources are kept in the
    /// preferred version that the release knows. A resource that is stored in another than its preferred version is left as
    /// it is, and so is one that the release does not know.
    pub fn kept_for(mut self, minor: u32) -> Self {
        let older: Vec<(Str, Str)> = self.resources.iter().filter_map(|it| self.kept_as(it, minor)).collect();
        for resource in &mut self.resources {
            let Some(storage) = &resource.storage else { continue };
            let Some((_, version)) = older.iter().find(|(prefix, _)| *prefix == storage.prefix) else { continue };
            let storage = Some(Storage { kept_as: Some(version.clone()), ..storage.clone() });
            *resource = Arc::new(Resource { storage, ..Resource::clone(resource) });
        }
        self
    }

    /// Where a resource is stored, and the older version that is kept there, if it is the preferred version, which the release does
    /// not know.
    fn kept_as(&self, resource: &Resource, minor: u32) -> Option<(Str, Str)> {
        let storage = resource.storage.as_ref()?;
        if resource.introduced <= minor || resource.api_version() != storage.api_version {
            return None;
        }
        let is_other = |other: &&Arc<Resource>| other.plural == resource.plural;
        let first = self.resources.iter().find(is_other)?;
        let older = self.resources.iter().filter(is_other).find(|other| other.introduced <= minor)?;
        (first.version == resource.version).then(|| (storage.prefix.clone(), older.api_version().into()))
    }
}

/// Above all priorities that an APIService can have.
const FIRST_PRIORITY: i32 = 20_001;

impl ResourceTable {
    /// Adds all versions and resources of a group, or replaces those of the same names. A condition chooses the resources
    /// that are served.
    pub fn install_group(&mut self, group: &Group, is_served: impl Fn(&Resource) -> bool) {
        let priority = group.priority.unwrap_or(FIRST_PRIORITY);
        let priorities = GroupPriorities { priority, built_in: group.built_in };
        for version in &group.versions {
            let priorities = VersionPriorities { group: priorities, version: version.priority };
            self.rank(group.name.clone(), version.name.clone(), priorities);
        }
        group.resources.iter().for_each(|resource| self.install(resource.clone(), is_served(resource)));
        group.internal.iter().for_each(|resource| self.install(resource.clone(), false));
    }
}
