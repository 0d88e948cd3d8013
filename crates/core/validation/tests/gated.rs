//! A value that needs a gate: once it is stored, it stays valid when the gate is disabled.

mod common;

use pintle_schema::gates::alpha;
use pintle_schema::{ApiType, Gate, GateSet, Value, value};
use pintle_validation::{Group, KindRules, Pass};

const MORE: Gate = Gate::new("More", &[alpha(36)]);

/// A rule of what to do.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Action {
    /// What is done.
    #[k8s(proto = 1, if_enabled(MORE)(enum("Stop", "Restart")), if_disabled(MORE)(enum("Stop")))]
    what: String,
}

/// The whole.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Whole {
    /// In order.
    #[k8s(proto = 1, optional, list_type = atomic)]
    actions: Vec<Action>,
}

static GROUP: Group = Group {
    kinds: &[KindRules { create: &[Pass::Rules], update: &[Pass::Rules], parts: &[], of: Whole::schema }],
    custom_rules: &[],
    ..Group::NONE
};

fn validate(new: Value, old: Option<Value>, on: bool) -> Vec<String> {
    let gates = if on { GateSet::only([&MORE]) } else { GateSet::only([]) };
    let verdict = common::validate(&GROUP, Whole::schema(), &new, old.as_ref(), &gates);
    verdict.errors.0.iter().map(|error| error.line()).collect()
}

#[test]
fn a_new_object_needs_the_gate() {
    let new = value!({ "actions": [{ "what": "Restart" }] });
    assert_eq!(validate(new.clone(), None, true), [""; 0]);
    let error = "actions[0].what: Unsupported value: \"Restart\": supported values: \"Stop\"";
    assert_eq!(validate(new.clone(), None, false), [error]);
    // The stored object does not have it either.
    let old = value!({ "actions": [{ "what": "Stop" }] });
    assert_eq!(validate(new, Some(old), false), [error]);
}

#[test]
fn what_is_stored_keeps_its_value_wherever_it_goes() {
    let old = value!({ "actions": [{ "what": "Restart" }] });
    let new = value!({ "actions": [{ "what": "Stop" }, { "what": "Restart" }] });
    assert_eq!(validate(new, Some(old.clone()), false), [""; 0]);
    let other = value!({ "actions": [{ "what": "Restart" }, { "what": "Jump" }] });
    assert_eq!(validate(other, Some(old), false).len(), 1);
}
