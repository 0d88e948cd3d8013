//! `Group`: an API group with its versions and resources, as it is installed in a table.
//!
//! The built-in groups and those of others are installed by the same call. Nothing here knows a group by name.

use crate::Resource;
use crate::table::{GroupPriorities, ResourceTable, VersionPriorities};
use pintle_schema::Str;
use std::sync::Arc;

/// A version of an API group.
#[derive(Clone, Debug)]
pub struct GroupVersion {
    pub name: Str,
    /// How the version ranks in its group: what `versionPriority` of its APIService says.
    pub priority: i32,
}

/// An API group, complete with its resources.
#[derive(Clone)]
pub struct Group {
    /// "" is the core group.
    pub name: Str,
    /// How the group ranks in discovery: what `groupPriorityMinimum` of its APIServices says. `None` for the group of the
    /// APIServices themselves, which has none of its own and comes before those that do.
    pub priority: Option<i32>,
    /// Whether it is a group of Kubernetes itself.
    pub built_in: bool,
    /// The preferred one first.
    pub versions: Vec<GroupVersion>,
    /// In discovery's order: by version, then by name.
    pub resources: Vec<Arc<Resource>>,
    /// What servers that share a store keep there for each other; it is never served.
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
