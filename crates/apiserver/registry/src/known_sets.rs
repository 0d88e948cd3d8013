//! `KnownSets`: field sets that are known to be in the current form of their schema. Bounded; a forgotten set is checked again.

use pintle_schema::{Struct, Value};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};

/// Objects that one controller makes mostly have one set in common, so a server sees few.
const MOST: usize = 4096;

/// Digests of sets with their schemas.
#[derive(Default)]
pub(crate) struct KnownSets {
    state: RandomState,
    known: RwLock<HashSet<u64>>,
}

impl KnownSets {
    /// Whether a set is current; `look` checks an unknown one.
    pub(crate) fn is_current(&self, schema: &Struct, fields: &Value, look: &dyn Fn() -> bool) -> bool {
        let Value::Raw(text) = fields else { return look() };
        let digest = self.state.hash_one((schema.compiled.id(), text.as_str()));
        if self.known.read().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
            return true;
        }
        let is_current = look();
        if is_current {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(digest);
        }
        is_current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::ApiType;
    use pintle_types::core::v1::{ConfigMap, Pod};
    use std::cell::Cell;

    #[test]
    fn a_current_set_is_checked_once() {
        let known = KnownSets::default();
        let looks = Cell::new(0);
        let ask = |schema: &Struct, text: &str, answer: bool| {
            let look = || {
                looks.set(looks.get() + 1);
                answer
            };
            (known.is_current(schema, &Value::Raw(text.into()), &look), looks.get())
        };
        let (pod, map) = (Pod::schema(), ConfigMap::schema());
        assert_eq!(ask(pod, r#"{"f:spec":{}}"#, false), (false, 1));
        assert_eq!(ask(pod, r#"{"f:spec":{}}"#, true), (true, 2));
        assert_eq!(ask(pod, r#"{"f:spec":{}}"#, false), (true, 2));
        assert_eq!(ask(map, r#"{"f:spec":{}}"#, false), (false, 3), "another schema");
        assert_eq!(ask(pod, r#"{"f:data":{}}"#, false), (false, 4), "another set");
        (0..MOST).for_each(|at| assert!(ask(pod, &format!("{{\"f:{at}\":{{}}}}"), true).0));
        assert!(known.known.read().is_ok_and(|known| known.len() <= MOST));
    }
}
