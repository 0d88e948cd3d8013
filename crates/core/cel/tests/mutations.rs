//! Damaged expressions neither panic nor take long: what the fuzz target asks, on a fixed sequence.

use pintle_cel::{Decl, Environment, Value};
use pintle_schema::value;
use std::path::Path;
use std::sync::Arc;

const ROUNDS: usize = 4_000;
const LIMIT: u64 = 20_000;

/// A sequence that looks random and is the same each time.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (bound.max(1) as u64)).unwrap_or(0)
    }
}

fn seeds() -> Vec<Vec<char>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/expressions");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("a corpus").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a text").chars().collect()).collect()
}

/// Pieces of all seeds, put together at random.
fn mutated(seeds: &[Vec<char>], sequence: &mut Sequence) -> String {
    const PIECES: [&str; 16] =
        ["(", ")", "[", "]", "{", "}", ".", "?", ":", ",", "self", "'", "\\", " - ", "!", ".all(x, x"];
    let mut text = seeds[sequence.below(seeds.len())].clone();
    for _ in 0..=sequence.below(4) {
        let at = sequence.below(text.len() + 1);
        match sequence.below(4) {
            0 => {
                let end = (at + sequence.below(12)).min(text.len());
                text.drain(at..end);
            }
            1 => {
                let piece = PIECES[sequence.below(PIECES.len())];
                text.splice(at..at, piece.chars());
            }
            2 => {
                let other = &seeds[sequence.below(seeds.len())];
                let from = sequence.below(other.len());
                let end = (from + sequence.below(20)).min(other.len());
                text.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let end = (at + sequence.below(30)).min(text.len());
                let copied: Vec<char> = text[at..end].to_vec();
                text.splice(at..at, copied);
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn damaged_expressions_do_no_harm() {
    let schema = value!({
        "type": "object",
        "properties": {
            "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
            "t": {"type": "string", "format": "date-time"},
            "l": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "x": {"x-kubernetes-int-or-string": true},
            "o": {"type": "object", "properties": {"in": {"type": "string", "nullable": true}}}
        }
    });
    let decl = Arc::new(Decl::of_openapi(&schema, true, "selfType"));
    let object = value!({
        "s": "text", "i": 3, "n": 2.5, "b": true, "t": "2024-02-29T12:00:00Z", "l": ["a", "b", "a"], "set": [1, 2],
        "m": {"k": 1}, "x": "50%", "o": {"in": null}
    });
    let environment = Environment::for_stored_expressions().with_declared("self", &decl).with_bind();
    let seeds = seeds();
    let rounds = std::env::var("PINTLE_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let mut sequence = Sequence(0x9e37_79b9_7f4a_7c15);
    let mut compiled = 0;
    for _ in 0..rounds {
        let text = mutated(&seeds, &mut sequence);
        match environment.compile(&text) {
            Ok(program) => {
                compiled += 1;
                let variables = |name: &str| (name == "self").then(|| Value::of_data(&object, &decl));
                let _ = program.evaluate(&variables, LIMIT).value.is_ok();
            }
            Err(error) => assert!(!error.to_string().is_empty(), "{text}"),
        }
    }
    assert!(compiled > rounds / 100, "only {compiled} of {rounds} compiled");
}
