//! `Members`: iterates over JSON text without building a tree. For text that was validated before, such as raw JSON;
//! invalid text has no more members. Must never allocate, except for keys with escapes.

use super::scan::{Scanner, behind_close, behind_string};
use std::borrow::Cow;

/// A key as written between its quotes.
#[derive(Clone, Copy)]
pub struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// The value as written, including escapes.
    #[inline]
    pub fn written(self) -> &'a str {
        self.0
    }

    pub fn text(self) -> Cow<'a, str> {
        if !self.0.contains('\\') {
            return Cow::Borrowed(self.0);
        }
        let quoted = format!("\"{}\"", self.0);
        let text = Scanner::new(&quoted).string().map(Cow::into_owned);
        Cow::Owned(text.unwrap_or_default())
    }
}

/// A position in a text: before or after a value.
pub struct Members<'a> {
    text: &'a str,
    at: usize,
    /// The number of objects that were entered and not left.
    depth: usize,
}

impl<'a> Members<'a> {
    /// The position before the value of a text.
    pub fn of(text: &'a str) -> Self {
        Members { text, at: 0, depth: 0 }
    }

    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Enters the next value if it is an object; skips any other.
    #[inline]
    pub fn enter(&mut self) -> bool {
        let is_object = self.peek() == Some(b'{');
        match is_object {
            true => (self.at, self.depth) = (self.at + 1, self.depth + 1),
            false => self.pass(),
        }
        is_object
    }

    /// The key of the next member of the object, and moves before its value. `None` at the object's end, and moves
    /// after it.
    #[inline]
    pub fn key(&mut self) -> Option<Key<'a>> {
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        match self.peek()? {
            b'"' => {}
            _ => {
                (self.at, self.depth) = (self.at + 1, self.depth.saturating_sub(1));
                return None;
            }
        }
        let (from, behind) = (self.at, self.behind(behind_string(self.text.as_bytes(), self.at + 1)));
        self.at = behind;
        if self.peek()? == b':' {
            self.at += 1;
        }
        self.text.get(from + 1..behind - 1).map(Key)
    }

    /// Skips the next value if it is an object without members.
    #[inline]
    pub fn pass_empty(&mut self) -> bool {
        let is_empty = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"{}"));
        self.at += if is_empty { 2 } else { 0 };
        is_empty
    }

    /// Skips the next value.
    pub fn pass(&mut self) {
        let bytes = self.text.as_bytes();
        self.at = match self.peek() {
            Some(b'{' | b'[') => self.behind(behind_close(bytes, self.at + 1, 1)),
            Some(b'"') => self.behind(behind_string(bytes, self.at + 1)),
            _ => {
                let rest = bytes.get(self.at..).unwrap_or_default();
                self.at + rest.iter().position(|byte| b",]}".contains(byte)).unwrap_or(rest.len())
            }
        };
    }

    /// The next value as it is written, and moves after it.
    pub fn take(&mut self) -> &'a str {
        self.peek();
        let from = self.at;
        self.pass();
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Passes the next value; calls `each` with its items as they are written, if it is a list.
    pub fn each_item(&mut self, mut each: impl FnMut(&'a str)) {
        if self.peek() != Some(b'[') {
            return self.pass();
        }
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b']' => break,
                b',' => self.at += 1,
                _ => each(self.take()),
            }
        }
        self.at += 1;
    }

    /// Moves after the objects that were entered beyond a depth.
    pub fn leave(&mut self, depth: usize) {
        if let Some(open) = self.depth.checked_sub(depth).filter(|open| *open > 0) {
            self.at = self.behind(behind_close(self.text.as_bytes(), self.at, open));
            self.depth = depth;
        }
    }

    /// A position, or the end of a text that does not have it.
    fn behind(&self, place: Option<usize>) -> usize {
        place.unwrap_or(self.text.len())
    }

    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Members};

    fn keys(members: &mut Members<'_>, found: &mut Vec<String>) {
        if !members.enter() {
            return;
        }
        while let Some(key) = members.key() {
            found.push(key.text().into_owned());
            match key.written().starts_with('-') {
                true => members.pass(),
                false => keys(members, found),
            }
        }
        found.push("}".to_owned());
    }

    #[test]
    fn what_is_asked_for_is_walked_through() {
        let rows = [
            ("{}", "}"),
            (r#" { "a" : { } , "b\"c":{"d":[1,{"x":2}],"e":"}"} } "#, r#"a } b"c d e } }"#),
            (r#"{"-a":{"b":["}\"]",{}]},"c":null}"#, "-a c }"),
            ("[{\"a\":1}]", ""),
            ("7", ""),
            ("{\"a\":{\"b\"", "a } }"),
            ("{\"a\":{\"b", "a } }"),
            ("{\"", "}"),
            ("", ""),
        ];
        for (text, expected) in rows {
            let mut found = Vec::new();
            keys(&mut Members::of(text), &mut found);
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_was_entered_can_be_left_at_once() {
        let mut members = Members::of(r#"{"a":{"b":{"c":"}\"{","d":[{}]},"e":{}},"f":{}}"#);
        fn key<'a>(members: &mut Members<'a>) -> (bool, Option<&'a str>) {
            (members.enter(), members.key().map(Key::written))
        }
        for expected in ["a", "b", "c"] {
            assert_eq!(key(&mut members), (true, Some(expected)));
        }
        members.leave(1);
        assert_eq!((members.depth(), members.key().map(Key::written)), (1, Some("f")));
        members.leave(1);
        assert_eq!(key(&mut members), (true, None));
        assert_eq!((members.depth(), members.key().is_none(), members.depth()), (1, true, 0));
    }
}
