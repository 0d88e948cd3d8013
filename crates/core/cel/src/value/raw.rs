//! JSON text within data, such as field sets of managers, as the value that it is.
//! Guarantees that a text is parsed once in an evaluation, however often it is read: no cost is counted for it.

use super::{Entries, Map, Text, Value};
use pintle_codec::{Strictness, json};
use pintle_schema::{Str, Value as Data};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The texts that the evaluation on this thread has parsed, by their address: they are borrowed for as long as it lasts.
#[derive(Default)]
struct Parsed {
    /// How many evaluations are within one another.
    depth: u32,
    known: HashMap<(usize, usize), Value<'static>>,
}

thread_local! {
    static PARSED: RefCell<Parsed> = RefCell::default();
}

/// An evaluation, from its begin to its end.
pub(crate) struct Scope(());

impl Scope {
    pub fn enter() -> Scope {
        PARSED.with_borrow_mut(|parsed| parsed.depth += 1);
        Scope(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        PARSED.with_borrow_mut(|parsed| {
            parsed.depth = parsed.depth.saturating_sub(1);
            if parsed.depth == 0 && !parsed.known.is_empty() {
                parsed.known = HashMap::new();
            }
        });
    }
}

/// The value of JSON text; the text itself if it is none.
pub(super) fn read<'a>(text: &'a Str) -> Value<'a> {
    let place = (text.as_ptr() as usize, text.len());
    let known = PARSED.with_borrow(|parsed| parsed.known.get(&place).cloned());
    if let Some(known) = known {
        return known;
    }
    let Ok(parsed) = json::parse(text.as_bytes(), Strictness::Ignore) else {
        return Value::String(Text::Borrowed(text));
    };
    let value = owned(parsed.value);
    PARSED.with_borrow_mut(|parsed| {
        // A short text may lie within its owner, which moves.
        if parsed.depth > 0 && text.is_heap_allocated() {
            parsed.known.insert(place, value.clone());
        }
    });
    value
}

fn owned(data: Data) -> Value<'static> {
    match data {
        Data::Null => Value::Null,
        Data::Bool(b) => Value::Bool(b),
        Data::Int(i) => Value::Int(i),
        Data::Float(d) => Value::Double(d),
        Data::String(text) | Data::Raw(text) => Value::string(text),
        Data::List(items) => Value::list(items.into_iter().map(owned).collect()),
        Data::Map(map) => {
            let mut entries = Entries::default();
            for (key, value) in map {
                entries.set(Value::string(key), owned(value));
            }
            Value::Map(Map::Entries(Arc::new(entries)))
        }
    }
}
