//! The bound on updaters: the oldest beyond ten are folded into one entry for each version.
//!
//! Appliers do not count and are never folded.

use super::entry::{Entry, InvalidEntry, Managed, Manager, Operation};
use crate::field_set::FieldSet;

/// How many updaters an object keeps apart, as in the reference.
const MOST_UPDATERS: usize = 10;

/// Who owns what older updaters owned.
const FOLDED: &str = "ancient-changes";

/// Folds the oldest updaters while there are too many. The first of each version stands alone until another of its version comes.
pub(super) fn fold_oldest(managed: &mut Managed) -> Result<(), InvalidEntry> {
    let updaters = managed.entries().iter().filter(|entry| !entry.applied());
    let mut oldest: Vec<(i64, Manager)> = updaters.map(|entry| (entry.seconds(), entry.manager.clone())).collect();
    if oldest.len() <= MOST_UPDATERS {
        return Ok(());
    }
    oldest.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.order(other)));
    let mut excess = oldest.len() - MOST_UPDATERS;
    let mut firsts: Vec<Manager> = Vec::new();
    for (_, manager) in oldest {
        if excess == 0 {
            break;
        }
        let Some(version) = managed.get(&manager).map(|entry| entry.api_version.clone()) else { continue };
        let Some(first) = firsts.iter().find(|first| first.api_version == version) else {
            firsts.push(manager);
            continue;
        };
        let bucket = Manager::new(FOLDED, Operation::Update, &version, "");
        if managed.get(&bucket).is_none() {
            let entry = managed.remove(first).map_or_else(
                || Entry::new(bucket.clone(), &version, FieldSet::new()),
                |entry| Entry { manager: bucket.clone(), ..entry },
            );
            managed.put(entry);
        }
        let Some(mut folded) = managed.remove(&manager) else { continue };
        excess -= 1;
        // When it was the bucket itself that was too old, it is gone with all that it held, as in the reference.
        if let Some(entry) = managed.get_mut(&bucket) {
            entry.fields_mut()?.absorb(folded.fields()?.clone());
            entry.time = folded.time;
        }
    }
    Ok(())
}
