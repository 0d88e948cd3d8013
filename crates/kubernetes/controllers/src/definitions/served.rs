//! `ServedDefinitions`: the resources of the stored definitions, in the table of resources.
//!
//! Guarantees that a request that follows a change of a definition is served by it, and that no two definitions of a group have the
//! same name: names are given in the order of writes, by one thread at a time. Must never write to the store.

use super::claimed_names::ClaimedNames;
use super::{GROUP, PLURAL};
use crate::queue::Queue;
use arc_swap::ArcSwapOption;
use pintle_cache::objects::{Difference, Objects};
use pintle_cache::{Object, State};
use pintle_extensions::definition;
use pintle_extensions::naming::{Accepted, NamesInUse, accept};
use pintle_extensions::resource::resources;
use pintle_registry::defined::DefinedResource;
use pintle_registry::{DefinitionInstaller, Registry, Target};
use pintle_resource::{DefinedBy, Resource, ResourceTable, Storage};
use pintle_schema::Value;
use pintle_storage::{Key, Revision};
use pintle_webhook::Clients;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::once;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tracing::error;

/// The installed resources of a definition.
#[derive(Clone, Debug, Default)]
struct Installed {
    /// The uid of the definition, which distinguishes it from another of the same name.
    uid: String,
    generation: i64,
    /// Whether creation is rejected because the definition is being deleted.
    is_terminating: bool,
    group: String,
    plural: String,
    versions: Vec<String>,
    /// The served versions.
    served: Vec<String>,
    /// The names of the resources.
    names: Value,
    /// What writes of these resources depend on.
    defined_by: Option<Arc<DefinedBy>>,
}

impl Installed {
    /// Without versions, which are added when they are built.
    fn of(definition: &Value) -> Self {
        let metadata = |field: &str| definition.at(&["metadata", field]);
        Installed {
            uid: uid_of(definition).to_owned(),
            generation: metadata("generation").and_then(Value::as_i64).unwrap_or_default(),
            is_terminating: metadata("deletionTimestamp").is_some_and(|time| !time.is_null()),
            group: definition.str_at(&["spec", "group"]).to_owned(),
            plural: definition.str_at(&["status", "acceptedNames", "plural"]).to_owned(),
            versions: Vec::new(),
            served: Vec::new(),
            names: definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_default(),
            defined_by: None,
        }
    }

    /// Whether both have the same resources of the same definition.
    fn is_same(&self, other: &Installed) -> bool {
        (&self.uid, self.generation, self.is_terminating) == (&other.uid, other.generation, other.is_terminating)
            && pintle_resource::same(&self.names, &other.names)
    }

    /// If the definition makes these resources, writes that they prepared may be committed under it.
    fn confirm(&self, definition: &Value) -> bool {
        let is_same = self.is_same(&Installed::of(definition));
        if let Some(defined_by) = self.defined_by.as_ref().filter(|_| is_same) {
            defined_by.confirm(revision_of(definition));
        }
        is_same
    }
}

fn uid_of(definition: &Value) -> &str {
    definition.str_at(&["metadata", "uid"])
}

fn revision_of(definition: &Value) -> u64 {
    definition.str_at(&["metadata", "resourceVersion"]).parse().unwrap_or_default()
}

/// The resources of a definition beside those that the table has; notes their versions.
fn defined(
    definition: &Value,
    installed: &mut Installed,
    table: &ResourceTable,
    webhooks: &Arc<Clients>,
) -> DefinedResource {
    let versions = beside_built_in(table, resources(definition, webhooks));
    let served = versions.iter().filter(|(_, is_served)| *is_served);
    installed.served = served.map(|(version, _)| version.version.to_string()).collect();
    installed.versions = versions.iter().map(|(version, _)| version.version.to_string()).collect();
    let custom = versions.first().and_then(|(version, _)| version.custom.as_ref());
    installed.defined_by = custom.map(|custom| custom.defined_by().clone());
    DefinedResource { versions, defined_at: Revision(revision_of(definition)) }
}

/// The versions of a resource that are installed beside the built-in ones. A version in which there are built-in resources is hidden by
/// them and not served. Nothing is served that would take the place of a built-in resource, or whose objects would be among its own.
fn beside_built_in(table: &ResourceTable, mut versions: Vec<(Arc<Resource>, bool)>) -> Vec<(Arc<Resource>, bool)> {
    let is_built_in = |version: &Resource| {
        let known = table.get(&version.group, &version.version, &version.plural);
        known.is_some_and(|known| known.custom.is_none())
    };
    let takes_storage = |version: &Resource| {
        let is_stored = |storage: &Storage| version.api_version() == storage.api_version && is_built_in(version);
        version.storage.as_ref().is_some_and(|storage| table.stores_built_in(&storage.prefix) || is_stored(storage))
    };
    if versions.iter().any(|(version, _)| takes_storage(version)) {
        return Vec::new();
    }
    versions.retain(|(version, _)| !is_built_in(version));
    for (version, is_served) in &mut versions {
        *is_served &= !table.serves_built_in(&version.group, &version.version);
    }
    versions
}

/// What is known of the definitions.
#[derive(Default)]
struct Known {
    /// The names that definitions have been given.
    claims: ClaimedNames,
    /// The definitions that wait for a name, by group.
    waiting: BTreeMap<String, BTreeSet<Key>>,
    installed: HashMap<String, Installed>,
    /// Group-versions that a definition served before.
    unserved: BTreeSet<(String, String)>,
}

impl Known {
    /// The names that a definition is given; those of others count before it.
    fn accept(&self, name: &str, definition: &Value) -> Accepted {
        let own = NamesInUse::of(definition);
        let of_group = self.claims.of_group(definition.str_at(&["spec", "group"]));
        accept(definition, of_group.filter(|(other, _)| *other != name).map(|(_, claims)| claims).chain(once(&own)))
    }

    /// Records that versions are no longer served, but for those that `now` serves.
    fn note_unserved(&mut self, before: Installed, now: &[String]) {
        let gone = before.served.into_iter().filter(|version| !now.contains(version));
        self.unserved.extend(gone.map(|version| (before.group.clone(), version)));
    }
}

/// One step from a state of the cache to the next.
#[derive(Default)]
struct Step {
    /// The resources to install.
    install: Vec<DefinedResource>,
    /// Those that are defined no more in a way in which they can be installed.
    uninstall: Vec<Installed>,
    /// The groups in which names have become free.
    freed: BTreeSet<String>,
    /// The definitions that have changed.
    changed: Vec<String>,
}

/// The definitions that are stored and installed.
pub struct ServedDefinitions {
    registry: Arc<Registry>,
    /// Calls conversion webhooks.
    webhooks: Arc<Clients>,
    /// The collection of definitions.
    target: Target,
    /// The state whose definitions are installed.
    applied: ArcSwapOption<State>,
    /// Held during a step.
    applying: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    /// The names of definitions whose status or APIServices may have to follow.
    pub(super) queue: Queue<String>,
}

impl ServedDefinitions {
    /// Follows the definitions in a registry; `None` if it stores none.
    pub fn follow(registry: Arc<Registry>, webhooks: Arc<Clients>) -> Option<Arc<ServedDefinitions>> {
        let target = registry.stored_target(&format!("/registry/{GROUP}/{PLURAL}/"), "", "")?;
        let definitions = Arc::new(ServedDefinitions {
            registry,
            webhooks,
            target,
            applied: ArcSwapOption::empty(),
            applying: tokio::sync::Mutex::new(()),
            known: Mutex::default(),
            queue: Queue::new("crd_naming_condition_controller"),
        });
        definitions.registry.set_definition_installer(&definitions);
        Some(definitions)
    }

    /// Installs changes that no request waits for, until the future is dropped.
    pub async fn work(&self) {
        let cache = &self.target.cache;
        let mut changes = cache.cursor(Revision(0));
        loop {
            // The events themselves are not needed: a step compares states.
            if changes.visit(usize::MAX, |_| {}).is_err() {
                let state = cache.state();
                changes = cache.cursor(state.last.max(state.compacted));
            }
            if !self.is_current() {
                self.install().await;
            }
            changes.changed().await;
        }
    }

    /// The names that a definition is given.
    pub(super) fn accept(&self, name: &str, definition: &Value) -> Accepted {
        self.known().accept(name, definition)
    }

    /// The prefix of the objects of a definition, if its resources are installed.
    pub(super) fn prefix_of(&self, name: &str, definition: &Value) -> Option<String> {
        let known = self.known();
        let of = |installed: &&Installed| installed.uid == uid_of(definition) && !installed.versions.is_empty();
        let installed = known.installed.get(name).filter(of)?;
        Some(format!("/registry/{}/{}/", installed.group, installed.plural))
    }

    /// Whether the objects of a definition would be stored among those of a built-in resource.
    pub(super) fn overlaps_built_in(&self, definition: &Value) -> bool {
        let text = |path: &[&str]| definition.str_at(path);
        let (group, plural) = (text(&["spec", "group"]), text(&["spec", "names", "plural"]));
        self.registry.resources.read().stores_built_in(&format!("/registry/{group}/{plural}/"))
    }

    /// The group and the served versions of a definition.
    pub(super) fn served_versions(&self, name: &str) -> (String, Vec<String>) {
        let known = self.known();
        known.installed.get(name).map(|of| (of.group.clone(), of.served.clone())).unwrap_or_default()
    }

    /// The name of a definition that serves a version, if there is one.
    pub(super) fn definition_of(&self, group: &str, version: &str) -> Option<String> {
        let table = self.registry.resources.read();
        let custom = table.served_in(group, version).find_map(|resource| resource.custom.as_ref())?;
        custom.defined_by().key().rsplit('/').next().map(str::to_owned)
    }

    /// Takes a version that a definition served before, if there is one, and whether another definition serves it now.
    pub(super) fn take_unserved(&self) -> Option<((String, String), bool)> {
        let mut known = self.known();
        let (group, version) = known.unserved.pop_first()?;
        let serves = |of: &Installed| of.group == group && of.served.contains(&version);
        let is_served = known.installed.values().any(serves);
        Some(((group, version), is_served))
    }

    /// Gives back a version that was taken.
    pub(super) fn return_unserved(&self, version: (String, String)) {
        self.known().unserved.insert(version);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Installs the definitions that have changed since the last step, all at once, and uninstalls those that are gone.
    fn apply(&self) {
        let state = self.target.cache.state();
        let before = self.applied.load_full();
        let nothing = Objects::default();
        let mut changed = Vec::new();
        let mut step = Step::default();
        for difference in state.objects.changes_since(before.as_ref().map_or(&nothing, |before| &before.objects)) {
            match difference {
                Difference::Set(object) => changed.push(object.clone()),
                Difference::Removed(object) => self.withdraw(object.name(), &mut step),
            }
        }
        // Every server gives names in this order.
        changed.sort_by_key(|object| object.revision);
        // The names that definitions have count before those that others ask for.
        changed.retain(|object| !self.decide_settled(object, &mut step));
        changed.iter().for_each(|object| self.decide(object, &mut step));
        for object in self.waiting(&state, &step.freed) {
            self.decide(&object, &mut step);
        }
        if !step.install.is_empty() {
            self.registry.install_defined(&step.install);
        }
        step.uninstall.iter().for_each(|installed| self.uninstall(installed));
        self.applied.store(Some(state));
        step.changed.into_iter().for_each(|name| self.queue.add(name, Duration::ZERO));
    }

    /// Decides about a definition if it is served under the names that it asks for; returns whether it is. Of any other one it
    /// notes the names that it has. Only one definition is decoded at a time.
    fn decide_settled(&self, object: &Object, step: &mut Step) -> bool {
        let Ok(definition) = self.registry.decode(&self.target, object) else { return true };
        let is_settled = has_settled(&definition);
        if is_settled {
            self.decide_safely(object, definition, step);
        } else if self.known().claims.get(object.name()).is_none() {
            self.known().claims.insert(object.name().to_owned(), NamesInUse::of(&definition));
        }
        is_settled
    }

    /// Decides whether a definition is served, and under which names. One that cannot be decoded stays as it was.
    fn decide(&self, object: &Object, step: &mut Step) {
        if let Ok(definition) = self.registry.decode(&self.target, object) {
            self.decide_safely(object, definition, step);
        }
    }

    /// A panic about one definition must not concern the others, nor requests that wait for them.
    fn decide_safely(&self, object: &Object, definition: Value, step: &mut Step) {
        let decide = AssertUnwindSafe(|| self.decide_decoded(object, definition, step));
        if catch_unwind(decide).is_err() {
            error!("the resources of the definition {} cannot be made", object.name());
        }
    }

    fn decide_decoded(&self, object: &Object, mut definition: Value, step: &mut Step) {
        let name = object.name();
        let is_other = self.known().installed.get(name).is_some_and(|before| before.uid != uid_of(&definition));
        if is_other {
            self.withdraw(name, step);
        }
        let known = &mut *self.known();
        let group = definition.str_at(&["spec", "group"]).to_owned();
        let mut has_names = true;
        if !has_settled(&definition) {
            let accepted = known.accept(name, &definition);
            definition.set_at(&["status", "acceptedNames"], accepted.names);
            has_names = accepted.condition.holds;
        }
        match has_names {
            true => forget(&mut known.waiting, &group, &object.key),
            false => _ = known.waiting.entry(group.clone()).or_default().insert(object.key.clone()),
        }
        let claims = NamesInUse::of(&definition);
        if known.claims.get(name).is_some_and(|before| has_freed(before, &claims)) {
            step.freed.insert(group);
        }
        known.claims.insert(name.to_owned(), claims);
        step.changed.push(name.to_owned());
        // Once established, a definition stays so under its accepted names.
        let can_serve = has_names && !definition::has_unusable_authorities(&definition);
        if !can_serve && !definition::is_established(&definition) {
            return;
        }
        if known.installed.get(name).is_some_and(|before| before.confirm(&definition)) {
            return;
        }
        let mut now = Installed::of(&definition);
        let table = self.registry.resources.snapshot();
        step.install.push(defined(&definition, &mut now, &table, &self.webhooks));
        if let Some(before) = known.installed.insert(name.to_owned(), now.clone()) {
            if now.versions.is_empty() {
                step.uninstall.push(before.clone());
            }
            known.note_unserved(before, &now.served);
        }
    }

    fn uninstall(&self, installed: &Installed) {
        for version in &installed.versions {
            self.registry.uninstall(&installed.group, version, &installed.plural);
        }
    }

    /// The definitions of these groups that wait for a name.
    fn waiting(&self, state: &State, groups: &BTreeSet<String>) -> Vec<Arc<Object>> {
        let known = self.known();
        let keys = groups.iter().filter_map(|group| known.waiting.get(group)).flatten();
        let mut objects: Vec<_> = keys.filter_map(|key| state.objects.get(key).cloned()).collect();
        objects.sort_by_key(|object| object.revision);
        objects
    }

    /// Uninstalls the resources of a deleted definition.
    fn withdraw(&self, name: &str, step: &mut Step) {
        let (installed, claims) = {
            let known = &mut *self.known();
            let claims = known.claims.remove(name);
            if let Some(claims) = &claims {
                forget(&mut known.waiting, &claims.group, &self.target.storage().key("", name).into());
            }
            (known.installed.remove(name), claims)
        };
        if let Some(installed) = installed {
            self.uninstall(&installed);
            self.known().note_unserved(installed, &[]);
        }
        step.freed.extend(claims.map(|claims| claims.group));
        step.changed.push(name.to_owned());
    }
}

/// Whether a definition is served under the names that it asks for.
fn has_settled(definition: &Value) -> bool {
    definition::is_established(definition) && definition::has_its_names(definition)
}

/// Whether a definition has given back a name.
fn has_freed(before: &NamesInUse, now: &NamesInUse) -> bool {
    let gone = |before: &[String], now: &[String]| before.iter().any(|name| !name.is_empty() && !now.contains(name));
    gone(&before.resources, &now.resources) || gone(&before.kinds, &now.kinds)
}

/// A definition does not wait for a name any more.
fn forget(waiting: &mut BTreeMap<String, BTreeSet<Key>>, group: &str, key: &Key) {
    if let Some(keys) = waiting.get_mut(group) {
        keys.remove(key);
        if keys.is_empty() {
            waiting.remove(group);
        }
    }
}

impl DefinitionInstaller for ServedDefinitions {
    fn prefix(&self) -> &str {
        &self.target.cache.prefix
    }

    fn is_current(&self) -> bool {
        let state = self.target.cache.state();
        self.applied.load().as_ref().is_some_and(|applied| Arc::ptr_eq(applied, &state))
    }

    fn install(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let _guard = self.applying.lock().await;
            if self.is_current() {
                return;
            }
            // Objects that are stored under the definitions may have to be read anew.
            match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
                Ok(RuntimeFlavor::MultiThread) => block_in_place(|| self.apply()),
                _ => self.apply(),
            }
        })
    }
}
