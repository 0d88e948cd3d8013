//! Indented JSON, as Go's `Indent` writes it down to a depth; what is deeper goes on in its line. Guarantees that text may come in any
//! pieces, and that no more than its nesting depth is kept between them. Must only be given compact JSON.

use memchr::memchr2;
use pintle_codec::limits::MAX_INDENT;

/// JSON with two spaces of indentation.
pub fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    Indenter::default().write(json, &mut out);
    out
}

/// Indents JSON that comes in pieces.
#[derive(Default)]
pub struct Indenter {
    depth: usize,
    position: Position,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Position {
    #[default]
    Between,
    /// An object or a list has begun, which stays on its line if it is empty.
    Opened,
    InString,
    /// After a backslash.
    Escaped,
}

/// Deeper lines are written in several steps.
const SPACES: &[u8; 64] = &[b' '; 64];

impl Indenter {
    /// Appends a piece of JSON in its indented form.
    pub fn write(&mut self, json: &[u8], out: &mut Vec<u8>) {
        let mut rest = json;
        while let Some((&byte, behind)) = rest.split_first() {
            match self.position {
                Position::InString => {
                    let Some(at) = memchr2(b'"', b'\\', rest) else {
                        out.extend_from_slice(rest);
                        return;
                    };
                    let (text, after) = rest.split_at(at + 1);
                    out.extend_from_slice(text);
                    self.position = if text.ends_with(b"\"") { Position::Between } else { Position::Escaped };
                    rest = after;
                    continue;
                }
                Position::Escaped => {
                    out.push(byte);
                    self.position = Position::InString;
                    rest = behind;
                    continue;
                }
                Position::Opened => {
                    self.position = Position::Between;
                    if matches!(byte, b'}' | b']') {
                        out.push(byte);
                        rest = behind;
                        continue;
                    }
                    self.depth += 1;
                    self.new_line(out);
                }
                Position::Between => {}
            }
            match byte {
                b'"' => {
                    out.push(byte);
                    self.position = Position::InString;
                }
                b'{' | b'[' => {
                    out.push(byte);
                    self.position = Position::Opened;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.new_line(out);
                    out.push(byte);
                }
                b',' => {
                    out.push(byte);
                    self.new_line(out);
                }
                b':' => out.extend_from_slice(b": "),
                byte => out.push(byte),
            }
            rest = behind;
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        let mut spaces = self.depth * 2;
        if spaces > MAX_INDENT {
            return;
        }
        out.push(b'\n');
        while spaces > 0 {
            let some = spaces.min(SPACES.len());
            out.extend_from_slice(&SPACES[..some]);
            spaces -= some;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"a":[1,{"b":"x:{,}\"\\"},-2.5e3,true,null],"c":{},"d":[],"e":[[[]]],"":""}"#;
    const INDENTED: &str = "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x:{,}\\\"\\\\\"\n    },\n    -2.5e3,\n    true,\n    null\n  ],\n  \
                            \"c\": {},\n  \"d\": [],\n  \"e\": [\n    [\n      []\n    ]\n  ],\n  \"\": \"\"\n}";

    #[test]
    fn indentation_is_gos() {
        assert_eq!(String::from_utf8_lossy(&indent(JSON)), INDENTED);
        let deep = [vec![b'['; 40], vec![b'1'], vec![b']'; 40]].concat();
        let indented = String::from_utf8(indent(&deep)).expect("text");
        assert!(indented.contains(&format!("\n{}1\n", " ".repeat(80))));
    }

    #[test]
    fn what_is_deep_is_not_indented() {
        let deep = [vec![b'['; 480], b"1,".repeat(100_000), vec![b'1'], vec![b']'; 480]].concat();
        let indented = indent(&deep);
        assert!(indented.len() < 2 * deep.len(), "{} bytes of {}", indented.len(), deep.len());
        let compact: Vec<u8> = indented.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
        assert_eq!(compact, deep);
    }

    #[test]
    fn pieces_are_indented_like_the_whole() {
        for first in 0..=JSON.len() {
            for second in first..=JSON.len() {
                let (mut indenter, mut out) = (Indenter::default(), Vec::new());
                for piece in [&JSON[..first], &JSON[first..second], &JSON[second..]] {
                    indenter.write(piece, &mut out);
                }
                assert_eq!(String::from_utf8_lossy(&out), INDENTED, "{first} {second}");
            }
        }
    }
}
