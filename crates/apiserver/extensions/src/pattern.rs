//! Patterns of schemas: RE2's syntax as the reference reads it, matched in time that is linear in the text.
//!
//! Guarantees that classes such as `\d` and `\w` mean ASCII, and that characters which the matcher reads in a way of its own
//! are escaped. A pattern's size is bounded when it is compiled.

use regex::{Regex, RegexBuilder};

/// The most that a compiled pattern may take in memory. Patterns that expand to more are refused.
const COMPILED_BYTES: usize = 10 << 20;

/// Compiles a pattern, which matches anywhere in a text.
///
/// # Errors
/// It is no regular expression, or too large; the text is the reference's where a cause of its own is known.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated).size_limit(COMPILED_BYTES).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("error parsing regexp: expression too large: `{pattern}`"),
        error => {
            let text = error.to_string();
            let cause = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&text).to_owned();
            format!("error parsing regexp: {cause}: `{pattern}`")
        }
    })
}

/// The pattern in the matcher's syntax.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut open = 0_usize;
    let mut repeats = false;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let repeated = std::mem::replace(&mut repeats, false);
        match first {
            '\\' => rest = escape(after, false, &mut out).ok_or_else(|| bad_escape(rest))?,
            '[' => rest = class(rest, &mut out)?,
            '(' => {
                open += 1;
                if let Some(flags) = after.strip_prefix('?') {
                    group(flags).ok_or_else(|| {
                        let end = rest.find([')', ':']).map_or(rest.len(), |at| at + 1);
                        format!("error parsing regexp: invalid or unsupported Perl syntax: `{}`", &rest[..end.min(3)])
                    })?;
                }
                out.push('(');
                rest = after.strip_prefix('?').inspect(|_| out.push('?')).unwrap_or(after);
            }
            ')' => {
                open = open.checked_sub(1).ok_or_else(|| format!("error parsing regexp: unexpected ): `{pattern}`"))?;
                out.push(')');
                rest = after;
            }
            '*' | '+' | '?' => {
                let at_start = matches!(out.chars().last(), None | Some('(' | '|'))
                    && !out.ends_with("\\(")
                    && !out.ends_with("\\|");
                if at_start {
                    return Err(format!("error parsing regexp: missing argument to repetition operator: `{first}`"));
                }
                if repeated && first != '?' {
                    let before = out.chars().last().unwrap_or_default();
                    return Err(format!("error parsing regexp: invalid nested repetition operator: `{before}{first}`"));
                }
                repeats = true;
                out.push(first);
                rest = after;
            }
            '{' => match repetition(rest) {
                Some((count, tail)) if count <= 1000 => {
                    out.push_str(&rest[..rest.len() - tail.len()]);
                    repeats = true;
                    rest = tail;
                }
                Some((_, tail)) => {
                    let text = &rest[..rest.len() - tail.len()];
                    return Err(format!("error parsing regexp: invalid repeat count: `{text}`"));
                }
                None => {
                    out.push_str("\\{");
                    rest = after;
                }
            },
            '}' => {
                out.push_str("\\}");
                rest = after;
            }
            other => {
                out.push(other);
                rest = after;
            }
        }
    }
    if open > 0 {
        return Err(format!("error parsing regexp: missing closing ): `{pattern}`"));
    }
    Ok(out)
}

fn bad_escape(rest: &str) -> String {
    let mut letters = rest.chars();
    letters.next();
    match letters.next() {
        None => "error parsing regexp: trailing backslash at end of expression: ``".to_owned(),
        Some(letter) => format!("error parsing regexp: invalid escape sequence: `\\{letter}`"),
    }
}

/// Whether what follows `(?` is a group or are flags that the reference knows.
fn group(text: &str) -> Option<()> {
    if let Some(name) = text.strip_prefix("P<").or_else(|| text.strip_prefix('<')) {
        let name = name.split_once('>')?.0;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        return is_name.then_some(());
    }
    let end = text.find([':', ')'])?;
    text[..end].chars().all(|flag| matches!(flag, 'i' | 'm' | 's' | 'U' | '-')).then_some(())
}

/// The greater count of a repetition, and what follows it; `None` when the brace stands for itself.
fn repetition(text: &str) -> Option<(u32, &str)> {
    let (inside, tail) = text.strip_prefix('{')?.split_once('}')?;
    let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
    let count = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().unwrap_or(u32::MAX))
    };
    let low = count(low)?;
    let high = if high.is_empty() { low } else { count(high)? };
    Some((if low > high { u32::MAX } else { high }, tail))
}

/// Translates what follows a backslash and returns the rest; `None` when it is no escape.
fn escape<'a>(text: &'a str, in_class: bool, out: &mut String) -> Option<&'a str> {
    let letter = text.chars().next()?;
    let rest = &text[letter.len_utf8()..];
    let ascii = |plain: &'static str, inside: &'static str| if in_class { inside } else { plain };
    match letter {
        'd' => out.push_str(ascii("[0-9]", "0-9")),
        'w' => out.push_str(ascii("[0-9A-Za-z_]", "0-9A-Za-z_")),
        's' => out.push_str(ascii("[\\t\\n\\x0c\\r ]", "\\t\\n\\x0c\\r ")),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\x0c\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'B' if !in_class => out.push_str("(?-u:\\B)"),
        'A' if !in_class => out.push_str("\\A"),
        'z' if !in_class => out.push_str("\\z"),
        'Q' if !in_class => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return Some(rest);
        }
        'a' => out.push_str("\\x07"),
        'f' => out.push_str("\\x0c"),
        'v' => out.push_str("\\x0b"),
        'n' | 'r' | 't' => out.extend(['\\', letter]),
        'p' | 'P' => {
            let end = match rest.strip_prefix('{') {
                Some(name) => name.find('}')? + 2,
                None => rest.chars().next()?.len_utf8(),
            };
            out.extend(['\\', letter]);
            out.push_str(&rest[..end]);
            return Some(&rest[end..]);
        }
        'x' => {
            let (digits, tail) = match rest.strip_prefix('{') {
                Some(inside) => inside.split_once('}')?,
                None => (rest.get(..2)?, rest.get(2..)?),
            };
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            out.push_str(&format!("\\x{{{digits}}}"));
            return Some(tail);
        }
        '0'..='7' if letter == '0' || rest.starts_with(|digit: char| digit.is_digit(8)) => {
            let more = rest.bytes().take(2).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
            let code = u32::from_str_radix(&text[..=more], 8).ok()?;
            out.push_str(&format!("\\x{{{code:x}}}"));
            return Some(&rest[more..]);
        }
        letter if letter.is_ascii_punctuation() => literal(letter, out),
        _ => return None,
    }
    Some(rest)
}

/// A punctuation mark that stands for itself.
fn literal(letter: char, out: &mut String) {
    if matches!(letter, '<' | '>' | '_') {
        out.push(letter);
    } else {
        out.extend(['\\', letter]);
    }
}

/// Translates a class in brackets and returns what follows it.
fn class<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let unclosed = || format!("error parsing regexp: missing closing ]: `{text}`");
    out.push('[');
    let mut rest = &text[1..];
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    loop {
        let letter = rest.chars().next().ok_or_else(unclosed)?;
        let after = &rest[letter.len_utf8()..];
        match letter {
            ']' if !first => {
                out.push(']');
                return Ok(after);
            }
            '\\' => rest = escape(after, true, out).ok_or_else(|| bad_escape(rest))?,
            '[' if rest.starts_with("[:") && rest.contains(":]") => {
                let end = rest.find(":]").map_or(rest.len(), |at| at + 2);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            '[' | ']' | '&' | '~' => {
                out.extend(['\\', letter]);
                rest = after;
            }
            '-' if first || rest.starts_with("-]") => {
                out.push_str("\\-");
                rest = after;
            }
            other => {
                let ends = |text: &str| {
                    let mut letters = text.strip_prefix('-')?.chars();
                    letters.next().filter(|high| !matches!(high, ']' | '\\' | '['))
                };
                if let Some(high) = ends(after).filter(|high| *high < other) {
                    return Err(format!("error parsing regexp: invalid character class range: `{other}-{high}`"));
                }
                out.push(other);
                rest = after;
            }
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn patterns_match_as_in_the_reference() {
        let rows = [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "abc\n", false),
            ("^\\d+$", "١", false),
            ("^[\\w.-]+$", "a_b.c-d", true),
            ("^\\w$", "é", false),
            ("^.$", "é", true),
            ("^[[]$", "[", true),
            ("^[a&&b]+$", "a&b", true),
            ("^a{2}$", "aa", true),
            ("^a{,2}$", "a{,2}", true),
            ("^\\Qa.b\\E$", "a.b", true),
            ("^\\Qa.b\\E$", "axb", false),
            ("(?i)^abc$", "ABC", true),
            ("^[[:alpha:]]+$", "ab1", false),
            ("^\\x41\\101$", "AA", true),
            ("^\\p{Lu}\\pL$", "Éa", true),
            ("^[^\\s]+$", "a b", false),
            ("\\bfoo\\b", "a foo b", true),
            ("^\\<a\\>$", "<a>", true),
            ("^[a-]$", "-", true),
            ("^(a|b)??c$", "c", true),
        ];
        for (pattern, text, is_match) in rows {
            let compiled = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(compiled.is_match(text), is_match, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn wrong_patterns_are_refused_in_the_references_words() {
        let rows = [
            ("a(b", "missing closing ): `a(b`"),
            ("a)b", "unexpected ): `a)b`"),
            ("[a", "missing closing ]: `[a`"),
            ("x[z-a]", "invalid character class range: `z-a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("\\y", "invalid escape sequence: `\\y`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ];
        for (pattern, cause) in rows {
            let error = compile(pattern).expect_err(pattern);
            assert_eq!(error, format!("error parsing regexp: {cause}"));
        }
    }
}
