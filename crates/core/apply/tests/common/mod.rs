//! Seeded random schemas, and objects of them, for property tests.
//! Guarantees the same values for the same seed; names and values are few, so that objects overlap.

use pintle_schema::{Field, Form, Keys, List, ListKind, MapType, Presence, Ref, Slice, Str, Struct, Text, Type, Value};
use std::sync::Arc;

pub struct Random(pub u64);

impl Random {
    /// A number below `limit` (xorshift64*).
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit.max(1)
    }

    fn field_type(&mut self, depth: usize) -> (Type, Option<bool>) {
        let composite = if depth == 0 { 0 } else { self.below(8) };
        let list = |elem, kind| Type::List(Ref::Shared(Arc::new(List { elem, kind, declared: true })));
        match composite {
            3 => (list(Type::String, ListKind::Set), None),
            4 => (list(Type::Int32, ListKind::Atomic), None),
            5 => {
                let keys = Keys::Shared(Arc::new([Arc::from("key")]));
                (list(Type::Struct(Ref::Shared(Arc::new(self.schema(depth - 1, true)))), ListKind::Map(keys)), None)
            }
            6 => {
                let (elem, _) = self.field_type(depth - 1);
                let atomic = [None, Some(true), Some(false)][self.below(3)];
                (Type::Map(Ref::Shared(Arc::new(MapType { elem }))), atomic)
            }
            7 => {
                let atomic = [None, Some(true), Some(false)][self.below(3)];
                (Type::Struct(Ref::Shared(Arc::new(self.schema(depth - 1, false)))), atomic)
            }
            _ => ([Type::String, Type::Int32, Type::Json, Type::RawExtension][self.below(4)].clone(), None),
        }
    }

    pub fn schema(&mut self, depth: usize, keyed: bool) -> Struct {
        let names = ["a", "b", "c", "d", "key"];
        let mut fields = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            let is_key = at == 4;
            if is_key && !keyed {
                continue;
            }
            let (ty, atomic) = if is_key { (Type::String, None) } else { self.field_type(depth) };
            fields.push(field(name, ty, atomic, if is_key { Presence::Always } else { Presence::Pointer }));
        }
        Struct { atomic: self.below(8) == 0 && !keyed, ..structure(fields) }
    }

    fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::String => Value::from(["x", "y", "z"][self.below(3)]),
            Type::Int32 => Value::Int(self.below(3) as i64),
            Type::Struct(schema) => self.object(schema),
            Type::Map(map) => {
                let keys = ["p", "q", "r"];
                Value::Map(
                    (0..self.below(4)).map(|_| (Str::new_static(keys[self.below(3)]), self.value(&map.elem))).collect(),
                )
            }
            Type::List(list) => {
                let mut items: Vec<Value> = Vec::new();
                for _ in 0..self.below(4) {
                    let item = self.value(&list.elem);
                    let is_new = items.iter().all(|other| match &list.kind {
                        ListKind::Map(_) => other.get("key") != item.get("key"),
                        _ => *other != item,
                    });
                    if is_new {
                        items.push(item);
                    }
                }
                Value::List(items)
            }
            _ => match self.below(3) {
                0 => Value::Int(self.below(2) as i64),
                1 => Value::List(vec![Value::Int(self.below(2) as i64)]),
                _ => Value::Map([(Str::new_static("u"), Value::Int(self.below(2) as i64))].into_iter().collect()),
            },
        }
    }

    pub fn object(&mut self, schema: &Struct) -> Value {
        let mut entries = Vec::new();
        for field in schema.fields.iter() {
            if field.presence == Presence::Always || self.below(2) == 0 {
                entries.push((field.name.to_key(), self.value(&field.ty)));
            }
        }
        Value::Map(entries.into_iter().collect())
    }
}

/// A struct of fields in the order of their names.
pub fn structure(fields: Vec<Field>) -> Struct {
    let by_name: Vec<u16> = (0..).zip(&fields).map(|(at, _)| at).collect();
    Struct {
        name: Text::Static("Random"),
        module: Text::Static(""),
        doc: Text::Static(""),
        fields: Slice::Shared(fields.into()),
        by_name: Slice::Shared(by_name.into()),
        atomic: false,
        form: Form::Plain,
        rules: Slice::Static(&[]),
        union: None,
        preserve_unknown: false,
        compiled: Default::default(),
    }
}

pub fn field(name: &'static str, ty: Type, atomic: Option<bool>, presence: Presence) -> Field {
    Field {
        name: Text::Static(name),
        proto: 0,
        ty,
        presence,
        inline: false,
        optional: true,
        required: false,
        nullable: false,
        default: None,
        doc: Text::Static(""),
        patch_strategy: "",
        patch_merge_key: "",
        atomic,
        gates: &[],
        rules: Slice::Static(&[]),
    }
}
