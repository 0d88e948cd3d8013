//! Rules of the conditions of a status, for the kinds whose conditions are validated.

use pintle_schema::names;
use pintle_types::meta::v1::Condition;
use pintle_validation::{At, ValidationContext};

/// How long a reason and a message may be, in bytes.
const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

/// Each condition is complete, and none is there twice.
pub fn conditions(conditions: At<'_, Vec<Condition>>, cx: &mut ValidationContext<'_>) {
    let items = conditions.new.value().as_list().unwrap_or_default();
    let kind = |index: usize| items.get(index).map_or("", |item| item.str_at(&[Condition::TYPE.name()]));
    let mut index = 0;
    conditions.each(|at| {
        let this = kind(index);
        if (0..index).any(|before| kind(before) == this) {
            cx.errors.duplicate(at.path.to(Condition::TYPE), this);
        }
        index += 1;
        condition(at, cx);
    });
}

fn condition(condition: At<'_, Condition>, cx: &mut ValidationContext<'_>) {
    let text = |field: &str| condition.new.value().str_at(&[field]);
    let (kind, status, reason) =
        (text(Condition::TYPE.name()), text(Condition::STATUS.name()), text(Condition::REASON.name()));
    for message in names::label_key(kind) {
        cx.errors.invalid(condition.path.to(Condition::TYPE), kind, message);
    }
    if !["True", "False", "Unknown"].contains(&status) {
        cx.errors.unknown_name(condition.path.to(Condition::STATUS), status, &["False", "True", "Unknown"]);
    }
    let generation = condition.new.field(Condition::OBSERVED_GENERATION).get();
    if generation < 0 {
        let path = condition.path.to(Condition::OBSERVED_GENERATION);
        cx.errors.invalid(path, generation, "must be greater than or equal to zero");
    }
    if condition.new.field(Condition::LAST_TRANSITION_TIME).value().is_zero() {
        cx.errors.required(condition.path.to(Condition::LAST_TRANSITION_TIME), "");
    }
    let path = condition.path.to(Condition::REASON);
    if reason.is_empty() {
        cx.errors.required(path, "");
    } else {
        if !names::is_condition_reason(reason) {
            cx.errors.invalid(path, reason, REASON_FORM);
        }
        if reason.len() > MAX_REASON {
            cx.errors.too_long(path, MAX_REASON);
        }
    }
    if text(Condition::MESSAGE.name()).len() > MAX_MESSAGE {
        cx.errors.too_long(condition.path.to(Condition::MESSAGE), MAX_MESSAGE);
    }
}

const REASON_FORM: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
     alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
     'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
     '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
