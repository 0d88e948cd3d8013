//! Defaults in definitions: each must be valid under its own schema, without unknown fields.

use crate::json_schema::JsonSchema;
use crate::object;
use crate::prune;
use crate::rules::{Budget, Node, OldObject, RuleReport, RuleTree};
use crate::values::{Purpose, ValueSchema};
use pintle_schema::Value;
use pintle_validation::{ErrorList, FieldPath};

/// Validates the defaults of the structural schema of an object with these rules.
pub(super) fn validate(
    schema: &JsonSchema,
    rules: Option<&Node>,
    require_pruned: bool,
    path: &FieldPath<'_>,
) -> ErrorList {
    let mut walk = Walk { require_pruned, budget: Budget::OF_OBJECT, errors: ErrorList::default() };
    walk.schema(schema, rules, true, false, path);
    walk.errors
}

struct Walk {
    require_pruned: bool,
    /// The remaining budget for the rules of all defaults.
    budget: Budget,
    errors: ErrorList,
}

impl Walk {
    fn schema(
        &mut self,
        schema: &JsonSchema,
        rules: Option<&Node>,
        is_root: bool,
        inside_meta: bool,
        path: &FieldPath<'_>,
    ) {
        let is_object = is_root || schema.embedded_resource;
        let inside_meta = inside_meta && !is_object;
        if let Some(default) = &schema.default {
            let at = path.child("default");
            if self.require_pruned && !inside_meta {
                let mut pruned = default.clone();
                prune::prune(&mut pruned, schema, is_object);
                if pruned != *default {
                    self.errors.invalid(at, default.clone(), "must not have unknown fields");
                }
            }
            let mut found = ErrorList::default();
            if !inside_meta {
                object::validate_embedded(default, schema, is_object, &at, &mut found);
            }
            let values = ValueSchema::new(schema, Purpose::Defaults);
            if found.is_empty() {
                found = values.validate(default, None, Some(&at));
            }
            if found.is_empty() {
                found = self.of_rules(schema, &values, default, rules, is_object, &at);
            }
            self.errors.0.extend(found.0);
        }
        if self.budget.is_exceeded() {
            return;
        }
        if let Some(item) = schema.item() {
            self.schema(item, rules.and_then(Node::items), false, inside_meta, &path.child("items"));
        }
        for (name, property) in &schema.properties {
            if self.budget.is_exceeded() {
                return;
            }
            let of_meta = inside_meta || is_object && object::META_FIELDS.contains(&name.as_str());
            let rules = rules.and_then(|rules| rules.property(name));
            self.schema(property, rules, false, of_meta, &path.child("properties").key(name));
        }
    }

    /// Evaluates the rules on a default, as an unchanged value and as a new one.
    fn of_rules(
        &mut self,
        schema: &JsonSchema,
        values: &ValueSchema,
        default: &Value,
        rules: Option<&Node>,
        is_object: bool,
        path: &FieldPath<'_>,
    ) -> ErrorList {
        let mut errors = ErrorList::default();
        let own;
        let rules = match rules {
            Some(rules) => rules,
            // Rules below a schema without a type in CEL have types of their own.
            None => {
                own = RuleTree::new(schema, is_object);
                match own.as_ref().map(RuleTree::root) {
                    Ok(Some(rules)) => rules,
                    _ => return errors,
                }
            }
        };
        let mut left = self.budget;
        for replaced in [Some(OldObject { old: default, schema: values, ratchets: false }), None] {
            if errors.is_empty() {
                let mut budget = self.budget;
                let mut warnings = Vec::new();
                let mut findings = RuleReport { errors: &mut errors, warnings: &mut warnings };
                rules.evaluate(default, replaced, path, &mut budget, &mut findings);
                left = left.min(budget);
            }
        }
        self.budget = left;
        errors
    }
}

/// Whether a schema has a default with fields that the schema does not know.
pub(super) fn has_unpruned(schema: &JsonSchema) -> bool {
    schema.any(&mut |schema| {
        schema.default.as_ref().is_some_and(|default| {
            let mut pruned = default.clone();
            prune::prune(&mut pruned, schema, schema.embedded_resource);
            pruned != *default
        })
    })
}
