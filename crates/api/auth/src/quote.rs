//! Quoting as Go's `%q` prints it: error texts are facts, and they are full of quoted names.
//! Guarantees one line of printable text for any input.
//! Must never be used for JSON: the escapes differ.

use std::fmt::{self, Write};

/// Shows a string in double quotes with Go's escapes.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\u{07}' => f.write_str("\\a")?,
                '\u{08}' => f.write_str("\\b")?,
                '\u{0c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{0b}' => f.write_str("\\v")?,
                c if is_printable(c) => f.write_char(c)?,
                c if u32::from(c) < 0x80 => write!(f, "\\x{:02x}", u32::from(c))?,
                c if u32::from(c) < 0x10000 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_char('"')
    }
}

/// Close to Go's idea of printable: no controls, no spaces but the ASCII one, no invisible marks.
fn is_printable(c: char) -> bool {
    match c {
        ' ' => true,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => false,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' => false,
        _ => !c.is_control() && !c.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_gos() {
        let rows = [
            ("", r#""""#),
            ("pods", r#""pods""#),
            ("a \"b\" \\", r#""a \"b\" \\""#),
            ("\0\t\n\u{7f}", r#""\x00\t\n\x7f""#),
            ("größe 名", r#""größe 名""#),
            ("\u{a0}\u{200b}\u{10ffff}", r#""\u00a0\u200b"#),
        ];
        for (text, expected) in rows {
            let quoted = Quoted(text).to_string();
            assert!(quoted.starts_with(expected), "{quoted}");
        }
    }
}
