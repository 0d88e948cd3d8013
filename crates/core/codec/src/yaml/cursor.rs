//! A position in the text of a YAML stream: what is there, and steps over it.
//! Guarantees that line and column are counted in characters, as in kube-apiserver's scanner, and that every byte is
//! stepped over once. Must never step back.

use super::nodes::{at_line, error};
use super::reader::Source;
use crate::error::DecodeError;

pub(super) type Scan<T> = Result<T, DecodeError>;

/// A position in characters.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    /// Counted from zero.
    pub(super) line: usize,
    /// Counted from zero.
    pub(super) column: usize,
}

pub(super) struct Cursor<'t> {
    text: &'t str,
    broken: Option<&'static str>,
    /// The position in bytes.
    at: usize,
    pub(super) mark: Mark,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(source: &'t Source<'_>) -> Self {
        Cursor { text: &source.text, broken: source.broken, at: 0, mark: Mark::default() }
    }

    /// The byte so many bytes ahead; zero, which no text contains, behind its end.
    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Fails if fewer characters can be read because those that follow cannot be decoded. To ask where kube-apiserver
    /// reads more decides which of two problems is reported.
    #[inline]
    pub(super) fn want(&self, characters: usize) -> Scan<()> {
        self.broken.map_or(Ok(()), |problem| self.want_more(characters, problem))
    }

    #[cold]
    fn want_more(&self, characters: usize, problem: &str) -> Scan<()> {
        let left = self.rest().chars().take(characters).count();
        if left < characters { Err(error(problem)) } else { Ok(()) }
    }

    /// Whether all of the text can be decoded.
    pub(super) fn is_whole(&self) -> bool {
        self.broken.is_none()
    }

    /// An error of the scanner here.
    #[cold]
    pub(super) fn refuse<T>(&self, problem: &str) -> Scan<T> {
        Err(at_line(self.mark.line, problem))
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn is_start(&self) -> bool {
        self.at == 0
    }

    /// The length of the line break so many bytes ahead; zero if there is none.
    #[inline]
    pub(super) fn line_break(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.byte(ahead + 1) == b'\n'),
            // A next line, and the separators of lines and paragraphs.
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_break(&self) -> bool {
        self.line_break(0) > 0
    }

    /// Whether here is a space or a tab.
    #[inline]
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    #[inline]
    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.line_break(ahead) > 0
    }

    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Whether here is a mark that begins or ends a document.
    pub(super) fn is_document_mark(&self) -> bool {
        let dots = matches!(self.byte(0), b'-' | b'.') && [self.byte(1), self.byte(2)] == [self.byte(0); 2];
        self.mark.column == 0 && dots && self.is_blank_or_end(3)
    }

    /// Steps over a character that is no line break.
    #[inline]
    pub(super) fn skip(&mut self) {
        let width = match self.byte(0) {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        self.at += width;
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Steps over so many bytes, which end with a character, without line breaks, and returns them.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> &'t str {
        let taken = self.rest().get(..bytes).unwrap_or_default();
        // Every byte begins a character except those that continue one.
        let characters = taken.bytes().filter(|byte| byte & 0xc0 != 0x80).count();
        self.at += taken.len();
        self.mark.index += characters;
        self.mark.column += characters;
        taken
    }

    /// Steps over a line break. Returns it as it is in the value of a scalar.
    #[inline]
    pub(super) fn take_break(&mut self) -> &'static str {
        let length = self.line_break(0);
        let taken = match (length, self.byte(2)) {
            (0, _) => return "",
            (3, 0xa8) => "\u{2028}",
            (3, _) => "\u{2029}",
            _ => "\n",
        };
        self.mark.index += if self.byte(0) == b'\r' { length } else { 1 };
        self.mark.line += 1;
        self.mark.column = 0;
        self.at += length;
        taken
    }

    /// Steps over what is left of a line, and returns it without its break.
    #[inline]
    pub(super) fn take_line(&mut self) -> Scan<&'t str> {
        let mut length = 0;
        loop {
            let rest = self.text.as_bytes().get(self.at + length..).unwrap_or_default();
            length += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | 0xc2 | 0xe2)).unwrap_or(rest.len());
            if self.is_break_or_end(length) {
                let line = self.take(length);
                self.want(1)?;
                return Ok(line);
            }
            length += 1;
        }
    }

    /// Steps over spaces and tabs.
    pub(super) fn skip_blanks(&mut self) -> Scan<()> {
        while self.is_blank(0) {
            self.skip();
            self.want(1)?;
        }
        Ok(())
    }

    /// Steps over ASCII letters, digits, `_` and `-`, and returns them.
    pub(super) fn take_word(&mut self) -> Scan<&'t str> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = self.rest().bytes().take_while(is_word).count();
        let word = self.take(length);
        self.want(1)?;
        Ok(word)
    }

    /// Goes to the line after the text, if the last one has content.
    pub(super) fn end_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }
}
