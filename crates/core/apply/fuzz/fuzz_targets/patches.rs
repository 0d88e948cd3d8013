//! Every patch of every document gives a value or an error: no panic, no endless work.
//!
//! The bytes are interpreted as a small program that builds two values from words that patches contain.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_apply::{json_patch, merge_patch, strategic};
use pintle_schema::{ApiType, Map, Str, Value};
use std::collections::BTreeMap;

/// A type with each kind of list that strategic merge distinguishes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Thing {
    #[k8s(proto = 1, patch_strategy = "merge")]
    scalars: Vec<String>,
    #[k8s(proto = 2, patch_strategy = "merge,retainKeys", patch_merge_key = "name")]
    items: Vec<Thing>,
    #[k8s(proto = 3)]
    atomic: Vec<Thing>,
    #[k8s(proto = 4, patch_strategy = "merge")]
    keyless: Vec<Thing>,
    #[k8s(proto = 5)]
    inner: Option<Box<Thing>>,
    #[k8s(proto = 6)]
    labels: BTreeMap<String, String>,
    #[k8s(proto = 7)]
    name: String,
}

const WORDS: [&str; 32] = [
    "scalars",
    "items",
    "atomic",
    "keyless",
    "inner",
    "labels",
    "name",
    "",
    "$patch",
    "delete",
    "replace",
    "merge",
    "$retainKeys",
    "$setElementOrder/items",
    "$setElementOrder/scalars",
    "$setElementOrder/keyless",
    "$setElementOrder",
    "$deleteFromPrimitiveList/scalars",
    "$deleteFromPrimitiveList",
    "op",
    "path",
    "from",
    "value",
    "add",
    "remove",
    "move",
    "copy",
    "test",
    "/items/0",
    "/labels/a~1b",
    "/scalars/-",
    "/inner/items/-1",
];

const DEPTH: usize = 12;

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn word(&mut self) -> Str {
        Str::new_static(WORDS[usize::from(self.next()) % WORDS.len()])
    }

    fn value(&mut self, depth: usize) -> Value {
        let kind = self.next();
        let len = usize::from(kind >> 3) % 8;
        match kind % 8 {
            0 => Value::Null,
            1 => Value::Bool(kind > 127),
            2 => Value::Int(i64::from(kind >> 4)),
            3 => Value::Float(f64::from(kind) / 2.0),
            4 | 5 if depth < DEPTH => Value::List((0..len).map(|_| self.value(depth + 1)).collect()),
            6 | 7 if depth < DEPTH => {
                Value::Map((0..len).map(|_| (self.word(), self.value(depth + 1))).collect::<Map>())
            }
            _ => Value::String(self.word()),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let (document, patch) = (bytes.value(0), bytes.value(0));
    let _ = json_patch::check(&patch, &pintle_codec::json::to_vec(&patch));
    let _ = json_patch::apply(document.clone(), &patch);
    let _ = merge_patch::apply(&mut document.clone(), patch.clone());
    let _ = strategic::apply(Thing::schema(), document, patch);
});
