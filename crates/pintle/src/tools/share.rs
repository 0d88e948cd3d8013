//! `pintle rules --share`: how much of each group's validation is said by tags.
//!
//! Counted where rules stand, each once, in the types that objects are judged in: a group answers for its own types,
//! wherever these are used.

use pintle_api_validation::rulebook;
use pintle_schema::rules::Rule;
use pintle_schema::{Struct, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The rules of a group.
#[derive(Default)]
pub struct Share {
    /// Rules that tags say. `optional` is none: it demands nothing.
    pub tags: usize,
    /// Functions written by hand.
    pub functions: usize,
}

/// The rules of each group by the directory of its types.
pub fn by_group() -> BTreeMap<String, Share> {
    let mut count = Count::default();
    for resource in pintle_kinds::all() {
        count.visit(resource.storage.as_ref().map_or(resource.schema, |storage| storage.schema)());
    }
    count.groups.retain(|_, share| share.tags + share.functions > 0);
    count.groups
}

/// The shares as a table.
pub fn table() -> String {
    let mut text = format!("{:<24} {:>6} {:>10}\n", "GROUP", "TAGS", "FUNCTIONS");
    let mut row =
        |name: &str, share: &Share| _ = writeln!(text, "{name:<24} {:>6} {:>10}", share.tags, share.functions);
    let (mut tags, mut functions) = (0, 0);
    for (name, share) in by_group() {
        row(&name, &share);
        (tags, functions) = (tags + share.tags, functions + share.functions);
    }
    row("all", &Share { tags, functions });
    text
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
        let fields = schema.fields.iter().map(|field| leaves(field.rules)).sum::<usize>();
        let share = self.groups.entry(schema.group_version().0.to_owned()).or_default();
        share.tags += leaves(schema.rules) + fields;
        share.functions += rulebook().handwritten(schema);
        schema.fields.iter().filter_map(|field| innermost(&field.ty)).for_each(|inside| self.visit(inside));
    }
}

/// The rules of a list of tags, those inside chains counted and the chains themselves not.
fn leaves(rules: &[Rule]) -> usize {
    rules.iter().map(|rule| inner(rule).map_or(usize::from(demands(rule)), leaves)).sum()
}

fn demands(rule: &Rule) -> bool {
    !matches!(rule, Rule::Optional | Rule::Opaque | Rule::Discriminator(_) | Rule::UnionDiscriminator(_))
}

fn inner(rule: &Rule) -> Option<&'static [Rule]> {
    Some(match rule {
        Rule::Member(_, inner) => inner,
        Rule::Item(_, inner) => inner,
        Rule::EachKey(inner) | Rule::EachVal(inner) => inner,
        Rule::Subfield(_, inner) => inner,
        Rule::IfEnabled(_, inner) | Rule::IfDisabled(_, inner) => inner,
        Rule::Alpha(_, inner) | Rule::Beta(_, inner) => inner,
        Rule::When(_, inner) | Rule::Unless(_, inner) | Rule::Worded(_, inner) => inner,
        Rule::WhenSet(_, inner) | Rule::WhenUnset(_, inner) => inner,
        _ => return None,
    })
}

fn innermost(ty: &Type) -> Option<&Struct> {
    match ty {
        Type::List(list) => innermost(&list.elem),
        Type::Map(map) => innermost(&map.elem),
        ty => ty.as_struct(),
    }
}

#[cfg(test)]
mod tests {
    use super::by_group;

    #[test]
    fn tags_say_most() {
        let groups = by_group();
        let share = |name: &str| groups.get(name).expect("a group with rules");
        // Each may only rise.
        for (name, tags) in [("core", 400), ("apps", 20)] {
            assert!(share(name).tags >= tags, "{name}: {}", share(name).tags);
        }
    }
}
