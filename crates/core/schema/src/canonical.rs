//! `canonicalize`: converts a value to its canonical form.
//! Guarantees that a struct then has exactly the fields of Go's JSON, in schema order, and that map keys are sorted,
//! so that encoding is a plain walk and equal objects are equal trees. A struct that keeps unknown fields has the order of a map.
//! Must never validate: values of the wrong type are left unchanged.

use crate::schema::{Field, Form, Presence, Struct, Type};
use crate::value::{Map, Str, Value};

/// Converts an object of a struct schema to canonical form.
pub fn canonicalize(schema: &Struct, value: &mut Value) {
    match schema.form {
        Form::Plain => struct_beside(schema, value, None),
        Form::Wrapper => {
            if let Some(field) = schema.fields.first() {
                canonicalize_type(&field.ty, value);
            }
        }
        Form::PropsOrBool | Form::PropsOrArray | Form::PropsOrStringArray => match value {
            Value::Map(_) => props(schema, value),
            Value::List(items) => {
                items.iter_mut().filter(|item| item.as_map().is_some()).for_each(|item| props(schema, item))
            }
            _ => {}
        },
    }
}

/// The fields of an object, by their positions in its canonical form, that are equal to those of another object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchanged(u64);

impl Unchanged {
    /// Whether the field at a position is known to be equal.
    pub fn has(self, place: usize) -> bool {
        place < 64 && self.0 >> place & 1 == 1
    }

    fn add(&mut self, place: usize) {
        self.0 |= 1u64.checked_shl(place.try_into().unwrap_or(u32::MAX)).unwrap_or(0);
    }
}

/// [`canonicalize`] for an object that replaces a canonical one: equal parts are skipped, and reported unless they
/// are scalars.
pub fn canonicalize_changed(schema: &Struct, value: &mut Value, old: &Value) -> Unchanged {
    let mut unchanged = Unchanged::default();
    match (schema.form, old) {
        (Form::Plain, Value::Map(old)) => struct_beside(schema, value, Some((old, &mut unchanged))),
        _ => canonicalize(schema, value),
    }
    unchanged
}

/// The canonical zero value of a type, as Go prints an unset field of it.
pub fn zero(ty: &Type) -> Value {
    match ty {
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::IntOrString => Value::Int(0),
        Type::Float64 => Value::Float(0.0),
        Type::String | Type::Enum(_) => Value::String(Str::new_static("")),
        Type::Quantity => Value::String(Str::new_static("0")),
        Type::Duration => Value::String(Str::new_static("0s")),
        Type::Struct(schema) if schema.form == Form::Plain => {
            let mut value = Value::Map(Map::new());
            canonicalize(schema, &mut value);
            value
        }
        _ => Value::Null,
    }
}

fn props(schema: &Struct, value: &mut Value) {
    let inner = schema.fields.iter().find_map(|field| field.ty.as_struct());
    if let Some(inner) = inner {
        canonicalize(inner, value);
    }
}

/// The struct that is replaced, and the equal fields found.
type Beside<'a> = Option<(&'a Map, &'a mut Unchanged)>;

fn struct_beside(schema: &Struct, value: &mut Value, mut beside: Beside<'_>) {
    if !matches!(value, Value::Map(_) | Value::Null) {
        return;
    }
    let entries = value.make_map().entries_mut();
    let ordered = pass_ordered(schema, entries, 0) == entries.len();
    let settled = settle_fields(schema, entries, 0, ordered, &mut beside);
    if !schema.preserve_unknown {
        entries.truncate(settled);
        return;
    }
    entries.iter_mut().skip(settled).for_each(|(_, value)| value.sort_keys());
    if !entries.is_sorted_by(|(a, _), (b, _)| a <= b) {
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        // The fields have other positions now.
        if let Some((_, unchanged)) = beside {
            *unchanged = Unchanged::default();
        }
    }
}

/// The number of entries, from `next` on, that are fields in schema order: in almost every object, all of them.
fn pass_ordered(schema: &Struct, entries: &[(Str, Value)], mut next: usize) -> usize {
    for field in schema.fields.iter() {
        match entries.get(next) {
            None => break,
            Some(_) if field.inline => {
                next = field.ty.as_struct().map_or(next, |inlined| pass_ordered(inlined, entries, next));
            }
            Some((key, _)) => next += usize::from(field.name.is(key)),
        }
    }
    next
}

/// Moves the fields of a struct to the positions from `next` on, in schema order, and returns their end. Entries in
/// the right position are not moved, because this runs more than once per write.
fn settle_fields(
    schema: &Struct,
    entries: &mut Vec<(Str, Value)>,
    mut next: usize,
    ordered: bool,
    beside: &mut Beside<'_>,
) -> usize {
    for field in schema.fields.iter() {
        if field.inline {
            next = field.ty.as_struct().map_or(next, |inlined| settle_fields(inlined, entries, next, ordered, beside));
            continue;
        }
        let mut is_here = entries.get(next).is_some_and(|(key, _)| field.name.is(key));
        if !is_here && !ordered {
            let rest = entries.get_mut(next..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|(key, _)| field.name.is(key)) {
                rest[..=at].rotate_right(1);
                is_here = true;
            }
        }
        match entries.get_mut(next) {
            Some((key, value)) if is_here => {
                if is_unchanged(field, value, next, beside) || settle(field, value) {
                    if key.is_heap_allocated() {
                        *key = field.name.to_key();
                    }
                    next += 1;
                } else {
                    entries.remove(next);
                }
            }
            _ => {
                let mut value = Value::Null;
                if settle(field, &mut value) {
                    entries.insert(next, (field.name.to_key(), value));
                    next += 1;
                }
            }
        }
    }
    next
}

fn is_unchanged(field: &Field, value: &Value, place: usize, beside: &mut Beside<'_>) -> bool {
    let Some((old, unchanged)) = beside.as_mut().filter(|_| is_composite(&field.ty)) else { return false };
    let is_unchanged = old.get(&field.name) == Some(value);
    if is_unchanged {
        unchanged.add(place);
    }
    is_unchanged
}

/// Converts a field's value to canonical form; `false` if JSON omits it. `Null` means absent.
fn settle(field: &Field, value: &mut Value) -> bool {
    if matches!(field.ty, Type::Time | Type::MicroTime) && !field.points_to_time() && *value == Value::NO_TIME {
        *value = Value::Null;
    }
    // Written as null, which is absence when it is read again.
    let is_neither = |value: &Value| value.as_list().is_some_and(<[Value]>::is_empty);
    if is_neither(value) && field.ty.as_struct().is_some_and(|schema| schema.form == Form::PropsOrArray) {
        *value = Value::Null;
    }
    match field.presence {
        Presence::Pointer | Presence::OmitZero if value.is_null() => return false,
        Presence::Pointer => {}
        Presence::PointerAlways => {
            if value.is_null() {
                return true;
            }
        }
        Presence::OmitEmpty => match &field.ty {
            Type::Struct(schema) if schema.form == Form::Plain => {}
            Type::Quantity | Type::IntOrString | Type::Duration => {
                if value.is_null() {
                    *value = zero(&field.ty);
                }
                return true;
            }
            Type::Time | Type::MicroTime | Type::RawExtension | Type::Json => return true,
            _ if value.is_zero() => return false,
            _ => {}
        },
        Presence::Always => {
            // Protobuf does not distinguish an empty list from an absent one, so that a stored one is read as null.
            let is_empty = matches!(field.ty, Type::List(_) | Type::Map(_)) && field.proto != 0 && value.is_zero();
            if value.is_null() || is_empty {
                *value = zero(&field.ty);
                return true;
            }
        }
        Presence::OmitZero => {
            canonicalize_type(&field.ty, value);
            return !value.is_zero() && *value != zero(&field.ty);
        }
    }
    canonicalize_type(&field.ty, value);
    true
}

fn canonicalize_type(ty: &Type, value: &mut Value) {
    match (ty, value) {
        (Type::Struct(schema), value) => canonicalize(schema, value),
        (Type::List(list), Value::List(items)) if is_composite(&list.elem) => {
            items.iter_mut().for_each(|item| canonicalize_type(&list.elem, item));
        }
        (Type::Map(map), Value::Map(entries)) => {
            if !entries.entries().is_sorted_by(|(a, _), (b, _)| a <= b) {
                entries.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            match map.elem {
                Type::Bytes => entries.iter_mut().filter(|(_, item)| item.is_null()).for_each(|(_, item)| {
                    // Empty bytes are the same as absent ones.
                    *item = Value::String(Str::new_static(""));
                }),
                _ if is_composite(&map.elem) => {
                    entries.iter_mut().for_each(|(_, item)| canonicalize_type(&map.elem, item));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// The empty lists and maps within a value, and the paths to them.
pub fn empties(value: &Value) -> Option<Value> {
    match value {
        Value::List(items) => {
            let mut found = Vec::new();
            for (at, item) in items.iter().enumerate() {
                if let Some(item) = empties(item) {
                    found.resize(at, Value::Null);
                    found.push(item);
                }
            }
            (items.is_empty() || !found.is_empty()).then_some(Value::List(found))
        }
        Value::Map(map) => {
            let found: Vec<_> = map.iter().filter_map(|(key, item)| Some((key.clone(), empties(item)?))).collect();
            (map.is_empty() || !found.is_empty()).then(|| Value::Map(Map::from_entries(found)))
        }
        _ => None,
    }
}

/// Restores the [empty](empties) lists and maps of an object, which the canonical form omits, so that errors show the
/// object as it was sent. Structs that `shows` rejects are left in canonical form.
pub fn with_empties(schema: &Struct, value: &mut Value, sent: &Value, shows: &dyn Fn(&Struct) -> bool) {
    let (Value::Map(map), Value::Map(sent), Form::Plain) = (value, sent, schema.form) else { return };
    if !shows(schema) {
        return;
    }
    let mut entries = Vec::with_capacity(map.len() + 1);
    schema.each_field(&mut |field| match (map.remove(&field.name), sent.get(&field.name)) {
        (Some(mut value), sent) => {
            if let Some(sent) = sent {
                fill_empties(&field.ty, &mut value, sent, shows);
            }
            entries.push((field.name.to_key(), value));
        }
        (None, Some(sent @ (Value::List(_) | Value::Map(_)))) if sent.is_zero() && is_listed(&field.ty) => {
            entries.push((field.name.to_key(), sent.clone()));
        }
        _ => {}
    });
    entries.append(map.entries_mut());
    *map = Map::from_entries(entries);
}

/// The canonical form of an object, with its [empty](empties) lists and maps where that form has null, because field
/// ownership depends on them. `None` if there are none.
pub fn with_shown_empties(schema: &Struct, value: &Value, sent: &Value) -> Option<Value> {
    if !struct_lacks_empties(schema, value, sent) {
        return None;
    }
    let mut shown = value.clone();
    show_in_struct(schema, &mut shown, sent);
    Some(shown)
}

fn struct_lacks_empties(schema: &Struct, value: &Value, sent: &Value) -> bool {
    let (Value::Map(map), Value::Map(sent), Form::Plain) = (value, sent, schema.form) else { return false };
    sent.iter().any(|(key, sent)| match (schema.field(key), map.get(key)) {
        (Some(field), Some(value)) => lacks_empties(&field.ty, value, sent),
        _ => false,
    })
}

fn lacks_empties(ty: &Type, value: &Value, sent: &Value) -> bool {
    match (ty, value, sent) {
        (Type::Struct(schema), value, sent) => struct_lacks_empties(schema, value, sent),
        (Type::List(list), Value::List(items), Value::List(sent)) => {
            items.iter().zip(sent).any(|(item, sent)| lacks_empties(&list.elem, item, sent))
        }
        (Type::Map(map), Value::Map(entries), Value::Map(sent)) => {
            let lacks =
                |(key, sent): (&Str, &Value)| entries.get(key).is_some_and(|item| lacks_empties(&map.elem, item, sent));
            sent.iter().any(lacks)
        }
        (Type::List(_), Value::Null, Value::List(sent)) => sent.is_empty(),
        (Type::Map(_), Value::Null, Value::Map(sent)) => sent.is_empty(),
        _ => false,
    }
}

fn show_in_struct(schema: &Struct, value: &mut Value, sent: &Value) {
    let (Value::Map(map), Value::Map(sent), Form::Plain) = (value, sent, schema.form) else { return };
    for (key, sent) in sent.iter() {
        if let (Some(field), Some(value)) = (schema.field(key), map.get_mut(key)) {
            show_empties(&field.ty, value, sent);
        }
    }
}

fn show_empties(ty: &Type, value: &mut Value, sent: &Value) {
    match (ty, value, sent) {
        (Type::Struct(schema), value, sent) => show_in_struct(schema, value, sent),
        (Type::List(list), Value::List(items), Value::List(sent)) => {
            items.iter_mut().zip(sent).for_each(|(item, sent)| show_empties(&list.elem, item, sent));
        }
        (Type::Map(map), Value::Map(entries), Value::Map(sent)) => {
            for (key, sent) in sent.iter() {
                if let Some(item) = entries.get_mut(key) {
                    show_empties(&map.elem, item, sent);
                }
            }
        }
        (Type::List(_), value @ Value::Null, Value::List(sent)) if sent.is_empty() => *value = Value::List(Vec::new()),
        (Type::Map(_), value @ Value::Null, Value::Map(sent)) if sent.is_empty() => *value = Value::map(),
        _ => {}
    }
}

fn fill_empties(ty: &Type, value: &mut Value, sent: &Value, shows: &dyn Fn(&Struct) -> bool) {
    match (ty, value, sent) {
        (Type::Struct(schema), value, sent) => with_empties(schema, value, sent, shows),
        (Type::List(list), Value::List(items), Value::List(sent)) => {
            items.iter_mut().zip(sent).for_each(|(item, sent)| fill_empties(&list.elem, item, sent, shows));
        }
        (Type::Map(map), Value::Map(entries), Value::Map(sent)) => entries.iter_mut().for_each(|(key, item)| {
            if let Some(sent) = sent.get(key) {
                fill_empties(&map.elem, item, sent, shows);
            }
        }),
        (Type::List(_) | Type::Map(_), value @ Value::Null, sent) if sent.is_zero() => *value = sent.clone(),
        _ => {}
    }
}

fn is_listed(ty: &Type) -> bool {
    matches!(ty, Type::List(_) | Type::Map(_))
}

fn is_composite(ty: &Type) -> bool {
    matches!(ty, Type::Struct(_) | Type::List(_) | Type::Map(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{List, ListKind, Ref, Slice, Text};
    use crate::value;
    use std::sync::Arc;

    fn field(name: &str, ty: Type, presence: Presence) -> Field {
        Field {
            name: Text::Shared(name.into()),
            proto: 1,
            ty,
            presence,
            inline: name.is_empty(),
            optional: false,
            required: false,
            nullable: false,
            default: None,
            doc: Text::Static(""),
            patch_strategy: "",
            patch_merge_key: "",
            atomic: None,
            gates: &[],
            rules: Slice::Static(&[]),
        }
    }

    fn schema(fields: Vec<Field>, preserve_unknown: bool) -> Struct {
        let mut by_name: Vec<u16> = (0..).zip(&fields).filter(|(_, field)| !field.inline).map(|(at, _)| at).collect();
        by_name.sort_by_key(|&at| fields[usize::from(at)].name.as_str().to_owned());
        Struct {
            name: Text::Static("Test"),
            module: Text::Static(""),
            doc: Text::Static(""),
            fields: Slice::Shared(fields.into()),
            by_name: Slice::Shared(by_name.into()),
            atomic: false,
            form: Form::Plain,
            rules: Slice::Static(&[]),
            union: None,
            preserve_unknown,
            compiled: Default::default(),
        }
    }

    /// a, inlined b and c, d with e in it, then f.
    fn test_schema(preserve_unknown: bool) -> Struct {
        let shared = |fields| Type::Struct(Ref::Shared(Arc::new(schema(fields, false))));
        let inlined =
            shared(vec![field("b", Type::String, Presence::Always), field("c", Type::Int32, Presence::Pointer)]);
        let inner = shared(vec![field("e", Type::Bool, Presence::OmitEmpty)]);
        let fields = vec![
            field("a", Type::String, Presence::OmitEmpty),
            field("", inlined, Presence::Always),
            field("d", inner, Presence::OmitEmpty),
            field("f", Type::Quantity, Presence::OmitEmpty),
        ];
        schema(fields, preserve_unknown)
    }

    #[test]
    fn fields_come_into_order_and_what_shows_nothing_goes() {
        let rows = [
            (value!({}), value!({"b": "", "d": {}, "f": "0"})),
            (value!({"a": "", "b": "", "c": null, "d": null, "f": null}), value!({"b": "", "d": {}, "f": "0"})),
            (
                value!({"f": "1", "d": {"x": 1, "e": true}, "c": 0, "b": "b", "a": "a"}),
                value!({"a": "a", "b": "b", "c": 0, "d": {"e": true}, "f": "1"}),
            ),
            (value!({"x": 1, "c": 2, "y": 3, "a": "a"}), value!({"a": "a", "b": "", "c": 2, "d": {}, "f": "0"})),
            (value!({"d": 5}), value!({"b": "", "d": 5, "f": "0"})),
        ];
        for (mut value, expected) in rows {
            canonicalize(&test_schema(false), &mut value);
            assert_eq!(value, expected);
            canonicalize(&test_schema(false), &mut value);
            assert_eq!(value, expected, "twice");
        }
    }

    #[test]
    fn empties_that_were_sent_come_back_in_their_places() {
        let list =
            || Type::List(Ref::Shared(Arc::new(List { elem: Type::String, kind: ListKind::Atomic, declared: false })));
        let inner = Type::Struct(Ref::Shared(Arc::new(schema(vec![field("l", list(), Presence::OmitEmpty)], false))));
        let items = Type::List(Ref::Shared(Arc::new(List { elem: inner, kind: ListKind::Atomic, declared: false })));
        let schema = schema(
            vec![
                field("a", list(), Presence::OmitEmpty),
                field("b", items, Presence::OmitEmpty),
                field("c", Type::String, Presence::OmitEmpty),
                field("d", list(), Presence::Always),
            ],
            false,
        );
        let sent = value!({"d": [], "c": "", "b": [{"l": []}, {"l": ["x"]}], "a": []});
        let mut value = sent.clone();
        canonicalize(&schema, &mut value);
        assert_eq!(value, value!({"b": [{}, {"l": ["x"]}], "d": null}));
        let sent = empties(&sent).unwrap_or_default();
        assert_eq!(sent, value!({"d": [], "b": [{"l": []}], "a": []}));
        let canonical = value.clone();
        with_empties(&schema, &mut value, &sent, &|_| false);
        assert_eq!(value, canonical);
        with_empties(&schema, &mut value, &sent, &|_| true);
        assert_eq!(value, value!({"a": [], "b": [{"l": []}, {"l": ["x"]}], "d": []}));
        assert_eq!(empties(&canonical), Some(value!({"b": [{}]})));
        // Fields that the canonical form omits cannot be owned.
        let shown = value!({"b": [{}, {"l": ["x"]}], "d": []});
        assert_eq!(with_shown_empties(&schema, &canonical, &sent), Some(shown));
        assert_eq!(with_shown_empties(&schema, &canonical, &value!({"b": [{"l": []}], "a": []})), None);
    }

    #[test]
    fn beside_what_it_replaces_only_what_changed_is_brought_into_form() {
        for preserve_unknown in [false, true] {
            let schema = test_schema(preserve_unknown);
            let old = value!({"a": "a", "b": "b", "c": 1, "d": {"e": true}, "f": "1"});
            // The position of `d`, if it is unchanged.
            let rows = [
                (old.clone(), Some(3)),
                (value!({"d": {"e": true}, "b": "x", "x": 1}), Some(1)),
                (value!({"d": {"x": 1, "e": true}, "a": "a"}), None),
                (value!({"d": null, "c": 1, "b": "b", "a": "a"}), None),
            ];
            for (mut value, place) in rows {
                let mut expected = value.clone();
                canonicalize(&schema, &mut expected);
                let unchanged = canonicalize_changed(&schema, &mut value, &old);
                assert_eq!(value, expected);
                // Scalars are not reported.
                assert_eq!((0..70).filter(|at| unchanged.has(*at)).collect::<Vec<_>>(), Vec::from_iter(place));
                if let Some(at) = place {
                    assert_eq!(
                        value.as_map().and_then(|map| map.iter().nth(at)).map(|(key, _)| key.as_str()),
                        Some("d")
                    );
                }
            }
        }
    }

    #[test]
    fn beside_unknown_fields_all_are_in_the_order_of_their_names() {
        let mut value = value!({"y": {"b": [{"d": 1, "c": 2}], "a": 3}, "f": "1", "cc": 2, "": 3, "a": "a"});
        let expected =
            value!({"": 3, "a": "a", "b": "", "cc": 2, "d": {}, "f": "1", "y": {"a": 3, "b": [{"c": 2, "d": 1}]}});
        canonicalize(&test_schema(true), &mut value);
        assert_eq!(value, expected);
        let mut again = value!({"d": {}, "cc": 2});
        assert_eq!(canonicalize_changed(&test_schema(true), &mut again, &expected), Unchanged::default());
        assert_eq!(again, value!({"b": "", "cc": 2, "d": {}, "f": "0"}));
    }
}
