//! `ResourceTable`: every version of every resource that a server has; `Resources` publishes one table after another.
//!
//! A table never changes once it is published: a request reads one from its beginning to its end. Must never be locked by
//! readers, nor hold two resources of the same group, version and plural name.

use crate::{Resource, Selectable, Verbs};
use arc_swap::{ArcSwap, Guard};
use pintle_schema::{Compiled, Str};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// How a group ranks among the groups in discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPriorities {
    /// `groupPriorityMinimum` of its APIServices; the greatest of its versions counts.
    pub priority: i32,
    /// Whether it is a group of Kubernetes itself.
    pub built_in: bool,
}

/// How a version ranks among those of its group in discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionPriorities {
    pub group: GroupPriorities,
    /// `versionPriority` of its APIService.
    pub version: i32,
}

impl VersionPriorities {
    /// Priorities of custom resources, and of every group for which none were set.
    pub const CUSTOM: Self =
        VersionPriorities { group: GroupPriorities { priority: 1000, built_in: false }, version: 100 };
}

/// A resource in a table.
#[derive(Clone)]
struct Entry {
    resource: Arc<Resource>,
    is_served: bool,
}

/// A group's versions, each with its resources by plural name.
type Versions = HashMap<Str, HashMap<Str, Entry>>;

/// The versions of one stored resource.
pub struct StoredVersions {
    /// The resource in the storage version, or the first: it defines the selectable fields.
    pub hub: Arc<Resource>,
    /// All versions, served or not.
    pub versions: Vec<Arc<Resource>>,
    /// The fields whose values are kept beside an object: the hub's, and of a kind that was defined at run time those that
    /// only other versions select by.
    pub selectable: Vec<Selectable>,
    /// What a server has worked out from these versions.
    pub compiled: Compiled,
}

impl StoredVersions {
    /// `None` when there is no version.
    pub fn new(versions: Vec<Arc<Resource>>) -> Option<Self> {
        let is_hub = |resource: &&Arc<Resource>| {
            resource.storage.as_ref().is_some_and(|storage| resource.api_version() == storage.api_version)
        };
        let hub = versions.iter().find(is_hub).or_else(|| versions.first())?.clone();
        let mut selectable = hub.selectable.clone();
        for field in versions.iter().filter(|_| hub.custom.is_some()).flat_map(|version| &version.selectable) {
            if !selectable.iter().any(|known| known.label == field.label) {
                selectable.push(field.clone());
            }
        }
        Some(StoredVersions { hub, versions, selectable, compiled: Compiled::new() })
    }

    /// The version that an object is of; `None` if it is not defined any more.
    pub fn version(&self, api_version: &str) -> Option<&Arc<Resource>> {
        self.versions.iter().find(|version| version.api_version() == api_version)
    }

    /// Whether objects can be of another version than the storage version, as their conversion has to wait: they are converted
    /// when they are shown or written.
    pub fn converts_later(&self) -> bool {
        let conversions = self.versions.iter().filter_map(|version| version.storage.as_ref()?.conversion.as_ref());
        conversions.into_iter().any(|conversion| !conversion.is_immediate())
    }
}

/// The result of a look-up by path.
pub enum Found<'a> {
    Resource(&'a Arc<Resource>),
    /// The group is served, the version or the resource is not.
    NoResource,
    NoGroup,
}

/// What a table has of a group. Equal in two tables if nothing of the group has changed.
#[derive(Clone)]
pub struct TableGroup {
    versions: Arc<Versions>,
    priorities: Arc<BTreeMap<(Str, Str), VersionPriorities>>,
}

impl TableGroup {
    /// The served resources, unordered.
    pub fn served(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let entries = self.versions.values().flat_map(HashMap::values);
        entries.filter(|entry| entry.is_served).map(|entry| &entry.resource)
    }
}

impl PartialEq for TableGroup {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.versions, &other.versions) && Arc::ptr_eq(&self.priorities, &other.priorities)
    }
}

/// All resources that a server has at one time.
#[derive(Clone, Default)]
pub struct ResourceTable {
    generation: u64,
    // Persistent maps: a table of ten thousand resources is not copied for the next.
    groups: imbl::HashMap<Str, Arc<Versions>>,
    stored: imbl::HashMap<Str, Arc<StoredVersions>>,
    /// Under which prefix namespaces are stored.
    namespaces: Option<Str>,
    priorities: Arc<BTreeMap<(Str, Str), VersionPriorities>>,
}

impl ResourceTable {
    /// Greater in each table that is published after another.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The served resource that a path names.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Found<'_> {
        let Some(versions) = self.groups.get(group) else { return Found::NoGroup };
        match versions.get(version).and_then(|resources| resources.get(plural)).filter(|entry| entry.is_served) {
            Some(entry) => Found::Resource(&entry.resource),
            // A group without served versions does not exist.
            None if versions.values().flat_map(HashMap::values).any(|entry| entry.is_served) => Found::NoResource,
            None => Found::NoGroup,
        }
    }

    /// Whether a group has resources that were not defined at run time.
    pub fn is_built_in(&self, group: &str) -> bool {
        let versions = self.groups.get(group).into_iter().flat_map(|versions| versions.values());
        versions.flat_map(HashMap::values).any(|entry| entry.resource.custom.is_none())
    }

    /// Whether anything of a version is served.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.served_in(group, version).next().is_some()
    }

    /// What is served of a version, in no order.
    pub fn served_in(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        let resources = self.groups.get(group).and_then(|versions| versions.get(version));
        let entries = resources.into_iter().flat_map(HashMap::values);
        entries.filter(|entry| entry.is_served).map(|entry| &entry.resource)
    }

    /// Whether anything of a version is served that was not defined at run time.
    pub fn serves_built_in(&self, group: &str, version: &str) -> bool {
        self.served_in(group, version).any(|resource| resource.custom.is_none())
    }

    /// Whether objects are stored under a prefix whose kind was not defined at run time.
    pub fn stores_built_in(&self, prefix: &str) -> bool {
        self.stored(prefix).is_some_and(|stored| stored.versions.iter().any(|version| version.custom.is_none()))
    }

    /// A resource by its names, served or not.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.groups.get(group)?.get(version)?.get(plural).map(|entry| &entry.resource)
    }

    /// A resource by `apiVersion` and `kind`, served or not; internal resources, which have no verbs, are excluded.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resources = self.groups.get(group)?.get(version)?;
        // If a version has two resources of one kind, the stored one is returned, and rather one that was not defined at run time.
        let is_asked = |resource: &&Arc<Resource>| resource.kind == kind && resource.verbs != Verbs::NONE;
        let of_kind = resources.values().map(|entry| &entry.resource).filter(is_asked);
        of_kind.min_by_key(|resource| (resource.storage.is_none(), resource.custom.is_some()))
    }

    /// Every version of every resource, served or not, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.entries().map(|entry| &entry.resource)
    }

    /// Every version of every resource that is served, in no order.
    pub fn served(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.entries().filter(|entry| entry.is_served).map(|entry| &entry.resource)
    }

    /// The groups, unordered; nothing of a group may be served.
    pub fn groups(&self) -> impl Iterator<Item = (&Str, TableGroup)> {
        let group =
            |versions: &Arc<Versions>| TableGroup { versions: versions.clone(), priorities: self.priorities.clone() };
        self.groups.iter().map(move |(name, versions)| (name, group(versions)))
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.groups.values().flat_map(|versions| versions.values()).flat_map(HashMap::values)
    }

    /// The versions of the resource that is stored under a prefix.
    pub fn stored(&self, prefix: &str) -> Option<&Arc<StoredVersions>> {
        self.stored.get(prefix)
    }

    /// The resource of namespaces; `None` where every namespace exists.
    pub fn namespaces(&self) -> Option<&Arc<StoredVersions>> {
        self.stored(self.namespaces.as_ref()?)
    }

    /// All stored resources, each once, in no order.
    pub fn all_stored(&self) -> impl Iterator<Item = &Arc<StoredVersions>> {
        self.stored.values()
    }

    /// How a version and its group rank.
    pub fn priorities(&self, group: &str, version: &str) -> VersionPriorities {
        let key = (Str::from(group), Str::from(version));
        self.priorities.get(&key).copied().unwrap_or(VersionPriorities::CUSTOM)
    }

    /// Sets how a version and its group rank, before or after its resources are installed.
    pub fn rank(&mut self, group: Str, version: Str, priorities: VersionPriorities) {
        Arc::make_mut(&mut self.priorities).insert((group, version), priorities);
    }

    /// Adds a version of a resource, or replaces the one of the same names.
    pub fn install(&mut self, resource: Arc<Resource>, is_served: bool) {
        let versions = Arc::make_mut(self.groups.entry(resource.group.clone()).or_default());
        let resources = versions.entry(resource.version.clone()).or_default();
        let entry = Entry { resource: resource.clone(), is_served };
        let before = resources.insert(resource.plural.clone(), entry).map(|entry| entry.resource);
        if let Some(before) = before {
            self.forget_stored(&before);
        }
        self.add_stored(resource);
    }

    /// Removes a version of a resource. Returns whether it existed.
    pub fn remove(&mut self, group: &str, version: &str, plural: &str) -> bool {
        let Some(versions) = self.groups.get_mut(group) else { return false };
        let versions = Arc::make_mut(versions);
        let Some(resources) = versions.get_mut(version) else { return false };
        let Some(entry) = resources.remove(plural) else { return false };
        if resources.is_empty() {
            versions.remove(version);
        }
        if versions.is_empty() {
            self.groups.remove(group);
        }
        self.forget_stored(&entry.resource);
        true
    }

    fn add_stored(&mut self, resource: Arc<Resource>) {
        let Some(storage) = &resource.storage else { return };
        let mut versions = self.stored.get(&storage.prefix).map(|it| it.versions.clone()).unwrap_or_default();
        versions.push(resource.clone());
        self.set_stored(storage.prefix.clone(), versions);
    }

    fn forget_stored(&mut self, resource: &Arc<Resource>) {
        let Some(storage) = &resource.storage else { return };
        let Some(known) = self.stored.get(&storage.prefix) else { return };
        let versions = known.versions.iter().filter(|other| !Arc::ptr_eq(other, resource)).cloned().collect();
        self.set_stored(storage.prefix.clone(), versions);
    }

    fn set_stored(&mut self, prefix: Str, versions: Vec<Arc<Resource>>) {
        match StoredVersions::new(versions) {
            Some(versions) => {
                if versions.hub.strategy.is_namespace {
                    self.namespaces = Some(prefix.clone());
                }
                self.stored.insert(prefix, Arc::new(versions));
            }
            None => {
                self.namespaces.take_if(|namespaces| *namespaces == prefix);
                self.stored.remove(&prefix);
            }
        }
    }
}

/// The table that holds now, and word of each that follows.
pub struct Resources {
    current: ArcSwap<ResourceTable>,
    /// Held while a table is made from the one before; readers never take it.
    changing: Mutex<()>,
    changed: watch::Sender<u64>,
}

impl Default for Resources {
    fn default() -> Self {
        Resources::new(ResourceTable::default())
    }
}

impl Resources {
    pub fn new(table: ResourceTable) -> Self {
        let changed = watch::Sender::new(table.generation);
        Resources { current: ArcSwap::from_pointee(table), changing: Mutex::new(()), changed }
    }

    /// The table that holds now, to be read at once.
    pub fn read(&self) -> Guard<Arc<ResourceTable>> {
        self.current.load()
    }

    /// The table that holds now, to be kept for the length of a request.
    pub fn snapshot(&self) -> Arc<ResourceTable> {
        self.current.load_full()
    }

    /// Publishes a table that differs from the last one by a change. Changes are made one after another.
    pub fn update<T>(&self, change: impl FnOnce(&mut ResourceTable) -> T) -> T {
        let _guard = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = ResourceTable::clone(&self.current.load());
        let outcome = change(&mut table);
        table.generation += 1;
        let generation = table.generation;
        self.current.store(Arc::new(table));
        self.changed.send_replace(generation);
        outcome
    }

    /// Follows the generation of the table.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;
    use pintle_schema::{ApiType, Ref, ResourceNames};

    /// A kind.
    #[derive(ApiType)]
    struct Frobber {
        /// How high it is.
        #[k8s(proto = 1, optional)]
        height: Option<i32>,
    }

    fn version(version: &'static str) -> Arc<Resource> {
        let storage = Storage::named::<Frobber>("fun.example.com/v6", "Frobber", PREFIX);
        Arc::new(Resource {
            storage: Some(storage),
            ..Resource::named::<Frobber>(ResourceNames::namespaced(
                "fun.example.com",
                version,
                "frobbers",
                "frobber",
                "Frobber",
            ))
        })
    }

    const PREFIX: &str = "/registry/fun.example.com/frobbers/";

    #[test]
    fn versions_come_and_go_and_tables_that_are_read_stay() {
        let resources = Resources::default();
        let empty = resources.snapshot();
        resources.update(|table| table.install(version("v7beta1"), true));
        resources.update(|table| table.install(version("v6"), false));
        let table = resources.snapshot();
        assert!(matches!(empty.find("fun.example.com", "v6", "frobbers"), Found::NoGroup));
        assert!(matches!(table.find("fun.example.com", "v6", "frobbers"), Found::NoResource), "not served");
        let Found::Resource(found) = table.find("fun.example.com", "v7beta1", "frobbers") else { panic!("served") };
        assert_eq!(found.schema.name.as_str(), "Frobber");
        assert!(table.get("fun.example.com", "v6", "frobbers").is_some());
        assert_eq!(table.of_kind("fun.example.com/v6", "Frobber").map(|it| it.version.as_str()), Some("v6"));
        let stored = table.stored(PREFIX).expect("stored");
        assert_eq!((stored.hub.version.as_str(), stored.versions.len()), ("v6", 2));
        assert!(resources.update(|table| table.remove("fun.example.com", "v6", "frobbers")));
        let table = resources.snapshot();
        assert_eq!(table.stored(PREFIX).map(|it| it.hub.version.clone()), Some("v7beta1".into()));
        assert!(resources.update(|table| table.remove("fun.example.com", "v7beta1", "frobbers")));
        assert!(!resources.update(|table| table.remove("fun.example.com", "v7beta1", "frobbers")));
        let table = resources.snapshot();
        assert!(matches!(table.find("fun.example.com", "v7beta1", "frobbers"), Found::NoGroup));
        assert!(table.stored(PREFIX).is_none() && table.all().next().is_none());
        assert_eq!((table.generation(), *resources.changes().borrow()), (5, 5));
    }

    #[test]
    fn a_resource_of_the_same_names_replaces_the_one_before() {
        let mut table = ResourceTable::default();
        table.install(version("v6"), true);
        let moved = Resource {
            storage: Some(Storage::named::<Frobber>("", "", "/registry/elsewhere/frobbers/")),
            schema: Ref::Static(Frobber::schema),
            ..Resource::clone(&version("v6"))
        };
        table.install(Arc::new(moved), true);
        assert_eq!(table.all().count(), 1);
        assert!(table.stored(PREFIX).is_none() && table.stored("/registry/elsewhere/frobbers/").is_some());
    }
}
