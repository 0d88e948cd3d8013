//! Reads a pattern as kube-apiserver does.
//!
//! Guarantees kube-apiserver's verdict and error text, and a tree of bounded height and size. Takes time linear in the
//! pattern.

use super::class::{self, Class};
use super::tree::{Assertion, Node};
use std::collections::HashMap;
use std::sync::Arc;

/// The most copies that counted repetitions may make of one thing.
const MAX_REPEAT: u64 = 1000;

/// The most things within things.
const MAX_HEIGHT: u32 = 1000;

/// The most instructions of a compiled pattern.
const MAX_SIZE: u64 = (128 << 20) / 40;

/// The most characters that ranges of sets begin and end with.
const MAX_RUNES: u64 = (128 << 20) / 4;

/// What is wrong with a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    CharRange,
    Escape,
    NamedCapture,
    PerlOperator,
    RepeatOperator,
    RepeatSize,
    MissingBracket,
    MissingParenthesis,
    MissingRepeatArgument,
    TrailingBackslash,
    UnexpectedParenthesis,
    TooDeep,
    TooLarge,
}

impl Fault {
    /// The error about a part of the pattern.
    pub(super) fn about(self, part: &str) -> String {
        let what = match self {
            Fault::CharRange => "invalid character class range",
            Fault::Escape => "invalid escape sequence",
            Fault::NamedCapture => "invalid named capture",
            Fault::PerlOperator => "invalid or unsupported Perl syntax",
            Fault::RepeatOperator => "invalid nested repetition operator",
            Fault::RepeatSize => "invalid repeat count",
            Fault::MissingBracket => "missing closing ]",
            Fault::MissingParenthesis => "missing closing )",
            Fault::MissingRepeatArgument => "missing argument to repetition operator",
            Fault::TrailingBackslash => "trailing backslash at end of expression",
            Fault::UnexpectedParenthesis => "unexpected )",
            Fault::TooDeep => "expression nests too deeply",
            Fault::TooLarge => "expression too large",
        };
        format!("error parsing regexp: {what}: `{part}`")
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold_case: bool,
    many_lines: bool,
    dot_takes_newline: bool,
    not_greedy: bool,
}

/// What is on the stack of what was read.
enum Item {
    Open { flags: Flags, captures: bool },
    Bar,
    Part(Part),
}

/// A part of the expression.
struct Part {
    node: Node,
    height: u32,
    /// The instructions that it compiles to, as kube-apiserver counts them.
    size: u64,
    /// The product of the repetitions within each other.
    repeats: u64,
}

/// Reads a pattern.
pub(super) fn parse(pattern: &str) -> Result<Node, String> {
    let mut parser = Parser { pattern, rest: pattern, ..Parser::default() };
    let mut last_repeat = None;
    while let Some(first) = parser.rest.chars().next() {
        last_repeat = parser.read(first, last_repeat)?;
    }
    parser.close_alternatives()?;
    match (parser.stack.pop(), parser.stack.is_empty()) {
        (Some(Item::Part(whole)), true) => Ok(whole.node),
        _ => Err(Fault::MissingParenthesis.about(pattern)),
    }
}

#[derive(Default)]
struct Parser<'p> {
    pattern: &'p str,
    rest: &'p str,
    flags: Flags,
    stack: Vec<Item>,
    /// Sets that occurred before, by what they are written as.
    sets: HashMap<String, Arc<Class>>,
    /// Ends of ranges of all sets.
    runes: u64,
}

/// The text before `rest`, which is its end.
fn before<'a>(text: &'a str, rest: &str) -> &'a str {
    text.get(..text.len() - rest.len()).unwrap_or(text)
}

impl<'p> Parser<'p> {
    /// Reads one thing; `last_repeat` is the text from the repetition operator on that was read just before. Gives the
    /// same for the next.
    fn read(&mut self, first: char, last_repeat: Option<&'p str>) -> Result<Option<&'p str>, String> {
        let text = self.rest;
        let after = text.get(first.len_utf8()..).unwrap_or("");
        self.rest = after;
        match first {
            '(' if after.starts_with('?') => self.read_perl_group(text)?,
            '(' => self.open(self.flags, true),
            '|' => {
                self.concatenate()?;
                self.stack.push(Item::Bar);
            }
            ')' => self.close()?,
            '^' if self.flags.many_lines => self.push(Node::Assertion(Assertion::LineStart))?,
            '^' => self.push(Node::Assertion(Assertion::Start))?,
            '$' if self.flags.many_lines => self.push(Node::Assertion(Assertion::LineEnd))?,
            '$' => self.push(Node::Assertion(Assertion::End))?,
            '.' if self.flags.dot_takes_newline => self.push(Node::Any)?,
            '.' => self.push(Node::AnyButNewline)?,
            '[' => self.read_class(text)?,
            '*' => return self.repeat("*", (0, None), text, last_repeat).map(Some),
            '+' => return self.repeat("+", (1, None), text, last_repeat).map(Some),
            '?' => return self.repeat("?", (0, Some(1)), text, last_repeat).map(Some),
            '{' => match read_count(after) {
                Some((count, after)) => {
                    self.rest = after;
                    let most = MAX_REPEAT as u32;
                    let (least, upper) = count;
                    if least > most || upper.is_some_and(|upper| upper > most || least > upper) {
                        return Err(Fault::RepeatSize.about(before(text, after)));
                    }
                    return self.repeat("{", count, text, last_repeat).map(Some);
                }
                None => self.push_literal('{')?,
            },
            '\\' => self.read_backslash(text)?,
            literal => self.push_literal(literal)?,
        }
        Ok(None)
    }

    fn read_backslash(&mut self, text: &'p str) -> Result<(), String> {
        match self.rest.as_bytes().first() {
            Some(b'A') => self.push_assertion(Assertion::Start),
            Some(b'z') => self.push_assertion(Assertion::End),
            Some(b'b') => self.push_assertion(Assertion::WordBoundary),
            Some(b'B') => self.push_assertion(Assertion::NoWordBoundary),
            Some(b'C') => Err(Fault::Escape.about(r"\C")),
            Some(b'Q') => {
                let quoted = self.rest.get(1..).unwrap_or("");
                let (literal, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                self.rest = rest;
                literal.chars().try_for_each(|c| self.push_literal(c))
            }
            _ => {
                if let Some((set, rest)) = read_set(text)? {
                    self.rest = rest;
                    return self.push_set(&set, false);
                }
                let (literal, rest) = read_escape(text)?;
                self.rest = rest;
                self.push_code(literal)
            }
        }
    }

    /// Pushes what a backslash and one letter stand for.
    fn push_assertion(&mut self, assertion: Assertion) -> Result<(), String> {
        self.rest = self.rest.get(1..).unwrap_or("");
        self.push(Node::Assertion(assertion))
    }

    fn push(&mut self, node: Node) -> Result<(), String> {
        self.push_part(Part { node, height: 1, size: 1, repeats: 1 })
    }

    fn push_part(&mut self, part: Part) -> Result<(), String> {
        if part.height > MAX_HEIGHT {
            return Err(Fault::TooDeep.about(self.pattern));
        }
        if part.size > MAX_SIZE || self.runes > MAX_RUNES {
            return Err(Fault::TooLarge.about(self.pattern));
        }
        self.stack.push(Item::Part(part));
        Ok(())
    }

    fn push_literal(&mut self, literal: char) -> Result<(), String> {
        self.push_code(u32::from(literal))
    }

    /// Pushes a character by number; half a surrogate pair never stands in a text.
    fn push_code(&mut self, code: u32) -> Result<(), String> {
        match char::from_u32(code) {
            None => self.push(Node::Never),
            Some(literal) if self.flags.fold_case && may_fold(literal) => self.push_class(written_char(literal)),
            Some(literal) => self.push(Node::Char(literal)),
        }
    }

    fn push_set(&mut self, set: &str, negated: bool) -> Result<(), String> {
        let negation = if negated { "^" } else { "" };
        self.push_class(format!("[{negation}{set}]"))
    }

    fn push_class(&mut self, set: String) -> Result<(), String> {
        let written = if self.flags.fold_case { format!("(?i:{set})") } else { set };
        let class = match self.sets.get(&written) {
            Some(class) => class.clone(),
            None => {
                let class = Arc::new(Class::read(&written).ok_or_else(|| Fault::TooLarge.about(self.pattern))?);
                self.sets.insert(written, class.clone());
                class
            }
        };
        self.runes = self.runes.saturating_add(class.runes());
        self.push(Node::Class(class))
    }

    fn open(&mut self, flags: Flags, captures: bool) {
        self.stack.push(Item::Open { flags, captures });
    }

    /// Reads `(?flags)`, `(?flags:` or the beginning of a named group.
    fn read_perl_group(&mut self, text: &'p str) -> Result<(), String> {
        let named = text.strip_prefix("(?P<").filter(|name| !name.is_empty()).or_else(|| text.strip_prefix("(?<"));
        if let Some(name) = named.filter(|_| text.len() > 3) {
            let Some((name, rest)) = name.split_once('>') else {
                return Err(Fault::NamedCapture.about(text));
            };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(Fault::NamedCapture.about(before(text, rest)));
            }
            self.rest = rest;
            self.open(self.flags, true);
            return Ok(());
        }
        let mut flags = self.flags;
        let (mut value, mut saw_flag) = (true, false);
        let mut rest = text.get(2..).unwrap_or("").chars();
        while let Some(letter) = rest.next() {
            match letter {
                'i' => flags.fold_case = value,
                'm' => flags.many_lines = value,
                's' => flags.dot_takes_newline = value,
                'U' => flags.not_greedy = value,
                '-' if value => {
                    (value, saw_flag) = (false, false);
                    continue;
                }
                ':' | ')' if value || saw_flag => {
                    self.rest = rest.as_str();
                    if letter == ':' {
                        self.open(self.flags, false);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        Err(Fault::PerlOperator.about(before(text, rest.as_str())))
    }

    /// Makes one part of those on top of the stack, down to a bar or parenthesis.
    fn concatenate(&mut self) -> Result<(), String> {
        let from = self.stack.iter().rposition(|item| !matches!(item, Item::Part(_))).map_or(0, |at| at + 1);
        let whole = self.merge(from, Node::Concat, 0);
        self.push_part(whole)
    }

    /// Makes one part of the alternatives on top of the stack, down to a parenthesis.
    fn close_alternatives(&mut self) -> Result<(), String> {
        self.concatenate()?;
        let from = self.stack.iter().rposition(|item| matches!(item, Item::Open { .. })).map_or(0, |at| at + 1);
        let whole = self.merge(from, Node::Alternate, 1);
        self.push_part(whole)
    }

    /// Makes one part of those from a place on; what stands between them takes so many instructions.
    fn merge(&mut self, from: usize, of: fn(Vec<Node>) -> Node, between: u64) -> Part {
        let mut nodes = Vec::new();
        let (mut height, mut size, mut repeats) = (0, 0_u64, 0);
        for item in self.stack.drain(from..) {
            match item {
                Item::Part(part) => {
                    height = part.height.max(height);
                    size = size.saturating_add(part.size);
                    repeats = part.repeats.max(repeats);
                    nodes.push(part.node);
                }
                _ => size = size.saturating_add(between),
            }
        }
        let node = match nodes.len() {
            0 => Node::Empty,
            1 => nodes.pop().unwrap_or(Node::Empty),
            _ => {
                height += 1;
                of(nodes)
            }
        };
        Part { node, height: height.max(1), size: size.max(1), repeats }
    }

    fn close(&mut self) -> Result<(), String> {
        self.close_alternatives()?;
        let (Some(Item::Part(mut whole)), Some(Item::Open { flags, captures })) = (self.stack.pop(), self.stack.pop())
        else {
            return Err(Fault::UnexpectedParenthesis.about(self.pattern));
        };
        self.flags = flags;
        if captures {
            whole.height += 1;
            whole.size = whole.size.saturating_add(2);
        }
        self.push_part(whole)
    }

    fn repeat(
        &mut self,
        operator: &str,
        (least, most): (u32, Option<u32>),
        text: &'p str,
        last_repeat: Option<&'p str>,
    ) -> Result<&'p str, String> {
        let mut lazy = self.flags.not_greedy;
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
            lazy = !lazy;
        }
        if let Some(last) = last_repeat {
            return Err(Fault::RepeatOperator.about(before(last, self.rest)));
        }
        let Some(Item::Part(mut part)) = self.stack.pop_if(|top| matches!(top, Item::Part(_))) else {
            return Err(Fault::MissingRepeatArgument.about(before(text, self.rest)));
        };
        let counted = operator == "{";
        part.node = Node::Repeat { node: Box::new(part.node), least, most, lazy };
        part.height += 1;
        part.size = match (most.map(u64::from), u64::from(least)) {
            (None, 0) => part.size.saturating_add(2),
            (None, least) => part.size.saturating_mul(least).saturating_add(1),
            (Some(most), least) => part.size.saturating_mul(most).saturating_add(most - least),
        };
        if counted {
            part.repeats = match most.unwrap_or(least) {
                0 if most.is_none() => part.repeats,
                factor => part.repeats.saturating_mul(u64::from(factor)),
            };
        }
        let too_often = counted && most.unwrap_or(least) >= 2 && part.repeats > MAX_REPEAT;
        self.push_part(part)?;
        if too_often {
            return Err(Fault::RepeatSize.about(before(text, self.rest)));
        }
        Ok(text)
    }

    fn read_class(&mut self, text: &'p str) -> Result<(), String> {
        let mut rest = self.rest;
        let negated = rest.starts_with('^');
        rest = rest.strip_prefix('^').unwrap_or(rest);
        let mut set = String::new();
        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            if let Some((named, after)) = read_posix_set(rest)?.map_or_else(|| read_set(rest), |set| Ok(Some(set)))? {
                set.push_str(&named);
                rest = after;
                continue;
            }
            let range = rest;
            let low;
            (low, rest) = read_class_char(rest, text)?;
            let mut high = low;
            if let Some(after) = rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']')) {
                (high, rest) = read_class_char(after, text)?;
                if high < low {
                    return Err(Fault::CharRange.about(before(range, rest)));
                }
            }
            push_range(&mut set, low, high);
        }
        self.rest = rest.strip_prefix(']').unwrap_or(rest);
        if set.is_empty() {
            // Nothing but halves of surrogate pairs.
            set.push_str("[^\\x{0}-\\x{10ffff}]");
        }
        self.push_set(&set, negated)
    }
}

/// Whether a character may be the same as another in upper or lower case.
fn may_fold(literal: char) -> bool {
    literal.is_ascii_alphabetic() || !literal.is_ascii()
}

fn written_char(literal: char) -> String {
    if literal.is_ascii_alphanumeric() || !literal.is_ascii() {
        return literal.to_string();
    }
    format!("\\x{{{:x}}}", u32::from(literal))
}

/// Adds a range to a set, without the halves of surrogate pairs.
fn push_range(set: &mut String, low: u32, high: u32) {
    let low = if (0xd800..=0xdfff).contains(&low) { 0xe000 } else { low };
    let high = if (0xd800..=0xdfff).contains(&high) { 0xd7ff } else { high };
    if low <= high {
        set.push_str(&format!("\\x{{{low:x}}}-\\x{{{high:x}}}"));
    }
}

/// Reads `3}`, `3,}` or `3,5}`. What does not look like it is no repetition.
fn read_count(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (least, rest) = read_integer(text)?;
    let (most, rest) = match rest.strip_prefix(',') {
        None => (Some(least), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => read_integer(rest).map(|(most, rest)| (Some(most), rest))?,
    };
    Some(((least, most), rest.strip_prefix('}')?))
}

/// Reads an integer without leading zeros; a large one is as good as the largest.
fn read_integer(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

fn negate(set: &str) -> String {
    format!("[^{set}]")
}

/// A set, and what follows it.
type Set<'a> = Option<(String, &'a str)>;

/// Reads `\d` and its like, or `\p{Greek}`.
fn read_set(text: &str) -> Result<Set<'_>, String> {
    let Some(escaped) = text.strip_prefix('\\') else { return Ok(None) };
    let Some(letter) = escaped.bytes().next().filter(u8::is_ascii_alphabetic) else { return Ok(None) };
    let rest = escaped.get(1..).unwrap_or("");
    if let Some(set) = class::perl(letter.to_ascii_lowercase()) {
        let set = if letter.is_ascii_uppercase() { negate(set) } else { set.to_owned() };
        return Ok(Some((set, rest)));
    }
    if !letter.eq_ignore_ascii_case(&b'p') {
        return Ok(None);
    }
    let (name, rest) = match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or_else(|| Fault::CharRange.about(text))?,
        None => rest.split_at_checked(rest.chars().next().map_or(0, char::len_utf8)).unwrap_or((rest, "")),
    };
    let sequence = before(text, rest);
    let (name, inverted) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let set = class::unicode(name).ok_or_else(|| Fault::CharRange.about(sequence))?;
    let negated = (letter == b'P') != inverted;
    Ok(Some((if negated { negate(&set) } else { set }, rest)))
}

/// Reads `[:alpha:]` or `[:^alpha:]` within a class.
fn read_posix_set(text: &str) -> Result<Set<'_>, String> {
    let Some((name, rest)) = text.strip_prefix("[:").and_then(|text| text.split_once(":]")) else { return Ok(None) };
    let (plain, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let set = class::posix(plain).ok_or_else(|| Fault::CharRange.about(before(text, rest)))?;
    Ok(Some((if negated { negate(set) } else { set.to_owned() }, rest)))
}

fn read_class_char<'a>(text: &'a str, class: &str) -> Result<(u32, &'a str), String> {
    let mut rest = text.chars();
    match rest.next() {
        None => Err(Fault::MissingBracket.about(class)),
        Some('\\') => read_escape(text),
        Some(literal) => Ok((u32::from(literal), rest.as_str())),
    }
}

/// Reads a backslash and what it escapes: the number of the character.
fn read_escape(text: &str) -> Result<(u32, &str), String> {
    let mut rest = text.get(1..).unwrap_or("").chars();
    let Some(escaped) = rest.next() else { return Err(Fault::TrailingBackslash.about("")) };
    let code = match escaped {
        '0'..='7' => {
            let octal = |text: &str| text.chars().next().and_then(|digit| digit.to_digit(8));
            let mut code = escaped.to_digit(8).unwrap_or(0);
            // One digit but 0 refers to a group.
            let refers = escaped != '0' && octal(rest.as_str()).is_none();
            for _ in 0..2 {
                let Some(digit) = octal(rest.as_str()) else { break };
                code = code * 8 + digit;
                rest.next();
            }
            (!refers).then_some(code)
        }
        'x' => read_hex(&mut rest),
        'a' => Some(0x07),
        'f' => Some(0x0c),
        'n' => Some(0x0a),
        'r' => Some(0x0d),
        't' => Some(0x09),
        'v' => Some(0x0b),
        punctuation => (punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric()).then_some(punctuation.into()),
    };
    code.map(|code| (code, rest.as_str())).ok_or_else(|| Fault::Escape.about(before(text, rest.as_str())))
}

/// Reads `41` or `{1F600}`.
fn read_hex(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let second = rest.next();
        return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
    }
    let mut code = None;
    loop {
        match rest.next()? {
            '}' => return code,
            digit => {
                let digits = code.unwrap_or(0) * 16 + digit.to_digit(16)?;
                if digits > u32::from(char::MAX) {
                    return None;
                }
                code = Some(digits);
            }
        }
    }
}
