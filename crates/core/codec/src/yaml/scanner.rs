//! Splits the text of a YAML stream into tokens, as libyaml and its port in kube-apiserver do.
//! Guarantees that tokens wait only while one of them may turn out to be a key, which is decided within 1,024 characters, and that each
//! character is scanned once.

use super::cursor::{Cursor, Mark, Scan};
use super::properties;
use super::reader::Source;
use super::scalars;
use std::borrow::Cow;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    StreamEnd,
    /// `%YAML`
    Version {
        major: u8,
        minor: u8,
    },
    /// `%TAG`: the handle is the text, and the prefix the suffix.
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    /// The handle is the text.
    Tag,
    Scalar {
        is_plain: bool,
    },
}

pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    /// Where it begins, counted from zero.
    pub(super) line: usize,
    /// Of a scalar, an alias, an anchor, a tag or its directive.
    pub(super) text: Cow<'t, str>,
    /// Of a tag.
    pub(super) suffix: Cow<'t, str>,
}

impl Token<'_> {
    pub(super) fn new(kind: Kind, line: usize) -> Self {
        Token { kind, line, text: Cow::Borrowed(""), suffix: Cow::Borrowed("") }
    }
}

/// A key that is marked by its colon only, and may begin with a token.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    is_possible: bool,
    /// Whether there can be nothing but a key.
    is_required: bool,
    /// The number of its first token.
    token: usize,
    mark: Mark,
}

/// What comes before a token because it has turned out to begin a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Key,
    MappingAndKey,
}

/// A token that waits for the parser.
struct Waiting<'t> {
    token: Token<'t>,
    before: Before,
    /// The level of brackets at which it may begin a key.
    key_level: Option<usize>,
}

/// A key and its colon are on one line of at most so many characters.
const KEY_CHARACTERS: usize = 1024;

pub(super) struct Scanner<'t> {
    cursor: Cursor<'t>,
    waiting: VecDeque<Waiting<'t>>,
    /// How many tokens the parser has taken, without those that come before others.
    taken: usize,
    /// Whether the first waiting token can be taken.
    is_ready: bool,
    /// The columns of the blocks that are open. The innermost is `indent`.
    indents: Vec<isize>,
    /// -1 outside of all blocks.
    indent: isize,
    /// The possible keys of each level of brackets; that of the blocks comes first.
    keys: Vec<SimpleKey>,
    is_key_allowed: bool,
    /// The level at which the next token may begin a key.
    next_key: Option<usize>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(source: &'t Source<'_>) -> Self {
        Scanner {
            cursor: Cursor::new(source),
            waiting: VecDeque::new(),
            taken: 0,
            is_ready: false,
            indents: Vec::new(),
            indent: -1,
            keys: vec![SimpleKey::default()],
            is_key_allowed: true,
            next_key: None,
        }
    }

    /// The kind of the next token, and its line.
    pub(super) fn peek(&mut self) -> Scan<(Kind, usize)> {
        self.make_ready()?;
        Ok(self.waiting.front().map_or((Kind::StreamEnd, self.cursor.mark.line), |first| {
            let kind = match first.before {
                Before::Nothing => first.token.kind,
                Before::Key => Kind::Key,
                Before::MappingAndKey => Kind::BlockMappingStart,
            };
            (kind, first.token.line)
        }))
    }

    /// The next token, taken.
    pub(super) fn next(&mut self) -> Scan<Token<'t>> {
        self.make_ready()?;
        self.is_ready = false;
        if let Some(first) = self.waiting.front_mut() {
            let line = first.token.line;
            match std::mem::replace(&mut first.before, Before::Nothing) {
                Before::MappingAndKey => {
                    first.before = Before::Key;
                    return Ok(Token::new(Kind::BlockMappingStart, line));
                }
                Before::Key => return Ok(Token::new(Kind::Key, line)),
                Before::Nothing => {}
            }
        }
        self.taken += 1;
        let end = || Token::new(Kind::StreamEnd, self.cursor.mark.line);
        Ok(self.waiting.pop_front().map_or_else(end, |first| first.token))
    }

    /// Scans until it is known whether the next token begins a key.
    fn make_ready(&mut self) -> Scan<()> {
        while !self.is_ready {
            if let Some(first) = self.waiting.front() {
                let level =
                    first.key_level.filter(|level| self.keys.get(*level).is_some_and(|key| key.token == self.taken));
                self.is_ready = match level {
                    Some(level) => !self.is_possible(level)?,
                    None => true,
                };
                if self.is_ready {
                    break;
                }
            }
            self.scan()?;
        }
        Ok(())
    }

    /// Scans a token.
    fn scan(&mut self) -> Scan<()> {
        self.skip_to_token()?;
        self.end_blocks(self.column());
        self.cursor.want(4)?;
        let first = self.cursor.byte(0);
        if first == b'%' && self.cursor.mark.column == 0 {
            return self.directive();
        }
        if self.cursor.is_document_mark() {
            return self.document_mark(if first == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd });
        }
        let in_blocks = !self.in_brackets();
        match first {
            0 => self.stream_end(),
            b'[' => self.open_bracket(Kind::FlowSequenceStart),
            b'{' => self.open_bracket(Kind::FlowMappingStart),
            b']' => self.close_bracket(Kind::FlowSequenceEnd),
            b'}' => self.close_bracket(Kind::FlowMappingEnd),
            b',' => self.flow_entry(),
            b'-' if self.cursor.is_blank_or_end(1) => self.block_entry(),
            b'?' if !in_blocks || self.cursor.is_blank_or_end(1) => self.key(),
            b':' if !in_blocks || self.cursor.is_blank_or_end(1) => self.value(),
            b'*' => self.anchor(Kind::Alias),
            b'&' => self.anchor(Kind::Anchor),
            b'!' => self.tag(),
            b'|' | b'>' if in_blocks => self.block_scalar(first == b'|'),
            b'\'' | b'"' => self.quoted_scalar(first == b'\''),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.refuse_start(),
            _ if self.cursor.is_blank_or_end(0) => self.refuse_start(),
            _ => self.plain_scalar(),
        }
    }

    fn refuse_start(&self) -> Scan<()> {
        self.cursor.refuse("found character that cannot start any token")
    }

    /// Steps over white space and comments. Tabs are white space between brackets, and where no key can begin.
    fn skip_to_token(&mut self) -> Scan<()> {
        loop {
            self.cursor.want(1)?;
            // Another byte order mark at the start; elsewhere it is content.
            if self.cursor.is_start() && self.cursor.rest().starts_with('\u{feff}') {
                self.cursor.skip();
                self.cursor.mark.column = 0;
            }
            let tabs = self.in_brackets() || !self.is_key_allowed;
            while self.cursor.byte(0) == b' ' || tabs && self.cursor.byte(0) == b'\t' {
                self.cursor.skip();
                self.cursor.want(1)?;
            }
            if self.cursor.byte(0) == b'#' {
                self.cursor.take_line()?;
            }
            if !self.cursor.is_break() {
                return Ok(());
            }
            self.cursor.want(2)?;
            self.cursor.take_break();
            if !self.in_brackets() {
                self.is_key_allowed = true;
            }
        }
    }

    fn in_brackets(&self) -> bool {
        self.keys.len() > 1
    }

    fn column(&self) -> isize {
        self.cursor.mark.column.try_into().unwrap_or(isize::MAX)
    }

    fn push(&mut self, token: Token<'t>) {
        self.waiting.push_back(Waiting { token, before: Before::Nothing, key_level: self.next_key.take() });
    }

    /// Adds a token of so many characters.
    fn push_indicator(&mut self, kind: Kind, characters: usize) -> Scan<()> {
        self.push(Token::new(kind, self.cursor.mark.line));
        self.cursor.take(characters);
        Ok(())
    }

    /// The number of the token that is added next.
    fn next_number(&self) -> usize {
        self.taken + self.waiting.len()
    }

    /// The waiting token of a number.
    fn numbered(&mut self, token: usize) -> Option<&mut Waiting<'t>> {
        self.waiting.get_mut(token.checked_sub(self.taken)?)
    }
}

/// Keys.
impl Scanner<'_> {
    fn innermost_key(&mut self) -> Option<&mut SimpleKey> {
        self.keys.last_mut()
    }

    /// Whether the key of a level can still have its colon.
    fn is_possible(&mut self, level: usize) -> Scan<bool> {
        let here = self.cursor.mark;
        let Some(key) = self.keys.get_mut(level).filter(|key| key.is_possible) else { return Ok(false) };
        if key.mark.line == here.line && key.mark.index + KEY_CHARACTERS >= here.index {
            return Ok(true);
        }
        if key.is_required {
            return self.refuse_key();
        }
        key.is_possible = false;
        Ok(false)
    }

    fn refuse_key<T>(&self) -> Scan<T> {
        self.cursor.refuse("could not find expected ':'")
    }

    /// Notes that the next token may begin a key.
    fn save_key(&mut self) -> Scan<()> {
        if !self.is_key_allowed {
            return Ok(());
        }
        self.forget_key()?;
        let saved = SimpleKey {
            is_possible: true,
            is_required: !self.in_brackets() && self.indent == self.column(),
            token: self.next_number(),
            mark: self.cursor.mark,
        };
        self.next_key = self.keys.len().checked_sub(1);
        if let Some(key) = self.innermost_key() {
            *key = saved;
        }
        Ok(())
    }

    /// Notes that the key of the innermost level cannot have its colon any more.
    fn forget_key(&mut self) -> Scan<()> {
        match self.innermost_key() {
            Some(key) if key.is_possible && key.is_required => self.refuse_key(),
            Some(key) => {
                key.is_possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Begins a block at a column, unless it is open. Returns whether it does.
    fn begin_block(&mut self, column: isize) -> bool {
        if self.in_brackets() || self.indent >= column {
            return false;
        }
        self.indents.push(self.indent);
        self.indent = column;
        true
    }

    /// Begins a block here, unless it is open.
    fn begin_block_here(&mut self, kind: Kind) {
        if self.begin_block(self.column()) {
            self.push(Token::new(kind, self.cursor.mark.line));
        }
    }

    /// Ends the blocks to the right of a column.
    fn end_blocks(&mut self, column: isize) {
        while !self.in_brackets() && self.indent > column {
            self.push(Token::new(Kind::BlockEnd, self.cursor.mark.line));
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}

/// Tokens.
impl Scanner<'_> {
    fn stream_end(&mut self) -> Scan<()> {
        self.cursor.end_line();
        self.end_document()?;
        self.push_indicator(Kind::StreamEnd, 0)
    }

    /// Ends all that is open at the end of a document.
    fn end_document(&mut self) -> Scan<()> {
        self.end_blocks(-1);
        self.forget_key()?;
        self.is_key_allowed = false;
        Ok(())
    }

    fn directive(&mut self) -> Scan<()> {
        self.end_document()?;
        let token = properties::directive(&mut self.cursor)?;
        self.push(token);
        Ok(())
    }

    fn document_mark(&mut self, kind: Kind) -> Scan<()> {
        self.end_document()?;
        self.push_indicator(kind, 3)
    }

    fn open_bracket(&mut self, kind: Kind) -> Scan<()> {
        self.save_key()?;
        let token = self.next_number();
        self.push_indicator(kind, 1)?;
        self.keys.push(SimpleKey { token, ..SimpleKey::default() });
        self.is_key_allowed = true;
        Ok(())
    }

    fn close_bracket(&mut self, kind: Kind) -> Scan<()> {
        self.forget_key()?;
        if self.in_brackets()
            && let Some(key) = self.keys.pop()
            && let Some(first) = self.numbered(key.token)
        {
            // If nothing between the brackets could be a key, this is the opening bracket: kube-apiserver no longer waits
            // for the colon behind a pair of them.
            first.key_level = None;
        }
        self.is_key_allowed = false;
        self.push_indicator(kind, 1)
    }

    fn flow_entry(&mut self) -> Scan<()> {
        self.forget_key()?;
        self.is_key_allowed = true;
        self.push_indicator(Kind::FlowEntry, 1)
    }

    fn block_entry(&mut self) -> Scan<()> {
        // Between brackets the parser refuses it.
        if !self.in_brackets() {
            if !self.is_key_allowed {
                return self.cursor.refuse("block sequence entries are not allowed in this context");
            }
            self.begin_block_here(Kind::BlockSequenceStart);
        }
        self.forget_key()?;
        self.is_key_allowed = true;
        self.push_indicator(Kind::BlockEntry, 1)
    }

    /// `?`
    fn key(&mut self) -> Scan<()> {
        if !self.in_brackets() {
            if !self.is_key_allowed {
                return self.cursor.refuse("mapping keys are not allowed in this context");
            }
            self.begin_block_here(Kind::BlockMappingStart);
        }
        self.forget_key()?;
        self.is_key_allowed = !self.in_brackets();
        self.push_indicator(Kind::Key, 1)
    }

    /// `:`
    fn value(&mut self) -> Scan<()> {
        let level = self.keys.len().saturating_sub(1);
        if self.is_possible(level)? {
            self.end_simple_key();
            self.is_key_allowed = false;
        } else {
            if !self.in_brackets() {
                if !self.is_key_allowed {
                    return self.cursor.refuse("mapping values are not allowed in this context");
                }
                self.begin_block_here(Kind::BlockMappingStart);
            }
            self.is_key_allowed = !self.in_brackets();
        }
        self.push_indicator(Kind::Value, 1)
    }

    /// Makes the tokens from the innermost possible key on a key.
    fn end_simple_key(&mut self) {
        let Some(key) = self.innermost_key() else { return };
        key.is_possible = false;
        let SimpleKey { token, mark, .. } = *key;
        let begins = self.begin_block(mark.column.try_into().unwrap_or(isize::MAX));
        match self.numbered(token) {
            Some(first) => {
                first.before = if begins { Before::MappingAndKey } else { Before::Key };
                first.key_level = None;
            }
            // A pair of brackets that was not waited for.
            None => {
                self.push(Token::new(Kind::Key, mark.line));
                if begins {
                    self.push(Token::new(Kind::BlockMappingStart, mark.line));
                }
            }
        }
    }

    fn anchor(&mut self, kind: Kind) -> Scan<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let line = self.cursor.mark.line;
        let name = properties::anchor(&mut self.cursor)?;
        self.push(Token { text: name.into(), ..Token::new(kind, line) });
        Ok(())
    }

    fn tag(&mut self) -> Scan<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let token = properties::tag(&mut self.cursor)?;
        self.push(token);
        Ok(())
    }

    fn block_scalar(&mut self, is_literal: bool) -> Scan<()> {
        self.forget_key()?;
        self.is_key_allowed = true;
        let line = self.cursor.mark.line;
        let text = scalars::block(&mut self.cursor, is_literal, self.indent)?;
        self.push(Token { text, ..Token::new(Kind::Scalar { is_plain: false }, line) });
        Ok(())
    }

    fn quoted_scalar(&mut self, is_single: bool) -> Scan<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let line = self.cursor.mark.line;
        let text = scalars::quoted(&mut self.cursor, is_single)?;
        self.push(Token { text, ..Token::new(Kind::Scalar { is_plain: false }, line) });
        Ok(())
    }

    fn plain_scalar(&mut self) -> Scan<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let line = self.cursor.mark.line;
        let in_brackets = self.in_brackets();
        let (text, ends_line) = scalars::plain(&mut self.cursor, in_brackets, self.indent)?;
        self.is_key_allowed |= ends_line;
        self.push(Token { text, ..Token::new(Kind::Scalar { is_plain: true }, line) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::reader::source;
    use super::*;
    use pintle_schema::random::Random;

    /// Pieces of texts, and, as one more, what separates them.
    const PARTS: &str = "a|a: |:|- |-|? |?|[|]|{|}|,|#| #|&x |*x|!|!!str |!<a> |>-\n|'|\"|\\|\\x41|%YAML 1.1\n|%TAG ! a\n|---\n|...| |  \
                         |\n|\n  |\n\n|\t|\r\n|x y|1|~|<<: |é|\u{85}|\u{2028}|\u{feff}|\u{1f600}|k: v\n|'q\ny'|{a: b}";

    fn texts() -> impl Iterator<Item = String> {
        let pieces: Vec<&str> = PARTS.split('|').chain(["|\n"]).collect();
        (1..=20_000).map(move |seed| {
            let mut chance = Random::new(seed);
            let parts = 1 + chance.below(if seed % 100 == 0 { 3000 } else { 20 });
            // Often of few kinds, so that the same repeats.
            let kinds = 1 + chance.below(pieces.len());
            let first = chance.below(pieces.len());
            (0..parts).map(|_| pieces[(first + chance.below(kinds)) % pieces.len()]).collect()
        })
    }

    #[test]
    fn tokens_are_as_many_as_characters_and_few_wait() {
        for text in texts() {
            let source = source(text.as_bytes());
            let mut scanner = Scanner::new(&source);
            let mut tokens = 0;
            while let Ok(token) = scanner.next() {
                if token.kind == Kind::StreamEnd {
                    break;
                }
                tokens += 1;
                let ends = scanner.waiting.iter().filter(|waiting| waiting.token.kind == Kind::BlockEnd).count();
                assert!(scanner.waiting.len() - ends <= KEY_CHARACTERS + 2, "{text:?}");
            }
            // A character may begin a block and a key, and end them.
            assert!(tokens <= 4 * text.len() + 4, "{tokens} tokens: {text:?}");
        }
    }

    #[test]
    fn no_token_waits_behind_what_cannot_be_a_key() {
        for text in [
            "[1, 2]\n".repeat(10),
            format!("a: [{}]", "b, ".repeat(10_000)),
            "- a: b\n".repeat(1000),
            format!("[{}", "[".repeat(5000)),
        ] {
            let source = source(text.as_bytes());
            let mut scanner = Scanner::new(&source);
            let mut most = 0;
            while !scanner.next().is_ok_and(|token| token.kind == Kind::StreamEnd) {
                most = most.max(scanner.waiting.len());
            }
            assert!(most <= KEY_CHARACTERS + 2, "{most} tokens wait: {}", &text[..20]);
        }
    }
}
