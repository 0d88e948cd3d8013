//! The plan of an evaluation: overloads chosen, constant parts evaluated, selections gathered into attributes.
//!
//! Its shape is kube-apiserver's, since costs follow it.

use super::eval;
use crate::ast::{Ast, Expr, ExprId, Kind};
use crate::checker::{Checks, Reference};
use crate::environment::Environment;
use crate::error::EvalError;
use crate::function::Function;
use crate::library::regex::{self, Pattern};
use crate::types::Type;
use crate::value::{Key, Value};
use pintle_schema::Str;
use std::collections::HashSet;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Const {
        id: ExprId,
        value: Value<'static>,
    },
    Attribute(Box<AttributeNode>),
    Logic {
        id: ExprId,
        is_or: bool,
        terms: [Box<Node>; 2],
    },
    Equal {
        id: ExprId,
        negated: bool,
        sides: [Box<Node>; 2],
    },
    Call(Box<CallNode>),
    /// `or` and `orValue`.
    Otherwise {
        id: ExprId,
        is_value: bool,
        sides: [Box<Node>; 2],
    },
    /// `in` a constant list.
    Member {
        id: ExprId,
        element: Box<Node>,
        set: Arc<HashSet<Key>>,
    },
    List {
        id: ExprId,
        elements: Vec<(Node, bool)>,
    },
    Map {
        id: ExprId,
        entries: Vec<(Node, Node, bool)>,
    },
    Struct {
        id: ExprId,
        name: Str,
        fields: Vec<(Str, Node, bool)>,
    },
    Fold(Box<FoldNode>),
}

#[derive(Clone, Debug)]
pub(super) struct AttributeNode {
    pub attribute: Attribute,
    /// The id of `has()`, if it is one.
    pub test: Option<ExprId>,
}

#[derive(Clone, Debug)]
pub(super) struct CallNode {
    pub id: ExprId,
    pub function: Arc<Function>,
    /// The place of the overload, if the checker found a single one.
    pub overload: Option<usize>,
    pub args: Vec<Node>,
    /// A constant regular expression, compiled.
    pub pattern: Option<Pattern>,
}

#[derive(Clone, Debug)]
pub(super) struct FoldNode {
    pub id: ExprId,
    pub range: Node,
    pub var: Str,
    pub var2: Option<Str>,
    pub accumulator: Str,
    pub init: Node,
    pub condition: Node,
    pub step: Node,
    pub result: Node,
}

#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Variable { id: ExprId, name: Str, qualifiers: Vec<Arc<Qualifier>> },
    Conditional { id: ExprId, condition: Box<Node>, yes: Box<Attribute>, no: Box<Attribute> },
    Relative { id: ExprId, operand: Box<Node>, qualifiers: Vec<Arc<Qualifier>> },
}

#[derive(Clone, Debug)]
pub(super) struct Qualifier {
    pub id: ExprId,
    pub by: By,
    pub is_optional: bool,
    /// Whether it only asks for presence.
    pub is_test: bool,
}

/// What selects.
#[derive(Clone, Debug)]
pub(super) enum By {
    Const(Value<'static>),
    Attribute(Attribute),
    /// The value of any other expression.
    Computed(Attribute),
}

impl Attribute {
    pub fn id(&self) -> ExprId {
        match self {
            Attribute::Variable { id, qualifiers, .. } | Attribute::Relative { id, qualifiers, .. } => {
                qualifiers.last().map_or(*id, |last| last.id)
            }
            Attribute::Conditional { id, yes, no, .. } => {
                let (yes, no) = (yes.id(), no.id());
                if yes == no { yes } else { *id }
            }
        }
    }

    fn add(&mut self, qualifier: &Arc<Qualifier>) {
        match self {
            Attribute::Variable { qualifiers, .. } | Attribute::Relative { qualifiers, .. } => {
                qualifiers.push(qualifier.clone());
            }
            Attribute::Conditional { yes, no, .. } => {
                yes.add(qualifier);
                no.add(qualifier);
            }
        }
    }
}

impl Node {
    pub fn id(&self) -> ExprId {
        match self {
            Node::Const { id, .. }
            | Node::Logic { id, .. }
            | Node::Equal { id, .. }
            | Node::Otherwise { id, .. }
            | Node::Member { id, .. }
            | Node::List { id, .. }
            | Node::Map { id, .. }
            | Node::Struct { id, .. } => *id,
            Node::Attribute(node) => node.test.unwrap_or_else(|| node.attribute.id()),
            Node::Call(call) => call.id,
            Node::Fold(fold) => fold.id,
        }
    }
}

/// Plans an expression that was checked.
pub(super) fn plan(ast: &Ast, checks: &Checks, environment: &Environment) -> Result<Node, EvalError> {
    Planner { checks, environment }.plan(&ast.root)
}

/// A constant call, evaluated: for what validates literals.
pub(super) fn plan_alone(expr: &Expr, checks: &Checks, environment: &Environment) -> Result<Node, EvalError> {
    Planner { checks, environment }.plan(expr)
}

struct Planner<'p> {
    checks: &'p Checks,
    environment: &'p Environment,
}

impl Planner<'_> {
    fn plan(&self, expr: &Expr) -> Result<Node, EvalError> {
        let id = expr.id;
        match &expr.kind {
            Kind::Unspecified => Err(EvalError::new("unsupported expression")),
            Kind::Literal(literal) => Ok(Node::Const { id, value: Value::from(literal) }),
            Kind::Ident(name) => self.plan_ident(id, name),
            Kind::Select { operand, field, test_only } => {
                let operand = self.plan(operand)?;
                let qualifier = Qualifier {
                    id,
                    by: By::Const(Value::string(field.clone())),
                    is_optional: false,
                    is_test: *test_only,
                };
                Ok(select(operand, qualifier, test_only.then_some(id)))
            }
            Kind::Call { function, target, args } => self.plan_call(id, function, target.as_deref(), args),
            Kind::List { elements, optional } => {
                let elements = elements
                    .iter()
                    .enumerate()
                    .map(|(at, element)| Ok((self.plan(element)?, optional.contains(&at))))
                    .collect::<Result<Vec<_>, EvalError>>()?;
                let is_const = elements.iter().all(|(element, _)| matches!(element, Node::Const { .. }));
                let node = Node::List { id, elements };
                if is_const { fold_constant(id, node) } else { Ok(node) }
            }
            Kind::Map(entries) => {
                let entries = entries
                    .iter()
                    .map(|entry| Ok((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional)))
                    .collect::<Result<Vec<_>, EvalError>>()?;
                let is_const = entries
                    .iter()
                    .all(|(key, value, _)| matches!((key, value), (Node::Const { .. }, Node::Const { .. })));
                let node = Node::Map { id, entries };
                if is_const { fold_constant(id, node) } else { Ok(node) }
            }
            Kind::Struct { name, fields } => {
                let fields = fields
                    .iter()
                    .map(|field| Ok((field.name.clone(), self.plan(&field.value)?, field.optional)))
                    .collect::<Result<Vec<_>, EvalError>>()?;
                Ok(Node::Struct { id, name: name.clone(), fields })
            }
            Kind::Comprehension(inner) => Ok(Node::Fold(Box::new(FoldNode {
                id,
                init: self.plan(&inner.init)?,
                range: self.plan(&inner.range)?,
                condition: self.plan(&inner.condition)?,
                step: self.plan(&inner.step)?,
                result: self.plan(&inner.result)?,
                var: inner.var.clone(),
                var2: inner.var2.clone(),
                accumulator: inner.accumulator.clone(),
            }))),
        }
    }

    fn plan_ident(&self, id: ExprId, name: &Str) -> Result<Node, EvalError> {
        // A variable whose value is a type is no constant, but the name of a type is.
        if matches!(self.checks.types.get(&id), Some(Type::Type(_)))
            && !self.environment.is_variable(name)
            && let Some(Type::Type(Some(named))) = self.environment.identifier(name)
        {
            if self.environment.type_without_value(name).is_some() {
                return Err(EvalError::new(format!("reference to undefined type: {name}")));
            }
            return Ok(Node::Const { id, value: Value::Type((*named).clone()) });
        }
        let attribute = Attribute::Variable { id, name: name.clone(), qualifiers: Vec::new() };
        Ok(Node::Attribute(Box::new(AttributeNode { attribute, test: None })))
    }

    fn plan_call(&self, id: ExprId, function: &str, target: Option<&Expr>, args: &[Expr]) -> Result<Node, EvalError> {
        let mut planned =
            target.into_iter().chain(args).map(|arg| self.plan(arg)).collect::<Result<Vec<Node>, EvalError>>()?;
        match function {
            "_&&_" | "_||_" => {
                let terms = pair(planned)?;
                return Ok(Node::Logic { id, is_or: function == "_||_", terms });
            }
            "_==_" | "_!=_" => {
                let sides = pair(planned)?;
                return Ok(Node::Equal { id, negated: function == "_!=_", sides });
            }
            "_?_:_" => return conditional(id, planned),
            "_[_]" => return index(id, planned, false),
            "_?._" | "_[?_]" => return index(id, planned, true),
            "or" | "orValue" if planned.len() == 2 => {
                let sides = pair(planned)?;
                return Ok(Node::Otherwise { id, is_value: function == "orValue", sides });
            }
            _ => {}
        }
        let Some(declared) = self.environment.function(function) else {
            return Err(EvalError::NoSuchOverload(format!("no such overload: {function}").into()));
        };
        let found: &[&'static str] = match self.checks.references.get(&id) {
            Some(Reference::Overloads(found)) => found,
            _ => &[],
        };
        let single = match found {
            [one] => Some(*one),
            _ => None,
        };
        if single == Some("in_list")
            && let [element, Node::Const { value: Value::List(list), .. }] = planned.as_slice()
        {
            if list.is_empty() {
                return Ok(Node::Const { id, value: Value::Bool(false) });
            }
            let scalars = list.iter().map(|element| match element {
                Ok(value @ (Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))) => {
                    Some(Key::of(&value))
                }
                _ => None,
            });
            if let Some(set) = scalars.collect::<Option<Vec<_>>>() {
                let set = Arc::new(set.into_iter().flatten().collect());
                return Ok(Node::Member { id, element: Box::new(element.clone()), set });
            }
        }
        let pattern = match (function, planned.get(1)) {
            ("matches", Some(Node::Const { value: Value::String(pattern), .. })) => {
                Some(Pattern::compile(pattern).map_err(EvalError::new)?)
            }
            ("find" | "findAll", Some(Node::Const { value: Value::String(pattern), .. })) => {
                regex::check(pattern).map_err(EvalError::new)?;
                None
            }
            _ => None,
        };
        let is_conversion = matches!(
            function,
            "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
        );
        let is_const = is_conversion && matches!(planned.as_slice(), [Node::Const { .. }]);
        let overload = single.and_then(|one| declared.overloads.iter().position(|overload| overload.id == one));
        let node = Node::Call(Box::new(CallNode {
            id,
            function: declared.clone(),
            overload,
            args: std::mem::take(&mut planned),
            pattern,
        }));
        if is_const { fold_constant(id, node) } else { Ok(node) }
    }
}

fn pair(nodes: Vec<Node>) -> Result<[Box<Node>; 2], EvalError> {
    let two: [Node; 2] = nodes.try_into().map_err(|_| EvalError::no_overload())?;
    Ok(two.map(Box::new))
}

/// Evaluates what does not depend on variables.
fn fold_constant(id: ExprId, node: Node) -> Result<Node, EvalError> {
    let value = eval::evaluate_constant(&node)?;
    Ok(Node::Const { id, value })
}

/// The attribute of an operand: what selects from it is added.
fn attribute_of(node: Node) -> (Attribute, Option<ExprId>) {
    match node {
        Node::Attribute(node) => (node.attribute, node.test),
        other => (Attribute::Relative { id: other.id(), operand: Box::new(other), qualifiers: Vec::new() }, None),
    }
}

fn select(operand: Node, qualifier: Qualifier, test: Option<ExprId>) -> Node {
    let (mut attribute, tested) = attribute_of(operand);
    attribute.add(&Arc::new(qualifier));
    Node::Attribute(Box::new(AttributeNode { attribute, test: test.or(tested) }))
}

fn conditional(id: ExprId, planned: Vec<Node>) -> Result<Node, EvalError> {
    let [condition, yes, no]: [Node; 3] = planned.try_into().map_err(|_| EvalError::no_overload())?;
    let branch = |node| Box::new(attribute_of(node).0);
    let attribute = Attribute::Conditional { id, condition: Box::new(condition), yes: branch(yes), no: branch(no) };
    Ok(Node::Attribute(Box::new(AttributeNode { attribute, test: None })))
}

fn index(id: ExprId, planned: Vec<Node>, is_optional: bool) -> Result<Node, EvalError> {
    let [operand, index]: [Node; 2] = planned.try_into().map_err(|_| EvalError::no_overload())?;
    let by = match index {
        Node::Const { value, .. } => match value {
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => By::Const(value),
            other => {
                return Err(EvalError::new(format!("invalid qualifier type: {}", super::qualify::go_type(&other))));
            }
        },
        Node::Attribute(node) => By::Attribute(node.attribute),
        other => By::Computed(Attribute::Relative { id, operand: Box::new(other), qualifiers: Vec::new() }),
    };
    Ok(select(operand, Qualifier { id, by, is_optional, is_test: false }, None))
}
