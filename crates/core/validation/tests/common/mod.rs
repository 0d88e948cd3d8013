//! Validation as in the server, for tests with their own types and rules.

use pintle_schema::{GateSet, Struct, Value, canonicalize};
use pintle_validation::{Group, Operation, Request, ValidationResult, Validator};

/// The errors of an object, or of its update, with these gates.
pub fn validate(
    group: &'static Group,
    schema: &'static Struct,
    new: &Value,
    old: Option<&Value>,
    gates: &GateSet,
) -> ValidationResult {
    let canonical = |value: &Value| {
        let mut value = value.clone();
        canonicalize(schema, &mut value);
        value
    };
    let book = Validator::new(&[group]);
    let plan = book.plan(schema);
    assert!(plan.problems.is_empty(), "{:?}", plan.problems);
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let request = Request { gates, ..Request::new(operation) };
    book.validate(schema, &canonical(new), old.map(canonical).as_ref(), &request)
}
