//! Serves custom resources: accepts the names of a definition, installs its versions as resources, and sets its
//! conditions.
//!
//! Guarantees that a definition becomes `Established` only after its resources are served, and that one worker accepts
//! names, so that no two definitions of a group have the same name. A definition is removed after its objects.

use crate::claimed_names::ClaimedNames;
use crate::conditions::{DesiredCondition, write};
use crate::feed::{Listed, Observer};
use crate::queue::{Outcome, Queue};
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ResourceIndex, waits_for};
use crate::served_versions;
use crate::stats::QueueSnapshot;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_extensions::definition::{self, Approval};
use pintle_extensions::naming::{Accepted, NamesInUse, accept};
use pintle_extensions::resource::resources;
use pintle_groups::CLEANUP_FINALIZER;
use pintle_registry::Target;
use pintle_registry::defined::DefinedResource;
use pintle_registry::options::Propagation;
use pintle_resource::DefinedBy;
use pintle_schema::{Time, Value};
use pintle_storage::Revision;
use pintle_webhook::Clients;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// The interval of checks of a definition's remaining objects while finalizers delay its deletion.
const RECHECK: Duration = Duration::from_secs(1);

/// How many objects of a definition that is being deleted are deleted before other definitions have their turn.
const DELETED_AT_ONCE: usize = 100;

/// The condition that tells clients that objects can be created.
const ESTABLISHED: &str = "Established";

/// The condition that says whether a definition of a protected group is approved.
const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";

/// The condition of a definition whose objects are being deleted.
const TERMINATING: &str = "Terminating";

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

/// The controller of definitions.
pub struct Definitions {
    world: Arc<ResourceIndex>,
    /// Calls conversion webhooks.
    webhooks: Arc<Clients>,
    subject: KindId,
    /// The names of definitions.
    queue: Queue<String>,
    /// The definitions and their accepted names.
    claims: Mutex<ClaimedNames>,
    installed: Mutex<HashMap<String, Installed>>,
    /// Group-versions that a definition served before, whose APIService may be deleted.
    unserved: Mutex<BTreeSet<(String, String)>>,
}

impl Installed {
    /// Without versions, which are added when they are built.
    fn of(definition: &Value) -> Self {
        let metadata = |field: &str| definition.at(&["metadata", field]);
        Installed {
            uid: metadata("uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
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

/// The resources of a definition; notes their versions.
fn defined(definition: &Value, installed: &mut Installed, webhooks: &Arc<Clients>) -> DefinedResource {
    let versions = resources(definition, webhooks);
    let served = versions.iter().filter(|(_, is_served)| *is_served);
    installed.served = served.map(|(version, _)| version.version.to_string()).collect();
    installed.versions = versions.iter().map(|(version, _)| version.version.to_string()).collect();
    let custom = versions.first().and_then(|(version, _)| version.custom.as_ref());
    installed.defined_by = custom.map(|custom| custom.defined_by().clone());
    DefinedResource { versions, defined_at: Revision(revision_of(definition)) }
}

fn revision_of(definition: &Value) -> u64 {
    definition.str_at(&["metadata", "resourceVersion"]).parse().unwrap_or_default()
}

impl Definitions {
    /// `None` if definitions are not stored.
    pub fn new(world: Arc<ResourceIndex>, webhooks: Arc<Clients>) -> Option<Self> {
        let subject = world.stored(GROUP, PLURAL)?;
        Some(Definitions {
            world,
            webhooks,
            subject,
            queue: Queue::new("crd_naming_condition_controller"),
            claims: Mutex::default(),
            installed: Mutex::default(),
            unserved: Mutex::default(),
        })
    }

    /// Processes the queue until the future is dropped.
    pub async fn work(&self) {
        loop {
            let name = self.queue.next().await;
            let outcome = match self.sync(&name).await {
                Outcome::Done => retry_on_failure(&self.follow_services(&name).await),
                outcome => outcome,
            };
            self.queue.finish(name, outcome);
        }
    }

    fn claims(&self) -> MutexGuard<'_, ClaimedNames> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn installed(&self) -> MutexGuard<'_, HashMap<String, Installed>> {
        self.installed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sync(&self, name: &str) -> Outcome {
        let Some(kind) = self.world.kind(self.subject) else { return Outcome::Done };
        let Some(stored) = kind.target.cache.get(&kind.target.storage().key("", name)) else {
            self.withdraw(name);
            return Outcome::Done;
        };
        let Ok(definition) = self.world.registry.decode(&kind.target, &stored) else { return Outcome::Done };
        if waits_for(&stored, CLEANUP_FINALIZER) {
            if definition::is_established(&definition) {
                self.install(name, &definition);
            }
            // Objects are stored only under the definition as it is, so what was before the deletion began is visible then.
            kind.target.cache.progress.reached(stored.revision).await;
            return self.end(&kind.at(&stored), &definition).await;
        }
        let accepted = self.accept(&definition);
        let mut settled = definition.clone();
        settled.set_at(&["status", "acceptedNames"], accepted.names.clone());
        // Once established, a definition stays so under its accepted names.
        let can_serve = accepted.condition.holds && !definition::has_unusable_authorities(&definition);
        if can_serve || definition::is_established(&definition) {
            self.install(name, &settled);
        }
        let now = Time::from_seconds(self.world.registry.environment.now_unix());
        let change = |object: &mut Value| set_conditions(object, &accepted, now);
        if !change(&mut definition.clone()) {
            return Outcome::Done;
        }
        let requests = Requests { world: &self.world, who: Who::Server("kube-apiserver") };
        let written = requests.change(&kind.at(&stored), "status", |object| _ = change(object)).await;
        if written.is_ok() {
            // Recorded before the watch event arrives, so that the next definition does not get the same names.
            self.claims().insert(name.to_owned(), NamesInUse::of(&settled));
            self.reconsider(&settled, name);
        }
        retry_on_failure(&written)
    }

    /// Deletes the objects of a definition that is being deleted, then removes its finalizer.
    async fn end(&self, target: &Target, definition: &Value) -> Outcome {
        let plural = definition.str_at(&["status", "acceptedNames", "plural"]);
        let prefix = format!("/registry/{}/{plural}/", definition.str_at(&["spec", "group"]));
        let requests = Requests { world: &self.world, who: Who::Server("kube-apiserver") };
        let now = Time::from_seconds(self.world.registry.environment.now_unix());
        let begin = |object: &mut Value| begin_cleanup(object, now);
        // Deleting the objects may take long.
        if begin(&mut definition.clone()) {
            let written = requests.change(target, "status", |object| _ = begin(object)).await;
            if written.is_err() {
                return Outcome::Retry;
            }
        }
        let established = definition::is_established(definition);
        if established {
            // At start, definitions are installed together: until then it is not known which objects there are.
            let Some(of) = self.world.registry.stored_target(&prefix, "", "") else {
                return Outcome::After(RECHECK);
            };
            let state = of.cache.state();
            let objects: Vec<Arc<Object>> = state.objects.values().cloned().collect();
            let options = requests.delete_options(Propagation::Background);
            // The worker is wanted by other definitions, too.
            for object in objects.iter().take(DELETED_AT_ONCE) {
                let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
                let deleted = requests.delete(&Target { namespace, name, ..of.clone() }, &options).await;
                if deleted.is_err() {
                    return Outcome::Retry;
                }
            }
            if objects.len() > DELETED_AT_ONCE {
                return Outcome::After(Duration::ZERO);
            }
            if !of.cache.state().objects.is_empty() {
                return Outcome::After(RECHECK);
            }
        }
        let (reason, message) = match established {
            true => ("InstanceDeletionCompleted", "removed all instances"),
            false => ("NeverEstablished", "resource was never established"),
        };
        let finding = DesiredCondition { holds: false, reason, message: message.to_owned() };
        let change = |object: &mut Value| {
            let finalizers = object.at_mut(&["metadata", "finalizers"]).and_then(Value::as_list_mut);
            if let Some(list) = finalizers {
                list.retain(|finalizer| finalizer.as_str() != Some(CLEANUP_FINALIZER));
            }
            let status = object.map_entry("status").make_map();
            write(status.entry("conditions"), TERMINATING, &finding, now);
        };
        retry_on_failure(&requests.change(target, "status", change).await)
    }

    fn accept(&self, definition: &Value) -> Accepted {
        let claims = self.claims();
        let group = definition.str_at(&["spec", "group"]);
        accept(definition, claims.of_group(group).map(|(_, claims)| claims))
    }

    /// Queues the other definitions of a group: a name that one of them waits for may be free now.
    fn reconsider(&self, definition: &Value, name: &str) {
        let group = definition.str_at(&["spec", "group"]);
        self.reconsider_group(group, name);
    }

    fn reconsider_group(&self, group: &str, but: &str) {
        let claims = self.claims();
        let others = claims.of_group(group).filter(|(name, _)| *name != but);
        others.for_each(|(name, _)| self.queue.add(name.clone(), Duration::ZERO));
    }

    /// Installs the served versions of a definition and uninstalls the others.
    fn install(&self, name: &str, definition: &Value) {
        if self.installed().get(name).is_some_and(|before| before.confirm(definition)) {
            return;
        }
        let mut now = Installed::of(definition);
        let defined = defined(definition, &mut now, &self.webhooks);
        self.world.registry.install_defined(&[defined]);
        let before = self.installed().insert(name.to_owned(), now);
        self.note_unserved(before);
    }

    fn unserved(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        self.unserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the versions that a definition no longer serves.
    fn note_unserved(&self, before: Option<Installed>) {
        if let Some(Installed { group, served, .. }) = before {
            self.unserved().extend(served.into_iter().map(|version| (group.clone(), version)));
        }
    }

    /// Whether a definition serves a version of a group.
    fn is_served(&self, group: &str, version: &str) -> bool {
        let serves = |of: &Installed| of.group == group && of.served.iter().any(|served| served == version);
        self.installed().values().any(serves)
    }

    /// Creates the APIServices of served versions, and deletes those of versions that no definition serves any more.
    async fn follow_services(&self, name: &str) -> pintle_registry::Result<()> {
        let requests = Requests { world: &self.world, who: Who::Server("kube-apiserver") };
        let (group, served) =
            self.installed().get(name).map(|of| (of.group.clone(), of.served.clone())).unwrap_or_default();
        for version in &served {
            served_versions::register(&requests, &group, version).await?;
        }
        loop {
            let first = self.unserved().first().cloned();
            let Some((group, version)) = first else { return Ok(()) };
            if !self.is_served(&group, &version) {
                served_versions::deregister(&requests, &group, &version).await?;
            }
            self.unserved().remove(&(group, version));
        }
    }

    /// Uninstalls the resources of a deleted definition.
    fn withdraw(&self, name: &str) {
        let installed = self.installed().remove(name);
        if let Some(installed) = installed {
            for version in &installed.versions {
                self.world.registry.uninstall(&installed.group, version, &installed.plural);
            }
            self.note_unserved(Some(installed));
        }
        let claims = self.claims().remove(name);
        if let Some(claims) = claims {
            self.reconsider_group(&claims.group, name);
        }
    }

    /// Records the accepted names of a definition, and queues it.
    fn learn(&self, claims: &mut ClaimedNames, object: &Object) -> Option<Value> {
        let kind = self.world.kind(self.subject);
        let decoded = kind.and_then(|kind| self.world.registry.decode(&kind.target, object).ok());
        if let Some(definition) = &decoded {
            claims.insert(object.name().to_owned(), NamesInUse::of(definition));
            // At once, as writes of its objects wait for it.
            if let Some(installed) = self.installed().get(object.name()) {
                installed.confirm(definition);
            }
        }
        self.queue.add(object.name().to_owned(), Duration::ZERO);
        decoded
    }

    /// Installs many definitions in one step, so that a start builds the resource table once. Only one definition is
    /// decoded at a time.
    fn install_all(&self, definitions: impl Iterator<Item = (String, Value)>) {
        let mut all = Vec::new();
        for (name, definition) in definitions {
            let mut now = Installed::of(&definition);
            if !self.installed().get(&name).is_some_and(|before| before.confirm(&definition)) {
                all.push(defined(&definition, &mut now, &self.webhooks));
                self.installed().insert(name, now);
            }
        }
        if !all.is_empty() {
            self.world.registry.install_defined(&all);
        }
    }
}

/// Notes in the status that the objects of a definition are being deleted; returns whether it changed.
fn begin_cleanup(definition: &mut Value, now: Time) -> bool {
    let finding = DesiredCondition {
        holds: true,
        reason: "InstanceDeletionInProgress",
        message: "CustomResource deletion is in progress".to_owned(),
    };
    let status = definition.map_entry("status").make_map();
    write(status.entry("conditions"), TERMINATING, &finding, now)
}

/// Writes the accepted names and the conditions into the status; returns whether it changed.
fn set_conditions(definition: &mut Value, accepted: &Accepted, now: Time) -> bool {
    let names = definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_default();
    let changed = !pintle_resource::same(&names, &accepted.names);
    // What was noted of a definition that has its names is left as it is.
    let has_its_names = definition::has_its_names(definition);
    let holds = match has_its_names {
        true => definition::has_condition(definition, "NamesAccepted"),
        false => accepted.condition.holds,
    };
    definition.set_at(&["status", "acceptedNames"], accepted.names.clone());
    let of = |condition: &pintle_extensions::naming::NamesCondition| DesiredCondition {
        holds: condition.holds,
        reason: condition.reason,
        message: condition.message.clone(),
    };
    let was_established = definition::is_established(definition);
    let approval = approval(definition);
    let established = match (holds, was_established) {
        (false, false) if has_its_names => None,
        (true, false) if definition::has_unusable_authorities(definition) => Some(DesiredCondition {
            holds: false,
            reason: "InvalidCABundle",
            message: "The conversion webhook CABundle is invalid".to_owned(),
        }),
        (true, false) => Some(DesiredCondition {
            holds: true,
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted".to_owned(),
        }),
        (false, false) => Some(DesiredCondition {
            holds: false,
            reason: "NotAccepted",
            message: "not all names are accepted".to_owned(),
        }),
        (_, true) => None,
    };
    let status = definition.map_entry("status").make_map();
    let conditions = status.entry("conditions");
    let named = !has_its_names && write(conditions, "NamesAccepted", &of(&accepted.condition), now);
    let approved = approval.is_some_and(|finding| write(conditions, APPROVED, &finding, now));
    let served = established.is_some_and(|finding| write(conditions, ESTABLISHED, &finding, now));
    changed || named || approved || served
}

/// The approval condition of a definition in a group of Kubernetes.
fn approval(definition: &Value) -> Option<DesiredCondition> {
    if !definition::is_protected_group(definition.str_at(&["spec", "group"])) {
        return None;
    }
    let (state, message) = definition::approval_state(definition);
    let reason = match state {
        Approval::Approved => "ApprovedAnnotation",
        Approval::Bypassed => "UnapprovedAnnotation",
        Approval::Invalid => "InvalidAnnotation",
        Approval::Missing => "MissingAnnotation",
    };
    Some(DesiredCondition { holds: state == Approval::Approved, reason, message })
}

impl Observer for Definitions {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.queue.read())
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.subject).then_some(WatchFilter::Everything)
    }

    fn list(&self, listed: &[Listed]) {
        let mut claims = self.claims();
        let before = std::mem::take(&mut *claims);
        let objects = listed.iter().filter(|one| one.id == self.subject).flat_map(|one| one.state.objects.values());
        self.install_all(objects.filter_map(|object| {
            let definition = self.learn(&mut claims, object).filter(definition::is_established)?;
            Some((object.name().to_owned(), definition))
        }));
        // Definitions that were deleted meanwhile are uninstalled.
        before
            .into_definitions()
            .filter(|name| !claims.contains(name))
            .for_each(|name| self.queue.add(name, Duration::ZERO));
    }

    fn observe(&self, kind: KindId, event: &Event) {
        if kind != self.subject {
            return;
        }
        match event.removed {
            // Its names are free once its resources are uninstalled.
            true => self.queue.add(event.object.name().to_owned(), Duration::ZERO),
            false => drop(self.learn(&mut self.claims(), &event.object)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn conditions_of_a_definition_that_has_its_names_are_left() {
        let names = || value!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
        let noted = |conditions: Value| {
            let status = value!({"acceptedNames": (names()), "conditions": (conditions)});
            let mut definition = value!({"spec": {"group": "g.example.com", "names": (names())}, "status": (status)});
            let accepted = accept(&definition, std::iter::empty());
            set_conditions(&mut definition, &accepted, Time::default());
            let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
            conditions.iter().map(|condition| condition.str_at(&["type"]).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(noted(value!([])), Vec::<String>::new());
        let accepted = value!([{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts"}]);
        assert_eq!(noted(accepted), ["NamesAccepted", "Established"]);
    }

    #[test]
    fn a_cleanup_is_noted_once() {
        let mut definition = value!({"status": {"conditions": [{"type": "Terminating", "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "InstanceDeletionPending", "message": "m"}]}});
        let noted = [0, 1].map(|_| begin_cleanup(&mut definition, Time::default()));
        assert_eq!(noted, [true, false]);
        let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
        let [condition] = conditions else { panic!("{conditions:?}") };
        let text = |field: &str| condition.str_at(&[field]);
        let wanted = ("InstanceDeletionInProgress", "2026-01-01T00:00:00Z");
        assert_eq!((text("reason"), text("lastTransitionTime")), wanted);
    }
}
