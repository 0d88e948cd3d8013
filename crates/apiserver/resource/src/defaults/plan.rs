//! `Plan`: the fields of a schema that need defaulting, computed once from the schema and the functions of its group.
//!
//! A plan contains only fields that have a default or lead to one, so that the rest of an object is never visited. It is kept
//! with its schema and dropped with it.

use super::{DefaultFunction, DefaultFunctions};
use pintle_schema::quantity::Quantity;
use pintle_schema::{Field, Form, Presence, Str, Struct, Type, Value};
use std::collections::HashMap;

/// The defaulting of objects of a schema: a node for each struct that has defaults, the object's own first.
pub struct Plan(Vec<Node>);

/// The defaulting of values of one struct, including the structs that it inlines.
#[derive(Default)]
struct Node {
    functions: Vec<DefaultFunction>,
    /// The fields with defaults or with structs that have some.
    steps: Vec<Step>,
    /// Open hash table of field names: index into `steps` plus one, 0 for none.
    slots: Vec<u32>,
    /// Those of the first steps that give an absent field a value, as bits.
    fills: u64,
    /// The later ones.
    late_fills: Vec<usize>,
}

/// How many steps are tracked as bits of a word; the names of later ones, which few structs have, are looked up.
const FIRST_STEPS: usize = 64;

struct Step {
    name: Str,
    constant: Option<Value>,
    absence: Absence,
    below: Option<Below>,
}

/// When a field counts as absent.
enum Absence {
    /// A pointer: null.
    Null,
    /// Held by value: null, zero or empty.
    Zero,
    /// A duration held by value: no time at all is zero too.
    ZeroDuration,
    /// A struct held by value, which is never absent to Go.
    Struct,
}

/// The type below a field.
enum Below {
    /// The node of the struct.
    Struct(usize),
    List(Box<Below>),
    Map(Box<Below>),
    /// A resource list: quantities finer than a thousandth are rounded up.
    Quantities,
}

impl Plan {
    pub fn new(schema: &Struct, functions: &DefaultFunctions) -> Plan {
        let mut compiler = Compiler { functions, drafts: Vec::new(), known: HashMap::new() };
        compiler.visit(schema);
        Plan(compiler.finish())
    }

    /// Whether there is nothing to default in objects of the schema.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the defaults to an object of the plan's schema, at a time in seconds since 1970.
    pub fn run(&self, object: &mut Value, now: i64) {
        if !self.is_empty() {
            self.run_at(0, object, now);
        }
    }

    fn run_at(&self, node: usize, value: &mut Value, now: i64) {
        let node = &self.0[node];
        for function in &node.functions {
            match function {
                DefaultFunction::Plain(fill) => fill(value),
                DefaultFunction::Dated(fill) => fill(value, now),
                DefaultFunction::Shared(fill) => fill(value),
            }
        }
        let mut seen = 0_u64;
        match value {
            Value::Map(map) => {
                for (key, item) in map.iter_mut() {
                    if let Some((at, step)) = node.find(key) {
                        seen |= if at < FIRST_STEPS { 1 << at } else { 0 };
                        self.run_step(step, item, now);
                    }
                }
            }
            Value::Null => {}
            _ => return,
        }
        let mut missing = node.fills & !seen;
        if missing == 0 && node.late_fills.is_empty() {
            return;
        }
        let map = value.make_map();
        while missing != 0 {
            if let Some(step) = node.steps.get(missing.trailing_zeros() as usize) {
                map.push(step.name.clone(), self.filled(step, now));
            }
            missing &= missing - 1;
        }
        for step in node.late_fills.iter().filter_map(|at| node.steps.get(*at)) {
            if !map.contains_key(&step.name) {
                map.push(step.name.clone(), self.filled(step, now));
            }
        }
    }

    fn run_step(&self, step: &Step, value: &mut Value, now: i64) {
        let absent = match step.absence {
            Absence::Null => value.is_null(),
            Absence::Zero => value.is_zero(),
            Absence::ZeroDuration => value.is_zero() || value.as_str() == Some("0s"),
            Absence::Struct => false,
        };
        if !absent {
            if let Some(below) = &step.below {
                self.run_below(below, value, now);
            }
        } else if step.constant.is_some() {
            *value = self.filled(step, now);
        }
    }

    fn run_below(&self, below: &Below, value: &mut Value, now: i64) {
        match (below, value) {
            (Below::Struct(node), value) => self.run_at(*node, value, now),
            (Below::List(elem), Value::List(items)) => {
                items.iter_mut().for_each(|item| self.run_below(elem, item, now))
            }
            (Below::Map(elem), Value::Map(map)) => map.iter_mut().for_each(|(_, item)| self.run_below(elem, item, now)),
            (Below::Quantities, Value::Map(map)) => map.iter_mut().for_each(|(_, item)| round_up(item)),
            _ => {}
        }
    }

    /// The value for an absent field; null when it stays absent.
    fn filled(&self, step: &Step, now: i64) -> Value {
        let mut value = step.constant.clone().unwrap_or_default();
        match (&step.below, &step.absence) {
            (Some(below), Absence::Struct) => self.run_below(below, &mut value, now),
            (Some(below), _) if !value.is_null() => self.run_below(below, &mut value, now),
            _ => {}
        }
        value
    }
}

impl Node {
    fn find(&self, name: &str) -> Option<(usize, &Step)> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash(name) & mask;
        loop {
            let at = (*self.slots.get(slot)? as usize).checked_sub(1)?;
            let step = self.steps.get(at)?;
            if step.name == name {
                return Some((at, step));
            }
            slot = (slot + 1) & mask;
        }
    }

    fn new(functions: Vec<DefaultFunction>, steps: Vec<Step>) -> Node {
        // Four slots per step, so that names are mostly found, or found missing, at the first probe.
        let mut slots = vec![0; (steps.len() * 4).next_power_of_two()];
        let mask = slots.len() - 1;
        for (at, step) in (1_u32..).zip(&steps) {
            let mut slot = hash(&step.name) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = at;
        }
        Node { functions, steps, slots, ..Node::default() }
    }
}

/// Hashes a few bytes of a field name.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let at = |index: usize| usize::from(bytes.get(index).copied().unwrap_or(0));
    let last = bytes.len().saturating_sub(1);
    bytes.len() + at(0) * 3 + at(bytes.len() / 2) * 5 + at(last) * 7 + at(last.saturating_sub(1)) * 11
}

/// Visits a schema and all structs reachable from it; a struct may contain itself.
struct Compiler<'a> {
    functions: &'a DefaultFunctions,
    drafts: Vec<(Vec<DefaultFunction>, Vec<Step>)>,
    /// The drafts by the identity of their schema.
    known: HashMap<u64, usize>,
}

impl Compiler<'_> {
    /// The draft of a struct: its own functions and fields, with those of the structs it inlines.
    fn visit(&mut self, schema: &Struct) -> usize {
        if let Some(at) = self.known.get(&schema.compiled.id()) {
            return *at;
        }
        let at = self.drafts.len();
        self.known.insert(schema.compiled.id(), at);
        self.drafts.push(Default::default());
        let mut draft = Default::default();
        self.add(schema, &mut draft);
        self.drafts[at] = draft;
        at
    }

    fn add(&mut self, schema: &Struct, draft: &mut (Vec<DefaultFunction>, Vec<Step>)) {
        draft.0.extend(self.functions.of(schema));
        for field in schema.fields.iter() {
            match &field.ty {
                Type::Struct(inlined) if field.inline => self.add(inlined, draft),
                _ => draft.1.extend(self.step(field, schema)),
            }
        }
    }

    /// The step of a field; `None` when it needs no defaulting.
    fn step(&mut self, field: &Field, inside: &Struct) -> Option<Step> {
        let below = self.below(&field.ty, inside);
        let pointer = matches!(field.presence, Presence::Pointer | Presence::PointerAlways);
        // A default that is Go's zero value has no effect.
        let constant = field.default.as_ref().map(|default| default.to_value());
        let constant = constant.filter(|constant| pointer || !constant.is_zero());
        if constant.is_none() && below.is_none() {
            return None;
        }
        let absence = match field.ty {
            _ if pointer => Absence::Null,
            Type::Struct(_) => Absence::Struct,
            Type::Duration => Absence::ZeroDuration,
            _ => Absence::Zero,
        };
        Some(Step { name: field.name.to_key(), constant, absence, below })
    }

    fn below(&mut self, ty: &Type, inside: &Struct) -> Option<Below> {
        match ty {
            Type::Struct(schema) => (schema.form == Form::Plain).then(|| Below::Struct(self.visit(schema))),
            Type::List(list) => self.below(&list.elem, inside).map(|elem| Below::List(Box::new(elem))),
            Type::Map(map) => match &map.elem {
                // Maps of quantities in the core group are resource lists; those of other groups are not rounded.
                Type::Quantity => (inside.group_version() == ("core", "v1")).then_some(Below::Quantities),
                elem => self.below(elem, inside).map(|elem| Below::Map(Box::new(elem))),
            },
            _ => None,
        }
    }

    /// The nodes, without steps that lead to no default; none when the object has no defaults.
    fn finish(self) -> Vec<Node> {
        let mut needed = vec![false; self.drafts.len()];
        loop {
            let leads = |step: &Step| {
                step.constant.is_some()
                    || step.below.as_ref().is_some_and(|below| below.node().is_none_or(|node| needed[node]))
            };
            let has_any = |(functions, steps): &(Vec<DefaultFunction>, Vec<Step>)| {
                !functions.is_empty() || steps.iter().any(leads)
            };
            let now: Vec<bool> = self.drafts.iter().map(has_any).collect();
            if now == needed {
                break;
            }
            needed = now;
        }
        if needed.first() != Some(&true) {
            return Vec::new();
        }
        let leads = |below: &Below| below.node().is_none_or(|node| needed[node]);
        let nodes = self.drafts.into_iter().enumerate().map(|(at, (functions, mut steps))| {
            if !needed[at] {
                return Node::default();
            }
            steps.iter_mut().for_each(|step| step.below = step.below.take().filter(leads));
            steps.retain(|step| step.constant.is_some() || step.below.is_some());
            Node::new(functions, steps)
        });
        let mut plan = Plan(nodes.collect());
        // Whether a step fills its field depends only on the steps below it, so this reaches a fixed point.
        loop {
            let fills = |node: &Node| -> Vec<usize> {
                (0..node.steps.len()).filter(|at| !plan.filled(&node.steps[*at], 0).is_null()).collect()
            };
            let all: Vec<Vec<usize>> = plan.0.iter().map(fills).collect();
            let mut changed = false;
            for (node, fills) in plan.0.iter_mut().zip(all) {
                let (first, late): (Vec<usize>, Vec<usize>) = fills.into_iter().partition(|at| *at < FIRST_STEPS);
                let first = first.iter().map(|at| 1 << at).sum();
                changed |= (node.fills, &node.late_fills) != (first, &late);
                (node.fills, node.late_fills) = (first, late);
            }
            if !changed {
                break;
            }
        }
        plan.0
    }
}

impl Below {
    /// The node at the end of the lists and maps.
    fn node(&self) -> Option<usize> {
        match self {
            Below::Struct(node) => Some(*node),
            Below::List(elem) | Below::Map(elem) => elem.node(),
            Below::Quantities => None,
        }
    }
}

/// Rounds a quantity up to thousandths. Only those written in finer units, or with an exponent, have to be read.
fn round_up(value: &mut Value) {
    let Some(text) = value.as_str() else { return };
    let fine = matches!(text.as_bytes().last(), Some(b'n' | b'u')) || text.contains(['e', '.']) || has_exponent(text);
    if !fine {
        return;
    }
    if let Ok(quantity) = Quantity::parse(text) {
        *value = Value::String(quantity.round_up_to_milli().into_str());
    }
}

/// A capital E is an exponent's unless it is the last letter, where it is the suffix, or starts the suffix `Ei`.
fn has_exponent(text: &str) -> bool {
    text.split_once('E').is_some_and(|(_, rest)| !rest.is_empty() && rest != "i")
}
