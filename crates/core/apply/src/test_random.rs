//! A small seeded generator of values for property tests.
//! Guarantees the same values for the same seed; there are few keys, so that documents and patches overlap.

use pintle_schema::{Map, Str, Value};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed | 1)
    }

    /// A number below `limit` (xorshift64*).
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit.max(1)
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn scalar(&mut self) -> Value {
        match self.below(5) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::Int(self.below(4) as i64),
            3 => Value::Float(0.5),
            _ => Value::from(*self.pick(&["x", "y", ""])),
        }
    }

    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 => self.scalar(),
            1 => Value::List((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => self.object(depth - 1),
        }
    }

    pub fn object(&mut self, depth: usize) -> Value {
        let keys = ["a", "b", "c/d", "e~f", ""];
        let mut map = Map::new();
        for _ in 0..self.below(5) {
            let key = Str::new(self.pick(&keys));
            let value = self.value(depth);
            map.set(key, value);
        }
        Value::Map(map)
    }
}
