//! `Catalog`: the served resources by group and version, in the order of discovery.
//!
//! It contains built-in, custom and aggregated resources. It is a snapshot: a change creates a new one.

use crate::openapi::names;
use crate::version::EffectiveVersion;
use pintle_resource::{
    Action, CustomKind, GroupPriorities, Resource, ResourceTable, Storage, Subresource, TableGroup, VersionPriorities,
};
use pintle_schema::{Ref, Str, Struct, Value};
use ring::digest::{SHA256, digest};
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Everything that is served.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Shared by the catalogs of successive tables as long as they do not change.
    groups: Vec<Arc<GroupEntry>>,
    server: ServerDescription,
}

/// What OpenAPI says about a server besides its resources.
#[derive(Clone, Debug, Default)]
pub struct ServerDescription {
    /// The release that it behaves as.
    pub version: EffectiveVersion,
    /// The documents at paths of their own.
    pub published: Vec<PublishedPath>,
    pub known_versions: KnownVersions,
    /// Whether it reads and writes CBOR.
    pub serves_cbor: bool,
    /// Whether OpenAPI is silent about the values of the enumerations of built-in types.
    pub hides_enums: bool,
    /// Whether discovery is silent about the versions in which built-in kinds are stored.
    pub hides_storage_version_hashes: bool,
}

/// The group versions that documents list for the kinds of every group; those of the catalog if there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownVersions {
    /// Groups and versions, sorted.
    pub all: &'static [(&'static str, &'static str)],
    /// Groups that documents of custom resources leave out.
    pub not_of_custom: &'static [&'static str],
}

/// A path with a document outside of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedPath {
    /// Without a slash at its end.
    pub path: &'static str,
    pub media_types: &'static [&'static str],
    pub operation_id: &'static str,
    pub tag: &'static str,
    /// What the document contains, in words.
    pub content: &'static str,
}

/// A group with its versions, the preferred one first.
#[derive(Clone)]
pub struct GroupEntry {
    /// "" for the core group.
    pub name: Str,
    pub versions: Vec<VersionEntry>,
    built_in: bool,
    /// The highest that any version gives its group.
    priority: i32,
    /// What it was made of; `None` if something was added to it since.
    made_of: Option<TableGroup>,
    /// Its item of aggregated discovery as JSON, made when first requested.
    pub(crate) aggregated: OnceLock<Vec<u8>>,
}

/// A version of a group with its resources in discovery's order.
#[derive(Clone)]
pub struct VersionEntry {
    pub name: Str,
    pub resources: Vec<DiscoveredResource>,
    /// Another server has the resources.
    pub is_remote: bool,
    /// Its resources in the form of aggregated discovery; `None` while unknown.
    pub reported: Option<Arc<Vec<Value>>>,
    priority: i32,
}

/// A version of a group that another server serves, and how both rank.
#[derive(Clone, Debug)]
pub struct AggregatedVersion {
    pub group: Str,
    pub version: Str,
    pub group_priority: i32,
    pub version_priority: i32,
    /// Its resources in the form of aggregated discovery; `None` while the server does not respond.
    pub resources: Option<Arc<Vec<Value>>>,
}

/// A resource as clients see it.
#[derive(Clone)]
pub struct DiscoveredResource {
    pub group: Str,
    pub version: Str,
    pub plural: Str,
    pub singular: Str,
    pub kind: Str,
    pub list_kind: Str,
    pub namespaced: bool,
    /// In the order of discovery.
    pub verbs: Vec<&'static str>,
    pub short_names: Vec<Str>,
    pub categories: Vec<Str>,
    pub storage_version_hash: Str,
    /// In the order of discovery.
    pub subresources: Vec<DiscoveredSubresource>,
    pub schema: Ref<Struct>,
    /// The custom kind, if the kind was defined at run time.
    pub custom: Option<Arc<dyn CustomKind>>,
    /// Whether a delete is declared to return the removed object.
    pub delete_declares_object: bool,
    /// Whether a strategic merge patch is understood: by all but custom resources.
    pub strategic_patch: bool,
}

/// A subresource as clients see it.
#[derive(Clone)]
pub struct DiscoveredSubresource {
    pub name: Str,
    pub kind: Str,
    /// Group and version of the kind when they are not the resource's.
    pub group_version: Option<(Str, Str)>,
    pub verbs: Vec<&'static str>,
    /// The type of request and response, or of the query's options if `stream` is set.
    pub schema: Option<Ref<Struct>>,
    /// Whether it opens a stream instead of reading and writing objects.
    pub stream: bool,
}

impl Catalog {
    /// The catalog of a resource table.
    pub fn of(table: &ResourceTable) -> Self {
        Catalog::default().next(table)
    }

    /// The catalog of another table, with the groups of this one that have not changed: a table may have ten thousand groups, or as
    /// many resources in one.
    #[must_use]
    pub fn next(&self, table: &ResourceTable) -> Self {
        let known: HashMap<&str, &Arc<GroupEntry>> = self.groups.iter().map(|group| (&*group.name, group)).collect();
        let groups = table.groups().filter_map(|(name, content)| {
            let same = known.get(&**name).filter(|group| group.made_of.as_ref() == Some(&content));
            same.map(|group| (*group).clone()).or_else(|| GroupEntry::of(name, content, table).map(Arc::new))
        });
        let mut groups: Vec<Arc<GroupEntry>> = groups.collect();
        groups.sort_by(|a, b| a.rank().cmp(&b.rank()));
        Catalog { groups, server: self.server.clone() }
    }

    /// The same of a server that this describes.
    #[must_use]
    pub fn of_server(mut self, server: ServerDescription) -> Self {
        self.server = server;
        self
    }

    /// The server, besides its resources.
    pub fn server(&self) -> &ServerDescription {
        &self.server
    }

    /// Adds a resource, and its group and version when they are new.
    pub fn add(&mut self, resource: DiscoveredResource, priorities: VersionPriorities) {
        let group = self.group_entry(&resource.group, priorities.group);
        let version = group.version_entry(&resource.version, priorities.version);
        let at = version.resources.partition_point(|other| other.plural < resource.plural);
        version.resources.insert(at, resource);
    }

    /// Adds a version of another server, unless it has built-in resources. Resources of it that were defined at run time are hidden.
    pub fn add_aggregated(&mut self, aggregated: &AggregatedVersion) {
        if self.version(&aggregated.group, &aggregated.version).is_none_or(VersionEntry::is_custom) {
            let priorities = GroupPriorities { priority: aggregated.group_priority, built_in: false };
            let group = self.group_entry(&aggregated.group, priorities);
            group.versions.retain(|version| version.name != aggregated.version);
            let version = group.version_entry(&aggregated.version, aggregated.version_priority);
            version.is_remote = true;
            version.reported.clone_from(&aggregated.resources);
        }
    }

    /// The same without the versions of other servers.
    #[must_use]
    pub fn without_aggregated(&self) -> Self {
        let own = |group: &Arc<GroupEntry>| {
            if !group.versions.iter().any(|version| version.is_remote) {
                return Some(group.clone());
            }
            let mut group = GroupEntry { aggregated: OnceLock::new(), ..GroupEntry::clone(group) };
            group.versions.retain(|version| !version.is_remote);
            (!group.versions.is_empty()).then(|| Arc::new(group))
        };
        Catalog { groups: self.groups.iter().filter_map(own).collect(), server: self.server.clone() }
    }

    /// The groups in discovery's order, the core group first.
    pub fn groups(&self) -> &[Arc<GroupEntry>] {
        &self.groups
    }

    pub fn group(&self, name: &str) -> Option<&GroupEntry> {
        self.groups.iter().find(|group| group.name == name).map(|group| &**group)
    }

    pub fn version(&self, group: &str, version: &str) -> Option<&VersionEntry> {
        self.group(group)?.versions.iter().find(|entry| entry.name == version)
    }

    /// Every resource of every version, in order.
    pub fn resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources)
    }

    /// The core group is the first, the others go by their priority.
    fn group_entry(&mut self, name: &Str, priorities: GroupPriorities) -> &mut GroupEntry {
        let GroupPriorities { priority, built_in } = priorities;
        let known = self.groups.iter().position(|group| group.name == *name);
        let mut entry = match known {
            Some(at) => Arc::unwrap_or_clone(self.groups.remove(at)),
            None => GroupEntry::new(name.clone(), built_in, priority),
        };
        entry.priority = entry.priority.max(priority);
        entry.built_in |= built_in;
        (entry.made_of, entry.aggregated) = (None, OnceLock::new());
        let at = self.groups.partition_point(|group| group.rank() < entry.rank());
        self.groups.insert(at, Arc::new(entry));
        Arc::make_mut(&mut self.groups[at])
    }
}

impl VersionEntry {
    /// Whether all resources of the version were defined at run time, so that no other type is in it.
    pub fn is_custom(&self) -> bool {
        !self.resources.is_empty() && self.resources.iter().all(|resource| resource.custom.is_some())
    }
}

impl GroupEntry {
    fn new(name: Str, built_in: bool, priority: i32) -> Self {
        let (made_of, aggregated) = (None, OnceLock::new());
        GroupEntry { name, versions: Vec::new(), built_in, priority, made_of, aggregated }
    }

    /// `None` if nothing of the group is served.
    fn of(name: &Str, content: TableGroup, table: &ResourceTable) -> Option<Self> {
        let mut entry: Option<GroupEntry> = None;
        for resource in content.served() {
            let VersionPriorities { group, version } = table.priorities(name, &resource.version);
            let entry = entry.get_or_insert_with(|| GroupEntry::new(name.clone(), group.built_in, group.priority));
            entry.priority = entry.priority.max(group.priority);
            entry.built_in |= group.built_in;
            let resources = &mut entry.version_entry(&resource.version, version).resources;
            resources.push(DiscoveredResource::from(&**resource));
        }
        let mut entry = entry?;
        // Sorted at the end, since a version may have ten thousand resources.
        let resources = entry.versions.iter_mut().map(|version| &mut version.resources);
        resources.for_each(|resources| resources.sort_by(|a, b| a.plural.cmp(&b.plural)));
        Some(GroupEntry { made_of: Some(content), ..entry })
    }

    /// Whether it is a group of Kubernetes itself.
    pub fn is_built_in(&self) -> bool {
        self.built_in
    }

    /// Whether all of its resources were defined at run time.
    pub fn is_custom(&self) -> bool {
        self.versions.iter().all(VersionEntry::is_custom)
    }

    /// Its sort key.
    fn rank(&self) -> (bool, Reverse<i32>, &str) {
        (!self.name.is_empty(), Reverse(self.priority), &self.name)
    }

    fn version_entry(&mut self, name: &Str, priority: i32) -> &mut VersionEntry {
        let before = |other: &VersionEntry| {
            priority.cmp(&other.priority).then_with(|| compare_versions(&other.name, name)).is_lt()
        };
        let at = self.versions.partition_point(before);
        if self.versions.get(at).is_none_or(|version| version.name != *name) {
            let (resources, reported) = (Vec::new(), None);
            let entry = VersionEntry { name: name.clone(), resources, is_remote: false, reported, priority };
            self.versions.insert(at, entry);
        }
        &mut self.versions[at]
    }
}

/// Kubernetes' order of version names, the preferred one less: stable before beta before alpha, newer before older,
/// names of another form last, by alphabet.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// `v2beta1` as (stability, 2, 1); greater is preferred.
fn parse_version(name: &str) -> Option<(u8, u32, u32)> {
    let rest = name.strip_prefix('v')?;
    let number = |text: &str| match text.starts_with(|c: char| matches!(c, '1'..='9')) {
        true => text.parse::<u32>().ok(),
        false => None,
    };
    if let Some((major, minor)) = rest.split_once("beta") {
        return Some((1, number(major)?, number(minor)?));
    }
    if let Some((major, minor)) = rest.split_once("alpha") {
        return Some((0, number(major)?, number(minor)?));
    }
    Some((2, number(rest)?, 0))
}

impl DiscoveredResource {
    /// As in `apiVersion`.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The full name of the kind's type in OpenAPI.
    pub(crate) fn type_name(&self) -> String {
        names::of_kind(&self.schema, &self.group, &self.version, &self.kind)
    }
}

/// Group and version as in `apiVersion`.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// The hash by which discovery identifies the storage version of a kind.
pub fn storage_version_hash(group: &str, storage_version: &str, kind: &str) -> String {
    let digest = digest(&SHA256, format!("{group}/{storage_version}/{kind}").as_bytes());
    pintle_schema::base64::encode(digest.as_ref().get(..8).unwrap_or_default())
}

/// The same of the version that objects are kept in.
fn kept_version_hash(storage: &Storage) -> Str {
    let kept = storage.kept_as.as_ref().unwrap_or(&storage.api_version);
    let (group, version) = kept.rsplit_once('/').unwrap_or(("", kept));
    storage_version_hash(group, version, &storage.kind).into()
}

impl From<&Resource> for DiscoveredResource {
    fn from(resource: &Resource) -> Self {
        DiscoveredResource {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            singular: resource.singular.clone(),
            kind: resource.kind.clone(),
            list_kind: Str::from(resource.list_kind().into_owned()),
            namespaced: resource.namespaced,
            verbs: resource.verb_names(),
            short_names: resource.short_names.clone(),
            categories: resource.categories.clone(),
            storage_version_hash: resource.storage.as_ref().map(kept_version_hash).unwrap_or_default(),
            subresources: resource.subresources.iter().map(DiscoveredSubresource::from).collect(),
            schema: resource.schema.clone(),
            custom: resource.custom.clone(),
            delete_declares_object: resource.strategy.delete_answers_object
                && !resource.strategy.delete_declares_status,
            strategic_patch: resource.custom.is_none(),
        }
    }
}

impl From<&Subresource> for DiscoveredSubresource {
    fn from(subresource: &Subresource) -> Self {
        DiscoveredSubresource {
            name: subresource.name.clone(),
            kind: subresource.kind.clone(),
            group_version: subresource.group_version.clone(),
            verbs: subresource.verbs.names().collect(),
            schema: subresource.schema.clone(),
            stream: matches!(subresource.action, Action::Connect),
        }
    }
}
