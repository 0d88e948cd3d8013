//! `Entry` and `Managed`: the managers of an object and their fields, decoded from and encoded to
//! `metadata.managedFields`.
//! Guarantees that sets are parsed only on use; an entry that no write touches is returned unchanged. Must never
//! decide about ownership.

use super::versions::Versions;
use crate::field_set::FieldSet;
use crate::fields_v1::{is_v1_of, v1_covers, v1_meets};
use crate::typed;
use pintle_schema::{Map, Str, Struct, Value, time::Time};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Beyond this many entries, a map of the managers is cheaper than comparing each with each: there may be twenty thousand.
const FEW: usize = 16;

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// A manager of fields. An applier is the same in all versions, an updater differs by version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Manager {
    pub name: Str,
    pub operation: Operation,
    /// "" for appliers.
    pub api_version: Str,
    pub subresource: Str,
}

impl Manager {
    /// The manager that writes in a version.
    pub fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Manager {
            name: Str::new(name),
            operation,
            api_version: Str::new(if operation == Operation::Apply { "" } else { api_version }),
            subresource: Str::new(subresource),
        }
    }

    /// The order in which managers of the same age are merged, and conflicts reported: that of their JSON.
    pub fn order(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }

    fn key(&self) -> String {
        let mut key = String::from("{");
        let parts = [
            ("manager", self.name.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", self.api_version.as_str()),
            ("subresource", self.subresource.as_str()),
        ];
        for (name, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
            if key.len() > 1 {
                key.push(',');
            }
            key.push_str(&format!("\"{name}\":{text:?}"));
        }
        key.push('}');
        key
    }
}

/// Owned fields, parsed or as stored.
#[derive(Clone, Debug)]
pub(super) enum Fields {
    Encoded(Value),
    /// Parsed, and also as stored.
    Read(Value, FieldSet),
    Set(FieldSet),
}

/// The fields of one manager, in the version that it wrote.
#[derive(Clone, Debug)]
pub struct Entry {
    pub manager: Manager,
    pub api_version: Str,
    /// RFC 3339, if known.
    pub time: Option<Str>,
    pub(super) fields: Fields,
}

/// An entry that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an entry of metadata.managedFields is malformed")]
pub struct InvalidEntry;

impl Entry {
    pub fn new(manager: Manager, api_version: &str, fields: FieldSet) -> Self {
        Entry { manager, api_version: Str::new(api_version), time: None, fields: Fields::Set(fields) }
    }

    fn decode(entry: &Value) -> Result<Self, InvalidEntry> {
        // Sets are usually raw, so that reusing one copies nothing.
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or("");
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(InvalidEntry),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
            return Err(InvalidEntry);
        }
        let time = entry.get("time").and_then(Value::as_str).map(Str::new);
        Ok(Entry {
            manager: Manager::new(text("manager"), operation, api_version, text("subresource")),
            api_version: Str::new(api_version),
            time,
            fields: Fields::Encoded(entry.get("fieldsV1").cloned().unwrap_or_default()),
        })
    }

    /// The fields, parsed on first use.
    ///
    /// # Errors
    /// They are not a `FieldsV1`.
    pub fn fields(&mut self) -> Result<&FieldSet, InvalidEntry> {
        if let Fields::Encoded(encoded) = &mut self.fields {
            let set = match &*encoded {
                Value::Null => FieldSet::new(),
                encoded => FieldSet::from_v1(encoded).map_err(|_| InvalidEntry)?,
            };
            self.fields = Fields::Read(std::mem::take(encoded), set);
        }
        match &self.fields {
            Fields::Set(set) | Fields::Read(_, set) => Ok(set),
            Fields::Encoded(_) => Err(InvalidEntry),
        }
    }

    pub fn set_fields(&mut self, fields: FieldSet) {
        self.fields = Fields::Set(fields);
    }

    /// The fields for modification: their stored form is dropped.
    pub(super) fn fields_mut(&mut self) -> Result<&mut FieldSet, InvalidEntry> {
        self.fields()?;
        if let Fields::Read(_, set) = &mut self.fields {
            self.fields = Fields::Set(std::mem::take(set));
        }
        match &mut self.fields {
            Fields::Set(set) => Ok(set),
            _ => Err(InvalidEntry),
        }
    }

    /// Whether some of these may be owned, without parsing. Sets are stored in the form that is written here.
    pub(super) fn may_own(&self, fields: &FieldSet) -> bool {
        match &self.fields {
            Fields::Encoded(encoded) => v1_meets(encoded, fields),
            _ => true,
        }
    }

    /// Adds fields. The stored set is parsed only if some of them are new.
    pub(super) fn add(&mut self, fields: FieldSet) -> Result<(), InvalidEntry> {
        if !matches!(&self.fields, Fields::Encoded(encoded) if v1_covers(encoded, &fields)) {
            self.fields_mut()?.absorb(fields);
        }
        Ok(())
    }

    /// Removes fields. The stored set is parsed only if it contains some of them.
    pub(super) fn subtract(&mut self, fields: &FieldSet) -> Result<(), InvalidEntry> {
        if !fields.is_empty() && self.may_own(fields) {
            self.fields_mut()?.subtract(fields);
        }
        Ok(())
    }

    /// Converts the fields to the form of the current schema.
    pub(super) fn reconcile(&mut self, schema: &Struct, versions: &dyn Versions) -> Result<(), InvalidEntry> {
        let is_current = match &self.fields {
            Fields::Encoded(encoded) => versions.is_current(schema, encoded, &|| !typed::is_outdated(schema, encoded)),
            _ => false,
        };
        if !is_current && let Some(fields) = typed::reconcile_with_schema(schema, self.fields()?) {
            self.set_fields(fields);
        }
        Ok(())
    }

    /// Whether the fields are these, without parsing them. A set stored in another order may be treated as different.
    pub(super) fn owns(&self, fields: &FieldSet) -> bool {
        match &self.fields {
            Fields::Set(set) | Fields::Read(_, set) => set == fields,
            Fields::Encoded(encoded) => is_v1_of(encoded, fields),
        }
    }

    /// Whether no field is owned.
    pub fn is_empty(&self) -> bool {
        match &self.fields {
            Fields::Set(set) | Fields::Read(_, set) => set.is_empty(),
            Fields::Encoded(encoded) => encoded.is_zero(),
        }
    }

    pub fn applied(&self) -> bool {
        self.manager.operation == Operation::Apply
    }

    /// Seconds since 1970 of the last change; 0 if unknown.
    pub(super) fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(|time| Time::parse(time).ok()).map_or(0, |time| time.seconds)
    }

    fn encode(self) -> Value {
        let mut map = Map::with_capacity(7);
        let mut put = |key, value: Value| map.push(Str::new_static(key), value);
        if !self.manager.name.is_empty() {
            put("manager", self.manager.name.into());
        }
        put("operation", self.manager.operation.as_str().into());
        put("apiVersion", self.api_version.into());
        if let Some(time) = self.time {
            put("time", time.into());
        }
        put("fieldsType", "FieldsV1".into());
        let fields = match self.fields {
            Fields::Set(set) => set.to_v1(),
            Fields::Encoded(Value::Null) | Fields::Read(Value::Null, _) => Value::map(),
            Fields::Encoded(encoded) | Fields::Read(encoded, _) => encoded,
        };
        put("fieldsV1", fields);
        if !self.manager.subresource.is_empty() {
            put("subresource", self.manager.subresource.into());
        }
        Value::Map(map)
    }
}

/// The managers of an object, each at most once.
#[derive(Clone, Debug, Default)]
pub struct Managed {
    entries: Vec<Entry>,
}

impl Managed {
    /// Decodes the entries of a stored object, whose sets are assumed to be well formed until they are used.
    ///
    /// # Errors
    /// An entry is malformed.
    pub fn decode(entries: &[Value]) -> Result<Self, InvalidEntry> {
        let mut managed = Managed::default();
        if entries.len() <= FEW {
            for entry in entries {
                managed.put(Entry::decode(entry)?);
            }
            return Ok(managed);
        }
        let mut places = HashMap::with_capacity(entries.len());
        for entry in entries {
            let entry = Entry::decode(entry)?;
            let place = *places.entry(entry.manager.clone()).or_insert(managed.entries.len());
            match managed.entries.get_mut(place) {
                Some(former) => *former = entry,
                None => managed.entries.push(entry),
            }
        }
        Ok(managed)
    }

    /// Decodes the entries of a request, including their sets.
    ///
    /// # Errors
    /// An entry is malformed.
    pub fn decode_untrusted(entries: &[Value]) -> Result<Self, InvalidEntry> {
        let mut managed = Managed::decode(entries)?;
        managed.entries.iter_mut().try_for_each(|entry| entry.fields_mut().map(drop))?;
        Ok(managed)
    }

    /// The sorted entries for `metadata.managedFields`; `None` if there are none.
    pub fn encode(mut self) -> Option<Value> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.sort_by(|a, b| {
            let rest = |entry: &Entry| (entry.manager.operation, entry.seconds());
            let names = |entry: &Entry| {
                (entry.manager.name.clone(), entry.api_version.clone(), entry.manager.subresource.clone())
            };
            rest(a).cmp(&rest(b)).then_with(|| names(a).cmp(&names(b)))
        });
        Some(Value::List(self.entries.into_iter().map(Entry::encode).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.entries
    }

    pub fn get(&self, manager: &Manager) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.manager == *manager)
    }

    pub fn get_mut(&mut self, manager: &Manager) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.manager == *manager)
    }

    /// Adds an entry, replacing the manager's previous one.
    pub fn put(&mut self, entry: Entry) {
        match self.get_mut(&entry.manager) {
            Some(former) => *former = entry,
            None => self.entries.push(entry),
        }
    }

    pub fn remove(&mut self, manager: &Manager) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.manager == *manager)?;
        Some(self.entries.remove(at))
    }
}
