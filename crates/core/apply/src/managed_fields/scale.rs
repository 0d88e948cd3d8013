//! Managed fields of the scale subresource: the owners of an object's replicas as fields of `Scale`, and back.
//! Must never know more of either kind than the path of the replicas.

use super::entry::{Entry, InvalidEntry, Managed, Manager};
use crate::PathElement;
use crate::field_set::FieldSet;
use pintle_schema::Str;

/// The version of `Scale`.
pub const SCALE_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in each version of the object.
pub struct Mapping<'a> {
    pub versions: &'a [&'a str],
    pub replicas: &'a [&'a str],
    /// The version of the request's path, in which fields of the result are owned.
    pub api_version: &'a str,
}

impl Mapping<'_> {
    fn knows(&self, version: &str) -> bool {
        self.versions.contains(&version)
    }

    fn path(&self) -> Vec<PathElement> {
        self.replicas.iter().map(|field| PathElement::field(*field)).collect()
    }

    /// The managers of the scale: those of the object's replicas.
    ///
    /// # Errors
    /// A set is malformed.
    pub fn to_scale(&self, parent: &Managed) -> Result<Managed, InvalidEntry> {
        let path = self.path();
        let mut scale = Managed::default();
        for mut entry in parent.entries().iter().filter(|entry| self.knows(&entry.api_version)).cloned() {
            if !entry.fields()?.contains(&path) {
                continue;
            }
            entry.set_fields(set_of(&scale_path()));
            entry.api_version = Str::new_static(SCALE_VERSION);
            // An updater of another version is another manager.
            let Manager { name, operation, subresource, .. } = &entry.manager;
            entry.manager = Manager::new(name, *operation, SCALE_VERSION, subresource);
            scale.put(entry);
        }
        Ok(scale)
    }

    /// The managers of the object after a write of its scale.
    ///
    /// # Errors
    /// A set is malformed.
    pub fn to_parent(&self, parent: Managed, mut scale: Managed) -> Result<Managed, InvalidEntry> {
        let path = self.path();
        let mut merged = Managed::default();
        for mut entry in parent.entries().iter().filter(|entry| self.knows(&entry.api_version)).cloned() {
            if entry.fields()?.contains(&path) {
                // An updater of the object is not one of its scale, even with the same name.
                if scale.remove(&entry.manager).is_none() {
                    let left = entry.fields()?.difference(&set_of(&path));
                    if left.is_empty() {
                        continue;
                    }
                    entry.set_fields(left);
                }
            }
            merged.put(entry);
        }
        for mut entry in std::mem::take(scale.entries_mut()) {
            if !entry.fields()?.contains(&scale_path()) {
                continue;
            }
            let mut owned = Entry::new(entry.manager, self.api_version, set_of(&path));
            owned.time = entry.time;
            merged.put(owned);
        }
        Ok(merged)
    }

    /// Removes the times of who owns the replicas by the scale, which admission is shown. kube-apiserver looks for that of the
    /// object's entry when it stores one, and there is none.
    pub fn forget_times(managed: &mut Managed) {
        let entries = managed.entries_mut().iter_mut();
        entries.filter(|entry| entry.manager.subresource == "scale").for_each(|entry| entry.time = None);
    }
}

fn scale_path() -> [PathElement; 2] {
    [PathElement::field("spec"), PathElement::field("replicas")]
}

fn set_of(path: &[PathElement]) -> FieldSet {
    let mut set = FieldSet::new();
    set.insert(path);
    set
}
