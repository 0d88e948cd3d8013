//! Kinds of which kube-apiserver counts an empty list or map as a change of the absent one that is stored.
//! Their generation rises with every update that was sent with one. Must never look at structs, which may be empty.

use pintle_schema::{Map, Value};

/// The map in which selectors have labels; other maps are structs.
const LABELS: &str = "matchLabels";

/// Whether a tree of empty values holds a list, or the labels of a selector. Lists that have defaults do not count.
pub(crate) fn has_empties(tree: Option<&Value>, defaulted: &[&str]) -> bool {
    match tree {
        Some(Value::List(items)) => items.is_empty() || items.iter().any(|item| has_empties(Some(item), defaulted)),
        Some(Value::Map(map)) => {
            map.iter().filter(|(key, _)| !defaulted.contains(&key.as_str())).any(|(key, value)| {
                key.as_str() == LABELS && value.as_map().is_some_and(Map::is_empty)
                    || has_empties(Some(value), defaulted)
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn lists_and_labels_count_and_structs_do_not() {
        let rows = [
            (value!({"podSelector": {}}), false),
            (value!({"podSelector": {"matchLabels": {}}}), true),
            (value!({"policyTypes": []}), false),
            (value!({"egress": []}), true),
            (value!({"ingress": [null, {"from": []}]}), true),
            (value!({"ingress": [{}]}), false),
        ];
        for (tree, expected) in rows {
            assert_eq!(has_empties(Some(&tree), &["policyTypes"]), expected, "{tree:?}");
        }
        assert!(!has_empties(None, &[]));
    }
}
