//! The order of errors: each has a key, which says where kube-apiserver finds it, and the list is sorted once by the keys.
//! Guarantees that a key follows from the place of the rule, its declared phase and the nodes of the error's path. Must
//! never read a formatted path.

use crate::path::{FieldPath, PathNode};
use crate::plan::{Inner, Plan, StructPlan};

/// Where the errors of a rule stand among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Before those of what is inside the value, in the order in which the rules are declared.
    #[default]
    Before,
    /// After those of what is inside the value.
    After,
    /// Each before the other errors of what its path leads to in so many nodes from the value: with 1, of an item of
    /// the list or a field of the struct.
    BeforePart(usize),
    /// Each after the other errors of what its path leads to in so many nodes from the value.
    Inside(usize),
    /// Before those of a field, by its path of names from the value. In lists, the item is that of the error's path.
    BeforeField(&'static [&'static str]),
}

impl Phase {
    /// Whether the rule runs before what is inside the value.
    pub(crate) fn runs_first(self) -> bool {
        matches!(self, Phase::Before | Phase::BeforePart(_))
    }
}

/// The place of an error: the pass, a number for each node of a path, and the phase there. Keys compare as the errors
/// do.
pub(crate) type Key = Box<[u32]>;

/// Before all that is inside a value.
const OWN: u32 = 0;
/// After all that is inside a value.
const AFTER: u32 = u32::MAX;
/// A field that its struct does not have, and an item without an index, are the last ones.
const LAST_RANK: u32 = u32::MAX / 2 - 2;

/// A field or an item of a value. What stands before its errors has the number before.
fn part(rank: u32) -> u32 {
    2 * rank.min(LAST_RANK) + 2
}

/// The place of errors that a pass finds in no particular value.
pub(crate) fn of_pass(pass: u32) -> Key {
    Box::new([pass, OWN])
}

/// A value whose rules ran.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'p, 'r> {
    pub plan: &'p Plan,
    pub pass: u32,
    pub path: &'r FieldPath<'r>,
    pub content: Content<'p>,
}

/// The rules of what is inside a value, where the ranks of fields are known from.
#[derive(Clone, Copy)]
pub(crate) enum Content<'p> {
    Unknown,
    Struct(usize),
    Of(&'p Inner),
}

impl<'p> Content<'p> {
    fn plan(self, plan: &'p Plan) -> Option<&'p StructPlan> {
        match self {
            Content::Struct(at) => plan.structs.get(at),
            Content::Of(Inner::Struct(at) | Inner::Inlined(at)) => plan.structs.get(*at),
            _ => None,
        }
    }

    fn items(self) -> Option<Content<'p>> {
        match self {
            Content::Of(Inner::List(node, _)) => Some(Content::Of(&node.inner)),
            _ => None,
        }
    }
}

impl<'p> Origin<'p, '_> {
    /// The key of an error that a rule of a phase found, by the nodes of its path.
    pub fn key(&self, phase: Phase, nodes: &[PathNode]) -> Key {
        let mut key = vec![self.pass];
        self.path.ranks(&mut |rank| key.push(part(rank)));
        match phase {
            Phase::Before => key.push(OWN),
            Phase::After => key.push(AFTER),
            Phase::BeforePart(depth) => match self.descend(self.below(nodes), depth, &mut key) {
                true => _ = key.last_mut().map(|last| *last = last.saturating_sub(1)),
                false => key.push(OWN),
            },
            Phase::Inside(depth) => {
                self.descend(self.below(nodes), depth, &mut key);
                key.push(AFTER);
            }
            Phase::BeforeField(names) => self.descend_to(names, self.below(nodes), &mut key),
        }
        key.into()
    }

    /// The nodes of an error's path from the value; none if the error is not inside the value.
    fn below<'n>(&self, nodes: &'n [PathNode]) -> &'n [PathNode] {
        let own = self.path.nodes();
        nodes.strip_prefix(own.as_slice()).unwrap_or_default()
    }

    /// Adds the first nodes; returns whether there was one. Entries of maps have no rank.
    fn descend(&self, nodes: &[PathNode], depth: usize, key: &mut Vec<u32>) -> bool {
        let (mut content, before) = (self.content, key.len());
        for node in nodes.iter().take(depth) {
            match node {
                PathNode::Field(name) => content = self.field(content, name, key),
                PathNode::Index(index) => {
                    key.push(part(u32::try_from(*index).unwrap_or(LAST_RANK)));
                    content = content.items().unwrap_or(Content::Unknown);
                }
                PathNode::Key(_) => break,
            }
        }
        key.len() > before
    }

    /// Adds a field by its names. Where they lead through a list, the error's path has the index.
    fn descend_to(&self, names: &[&str], mut nodes: &[PathNode], key: &mut Vec<u32>) {
        let mut content = self.content;
        for name in names {
            if let Some(items) = content.items() {
                if let Some((PathNode::Index(index), rest)) = nodes.split_first() {
                    key.push(part(u32::try_from(*index).unwrap_or(LAST_RANK)));
                    nodes = rest;
                }
                content = items;
            }
            content = self.field(content, name, key);
            nodes = nodes.get(1..).unwrap_or_default();
        }
        if let Some(last) = key.last_mut() {
            *last = last.saturating_sub(1);
        }
    }

    /// Adds the rank of a field. Fields of an inlined struct are among those of its owner, at its rank.
    fn field(&self, content: Content<'p>, name: &str, key: &mut Vec<u32>) -> Content<'p> {
        let Some(plan) = content.plan(self.plan) else {
            key.push(part(LAST_RANK));
            return Content::Unknown;
        };
        if let Some(rank) = plan.rank(name) {
            key.push(part(rank));
            let field = plan.fields.iter().find(|field| field.name.is(name));
            return field.map_or(Content::Unknown, |field| Content::Of(&field.node.inner));
        }
        let inlined = plan.fields.iter().find_map(|field| match field.node.inner {
            Inner::Inlined(at) if self.plan.structs.get(at).is_some_and(|inlined| inlined.rank(name).is_some()) => {
                Some((field.rank, at))
            }
            _ => None,
        });
        match inlined {
            Some((rank, at)) => {
                key.push(part(rank));
                self.field(Content::Struct(at), name, key)
            }
            None => {
                key.push(part(LAST_RANK));
                Content::Unknown
            }
        }
    }
}

/// The items of a list in which there is an error, by the keys of all errors.
pub(crate) fn items_with_errors<'k>(
    pass: u32,
    list: &FieldPath<'_>,
    keys: impl Iterator<Item = &'k Key>,
) -> std::collections::BTreeSet<usize> {
    let mut prefix = vec![pass];
    list.ranks(&mut |rank| prefix.push(part(rank)));
    let next = keys.filter_map(|key| key.strip_prefix(prefix.as_slice())?.first().copied());
    next.filter(|node| ![OWN, AFTER].contains(node)).map(|node| (node as usize - 1) / 2).collect()
}
