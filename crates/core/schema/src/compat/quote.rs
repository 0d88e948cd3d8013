//! Texts in quotes, as Go's `%q` and `time` print them.
//! Guarantees that every text is quoted, whatever is in it.

use std::fmt::Write;

/// Quotes a text as in field errors.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            '\0'..='\x7f' => quoted.push_str(&format!("\\x{:02x}", u32::from(character))),
            _ if is_printable(character) => quoted.push(character),
            '\u{80}'..='\u{ffff}' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

/// A list of quoted texts: `["a" "b"]`.
pub fn quoted_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| quoted(item.as_ref())).collect();
    format!("[{}]", items.join(" "))
}

/// Whether a character is printable; the only printable whitespace is the space.
pub fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\0'..='\x7f' => false,
        // After a letter, the standard library escapes only unprintable characters, not combining marks.
        _ => !format!("a{character}").escape_debug().any(|escaped| escaped == '\\'),
    }
}

/// Quotes as in errors about times and durations: characters other than printable ASCII are printed as bytes.
pub fn quoted_bytes(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..0x80 => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}
