//! Field ownership after a write: the steps that updates and applies share, and updates.
//! Guarantees that objects are compared once per version that a manager wrote, and that a set which no change touches
//! is not parsed.

use super::cap::fold_oldest;
use super::conflict::{Conflict, Conflicts};
use super::entry::{Entry, InvalidEntry, Managed, Manager, Operation};
use super::{Error, Write, unowned};
use crate::field_set::FieldSet;
use crate::typed::{self, Comparison, Duplicates, TypedErrors};
use pintle_schema::{Str, Value};

impl Write<'_> {
    /// The managers of an object after an update: the writer owns what it added or changed, and removed fields have
    /// no owner. Untracked objects remain so; a new one (`created`) is tracked. Managers of a version that the object
    /// cannot be converted to keep what they own.
    ///
    /// # Errors
    /// The objects or the managers cannot be decoded.
    pub fn update(&self, live: &Value, new: &Value, managed: Managed, created: bool) -> Result<Managed, Error> {
        if managed.is_empty() && !created {
            return Ok(managed);
        }
        self.check(new)?;
        self.track(live, new, managed, self.manager)
    }

    /// Whether an object has the types that the schema declares, and no item of a list that nothing distinguishes.
    pub(super) fn check(&self, object: &Value) -> Result<(), TypedErrors> {
        match self.versions.schema(self.api_version).filter(|_| self.versions.may_mismatch()) {
            Some(schema) => typed::validate(schema, object, Duplicates::Allowed),
            None => Ok(()),
        }
    }

    /// The same whether or not the object was tracked, for a given manager.
    pub(super) fn track(&self, live: &Value, new: &Value, managed: Managed, manager: &str) -> Result<Managed, Error> {
        let name = if manager.is_empty() { "unknown" } else { manager };
        let writer = Manager::new(name, Operation::Update, self.api_version, self.subresource);
        let mut managed = self.reconcile(live, managed)?;
        // The writer usually owns the changed fields already: they are not removed and added again.
        let former = managed.remove(&writer);
        let changes = self.settle(live, new, &mut managed, true)?;
        let Comparison { added, modified, removed } = self.versions.ignored(self.api_version).strip_changes(changes);
        let mut taken = added;
        taken.absorb(modified);
        let mut entry = match former {
            Some(mut entry) => {
                let mut left = taken.clone();
                taken.subtract(unowned());
                left.absorb(removed);
                left.subtract(&taken);
                entry.subtract(&left)?;
                entry
            }
            None => {
                taken.subtract(unowned());
                Entry::new(writer, self.api_version, FieldSet::new())
            }
        };
        if !taken.is_empty() {
            entry.add(taken)?;
            entry.api_version = Str::new(self.api_version);
            entry.time = Some(Str::new(self.now));
        }
        if !entry.is_empty() {
            managed.put(entry);
        }
        fold_oldest(&mut managed)?;
        Ok(managed)
    }

    /// Removes managers of versions that no longer exist, and converts all sets to the form of the current schema.
    ///
    /// # Errors
    /// The live object does not match the schema of a version that a manager wrote.
    pub(super) fn reconcile(&self, live: &Value, mut managed: Managed) -> Result<Managed, Error> {
        if managed.entries().iter().any(|entry| entry.api_version.matches('/').count() > 1) {
            return Err(Error::InvalidEntry);
        }
        for entry in managed.entries().iter().filter(|entry| self.versions.schema(&entry.api_version).is_none()) {
            self.versions.forget(&entry.api_version)?;
        }
        managed.entries_mut().retain(|entry| self.versions.schema(&entry.api_version).is_some());
        let may_mismatch = self.versions.may_mismatch();
        for entry in managed.entries().iter().filter(|entry| may_mismatch && entry.api_version != self.api_version) {
            match self.versions.convert(live, self.api_version, &entry.api_version) {
                // The comparison that needs it waits for it, and for other conversions together with it.
                Ok(_) | Err(Error::NotConverted | Error::Unconvertible) => {}
                Err(error) => return Err(error),
            }
        }
        for entry in managed.entries_mut() {
            if let Some(schema) = self.versions.schema(&entry.api_version) {
                entry.reconcile(schema, self.versions)?;
            }
        }
        Ok(managed)
    }

    /// Removes from all managers what a write changed or removed. Returns the changes in the writer's version.
    ///
    /// # Errors
    /// Without `force`, other managers own changed fields.
    pub(super) fn settle(
        &self,
        live: &Value,
        new: &Value,
        managed: &mut Managed,
        force: bool,
    ) -> Result<Comparison, Error> {
        let own = self.compare(live, new, self.api_version)?;
        let mut compared: Vec<(Str, Option<Comparison>)> = Vec::new();
        let mut conflicts = Conflicts::default();
        let mut lost: Vec<(usize, FieldSet)> = Vec::new();
        for (at, entry) in managed.entries_mut().iter_mut().enumerate() {
            let known = compared.iter().position(|(version, _)| *version == entry.api_version);
            let known = match known {
                Some(known) => known,
                None => {
                    let changes = match entry.api_version == self.api_version {
                        true => Some(own.clone()),
                        false => match self.compare(live, new, &entry.api_version) {
                            Err(Error::Unconvertible) => None,
                            changes => Some(changes?),
                        },
                    };
                    let ignored = self.versions.ignored(&entry.api_version);
                    compared.push((entry.api_version.clone(), changes.map(|changes| ignored.strip_changes(changes))));
                    compared.len() - 1
                }
            };
            let Some(changes) = &compared[known].1 else { continue };
            let [added, modified, removed] = [&changes.added, &changes.modified, &changes.removed];
            if entry.is_empty() || ![added, modified, removed].into_iter().any(|changed| entry.may_own(changed)) {
                continue;
            }
            let fields = entry.fields()?;
            let mut contested = fields.intersection(added);
            contested.absorb(fields.intersection(modified));
            let gone = fields.intersection(removed);
            conflicts
                .0
                .extend(contested.paths().into_iter().map(|path| Conflict { manager: entry.manager.clone(), path }));
            contested.absorb(gone);
            if !contested.is_empty() {
                lost.push((at, contested));
            }
        }
        if !force && !conflicts.0.is_empty() {
            conflicts.0.sort_by(|a, b| a.manager.order(&b.manager));
            return Err(Error::Conflicts(conflicts));
        }
        for (at, lost) in lost {
            if let Some(entry) = managed.entries_mut().get_mut(at) {
                entry.fields_mut()?.subtract(&lost);
            }
        }
        managed.entries_mut().retain(|entry| !entry.is_empty());
        Ok(own)
    }

    fn compare(&self, live: &Value, new: &Value, api_version: &str) -> Result<Comparison, Error> {
        let schema = self.versions.schema(api_version).ok_or(Error::NoSuchVersion)?;
        // Both are asked for before either is missed, so that they can be converted together.
        let [live, new] = [live, new].map(|object| self.versions.convert(object, self.api_version, api_version));
        let of = |object: &'static str| {
            move |error: Error| match error {
                Error::Object(errors) => Error::OtherVersion(object, errors),
                error => error,
            }
        };
        let live = live.map_err(of("failed to convert old object"))?;
        let new = new.map_err(of("failed to convert new object"))?;
        typed::compare(schema, &live, &new).map_err(|errors| {
            if api_version == self.api_version {
                return Error::Object(errors);
            }
            match typed::validate(schema, &live, Duplicates::Allowed) {
                Err(errors) => Error::OtherVersion("failed to convert old object", errors),
                Ok(()) => Error::OtherVersion("failed to convert new object", errors),
            }
        })
    }
}

impl From<InvalidEntry> for Error {
    fn from(_: InvalidEntry) -> Self {
        Error::InvalidEntry
    }
}
