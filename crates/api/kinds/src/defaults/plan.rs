//! Plans: per struct, which fields defaulting has to look at. Made once from the schema and the functions' tables.
//!
//! A plan names only fields that have a default or lead to one, so that the rest of an object is never walked. Plans
//! live as long as the program; they are made of built-in schemas only.

use super::{DATED, Function, RULES};
use pintle_schema::quantity::Quantity;
use pintle_schema::{Field, Form, Literal, Presence, Ref, Str, Struct, Type, Value};
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

/// What defaulting does in values of one struct, those it inlines included.
pub struct Plan {
    functions: Vec<Function>,
    /// The fields to look at, at most `MOST_STEPS`.
    steps: Vec<Step>,
    /// Open hash table of field names: index into `steps` plus one, 0 for none.
    slots: Vec<u8>,
    /// The steps that give an absent field a value, as bits. Known once the plans below are linked.
    fills: OnceLock<u64>,
}

/// Steps are kept as bits of a word.
const MOST_STEPS: usize = 64;

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

/// What lies below a field.
enum Below {
    /// The plan is set when the schemas reachable have been gone through, as they may contain themselves.
    Struct(&'static Struct, OnceLock<&'static Plan>),
    List(Box<Below>),
    Map(Box<Below>),
    /// A resource list: quantities finer than a thousandth are rounded up.
    Quantities,
}

type Functions = HashMap<usize, Vec<Function>>;

type Plans = HashMap<usize, Option<&'static Plan>>;

/// Plans by the address of their schema; `None` where neither the struct nor anything below has defaults.
static PLANS: LazyLock<RwLock<Plans>> = LazyLock::new(RwLock::default);

/// The functions of the group files by the address of their type's schema.
static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let mut functions = Functions::new();
    for (schema, function) in RULES.iter().copied().flatten() {
        functions.entry(address(schema())).or_default().push(Function::Plain(*function));
    }
    for (schema, function) in DATED {
        functions.entry(address(schema())).or_default().push(Function::Dated(*function));
    }
    functions
});

fn address(schema: &'static Struct) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// The plan of a schema; `None` when there is nothing to default in its objects.
pub fn of(schema: &'static Struct) -> Option<&'static Plan> {
    let known = PLANS.read().unwrap_or_else(PoisonError::into_inner).get(&address(schema)).copied();
    known.unwrap_or_else(|| {
        let mut plans = PLANS.write().unwrap_or_else(PoisonError::into_inner);
        make(schema, &mut plans);
        plans.get(&address(schema)).copied().flatten()
    })
}

impl Plan {
    /// Applies the defaults to a value of the plan's struct, at a time in seconds since 1970.
    pub fn run(&self, value: &mut Value, now: i64) {
        for function in &self.functions {
            match function {
                Function::Plain(fill) => fill(value),
                Function::Dated(fill) => fill(value, now),
            }
        }
        let mut seen = 0_u64;
        match value {
            Value::Map(map) => {
                for (key, item) in map.iter_mut() {
                    if let Some((at, step)) = self.find(key) {
                        seen |= 1 << at;
                        step.run(item, now);
                    }
                }
            }
            Value::Null => {}
            _ => return,
        }
        let mut missing = self.fills() & !seen;
        if missing == 0 {
            return;
        }
        let map = value.make_map();
        while missing != 0 {
            if let Some(step) = self.steps.get(missing.trailing_zeros() as usize) {
                map.push(step.name.clone(), step.filled(now));
            }
            missing &= missing - 1;
        }
    }

    fn find(&self, name: &str) -> Option<(usize, &Step)> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash(name) & mask;
        loop {
            let at = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
            let step = self.steps.get(at)?;
            if step.name == name {
                return Some((at, step));
            }
            slot = (slot + 1) & mask;
        }
    }

    fn fills(&self) -> u64 {
        *self.fills.get_or_init(|| {
            // Whether there is something does not depend on when.
            let gives = |step: &Step| !step.filled(0).is_null();
            self.steps.iter().enumerate().filter(|(_, step)| gives(step)).map(|(at, _)| 1 << at).sum()
        })
    }

    fn new(functions: Vec<Function>, steps: Vec<Step>) -> Plan {
        // Four slots a step: names are mostly found, or found missing, at the first look.
        let mut slots = vec![0; (steps.len() * 4).next_power_of_two()];
        let mask = slots.len() - 1;
        for (at, step) in (1_u8..).zip(&steps) {
            let mut slot = hash(&step.name) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = at;
        }
        Plan { functions, steps, slots, fills: OnceLock::new() }
    }
}

/// Tells names of fields well enough apart without reading all of them.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let at = |index: usize| usize::from(bytes.get(index).copied().unwrap_or(0));
    let last = bytes.len().saturating_sub(1);
    bytes.len() + at(0) * 3 + at(bytes.len() / 2) * 5 + at(last) * 7 + at(last.saturating_sub(1)) * 11
}

impl Step {
    fn run(&self, value: &mut Value, now: i64) {
        let absent = match self.absence {
            Absence::Null => value.is_null(),
            Absence::Zero => value.is_zero(),
            Absence::ZeroDuration => value.is_zero() || value.as_str() == Some("0s"),
            Absence::Struct => false,
        };
        if !absent {
            if let Some(below) = &self.below {
                below.run(value, now);
            }
        } else if self.constant.is_some() {
            *value = self.filled(now);
        }
    }

    /// What an absent field becomes; null when it stays absent.
    fn filled(&self, now: i64) -> Value {
        let mut value = self.constant.clone().unwrap_or_default();
        match (&self.below, &self.absence) {
            (Some(below), Absence::Struct) => below.run(&mut value, now),
            (Some(below), _) if !value.is_null() => below.run(&mut value, now),
            _ => {}
        }
        value
    }

    /// The step of a field; `None` when there is nothing to do in it.
    fn of(field: &'static Field, inside: &'static Struct) -> Option<Step> {
        let below = Below::of(&field.ty, inside);
        let pointer = matches!(field.presence, Presence::Pointer | Presence::PointerAlways);
        let constant = field.default.map(|literal| match literal {
            Literal::Bool(b) => Value::Bool(b),
            Literal::Int(i) => Value::Int(i),
            Literal::String(text) => Value::String(Str::new_static(text)),
            Literal::Empty => Value::map(),
        });
        // Setting a value to zero that Go has as zero anyway shows nowhere.
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
}

impl Below {
    fn run(&self, value: &mut Value, now: i64) {
        match (self, value) {
            (Below::Struct(_, plan), value) => {
                if let Some(plan) = plan.get() {
                    plan.run(value, now);
                }
            }
            (Below::List(elem), Value::List(items)) => items.iter_mut().for_each(|item| elem.run(item, now)),
            (Below::Map(elem), Value::Map(map)) => map.iter_mut().for_each(|(_, item)| elem.run(item, now)),
            (Below::Quantities, Value::Map(map)) => map.iter_mut().for_each(|(_, item)| round_up(item)),
            _ => {}
        }
    }

    fn of(ty: &'static Type, inside: &'static Struct) -> Option<Below> {
        match ty {
            Type::Struct(Ref::Static(schema)) => {
                let schema = schema();
                (schema.form == Form::Plain).then(|| Below::Struct(schema, OnceLock::new()))
            }
            Type::List(Ref::Static(list)) => Below::of(&list().elem, inside).map(|elem| Below::List(Box::new(elem))),
            Type::Map(Ref::Static(map)) => match &map().elem {
                // Maps of quantities in the core group are resource lists; those of other groups are not rounded.
                Type::Quantity => (inside.group_version() == ("core", "v1")).then_some(Below::Quantities),
                elem => Below::of(elem, inside).map(|elem| Below::Map(Box::new(elem))),
            },
            _ => None,
        }
    }

    /// The struct at the end of the lists and maps.
    fn target(&self) -> Option<(&'static Struct, &OnceLock<&'static Plan>)> {
        match self {
            Below::Struct(schema, plan) => Some((schema, plan)),
            Below::List(elem) | Below::Map(elem) => elem.target(),
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

/// What is known of a struct before it is known whether anything below has defaults.
struct Draft {
    schema: &'static Struct,
    functions: Vec<Function>,
    steps: Vec<Step>,
}

impl Draft {
    fn new(schema: &'static Struct) -> Draft {
        let mut draft = Draft { schema, functions: Vec::new(), steps: Vec::new() };
        draft.add(schema);
        draft
    }

    /// Adds a struct's own functions and fields, then those of the structs it inlines.
    fn add(&mut self, schema: &'static Struct) {
        self.functions.extend(FUNCTIONS.get(&address(schema)).into_iter().flatten());
        for field in schema.fields.iter() {
            match &field.ty {
                Type::Struct(Ref::Static(inlined)) if field.inline => self.add(inlined()),
                _ => self.steps.extend(Step::of(field, schema)),
            }
        }
    }

    fn has_own(&self) -> bool {
        let own = |step: &Step| step.constant.is_some() || step.below.as_ref().is_some_and(|b| b.target().is_none());
        !self.functions.is_empty() || self.steps.iter().any(own)
    }
}

/// Makes the plans of a schema and of all structs reachable from it.
fn make(root: &'static Struct, plans: &mut Plans) {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut found: HashSet<usize> = HashSet::new();
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        if plans.contains_key(&address(schema)) || !found.insert(address(schema)) {
            continue;
        }
        let draft = Draft::new(schema);
        open.extend(draft.steps.iter().filter_map(|step| Some(step.below.as_ref()?.target()?.0)));
        drafts.push(draft);
    }
    let needed = needed(&drafts, plans);
    let made: Vec<&'static Plan> = drafts.into_iter().filter_map(|draft| finish(draft, &needed, plans)).collect();
    for (schema, link) in made.iter().flat_map(|plan| &plan.steps).filter_map(|step| step.below.as_ref()?.target()) {
        if let Some(plan) = plans.get(&address(schema)).copied().flatten() {
            // Each link is of one plan just made, so nobody else has set it.
            let _ = link.set(plan);
        }
    }
}

/// The structs that have defaults themselves or below, by address.
fn needed(drafts: &[Draft], plans: &Plans) -> HashSet<usize> {
    let mut needed: HashSet<usize> = plans.iter().filter(|(_, plan)| plan.is_some()).map(|(at, _)| *at).collect();
    loop {
        let before = needed.len();
        for draft in drafts {
            let mut targets = draft.steps.iter().filter_map(|step| step.below.as_ref()?.target());
            if draft.has_own() || targets.any(|(schema, _)| needed.contains(&address(schema))) {
                needed.insert(address(draft.schema));
            }
        }
        if needed.len() == before {
            return needed;
        }
    }
}

/// Makes a draft a plan, without the steps that lead to nothing, and registers it.
fn finish(draft: Draft, needed: &HashSet<usize>, plans: &mut Plans) -> Option<&'static Plan> {
    let at = address(draft.schema);
    let plan = needed.contains(&at).then(|| {
        let leads = |below: &Below| below.target().is_none_or(|(schema, _)| needed.contains(&address(schema)));
        let mut steps = draft.steps;
        steps.iter_mut().for_each(|step| step.below = step.below.take().filter(leads));
        steps.retain(|step| step.constant.is_some() || step.below.is_some());
        debug_assert!(steps.len() <= MOST_STEPS, "{} has too many fields with defaults", draft.schema.name.as_str());
        steps.truncate(MOST_STEPS);
        &*Box::leak(Box::new(Plan::new(draft.functions, steps)))
    });
    plans.insert(at, plan);
    plan
}
