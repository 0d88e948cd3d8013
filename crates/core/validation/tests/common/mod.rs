//! Judging as the server does it, for tests with types and rules of their own.

use pintle_schema::{Struct, Value, canonicalize};
use pintle_validation::{Group, Operation, Request, Rulebook, Verdict};

/// What is wrong with an object, or with its update, where some gates are on.
pub fn judge(
    group: &'static Group,
    schema: &'static Struct,
    new: &Value,
    old: Option<&Value>,
    enabled: &dyn Fn(&str) -> bool,
) -> Verdict {
    let canonical = |value: &Value| {
        let mut value = value.clone();
        canonicalize(schema, &mut value);
        value
    };
    let book = Rulebook::new(&[group]);
    let plan = book.plan(schema);
    assert!(plan.problems.is_empty(), "{:?}", plan.problems);
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let request = Request { enabled, ..Request::new(operation) };
    book.judge(schema, &canonical(new), old.map(canonical).as_ref(), &request)
}
