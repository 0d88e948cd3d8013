//! Writes texts as YAML scalars in kube-apiserver's layout: when a text is quoted, what is escaped, and where long lines are broken.
//! Guarantees that each character is written once, after its indentation: nothing depends on the depth beyond that.

use super::resolve::{Resolved, is_base_60, resolve};

/// Lines may be broken at the first space after so many columns.
const WIDTH: usize = 80;
/// Longer keys are written behind a question mark.
const KEY_BYTES: usize = 128;
/// Spaces by which the later lines of a scalar are indented more than the collection that it is in.
const INDENT: usize = 2;

/// As a key it would merge another map. kube-apiserver writes it unquoted and cannot read it again.
const MERGE: &str = "<<";

/// Whether a text without quotes is that text.
fn is_plain(text: &str) -> bool {
    resolve(text) == Resolved::String && !is_base_60(text) && text != MERGE
}

/// Whether a key is on one line with its colon.
pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= KEY_BYTES && !key.chars().any(is_break)
}

/// Appends a key. Returns the column after it.
pub(super) fn put_key(key: &str, column: usize, out: &mut Vec<u8>) -> usize {
    if let Some(style) = Style::of_line(key) {
        let start = out.len();
        style.put(key, out);
        return column + (out.len() - start);
    }
    let mut writer = Writer { out, column, indent: 0, may_break: false };
    writer.scalar(key);
    writer.column
}

/// Appends a text that is in a collection of an indentation, behind so many columns, and the end of its line.
pub(super) fn put_value(text: &str, indent: usize, column: usize, out: &mut Vec<u8>) {
    let is_short = || column + text.len() + "''".len() <= WIDTH || !text.contains(' ');
    if let Some(style) = Style::of_line(text).filter(|_| is_short()) {
        style.put(text, out);
        out.push(b'\n');
        return;
    }
    let mut writer = Writer { out, column, indent: indent + INDENT, may_break: true };
    writer.scalar(text);
    if writer.column > 0 {
        writer.out.push(b'\n');
    }
}

/// Appends a text in double quotes, on the line that has begun.
pub(super) fn put_quoted(text: &str, out: &mut Vec<u8>) {
    Writer { out, column: 0, indent: 0, may_break: false }.double_quoted(text);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Style {
    /// The style of a text of printable ASCII characters that needs no escapes.
    fn of_line(text: &str) -> Option<Style> {
        let bytes = text.as_bytes();
        // Whether it has more than letters, digits and what never has a meaning.
        let mut has_others = false;
        for byte in bytes {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'/' | b'.' => {}
                b' '..=b'~' => has_others = true,
                _ => return None,
            }
        }
        if !is_plain(text) {
            let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\');
            return (!has_others || !bytes.iter().any(is_escaped)).then_some(Style::Double);
        }
        if !has_others && !text.starts_with("...") {
            return Some(Style::Plain);
        }
        if has_meaning(bytes) { Some(Style::Single) } else { Some(Style::Plain) }
    }

    /// Appends such a text.
    fn put(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Style::Plain | Style::Literal => out.extend_from_slice(text.as_bytes()),
            Style::Double => {
                out.push(b'"');
                out.extend_from_slice(text.as_bytes());
                out.push(b'"');
            }
            Style::Single => {
                out.push(b'\'');
                for byte in text.bytes() {
                    if byte == b'\'' {
                        out.push(b'\'');
                    }
                    out.push(byte);
                }
                out.push(b'\'');
            }
        }
    }

    /// The style of any text.
    fn of(text: &str, is_key: bool) -> Style {
        let traits = Traits::of(text);
        let single_or_double = if traits.single_quoted { Style::Single } else { Style::Double };
        if text.contains('\n') {
            return if traits.literal && !is_key { Style::Literal } else { Style::Double };
        }
        match is_plain(text) {
            true if traits.plain && !has_meaning(text.as_bytes()) => Style::Plain,
            true => single_or_double,
            false => Style::Double,
        }
    }
}

/// Whether a text would be read as something else without quotes.
fn has_meaning(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    let is_space_at = |at: usize| text.get(at).is_none_or(|byte| *byte == b' ');
    let begins = match first {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
        | b'`' | b' ' => true,
        b'?' | b':' | b'-' => is_space_at(1),
        _ => false,
    };
    let is_marked = |(at, byte): (usize, &u8)| match byte {
        b':' => is_space_at(at + 1),
        b'#' => at > 0 && is_space_at(at - 1),
        _ => false,
    };
    begins
        || *last == b' '
        || text.starts_with(b"---")
        || text.starts_with(b"...")
        || text.iter().enumerate().any(is_marked)
}

/// What the characters of a text allow.
struct Traits {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let mut traits = Traits { plain: true, single_quoted: true, literal: true };
        let mut before = None;
        for char in text.chars() {
            if !is_printable(char) || is_break(char) && before == Some(' ') {
                traits = Traits { plain: false, single_quoted: false, literal: false };
            }
            if char == ' ' && before.is_some_and(is_break) {
                (traits.plain, traits.single_quoted) = (false, false);
            }
            traits.plain &= !is_break(char);
            before = Some(char);
        }
        traits.plain &= !text.starts_with(' ');
        if before == Some(' ') {
            (traits.plain, traits.literal) = (false, false);
        }
        traits
    }
}

/// Whether a character may stand in a text without an escape. kube-apiserver escapes those beyond U+FFFF, too.
fn is_printable(char: char) -> bool {
    matches!(char, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Writes one scalar.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Counted in characters.
    column: usize,
    /// Of later lines.
    indent: usize,
    /// Whether a long line may be broken.
    may_break: bool,
}

impl Writer<'_> {
    fn scalar(&mut self, text: &str) {
        match Style::of(text, !self.may_break) {
            Style::Plain => self.words(text, false),
            Style::Single => {
                self.put('\'');
                self.words(text, true);
                self.put('\'');
            }
            Style::Double => self.double_quoted(text),
            Style::Literal => self.literal(text),
        }
    }

    fn put(&mut self, char: char) {
        self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        self.column = if is_break(char) { 0 } else { self.column + 1 };
    }

    /// Indents a line that has just begun.
    fn indent(&mut self) {
        let spaces = self.indent.saturating_sub(self.column);
        self.out.resize(self.out.len() + spaces, b' ');
        self.column += spaces;
    }

    fn new_line(&mut self) {
        self.put('\n');
        self.indent();
    }

    /// Whether a line is broken at a space between two characters.
    fn breaks_at(&self, before: Option<char>, after: Option<char>) -> bool {
        self.may_break && self.column > WIDTH && before.is_some_and(|char| char != ' ') && after.is_some()
    }

    /// A plain scalar, or what is between single quotes. No line feed is in either.
    fn words(&mut self, text: &str, is_quoted: bool) {
        let (mut before, mut is_line_start) = (None, false);
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            let next = chars.peek().copied();
            if char == ' ' {
                if self.breaks_at(before, next) && next != Some(' ') {
                    self.new_line();
                } else {
                    self.put(' ');
                }
            } else if is_break(char) {
                self.put(char);
                is_line_start = true;
            } else {
                if std::mem::take(&mut is_line_start) {
                    self.indent();
                }
                if is_quoted && char == '\'' {
                    self.put('\'');
                }
                self.put(char);
            }
            before = Some(char);
        }
    }

    fn double_quoted(&mut self, text: &str) {
        // What kube-apiserver does behind a byte order mark.
        let escapes_all = text.starts_with('\u{feff}');
        self.put('"');
        let mut before = None;
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            let next = chars.peek().copied();
            if escapes_all || !is_printable(char) || is_break(char) || matches!(char, '"' | '\\') {
                self.escape(char);
            } else if char == ' ' && self.breaks_at(before, next) {
                self.new_line();
                if next == Some(' ') {
                    self.put('\\');
                }
            } else {
                self.put(char);
            }
            before = Some(char);
        }
        self.put('"');
    }

    fn escape(&mut self, char: char) {
        let short = match char {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' | '\\' => char,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(char);
                let digits = match code {
                    0..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                digits.chars().for_each(|digit| self.put(digit));
                return;
            }
        };
        self.put('\\');
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.put('|');
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.out.extend_from_slice(INDENT.to_string().as_bytes());
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next().is_none_or(is_break)) {
            (false, _) => self.put('-'),
            (true, true) => self.put('+'),
            (true, false) => {}
        }
        self.put('\n');
        let mut is_line_start = true;
        for char in text.chars() {
            if !is_break(char) && is_line_start {
                self.indent();
            }
            is_line_start = is_break(char);
            self.put(char);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        let mut out = Vec::new();
        put_value(text, 0, 2, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn usual_texts_are_written_directly() {
        for (text, style) in [
            ("nginx:1.25", Some(Style::Plain)),
            ("a b", Some(Style::Plain)),
            ("kubernetes.io/x", Some(Style::Plain)),
            ("-v=2", Some(Style::Plain)),
            ("{\"a\":1}", Some(Style::Single)),
            ("a: b", Some(Style::Single)),
            ("100", Some(Style::Double)),
            ("", Some(Style::Double)),
            ("2024-01-02T03:04:05Z", Some(Style::Double)),
            ("a\nb", None),
            ("é", None),
        ] {
            assert_eq!(Style::of_line(text), style, "{text}");
        }
    }

    #[test]
    fn both_ways_choose_the_same_style() {
        let chars = ['a', ' ', ':', '#', '-', '.', '?', '\'', '"', '\\', '1', '{', '~', ','];
        for first in chars {
            for second in chars {
                for third in chars {
                    let text: String = [first, second, third].iter().collect();
                    if let Some(style) = Style::of_line(&text) {
                        assert_eq!(Style::of(&text, false), style, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn texts_have_the_layout_of_the_reference() {
        let (first, second) = ("word ".repeat(16), "word ".repeat(4));
        let words = format!("{first}{second}");
        for (text, wanted) in [
            ("a\nb", "|-\n  a\n  b\n".to_owned()),
            ("a\nb\n", "|\n  a\n  b\n".to_owned()),
            ("a\n\n", "|+\n  a\n\n".to_owned()),
            ("\n", "|2+\n\n".to_owned()),
            (" a\nb", "|2-\n   a\n  b\n".to_owned()),
            ("a \nb", "\"a \\nb\"\n".to_owned()),
            ("a\tb", "\"a\\tb\"\n".to_owned()),
            ("é", "é\n".to_owned()),
            ("é: x", "'é: x'\n".to_owned()),
            ("\u{1f600}", "\"\\U0001F600\"\n".to_owned()),
            ("\u{feff}a b", "\"\\uFEFF\\x61\\x20\\x62\"\n".to_owned()),
            ("\u{a0}\u{85}", "\"\u{a0}\\N\"\n".to_owned()),
            ("\u{7f}\u{3}", "\"\\x7F\\x03\"\n".to_owned()),
            (words.trim_end(), format!("{}\n  {}\n", first.trim_end(), second.trim_end())),
            (&format!("{words}: x"), format!("'{}\n  {second}: x'\n", first.trim_end())),
            (&format!("{first} {second}\u{7}"), format!("\"{}\n  \\ {second}\\a\"\n", first.trim_end())),
        ] {
            assert_eq!(value(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn keys_are_on_one_line() {
        let words = "word ".repeat(30);
        for (key, wanted) in
            [("a", "a"), ("é: ", "'é: '"), ("y", "\"y\""), (words.trim_end(), words.trim_end()), ("\t", "\"\\t\"")]
        {
            let mut out = Vec::new();
            let column = put_key(key, 4, &mut out);
            let written = String::from_utf8(out).expect("text");
            assert_eq!((written.as_str(), column), (wanted, 4 + wanted.chars().count()), "{key}");
        }
        assert!(is_simple_key(&"k".repeat(128)) && !is_simple_key(&"k".repeat(129)) && !is_simple_key("a\nb"));
    }
}
