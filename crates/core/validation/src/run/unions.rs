//! Unions: which of their members are set, and whether a discriminator names them.
//! Guarantees that a union whose choice an update did not change is not validated again.

use super::Run;
use crate::check::{NULL, at, is_set};
use crate::error::ErrorKind;
use crate::location::Location;
use crate::plan::{Choice, Union};
use pintle_schema::Value;

impl Run<'_, '_, '_> {
    /// Whether the field is the member that the discriminator chooses.
    pub(super) fn choice(&mut self, choice: &Choice, pointer: bool, owner: &Location<'_>, location: &Location<'_>) {
        let chosen = at(owner.value, &choice.discriminator);
        let chosen = chosen.as_str().map(str::to_owned).or_else(|| chosen.as_i64().map(|n| n.to_string()));
        let chosen = chosen.unwrap_or_default();
        match choice.cases.iter().find(|(value, _)| *value == chosen) {
            Some((_, checks)) => self.changed(checks, location),
            None if is_set(location.value, pointer) => self.cx.errors.forbidden(location.path, ""),
            None => {}
        }
    }

    /// Validates which members are set.
    pub(super) fn union(&mut self, union: &Union, location: &Location<'_>) {
        match union.stage {
            Some(stage) => {
                _ = self.shadow(stage, |run| {
                    run.validate_union(union, location);
                    false
                })
            }
            None => self.validate_union(union, location),
        }
    }

    fn validate_union(&mut self, union: &Union, location: &Location<'_>) {
        let set = |value: &Value, at: usize| {
            union.members.get(at).is_some_and(|member| is_set(value.get(&member.name).unwrap_or(&NULL), member.pointer))
        };
        let chosen = union.discriminator.as_ref().map(|name| location.value.str_at(&[name]));
        if let Some(old) = location.old {
            let as_before = (0..union.members.len()).all(|member| set(location.value, member) == set(old, member));
            if as_before && union.discriminator.as_ref().is_none_or(|name| chosen == Some(old.str_at(&[name]))) {
                return;
            }
        }
        if let (Some(discriminator), Some(chosen)) = (&union.discriminator, chosen) {
            for (index, member) in union.members.iter().enumerate() {
                let detail = match (set(location.value, index), member.value == chosen) {
                    (true, false) => "may only be specified when",
                    (false, true) => "must be specified when",
                    _ => continue,
                };
                let detail = format!("{detail} `{}` is {:?}", discriminator.as_str(), member.value);
                self.cx.errors.invalid(location.path.child(&member.name), "", detail);
                self.cx.errors.origin("union");
            }
            return;
        }
        let names = |all: bool, quote: &str| {
            let members = union.members.iter().enumerate().filter(|(index, _)| all || set(location.value, *index));
            members.map(|(_, member)| format!("{quote}{}{quote}", member.name.as_str())).collect::<Vec<_>>().join(", ")
        };
        let (value, demand) =
            match ((0..union.members.len()).filter(|at| set(location.value, *at)).count(), union.exactly_one) {
                (0, true) => (String::new(), "must specify one of"),
                (0 | 1, _) => return,
                (_, true) => (format!("{{{}}}", names(false, "")), "must specify exactly one of"),
                (_, false) => (format!("{{{}}}", names(false, "")), "must specify at most one of"),
            };
        self.cx.errors.push(
            ErrorKind::Invalid,
            location.path,
            Some(value.into()),
            format!("{demand}: {}", names(true, "`")),
        );
        self.cx.errors.origin(if union.exactly_one { "union" } else { "zeroOrOneOf" });
    }
}
