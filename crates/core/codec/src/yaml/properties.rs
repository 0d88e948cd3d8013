//! Scans directives, anchors, aliases and tags.
//! Guarantees kube-apiserver's messages. Must never decide what a tag means.

use super::cursor::{Cursor, Scan};
use super::scanner::{Kind, Token};
use std::borrow::Cow;

/// A line that begins with `%`.
pub(super) fn directive<'t>(cursor: &mut Cursor<'t>) -> Scan<Token<'t>> {
    let line = cursor.mark.line;
    cursor.skip();
    let name = cursor.take_word()?;
    if name.is_empty() {
        return cursor.refuse("could not find expected directive name");
    }
    if !cursor.is_blank_or_end(0) {
        return cursor.refuse("found unexpected non-alphabetical character");
    }
    let token = match name {
        "YAML" => version(cursor, line)?,
        "TAG" => tag_directive(cursor, line)?,
        _ => return cursor.refuse("found unknown directive name"),
    };
    end_of_line(cursor)?;
    Ok(token)
}

/// Steps over the end of a line, which may have a comment.
pub(super) fn end_of_line(cursor: &mut Cursor<'_>) -> Scan<()> {
    cursor.want(1)?;
    cursor.skip_blanks()?;
    if cursor.byte(0) == b'#' {
        cursor.take_line()?;
    }
    if !cursor.is_break_or_end(0) {
        return cursor.refuse("did not find expected comment or line break");
    }
    if cursor.is_break() {
        cursor.want(2)?;
        cursor.take_break();
    }
    Ok(())
}

fn version<'t>(cursor: &mut Cursor<'t>, line: usize) -> Scan<Token<'t>> {
    cursor.skip_blanks()?;
    let major = version_number(cursor)?;
    if cursor.byte(0) != b'.' {
        return cursor.refuse("did not find expected digit or '.' character");
    }
    cursor.skip();
    let minor = version_number(cursor)?;
    Ok(Token::new(Kind::Version { major, minor }, line))
}

fn version_number(cursor: &mut Cursor<'_>) -> Scan<u8> {
    const MOST_DIGITS: usize = 2;
    let (mut value, mut digits) = (0, 0);
    cursor.want(1)?;
    while cursor.byte(0).is_ascii_digit() {
        if digits == MOST_DIGITS {
            return cursor.refuse("found extremely long version number");
        }
        digits += 1;
        value = value * 10 + (cursor.byte(0) - b'0');
        cursor.skip();
        cursor.want(1)?;
    }
    if digits == 0 { cursor.refuse("did not find expected version number") } else { Ok(value) }
}

fn tag_directive<'t>(cursor: &mut Cursor<'t>, line: usize) -> Scan<Token<'t>> {
    cursor.skip_blanks()?;
    let handle = tag_handle(cursor)?;
    if !handle.ends_with('!') {
        return cursor.refuse("did not find expected '!'");
    }
    cursor.want(1)?;
    if !cursor.is_blank(0) {
        return cursor.refuse("did not find expected whitespace");
    }
    cursor.skip_blanks()?;
    let prefix = tag_uri(cursor, "")?;
    if prefix.is_empty() {
        return cursor.refuse("did not find expected tag URI");
    }
    if !cursor.is_blank_or_end(0) {
        return cursor.refuse("did not find expected whitespace or line break");
    }
    Ok(Token { text: handle.into(), suffix: prefix, ..Token::new(Kind::TagDirective, line) })
}

/// The name behind `&` or `*`.
pub(super) fn anchor<'t>(cursor: &mut Cursor<'t>) -> Scan<&'t str> {
    cursor.skip();
    let name = cursor.take_word()?;
    let ends =
        cursor.is_blank_or_end(0) || matches!(cursor.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
    if name.is_empty() || !ends {
        return cursor.refuse("did not find expected alphabetic or numeric character");
    }
    Ok(name)
}

/// `!<tag>`, `!suffix`, `!handle!suffix` or `!`. A tag without a handle is its suffix.
pub(super) fn tag<'t>(cursor: &mut Cursor<'t>) -> Scan<Token<'t>> {
    let line = cursor.mark.line;
    cursor.want(2)?;
    let (handle, suffix) = if cursor.byte(1) == b'<' {
        cursor.take(2);
        let tag = tag_uri(cursor, "")?;
        if tag.is_empty() {
            return cursor.refuse("did not find expected tag URI");
        }
        if cursor.byte(0) != b'>' {
            return cursor.refuse("did not find the expected '>'");
        }
        cursor.skip();
        ("", tag)
    } else {
        let handle = tag_handle(cursor)?;
        if handle.len() > 1 && handle.ends_with('!') {
            let suffix = tag_uri(cursor, "")?;
            if suffix.is_empty() {
                return cursor.refuse("did not find expected tag URI");
            }
            (handle, suffix)
        } else {
            // It was the beginning of the suffix.
            let suffix = tag_uri(cursor, handle.get(1..).unwrap_or_default())?;
            if suffix.is_empty() { ("", Cow::Borrowed("!")) } else { ("!", suffix) }
        }
    };
    cursor.want(1)?;
    if !cursor.is_blank_or_end(0) {
        return cursor.refuse("did not find expected whitespace or line break");
    }
    Ok(Token { text: handle.into(), suffix, ..Token::new(Kind::Tag, line) })
}

/// `!`, a word, and another `!` if it is there.
fn tag_handle<'t>(cursor: &mut Cursor<'t>) -> Scan<&'t str> {
    let start = cursor.rest();
    cursor.want(1)?;
    if cursor.byte(0) != b'!' {
        return cursor.refuse("did not find expected '!'");
    }
    cursor.skip();
    cursor.want(1)?;
    let word = cursor.take_word()?;
    let mut length = 1 + word.len();
    if cursor.byte(0) == b'!' {
        cursor.skip();
        length += 1;
    }
    Ok(start.get(..length).unwrap_or_default())
}

/// The URI of a tag that begins with `head`. Escapes stand for bytes.
fn tag_uri<'t>(cursor: &mut Cursor<'t>, head: &'t str) -> Scan<Cow<'t, str>> {
    cursor.want(1)?;
    let is_uri = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-;/?:@&=+$,.!~*'()[]".contains(byte);
    let mut uri = Cow::Borrowed(head);
    loop {
        let length = cursor.rest().bytes().take_while(is_uri).count();
        let part = cursor.take(length);
        cursor.want(1)?;
        if uri.is_empty() {
            uri = Cow::Borrowed(part);
        } else if !part.is_empty() {
            uri.to_mut().push_str(part);
        }
        if cursor.byte(0) != b'%' {
            return Ok(uri);
        }
        uri.to_mut().push_str(&escaped(cursor)?);
        cursor.want(1)?;
    }
}

/// A character as escaped bytes.
fn escaped(cursor: &mut Cursor<'_>) -> Scan<String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut width = 1;
    while bytes.len() < width {
        cursor.want(3)?;
        let digit = |ahead| char::from(cursor.byte(ahead)).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (b'%', Some(high), Some(low)) = (cursor.byte(0), digit(1), digit(2)) else {
            return cursor.refuse("did not find URI escaped octet");
        };
        let octet = high << 4 | low;
        if bytes.is_empty() {
            width = match octet {
                0..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => return cursor.refuse("found an incorrect leading UTF-8 octet"),
            };
        } else if octet & 0xc0 != 0x80 {
            return cursor.refuse("found an incorrect trailing UTF-8 octet");
        }
        bytes.push(octet);
        cursor.take(3);
    }
    // A tag that is no text means nothing else than any other unknown tag.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
