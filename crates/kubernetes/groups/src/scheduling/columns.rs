//! Columns of the group `scheduling.k8s.io`.
//!
//! The status of a pod group is that of two of its conditions.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, boolean, integer, printers, string};
use pintle_schema::{Value, View};
use pintle_types::meta::v1::Condition;
use pintle_types::scheduling::v1::PriorityClass;
use pintle_types::scheduling::v1alpha2::{
    PodGroup, PodGroupSchedulingPolicy, PodGroupSpec, PodGroupStatus, PodGroupTemplateReference, Workload,
    WorkloadPodGroupTemplateReference,
};

printers! {
    PRIORITY_CLASS: PriorityClass |class, now| {
        NAME => name(class),
        integer("Value", "Priority of the pods; the higher goes first.") => number(class.to(PriorityClass::VALUE)),
        boolean("Global-Default", "Whether pods without a class get this one.")
            => flag(class.to(PriorityClass::GLOBAL_DEFAULT)),
        AGE => age(class, now),
        string("PreemptionPolicy", "Whether its pods push others out.")
            => text(class.to(PriorityClass::PREEMPTION_POLICY)),
    }
    WORKLOAD: Workload |workload, now| {
        NAME => name(workload),
        AGE => age(workload, now),
    }
    POD_GROUP: PodGroup |group, now| {
        NAME => name(group),
        string("Policy", "Whether its pods are scheduled all at once.") => policy(group),
        string("Workload", "Workload that the group is part of.") => text_or(
            group.to(PodGroup::SPEC).to(PodGroupSpec::POD_GROUP_TEMPLATE_REF).to(PodGroupTemplateReference::WORKLOAD)
                .to(WorkloadPodGroupTemplateReference::WORKLOAD_NAME),
            NONE,
        ),
        string("Status", "Whether the group is scheduled.") => status(group),
        AGE => age(group, now),
    }
}

fn policy(group: View<'_, PodGroup>) -> Value {
    let policy = group.to(PodGroup::SPEC).to(PodGroupSpec::SCHEDULING_POLICY);
    if policy.to(PodGroupSchedulingPolicy::GANG).is_set() { "Gang".into() } else { "Basic".into() }
}

fn status(group: View<'_, PodGroup>) -> Value {
    let conditions = group.to(PodGroup::STATUS).to(PodGroupStatus::CONDITIONS);
    if let Some(disrupted) = find(conditions, Condition::TYPE, "DisruptionTarget") {
        return text(disrupted.to(Condition::REASON));
    }
    match find(conditions, Condition::TYPE, "PodGroupScheduled") {
        Some(scheduled) if str_of(scheduled.to(Condition::STATUS)) == "True" => "Scheduled".into(),
        Some(_) => "Unschedulable".into(),
        None => "Pending".into(),
    }
}
