//! `Comparison`: an object and the one that it replaces, with the differences.
//! Guarantees that each field is compared once, however many callers ask: while it lives, neither object can change.
//! Must never validate.

use crate::check::{NULL, at};
use crate::metadata::Changes;
use crate::same::same;
use pintle_schema::{Map, Str, Struct, Value, canonicalize_changed};
use std::cell::Cell;

/// The most fields that objects of built-in kinds have; later fields are compared each time.
const FIELDS: usize = 8;

/// How a field compares with the old one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldComparison {
    Equal,
    /// Not equal, but unchanged for an update: see [`same`].
    Same,
    Other,
}

/// Two canonical objects, a new one and the stored one that it replaces.
#[derive(Clone)]
pub struct Comparison<'a> {
    new: &'a Value,
    old: &'a Value,
    /// Of the new object's fields, by index.
    fields: [Cell<Option<FieldComparison>>; FIELDS],
    /// The fields of the metadata that differ, as in `Changes`.
    metadata: Cell<Option<u16>>,
}

impl<'a> Comparison<'a> {
    pub fn of(new: &'a Value, old: &'a Value) -> Self {
        Comparison { new, old, fields: Default::default(), metadata: Cell::new(None) }
    }

    /// Canonicalizes the new object. Unchanged parts are only compared.
    pub fn canonical(schema: &Struct, new: &'a mut Value, old: &'a Value) -> Self {
        let unchanged = canonicalize_changed(schema, new, old);
        let fields = std::array::from_fn(|place| Cell::new(unchanged.has(place).then_some(FieldComparison::Equal)));
        Comparison { fields, ..Comparison::of(new, old) }
    }

    pub fn new_object(&self) -> &'a Value {
        self.new
    }

    pub fn old_object(&self) -> &'a Value {
        self.old
    }

    /// Whether the values at a path of field names are not equal.
    pub fn differs(&self, path: &[&str]) -> bool {
        let entries = self.entries();
        let place = path.first().and_then(|first| entries.iter().position(|(key, _)| key == first));
        match place {
            Some(place) if self.likeness(place) == FieldComparison::Equal => false,
            Some(_) if path.len() == 1 => true,
            _ => self.new.at(path) != self.old.at(path),
        }
    }

    /// Whether the objects are equal except for some fields of their metadata.
    pub fn is_equal_without(&self, metadata_fields: &[&str]) -> bool {
        let old = self.old.as_map().map_or(&[][..], Map::entries);
        let entries = self.entries();
        let is_equal = |place: usize| match entries.get(place) {
            Some((key, Value::Map(new))) if key == "metadata" => match at(self.old, key) {
                Value::Map(old) => {
                    let others = |map: &'a Map| map.iter().filter(|(key, _)| !metadata_fields.contains(&key.as_str()));
                    others(new).eq(others(old))
                }
                _ => false,
            },
            _ => self.likeness(place) == FieldComparison::Equal,
        };
        // The metadata differ most often, and are compared before larger parts.
        entries.len() == old.len() && (0..entries.len()).all(is_equal)
    }

    /// Whether the update changes nothing.
    pub(crate) fn is_same(&self) -> bool {
        let entries = self.entries();
        let gone = |(key, value): &(Str, Value)| self.new.get(key).is_none() && !same(value, &NULL);
        self.metadata().is_empty()
            && (0..entries.len()).all(|place| self.likeness(place) != FieldComparison::Other)
            && !self.old.as_map().is_some_and(|old| old.entries().iter().any(gone))
    }

    /// Whether a field of the new object is the same as one of the old, if these are fields of the objects with the
    /// same name.
    pub(crate) fn same_field(&self, new: &Value, old: &Value) -> Option<bool> {
        let entries = self.entries();
        let offset = std::ptr::from_ref(new).addr().checked_sub(entries.as_ptr().addr())?;
        let place = offset / size_of::<(Str, Value)>();
        let (key, _) = entries.get(place)?;
        std::ptr::eq(at(self.old, key), old).then(|| self.likeness(place) != FieldComparison::Other)
    }

    pub(crate) fn metadata(&self) -> Changes<'a> {
        let [new, old] = [self.new, self.old].map(|object| at(object, "metadata"));
        let fields = self.metadata.get().unwrap_or_else(|| Changes::of(new, old).fields);
        self.metadata.set(Some(fields));
        Changes { new, old, fields }
    }

    fn entries(&self) -> &'a [(Str, Value)] {
        self.new.as_map().map_or(&[], Map::entries)
    }

    fn likeness(&self, place: usize) -> FieldComparison {
        let known = self.fields.get(place);
        if let Some(known) = known.and_then(Cell::get) {
            return known;
        }
        let Some((key, new)) = self.entries().get(place) else { return FieldComparison::Other };
        let old = at(self.old, key);
        let likeness = match new == old {
            true => FieldComparison::Equal,
            false if same(new, old) => FieldComparison::Same,
            false => FieldComparison::Other,
        };
        if let Some(known) = known {
            known.set(Some(likeness));
        }
        likeness
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison;
    use pintle_schema::{Value, value};

    fn object(name: &str, version: &str, spec: Value) -> Value {
        value!({"kind": "K", "metadata": {"name": name, "resourceVersion": version}, "spec": spec})
    }

    #[test]
    fn equal_same_and_other() {
        let spec = || value!({"a": 1});
        let old = object("x", "1", spec());
        let rows = [
            (object("x", "1", spec()), true, true, false),
            (object("x", "2", spec()), true, true, false),
            (object("y", "1", spec()), false, false, false),
            // Unchanged for an update, but still a difference to be written.
            (object("x", "1", value!({"a": 1, "b": []})), false, true, true),
            (object("x", "1", value!({"a": 2})), false, false, true),
            (value!({"kind": "K", "metadata": {"name": "x"}}), false, false, true),
        ];
        for (new, equal, same, differs) in rows {
            let compared = Comparison::of(&new, &old);
            // The second call returns the remembered result.
            for _ in 0..2 {
                assert_eq!(compared.is_equal_without(&["resourceVersion"]), equal, "{new:?}");
                assert_eq!(compared.differs(&["spec"]), differs, "{new:?}");
                assert_eq!(compared.differs(&["spec", "a"]), new.at(&["spec", "a"]) != Some(&Value::Int(1)), "{new:?}");
                assert!(!compared.differs(&["status"]));
            }
            let [new_spec, old_spec] = [&new, &old].map(|object| object.get("spec"));
            if let (Some(new_spec), Some(old_spec)) = (new_spec, old_spec) {
                assert_eq!(compared.same_field(new_spec, old_spec), Some(crate::same(new_spec, old_spec)));
                assert_eq!(compared.same_field(new_spec, new_spec), None, "not the old object's");
                assert_eq!(compared.same_field(old_spec, old_spec), None, "not the new object's");
            }
            let is_version_alone = new.str_at(&["metadata", "resourceVersion"]) == "2";
            assert_eq!(compared.is_same(), same && !is_version_alone, "{new:?}");
        }
    }
}
