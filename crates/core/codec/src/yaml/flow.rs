//! The fast path for YAML that is JSON, as most clients send it: the JSON scanner reads it many times faster.
//! Guarantees that only text with the same meaning in both languages is read here; everything else is left to YAML,
//! including error messages.

use crate::json::any::{self, Duplicates};
use crate::json::scan::Scanner;
use pintle_schema::Value;

/// The value of a stream that is one plain JSON object, with keys sorted; `None` if the YAML decoder has to read it.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    if !is_plain(bytes) {
        return None;
    }
    let mut scanner = Scanner::new(std::str::from_utf8(bytes).ok()?);
    let mut repeated = Repeated(false);
    let mut value = any::value(&mut scanner, &mut repeated).ok()?;
    scanner.end().ok()?;
    (!repeated.0 && settle(&mut value)).then_some(value)
}

/// Whether YAML cannot interpret any byte of the text differently: no whitespace except spaces and line feeds, no
/// characters that break lines, few kinds of escapes, and keys that are short and directly before their colons.
fn is_plain(bytes: &[u8]) -> bool {
    const LONGEST_KEY: usize = 1000;
    if bytes.first() != Some(&b'{') {
        return false;
    }
    let (mut at, mut before) = (0, b' ');
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let from = at;
                loop {
                    match bytes.get(at) {
                        Some(b'"') => break,
                        Some(b'\\') if matches!(bytes.get(at + 1), Some(b'"' | b'\\' | b'n' | b'r' | b't')) => at += 2,
                        Some(b' '..=b'[' | b']'..=b'~') => at += 1,
                        _ => return false,
                    }
                }
                at += 1;
                if at - from > LONGEST_KEY && bytes.get(at) == Some(&b':') {
                    return false;
                }
            }
            b':' if before != b'"' => return false,
            b'\n' | b' '..=b'~' => {}
            _ => return false,
        }
        before = byte;
    }
    true
}

/// Sorts keys; `false` if there is a number that the two languages read differently.
fn settle(value: &mut Value) -> bool {
    match value {
        Value::Float(_) => false,
        Value::List(items) => items.iter_mut().all(settle),
        Value::Map(map) => {
            let entries = map.entries_mut();
            if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
                entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            }
            entries.iter_mut().all(|(_, value)| settle(value))
        }
        _ => true,
    }
}

/// Whether there is a duplicate key.
struct Repeated(bool);

impl Duplicates for Repeated {
    fn enter_key(&mut self, _: &str) {}
    fn enter_item(&mut self, _: usize) {}
    fn leave(&mut self) {}
    fn duplicate(&mut self, _: &str) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YAML's interpretation of a text.
    fn slowly(text: &str) -> Option<Value> {
        let document = super::super::nodes::read(&super::super::reader::source(text.as_bytes())).ok()??;
        let (value, duplicates) = super::super::build::value(&document).ok()?;
        duplicates.is_empty().then_some(value)
    }

    #[test]
    fn plain_objects_are_read_and_mean_what_they_mean_in_yaml() {
        let texts = [
            r#"{"b":1,"a":{"d":[true,false,null,"x"],"c":-7}}"#,
            "{\n  \"a\": \"yes\",\n  \"b\": [\n    1,\n    -0\n  ]\n}\n",
            r#"{"":"","a b":"c: d # e","<<":{"x":"0777"},"~":"null"}"#,
            r#"{"a":"q\"q\\n\nr\rt\t"}"#,
            "{}",
            "{ \"a\": { } , \"b\":[ ] }  \n\n",
        ];
        for text in texts {
            let read = read(text.as_bytes());
            assert!(read.is_some(), "{text}");
            assert_eq!(read, slowly(text), "{text}");
        }
    }

    #[test]
    fn what_yaml_may_take_otherwise_is_left_to_it() {
        let long = format!(r#"{{"{}":1}}"#, "k".repeat(1100));
        let texts = [
            "a: 1",
            "[1]",
            " {\"a\":1}",
            r#"{"a":1,"a":2}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1e3}"#,
            r#"{"a":12345678901234567890}"#,
            "{\"a\"\n:1}",
            "{\"a\"\t:1}",
            "{\"a\":\t1}",
            "{\"a\":1}\r\n",
            r#"{"a":"\u00e9"}"#,
            r#"{"a":"\/"}"#,
            "{\"a\":\"\u{e9}\"}",
            "{\"a\":\"\u{2028}\"}",
            "{\"a\":\"\u{7f}\"}",
            "{\"a\":1}\n---\n{\"b\":2}",
            "{\"a\":1} # one",
            "{a: 1}",
            "{\"a\":1,}",
            "{'a':1}",
            "{\"a\":yes}",
            "{\"a\":\"b",
            "{\"a\":\"b\\",
            &long,
        ];
        for text in texts {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }

    /// Every text of a small alphabet that both accept has the same meaning.
    #[test]
    fn both_readers_agree() {
        const PARTS: [&str; 14] =
            ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\n\"", " ", "\n", "-1", "true", "null"];
        let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound
        };
        let mut read_by_both = 0;
        for _ in 0..200_000 {
            // Usually a map, so that a good share is valid.
            let mut text = String::from("{\"x\":");
            for _ in 0..next(7) {
                text.push_str(PARTS[next(PARTS.len())]);
            }
            text.push('}');
            if let Some(value) = read(text.as_bytes()) {
                assert_eq!(Some(value), slowly(&text), "{text:?}");
                read_by_both += 1;
            }
        }
        assert!(read_by_both > 1000, "{read_by_both}");
    }
}
