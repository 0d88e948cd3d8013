//! Tokens of a source: always the longest, as kube-apiserver's generated lexer finds them.
//!
//! What is no token is reported and skipped, together with the characters that looked like the beginning of one.

use super::token::{T, Token};
use crate::issue::{Issues, Source};

/// All tokens, hidden ones too, with the end of the source as the last.
pub(super) fn tokens(source: &Source, issues: &mut Issues) -> Vec<Token> {
    let chars = source.chars();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let (kind, end) = match scan(chars, at) {
            Scan { accepted: Some((kind, end)), .. } => (kind, end),
            Scan { reached, .. } => {
                let text = source.slice(at, reached + 1);
                let position = source.position(offset(at));
                issues.report(0, position, format!("Syntax error: token recognition error at: '{text}'"));
                at = reached + 1;
                continue;
            }
        };
        tokens.push(Token { kind, start: offset(at), end: offset(end) });
        at = end;
    }
    tokens.push(Token { kind: T::Eof, start: offset(chars.len()), end: offset(chars.len()) });
    tokens
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The longest token, and how far any token could have gone: the first character that none takes.
struct Scan {
    accepted: Option<(T, usize)>,
    reached: usize,
}

impl Scan {
    fn accept(&mut self, kind: T, end: usize) {
        if self.accepted.is_none_or(|(_, longest)| end > longest) {
            self.accepted = Some((kind, end));
        }
    }

    fn reach(&mut self, at: usize) {
        self.reached = self.reached.max(at);
    }
}

fn scan(chars: &[char], at: usize) -> Scan {
    let mut scan = Scan { accepted: None, reached: at };
    let get = |at: usize| chars.get(at).copied();
    let Some(first) = get(at) else { return scan };
    let pair = |second: char| get(at + 1) == Some(second);
    let fixed = match first {
        '=' if pair('=') => Some((T::Equals, 2)),
        '=' => {
            scan.reach(at + 1);
            None
        }
        '!' if pair('=') => Some((T::NotEquals, 2)),
        '!' => Some((T::Exclamation, 1)),
        '<' if pair('=') => Some((T::LessEquals, 2)),
        '<' => Some((T::Less, 1)),
        '>' if pair('=') => Some((T::GreaterEquals, 2)),
        '>' => Some((T::Greater, 1)),
        '&' if pair('&') => Some((T::And, 2)),
        '|' if pair('|') => Some((T::Or, 2)),
        '&' | '|' => {
            scan.reach(at + 1);
            None
        }
        '[' => Some((T::LeftBracket, 1)),
        ']' => Some((T::RightBracket, 1)),
        '{' => Some((T::LeftBrace, 1)),
        '}' => Some((T::RightBrace, 1)),
        '(' => Some((T::LeftParen, 1)),
        ')' => Some((T::RightParen, 1)),
        '.' => Some((T::Dot, 1)),
        ',' => Some((T::Comma, 1)),
        '-' => Some((T::Minus, 1)),
        '?' => Some((T::Question, 1)),
        ':' => Some((T::Colon, 1)),
        '+' => Some((T::Plus, 1)),
        '*' => Some((T::Star, 1)),
        '/' if pair('/') => {
            let end = (at..chars.len()).find(|at| get(*at) == Some('\n')).unwrap_or(chars.len());
            Some((T::Hidden, end - at))
        }
        '/' => Some((T::Slash, 1)),
        '%' => Some((T::Percent, 1)),
        '\t' | ' ' | '\r' | '\n' | '\u{c}' => {
            let end = run(chars, at, |c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
            Some((T::Hidden, end - at))
        }
        _ => None,
    };
    if let Some((kind, length)) = fixed {
        scan.accept(kind, at + length);
    }
    match first {
        '0'..='9' | '.' => number(chars, at, &mut scan),
        '"' | '\'' => string(chars, at, T::String, false, &mut scan),
        '`' => {
            let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
            let end = run(chars, at + 1, inner);
            scan.reach(end);
            if end > at + 1 && get(end) == Some('`') {
                scan.accept(T::QuotedIdent, end + 1);
            }
        }
        'a'..='z' | 'A'..='Z' | '_' => word(chars, at, &mut scan),
        _ => {}
    }
    scan
}

fn run(chars: &[char], from: usize, inside: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|at| !chars.get(*at).copied().is_some_and(&inside)).unwrap_or(chars.len())
}

fn word(chars: &[char], at: usize, scan: &mut Scan) {
    let end = run(chars, at, |c| c.is_ascii_alphanumeric() || c == '_');
    let text: String = chars.get(at..end).unwrap_or(&[]).iter().take(6).collect();
    let kind = match text.as_str() {
        "in" => T::In,
        "true" => T::True,
        "false" => T::False,
        "null" => T::Null,
        _ => T::Ident,
    };
    scan.accept(kind, end);
    let is = |at: usize, letter: char| chars.get(at).is_some_and(|c| c.eq_ignore_ascii_case(&letter));
    let quote = |at: usize| matches!(chars.get(at), Some('"' | '\''));
    // Prefixes: raw strings, bytes, raw bytes.
    if is(at, 'r') && quote(at + 1) {
        string(chars, at + 1, T::String, true, scan);
    } else if is(at, 'b') && quote(at + 1) {
        string(chars, at + 1, T::Bytes, false, scan);
    } else if is(at, 'b') && is(at + 1, 'r') && quote(at + 2) {
        string(chars, at + 2, T::Bytes, true, scan);
    }
}

fn number(chars: &[char], at: usize, scan: &mut Scan) {
    let get = |at: usize| chars.get(at).copied();
    let digit = |c: char| c.is_ascii_digit();
    let exponent = |from: usize| -> Option<usize> {
        if !matches!(get(from), Some('e' | 'E')) {
            return None;
        }
        let from = if matches!(get(from + 1), Some('+' | '-')) { from + 2 } else { from + 1 };
        let end = run(chars, from, digit);
        (end > from).then_some(end)
    };
    let whole = run(chars, at, digit);
    if whole > at {
        scan.accept(T::Int, whole);
        if matches!(get(whole), Some('u' | 'U')) {
            scan.accept(T::Uint, whole + 1);
        }
        if let Some(end) = exponent(whole) {
            scan.accept(T::Float, end);
        }
    }
    if get(whole) == Some('.') {
        let end = run(chars, whole + 1, digit);
        if end > whole + 1 {
            scan.accept(T::Float, exponent(end).unwrap_or(end));
        }
    }
    if get(at) == Some('0') && get(at + 1) == Some('x') {
        let end = run(chars, at + 2, |c| c.is_ascii_hexdigit());
        if end > at + 2 {
            scan.accept(T::Int, end);
            if matches!(get(end), Some('u' | 'U')) {
                scan.accept(T::Uint, end + 1);
            }
        }
    }
}

/// A string that begins with the quote at `at`, in one line or between three quotes.
fn string(chars: &[char], at: usize, kind: T, is_raw: bool, scan: &mut Scan) {
    let get = |at: usize| chars.get(at).copied();
    let Some(quote) = get(at) else { return };
    let mut next = at + 1;
    loop {
        match get(next) {
            Some(c) if c == quote => {
                scan.accept(kind, next + 1);
                break;
            }
            None | Some('\n' | '\r') => {
                scan.reach(next);
                break;
            }
            Some('\\') if !is_raw => match escape(chars, next) {
                Ok(end) => next = end,
                Err(wrong) => {
                    scan.reach(wrong);
                    break;
                }
            },
            Some(_) => next += 1,
        }
    }
    if get(at + 1) != Some(quote) || get(at + 2) != Some(quote) {
        return;
    }
    let mut next = at + 3;
    loop {
        match get(next) {
            None => {
                scan.reach(next);
                return;
            }
            Some(c) if c == quote && get(next + 1) == Some(quote) && get(next + 2) == Some(quote) => {
                scan.accept(kind, next + 3);
                return;
            }
            Some('\\') if !is_raw => match escape(chars, next) {
                Ok(end) => next = end,
                Err(wrong) => {
                    scan.reach(wrong);
                    return;
                }
            },
            Some(_) => next += 1,
        }
    }
}

/// The end of an escape sequence, or the character that makes it none.
fn escape(chars: &[char], at: usize) -> Result<usize, usize> {
    let digits = |from: usize, count: usize, is: fn(char) -> bool| match (from..from + count)
        .find(|at| !chars.get(*at).copied().is_some_and(is))
    {
        Some(wrong) => Err(wrong),
        None => Ok(from + count),
    };
    match chars.get(at + 1) {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(at + 2),
        Some('0'..='3') => digits(at + 2, 2, |c| matches!(c, '0'..='7')),
        Some('x' | 'X') => digits(at + 2, 2, |c| c.is_ascii_hexdigit()),
        Some('u') => digits(at + 2, 4, |c| c.is_ascii_hexdigit()),
        Some('U') => digits(at + 2, 8, |c| c.is_ascii_hexdigit()),
        _ => Err(at + 1),
    }
}
