//! The JSON scanner, with kube-apiserver's messages for syntax errors.
//! Must never recurse; code that builds trees with it counts the depth.

use crate::error::DecodeError;
use crate::limits;
use pintle_schema::names;
use std::borrow::Cow;

/// Reads tokens from a text. All errors are syntax errors.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The input, if the text is another one because the input is not UTF-8.
    sent: Option<&'a [u8]>,
    at: usize,
    /// The number of open arrays and objects.
    depth: usize,
}

/// The beginning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

impl Start {
    /// The name in kube-apiserver's messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Start::Null => "null",
            Start::True | Start::False => "bool",
            Start::Number => "number",
            Start::String => "string",
            Start::Array => "array",
            Start::Object => "object",
        }
    }
}

/// A string of the input, borrowed if it has no escapes.
pub(crate) type Text<'a> = Cow<'a, str>;

type Scan<T> = Result<T, DecodeError>;

/// The input as text. Each byte that is not UTF-8 becomes U+FFFD.
pub(crate) fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len() + 16);
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
            }
            Cow::Owned(text)
        }
    }
}

/// The byte that is not UTF-8 in whose place the text that `as_text` makes of the input has a character at an offset.
fn replaced_byte(sent: &[u8], at: usize) -> Option<u8> {
    let mut from = 0;
    for chunk in sent.utf8_chunks() {
        from += chunk.valid().len();
        for byte in chunk.invalid() {
            if from == at {
                return Some(*byte);
            }
            from += char::REPLACEMENT_CHARACTER.len_utf8();
        }
    }
    None
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Scanner { text, bytes: text.as_bytes(), sent: None, at: 0, depth: 0 }
    }

    /// A scanner of the text that `as_text` made of an input, whose bytes errors name.
    pub(crate) fn of(text: &'a str, sent: &'a [u8]) -> Self {
        Scanner { sent: (text.len() != sent.len()).then_some(sent), ..Scanner::new(text) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[cold]
    fn error<T>(&self, context: &str) -> Scan<T> {
        Err(match self.peek() {
            None => end_of_input(),
            Some(byte) => {
                let sent = self.sent.and_then(|sent| replaced_byte(sent, self.at));
                invalid_character(sent.unwrap_or(byte), context)
            }
        })
    }

    /// The kind of the next value; consumes only whitespace.
    #[inline]
    pub(crate) fn start(&mut self) -> Scan<Start> {
        self.space();
        match self.peek() {
            Some(b'"') => Ok(Start::String),
            Some(b'{') => Ok(Start::Object),
            Some(b'[') => Ok(Start::Array),
            Some(b'-' | b'0'..=b'9') => Ok(Start::Number),
            Some(b't') => Ok(Start::True),
            Some(b'f') => Ok(Start::False),
            Some(b'n') => Ok(Start::Null),
            _ => self.error("looking for beginning of value"),
        }
    }

    /// Consumes the `{` or `[` that `start` found.
    ///
    /// # Errors
    /// `bound` are open already.
    pub(crate) fn open(&mut self, bound: usize) -> Scan<()> {
        if self.depth >= bound {
            return self.error("exceeded max depth");
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// The first key of an object that was just opened, or `None` at its end.
    pub(crate) fn first_key(&mut self) -> Scan<Option<Text<'a>>> {
        self.space();
        match self.peek() {
            Some(b'}') => {
                self.close();
                Ok(None)
            }
            _ => self.key().map(Some),
        }
    }

    /// The next key after a value, or `None` at the object's end.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Scan<Option<Text<'a>>> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space();
                self.key().map(Some)
            }
            Some(b'}') => {
                self.close();
                Ok(None)
            }
            _ => self.error("after object key:value pair"),
        }
    }

    #[inline]
    fn key(&mut self) -> Scan<Text<'a>> {
        if self.peek() != Some(b'"') {
            return self.error("looking for beginning of object key string");
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return self.error("after object key");
        }
        self.at += 1;
        Ok(key)
    }

    /// Whether an array that was just opened has an item.
    pub(crate) fn first_item(&mut self) -> Scan<bool> {
        self.space();
        if self.peek() == Some(b']') {
            self.close();
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether another item follows.
    pub(crate) fn next_item(&mut self) -> Scan<bool> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(b']') => {
                self.close();
                Ok(false)
            }
            _ => self.error("after array element"),
        }
    }

    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    /// Consumes a `null`, `true` or `false` that `start` found.
    pub(crate) fn word(&mut self, start: Start) -> Scan<()> {
        let (word, name) = match start {
            Start::Null => (&b"null"[..], "null"),
            Start::True => (&b"true"[..], "true"),
            _ => (&b"false"[..], "false"),
        };
        for &expected in word {
            if self.peek() != Some(expected) {
                return self.error(&format!("in literal {name} (expecting '{}')", char::from(expected)));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The literal of the number that `start` found.
    pub(crate) fn number(&mut self) -> Scan<&'a str> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.error("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.error("after decimal point in numeric literal");
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.error("in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(self.slice(from, self.at))
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    /// The text between two offsets that are known to be character boundaries.
    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or("")
    }

    /// The string that `start` found.
    #[inline]
    pub(crate) fn string(&mut self) -> Scan<Text<'a>> {
        self.at += 1;
        let from = self.at;
        self.at = plain_end(self.bytes, from);
        if self.peek() == Some(b'"') {
            let text = self.slice(from, self.at);
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        self.escaped(from)
    }

    #[cold]
    fn escaped(&mut self, mut from: usize) -> Scan<Text<'a>> {
        let mut text = String::new();
        loop {
            text.push_str(self.slice(from, self.at));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => self.escape(&mut text)?,
                _ => return self.error("in string literal"),
            }
            from = self.at;
            self.at = plain_end(self.bytes, from);
        }
    }

    fn escape(&mut self, text: &mut String) -> Scan<()> {
        self.at += 1;
        let char = match self.peek() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => {
                self.at += 1;
                let unit = self.hex()?;
                text.push(self.code_point(unit)?);
                return Ok(());
            }
            _ => return self.error("in string escape code"),
        };
        self.at += 1;
        text.push(char);
        Ok(())
    }

    fn hex(&mut self) -> Scan<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.error("in \\u hexadecimal character escape");
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The character of a UTF-16 unit and, if it begins a pair, of the escape after it.
    fn code_point(&mut self, unit: u32) -> Scan<char> {
        if let Some(char) = char::from_u32(unit) {
            return Ok(char);
        }
        let before = self.at;
        if (0xd800..0xdc00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            // The second escape is a character of its own.
            self.at = before;
        }
        Ok('\u{fffd}')
    }

    /// The text of the next value, as it is written.
    ///
    /// # Errors
    /// It is deeper than a tree may be.
    pub(crate) fn raw(&mut self) -> Scan<&'a str> {
        self.start()?;
        let from = self.at;
        self.pass(limits::TREE_DEPTH)?;
        Ok(self.slice(from, self.at))
    }

    /// [`raw`](Self::raw) in a text that was validated before: only the ends of objects and arrays are searched.
    pub(crate) fn raw_trusted(&mut self) -> Scan<&'a str> {
        if !matches!(self.start()?, Start::Object | Start::Array) {
            return self.raw();
        }
        let from = self.at;
        match behind_close(self.bytes, from + 1, 1) {
            Some(behind) => self.at = behind,
            None => return Err(end_of_input()),
        }
        Ok(self.slice(from, self.at))
    }

    /// Skips a value of any kind.
    pub(crate) fn skip(&mut self) -> Scan<()> {
        self.pass(limits::JSON_DEPTH)
    }

    /// Skips a value, without recursion.
    fn pass(&mut self, bound: usize) -> Scan<()> {
        // One bit per open level would be enough, but few levels are skipped and this is not a hot path.
        let mut open: Vec<Start> = Vec::new();
        loop {
            let start = self.start()?;
            let mut ended = match start {
                Start::Object => {
                    self.open(bound)?;
                    open.push(start);
                    self.first_key()?.is_none()
                }
                Start::Array => {
                    self.open(bound)?;
                    open.push(start);
                    !self.first_item()?
                }
                Start::String => {
                    self.string()?;
                    false
                }
                Start::Number => {
                    self.number()?;
                    false
                }
                _ => {
                    self.word(start)?;
                    false
                }
            };
            if !ended && matches!(start, Start::Object | Start::Array) {
                continue;
            }
            // A value has ended, and possibly those around it.
            loop {
                if ended {
                    open.pop();
                }
                ended = match open.last() {
                    None => return Ok(()),
                    Some(Start::Object) => self.next_key()?.is_none(),
                    Some(_) => !self.next_item()?,
                };
                if !ended {
                    break;
                }
            }
        }
    }

    /// Only whitespace may follow.
    pub(crate) fn end(&mut self) -> Scan<()> {
        self.space();
        if self.at < self.bytes.len() {
            return self.error("after top-level value");
        }
        Ok(())
    }
}

/// The end of a run of ordinary string bytes: a quote, a backslash, a control character or the end.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // Eight bytes at a time: a byte equal to `b` or below 0x20 sets its high bit, and no byte below the first such
    // byte is set wrongly.
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7]]);
        let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            break;
        }
        at += 1;
    }
    at
}

/// The offset after the bracket that closes the given number of levels, without checking the text.
pub(crate) fn behind_close(bytes: &[u8], mut at: usize, mut open: usize) -> Option<usize> {
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = behind_string(bytes, at)?,
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => continue,
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// The offset after the quote that ends a string.
pub(crate) fn behind_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cold]
fn end_of_input() -> DecodeError {
    DecodeError::Syntax("unexpected end of JSON input".to_owned())
}

#[cold]
fn invalid_character(byte: u8, context: &str) -> DecodeError {
    // Go treats the byte as a character and quotes it as a text, without the quotes.
    let quoted = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        _ => names::quoted(char::from(byte).encode_utf8(&mut [0; 4])).trim_matches('"').to_owned(),
    };
    DecodeError::Syntax(format!("invalid character '{quoted}' {context}"))
}
