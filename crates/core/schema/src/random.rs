//! `Random`: random values of a schema, for property tests.
//! Guarantees that a seed always gives the same values, and that they have the schema's shape. Whether they are valid is left to
//! chance. Must never be used where numbers have to be unpredictable.

use crate::schema::{Form, List, Struct, Type};
use crate::{Duration, Map, MicroTime, Str, Time, Value};

/// Pseudo-random numbers that are the same in every run.
pub struct Random {
    state: u64,
    /// Whether texts may have line separators, which YAML versions treat differently.
    pub separators: bool,
}

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, separators: true }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A short text of characters that encodings treat differently.
    pub fn text(&mut self) -> String {
        const CHARS: &[char] = &[
            'a', 'b', 'Z', '0', '9', '-', '.', ' ', '"', '\\', '<', '&', '\n', '\t', '\u{1}', 'é', '\u{2028}', '😀',
            '/', ':',
        ];
        let separators = self.separators;
        let chars = (0..self.below(30)).map(|_| CHARS[self.below(CHARS.len())]);
        chars.filter(|char| separators || *char != '\u{2028}').collect()
    }

    fn any(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Bool(self.one_in(2)),
            1 => Value::Int(self.number() as i64),
            2 => Value::Float(self.below(1000) as f64 + 0.25),
            3 => Value::from(self.text()),
            4 => Value::Null,
            5 => Value::List((0..self.below(4)).map(|_| self.any(depth - 1)).collect()),
            _ => {
                let map: Map = (0..self.below(4)).map(|_| (Str::from(self.text()), self.any(depth - 1))).collect();
                Value::Map(map)
            }
        }
    }

    /// An object of a schema, of which some fields are set. Below so many levels structs are absent.
    pub fn object(&mut self, schema: &Struct, depth: usize) -> Value {
        if schema.form == Form::Wrapper {
            return Value::List((0..1 + self.below(3)).map(|_| Value::from(self.text())).collect());
        }
        if schema.form != Form::Plain {
            let inner = schema.fields.iter().find_map(|field| field.ty.as_struct());
            return match inner {
                Some(inner) if depth > 0 && self.one_in(2) => self.object(inner, depth - 1),
                _ => Value::Bool(self.one_in(2)),
            };
        }
        let mut map = Map::new();
        for field in schema.fields.iter() {
            if field.inline {
                if let Some(inlined) = field.ty.as_struct()
                    && let Value::Map(fields) = self.object(inlined, depth)
                {
                    map.entries_mut().extend(fields);
                }
            } else if !self.one_in(3) {
                let value = self.value(&field.ty, depth);
                if !value.is_null() {
                    map.push(field.name.to_key(), value);
                }
            }
        }
        Value::Map(map)
    }

    fn list(&mut self, list: &List, depth: usize) -> Value {
        Value::List((0..self.below(4)).map(|_| self.value(&list.elem, depth)).collect())
    }

    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        match ty {
            Type::Bool => Value::Bool(self.one_in(2)),
            Type::Int32 => Value::Int((self.number() as i32).into()),
            Type::Int64 => Value::Int(self.number() as i64),
            Type::Float64 => Value::Float(self.number() as i32 as f64 / 64.0),
            Type::String | Type::Enum(_) => Value::from(self.text()),
            Type::Bytes => Value::from(crate::base64::encode(self.text().as_bytes())),
            Type::IntOrString if self.one_in(2) => Value::Int((self.number() as i32).into()),
            Type::IntOrString => Value::from(self.text()),
            Type::Quantity => Value::from(["1", "100m", "1Gi", "5k", "0", "1e3", "-1500m"][self.below(7)]),
            Type::Time => Value::from(Time::from_seconds((self.number() as i32).into()).to_rfc3339()),
            Type::MicroTime => {
                let nanos = self.below(1_000_000) as u32 * 1000;
                Value::from(MicroTime { seconds: (self.number() as i32).into(), nanos }.to_rfc3339())
            }
            Type::Duration => Value::from(Duration { nanos: self.number() as i64 }.to_string()),
            Type::RawExtension => {
                Value::Raw(Str::from(format!("{{\"a\":{},\"b\":[{}]}}", self.number() as i32, self.below(9))))
            }
            Type::Json => Value::Map([(Str::new_static("k"), self.any(0))].into_iter().collect()),
            // A bare null would not be a value.
            Type::Any => Value::Map([(Str::new_static("k"), self.any(3))].into_iter().collect()),
            Type::FieldsV1 => Value::Raw(Str::from(format!("{{\"f:a\":{{\"f:b{}\":{{}}}}}}", self.below(9)))),
            Type::Struct(_) if depth == 0 => Value::Null,
            Type::Struct(schema) => self.object(schema, depth - 1),
            Type::List(list) => self.list(list, depth.saturating_sub(1)),
            Type::Map(map) => {
                let entries = (0..self.below(4)).map(|_| (Str::from(self.text()), self.value(&map.elem, depth)));
                Value::Map(entries.collect())
            }
        }
    }
}
