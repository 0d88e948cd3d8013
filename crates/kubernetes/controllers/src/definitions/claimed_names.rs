//! `ClaimedNames`: the names of definitions, by group.
//!
//! Guarantees that an operation on one group does not visit others: there may be ten thousand groups.

use pintle_extensions::naming::NamesInUse;
use std::collections::{BTreeMap, HashMap};

/// The names of all definitions.
#[derive(Default)]
pub struct ClaimedNames {
    /// The group of each definition.
    groups: HashMap<String, String>,
    /// By group and name of the definition.
    claims: HashMap<String, BTreeMap<String, NamesInUse>>,
}

impl ClaimedNames {
    pub fn insert(&mut self, name: String, claims: NamesInUse) {
        self.remove(&name);
        self.groups.insert(name.clone(), claims.group.clone());
        self.claims.entry(claims.group.clone()).or_default().insert(name, claims);
    }

    pub fn remove(&mut self, name: &str) -> Option<NamesInUse> {
        let group = self.groups.remove(name)?;
        let claims = self.claims.get_mut(&group)?;
        let removed = claims.remove(name);
        if claims.is_empty() {
            self.claims.remove(&group);
        }
        removed
    }

    pub fn get(&self, name: &str) -> Option<&NamesInUse> {
        self.claims.get(self.groups.get(name)?)?.get(name)
    }

    /// The definitions of a group, with their names.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = (&String, &NamesInUse)> {
        self.claims.get(group).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_names_of_their_definitions() {
        let claims = |group: &str| NamesInUse { group: group.to_owned(), ..NamesInUse::default() };
        let mut names = ClaimedNames::default();
        for (name, group) in [("b.g", "g"), ("a.g", "g"), ("a.h", "h"), ("moved", "g"), ("moved", "h")] {
            names.insert(name.to_owned(), claims(group));
        }
        let of = |names: &ClaimedNames, group| names.of_group(group).map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (of(&names, "g"), of(&names, "h")),
            (vec!["a.g".into(), "b.g".into()], vec!["a.h".into(), "moved".into()])
        );
        assert_eq!(names.remove("a.h").map(|claims| claims.group), Some("h".to_owned()));
        assert_eq!(names.remove("a.h"), None);
        assert!(names.get("a.h").is_none() && names.get("a.g").is_some());
        names.remove("moved");
        assert_eq!(of(&names, "h"), [""; 0]);
        assert!(names.claims.len() == 1, "nothing is kept of a group without definitions");
    }
}
