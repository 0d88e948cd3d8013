//! CEL rules of definitions: their errors and their costs.
//!
//! Guarantees that costs of rules are multiplied and added as in kube-apiserver, without overflow.

use crate::json_schema::{JsonSchema, ValidationRule};
use crate::rules::{Compiled, Node, StoredRules};
use crate::shown;
use pintle_cel::environment::NEW_EXPRESSIONS_MINOR;
use pintle_validation::{ErrorList, FieldPath};
use std::collections::HashSet;

/// The highest estimated cost of one expression.
pub const MAX_COST_OF_EXPRESSION: u64 = 10_000_000;

/// The highest estimated cost of all rules of one schema.
pub const MAX_COST_OF_SCHEMA: u64 = 100_000_000;

/// The longest request: nothing is in an object more often than it has bytes.
const MAX_REQUEST_BYTES: u64 = 3 << 20;

/// The expressions of a stored definition.
#[derive(Debug, Default)]
pub struct StoredExpressions {
    pub rules: HashSet<String>,
    pub messages: HashSet<String>,
    /// The minor release of Kubernetes 1 that others are compiled for, if not the one before the current.
    pub new_minor: Option<u32>,
}

impl StoredExpressions {
    pub fn add(&mut self, schema: &JsonSchema) {
        schema.any(&mut |schema| {
            for rule in &schema.validations {
                self.rules.insert(rule.rule.to_string());
                if !rule.message_expression.is_empty() {
                    self.messages.insert(rule.message_expression.to_string());
                }
            }
            false
        });
    }
}

impl StoredRules for StoredExpressions {
    fn has_rule(&self, rule: &str) -> bool {
        self.rules.contains(rule)
    }

    fn has_message(&self, message: &str) -> bool {
        self.messages.contains(message)
    }

    fn new_minor(&self) -> u32 {
        self.new_minor.unwrap_or(NEW_EXPRESSIONS_MINOR)
    }
}

/// The total cost of the rules of a schema.
#[derive(Debug, Default)]
pub(super) struct TotalCost {
    total: u64,
    /// The most expensive ones, by descending cost.
    most: Vec<(String, u64)>,
}

impl TotalCost {
    fn add(&mut self, path: &FieldPath<'_>, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < MAX_COST_OF_SCHEMA / 100 {
            return;
        }
        self.most.push((path.to_string(), cost));
        self.most.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.most.truncate(4);
    }

    /// Reports a total cost that exceeds the limit.
    pub fn report(&self, path: &FieldPath<'_>, errors: &mut ErrorList) {
        if self.total <= MAX_COST_OF_SCHEMA {
            return;
        }
        let schema = path.child("openAPIV3Schema");
        for (path, _) in &self.most {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(path, detail);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.forbidden(schema, too_expensive(what, self.total, MAX_COST_OF_SCHEMA));
    }
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// The maximum number of a schema's values in an object; `None` if unbounded.
pub(super) fn cardinality_inside(schema: &JsonSchema, outside: Option<u64>) -> Option<u64> {
    let most = |bound: Option<i64>| bound.map(|most| u64::try_from(most).unwrap_or_default());
    let factor = match schema.kind.as_str() {
        "object" if schema.additional_properties.is_some() => most(schema.max_properties)?,
        "array" => most(schema.max_items)?,
        _ => 1,
    };
    Some(outside?.saturating_mul(factor))
}

/// The context of a rule besides its schema.
pub(super) struct Budget<'a> {
    pub cardinality: Option<u64>,
    /// The enclosing schema within which old and new values cannot be correlated.
    pub uncorrelatable: Option<&'a str>,
    /// Whether the costs of single expressions are ignored: the schema is stored already.
    pub is_stored: bool,
}

/// Validates the rules at one place of a schema.
pub(super) fn report(
    node: &Node,
    rules: &[ValidationRule],
    stored: &StoredExpressions,
    budget: &Budget<'_>,
    total: &mut TotalCost,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let path = path.child("x-kubernetes-validations");
    // Without a bound, the number of values is limited by the size of a request.
    let times = budget.cardinality.unwrap_or(MAX_REQUEST_BYTES / (node.min_bytes() + 1));
    for (at, (compiled, rule)) in node.compile(stored).iter().zip(rules).enumerate() {
        let here = path.index(at);
        expressions(compiled, rule, times, budget, total, &here, errors);
        if compiled.uses_old_self {
            if let Some(within) = budget.uncorrelatable {
                let detail =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                errors.invalid(here.child("rule"), rule.rule.clone(), detail);
            }
        } else if let Some(optional) = rule.optional_old_self {
            errors.invalid(here.child("optionalOldSelf"), optional, "may not be set if oldSelf is not used in rule");
        }
    }
}

/// Validates the expressions of a rule, and adds their costs.
fn expressions(
    compiled: &Compiled,
    rule: &ValidationRule,
    times: u64,
    budget: &Budget<'_>,
    total: &mut TotalCost,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let (of_rule, of_message) = (path.child("rule"), path.child("messageExpression"));
    let is_too_high = |cost: u64| !budget.is_stored && cost > MAX_COST_OF_EXPRESSION;
    let cost = compiled.program.as_ref().map_or(0, |program| program.estimated_cost().max).saturating_mul(times);
    if is_too_high(cost) {
        errors.forbidden(of_rule, too_expensive("estimated rule cost", cost, MAX_COST_OF_EXPRESSION));
    }
    total.add(&of_rule, cost);
    if let Some(detail) = &compiled.error {
        errors.invalid(of_rule, shown::rule(rule), detail.clone());
    }
    if let Some(detail) = &compiled.message_error {
        errors.invalid(of_message, shown::rule(rule), detail.clone());
    } else if let Some(message) = &compiled.message {
        let cost = message.estimated_cost().max;
        if is_too_high(cost) {
            errors
                .forbidden(of_message, too_expensive("estimated messageExpression cost", cost, MAX_COST_OF_EXPRESSION));
        }
        total.add(&of_message, cost);
    }
}
