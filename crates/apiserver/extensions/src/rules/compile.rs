//! Compiles the rules of one place of a schema into programs, or into kube-apiserver's errors.
//!
//! New expressions are compiled in the environment of the oldest version that may have to read the definition, stored ones in
//! the newest.

use super::times::RULE_TIMES;
use crate::field_path;
use crate::json_schema::{JsonSchema, ValidationRule};
use pintle_cel::environment::NEW_EXPRESSIONS_MINOR;
use pintle_cel::{Decl, Environment, Program, Type};
use pintle_schema::Str;
use pintle_validation::ErrorKind;
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

/// A rule as its schema states it.
#[derive(Debug)]
pub(crate) struct Rule {
    pub rule: Str,
    pub message: Str,
    pub message_expression: Str,
    /// The type of the reported error.
    pub reason: ErrorKind,
    /// Where it reports: a path below the value, "" for the value itself.
    pub field_path: Str,
    pub is_old_optional: bool,
}

impl Rule {
    pub fn new(rule: &ValidationRule, schema: &JsonSchema) -> Rule {
        let field_path = match rule.field_path.as_str() {
            "" => None,
            path => field_path::find(path, schema, true).ok().map(|found| found.shown),
        };
        Rule {
            rule: rule.rule.clone(),
            message: rule.message.clone(),
            message_expression: rule.message_expression.clone(),
            reason: match rule.reason.as_deref() {
                Some("FieldValueForbidden") => ErrorKind::Forbidden,
                Some("FieldValueRequired") => ErrorKind::Required,
                Some("FieldValueDuplicate") => ErrorKind::Duplicate,
                _ => ErrorKind::Invalid,
            },
            field_path: field_path.unwrap_or_default().into(),
            is_old_optional: rule.optional_old_self.unwrap_or_default(),
        }
    }
}

/// The result of compiling a rule. An empty rule is ignored.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub program: Option<Program>,
    /// Why there is no program.
    pub error: Option<String>,
    pub uses_old_self: bool,
    /// The program of the message, which a rule that failed gives.
    pub message: Option<Program>,
    pub message_error: Option<String>,
}

/// Which expressions were stored before.
pub(crate) trait StoredRules {
    fn has_rule(&self, rule: &str) -> bool;
    fn has_message(&self, message: &str) -> bool;

    /// The minor release of Kubernetes 1 that the others are compiled for.
    fn new_minor(&self) -> u32 {
        NEW_EXPRESSIONS_MINOR
    }
}

/// Rules of a stored definition.
pub(super) struct EveryRuleStored;

impl StoredRules for EveryRuleStored {
    fn has_rule(&self, _: &str) -> bool {
        true
    }

    fn has_message(&self, _: &str) -> bool {
        true
    }
}

/// The environments of a place: for new and for stored expressions, each with `oldSelf` as a value and as an optional. Built on
/// demand.
struct Environments<'a> {
    decl: &'a Arc<Decl>,
    type_name: &'a str,
    made: [[OnceCell<Environment>; 2]; 2],
}

impl Environments<'_> {
    fn of(&self, is_stored: bool, new_minor: u32, is_old_optional: bool) -> &Environment {
        self.made[usize::from(is_stored)][usize::from(is_old_optional)].get_or_init(|| {
            let base = match is_stored {
                true => Environment::for_stored_expressions(),
                false => Environment::new(new_minor),
            };
            base.with_rule_variables(self.decl, self.type_name, is_old_optional)
        })
    }

    /// A message with kube-apiserver's name of the type.
    fn shown(&self, text: String) -> String {
        match self.type_name.split_once('.') {
            Some((root, _)) => text.replace(self.type_name, root),
            None => text,
        }
    }
}

pub(super) fn compile(rules: &[Rule], decl: &Arc<Decl>, type_name: &str, stored: &dyn StoredRules) -> Vec<Compiled> {
    let started = Instant::now();
    let environments = Environments { decl, type_name, made: Default::default() };
    let compiled = rules.iter().map(|rule| compile_rule(rule, &environments, stored)).collect();
    RULE_TIMES.compilation.observe_duration(started.elapsed());
    compiled
}

fn compile_rule(rule: &Rule, environments: &Environments<'_>, stored: &dyn StoredRules) -> Compiled {
    let mut compiled = Compiled::default();
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let environment = environments.of(stored.has_rule(&rule.rule), stored.new_minor(), rule.is_old_optional);
    let fails = |error: String| Some(environments.shown(error));
    let checked = match environment.check(&rule.rule) {
        Ok(checked) => checked,
        Err(issues) => {
            compiled.error = fails(format!("compilation failed: {issues}"));
            return compiled;
        }
    };
    if checked.output_type() != Type::Bool {
        compiled.error = Some("cel expression must evaluate to a bool".to_owned());
        return compiled;
    }
    compiled.uses_old_self = checked.refers_to("oldSelf");
    match checked.program() {
        Ok(program) => compiled.program = Some(program),
        Err(error) => {
            compiled.error = fails(format!("program instantiation failed: {error}"));
            return compiled;
        }
    }
    if !rule.message_expression.is_empty() {
        let is_stored = stored.has_message(&rule.message_expression);
        let environment = environments.of(is_stored, stored.new_minor(), rule.is_old_optional);
        match compile_message(&rule.message_expression, environment) {
            Ok(message) => compiled.message = Some(message),
            Err(error) => compiled.message_error = fails(error),
        }
    }
    compiled
}

fn compile_message(text: &str, environment: &Environment) -> Result<Program, String> {
    let checked =
        environment.check(text).map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
    if checked.output_type() != Type::String {
        return Err("messageExpression must evaluate to a string".to_owned());
    }
    checked.program().map_err(|error| format!("messageExpression instantiation failed: {error}"))
}
