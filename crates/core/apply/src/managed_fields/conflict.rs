//! `Conflicts`: fields that a manager wants to set and others own, with kube-apiserver's messages.

use super::entry::{Manager, Operation};
use crate::PathElement;
use crate::field_set::FieldSet;
use pintle_codec::compat::print::quoted;
use std::fmt;

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    pub manager: Manager,
    pub path: Vec<PathElement>,
}

impl Conflict {
    /// The message of the cause: the other manager.
    pub fn cause(&self) -> String {
        format!("conflict with {}", Shown(&self.manager))
    }

    /// The field, such as `.spec.replicas`.
    pub fn field(&self) -> String {
        self.path.iter().map(ToString::to_string).collect()
    }
}

/// All conflicts of a write, grouped by manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// The conflicts that a set does not contain.
    pub(super) fn without(self, allowed: &FieldSet) -> Self {
        Conflicts(self.0.into_iter().filter(|conflict| !allowed.contains(&conflict.path)).collect())
    }
}

struct Shown<'a>(&'a Manager);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manager = self.0;
        f.write_str(&quoted(&manager.name))?;
        if !manager.subresource.is_empty() {
            write!(f, " with subresource {}", quoted(&manager.subresource))?;
        }
        if manager.operation == Operation::Update {
            write!(f, " using {}", manager.api_version)?;
        }
        Ok(())
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(f, "Apply failed with 1 conflict: {}: {}", only.cause(), only.field());
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last: Option<&Manager> = None;
        for conflict in &self.0 {
            if last != Some(&conflict.manager) {
                let newline = if last.is_some() { "\n" } else { "" };
                write!(f, "{newline}conflicts with {}:", Shown(&conflict.manager))?;
                last = Some(&conflict.manager);
            }
            write!(f, "\n- {}", conflict.field())?;
        }
        Ok(())
    }
}
