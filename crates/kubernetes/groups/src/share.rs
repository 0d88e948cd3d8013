//! How much of each group's validation is said by tags, and how much is written by hand.
//!
//! Counted where rules stand, each once, in the types that objects are judged in: a group answers for its own types, wherever
//! these are used.

use crate::rules::validator;
use pintle_schema::rules::Rule;
use pintle_schema::{Struct, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Rules that tags say. `optional` is none: it demands nothing.
    pub tags: usize,
    /// Functions written by hand, each for one rule or several.
    pub functions: usize,
}

/// The rules of each group, by the directory of its types, of kinds with these storage versions.
pub fn by_group(kinds: impl Iterator<Item = &'static Struct>) -> BTreeMap<String, Share> {
    let mut count = Count::default();
    kinds.for_each(|kind| count.visit(kind));
    count.groups.retain(|_, share| *share != Share::default());
    count.groups
}

#[derive(Default)]
struct Count {
    seen: BTreeSet<usize>,
    groups: BTreeMap<String, Share>,
}

impl Count {
    fn visit(&mut self, schema: &Struct) {
        if !self.seen.insert(std::ptr::from_ref(schema).addr()) {
            return;
        }
        let fields = schema.fields.iter().map(|field| tags(field.rules)).sum::<usize>();
        let share = self.groups.entry(schema.group_version().0.to_owned()).or_default();
        share.tags += tags(schema.rules) + fields;
        share.functions += validator().handwritten(schema);
        schema.fields.iter().filter_map(|field| innermost(&field.ty)).for_each(|inside| self.visit(inside));
    }
}

/// The rules of a list of tags: those inside chains, not the chains themselves.
fn tags(rules: &[Rule]) -> usize {
    let demands = |rule: &Rule| {
        !matches!(rule, Rule::Optional | Rule::Opaque | Rule::Discriminator(_) | Rule::UnionDiscriminator(_))
    };
    rules.iter().map(|rule| rule.chained().map_or(usize::from(demands(rule)), tags)).sum()
}

fn innermost(ty: &Type) -> Option<&Struct> {
    match ty {
        Type::List(list) => innermost(&list.elem),
        Type::Map(map) => innermost(&map.elem),
        ty => ty.as_struct(),
    }
}
