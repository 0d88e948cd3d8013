//! `Compiled`: data that was derived from a schema, stored with it and dropped with it.
//! Guarantees that an ID is never reused in a process.
//! Must never contain data of one server: a schema can outlive it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

type Entry = (u64, Arc<dyn Any + Send + Sync>);

/// The ID of a schema and the values compiled from it, one for each type and owner.
pub struct Compiled {
    /// 0 until it is requested.
    id: AtomicU64,
    values: RwLock<Vec<Entry>>,
}

impl Default for Compiled {
    fn default() -> Self {
        Compiled::new()
    }
}

impl Compiled {
    pub const fn new() -> Self {
        Compiled { id: AtomicU64::new(0), values: RwLock::new(Vec::new()) }
    }

    /// A number that no other schema of this process has.
    pub fn id(&self) -> u64 {
        match self.id.load(Ordering::Relaxed) {
            0 => {
                let new = unique_id();
                self.id
                    .compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|known| known, |_| new)
            }
            id => id,
        }
    }

    /// The value of a type that an owner (a number from `unique_id`, or 0) compiled, created on first use.
    pub fn get_or_insert_with<T: Any + Send + Sync>(&self, owner: u64, make: impl FnOnce() -> T) -> Arc<T> {
        let find = |values: &[Entry]| {
            values.iter().filter(|(of, _)| *of == owner).find_map(|(_, value)| value.clone().downcast::<T>().ok())
        };
        if let Some(known) = find(&self.values.read().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        // Created without the lock, because it may request others of the same schema.
        let made = Arc::new(make());
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        find(&values).unwrap_or_else(|| {
            values.push((owner, made.clone()));
            made
        })
    }
}

/// A number that was not returned before in this process.
pub fn unique_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_once_for_each_type_and_owner() {
        let compiled = Compiled::new();
        let mut made = 0;
        for _ in 0..2 {
            assert_eq!(
                *compiled.get_or_insert_with(0, || {
                    made += 1;
                    7_u8
                }),
                7
            );
            assert_eq!(
                *compiled.get_or_insert_with(1, || {
                    made += 1;
                    8_u8
                }),
                8
            );
            assert_eq!(
                *compiled.get_or_insert_with(0, || {
                    made += 1;
                    "text"
                }),
                "text"
            );
        }
        assert_eq!(made, 3);
        assert_eq!(compiled.id(), compiled.id());
        assert_ne!(compiled.id(), Compiled::new().id());
    }
}
