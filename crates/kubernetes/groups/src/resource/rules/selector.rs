//! The rule of device selectors: expressions compile, return a boolean, and are within the cost limit.

use crate::rules::report_expression;
use pintle_cel::environment::{CURRENT_MINOR, NEW_EXPRESSIONS_MINOR, OLDEST_MINOR};
use pintle_cel::{Environment, Type};
use pintle_expressions::{CompileFault, FaultKind};
use pintle_validation::{At, ValidationContext};
use std::sync::OnceLock;

/// The limit on the estimated cost of an expression.
const MAX_COST: u64 = 1_000_000;
/// The limit on the length of an expression.
const MAX_BYTES: usize = 10 * 1024;

/// The environment of a release, made once.
fn environment(minor: u32) -> &'static Environment {
    const RELEASES: usize = (CURRENT_MINOR - OLDEST_MINOR + 1) as usize;
    static MADE: [OnceLock<Environment>; RELEASES] = [const { OnceLock::new() }; RELEASES];
    let minor = minor.clamp(OLDEST_MINOR, CURRENT_MINOR);
    MADE[(minor - OLDEST_MINOR) as usize].get_or_init(|| Environment::for_devices(minor))
}

/// An expression over a device. Stored expressions may use everything that was allowed when they were stored.
pub fn expression(expression: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let text = expression.new.as_str();
    if text.len() > MAX_BYTES {
        return;
    }
    let is_stored = expression.old.is_some_and(|old| old.as_str() == text);
    let new_minor = cx.request.environment.compatibility_minor().unwrap_or(NEW_EXPRESSIONS_MINOR);
    let environment = environment(if is_stored { CURRENT_MINOR } else { new_minor });
    let fault = |kind, detail| CompileFault { kind, detail };
    let found = match environment.check(text) {
        Err(issues) => Err(fault(FaultKind::Invalid, format!("compilation failed: {issues}"))),
        Ok(checked) => match checked.output_type() {
            Type::Bool | Type::Any => checked
                .program()
                .map_err(|error| fault(FaultKind::Internal, format!("program instantiation failed: {error}"))),
            other => {
                let detail = format!("must evaluate to bool or the unknown type, not {}", other.declared());
                Err(fault(FaultKind::Invalid, detail))
            }
        },
    };
    match found {
        Err(fault) => report_expression(expression.path, text, &fault, cx),
        Ok(program) if program.estimated_cost().max > MAX_COST => {
            cx.errors.forbidden(expression.path, "too complex, exceeds cost limit");
        }
        Ok(_) => {}
    }
}
