//! Unions whose members are items of a list, identified by their keys: at most one of two conditions, for example.
//! Collected from the `item` tags of one list; validated like unions of fields.

use crate::check::at;
use crate::error::{ErrorKind, ErrorList};
use crate::path::FieldPath;
use pintle_schema::Value;
use pintle_schema::names::quoted;
use pintle_schema::rules::Rule;

type Keys = &'static [(&'static str, &'static str)];

/// Items of which exactly one, or at most one, may be present.
pub struct ItemUnion {
    name: &'static str,
    exactly_one: bool,
    members: Vec<Keys>,
}

impl ItemUnion {
    /// The unions that the tags of a list refer to.
    pub fn all(rules: &[Rule]) -> Vec<ItemUnion> {
        let mut unions: Vec<ItemUnion> = Vec::new();
        for rule in rules {
            let Rule::Item(keys, inner) = rule else { continue };
            for rule in inner.iter() {
                let (name, exactly_one) = match rule {
                    Rule::UnionMember(member) => (member.union, true),
                    Rule::ZeroOrOneOf(member) => (member.union, false),
                    _ => continue,
                };
                let is = |union: &&mut ItemUnion| union.name == name && union.exactly_one == exactly_one;
                match unions.iter_mut().find(is) {
                    Some(union) => union.members.push(keys),
                    None => unions.push(ItemUnion { name, exactly_one, members: vec![keys] }),
                }
            }
        }
        unions
    }

    /// Validates a list, unless its members are those of the old one.
    pub fn validate(&self, list: &Value, old: Option<&Value>, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let set = |keys: &Keys| has(list, keys);
        if old.is_some_and(|old| self.members.iter().all(|keys| set(keys) == has(old, keys))) {
            return;
        }
        let (demand, origin) = match (self.members.iter().filter(|keys| set(keys)).count(), self.exactly_one) {
            (0, true) => ("must specify one of", "union"),
            (0 | 1, _) => return,
            (_, true) => ("must specify exactly one of", "union"),
            (_, false) => ("must specify at most one of", "zeroOrOneOf"),
        };
        let field = path.to_string();
        let field = field.rsplit('.').next().unwrap_or_default();
        let shown = |keys: &Keys| {
            let keys = keys.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
            format!("{field}[{{{}}}]", keys.collect::<Vec<_>>().join(", "))
        };
        let found: Vec<String> = self.members.iter().filter(|keys| set(keys)).map(shown).collect();
        let value = if found.is_empty() { String::new() } else { format!("{{{}}}", found.join(", ")) };
        let all: Vec<String> = self.members.iter().map(|keys| format!("`{}`", shown(keys))).collect();
        errors.push(ErrorKind::Invalid, path, Some(value.into()), format!("{demand}: {}", all.join(", ")));
        errors.origin(origin);
    }
}

fn has(list: &Value, keys: &Keys) -> bool {
    let is = |item: &Value| keys.iter().all(|(key, value)| at(item, key).as_str().unwrap_or_default() == *value);
    list.as_list().unwrap_or(&[]).iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::rules::Member;
    use pintle_schema::{Slice, value};

    const ONE: Rule = Rule::ZeroOrOneOf(Member { union: "", value: "" });
    static RULES: &[Rule] =
        &[Rule::Item(&[("type", "A")], Slice::Static(&[ONE])), Rule::Item(&[("type", "B")], Slice::Static(&[ONE]))];

    #[test]
    fn at_most_one_item() {
        let unions = ItemUnion::all(RULES);
        let validate = |list: &Value, old: Option<&Value>| {
            let (mut errors, path) = (ErrorList::default(), FieldPath::new("status"));
            unions.iter().for_each(|union| union.validate(list, old, &path.child("conditions"), &mut errors));
            errors.0.iter().map(|error| error.line()).collect::<Vec<_>>()
        };
        let (one, both) = (value!([{"type": "A"}, {"type": "C"}]), value!([{"type": "B"}, {"type": "A"}]));
        assert_eq!(validate(&one, None), [""; 0]);
        let said = r#"status.conditions: Invalid value: "{conditions[{\"type\": \"A\"}], conditions[{\"type\": \"B\"}]}": must specify at most one of: `conditions[{"type": "A"}]`, `conditions[{"type": "B"}]`"#;
        assert_eq!(validate(&both, Some(&one)), [said]);
        assert_eq!(validate(&both, Some(&both)), [""; 0], "as before");
    }
}
