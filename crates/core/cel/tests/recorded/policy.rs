//! Expressions of policies, webhooks and device selectors: what their validation says of them.

use super::cases::Case;
use pintle_cel::environment::{NEW_EXPRESSIONS_MINOR, Policy};
use pintle_cel::{Environment, Type};
use pintle_schema::Value as Data;
use pintle_schema::names::quoted;

/// The messages about expressions, sorted.
pub fn validate(case: &Case) -> Vec<String> {
    let body = case.get("body").unwrap_or(Data::Null);
    let mut validated = Checked { errors: Vec::new() };
    match body.str_at(&["kind"]) {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => validated.policy(&body),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            let environment = policy(Policy { has_authorizer: true, ..Policy::default() });
            for webhook in list(&body, &["webhooks"]) {
                validated.conditions(webhook, &["matchConditions"], &environment);
            }
        }
        _ => validated.devices(&body),
    }
    validated.errors.sort();
    validated.errors
}

fn list<'d>(data: &'d Data, path: &[&str]) -> &'d [Data] {
    data.at(path).and_then(Data::as_list).unwrap_or(&[])
}

fn policy(policy: Policy) -> Environment {
    Environment::for_policy(NEW_EXPRESSIONS_MINOR, policy)
}

struct Checked {
    errors: Vec<String>,
}

impl Checked {
    /// The type of an expression that is one of those allowed.
    fn expression(&mut self, text: &str, environment: &Environment, allowed: &[Type]) -> Option<Type> {
        if text.is_empty() {
            return None;
        }
        let invalid = |detail: String| format!("Invalid value: {}: {detail}", quoted(text));
        let checked = match environment.check(text) {
            Ok(checked) => checked,
            Err(issues) => {
                self.errors.push(invalid(format!("compilation failed: {issues}")));
                return None;
            }
        };
        let found = checked.output_type();
        if !allowed.is_empty() && !allowed.contains(&found) {
            let names: Vec<String> = allowed.iter().map(Type::declared).collect();
            let expected = match names.as_slice() {
                [one] => one.clone(),
                many => format!("one of [{}]", many.join(" ")),
            };
            self.errors.push(invalid(format!("must evaluate to {expected} but got {}", found.declared())));
            return None;
        }
        if let Err(error) = checked.program() {
            self.errors.push(format!("Internal error: program instantiation failed: {error}"));
            return None;
        }
        Some(found)
    }

    fn conditions(&mut self, data: &Data, path: &[&str], environment: &Environment) {
        for condition in list(data, path) {
            self.expression(condition.str_at(&["expression"]), environment, &[Type::Bool]);
        }
    }

    fn policy(&mut self, body: &Data) {
        let has_params = body.at(&["spec", "paramKind"]).is_some_and(|kind| !kind.is_null());
        let with_authorizer = Policy { has_params, has_authorizer: true, has_patches: false };
        self.conditions(body, &["spec", "matchConditions"], &policy(with_authorizer));
        let mut variables: Vec<(&str, Type)> = Vec::new();
        for variable in list(body, &["spec", "variables"]) {
            let environment = policy(with_authorizer).with_policy_variables(variables.clone());
            // What does not compile is no reason to refuse what uses it.
            let ty = self.expression(variable.str_at(&["expression"]), &environment, &[]).unwrap_or(Type::Error);
            variables.push((variable.str_at(&["name"]), ty));
        }
        let with = |what: Policy| match variables.is_empty() && body.str_at(&["kind"]).starts_with("Validating") {
            true => policy(what),
            false => policy(what).with_policy_variables(variables.clone()),
        };
        let full = with(with_authorizer);
        for validation in list(body, &["spec", "validations"]) {
            self.expression(validation.str_at(&["expression"]), &full, &[Type::Bool]);
            let environment = with(Policy { has_authorizer: false, ..with_authorizer });
            self.expression(validation.str_at(&["messageExpression"]), &environment, &[Type::String]);
        }
        for annotation in list(body, &["spec", "auditAnnotations"]) {
            self.expression(annotation.str_at(&["valueExpression"]), &full, &[Type::String, Type::Null]);
        }
        let patching = with(Policy { has_patches: true, ..with_authorizer });
        for mutation in list(body, &["spec", "mutations"]) {
            let object = Type::object("Object");
            self.expression(mutation.str_at(&["applyConfiguration", "expression"]), &patching, &[object]);
            let patches = Type::list(Type::object("JSONPatch"));
            self.expression(mutation.str_at(&["jsonPatch", "expression"]), &patching, &[patches]);
        }
    }

    fn devices(&mut self, body: &Data) {
        let environment = Environment::for_devices(NEW_EXPRESSIONS_MINOR);
        let mut selectors: Vec<&Data> = list(body, &["spec", "selectors"]).iter().collect();
        for path in [&["spec", "devices", "requests"][..], &["spec", "spec", "devices", "requests"]] {
            for request in list(body, path) {
                selectors.extend(list(request, &["exactly", "selectors"]));
                for alternative in list(request, &["firstAvailable"]) {
                    selectors.extend(list(alternative, &["selectors"]));
                }
            }
        }
        for selector in selectors {
            self.device(selector.str_at(&["cel", "expression"]), &environment);
        }
    }

    fn device(&mut self, text: &str, environment: &Environment) {
        let invalid = |detail: String| format!("Invalid value: {}: {detail}", quoted(text));
        let checked = match environment.check(text) {
            Ok(checked) => checked,
            Err(issues) => return self.errors.push(invalid(format!("compilation failed: {issues}"))),
        };
        let found = checked.output_type();
        if !matches!(found, Type::Bool | Type::Any) {
            let detail = format!("must evaluate to bool or the unknown type, not {}", found.declared());
            return self.errors.push(invalid(detail));
        }
        match checked.program() {
            Err(error) => self.errors.push(format!("Internal error: program instantiation failed: {error}")),
            Ok(program) if program.estimated_cost().max > 1_000_000 => {
                self.errors.push("Forbidden: too complex, exceeds cost limit".to_string());
            }
            Ok(_) => {}
        }
    }
}
