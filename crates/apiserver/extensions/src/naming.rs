//! The accepted names of a definition: those that it requests, unless another definition of its group has them.
//!
//! Pure functions over definitions; the controller that writes the result calls them for one definition at a time.

use pintle_schema::Value;
use pintle_schema::names::quoted;
use std::collections::HashSet;

/// The names that a definition has been given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamesInUse {
    pub group: String,
    /// Plural, singular and short names.
    pub resources: Vec<String>,
    /// Kinds of objects and of lists.
    pub kinds: Vec<String>,
}

static NULL: Value = Value::Null;

fn texts<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    value.get(name).and_then(Value::as_list).unwrap_or(&[]).iter().filter_map(Value::as_str)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl NamesInUse {
    pub fn of(definition: &Value) -> NamesInUse {
        let names = definition.at(&["status", "acceptedNames"]).unwrap_or(&NULL);
        let owned = |name: &str| text(names, name).to_owned();
        let mut resources = vec![owned("plural"), owned("singular")];
        resources.extend(texts(names, "shortNames").map(str::to_owned));
        NamesInUse {
            group: definition.str_at(&["spec", "group"]).to_owned(),
            resources,
            kinds: vec![owned("kind"), owned("listKind")],
        }
    }
}

/// The content of the `NamesAccepted` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamesCondition {
    pub holds: bool,
    pub reason: &'static str,
    pub message: String,
}

/// The accepted names of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub names: Value,
    pub condition: NamesCondition,
}

/// Determines the accepted names. `taken` are those of all definitions of its group, including its own.
pub fn accept<'a>(definition: &Value, taken: impl Iterator<Item = &'a NamesInUse>) -> Accepted {
    let asked = definition.at(&["spec", "names"]).unwrap_or(&NULL);
    let given = definition.at(&["status", "acceptedNames"]).unwrap_or(&NULL);
    let (mut resources, mut kinds) = (HashSet::new(), HashSet::new());
    for claims in taken {
        resources.extend(claims.resources.iter().map(String::as_str));
        kinds.extend(claims.kinds.iter().map(String::as_str));
    }
    let mut names = given.clone();
    let mut condition = NamesCondition { holds: true, reason: "NoConflicts", message: "no conflicts found".to_owned() };
    let in_use = |name: &str| format!("{} is already in use", quoted(name));
    let mut single = |field: &'static str, reason: &'static str, taken: &HashSet<&str>| {
        let name = text(asked, field);
        if name != text(given, field) && taken.contains(name) {
            condition = NamesCondition { holds: false, reason, message: in_use(name) };
        } else {
            names.make_map().set(field, name);
        }
    };
    single("plural", "PluralConflict", &resources);
    single("singular", "SingularConflict", &resources);
    let own: HashSet<&str> = texts(given, "shortNames").collect();
    let mut refused: Vec<String> = Vec::new();
    for name in texts(asked, "shortNames").filter(|name| !own.contains(name) && resources.contains(name)) {
        if !refused.contains(&in_use(name)) {
            refused.push(in_use(name));
        }
    }
    let of_short_names = match refused.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    };
    single("kind", "KindConflict", &kinds);
    single("listKind", "ListKindConflict", &kinds);
    let list = |name: &str| Value::List(texts(asked, name).map(Value::from).collect());
    match of_short_names {
        None => _ = names.make_map().set("shortNames", list("shortNames")),
        // A conflict of kinds is reported before one of short names.
        Some(message) if condition.holds || matches!(condition.reason, "PluralConflict" | "SingularConflict") => {
            condition = NamesCondition { holds: false, reason: "ShortNamesConflict", message };
        }
        Some(_) => {}
    }
    names.make_map().set("categories", list("categories"));
    Accepted { names, condition }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn definition(plural: &str, short: &str, kind: &str) -> Value {
        value!({"spec": {"group": "g.example.com", "names": {"plural": (plural), "singular": (kind.to_lowercase()),
            "shortNames": [(short)], "kind": (kind), "listKind": (format!("{kind}List"))}}})
    }

    #[test]
    fn names_are_given_once() {
        let first = definition("widgets", "w", "Widget");
        let accepted = accept(&first, std::iter::empty());
        assert!(accepted.condition.holds);
        let mut given = first.clone();
        given.set_at(&["status", "acceptedNames"], accepted.names);
        let claims = [NamesInUse::of(&given)];
        assert!(accept(&given, claims.iter()).condition.holds, "its own names are no conflict");
        let second = accept(&definition("gadgets", "w", "Widget"), claims.iter());
        let said = NamesCondition {
            holds: false,
            reason: "ListKindConflict",
            message: "\"WidgetList\" is already in use".into(),
        };
        assert_eq!(second.condition, said);
        assert_eq!(second.names, value!({"plural": "gadgets", "categories": []}));
        let third = accept(&definition("gadgets", "w", "Gadget"), claims.iter());
        assert_eq!(
            (third.condition.reason, third.condition.message.as_str()),
            ("ShortNamesConflict", "\"w\" is already in use")
        );
    }
}
