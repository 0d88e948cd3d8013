//! The estimated cost of an expression, from the sizes that schemas allow.
//!
//! Costs are contract: which expressions a definition may use depends on them, so that every step follows
//! kube-apiserver.

use crate::ast::{Ast, Comprehension, Expr, ExprId, Kind, Literal};
use crate::checker::{Checks, Reference};
use crate::cost::{CallEstimate, CostEstimate, LIST_CREATE, MAP_CREATE, Node, STRUCT_CREATE, SizeEstimate, Sizes};
use crate::environment::{Environment, Sizing};
use crate::parser::ACCUMULATOR;
use crate::standard;
use crate::types::Type;
use pintle_schema::Str;
use std::collections::HashMap;

/// Estimates an expression that was checked.
pub(super) fn estimate(ast: &Ast, checks: &Checks, environment: &Environment) -> CostEstimate {
    let known = Known(environment.sizing());
    let mut estimator = Estimator {
        checks,
        environment,
        known: &known,
        paths: HashMap::new(),
        locals: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
    };
    estimator.cost(&ast.root)
}

/// Sizes by the schema of the data.
struct Known<'e>(Option<&'e Sizing>);

impl Sizes for Known<'_> {
    fn size_at(&self, path: &[Str]) -> Option<SizeEstimate> {
        let (root, below) = path.split_first()?;
        let sizing = self.0?;
        if sizing.variable.as_ref().is_some_and(|variable| variable != root) {
            return None;
        }
        let by_name = sizing.variable.is_some();
        sizing.decl.max_elements_at(below, by_name).map(|max| SizeEstimate::new(0, max))
    }
}

/// The sizes of keys and values of a list or map that an expression makes.
#[derive(Clone, Copy, PartialEq)]
struct Entry {
    is_list: bool,
    key: SizeEstimate,
    value: SizeEstimate,
}

impl Entry {
    fn union(self, other: Entry) -> Entry {
        Entry { is_list: self.is_list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// A variable of a comprehension.
#[derive(Clone)]
struct Local {
    path: Vec<Str>,
    size: Option<SizeEstimate>,
    entry: Option<Entry>,
}

struct Estimator<'e> {
    checks: &'e Checks,
    environment: &'e Environment,
    known: &'e Known<'e>,
    paths: HashMap<ExprId, Vec<Str>>,
    locals: HashMap<Str, Vec<Local>>,
    sizes: HashMap<ExprId, SizeEstimate>,
    entries: HashMap<ExprId, Entry>,
}

const ONE: CostEstimate = CostEstimate::fixed(1);
const NOTHING: CostEstimate = CostEstimate::fixed(0);
/// A range that any other widens.
const EMPTY: SizeEstimate = SizeEstimate { min: u64::MAX, max: 0 };

fn sum(costs: &[CostEstimate]) -> CostEstimate {
    costs.iter().fold(NOTHING, |sum, cost| sum.add(*cost))
}

impl<'e> Estimator<'e> {
    fn type_of(&self, expr: &Expr) -> &'e Type {
        const DYN: &Type = &Type::Dyn;
        self.checks.types.get(&expr.id).unwrap_or(DYN)
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name)?.last()
    }

    fn push(&mut self, name: &Str, local: Local) {
        self.locals.entry(name.clone()).or_default().push(local);
    }

    fn pop(&mut self, name: &Str) {
        if let Some(locals) = self.locals.get_mut(name) {
            locals.pop();
        }
    }

    fn path(&self, expr: &Expr) -> Vec<Str> {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn path_below(&self, expr: &Expr, step: &str) -> Vec<Str> {
        let mut path = self.path(expr);
        path.push(Str::new(step));
        path
    }

    fn size(&mut self, expr: &Expr) -> Option<SizeEstimate> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        let own = match &expr.kind {
            Kind::Literal(literal) => Some(match literal {
                Literal::String(text) => text.chars().count() as u64,
                Literal::Bytes(bytes) => bytes.len() as u64,
                _ => 1,
            }),
            Kind::List { elements, .. } => Some(elements.len() as u64),
            Kind::Map(entries) => Some(entries.len() as u64),
            _ => None,
        };
        if let Some(own) = own {
            return Some(SizeEstimate::fixed(own));
        }
        if let Some(size) = self.known.size_at(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.type_of(expr)) {
            return Some(SizeEstimate::fixed(1));
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> SizeEstimate {
        self.size(expr).unwrap_or(SizeEstimate::UNKNOWN)
    }

    fn set_size(&mut self, expr: &Expr, size: Option<SizeEstimate>) {
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
    }

    fn entry(&self, expr: &Expr) -> Option<Entry> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.entry,
            _ => None,
        }
    }

    fn set_entry(&mut self, expr: &Expr, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.entries.insert(expr.id, entry);
        }
    }

    fn cost(&mut self, expr: &Expr) -> CostEstimate {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) => NOTHING,
            Kind::Ident(name) => {
                let path = self.local(name).map_or_else(|| vec![name.clone()], |local| local.path.clone());
                self.paths.insert(expr.id, path);
                ONE
            }
            Kind::Select { operand, test_only: true, .. } => self.cost(operand),
            Kind::Select { operand, field, .. } => {
                let mut cost = self.cost(operand);
                if matches!(self.type_of(operand), Type::Map(_) | Type::Struct(_) | Type::Param(_)) {
                    cost = cost.add(ONE);
                }
                let path = self.path_below(operand, field);
                self.paths.insert(expr.id, path);
                cost
            }
            Kind::Call { function, target, args } => self.cost_call(expr, function, target.as_deref(), args),
            Kind::List { elements, .. } => {
                let mut value = if elements.is_empty() { SizeEstimate::fixed(0) } else { EMPTY };
                let mut cost = NOTHING;
                for element in elements {
                    cost = cost.add(self.cost(element));
                    value = value.union(self.size_or_unknown(element));
                }
                self.set_entry(expr, Some(Entry { is_list: true, key: SizeEstimate::fixed(1), value }));
                cost.add(CostEstimate::fixed(LIST_CREATE))
            }
            Kind::Map(entries) => {
                let empty = if entries.is_empty() { SizeEstimate::fixed(0) } else { EMPTY };
                let (mut key, mut value) = (empty, empty);
                let mut cost = NOTHING;
                for entry in entries {
                    cost = cost.add(self.cost(&entry.key)).add(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.set_entry(expr, Some(Entry { is_list: false, key, value }));
                cost.add(CostEstimate::fixed(MAP_CREATE))
            }
            Kind::Struct { fields, .. } => {
                let cost = fields.iter().fold(NOTHING, |cost, field| cost.add(self.cost(&field.value)));
                cost.add(CostEstimate::fixed(STRUCT_CREATE))
            }
            Kind::Comprehension(inner) => match is_bind(inner) {
                true => self.cost_bind(expr, inner),
                false => self.cost_comprehension(expr, inner),
            },
        }
    }

    fn cost_bind(&mut self, expr: &Expr, inner: &Comprehension) -> CostEstimate {
        let cost = self.cost(&inner.range).add(self.cost(&inner.init));
        self.push_bound(inner);
        let cost = cost.add(self.cost(&inner.result));
        self.pop(&inner.accumulator);
        let size = self.size(&inner.result);
        self.set_size(expr, size);
        self.set_entry(expr, self.entry(&inner.result));
        cost
    }

    fn push_bound(&mut self, inner: &Comprehension) {
        let local =
            Local { path: self.path(&inner.init), size: self.size(&inner.init), entry: self.entry(&inner.init) };
        self.push(&inner.accumulator, local);
    }

    fn cost_comprehension(&mut self, expr: &Expr, inner: &Comprehension) -> CostEstimate {
        let cost = self.cost(&inner.range).add(self.cost(&inner.init));
        self.push_bound(inner);
        let entry = self.entry(&inner.range);
        let is_list = entry.map_or_else(|| matches!(self.type_of(&inner.range), Type::List(_)), |entry| entry.is_list);
        let key = entry.map(|entry| entry.key);
        let value = entry.map(|entry| entry.value);
        let local =
            |this: &Self, step: &str, size| Local { path: this.path_below(&inner.range, step), size, entry: None };
        if let Some(var2) = &inner.var2 {
            let first = local(self, if is_list { "@indices" } else { "@keys" }, key);
            self.push(&inner.var, first);
            let second = local(self, if is_list { "@items" } else { "@values" }, value);
            self.push(var2, second);
        } else {
            let single = match is_list {
                true => local(self, "@items", value),
                false => local(self, "@keys", key),
            };
            self.push(&inner.var, single);
        }
        let round = self.cost(&inner.condition);
        let round = self.cost(&inner.step).add(round);
        self.pop(&inner.var);
        if let Some(var2) = &inner.var2 {
            self.pop(var2);
        }
        let cost = cost.add(self.cost(&inner.result));
        self.pop(&inner.accumulator);
        let count = self.size_or_unknown(&inner.range);
        match &inner.init.kind {
            Kind::Literal(_) => {
                let size = self.size(&inner.init);
                self.set_size(expr, size);
            }
            Kind::List { .. } | Kind::Map(_) => {
                self.set_size(expr, Some(count));
                self.set_entry(expr, self.entry(&inner.step));
            }
            _ => {}
        }
        cost.add(count.times_cost(round))
    }

    fn cost_call(&mut self, expr: &Expr, function: &str, target: Option<&Expr>, args: &[Expr]) -> CostEstimate {
        if let ("dyn", [arg]) = (function, args) {
            let cost = self.cost(arg);
            let size = self.size(arg);
            self.set_size(expr, size);
            self.set_entry(expr, self.entry(arg));
            return ONE.add(cost);
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut nodes = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            nodes.push(self.node(arg));
        }
        let Some(Reference::Overloads(overloads)) = self.checks.references.get(&expr.id) else { return NOTHING };
        let target_cost = target.map_or(NOTHING, |target| self.cost(target));
        let target_node = target.map(|target| self.node(target));
        let mut cost = CostEstimate { min: u64::MAX, max: 0 };
        let mut result_size: Option<SizeEstimate> = None;
        for overload in overloads {
            let found = self.cost_overload(expr, function, overload, target_node.as_ref(), args, &nodes, &costs);
            cost = cost.union(found.cost);
            if let Some(size) = found.result_size {
                result_size = Some(result_size.map_or(size, |known| known.union(size)));
            }
            let step = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(container)) = (step, args.first()) {
                result_size = self.entry(container).map(|entry| entry.value);
                let path = self.path_below(container, step);
                self.paths.insert(expr.id, path);
            }
            if result_size.is_none() {
                result_size = self.size(expr);
            }
        }
        self.set_size(expr, result_size);
        target_cost.add(cost)
    }

    /// What an estimator sees of an expression.
    fn node<'x>(&mut self, expr: &'x Expr) -> Node<'x>
    where
        'e: 'x,
    {
        let path = self.path(expr);
        let is_hidden = path.first().is_none_or(|root| root == ACCUMULATOR || root == "__result__");
        let literal = match &expr.kind {
            Kind::Literal(literal) => Some(literal),
            _ => None,
        };
        let computed = self.size(expr);
        let known: &'e Known<'e> = self.known;
        Node { ty: self.type_of(expr).clone(), path: (!is_hidden).then_some(path), literal, computed, sizes: known }
    }

    #[expect(clippy::too_many_arguments)]
    fn cost_overload(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        args: &[Expr],
        nodes: &[Node<'_>],
        costs: &[CostEstimate],
    ) -> CallEstimate {
        if let Some(estimate) = self.environment.function(function).and_then(|function| function.estimate)
            && let Some(found) = estimate(overload, target, nodes)
        {
            return CallEstimate { cost: found.cost.add(sum(costs)), ..found };
        }
        match (overload, args, costs) {
            ("logical_or" | "logical_and", _, [left, right]) => {
                CallEstimate::cost(CostEstimate::new(left.min, left.add(*right).max))
            }
            ("conditional", [_, yes, no], [condition, yes_cost, no_cost]) => {
                let size = self.size_or_unknown(yes).union(self.size_or_unknown(no));
                let entry = self.entry(yes).zip(self.entry(no)).map(|(yes, no)| yes.union(no));
                self.set_entry(expr, entry);
                CallEstimate::sized(condition.add(yes_cost.union(*no_cost)), size)
            }
            _ => {
                if let ("add_list" | "add_string" | "add_bytes", [a, b]) = (overload, args) {
                    let entry = self.entry(a).zip(self.entry(b)).map(|(a, b)| a.union(b));
                    self.set_entry(expr, entry);
                }
                let found = standard::estimate(overload, target, nodes);
                CallEstimate { cost: found.cost.add(sum(costs)), ..found }
            }
        }
    }
}

/// Whether values of the type are of one size.
fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Wrapper(inner) => is_scalar(inner),
        other => other.as_optional().is_some_and(is_scalar),
    }
}

/// Whether a comprehension only names a value.
fn is_bind(inner: &Comprehension) -> bool {
    matches!(&inner.range.kind, Kind::List { elements, .. } if elements.is_empty())
        && matches!(inner.condition.kind, Kind::Literal(Literal::Bool(false)))
}
