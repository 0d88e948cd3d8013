//! What a definition's rules come to: compiling and costs, as the validation of definitions tells it.

use super::cases::Case;
use pintle_cel::{Decl, Environment, Program, Type};
use pintle_schema::Value;
use std::sync::Arc;

const RULE_LIMIT: u64 = 10_000_000;
const TOTAL_LIMIT: u64 = 100_000_000;

/// A rule of a schema, compiled.
pub struct Rule {
    pub program: Program,
    /// The expression of its message, or what is wrong with it.
    pub message: Result<Option<Program>, String>,
}

/// How often a rule may run at most; `None` without a bound.
type Cardinality = Option<u64>;

pub fn validate(case: &Case) -> Vec<String> {
    let mut validated = Checked::default();
    let schema = case.schema();
    validated.walk(&schema, case.is_root(), Some(1));
    if validated.total > TOTAL_LIMIT {
        validated.errors.push(too_costly(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
            validated.total,
            TOTAL_LIMIT,
        ));
    }
    let mut errors: Vec<String> = validated.errors.iter().map(|error| mask(error)).collect();
    errors.sort();
    errors
}

/// The number in the names of types of `self` is different each time.
fn mask(text: &str) -> String {
    text.replace("selfType0", "selfType<n>")
}

#[derive(Default)]
struct Checked {
    errors: Vec<String>,
    total: u64,
}

/// The environments of a rule: with `oldSelf` as it is, and as an optional.
pub fn environments(decl: &Arc<Decl>) -> [Environment; 2] {
    [false, true]
        .map(|is_optional| Environment::for_new_expressions().with_rule_variables(decl, "selfType0", is_optional))
}

/// Compiles a rule; the message tells what is wrong with it.
pub fn compile(rule: &Value, environments: &[Environment; 2]) -> Result<Rule, String> {
    let is_optional = rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false);
    let environment = &environments[usize::from(is_optional)];
    let checked =
        environment.check(rule.str_at(&["rule"])).map_err(|issues| format!("compilation failed: {issues}"))?;
    if checked.output_type() != Type::Bool {
        return Err("cel expression must evaluate to a bool".to_string());
    }
    let program = checked.program().map_err(|error| format!("program instantiation failed: {error}"))?;
    let message = match rule.str_at(&["messageExpression"]) {
        "" => Ok(None),
        text => compile_message(text, environment).map(Some),
    };
    Ok(Rule { program, message })
}

fn compile_message(text: &str, environment: &Environment) -> Result<Program, String> {
    let checked =
        environment.check(text).map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
    if checked.output_type() != Type::String {
        return Err("messageExpression must evaluate to a string".to_string());
    }
    checked.program().map_err(|error| format!("messageExpression instantiation failed: {error}"))
}

fn too_costly(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_string(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "Forbidden: {what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, \
         maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

impl Checked {
    fn walk(&mut self, schema: &Value, is_root: bool, cardinality: Cardinality) {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_list).unwrap_or(&[]);
        if !rules.is_empty() {
            let decl = Arc::new(Decl::of_openapi(schema, is_root, "selfType0"));
            let environments = environments(&decl);
            for rule in rules {
                self.validate_rule(rule, &environments, decl.min_bytes, cardinality);
            }
        }
        let bound = |key: &str| schema.get(key).and_then(Value::as_i64).and_then(|bound| u64::try_from(bound).ok());
        let elements = match schema.str_at(&["type"]) {
            "object" if schema.get("additionalProperties").is_some() => bound("maxProperties"),
            "array" => bound("maxItems"),
            _ => Some(1),
        };
        let below = cardinality.zip(elements).map(|(outer, elements)| outer.saturating_mul(elements));
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key).filter(|inner| inner.as_map().is_some()) {
                self.walk(inner, is_embedded(inner), below);
            }
        }
        for (_, inner) in schema.get("properties").and_then(Value::as_map).into_iter().flat_map(|map| map.iter()) {
            self.walk(inner, is_embedded(inner), below);
        }
    }

    fn validate_rule(
        &mut self,
        rule: &Value,
        environments: &[Environment; 2],
        min_bytes: u64,
        cardinality: Cardinality,
    ) {
        let rule = match compile(rule, environments) {
            Ok(rule) => rule,
            Err(error) => return self.errors.push(error),
        };
        let times = cardinality.unwrap_or(3 * 1024 * 1024 / (min_bytes + 1));
        let cost = rule.program.estimated_cost().max.saturating_mul(times);
        if cost > RULE_LIMIT {
            self.errors.push(too_costly("estimated rule cost", cost, RULE_LIMIT));
        }
        self.total = self.total.saturating_add(cost);
        match rule.message {
            Err(error) => self.errors.push(error),
            Ok(None) => {}
            Ok(Some(message)) => {
                let cost = message.estimated_cost().max;
                if cost > RULE_LIMIT {
                    self.errors.push(too_costly("estimated messageExpression cost", cost, RULE_LIMIT));
                }
                self.total = self.total.saturating_add(cost);
            }
        }
    }
}

pub fn is_embedded(schema: &Value) -> bool {
    schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool).unwrap_or(false)
}
