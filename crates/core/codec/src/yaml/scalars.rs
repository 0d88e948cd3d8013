//! Scans scalars: block scalars, quoted ones and plain ones.
//! Guarantees kube-apiserver's values: which lines belong to a scalar, how they are folded, and what is left of its last line breaks. A
//! scalar on one line is borrowed from the text.

use super::cursor::{Cursor, Scan};
use super::properties::end_of_line;
use std::borrow::Cow;

/// What is left of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    /// `-`: nothing.
    Strip,
    /// The first one, if there is one.
    Clip,
    /// `+`: all.
    Keep,
}

/// A scalar behind `|` or `>`, inside of a block at the column `outer`.
pub(super) fn block<'t>(cursor: &mut Cursor<'t>, is_literal: bool, outer: isize) -> Scan<Cow<'t, str>> {
    cursor.skip();
    let (chomping, increment) = block_header(cursor)?;
    end_of_line(cursor)?;
    let least = usize::try_from(outer + 1).unwrap_or(0);
    let mut indent = increment.map(|increment| usize::try_from(outer).unwrap_or(0) + increment);
    let mut value = String::new();
    let mut breaks = String::new();
    let column = block_breaks(cursor, &mut indent, least, &mut breaks)?;
    cursor.want(1)?;
    // The break after the last line, and whether that line began with white space.
    let (mut last_break, mut was_blank) = ("", false);
    while cursor.mark.column == column && !cursor.is_end() {
        let is_blank = cursor.is_blank(0);
        if is_literal || last_break != "\n" || was_blank || is_blank {
            value.push_str(last_break);
        } else if breaks.is_empty() {
            value.push(' ');
        }
        value.push_str(&breaks);
        breaks.clear();
        was_blank = is_blank;
        value.push_str(cursor.take_line()?);
        cursor.want(2)?;
        last_break = cursor.take_break();
        block_breaks(cursor, &mut indent, least, &mut breaks)?;
    }
    if chomping != Chomping::Strip {
        value.push_str(last_break);
    }
    if chomping == Chomping::Keep {
        value.push_str(&breaks);
    }
    Ok(value.into())
}

/// What follows `|` or `>`, in either order: `+` or `-`, and a digit.
fn block_header(cursor: &mut Cursor<'_>) -> Scan<(Chomping, Option<usize>)> {
    cursor.want(1)?;
    let mut chomping = None;
    let mut increment = None;
    // Each at most once.
    for _ in 0..2 {
        match cursor.byte(0) {
            b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
            b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
            b'0' if increment.is_none() => return cursor.refuse("found an indentation indicator equal to 0"),
            digit @ b'1'..=b'9' if increment.is_none() => increment = Some(usize::from(digit - b'0')),
            _ => break,
        }
        cursor.skip();
        cursor.want(1)?;
    }
    Ok((chomping.unwrap_or(Chomping::Clip), increment))
}

/// Steps over the indentation of the next line and over empty lines before it. The first time they decide about the
/// indentation, if it is not given. Returns it.
fn block_breaks(cursor: &mut Cursor<'_>, indent: &mut Option<usize>, least: usize, breaks: &mut String) -> Scan<usize> {
    let most = indent.unwrap_or(usize::MAX);
    let mut deepest = 0;
    loop {
        cursor.want(1)?;
        while cursor.mark.column < most && cursor.byte(0) == b' ' {
            cursor.skip();
            cursor.want(1)?;
        }
        deepest = deepest.max(cursor.mark.column);
        if cursor.mark.column < most && cursor.byte(0) == b'\t' {
            return cursor.refuse("found a tab character where an indentation space is expected");
        }
        if !cursor.is_break() {
            break;
        }
        cursor.want(2)?;
        breaks.push_str(cursor.take_break());
    }
    Ok(*indent.get_or_insert(deepest.max(least).max(1)))
}

/// Line breaks and white space inside of a scalar on several lines, before they are folded.
#[derive(Default)]
struct Folding {
    /// The first line break; empty if there was none.
    first: &'static str,
    /// The others.
    others: String,
    /// Whether the white space is at the beginning of a line.
    is_line_start: bool,
}

impl Folding {
    /// Adds a line break.
    fn add(&mut self, line_break: &'static str) {
        if self.is_line_start {
            self.others.push_str(line_break);
        } else {
            self.first = line_break;
            self.is_line_start = true;
        }
    }

    /// Appends what the line breaks stand for: one is a space, further ones remain.
    fn fold(&mut self, value: &mut String) {
        match self.first {
            "\n" if self.others.is_empty() => value.push(' '),
            "\n" => {}
            other => value.push_str(other),
        }
        value.push_str(&self.others);
        self.first = "";
        self.others.clear();
        self.is_line_start = false;
    }
}

/// A scalar in quotes.
pub(super) fn quoted<'t>(cursor: &mut Cursor<'t>, is_single: bool) -> Scan<Cow<'t, str>> {
    cursor.skip();
    if let Some(text) = quoted_line(cursor, is_single) {
        return Ok(text.into());
    }
    let quote = if is_single { b'\'' } else { b'"' };
    let mut value = String::new();
    let mut folding = Folding::default();
    loop {
        cursor.want(4)?;
        if cursor.is_document_mark() {
            return cursor.refuse("found unexpected document indicator");
        }
        if cursor.is_end() {
            return cursor.refuse("found unexpected end of stream");
        }
        quoted_words(cursor, is_single, &mut value, &mut folding)?;
        cursor.want(1)?;
        if cursor.byte(0) == quote {
            break;
        }
        let mut blanks = "";
        loop {
            if cursor.is_blank(0) {
                let length = cursor.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let taken = cursor.take(length);
                if !folding.is_line_start {
                    blanks = taken;
                }
            } else if cursor.is_break() {
                cursor.want(2)?;
                folding.add(cursor.take_break());
            } else {
                break;
            }
            cursor.want(1)?;
        }
        if folding.is_line_start {
            folding.fold(&mut value);
        } else {
            value.push_str(blanks);
        }
    }
    cursor.skip();
    Ok(value.into())
}

/// The text of a scalar on one line without escapes, behind its quote.
fn quoted_line<'t>(cursor: &mut Cursor<'t>, is_single: bool) -> Option<&'t str> {
    if !cursor.is_whole() {
        return None;
    }
    let quote = if is_single { b'\'' } else { b'"' };
    let ends = |byte: u8| byte == quote || matches!(byte, b'\n' | b'\r' | 0xc2 | 0xe2) || !is_single && byte == b'\\';
    let length = cursor.rest().bytes().position(ends)?;
    if cursor.byte(length) != quote || is_single && cursor.byte(length + 1) == quote {
        return None;
    }
    let text = cursor.take(length);
    cursor.skip();
    Some(text)
}

/// What is in quotes up to white space or the closing quote. An escaped line break ends it, too.
fn quoted_words(cursor: &mut Cursor<'_>, is_single: bool, value: &mut String, folding: &mut Folding) -> Scan<()> {
    while !cursor.is_blank_or_end(0) {
        match cursor.byte(0) {
            b'\'' if is_single && cursor.byte(1) == b'\'' => {
                value.push('\'');
                cursor.take(2);
            }
            b'\'' if is_single => return Ok(()),
            b'"' if !is_single => return Ok(()),
            b'\\' if !is_single && cursor.line_break(1) > 0 => {
                cursor.want(3)?;
                cursor.skip();
                cursor.take_break();
                folding.is_line_start = true;
                return Ok(());
            }
            b'\\' if !is_single => value.push(escape(cursor)?),
            _ => {
                let is_plain =
                    |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\'' | b'"' | b'\\' | 0xc2 | 0xe2);
                let length = cursor.rest().bytes().take_while(is_plain).count();
                if length > 0 {
                    value.push_str(cursor.take(length));
                } else {
                    let char = cursor.rest().chars().next().unwrap_or_default();
                    cursor.skip();
                    value.push(char);
                }
            }
        }
        cursor.want(2)?;
    }
    Ok(())
}

/// The character that an escape stands for.
fn escape(cursor: &mut Cursor<'_>) -> Scan<char> {
    let digits = match cursor.byte(1) {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => 0,
    };
    let simple = match cursor.byte(1) {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0b',
        b'f' => '\x0c',
        b'r' => '\r',
        b'e' => '\x1b',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        b'x' | b'u' | b'U' => '\0',
        _ => return cursor.refuse("found unknown escape character"),
    };
    cursor.take(2);
    if digits == 0 {
        return Ok(simple);
    }
    cursor.want(digits)?;
    let mut value: u32 = 0;
    for at in 0..digits {
        let Some(digit) = char::from(cursor.byte(at)).to_digit(16) else {
            return cursor.refuse("did not find expected hexdecimal number");
        };
        value = value << 4 | digit;
    }
    let Some(char) = char::from_u32(value) else {
        return cursor.refuse("found invalid Unicode character escape code");
    };
    cursor.take(digits);
    Ok(char)
}

/// A scalar without quotes, inside of a block at the column `outer`, and whether white space after it ends a line.
pub(super) fn plain<'t>(cursor: &mut Cursor<'t>, in_brackets: bool, outer: isize) -> Scan<(Cow<'t, str>, bool)> {
    let least = usize::try_from(outer + 1).unwrap_or(0);
    let start = cursor.rest();
    // The first lines, as long as they are one; later ones are folded into `value`.
    let (mut length, mut value) = (0, None);
    let mut folding = Folding::default();
    // White space after the last word.
    let mut blanks = "";
    loop {
        cursor.want(4)?;
        if cursor.is_document_mark() || cursor.byte(0) == b'#' {
            break;
        }
        let words = plain_words(cursor, in_brackets)?;
        if !words.is_empty() {
            if folding.is_line_start {
                let value = value.get_or_insert_with(|| start.get(..length).unwrap_or_default().to_owned());
                folding.fold(value);
                value.push_str(words);
            } else if let Some(value) = &mut value {
                value.push_str(blanks);
                value.push_str(words);
            } else {
                length += blanks.len() + words.len();
            }
            blanks = "";
        }
        if !cursor.is_blank(0) && !cursor.is_break() {
            break;
        }
        loop {
            if cursor.is_blank(0) {
                if folding.is_line_start && cursor.mark.column < least && cursor.byte(0) == b'\t' {
                    return cursor.refuse("found a tab character that violates indentation");
                }
                if folding.is_line_start {
                    cursor.skip();
                } else {
                    let length = cursor.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                    blanks = cursor.take(length);
                }
            } else if cursor.is_break() {
                cursor.want(2)?;
                folding.add(cursor.take_break());
            } else {
                break;
            }
            cursor.want(1)?;
        }
        if !in_brackets && cursor.mark.column < least {
            break;
        }
    }
    let text = value.map_or_else(|| Cow::Borrowed(start.get(..length).unwrap_or_default()), Cow::Owned);
    Ok((text, folding.is_line_start))
}

/// What can be in a plain scalar, up to white space.
fn plain_words<'t>(cursor: &mut Cursor<'t>, in_brackets: bool) -> Scan<&'t str> {
    let bytes = cursor.rest().as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => break,
            b':' if cursor.is_blank_or_end(length + 1) => break,
            b',' | b'?' | b'[' | b']' | b'{' | b'}' if in_brackets => break,
            0xc2 | 0xe2 if cursor.line_break(length) > 0 => break,
            _ => length += 1,
        }
    }
    let words = cursor.take(length);
    if !words.is_empty() {
        cursor.want(2)?;
    }
    Ok(words)
}
