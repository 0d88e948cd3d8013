//! `Plan`: the rules of a kind, compiled once from its schema and from the tables of handwritten rules.
//! Guarantees one entry for each struct type, so that types may be recursive, and that parts without rules are left
//! out, so that the walk visits only parts with rules.

use crate::check::{Check, Checks, Correlation, Stage, is_pointer};
use crate::compile::{Misplaced, Target, compile};
use crate::custom_rule::{CustomRule, Replacement, ShownName, Skip, When};
use crate::kind::{FieldOrder, Group};
use pintle_schema::rules::{Member, Rule};
use pintle_schema::{Field, Struct, Text, Type};
use std::collections::HashMap;

/// The handwritten rules of all groups, by the type at which they are registered.
pub type CustomRules = HashMap<usize, Vec<&'static CustomRule>>;

/// What the groups declare about types, by type.
#[derive(Default)]
pub struct Tables {
    pub custom_rules: CustomRules,
    orders: HashMap<usize, Vec<&'static FieldOrder>>,
    skips: HashMap<usize, Vec<&'static Skip>>,
    replacements: Vec<&'static Replacement>,
    names: Vec<&'static ShownName>,
}

impl Tables {
    pub fn add(&mut self, group: &'static Group) {
        for rule in group.custom_rules {
            self.custom_rules.entry(key((rule.of)())).or_default().push(rule);
        }
        for order in group.orders {
            self.orders.entry(key((order.of)())).or_default().push(order);
        }
        for skip in group.skips {
            self.skips.entry(key((skip.of)())).or_default().push(skip);
        }
        self.replacements.extend(group.replacements);
        self.names.extend(group.names);
    }

    /// The order of a type's fields in a field of an owner: that of the field, or that of the type.
    fn order(&self, schema: &Struct, place: Option<(&Struct, &str)>) -> Option<&'static FieldOrder> {
        let orders = self.orders.get(&key(schema))?;
        let is_here = |order: &&&FieldOrder| {
            order
                .within
                .zip(place)
                .is_some_and(|((owner, name), place)| key(owner()) == key(place.0) && name == place.1)
        };
        orders.iter().find(is_here).or_else(|| orders.iter().find(|order| order.within.is_none())).copied()
    }
}

/// The identity of a type: the address of its schema.
pub fn key(schema: &Struct) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// The compiled rules of a kind.
pub struct Plan {
    pub structs: Vec<StructPlan>,
    pub root: usize,
    /// Misplaced rules, by `Type.field`.
    pub problems: Vec<(String, Misplaced)>,
    /// The indexes of the types.
    places: HashMap<usize, usize>,
}

/// The rules of a struct type.
#[derive(Default)]
pub struct StructPlan {
    pub name: String,
    pub before: Vec<&'static CustomRule>,
    pub checks: Checks,
    pub fields: Vec<FieldPlan>,
    /// All fields of the type in schema order, each with its index in `fields`; beyond its end for those without
    /// rules.
    pub order: Vec<(Text, usize)>,
    /// All fields of the type as they are validated.
    ranked: Vec<Text>,
    /// A bit for each of the first fields whose absence can be an error.
    pub checks_absent: u64,
    pub unions: Vec<Union>,
    /// Rules that run after the fields.
    pub last: Checks,
    pub after: Vec<&'static CustomRule>,
    /// Whether there are rules here or below.
    pub active: bool,
    /// Whether there are rules here or below that run even if nothing changed.
    pub always: bool,
}

/// The rules of a field.
pub struct FieldPlan {
    pub name: Text,
    /// Its place among the fields of the struct, as they are validated.
    pub rank: u32,
    /// Its name in the paths of errors.
    pub shown: Text,
    /// When it is not looked into.
    pub skips: Vec<&'static Skip>,
    /// What is validated in place of its content.
    pub replacement: Option<&'static Replacement>,
    pub node: Node,
    pub choice: Option<Choice>,
    /// Whether the field's absence can never be an error.
    pub ignores_absent: bool,
}

/// The rules of a value in its place.
pub struct Node {
    pub checks: Checks,
    pub before: Vec<&'static CustomRule>,
    pub inner: Inner,
    /// Rules that run after the content.
    pub last: Checks,
    pub after: Vec<&'static CustomRule>,
    pub always: bool,
}

/// The content of a value.
pub enum Inner {
    Nothing,
    Struct(usize),
    /// The fields of an inlined struct, which are among the owner's.
    Inlined(usize),
    List(Box<Node>, Correlation),
    Map(Checks, Box<Node>),
}

/// A set of fields of which exactly one, or at most one, is set.
pub struct Union {
    pub discriminator: Option<Text>,
    pub exactly_one: bool,
    pub members: Vec<UnionMember>,
    pub stage: Option<Stage>,
}

pub struct UnionMember {
    pub name: Text,
    /// The discriminator's value.
    pub value: String,
    pub pointer: bool,
}

/// The rules of a field that depend on another one.
pub struct Choice {
    pub discriminator: Text,
    pub cases: Vec<(String, Checks)>,
}

impl Plan {
    /// Compiles the rules of a kind.
    pub fn new(schema: &Struct, tables: &Tables) -> Self {
        let mut compiler = Compiler { tables, structs: Vec::new(), places: HashMap::new(), problems: Vec::new() };
        let root = compiler.of(schema, None);
        let places = compiler.places.into_iter().filter(|((_, order), _)| order.is_none());
        let places = places.map(|((of, _), at)| (of, at)).collect();
        let mut plan = Plan { structs: compiler.structs, root, problems: compiler.problems, places };
        plan.prune();
        plan
    }

    /// The rules of a struct type that the kind contains.
    pub fn of_type(&self, schema: &Struct) -> Option<&StructPlan> {
        self.structs.get(*self.places.get(&key(schema))?)
    }

    /// Marks the parts with rules, then drops the rest. Types may be recursive, so marks are propagated until nothing
    /// changes.
    fn prune(&mut self) {
        loop {
            let marks: Vec<(bool, bool)> = self.structs.iter().map(|plan| (plan.active, plan.always)).collect();
            for plan in &mut self.structs {
                let custom = || plan.before.iter().chain(&plan.after);
                let tagged = !plan.checks.list.is_empty() || !plan.last.list.is_empty() || !plan.unions.is_empty();
                let own = tagged || custom().next().is_some();
                let always = custom().any(|rule| rule.when.has(When::ALWAYS));
                for field in &mut plan.fields {
                    field.node.mark(&marks);
                }
                plan.active |=
                    own || plan.fields.iter().any(|field| field.choice.is_some() || field.node.is_active(&marks));
                plan.always |= always || plan.fields.iter().any(|field| field.node.always);
            }
            if self.structs.iter().map(|plan| (plan.active, plan.always)).eq(marks.iter().copied()) {
                self.structs.iter_mut().for_each(|plan| {
                    plan.fields.retain(|field| field.choice.is_some() || field.node.is_active(&marks));
                    plan.settle();
                });
                return;
            }
        }
    }

    /// The rules of a field of the kind.
    pub fn field(&self, name: &str) -> Option<&FieldPlan> {
        self.structs[self.root].fields.iter().find(|field| &*field.name == name)
    }
}

impl StructPlan {
    /// The place of a field among those of the struct, as they are validated.
    pub fn rank(&self, name: &str) -> Option<u32> {
        self.ranked.iter().position(|field| field.is(name)).and_then(|at| u32::try_from(at).ok())
    }

    /// Precomputes what the walk would otherwise find out for every object.
    fn settle(&mut self) {
        for field in &mut self.fields {
            field.ignores_absent = field.choice.is_none() && field.node.ignores_absent();
        }
        let checks_absent = |field: &FieldPlan| !field.ignores_absent || matches!(field.node.inner, Inner::Inlined(_));
        let bits = self.fields.iter().take(64).enumerate();
        self.checks_absent = bits.filter(|(_, field)| checks_absent(field)).fold(0, |bits, (at, _)| bits | 1 << at);
        for (name, place) in &mut self.order {
            *place = self.fields.iter().position(|field| field.name == *name).unwrap_or(usize::MAX);
        }
    }
}

impl Node {
    /// Whether absence can never be an error.
    fn ignores_absent(&self) -> bool {
        let passed_over = self.checks.pointer
            || matches!(self.checks.list.first(), Some(Check::Optional))
            || matches!(self.inner, Inner::Nothing | Inner::List(..) | Inner::Map(..));
        let unruled = self.before.is_empty() && self.after.is_empty() && self.last.list.is_empty();
        self.checks.ignores_absent && passed_over && unruled
    }

    fn is_active(&self, marks: &[(bool, bool)]) -> bool {
        let own = self.checks.list.iter().any(|check| !matches!(check, Check::Optional));
        own || !self.last.list.is_empty()
            || !self.before.is_empty()
            || !self.after.is_empty()
            || match &self.inner {
                Inner::Nothing => false,
                Inner::Struct(at) | Inner::Inlined(at) => marks[*at].0,
                Inner::List(node, _) => node.is_active(marks),
                Inner::Map(keys, node) => !keys.list.is_empty() || node.is_active(marks),
            }
    }

    /// Records, for the value and its items, whether there are rules that run even if nothing changed.
    fn mark(&mut self, marks: &[(bool, bool)]) {
        self.always = self.is_always(marks);
        if let Inner::List(node, _) | Inner::Map(_, node) = &mut self.inner {
            node.mark(marks);
        }
    }

    fn is_always(&self, marks: &[(bool, bool)]) -> bool {
        self.before.iter().chain(&self.after).any(|rule| rule.when.has(When::ALWAYS))
            || match &self.inner {
                Inner::Nothing => false,
                Inner::Struct(at) | Inner::Inlined(at) => marks[*at].1,
                Inner::List(node, _) | Inner::Map(_, node) => node.is_always(marks),
            }
    }
}

/// A field, with its name for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    of: (&'a Struct, &'a str),
}

struct Compiler<'a> {
    tables: &'a Tables,
    structs: Vec<StructPlan>,
    /// By type, and by the order that a field gives to its values.
    places: HashMap<(usize, Option<usize>), usize>,
    problems: Vec<(String, Misplaced)>,
}

impl Compiler<'_> {
    /// The index of the rules of a struct, which may be in a field of another.
    fn of(&mut self, schema: &Struct, place: Option<(&Struct, &str)>) -> usize {
        let order = self.tables.order(schema, place);
        let special = order.filter(|order| order.within.is_some()).map(|order| std::ptr::from_ref(order).addr());
        if let Some(at) = self.places.get(&(key(schema), special)) {
            return *at;
        }
        let at = self.structs.len();
        self.places.insert((key(schema), special), at);
        self.structs.push(StructPlan::default());
        let (before, after) = self.custom_rules(schema, "");
        let ordered = in_order(schema, order.map_or(&[], |order| order.fields));
        let fields = (0..).zip(&ordered).map(|(rank, field)| self.field(schema, field, rank)).collect();
        let mut problems = Vec::new();
        let on = Target::of_struct(schema);
        let (rules, last) = in_time(&schema.rules);
        let (checks, last) = (compile(&rules, on, &mut problems), compile(&last, on, &mut problems));
        self.report(&schema.name, problems);
        let unions = self.unions(schema);
        self.structs[at] = StructPlan {
            name: schema.name.to_string(),
            before,
            checks,
            fields,
            order: own_fields(schema),
            ranked: ordered.iter().map(|field| field.name.clone()).collect(),
            checks_absent: 0,
            unions,
            last,
            after,
            active: false,
            always: false,
        };
        at
    }

    fn report(&mut self, place: &str, problems: Vec<Misplaced>) {
        self.problems.extend(problems.into_iter().map(|problem| (place.to_owned(), problem)));
    }

    fn custom_rules(&self, schema: &Struct, field: &str) -> (Vec<&'static CustomRule>, Vec<&'static CustomRule>) {
        let all = self.tables.custom_rules.get(&key(schema)).into_iter().flatten();
        all.filter(|rule| rule.field == field).partition(|rule| rule.phase.runs_first())
    }

    fn field(&mut self, owner: &Struct, field: &Field, rank: u32) -> FieldPlan {
        let name = format!("{}.{}", owner.name.as_str(), field.name.as_str());
        let place = Place { name: &name, of: (owner, &field.name) };
        let mut node = self.node(place, Target::of(&field.ty, Some(owner), is_pointer(field)), &field.rules);
        if field.inline {
            if let Inner::Struct(at) = node.inner {
                node.inner = Inner::Inlined(at);
            }
        } else {
            (node.before, node.after) = self.custom_rules(owner, &field.name);
        }
        let mut names = self.tables.names.iter();
        let shown = names.find(|name| key((name.of)()) == key(owner) && name.field == &*field.name);
        let mut replacements = self.tables.replacements.iter().copied();
        let skips = self.tables.skips.get(&key(owner)).into_iter().flatten().copied();
        FieldPlan {
            name: field.name.clone(),
            rank,
            shown: shown.map_or_else(|| field.name.clone(), |name| Text::Static(name.shown)),
            skips: skips.filter(|skip| skip.field.is_empty() || skip.field == &*field.name).collect(),
            replacement: replacements.find(|other| key((other.of)()) == key(owner) && other.field == &*field.name),
            node,
            choice: self.choice(owner, field, &name),
            ignores_absent: false,
        }
    }

    /// The rules of a value: those for its items are added to the items' own.
    fn node(&mut self, place: Place<'_>, on: Target<'_>, rules: &[Rule]) -> Node {
        let ty = on.ty;
        let opaque = rules.iter().any(|rule| matches!(rule, Rule::Opaque));
        let (mut own, mut values, mut keys): (Vec<Rule>, Vec<Rule>, Vec<Rule>) = Default::default();
        let (rules, last) = in_time(rules);
        for rule in &rules {
            match (rule, ty) {
                (Rule::EachVal(inner), Type::List(_) | Type::Map(_)) => values.extend_from_slice(inner),
                (Rule::EachKey(inner), Type::Map(_)) => keys.extend_from_slice(inner),
                _ => own.push(rule.clone()),
            }
        }
        if opaque {
            values.push(Rule::Opaque);
        }
        let mut problems = Vec::new();
        let (checks, last) = (compile(&own, on, &mut problems), compile(&last, on, &mut problems));
        let keys = compile(&keys, on.item(&Type::String), &mut problems);
        self.report(place.name, problems);
        let inner = match ty {
            Type::Struct(schema) if !opaque => Inner::Struct(self.of(schema, Some(place.of))),
            Type::List(list) => {
                Inner::List(Box::new(self.node(place, on.item(&list.elem), &values)), Correlation::of(list))
            }
            Type::Map(map) => Inner::Map(keys, Box::new(self.node(place, on.item(&map.elem), &values))),
            _ => Inner::Nothing,
        };
        Node { checks, before: Vec::new(), inner, last, after: Vec::new(), always: false }
    }

    fn choice(&mut self, owner: &Struct, field: &Field, place: &str) -> Option<Choice> {
        let mut problems = Vec::new();
        let mut choice: Option<Choice> = None;
        for rule in field.rules.iter() {
            let Rule::Member(member, inner) = rule else { continue };
            let discriminator = owner.fields.iter().find(|other| {
                other.rules.iter().any(|rule| matches!(rule, Rule::Discriminator(union) if *union == member.union))
            });
            let Some(discriminator) = discriminator else {
                problems.push(Misplaced("`member` needs a field tagged `discriminator` beside it".to_owned()));
                continue;
            };
            let checks = compile(inner, Target::of(&field.ty, Some(owner), is_pointer(field)), &mut problems);
            let case = (member_value(member, field), checks);
            match &mut choice {
                Some(choice) => choice.cases.push(case),
                None => choice = Some(Choice { discriminator: discriminator.name.clone(), cases: vec![case] }),
            }
        }
        self.report(place, problems);
        choice
    }

    fn unions(&mut self, schema: &Struct) -> Vec<Union> {
        let mut unions: Vec<(&str, Union)> = Vec::new();
        for field in schema.fields.iter() {
            for rule in field.rules.iter() {
                each_union_rule(rule, None, &mut |rule, stage| {
                    let (name, exactly_one) = match rule {
                        Rule::UnionMember(member) => (member.union, true),
                        Rule::UnionDiscriminator(union) => (*union, true),
                        Rule::ZeroOrOneOf(member) => (member.union, false),
                        _ => return,
                    };
                    let known =
                        unions.iter().position(|(union, known)| *union == name && known.exactly_one == exactly_one);
                    let at = known.unwrap_or_else(|| {
                        unions.push((name, Union { discriminator: None, exactly_one, members: Vec::new(), stage }));
                        unions.len() - 1
                    });
                    let union = &mut unions[at].1;
                    match rule {
                        Rule::UnionMember(member) | Rule::ZeroOrOneOf(member) => union.members.push(UnionMember {
                            name: field.name.clone(),
                            value: member_value(member, field),
                            pointer: is_pointer(field),
                        }),
                        _ => union.discriminator = Some(field.name.clone()),
                    }
                });
            }
        }
        for (_, union) in &unions {
            if union.members.is_empty() {
                let text = "`union_discriminator` needs fields tagged `union_member` beside it".to_owned();
                self.report(&schema.name, vec![Misplaced(text)]);
            }
        }
        unions.into_iter().map(|(_, union)| union).collect()
    }
}

fn each_union_rule<'a>(rule: &'a Rule, stage: Option<Stage>, visit: &mut dyn FnMut(&'a Rule, Option<Stage>)) {
    match rule {
        Rule::Alpha(_, inner) => inner.iter().for_each(|rule| each_union_rule(rule, Some(Stage::Alpha), visit)),
        Rule::Beta(_, inner) => inner.iter().for_each(|rule| each_union_rule(rule, Some(Stage::Beta), visit)),
        rule => visit(rule, stage),
    }
}

/// The discriminator's value of a member: the declared one, or the capitalized field name.
fn member_value(member: &Member, field: &Field) -> String {
    if !member.value.is_empty() {
        return member.value.to_owned();
    }
    let mut chars = field.name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The rules that run first, and those that run last.
fn in_time(rules: &[Rule]) -> (Vec<Rule>, Vec<Rule>) {
    let (mut now, mut last) = (Vec::new(), Vec::new());
    for rule in rules {
        match rule {
            Rule::Last(rules) => last.extend_from_slice(rules),
            rule => now.push(rule.clone()),
        }
    }
    (now, last)
}

/// The names of the fields in schema order, without those of inlined structs.
fn own_fields(schema: &Struct) -> Vec<(Text, usize)> {
    schema.fields.iter().filter(|field| !field.inline).map(|field| (field.name.clone(), usize::MAX)).collect()
}

/// The fields as they are validated: those that are named first, then the others.
fn in_order<'s>(schema: &'s Struct, first: &[&str]) -> Vec<&'s Field> {
    let rest = schema.fields.iter().filter(|field| !first.contains(&&*field.name));
    first.iter().filter_map(|name| schema.field(name)).chain(rest).collect()
}
