//! The mandatory flow schemas and priority levels, without which flow control does not work: their specs must not
//! change.

use crate::rules::internal_form::in_full;
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::flowcontrol::v1::{
    FlowSchema, FlowSchemaSpec, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext, same};

const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";

/// The specs of `exempt` and `catch-all` stay.
pub fn flow_schema(spec: At<'_, FlowSchemaSpec>, cx: &mut ValidationContext<'_>) {
    let name = cx.root::<FlowSchema>().field(FlowSchema::METADATA).field(ObjectMeta::NAME).as_str();
    let Some(fixed) = flow_schema_spec(name) else { return };
    if !same(spec.new.value(), &fixed) {
        cx.errors.invalid(spec.path, in_full(spec.new), format!("spec of '{name}' must equal the fixed value"));
    }
}

/// The specs of `catch-all` and of `exempt`, except for its field `exempt`, must not change.
pub fn priority_level(spec: At<'_, PriorityLevelConfigurationSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = PriorityLevelConfigurationSpec;
    let root = cx.root::<PriorityLevelConfiguration>();
    let name = root.field(PriorityLevelConfiguration::METADATA).field(ObjectMeta::NAME).as_str();
    let Some(mut fixed) = priority_level_spec(name) else { return };
    let mut but = "";
    if name == EXEMPT {
        but = " except the 'spec.exempt' field";
        fixed.set_at(&[Spec::EXEMPT.name()], spec.new.field(Spec::EXEMPT).value().clone());
        canonicalize(Spec::schema(), &mut fixed);
    }
    if !same(spec.new.value(), &fixed) {
        cx.errors.invalid(spec.path, in_full(spec.new), format!("spec of '{name}'{but} must equal the fixed value"));
    }
}

fn flow_schema_spec(name: &str) -> Option<Value> {
    let (level, precedence, method, groups) = match name {
        EXEMPT => (EXEMPT, 1, Value::Null, ["system:masters"].as_slice()),
        CATCH_ALL => (
            CATCH_ALL,
            10_000,
            value!({"type": "ByUser"}),
            ["system:unauthenticated", "system:authenticated"].as_slice(),
        ),
        _ => return None,
    };
    let subjects: Vec<Value> =
        groups.iter().map(|group| value!({"kind": "Group", "group": {"name": (*group)}})).collect();
    let mut spec = value!({
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "distinguisherMethod": method,
        "rules": [{
            "subjects": (Value::List(subjects)),
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        }]
    });
    canonicalize(FlowSchemaSpec::schema(), &mut spec);
    Some(spec)
}

fn priority_level_spec(name: &str) -> Option<Value> {
    let mut spec = match name {
        EXEMPT => value!({"type": "Exempt"}),
        CATCH_ALL => value!({
            "type": "Limited",
            "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0}
        }),
        _ => return None,
    };
    canonicalize(PriorityLevelConfigurationSpec::schema(), &mut spec);
    Some(spec)
}
