//! A small API with every form of field, and random values of it.
#![allow(dead_code)]

use pintle_schema::{
    ApiType, Bytes, Duration, FieldsV1, Form, IntOrString, Json, List, Map, MicroTime, Quantity, RawExtension, Str,
    Struct, Time, Type, Value, string_type,
};
use std::collections::BTreeMap;

string_type! {
    /// When to start again.
    pub Policy {
        /// Each time.
        ALWAYS = "Always",
    }
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypeMeta {
    pub kind: String,
    #[k8s(name = "apiVersion")]
    pub api_version: String,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Thing {
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    #[k8s(proto = 1)]
    pub metadata: Meta,
    #[k8s(proto = 2)]
    pub spec: ThingSpec,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Meta {
    #[k8s(proto = 1)]
    pub name: String,
    #[k8s(proto = 2)]
    pub labels: BTreeMap<String, String>,
    #[k8s(proto = 3)]
    pub generation: i64,
    #[k8s(proto = 4)]
    pub created: Option<Time>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ThingSpec {
    #[k8s(proto = 1)]
    pub replicas: Option<i32>,
    #[k8s(proto = 3)]
    pub policy: Policy,
    #[k8s(proto = 2, list_type = map, list_map_keys("name"))]
    pub parts: Vec<Part>,
    #[k8s(proto = 4, always)]
    pub enabled: bool,
    #[k8s(proto = 5)]
    pub ratio: Option<f64>,
    #[k8s(proto = 6, inline)]
    pub source: Source,
    #[k8s(proto = 7)]
    pub limits: BTreeMap<String, Quantity>,
    #[k8s(proto = 8)]
    pub inner: Option<Box<ThingSpec>>,
    #[k8s(proto = 9)]
    pub numbers: Vec<i64>,
    #[k8s(proto = 10)]
    pub data: BTreeMap<String, Bytes>,
    #[k8s(proto = 11)]
    pub port: Option<IntOrString>,
    #[k8s(proto = 12)]
    pub renewed: Option<MicroTime>,
    #[k8s(proto = 13)]
    pub timeout: Option<Duration>,
    #[k8s(proto = 14)]
    pub raw: Option<RawExtension>,
    #[k8s(proto = 15)]
    pub example: Option<Json>,
    #[k8s(proto = 16)]
    pub fields: Option<FieldsV1>,
    #[k8s(proto = 17)]
    pub extra: BTreeMap<String, ExtraValue>,
    #[k8s(proto = 18)]
    pub more: Option<SpecOrBool>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Part {
    #[k8s(proto = 1, always)]
    pub name: String,
    #[k8s(proto = 2)]
    pub command: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Source {
    #[k8s(proto = 1)]
    pub disk: Option<Part>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct ExtraValue {
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(json_union = "props_or_bool")]
pub struct SpecOrBool {
    #[k8s(proto = 1)]
    pub allows: bool,
    #[k8s(proto = 2)]
    pub schema: Option<Box<ThingSpec>>,
}

/// Pseudo-random numbers that are the same in every run.
pub struct Chance {
    state: u64,
    /// Whether texts may have line separators, which YAML versions treat differently.
    pub separators: bool,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, separators: true }
    }

    pub fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn text(&mut self) -> String {
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
            1 => Value::Int(self.next() as i64),
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
                if let (Some(inlined), Value::Map(fields)) = (field.ty.as_struct(), self.object_of(&field.ty, depth)) {
                    let _ = inlined;
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

    fn object_of(&mut self, ty: &Type, depth: usize) -> Value {
        ty.as_struct().map_or(Value::Null, |schema| self.object(schema, depth))
    }

    fn list(&mut self, list: &List, depth: usize) -> Value {
        Value::List((0..self.below(4)).map(|_| self.value(&list.elem, depth)).collect())
    }

    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        match ty {
            Type::Bool => Value::Bool(self.one_in(2)),
            Type::Int32 => Value::Int((self.next() as i32).into()),
            Type::Int64 => Value::Int(self.next() as i64),
            Type::Float64 => Value::Float(self.next() as i32 as f64 / 64.0),
            Type::String | Type::Enum(_) => Value::from(self.text()),
            Type::Bytes => Value::from(pintle_schema::base64::encode(self.text().as_bytes())),
            Type::IntOrString if self.one_in(2) => Value::Int((self.next() as i32).into()),
            Type::IntOrString => Value::from(self.text()),
            Type::Quantity => Value::from(["1", "100m", "1Gi", "5k", "0", "1e3", "-1500m"][self.below(7)]),
            Type::Time => Value::from(Time::from_seconds((self.next() as i32).into()).to_rfc3339()),
            Type::MicroTime => {
                let nanos = self.below(1_000_000) as u32 * 1000;
                Value::from(MicroTime { seconds: (self.next() as i32).into(), nanos }.to_rfc3339())
            }
            Type::Duration => Value::from(Duration { nanos: self.next() as i64 }.to_string()),
            Type::RawExtension => {
                Value::Raw(Str::from(format!("{{\"a\":{},\"b\":[{}]}}", self.next() as i32, self.below(9))))
            }
            Type::Json => Value::Map([(Str::new_static("k"), self.any(0))].into_iter().collect()),
            // A bare null would not be a value.
            Type::Any => Value::Map([(Str::new_static("k"), self.any(3))].into_iter().collect()),
            Type::FieldsV1 => Value::Raw(Str::from(pintle_codec::json::to_string(&self.value(&Type::Any, depth)))),
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
