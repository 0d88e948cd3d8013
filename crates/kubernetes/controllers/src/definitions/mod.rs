//! Definitions of custom resources: `ServedDefinitions` installs their resources, and the controller follows with their conditions
//! and APIServices.
//!
//! Guarantees that a definition becomes `Established` only after its resources are served, and is removed after its objects. Must
//! never delay the installation of a definition.

mod claimed_names;
mod served;

pub use served::ServedDefinitions;

use crate::conditions::{DesiredCondition, write};
use crate::feed::{Listed, Observer};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ResourceIndex, waits_for};
use crate::served_versions;
use crate::stats::QueueSnapshot;
use pintle_cache::{Event, Object, WatchFilter};
use pintle_extensions::definition::{self, Approval};
use pintle_extensions::naming::Accepted;
use pintle_groups::CLEANUP_FINALIZER;
use pintle_registry::Target;
use pintle_registry::options::Propagation;
use pintle_schema::{Time, Value};
use std::sync::Arc;
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

/// The controller of definitions: their conditions, their APIServices, and the end of their objects.
pub struct Definitions {
    world: Arc<ResourceIndex>,
    subject: KindId,
    /// The kind of APIServices, if they are stored.
    services: Option<KindId>,
    served: Arc<ServedDefinitions>,
}

impl Definitions {
    /// `None` if definitions are not stored.
    pub fn new(world: Arc<ResourceIndex>, served: Arc<ServedDefinitions>) -> Option<Self> {
        let subject = world.stored(GROUP, PLURAL)?;
        let services = world.stored("apiregistration.k8s.io", "apiservices");
        Some(Definitions { world, subject, services, served })
    }

    /// Processes the queue until the future is dropped.
    pub async fn work(&self) {
        loop {
            let name = self.served.queue.next().await;
            self.world.registry.install_definitions().await;
            let outcome = match self.sync(&name).await {
                Outcome::Done => retry_on_failure(&self.follow_services(&name).await),
                outcome => outcome,
            };
            self.served.queue.finish(name, outcome);
        }
    }

    /// Sets the conditions of a definition whose resources are installed, or ends one that is being deleted.
    async fn sync(&self, name: &str) -> Outcome {
        let Some(kind) = self.world.kind(self.subject) else { return Outcome::Done };
        let Some(stored) = kind.target.cache.get(&kind.target.storage().key("", name)) else { return Outcome::Done };
        let Ok(definition) = self.world.registry.decode(&kind.target, &stored) else { return Outcome::Done };
        if waits_for(&stored, CLEANUP_FINALIZER) {
            // Objects are stored only under the definition as it is, so what was before the deletion began is visible then.
            kind.target.cache.progress.reached(stored.revision).await;
            return self.end(&kind.at(&stored), &definition).await;
        }
        let accepted = self.served.accept(name, &definition);
        let now = Time::from_seconds(self.world.registry.environment.now_unix());
        let change = |object: &mut Value| set_conditions(object, &accepted, now);
        if !change(&mut definition.clone()) {
            return Outcome::Done;
        }
        let requests = Requests { world: &self.world, who: Who::Server("kube-apiserver") };
        let written = requests.change(&kind.at(&stored), "status", |object| _ = change(object)).await;
        // Writes of its objects wait for what the definition has become.
        self.world.registry.install_definitions().await;
        retry_on_failure(&written)
    }

    /// Deletes the objects of a definition that is being deleted, then removes its finalizer.
    async fn end(&self, target: &Target, definition: &Value) -> Outcome {
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
        // Objects may have been created before the definition was noted to be established.
        let prefix = self.served.prefix_of(&target.name, definition);
        let established = prefix.is_some();
        if let Some(prefix) = prefix {
            let Some(of) = self.world.registry.stored_target(&prefix, "", "") else {
                return Outcome::After(RECHECK);
            };
            // Those that are being deleted already wait for their finalizers.
            let state = of.cache.state();
            let undeleted = state.objects.values().filter(|object| !object.encoded.terminating);
            let objects: Vec<Arc<Object>> = undeleted.take(DELETED_AT_ONCE).cloned().collect();
            let options = requests.delete_options(Propagation::Background);
            for object in &objects {
                let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
                let deleted = requests.delete(&Target { namespace, name, ..of.clone() }, &options).await;
                if deleted.is_err() {
                    return Outcome::Retry;
                }
            }
            // The worker is wanted by other definitions, too.
            if objects.len() == DELETED_AT_ONCE {
                return Outcome::After(Duration::ZERO);
            }
            if !of.cache.state().objects.is_empty() {
                return Outcome::After(RECHECK);
            }
        }
        let (reason, message) = if self.served.overlaps_built_in(definition) {
            ("OverlappingBuiltInResource", "instances overlap with built-in resources in storage")
        } else if established || definition::is_established(definition) {
            ("InstanceDeletionCompleted", "removed all instances")
        } else {
            ("NeverEstablished", "resource was never established")
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

    /// Creates the APIServices of served versions, and deletes those of versions that no definition serves any more.
    async fn follow_services(&self, name: &str) -> pintle_registry::Result<()> {
        let requests = Requests { world: &self.world, who: Who::Server("kube-apiserver") };
        let (group, served) = self.served.served_versions(name);
        for version in &served {
            served_versions::register(&requests, &group, version).await?;
        }
        while let Some(((group, version), is_served)) = self.served.take_unserved() {
            if is_served {
                continue;
            }
            if let Err(status) = served_versions::deregister(&requests, &group, &version).await {
                self.served.return_unserved((group, version));
                return Err(status);
            }
        }
        Ok(())
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

/// It has its own way to follow definitions, which waits for nothing. The APIServices of the versions that they serve are observed.
impl Observer for Definitions {
    fn queue(&self) -> Option<QueueSnapshot<'_>> {
        Some(self.served.queue.read())
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (self.services == Some(kind)).then_some(WatchFilter::Everything)
    }

    /// Those that were removed before are missed, and follow with the next change of their definition.
    fn list(&self, _: &[Listed]) {}

    fn observe(&self, kind: KindId, event: &Event) {
        // One that is new was created for its definition, or by another client.
        if self.services != Some(kind) || event.previous.is_none() {
            return;
        }
        let Some(services) = self.world.kind(kind) else { return };
        let Some((version, group)) = event.object.name().split_once('.') else { return };
        let registry = &self.world.registry;
        let Some(definition) = self.served.definition_of(group, version) else { return };
        if served_versions::is_to_be_written(registry, &services.target, event, group, version) {
            self.served.queue.add(definition, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_extensions::naming::accept;
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
