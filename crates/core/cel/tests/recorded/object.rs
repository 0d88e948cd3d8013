//! What rules make of an object: evaluation and messages, as the validation of custom resources tells it.

use super::cases::Case;
use super::definition::{self, Rule};
use pintle_cel::{Decl, Value};
use pintle_schema::Value as Data;
use std::sync::Arc;

const CALL_LIMIT: u64 = 1_000_000;
const OBJECT_LIMIT: u64 = 10_000_000;

pub fn validate(case: &Case) -> Vec<String> {
    let schema = case.schema();
    let mut new = case.get("value").unwrap_or(Data::Null);
    add_defaults(&schema, &mut new);
    if case.is_root() {
        for (path, text) in [(&["apiVersion"][..], "cel.test/v1"), (&["kind"], "Pack"), (&["metadata", "name"], "some")]
        {
            new.set_at(path, text);
        }
    }
    let old = case.get("old");
    let mut validated = Checked { errors: Vec::new(), budget: Some(OBJECT_LIMIT) };
    validated.walk(&schema, case.is_root(), &new, old.as_ref());
    validated.errors.sort();
    validated.errors
}

struct Checked {
    errors: Vec<String>,
    /// What is left; `None` when no more rules run.
    budget: Option<u64>,
}

/// The value as an error shows it; objects and lists are left out.
fn shown(value: &Data) -> String {
    match value {
        Data::Bool(b) => format!("{b}: "),
        Data::Int(i) => format!("{i}: "),
        Data::Float(d) => format!("{}: ", pintle_schema::compat::float::print(*d)),
        Data::String(text) => format!("{}: ", pintle_schema::names::quoted(text)),
        _ => String::new(),
    }
}

fn rule_text(rule: &Data) -> &str {
    match rule.str_at(&["message"]) {
        "" => rule.str_at(&["rule"]).trim(),
        message => message.trim(),
    }
}

impl Checked {
    fn walk(&mut self, schema: &Data, is_root: bool, value: &Data, old: Option<&Data>) {
        if self.budget.is_none() || value.is_null() {
            return;
        }
        let rules = schema.get("x-kubernetes-validations").and_then(Data::as_list).unwrap_or(&[]);
        if !rules.is_empty() {
            self.validate_node(schema, is_root, rules, value, old);
        }
        if self.budget.is_none() {
            return;
        }
        match value {
            Data::List(items) => {
                let Some(inner) = schema.get("items") else { return };
                for item in items {
                    let old = old.and_then(|old| correlated(schema, old, item));
                    self.walk(inner, definition::is_embedded(inner), item, old);
                }
            }
            Data::Map(map) => {
                for (key, value) in map.iter() {
                    let property = schema.get("properties").and_then(|properties| properties.get(key));
                    if let Some(inner) = property.or_else(|| schema.get("additionalProperties")) {
                        let old = old.and_then(|old| old.get(key));
                        self.walk(inner, definition::is_embedded(inner), value, old);
                    }
                }
            }
            _ => {}
        }
    }

    fn validate_node(&mut self, schema: &Data, is_root: bool, rules: &[Data], value: &Data, old: Option<&Data>) {
        let decl = Arc::new(Decl::of_openapi(schema, is_root, "selfType0"));
        let environments = definition::environments(&decl);
        for rule in rules {
            match definition::compile(rule, &environments) {
                Ok(compiled) => self.validate_rule(schema, rule, &compiled, &decl, value, old),
                Err(error) => self.errors.push(format!("rule compile error: {error}")),
            }
            if self.budget.is_none() {
                return;
            }
        }
    }

    fn validate_rule(
        &mut self,
        schema: &Data,
        rule: &Data,
        compiled: &Rule,
        decl: &Decl,
        value: &Data,
        old: Option<&Data>,
    ) {
        let is_optional = rule.get("optionalOldSelf").and_then(Data::as_bool).unwrap_or(false);
        if compiled.program.refers_to("oldSelf") && old.is_none() && !is_optional {
            return;
        }
        let variables = |name: &str| match name {
            "self" => Some(Value::of_data(value, decl)),
            "oldSelf" if is_optional => Some(match old {
                Some(old) => Value::of_data(old, decl).map(Value::some),
                None => Ok(Value::Optional(None)),
            }),
            "oldSelf" => old.map(|old| Value::of_data(old, decl)),
            _ => None,
        };
        let ty = format!("Invalid value: {}: ", pintle_schema::names::quoted(schema.str_at(&["type"])));
        let evaluated = compiled.program.evaluate(&variables, CALL_LIMIT);
        let Some(left) = self.budget.and_then(|budget| budget.checked_sub(evaluated.cost)) else {
            let out = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.errors.push(format!("{ty}{out}"));
            self.budget = None;
            return;
        };
        self.budget = Some(left);
        match evaluated.value {
            Ok(Value::Bool(true)) => {}
            Ok(_) => {
                let message = compiled.message.as_ref().ok().and_then(Option::as_ref);
                let message = message.map(|message| message.evaluate(&variables, CALL_LIMIT));
                if let Some(evaluated) = &message {
                    let text = pintle_schema::names::quoted(rule.str_at(&["messageExpression"]));
                    if evaluated.cost > CALL_LIMIT {
                        let why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
                        self.errors.push(format!("{ty}{why}: {text}"));
                        self.budget = None;
                        return;
                    }
                    self.budget = self.budget.and_then(|budget| budget.checked_sub(evaluated.cost));
                    if self.budget.is_none() {
                        let why = "messageExpression evaluation failed due to running out of cost budget";
                        self.errors.push(format!("{ty}{why}, no further validation rules will be run"));
                        return;
                    }
                }
                let message = message.and_then(|evaluated| match evaluated.value {
                    Ok(text) => {
                        let text = text.as_str()?.trim().to_string();
                        (!text.is_empty() && !text.contains('\n') && text.len() <= 5 * 1024).then_some(text)
                    }
                    Err(_) => None,
                });
                let message = message.unwrap_or_else(|| match rule.str_at(&["message"]) {
                    "" => format!("failed rule: {}", rule_text(rule)),
                    message => message.trim().to_string(),
                });
                self.errors.push(match rule.str_at(&["reason"]) {
                    "FieldValueForbidden" => format!("Forbidden: {message}"),
                    "FieldValueRequired" => format!("Required value: {message}"),
                    "FieldValueDuplicate" => {
                        let shown = shown(value);
                        let shown = shown.strip_suffix(": ").unwrap_or("");
                        if shown.is_empty() {
                            "Duplicate value".to_string()
                        } else {
                            format!("Duplicate value: {shown}")
                        }
                    }
                    _ => format!("Invalid value: {}{message}", shown(value)),
                });
            }
            Err(error) => {
                let (error, rule) = (error.to_string(), rule_text(rule));
                self.errors.push(if error.starts_with("no such overload") {
                    let why = "call arguments did not match a supported operator, function or macro signature for rule";
                    format!("{ty}'{error}': {why}: {rule}")
                } else if error.starts_with("operation cancelled") {
                    self.budget = None;
                    let why = "no further validation rules will be run due to call cost exceeds limit for rule";
                    format!("{ty}'{error}': {why}: {rule}")
                } else {
                    format!("{ty}{error} evaluating rule: {rule}")
                });
            }
        }
    }
}

/// The old element of a list of maps with the same keys.
fn correlated<'o>(schema: &Data, old: &'o Data, item: &Data) -> Option<&'o Data> {
    if schema.str_at(&["x-kubernetes-list-type"]) != "map" {
        return None;
    }
    let keys = schema.get("x-kubernetes-list-map-keys")?.as_list()?;
    let same = |other: &&Data| keys.iter().filter_map(Data::as_str).all(|key| other.get(key) == item.get(key));
    old.as_list()?.iter().find(same)
}

/// Sets absent properties to their defaults.
fn add_defaults(schema: &Data, value: &mut Data) {
    match value {
        Data::Map(map) => {
            for (key, inner) in schema.get("properties").and_then(Data::as_map).into_iter().flat_map(|map| map.iter()) {
                let is_nullable = inner.get("nullable").and_then(Data::as_bool).unwrap_or(false);
                let is_absent = map.get(key).is_none_or(|value| value.is_null() && !is_nullable);
                if let Some(default) = inner.get("default").filter(|_| is_absent) {
                    map.set(key.clone(), default.clone());
                }
            }
            for (key, value) in map.iter_mut() {
                let property = schema.get("properties").and_then(|properties| properties.get(key));
                if let Some(inner) = property.or_else(|| schema.get("additionalProperties")) {
                    add_defaults(inner, value);
                }
            }
        }
        Data::List(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| add_defaults(inner, item));
            }
        }
        _ => {}
    }
}
