//! Functions of strings. Positions count characters, not bytes.
//!
//! Every function is linear in its arguments and its result. Results longer than the bound are refused.

use super::args::{Result, check_length, failed, maps_target, no_overload, texts, track_read, track_read_twice, twice};
use super::format;
use crate::EvalError;
use crate::ast::Literal;
use crate::cost::{CallEstimate, Node, STRING_TRAVERSAL_FACTOR, SizeEstimate, times_factor};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::{List, Value};
use std::borrow::Cow;

const STRING: Type = Type::String;
const INT: Type = Type::Int;

/// The functions of the library in its first version.
pub fn functions() -> Vec<Function> {
    let strings = || Type::list(STRING);
    vec![
        Function::new("charAt", vec![Overload::member("string_char_at_int", vec![STRING, INT], STRING, char_at)]),
        Function::new(
            "indexOf",
            vec![
                Overload::member("string_index_of_string", vec![STRING, STRING], INT, index_of),
                Overload::member("string_index_of_string_int", vec![STRING, STRING, INT], INT, index_of),
            ],
        )
        .costing(super::lists::estimate_scan, super::lists::track_scan),
        Function::new(
            "lastIndexOf",
            vec![
                Overload::member("string_last_index_of_string", vec![STRING, STRING], INT, last_index_of),
                Overload::member("string_last_index_of_string_int", vec![STRING, STRING, INT], INT, last_index_of),
            ],
        )
        .costing(super::lists::estimate_scan, super::lists::track_scan),
        Function::new("lowerAscii", vec![Overload::member("string_lower_ascii", vec![STRING], STRING, lower_ascii)])
            .costing(maps_target, track_read),
        Function::new("upperAscii", vec![Overload::member("string_upper_ascii", vec![STRING], STRING, upper_ascii)])
            .costing(maps_target, track_read),
        Function::new(
            "replace",
            vec![
                Overload::member("string_replace_string_string", vec![STRING, STRING, STRING], STRING, replace),
                Overload::member(
                    "string_replace_string_string_int",
                    vec![STRING, STRING, STRING, INT],
                    STRING,
                    replace,
                ),
            ],
        )
        .costing(estimate_replace, track_read_twice),
        Function::new(
            "split",
            vec![
                Overload::member("string_split_string", vec![STRING, STRING], strings(), split),
                Overload::member("string_split_string_int", vec![STRING, STRING, INT], strings(), split),
            ],
        )
        .costing(estimate_split, track_read_twice),
        Function::new(
            "substring",
            vec![
                Overload::member("string_substring_int", vec![STRING, INT], STRING, substring),
                Overload::member("string_substring_int_int", vec![STRING, INT, INT], STRING, substring),
            ],
        )
        .costing(maps_target, track_read),
        Function::new("trim", vec![Overload::member("string_trim", vec![STRING], STRING, trim)])
            .costing(maps_target, track_read),
        Function::new(
            "join",
            vec![
                Overload::member("list_join", vec![strings()], STRING, join),
                Overload::member("list_join_string", vec![strings(), STRING], STRING, join),
            ],
        )
        .costing(estimate_join, track_join),
    ]
}

/// What the library's second version adds.
pub fn functions_of_version_2() -> Vec<Function> {
    vec![
        Function::new(
            "format",
            vec![Overload::member("string_format", vec![STRING, Type::list(Type::Dyn)], STRING, format::format)],
        )
        .validated(format::validate),
        Function::new("strings.quote", vec![Overload::global("strings_quote", vec![STRING], STRING, quote)]),
    ]
}

fn index_error(index: i64) -> EvalError {
    failed(format!("index out of range: {index}"))
}

/// The byte at which a character begins; the end of the text is one too.
fn byte_of(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn after(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or("")
}

fn before(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or(text)
}

fn char_at<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text), Value::Int(index)] = args else { return no_overload() };
    let at = byte_of(text, *index).ok_or_else(|| index_error(*index))?;
    Ok(Value::string(after(text, at).chars().next().map_or_else(String::new, String::from)))
}

fn index_of<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, part, from) = match args {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return no_overload(),
    };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(index_error(from));
    }
    let found = byte_of(text, from).and_then(|start| Some(start + after(text, start).find(part.as_str())?));
    Ok(Value::Int(found.map_or(-1, |at| count(before(text, at)))))
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, part, from) = match args {
        [Value::String(text), Value::String(part)] if part.is_empty() => return Ok(Value::Int(count(text))),
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, Some(*from)),
        _ => return no_overload(),
    };
    let Some(from) = from else {
        return Ok(Value::Int(text.rfind(part.as_str()).map_or(-1, |at| count(before(text, at)))));
    };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(index_error(from));
    }
    if from >= count(text) {
        return Ok(Value::Int(-1));
    }
    // What is found begins at `from` or before, and may end behind it.
    let end = byte_of(text, from.saturating_add(count(part))).unwrap_or(text.len());
    Ok(Value::Int(before(text, end).rfind(part.as_str()).map_or(-1, |at| count(before(text, at)))))
}

fn lower_ascii<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::string(text.to_ascii_lowercase()))
}

fn upper_ascii<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::string(text.to_ascii_uppercase()))
}

fn replace<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, old, new, most) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(most)] => (text, old, new, *most),
        _ => return no_overload(),
    };
    // A negative number stands for all.
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found = text.matches(old.as_str()).count().min(most);
    let added = new.len().saturating_sub(old.len()).saturating_mul(found);
    check_length(text.len().saturating_add(added))?;
    Ok(Value::string(text.replacen(old.as_str(), new, found)))
}

fn split<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, separator, most) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(most)] => (text, separator, *most),
        _ => return no_overload(),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(Value::list(Vec::new()));
    }
    if !separator.is_empty() {
        return Ok(texts(text.splitn(most, separator.as_str())));
    }
    // Without a separator every character is a part; the last part takes the rest.
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let at = if parts.len() + 1 == most { rest.len() } else { first.len_utf8() };
        parts.push(before(rest, at));
        rest = after(rest, at);
    }
    Ok(texts(parts))
}

fn substring<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return no_overload(),
    };
    if let Some(end) = end
        && start > end
    {
        return Err(failed(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let from = byte_of(text, start).ok_or_else(|| index_error(start))?;
    let to = match end {
        Some(end) => byte_of(text, end).ok_or_else(|| index_error(end))?,
        None => text.len(),
    };
    Ok(Value::string(text.get(from..to).unwrap_or("")))
}

fn trim<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::string(text.trim()))
}

fn join<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (list, separator) = match args {
        [Value::List(list)] => (list, Cow::Borrowed("")),
        [Value::List(list), Value::String(separator)] => (list, Cow::Borrowed(separator.as_str())),
        _ => return no_overload(),
    };
    join_texts(list, &separator).map(Value::string)
}

fn join_texts(list: &List<'_>, separator: &str) -> std::result::Result<String, EvalError> {
    let mut joined = String::new();
    for (at, element) in list.iter().enumerate() {
        let element = element?;
        let Value::String(text) = &element else {
            return Err(failed(format!("join: invalid input: {}", format::print_plain(&element))));
        };
        if at > 0 {
            joined.push_str(separator);
        }
        check_length(joined.len().saturating_add(text.len()))?;
        joined.push_str(text);
    }
    Ok(joined)
}

fn quote<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' | '"' => quoted.extend(['\\', character]),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Ok(Value::string(quoted))
}

/// The longest and the shortest result of a replacement.
fn estimate_replace(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let text = target?.size();
    let [old, new, ..] = args else { return None };
    let (old, new) = (old.size(), new.size());
    let (mut replaced, mut kept) = (SizeEstimate::fixed(0), SizeEstimate::fixed(0));
    let divided = |size: u64, by: u64| (size as f64 / by as f64).ceil() as u64;
    if old.min == 0 {
        // An empty text is found around every character.
        replaced.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        replaced.max = divided(text.max, old.min);
    }
    if old.max == 0 {
        replaced.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        replaced.min = divided(text.min, old.max);
    }
    Some(CallEstimate::sized(twice(text), replaced.multiply(new).add(kept)))
}

fn estimate_split(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let text = target?.size();
    let most = match args.get(1).and_then(|most| most.literal) {
        // A negative one wraps, as it does in kube-apiserver.
        Some(Literal::Int(most)) => *most as u64,
        _ => text.max,
    };
    Some(CallEstimate::sized(twice(text), SizeEstimate::new(0, most)))
}

fn estimate_join(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let list = target?;
    let count = list.size();
    let mut size = list.items().map_or(SizeEstimate::fixed(0), |items| count.multiply(items.size()));
    if let Some(separator) = args.first() {
        let separators = SizeEstimate::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
        size = size.add(separator.size().multiply(separators));
    }
    Some(CallEstimate::sized(size.times_factor(STRING_TRAVERSAL_FACTOR), size))
}

fn track_join(_: &str, args: &[Value<'_>], result: &Value<'_>) -> Option<u64> {
    args.first().map(|_| times_factor(result.cost_size(), 2.0 * STRING_TRAVERSAL_FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Value<'_> {
        Value::string(text)
    }

    fn int(result: Result<'_>) -> std::result::Result<i64, String> {
        match result {
            Ok(Value::Int(number)) => Ok(number),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn text(result: Result<'_>) -> std::result::Result<String, String> {
        match result {
            Ok(Value::List(list)) => join_texts(&list, "|").map_err(|error| error.to_string()),
            Ok(value) => Ok(value.as_str().unwrap().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn positions_count_characters() {
        let word = "日本語日本";
        assert_eq!(int(index_of(&[string(word), string("本")])), Ok(1));
        assert_eq!(int(index_of(&[string(word), string("本"), Value::Int(2)])), Ok(4));
        assert_eq!(int(index_of(&[string(word), string(""), Value::Int(-5)])), Ok(-5));
        assert_eq!(int(index_of(&[string(word), string("本"), Value::Int(-1)])), Err("index out of range: -1".into()));
        assert_eq!(int(index_of(&[string(word), string("本"), Value::Int(9)])), Ok(-1));
        assert_eq!(int(last_index_of(&[string(word), string("日")])), Ok(3));
        assert_eq!(int(last_index_of(&[string(word), string("日本"), Value::Int(3)])), Ok(3));
        assert_eq!(int(last_index_of(&[string(word), string("日本"), Value::Int(2)])), Ok(0));
        assert_eq!(int(last_index_of(&[string(word), string("")])), Ok(5));
        assert_eq!(text(char_at(&[string(word), Value::Int(2)])), Ok("語".into()));
        assert_eq!(text(char_at(&[string(word), Value::Int(5)])), Ok(String::new()));
        assert_eq!(text(char_at(&[string(word), Value::Int(6)])), Err("index out of range: 6".into()));
    }

    #[test]
    fn substrings_are_within_the_text() {
        let of = |start, end| text(substring(&[string("tacocat"), Value::Int(start), Value::Int(end)]));
        assert_eq!(of(0, 4), Ok("taco".into()));
        assert_eq!(of(4, 3), Err("invalid substring range. start: 4, end: 3".into()));
        assert_eq!(of(-1, 3), Err("index out of range: -1".into()));
        assert_eq!(of(0, 8), Err("index out of range: 8".into()));
        assert_eq!(text(substring(&[string("tacocat"), Value::Int(7)])), Ok(String::new()));
    }

    #[test]
    fn replacements_and_parts() {
        let replaced = |old, new, most| text(replace(&[string("aéa"), string(old), string(new), Value::Int(most)]));
        assert_eq!(replaced("a", "b", -1), Ok("béb".into()));
        assert_eq!(replaced("a", "b", 1), Ok("béa".into()));
        assert_eq!(replaced("a", "b", 0), Ok("aéa".into()));
        assert_eq!(replaced("", "-", -1), Ok("-a-é-a-".into()));
        assert_eq!(replaced("", "-", 2), Ok("-a-éa".into()));
        let parts = |separator, most| text(split(&[string("a,é,c"), string(separator), Value::Int(most)]));
        assert_eq!(parts(",", -1), Ok("a|é|c".into()));
        assert_eq!(parts(",", 2), Ok("a|é,c".into()));
        assert_eq!(parts(",", 0), Ok(String::new()));
        assert_eq!(parts("", -1), Ok("a|,|é|,|c".into()));
        assert_eq!(parts("", 2), Ok("a|,é,c".into()));
    }

    #[test]
    fn results_are_bounded() {
        let long = "x".repeat(1 << 20);
        assert_eq!(replace(&[string(&long), string(""), string(&long)]).unwrap_err(), EvalError::CostExceeded);
        let many = Value::list(vec![string(&long); 100]);
        assert_eq!(join(&[many]).unwrap_err(), EvalError::CostExceeded);
    }

    #[test]
    fn quoting_escapes_control_characters() {
        assert_eq!(text(quote(&[string("a\"b\\\n\u{7}é")])), Ok(r#""a\"b\\\n\aé""#.into()));
    }
}
