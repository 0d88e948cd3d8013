//! `RuleTree`: the CEL rules of a schema, with the declarations of the values that they read.
//!
//! Follows the schema as far as there are rules. The rules of one place are compiled at their first use, and shared. Must never
//! copy an object: rules read its values in place.

mod compile;
mod declared;
mod evaluate;
#[cfg(test)]
mod tests;
mod times;

pub(crate) use compile::{Compiled, Rule, StoredRules};
pub(crate) use evaluate::{Budget, OldObject, RuleReport, field_of};
pub use times::{RULE_TIMES, RuleTimes};

use crate::json_schema::{JsonSchema, ValidationRule};
use compile::compile;
use pintle_cel::Decl;
use pintle_cel::schema::{Shape, escape};
use pintle_schema::Str;
use std::sync::{Arc, OnceLock};

/// The type name of `self` in messages.
const SELF_TYPE: &str = "selfType";

/// The rules of a schema.
#[derive(Debug)]
pub(crate) struct RuleTree {
    root: Option<Node>,
}

/// The rules at one place of a schema, and those below it.
#[derive(Debug)]
pub(crate) struct Node {
    decl: Arc<Decl>,
    /// The prefix of type names at this place.
    type_name: Str,
    /// `type` of the schema, which messages show.
    kind: Str,
    rules: Vec<Rule>,
    compiled: OnceLock<Vec<Compiled>>,
    properties: Vec<(Str, Node)>,
    additional: Option<Box<Node>>,
    items: Option<Box<Node>>,
}

/// A schema with rules has no CEL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to convert structural schema to CEL declarations")]
pub(crate) struct NoCelType;

impl RuleTree {
    /// The rules of a structural schema; `is_object`: of a whole object.
    ///
    /// # Errors
    /// The schema has rules, but no type in CEL.
    pub fn new(schema: &JsonSchema, is_object: bool) -> Result<RuleTree, NoCelType> {
        if !schema.any(&mut |schema| !schema.validations.is_empty()) {
            return Ok(RuleTree { root: None });
        }
        let name = free_type_name(schema);
        let decl = Arc::new(Decl::of_openapi(schema, is_object || schema.embedded_resource, &name));
        if decl.ty.is_none() {
            return Err(NoCelType);
        }
        Ok(RuleTree { root: Node::new(schema, &decl, Place { parent: None, step: &name }) })
    }

    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }
}

/// A name for types that no rule of a schema mentions: rules must not depend on it.
fn free_type_name(schema: &JsonSchema) -> String {
    let mut mentioned = Vec::new();
    schema.any(&mut |schema| {
        for ValidationRule { rule, message_expression, .. } in &schema.validations {
            mentioned.extend([rule, message_expression].into_iter().filter(|text| text.contains(SELF_TYPE)).cloned());
        }
        false
    });
    let mut names = (0..).map(|number| format!("{SELF_TYPE}{number}"));
    // There are fewer mentions than bytes of texts, so one of the names is free.
    names.find(|name| !mentioned.iter().any(|text| text.contains(name.as_str()))).unwrap_or_default()
}

/// The position of a type in a schema, formatted only where there are rules.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: &'a str,
}

impl Place<'_> {
    fn child<'a>(&'a self, step: &'a str) -> Place<'a> {
        Place { parent: Some(self), step }
    }

    fn name(&self) -> String {
        match self.parent {
            None => self.step.to_owned(),
            Some(parent) => parent.name() + "." + self.step,
        }
    }
}

impl Node {
    /// `None` without rules. A schema without a CEL type has no rules either, as in kube-apiserver.
    fn new(schema: &JsonSchema, decl: &Arc<Decl>, place: Place<'_>) -> Option<Node> {
        let (mut properties, mut additional, mut items) = (Vec::new(), None, None);
        match &decl.shape {
            Shape::Object { fields } => {
                for (name, of) in &schema.properties {
                    let Some(field) = fields.by_name(name).filter(|field| field.decl.ty.is_some()) else { continue };
                    let escaped = escape(name);
                    let place = place.child(escaped.as_deref().unwrap_or(name));
                    properties.extend(Node::new(of, &field.decl, place).map(|node| (name.clone(), node)));
                }
            }
            Shape::Map { values } => {
                additional = schema.additional().and_then(|of| Node::new(of, values, place.child("@elem")));
            }
            Shape::List(elements) => {
                items = schema.item().and_then(|of| Node::new(of, elements.shared(), place.child("@idx")));
            }
            _ => {}
        }
        if schema.validations.is_empty() && properties.is_empty() && additional.is_none() && items.is_none() {
            return None;
        }
        let rules: Vec<Rule> = schema.validations.iter().map(|rule| Rule::new(rule, schema)).collect();
        Some(Node {
            decl: decl.clone(),
            type_name: if rules.is_empty() { Str::default() } else { place.name().into() },
            kind: schema.kind.clone(),
            rules,
            compiled: OnceLock::new(),
            properties,
            additional: additional.map(Box::new),
            items: items.map(Box::new),
        })
    }

    /// The rules that are below a property.
    pub fn property(&self, name: &str) -> Option<&Node> {
        let at = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.properties[at].1)
    }

    /// The rules that are below properties that are not named.
    pub fn additional(&self) -> Option<&Node> {
        self.additional.as_deref()
    }

    /// The rules that are below items.
    pub fn items(&self) -> Option<&Node> {
        self.items.as_deref()
    }

    /// Compiles the rules of this place, in their order.
    pub fn compile(&self, stored: &dyn StoredRules) -> Vec<Compiled> {
        compile(&self.rules, &self.decl, &self.type_name, stored)
    }

    /// The fewest bytes that a value of this place takes.
    pub fn min_bytes(&self) -> u64 {
        self.decl.min_bytes
    }

    fn compiled(&self) -> &[Compiled] {
        self.compiled.get_or_init(|| self.compile(&compile::EveryRuleStored))
    }
}
