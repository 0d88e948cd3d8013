//! CEL rules of definitions: what is asked of who compiles them, and what their costs come to.
//!
//! The compiler is behind a trait. Guarantees that costs of rules are multiplied and added as the reference does, without overflow.

use crate::json_schema::{JsonSchema, ValidationRule};
use crate::shown;
use pintle_validation::{ErrorKind, ErrorList, FieldPath};
use std::collections::HashSet;

/// The highest estimated cost of one expression.
pub const MOST_OF_EXPRESSION: u64 = 10_000_000;

/// The highest estimated cost of all rules of one schema.
pub const MOST_OF_SCHEMA: u64 = 100_000_000;

/// Compiles the CEL rules of schemas.
pub trait RuleCompiler {
    /// Compiles the rules of one schema, in their order.
    ///
    /// # Errors
    /// The schema has no CEL type; the text says why.
    fn compile(&self, rules: &SchemaRules<'_>) -> Result<Vec<CompiledRule>, String>;

    /// Whether a default meets the rules of its schema; the errors stand at a path.
    fn validate_default(&self, schema: &JsonSchema, is_root: bool, path: &FieldPath<'_>, errors: &mut ErrorList);
}

/// The rules of a schema, and what surrounds it.
pub struct SchemaRules<'a> {
    pub schema: &'a JsonSchema,
    /// Whether it is the schema of a whole object.
    pub is_root: bool,
    /// Rules and message expressions that the stored definition has: they may use what new ones may not.
    pub stored: &'a StoredExpressions,
}

/// The expressions of a stored definition.
#[derive(Debug, Default)]
pub struct StoredExpressions {
    pub rules: HashSet<String>,
    pub messages: HashSet<String>,
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

/// What compiling a rule found.
#[derive(Clone, Debug, Default)]
pub struct CompiledRule {
    /// Why the rule does not compile, and whether it is missing rather than wrong.
    pub error: Option<(ErrorKind, String)>,
    /// Why its message expression does not compile.
    pub message_error: Option<String>,
    /// The highest cost of the rule on one value.
    pub cost: u64,
    /// On how many values of an object it runs at most, where bounds do not tell.
    pub cardinality: u64,
    /// The highest cost of the message expression, where there is one.
    pub message_cost: Option<u64>,
    pub uses_old_self: bool,
}

/// What rules of a schema cost together.
#[derive(Debug, Default)]
pub(super) struct TotalCost {
    total: u64,
    /// The most expensive ones, by descending cost.
    most: Vec<(String, u64)>,
}

impl TotalCost {
    fn add(&mut self, path: &FieldPath<'_>, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < MOST_OF_SCHEMA / 100 {
            return;
        }
        self.most.push((path.to_string(), cost));
        self.most.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.most.truncate(4);
    }

    /// Tells what makes all rules together too expensive.
    pub fn report(&self, path: &FieldPath<'_>, errors: &mut ErrorList) {
        if self.total <= MOST_OF_SCHEMA {
            return;
        }
        let schema = path.child("openAPIV3Schema");
        for (path, _) in &self.most {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(path, detail);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.forbidden(schema, too_expensive(what, self.total, MOST_OF_SCHEMA));
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

/// How often a schema's values may be in an object at most; `None` when nothing bounds it.
pub(super) fn cardinality_inside(schema: &JsonSchema, outside: Option<u64>) -> Option<u64> {
    let most = |bound: Option<i64>| bound.map(|most| u64::try_from(most).unwrap_or_default());
    let factor = match schema.kind.as_str() {
        "object" if schema.additional_properties.is_some() => most(schema.max_properties)?,
        "array" => most(schema.max_items)?,
        _ => 1,
    };
    Some(outside?.saturating_mul(factor))
}

/// What a rule is checked with besides its schema.
pub(super) struct Budget<'a> {
    pub cardinality: Option<u64>,
    /// Within which schema old and new values cannot be told to belong together.
    pub uncorrelatable: Option<&'a str>,
    /// Whether costs of single expressions are not looked at: the schema is stored already.
    pub is_stored: bool,
}

/// Tells what is wrong with compiled rules of a schema.
pub(super) fn report(
    compiled: Result<Vec<CompiledRule>, String>,
    rules: &[ValidationRule],
    budget: &Budget<'_>,
    total: &mut TotalCost,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let path = path.child("x-kubernetes-validations");
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(reason) => {
            let detail = format!(
                "internal error: failed to construct type information for x-kubernetes-validations rules: {reason}"
            );
            return errors.push(ErrorKind::Internal, path, None, detail);
        }
    };
    for (at, (compiled, rule)) in compiled.iter().zip(rules).enumerate() {
        let here = path.index(at);
        let (of_rule, of_message) = (here.child("rule"), here.child("messageExpression"));
        let cost = compiled.cost.saturating_mul(budget.cardinality.unwrap_or(compiled.cardinality));
        if !budget.is_stored && cost > MOST_OF_EXPRESSION {
            errors.forbidden(of_rule, too_expensive("estimated rule cost", cost, MOST_OF_EXPRESSION));
        }
        total.add(&of_rule, cost);
        match &compiled.error {
            Some((ErrorKind::Required, detail)) => errors.required(of_rule, detail.clone()),
            Some((_, detail)) => errors.invalid(of_rule, shown::rule(rule), detail.clone()),
            None => {}
        }
        if let Some(detail) = &compiled.message_error {
            errors.invalid(of_message, shown::rule(rule), detail.clone());
        } else if let Some(cost) = compiled.message_cost {
            if !budget.is_stored && cost > MOST_OF_EXPRESSION {
                let what = "estimated messageExpression cost";
                errors.forbidden(of_message, too_expensive(what, cost, MOST_OF_EXPRESSION));
            }
            total.add(&of_message, cost);
        }
        if compiled.uses_old_self {
            if let Some(within) = budget.uncorrelatable {
                let detail =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                errors.invalid(of_rule, rule.rule.clone(), detail);
            }
        } else if let Some(optional) = rule.optional_old_self {
            errors.invalid(here.child("optionalOldSelf"), optional, "may not be set if oldSelf is not used in rule");
        }
    }
}
