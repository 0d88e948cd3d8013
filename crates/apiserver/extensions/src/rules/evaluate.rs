//! Evaluates the rules of a schema on an object: values in place, correlated old values, one budget for all.
//!
//! Follows kube-apiserver in what counts against the budget and in what order. The total time is bounded by the budget, however
//! many rules fail: evaluation stops at a maximum number of errors.

use super::Node;
use super::compile::{Compiled, Rule};
use crate::values::{Correlated, ValueSchema};
use pintle_cel::{Decl, EvalError, Evaluated, Value as CelValue, Variables};
use pintle_schema::Value;
use pintle_schema::names::quoted;
use pintle_validation::{ErrorKind, ErrorList, FieldPath};
use std::cell::Cell;
use std::ops::ControlFlow;

/// The highest cost of one evaluation.
const MAX_COST_OF_CALL: u64 = 1_000_000;

/// The highest cost of all evaluations on one object.
const MAX_COST_OF_OBJECT: u64 = 10_000_000;

/// The longest message that a message expression gives.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Evaluation of an object stops after so many failures: a response has no room for more.
pub(super) const MAX_FAILURES: usize = 2000;

/// The warnings of one object that are kept.
const MAX_WARNINGS: usize = 100;

/// The remaining cost for the rules of an object; `None` once exceeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(Option<u64>);

impl Budget {
    pub const OF_OBJECT: Budget = Budget(Some(MAX_COST_OF_OBJECT));

    pub fn is_exceeded(self) -> bool {
        self.0.is_none()
    }

    /// The smaller of two.
    pub fn min(self, other: Budget) -> Budget {
        Budget(self.0.min(other.0))
    }

    /// Subtracts a cost. Returns whether it was available.
    fn takes(&mut self, cost: u64) -> bool {
        self.0 = self.0.and_then(|left| left.checked_sub(cost));
        self.0.is_some()
    }

    fn exceed(&mut self) {
        self.0 = None;
    }
}

/// Collects errors and warnings of rules.
pub(crate) struct RuleReport<'a> {
    pub errors: &'a mut ErrorList,
    /// Failures of values that an update left as they were.
    pub warnings: &'a mut Vec<String>,
}

/// An object that another replaces.
#[derive(Clone, Copy)]
pub(crate) struct OldObject<'a> {
    pub old: &'a Value,
    pub schema: &'a ValueSchema,
    /// Whether a value that is as it was may break rules.
    pub ratchets: bool,
}

impl Node {
    /// Evaluates the rules of this place and those below it on a value.
    pub fn evaluate(
        &self,
        value: &Value,
        replaced: Option<OldObject<'_>>,
        path: &FieldPath<'_>,
        budget: &mut Budget,
        findings: &mut RuleReport<'_>,
    ) {
        let most = findings.errors.0.len().saturating_add(MAX_FAILURES);
        let mut walk = Walk { budget, findings, most };
        let old = replaced.map(|OldObject { old, schema, ratchets }| Pair {
            value,
            old: Correlated { schema, old },
            ratchets,
            is_root: true,
            is_equal: Cell::new(None),
        });
        let beside = OldValue { pair: old.as_ref(), is_own: true };
        // The result only controls the walk.
        let _ = walk.node(self, value, beside, path);
    }
}

/// A value and the one that it replaces.
struct Pair<'a> {
    value: &'a Value,
    old: Correlated<'a>,
    ratchets: bool,
    is_root: bool,
    is_equal: Cell<Option<bool>>,
}

impl Pair<'_> {
    /// Whether the value is unchanged. Computed once for all rules.
    fn is_unchanged(&self) -> bool {
        let compare = || {
            let is_equal = self.old.is_equal(self.value);
            self.is_equal.set(Some(is_equal));
            is_equal
        };
        self.ratchets && self.is_equal.get().unwrap_or_else(compare)
    }
}

/// The old value of a value: its own, or the nearest enclosing one if it cannot be correlated.
#[derive(Clone, Copy)]
struct OldValue<'a> {
    pair: Option<&'a Pair<'a>>,
    is_own: bool,
}

impl<'a> OldValue<'a> {
    fn own(self) -> Option<&'a Pair<'a>> {
        self.pair.filter(|_| self.is_own)
    }

    /// The value that is replaced.
    fn old(self) -> Option<&'a Value> {
        self.own().map(|pair| pair.old.old).filter(|old| !old.is_null())
    }

    fn is_unchanged(self) -> bool {
        self.pair.is_some_and(Pair::is_unchanged)
    }
}

struct Walk<'w, 'f> {
    budget: &'w mut Budget,
    findings: &'w mut RuleReport<'f>,
    /// With so many errors the walk ends.
    most: usize,
}

impl Walk<'_, '_> {
    fn node(&mut self, node: &Node, value: &Value, beside: OldValue<'_>, path: &FieldPath<'_>) -> ControlFlow<()> {
        if value.is_null() {
            return ControlFlow::Continue(());
        }
        if !node.rules.is_empty() {
            self.rules(node, value, beside, path)?;
        }
        match value {
            Value::List(items) => self.items(node, items, beside, path),
            Value::Map(map) => {
                for (name, value) in map.iter() {
                    let (inner, path) = match (node.property(name), node.additional()) {
                        (Some(inner), _) => (inner, path.child(name)),
                        (None, Some(inner)) => (inner, path.key(name)),
                        (None, None) => continue,
                    };
                    let pair = beside.own().and_then(|own| {
                        let old = own.old.field(name)?;
                        // Type and version are converted before they are compared: they count as changed each time.
                        let is_converted = own.is_root && matches!(name.as_str(), "apiVersion" | "kind");
                        let ratchets = own.ratchets && !is_converted;
                        Some(Pair { value, old, ratchets, is_root: false, is_equal: Cell::new(None) })
                    });
                    self.below(inner, value, pair.as_ref(), beside, &path)?;
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn items(&mut self, node: &Node, items: &[Value], beside: OldValue<'_>, path: &FieldPath<'_>) -> ControlFlow<()> {
        let Some(inner) = node.items() else { return ControlFlow::Continue(()) };
        let own = beside.own();
        let index = own.and_then(|own| own.old.index());
        for (at, value) in items.iter().enumerate() {
            let pair = own.zip(index.as_ref().and_then(|index| index.find(value))).map(|(own, old)| Pair {
                value,
                old,
                ratchets: own.ratchets,
                is_root: false,
                is_equal: Cell::new(None),
            });
            self.below(inner, value, pair.as_ref(), beside, &path.index(at))?;
        }
        ControlFlow::Continue(())
    }

    fn below(
        &mut self,
        node: &Node,
        value: &Value,
        pair: Option<&Pair<'_>>,
        around: OldValue<'_>,
        path: &FieldPath<'_>,
    ) -> ControlFlow<()> {
        match pair {
            Some(pair) => self.node(node, value, OldValue { pair: Some(pair), is_own: true }, path),
            None => self.node(node, value, OldValue { pair: around.pair, is_own: false }, path),
        }
    }

    /// The rules of one place.
    fn rules(&mut self, node: &Node, value: &Value, beside: OldValue<'_>, path: &FieldPath<'_>) -> ControlFlow<()> {
        if self.budget.0 == Some(0) {
            let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.end(node, path, detail)?;
        }
        let compiled = node.compiled();
        let variables = SelfAndOld {
            value,
            old: beside.old(),
            decl: &node.decl,
            has_old: compiled.iter().any(|rule| rule.uses_old_self),
            is_old_optional: false,
        };
        for (rule, compiled) in node.rules.iter().zip(compiled) {
            self.rule(node, rule, compiled, &variables, beside, path)?;
        }
        ControlFlow::Continue(())
    }

    fn rule(
        &mut self,
        node: &Node,
        rule: &Rule,
        compiled: &Compiled,
        variables: &SelfAndOld<'_>,
        beside: OldValue<'_>,
        path: &FieldPath<'_>,
    ) -> ControlFlow<()> {
        if let Some(error) = &compiled.error {
            return self.invalid(node, path, format!("rule compile error: {error}"));
        }
        let Some(program) = &compiled.program else { return ControlFlow::Continue(()) };
        // A transition rule without `optionalOldSelf` is evaluated only with an old value.
        if compiled.uses_old_self && variables.old.is_none() && !rule.is_old_optional {
            return ControlFlow::Continue(());
        }
        let of_rule = SelfAndOld { is_old_optional: rule.is_old_optional, ..*variables };
        let Evaluated { value, cost } = program.evaluate(&of_rule, MAX_COST_OF_CALL);
        if !self.budget.takes(cost) {
            let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
            return self.end(node, path, detail);
        }
        match value {
            Ok(CelValue::Bool(true)) => ControlFlow::Continue(()),
            Ok(_) => self.failed(node, rule, compiled, variables, beside, path),
            Err(error) => self.erred(node, rule, &error, path),
        }
    }

    fn erred(&mut self, node: &Node, rule: &Rule, error: &EvalError, path: &FieldPath<'_>) -> ControlFlow<()> {
        let shown = shown_in_errors(rule);
        match error {
            EvalError::CostExceeded => {
                let detail = format!(
                    "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
                );
                self.end(node, path, detail)
            }
            error if error.to_string().starts_with("no such overload") => {
                let detail = format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
                );
                self.invalid(node, path, detail)
            }
            error => self.invalid(node, path, format!("{error} evaluating rule: {shown}")),
        }
    }

    /// A rule that is not met.
    fn failed(
        &mut self,
        node: &Node,
        rule: &Rule,
        compiled: &Compiled,
        variables: &SelfAndOld<'_>,
        beside: OldValue<'_>,
        path: &FieldPath<'_>,
    ) -> ControlFlow<()> {
        let below;
        let path = match rule.field_path.as_str() {
            "" => path,
            field => {
                below = path.child(field);
                &below
            }
        };
        // A failure for an unchanged value is a warning. Transition rules always fail with an error.
        let is_warning = !compiled.uses_old_self && beside.is_unchanged();
        let message = compiled.message.as_ref().map(|message| message.evaluate(variables, MAX_COST_OF_CALL));
        let text = match message {
            None => None,
            Some(Evaluated { value, cost }) => {
                let unusable = if !self.budget.takes(cost) {
                    let detail = "messageExpression evaluation failed due to running out of cost budget, no further \
                                  validation rules will be run";
                    Some(detail.to_owned())
                } else if matches!(value, Err(EvalError::CostExceeded)) {
                    let detail = "no further validation rules will be run due to call cost exceeds limit for \
                                  messageExpression";
                    Some(format!("{detail}: {}", quoted(&rule.message_expression)))
                } else {
                    None
                };
                if let Some(detail) = unusable {
                    self.budget.exceed();
                    let of_kind = Some(Value::String(node.kind.clone()));
                    self.report(is_warning, ErrorKind::Invalid, path, of_kind, detail)?;
                    return ControlFlow::Break(());
                }
                usable_message(value)
            }
        };
        let text = text.unwrap_or_else(|| match rule.message.as_str() {
            "" => format!("failed rule: {}", shown_in_errors(rule)),
            message => message.trim().to_owned(),
        });
        // The values of objects and lists are not reported.
        let value = Some(variables.value).filter(|_| !matches!(node.kind.as_str(), "object" | "array")).cloned();
        let text = if rule.reason == ErrorKind::Duplicate { String::new() } else { text };
        let value = value.filter(|_| matches!(rule.reason, ErrorKind::Duplicate | ErrorKind::Invalid));
        self.report(is_warning, rule.reason, path, value, text)
    }

    fn report(
        &mut self,
        is_warning: bool,
        kind: ErrorKind,
        path: &FieldPath<'_>,
        value: Option<Value>,
        detail: String,
    ) -> ControlFlow<()> {
        if !is_warning {
            return self.error(kind, path, value, detail);
        }
        if self.findings.warnings.len() < MAX_WARNINGS {
            let mut one = ErrorList::default();
            one.push(kind, field_of(path), value, detail);
            self.findings.warnings.extend(one.0.iter().map(|error| error.line()));
        }
        ControlFlow::Continue(())
    }

    fn error(
        &mut self,
        kind: ErrorKind,
        path: &FieldPath<'_>,
        value: Option<Value>,
        detail: String,
    ) -> ControlFlow<()> {
        self.findings.errors.push(kind, field_of(path), value, detail);
        match self.findings.errors.0.len() < self.most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    /// An error with the type of the value.
    fn invalid(&mut self, node: &Node, path: &FieldPath<'_>, detail: impl Into<String>) -> ControlFlow<()> {
        self.error(ErrorKind::Invalid, path, Some(Value::String(node.kind.clone())), detail.into())
    }

    /// An error after which no rule is evaluated.
    fn end(&mut self, node: &Node, path: &FieldPath<'_>, detail: impl Into<String>) -> ControlFlow<()> {
        self.budget.exceed();
        self.invalid(node, path, detail)?;
        ControlFlow::Break(())
    }
}

/// A path in an error. For rules of a whole object kube-apiserver has a nil path, and prints that.
pub(crate) fn field_of(path: &FieldPath<'_>) -> String {
    match path.to_string() {
        field if field == "[]" => "<nil>".to_owned(),
        field => field,
    }
}

fn shown_in_errors(rule: &Rule) -> &str {
    match rule.message.as_str() {
        "" => rule.rule.trim(),
        message => message.trim(),
    }
}

/// The result of a message expression, if it is usable.
fn usable_message(value: Result<CelValue<'_>, EvalError>) -> Option<String> {
    let value = value.ok()?;
    let text = value.as_str()?.trim();
    let is_usable = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
    is_usable.then(|| text.to_owned())
}

/// The variables of a rule.
#[derive(Clone, Copy)]
struct SelfAndOld<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    decl: &'a Decl,
    /// Whether a rule of the place reads the old value: else message expressions do not see it either.
    has_old: bool,
    is_old_optional: bool,
}

impl<'a> Variables<'a> for SelfAndOld<'a> {
    fn variable(&self, name: &str) -> Option<Result<CelValue<'a>, EvalError>> {
        match name {
            "self" => Some(CelValue::of_data(self.value, self.decl)),
            "oldSelf" if !self.has_old => None,
            "oldSelf" if self.is_old_optional => Some(match self.old {
                Some(old) => CelValue::of_data(old, self.decl).map(CelValue::some),
                None => Ok(CelValue::Optional(None)),
            }),
            "oldSelf" => self.old.map(|old| CelValue::of_data(old, self.decl)),
            _ => None,
        }
    }
}
