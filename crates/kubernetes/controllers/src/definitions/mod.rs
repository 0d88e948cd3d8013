//! Definitions of custom resources: `ServedDefinitions` installs their resources, and the controller follows with their conditions
//! and APIServices.
//!
//! Guarantees that a definition becomes `Established` only after its resources are served, and is removed after its objects. Must
//! never delay the installation of a definition.

mod claimed_names;
mod cleanup;
mod served;

pub use served::ServedDefinitions;

use crate::conditions::{DesiredCondition, remove, write, write_status};
use crate::feed::{Listed, Observer};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ResourceIndex, waits_for};
use crate::served_versions;
use crate::stats::QueueSnapshot;
use cleanup::Pauses;
use pintle_cache::{Event, WatchFilter};
use pintle_extensions::definition::non_structural::{NonStructural, non_structural};
use pintle_extensions::definition::{self, Approval};
use pintle_extensions::naming::Accepted;
use pintle_groups::CLEANUP_FINALIZER;
use pintle_schema::{Time, Value};
use pintle_types::meta::v1::ConditionStatus;
use std::sync::Arc;
use std::time::Duration;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// The condition that tells clients that objects can be created.
const ESTABLISHED: &str = "Established";

/// The condition that says whether a definition of a protected group is approved.
const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";

/// The condition of a definition, stored by an older server, whose schemas are not structural.
const NON_STRUCTURAL: &str = "NonStructuralSchema";

/// The controller of definitions: their conditions, their APIServices, and the end of their objects.
pub struct Definitions {
    index: Arc<ResourceIndex>,
    subject: KindId,
    /// The kind of APIServices, if they are stored.
    services: Option<KindId>,
    served: Arc<ServedDefinitions>,
    /// Of those that are being deleted.
    pauses: Pauses,
}

impl Definitions {
    /// `None` if definitions are not stored.
    pub fn new(index: Arc<ResourceIndex>, served: Arc<ServedDefinitions>) -> Option<Self> {
        let subject = index.stored(GROUP, PLURAL)?;
        let services = index.stored("apiregistration.k8s.io", "apiservices");
        Some(Definitions { index, subject, services, served, pauses: Pauses::default() })
    }

    /// Processes the queue until the future is dropped.
    pub async fn work(&self) {
        loop {
            let name = self.served.queue.next().await;
            self.index.registry.install_definitions().await;
            let outcome = match self.sync(&name).await {
                Outcome::Done => retry_on_failure(&self.follow_services(&name).await),
                outcome => outcome,
            };
            self.served.queue.finish(name, outcome);
        }
    }

    /// Sets the conditions of a definition whose resources are installed, or ends one that is being deleted.
    async fn sync(&self, name: &str) -> Outcome {
        let Some(kind) = self.index.kind(self.subject) else { return Outcome::Done };
        let Some(stored) = kind.target.cache.get(&kind.target.storage().key("", name)) else {
            self.pauses.forget(name);
            return Outcome::Done;
        };
        let Ok(definition) = self.index.registry.decode(&kind.target, &stored) else { return Outcome::Done };
        if waits_for(&stored, CLEANUP_FINALIZER) {
            // Objects are stored only under the definition as it is, so what was before the deletion began is visible then.
            kind.target.cache.progress.reached(stored.revision).await;
            return self.end(&kind.at(&stored), &definition).await;
        }
        let accepted = self.served.accept(name, &definition);
        let now = Time::from_seconds(self.index.registry.environment.now_unix());
        let change = |object: &mut Value| set_conditions(object, &accepted, now);
        if !change(&mut definition.clone()) {
            return Outcome::Done;
        }
        let requests = Requests { index: &self.index, who: Who::Server("kube-apiserver") };
        let written = requests.change(&kind.at(&stored), "status", |object| _ = change(object)).await;
        // Writes of its objects wait for what the definition has become.
        self.index.registry.install_definitions().await;
        retry_on_failure(&written)
    }

    /// Creates the APIServices of served versions, and deletes those of versions that no definition serves any more.
    async fn follow_services(&self, name: &str) -> pintle_registry::Result<()> {
        let requests = Requests { index: &self.index, who: Who::Server("kube-apiserver") };
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
    let (approval, non_structural) = (approval(definition), non_structural(definition));
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
    let approved = approval.is_some_and(|finding| write(conditions, APPROVED, &finding, now));
    let named = !has_its_names && write(conditions, "NamesAccepted", &of(&accepted.condition), now);
    let served = established.is_some_and(|finding| write(conditions, ESTABLISHED, &finding, now));
    let formed = match non_structural {
        None => remove(conditions, NON_STRUCTURAL),
        Some(NonStructural::Violations(message)) => {
            write_status(conditions, (NON_STRUCTURAL, ConditionStatus::TRUE), "Violations", &message, now)
        }
        Some(NonStructural::Unknown(message)) => {
            write_status(conditions, (NON_STRUCTURAL, ConditionStatus::UNKNOWN), "StructuralError", &message, now)
        }
    };
    changed || approved || named || served || formed
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
        let Some(services) = self.index.kind(kind) else { return };
        let Some((version, group)) = event.object.name().split_once('.') else { return };
        let registry = &self.index.registry;
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
}
