//! The limit on updaters: the oldest beyond ten are merged into one entry per version.
//! Must never count or merge appliers.

use super::entry::{Entry, InvalidEntry, Managed, Manager, Operation};
use crate::field_set::FieldSet;
use pintle_schema::Str;
use std::collections::HashMap;

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
    let mut entries = Indexed::of(std::mem::take(managed.entries_mut()));
    let mut firsts: HashMap<Str, Manager> = HashMap::new();
    // What is merged into each bucket, so that it is merged once.
    let mut folded: HashMap<Manager, Vec<FieldSet>> = HashMap::new();
    for (_, manager) in oldest {
        if excess == 0 {
            break;
        }
        let Some(version) = entries.get_mut(&manager).map(|entry| entry.api_version.clone()) else { continue };
        let Some(first) = firsts.get(&version) else {
            firsts.insert(version, manager);
            continue;
        };
        let bucket = Manager::new(FOLDED, Operation::Update, &version, "");
        if entries.get_mut(&bucket).is_none() {
            let entry = entries.remove(first).map_or_else(
                || Entry::new(bucket.clone(), &version, FieldSet::new()),
                |entry| Entry { manager: bucket.clone(), ..entry },
            );
            entries.push(entry);
        }
        let Some(mut entry) = entries.remove(&manager) else { continue };
        excess -= 1;
        // If the bucket itself was too old, it is dropped with all its fields, as in kube-apiserver.
        match entries.get_mut(&bucket) {
            Some(kept) => kept.time = entry.time.take(),
            None => {
                folded.remove(&bucket);
                continue;
            }
        }
        folded.entry(bucket).or_default().push(entry.fields()?.clone());
    }
    for (bucket, sets) in folded {
        if let Some(entry) = entries.get_mut(&bucket) {
            let fields = entry.fields_mut()?;
            *fields = fields.union(&union_of(sets));
        }
    }
    *managed.entries_mut() = entries.into_entries();
    Ok(())
}

/// The union of sets, each of which is copied a logarithmic number of times.
fn union_of(mut sets: Vec<FieldSet>) -> FieldSet {
    while sets.len() > 1 {
        let pair = |pair: &[FieldSet]| match pair {
            [one, other] => one.union(other),
            rest => rest.first().cloned().unwrap_or_default(),
        };
        sets = sets.chunks(2).map(pair).collect();
    }
    sets.pop().unwrap_or_default()
}

/// Entries that are found and removed by their managers without a search.
struct Indexed {
    entries: Vec<Option<Entry>>,
    places: HashMap<Manager, usize>,
}

impl Indexed {
    fn of(entries: Vec<Entry>) -> Self {
        let places = entries.iter().enumerate().map(|(place, entry)| (entry.manager.clone(), place)).collect();
        Indexed { entries: entries.into_iter().map(Some).collect(), places }
    }

    fn get_mut(&mut self, manager: &Manager) -> Option<&mut Entry> {
        self.entries.get_mut(*self.places.get(manager)?)?.as_mut()
    }

    fn remove(&mut self, manager: &Manager) -> Option<Entry> {
        self.entries.get_mut(self.places.remove(manager)?)?.take()
    }

    /// Adds the entry of a manager that has none.
    fn push(&mut self, entry: Entry) {
        self.places.insert(entry.manager.clone(), self.entries.len());
        self.entries.push(Some(entry));
    }

    fn into_entries(self) -> Vec<Entry> {
        self.entries.into_iter().flatten().collect()
    }
}
