//! The condition `Dangling` of flow schemas: the priority level that it names does not exist.

use super::{DesiredCondition, Reference, Rule};
use crate::resource_index::ResourceIndex;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::flowcontrol::v1::{
    FlowSchema, FlowSchemaSpec, FlowSchemaStatus, PriorityLevelConfigurationReference,
};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const PRIORITY_LEVELS: (&str, &str) = (GROUP, "prioritylevelconfigurations");

/// The condition `Dangling`.
pub struct Dangling;

impl Rule for Dangling {
    const CONDITION: &'static str = "Dangling";
    const QUEUE: &'static str = "priority_and_fairness_config_queue";
    const MANAGER: &'static str = "api-priority-and-fairness-config-consumer-v1";
    const SUBJECT: (&'static str, &'static str) = (GROUP, "flowschemas");
    const DEPENDS_ON: &'static [(&'static str, &'static str)] = &[PRIORITY_LEVELS];
    const APPLIED_AS: Option<(&'static str, &'static str)> = Some(("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"));

    fn refers_to(object: &Value) -> Option<Reference> {
        Some(Reference { namespace: String::new(), name: priority_level(object).to_owned() })
    }

    fn evaluate(object: &Value, index: &ResourceIndex) -> DesiredCondition {
        let level = priority_level(object);
        let names = format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?}");
        match index.exists(PRIORITY_LEVELS, "", level) {
            true => DesiredCondition { holds: false, reason: "Found", message: format!("{names} and it exists") },
            false => DesiredCondition {
                holds: true,
                reason: "NotFound",
                message: format!("{names} but there is no such object"),
            },
        }
    }

    fn conditions(object: &mut Value) -> &mut Value {
        ViewMut::<FlowSchema>::new(object).field(FlowSchema::STATUS).field(FlowSchemaStatus::CONDITIONS).raw()
    }
}

fn priority_level(object: &Value) -> &str {
    let spec = View::<FlowSchema>::new(object).field(FlowSchema::SPEC);
    spec.field(FlowSchemaSpec::PRIORITY_LEVEL_CONFIGURATION).field(PriorityLevelConfigurationReference::NAME).as_str()
}
