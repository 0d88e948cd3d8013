//! The parser of JSONPath templates. It accepts what client-go accepts, and reads it the same.
//! Guarantees steps whose number is bounded by the length of the text, and their depth by a constant.
//! Must never panic, whatever the text.

use super::{Literal, Operator, Slice, Step};
use pintle_schema::Str;

/// How deep unions, quoted fields and filters are nested in a path.
const DEPTH_MAX: usize = 16;

type Steps = Vec<Step>;

/// The parts of a column's path, which is the inside of a template's first action.
pub(super) fn column(path: &str) -> Option<Vec<Steps>> {
    template(&format!("{{{path}}}"), 0)
}

/// The steps of a single action.
fn action(text: &str, depth: usize) -> Option<Steps> {
    template(&format!("{{{text}}}"), depth + 1)?.into_iter().next()
}

/// The actions of a template, with the texts between them.
fn template(mut rest: &str, depth: usize) -> Option<Vec<Steps>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (text, action) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        if !text.is_empty() {
            parts.push(vec![Step::Literal(Literal::Text(text.into()))]);
        }
        let Some(mut inside) = action.strip_prefix('{') else { break };
        let mut steps = Vec::new();
        rest = loop {
            match inside.strip_prefix('}') {
                Some(after) => break after,
                None => inside = step(inside, depth, &mut steps)?,
            }
        };
        parts.push(steps);
    }
    Some(parts)
}

/// Parses one step. Returns the rest.
fn step<'a>(rest: &'a str, depth: usize, steps: &mut Steps) -> Option<&'a str> {
    if let Some(text) = rest.strip_prefix("[?(") {
        return filter(text, depth, steps);
    }
    if let Some(after) = rest.strip_prefix("..") {
        if steps.last() == Some(&Step::Recursive) {
            return None;
        }
        steps.push(Step::Recursive);
        return match after.starts_with(is_word) {
            true => field(after, steps),
            false => Some(after),
        };
    }
    match rest.chars().next()? {
        ' ' | '@' | '$' => Some(&rest[1..]),
        '.' => field(&rest[1..], steps),
        '[' => {
            let end = rest.find([']', '\n']).filter(|end| rest[*end..].starts_with(']'))?;
            bracket(&rest[1..end], depth, steps)?;
            Some(&rest[end + 1..])
        }
        quote @ ('"' | '\'') => quoted(rest, quote, steps),
        first if matches!(first, '+' | '-') || first.is_numeric() => number(rest, steps),
        first if is_word(first) => {
            let (word, after) = rest.split_at(rest.find(is_terminator)?);
            steps.push(match word {
                "true" => Step::Literal(Literal::Bool(true)),
                "false" => Step::Literal(Literal::Bool(false)),
                _ => Step::Identifier,
            });
            Some(after)
        }
        _ => None,
    }
}

/// A field's name, up to a terminator that no backslash escapes.
fn field<'a>(text: &'a str, steps: &mut Steps) -> Option<&'a str> {
    let mut letters = text.char_indices();
    let end = loop {
        match letters.next() {
            Some((_, '\\')) => {
                letters.next();
            }
            Some((at, letter)) if is_terminator(letter) => break at,
            Some(_) => {}
            None => break text.len(),
        }
    };
    let (name, after) = text.split_at(end);
    steps.push(match name {
        "*" => Step::Wildcard,
        name => Step::Field(name.replace('\\', "").into()),
    });
    Some(after)
}

fn number<'a>(text: &'a str, steps: &mut Steps) -> Option<&'a str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let after = digits.trim_start_matches(|letter: char| letter == '.' || letter.is_numeric());
    let number = &text[..text.len() - after.len()];
    let float = || number.parse().ok().filter(|float: &f64| float.is_finite()).map(Literal::Float);
    steps.push(Step::Literal(number.parse().ok().map(Literal::Int).or_else(float)?));
    Some(after)
}

/// A string in quotes, with the escapes of Go.
fn quoted<'a>(text: &'a str, quote: char, steps: &mut Steps) -> Option<&'a str> {
    let inside = &text[1..];
    let is_end = |(at, letter): &(usize, char)| *letter == '\n' || (*letter == quote && !inside[..*at].ends_with('\\'));
    let (end, _) = inside.char_indices().find(is_end).filter(|(_, letter)| *letter == quote)?;
    steps.push(Step::Literal(Literal::Text(unescape(&inside[..end], quote)?)));
    Some(&inside[end + 1..])
}

fn unescape(text: &str, quote: char) -> Option<Str> {
    if !text.contains(['\\', quote]) {
        return Some(text.into());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == quote {
            return None;
        }
        if letter != '\\' {
            bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let letter = match letters.next()? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            escaped @ ('\'' | '"') if escaped == quote => quote,
            'x' => {
                bytes.push(u8::try_from(digits(&mut letters, 2, 16)?).ok()?);
                continue;
            }
            'u' => char::from_u32(digits(&mut letters, 4, 16)?)?,
            'U' => char::from_u32(digits(&mut letters, 8, 16)?)?,
            octal => {
                let high = octal.to_digit(8)? << 6;
                bytes.push(u8::try_from(high + digits(&mut letters, 2, 8)?).ok()?);
                continue;
            }
        };
        bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
    }
    Some(String::from_utf8_lossy(&bytes).into())
}

/// A number of so many digits.
fn digits(letters: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    (0..count).try_fold(0_u32, |number, _| number.checked_mul(radix)?.checked_add(letters.next()?.to_digit(radix)?))
}

/// Parses the content of brackets: fields, a slice, or several of them.
fn bracket(inside: &str, depth: usize, steps: &mut Steps) -> Option<()> {
    if inside.contains(',') {
        let paths = inside.split(',').map(|path| action(&format!("[{}]", path.trim_matches(' ')), depth));
        steps.push(Step::Union(paths.collect::<Option<_>>()?));
        return Some(());
    }
    let name = inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
    if let Some(name) = name.filter(|name| !name.contains('\'')) {
        steps.extend(action(&format!(".{name}"), depth)?);
        return Some(());
    }
    let mut numbers = if inside == "*" { ":" } else { inside }.split(':');
    let mut next = || match numbers.next() {
        None => Some(None),
        Some("") => Some(Some(None)),
        Some(number) if number.starts_with('+') => None,
        Some(number) => number.parse::<i64>().ok().map(|number| Some(Some(number))),
    };
    let (start, end, step) = (next()?.flatten(), next()?, next()?);
    if numbers.next().is_some() {
        return None;
    }
    steps.push(Step::Slice(Slice {
        start,
        single: end.is_none(),
        end: end.unwrap_or(Some(start.unwrap_or_default().wrapping_add(1))),
        step: step.flatten(),
    }));
    Some(())
}

/// `[?(left operator right)]`, or `[?(path)]` for items in which the path selects something.
fn filter<'a>(text: &'a str, depth: usize, steps: &mut Steps) -> Option<&'a str> {
    let (mut quote, mut is_closed) = (None, false);
    let mut end = None;
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            ('\n', _) => return None,
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => is_closed |= !text[..at].ends_with('\\'),
            (')', _) if quote.is_some() == is_closed => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let end = end?;
    let rest = text[end + 1..].strip_prefix(']')?;
    let (left, operator, right) = comparison(&text[..end]);
    let left = action(left, depth)?;
    let right = if operator == Operator::Exists { Vec::new() } else { action(right, depth)? };
    steps.push(Step::Filter(left, operator, right));
    Some(rest)
}

/// The two sides of a comparison; the whole text where there is none.
fn comparison(text: &str) -> (&str, Operator, &str) {
    const OPERATORS: [char; 4] = ['!', '<', '>', '='];
    let exists = (text, Operator::Exists, "");
    let Some(at) = text.find(OPERATORS).filter(|at| *at > 0) else { return exists };
    let (left, rest) = text.split_at(at);
    let operators = rest.len() - rest.trim_start_matches(OPERATORS).len();
    // The right side has one letter at least, if need be the last of the operators.
    let operators = if operators == rest.len() { operators - 1 } else { operators };
    let (operator, right) = rest.split_at(operators);
    let operator = match operator {
        "" => return exists,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => Operator::Unknown,
    };
    (left, operator, right)
}

/// Whether a letter ends a field's name.
fn is_terminator(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}
