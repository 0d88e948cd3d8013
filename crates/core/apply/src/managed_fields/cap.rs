//! The limit on updaters: the oldest beyond ten are merged into one entry per version.
//! Must never count or merge appliers.

use super::entry::{Entry, InvalidEntry, Managed, Manager, Operation};
use crate::field_set::FieldSet;

/// The number of separate updaters of an object, as in kube-apiserver.
const MOST_UPDATERS: usize = 10;

/// The manager that owns the fields of older updaters.
const FOLDED: &str = "ancient-changes";

/// Merges the oldest updaters while there are too many. The first of each version is kept until another of its
/// version comes.
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
        // If the bucket itself was too old, it is dropped with all its fields, as in kube-apiserver.
        if let Some(entry) = managed.get_mut(&bucket) {
            entry.fields_mut()?.absorb(folded.fields()?.clone());
            entry.time = folded.time;
        }
    }
    Ok(())
}
