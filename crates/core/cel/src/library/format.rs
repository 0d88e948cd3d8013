//! `format`: the verbs of format strings, their values, and what is checked before evaluation.
//!
//! Both the check and the evaluation read a format string by one parser, so that they agree on it. Results longer
//! than the bound are refused.

use super::args::{Result as CallResult, check_length, failed, no_overload};
use super::time;
use crate::EvalError;
use crate::ast::{Expr, ExprId, Kind, Literal};
use crate::function::Checked;
use crate::types::Type;
use crate::value::{List, Map, Value};
use pintle_schema::names::quoted;

/// Decimal places where none are given.
const DEFAULT_PRECISION: usize = 6;

/// The largest width.
const MAX_WIDTH: usize = 65_535;

/// What stands behind a percent sign.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Text,
    Decimal,
    Fixed(Option<usize>),
    Scientific(Option<usize>),
    Binary,
    Hex { upper: bool },
    Octal,
}

impl Verb {
    /// The error about a value of a type that the verb does not take.
    fn refuse(self, ty: &str) -> String {
        let takes = match self {
            Verb::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Verb::Decimal => "decimal clause can only be used on integers",
            Verb::Fixed(_) => "fixed-point clause can only be used on doubles",
            Verb::Scientific(_) => "scientific clause can only be used on doubles",
            Verb::Binary => "only integers and bools can be formatted as binary",
            Verb::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Verb::Octal => "octal clause can only be used on integers",
        };
        format!("{takes}, was given {ty}")
    }
}

/// Why a format string cannot be filled in; `Value` errors are about one argument.
enum Fault<E> {
    Text(String),
    Value(E),
}

/// Reads a format string, and calls for each verb with the number of its argument.
fn fill<E>(
    format: &str,
    arguments: usize,
    lazy: bool,
    mut write: impl FnMut(&str) -> Result<(), EvalError>,
    mut value: impl FnMut(Verb, usize) -> Result<String, E>,
) -> Result<usize, Fault<E>> {
    let mut rest = format;
    let mut used = 0;
    let too_long = |error: EvalError| Fault::Text(error.to_string());
    while let Some((plain, after)) = rest.split_once('%') {
        write(plain).map_err(too_long)?;
        if let Some(after) = after.strip_prefix('%') {
            write("%").map_err(too_long)?;
            rest = after;
            continue;
        }
        let in_range = used < arguments;
        let out_of_range = || Fault::Text(format!("index {used} out of range"));
        // Before evaluation it is only looked at once the verb has begun.
        if !lazy && !in_range {
            return Err(out_of_range());
        }
        if after.is_empty() {
            return Err(Fault::Text("unexpected end of string".to_owned()));
        }
        if !in_range {
            return Err(out_of_range());
        }
        let (verb, after) =
            read_verb(after).map_err(|why| Fault::Text(format!("could not parse formatting clause: {why}")))?;
        write(&value(verb, used).map_err(Fault::Value)?).map_err(too_long)?;
        rest = after;
        used += 1;
    }
    write(rest).map_err(too_long)?;
    Ok(used)
}

fn read_verb(text: &str) -> Result<(Verb, &str), String> {
    let mut precision = None;
    let mut rest = text;
    if let Some(after) = text.strip_prefix('.') {
        let end = after.bytes().position(|byte| !byte.is_ascii_digit());
        let end = end.ok_or("error while parsing precision: could not find end of precision specifier")?;
        let (digits, after) = after.split_at_checked(end).unwrap_or((after, ""));
        let number: i64 = digits.parse().map_err(|_| {
            let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
            let integer = format!("strconv.Atoi: parsing {}: {why}", quoted(digits));
            format!("error while parsing precision: error while converting precision to integer: {integer}")
        })?;
        precision = Some(usize::try_from(number).unwrap_or(MAX_WIDTH).min(MAX_WIDTH));
        rest = after;
    }
    // kube-apiserver looks at one byte.
    let letter = rest.bytes().next().unwrap_or(0);
    let verb = match letter {
        b's' => Verb::Text,
        b'd' => Verb::Decimal,
        b'f' => Verb::Fixed(precision),
        b'e' => Verb::Scientific(precision),
        b'b' => Verb::Binary,
        b'x' | b'X' => Verb::Hex { upper: letter == b'X' },
        b'o' => Verb::Octal,
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(other))),
    };
    Ok((verb, rest.get(1..).unwrap_or("")))
}

/// `format.format(list)`.
pub(super) fn format<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    let [Value::String(format), Value::List(list)] = args else { return no_overload() };
    let mut text = String::new();
    let mut length = 0;
    let filled = fill(
        format,
        list.len(),
        false,
        |part| {
            length += part.len();
            check_length(length)?;
            text.push_str(part);
            Ok(())
        },
        |verb, at| {
            let value = list.get(at).unwrap_or_else(no_overload)?;
            print(verb, &value).map_err(|why| match why {
                why if why == EvalError::CostExceeded.to_string() => EvalError::CostExceeded,
                why => failed(format!("error during formatting: {why}")),
            })
        },
    );
    match filled {
        Ok(_) => Ok(Value::string(text)),
        Err(Fault::Value(error)) => Err(error),
        Err(Fault::Text(text)) => Err(failed(text)),
    }
}

fn print(verb: Verb, value: &Value<'_>) -> Result<String, String> {
    Ok(match (verb, value) {
        (Verb::Text, value) => print_text(value)?,
        (Verb::Decimal | Verb::Binary | Verb::Hex { .. } | Verb::Octal, Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{}", print_integer(verb, number.unsigned_abs()))
        }
        (Verb::Decimal | Verb::Binary | Verb::Hex { .. } | Verb::Octal, Value::Uint(number)) => {
            print_integer(verb, *number)
        }
        (Verb::Binary, Value::Bool(bit)) => u8::from(*bit).to_string(),
        (Verb::Hex { upper }, Value::String(text)) => print_hex(text.as_bytes(), upper),
        (Verb::Hex { upper }, Value::Bytes(bytes)) => print_hex(bytes, upper),
        (Verb::Fixed(_) | Verb::Scientific(_), value) => {
            let number = match value {
                Value::Double(number) => *number,
                Value::String(text) => match text.as_str() {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    _ => return Err(verb.refuse("string")),
                },
                other => return Err(verb.refuse(other.type_name())),
            };
            match verb {
                Verb::Scientific(width) => print_scientific(number, width.unwrap_or(DEFAULT_PRECISION)),
                Verb::Fixed(precision) => print_fixed(number, precision.unwrap_or(DEFAULT_PRECISION)),
                _ => return Err(verb.refuse(value.type_name())),
            }
        }
        (verb, other) => return Err(verb.refuse(other.type_name())),
    })
}

fn print_integer(verb: Verb, number: u64) -> String {
    match verb {
        Verb::Binary => format!("{number:b}"),
        Verb::Octal => format!("{number:o}"),
        Verb::Hex { upper: false } => format!("{number:x}"),
        Verb::Hex { upper: true } => format!("{number:X}"),
        _ => number.to_string(),
    }
}

fn print_hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
}

/// Numbers that are none, in the locale that kube-apiserver prints in.
fn print_special(number: f64) -> Option<&'static str> {
    match number {
        number if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// With commas between thousands: `123,456.789000`.
fn print_fixed(number: f64, precision: usize) -> String {
    if let Some(special) = print_special(number) {
        return special.to_owned();
    }
    // kube-apiserver keeps the low eight bits.
    let precision = precision % 256;
    let digits = format!("{:.precision$}", number.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    // What is rounded to zero has no sign.
    let has_value = digits.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    if number < 0.0 && has_value {
        text.push('-');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// With six decimal places, whatever the precision: it is taken for the least width.
fn print_scientific(number: f64, width: usize) -> String {
    if let Some(special) = print_special(number) {
        return format!("{special:>width$}");
    }
    let plain = format!("{:.DEFAULT_PRECISION$e}", number.abs());
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let sign = if number < 0.0 { "-" } else { "" };
    let (exponent_sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let superscript: String = format!("{exponent:0>2}")
        .bytes()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::from(digit.wrapping_sub(b'0'))))
        .collect();
    let text = format!("{sign}{digits}×10{exponent_sign}{superscript}");
    format!("{text:>width$}")
}

/// What `%s` prints.
pub(super) fn print_text(value: &Value<'_>) -> Result<String, String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => pintle_schema::compat::float::print(*number),
        Value::String(text) => text.as_str().to_owned(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                let why = "invalid UTF-8 in bytes, cannot convert to string";
                return Err(format!("could not convert argument {} to string", quoted(why)));
            }
        },
        Value::Duration(duration) => time::print_duration(duration.nanos),
        Value::Timestamp(moment) => time::print_timestamp(moment),
        Value::Type(ty) => ty.runtime_name().to_owned(),
        Value::List(list) => print_list(list)?,
        Value::Map(map) => print_map(map)?,
        other => return Err(Verb::Text.refuse(other.type_name())),
    })
}

/// A value in an error about it.
pub(super) fn print_plain(value: &Value<'_>) -> String {
    print_text(value).unwrap_or_else(|_| value.type_name().to_owned())
}

fn print_list(list: &List<'_>) -> Result<String, String> {
    let mut text = String::from("[");
    for (at, element) in list.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&print_within(&element.map_err(|error| error.to_string())?)?);
        check_length(text.len()).map_err(|error| error.to_string())?;
    }
    text.push(']');
    Ok(text)
}

fn print_map(map: &Map<'_>) -> Result<String, String> {
    let mut entries = Vec::with_capacity(map.len());
    let mut length = 0;
    let keys = map.keys();
    // kube-apiserver fails on a field that the schema of the object does not name.
    if keys.len() < map.len() {
        return Err("an object has fields that its schema does not name".to_string());
    }
    for key in keys {
        let text = match &key {
            Value::String(text) => quoted(text),
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) => print_text(&key)?,
            other => return Err(format!("no formatting function for map key of type {}", other.type_name())),
        };
        let Some(value) = map.get(&key) else { return Err(format!("could not find key: {text}")) };
        let value = print_within(&value.map_err(|error| error.to_string())?)?;
        length += text.len() + value.len();
        check_length(length).map_err(|error| error.to_string())?;
        entries.push((text, value));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}

/// A value within a list or map, as an expression would write it.
fn print_within(value: &Value<'_>) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => quoted(text),
        Value::Bytes(_) => format!("b{}", quoted(&print_text(value)?)),
        Value::Double(number) if number.is_finite() => format!("{number:.DEFAULT_PRECISION$}"),
        Value::Double(number) => quoted(&pintle_schema::compat::float::print(*number)),
        Value::Duration(_) => format!("duration({})", quoted(&print_text(value)?)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&print_text(value)?)),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Type(_)
        | Value::List(_)
        | Value::Map(_) => print_text(value)?,
        other => return Err(format!("no formatting function for {}", other.type_name())),
    })
}

/// Checks a call whose format and list are both written out: reports what cannot be formatted.
pub(super) fn validate(call: &Expr, context: &Checked<'_>, report: &mut dyn FnMut(ExprId, String)) {
    let Kind::Call { target: Some(target), args, .. } = &call.kind else { return };
    let (Kind::Literal(Literal::String(format)), [Expr { kind: Kind::List { elements, .. }, .. }]) =
        (&target.kind, args.as_slice())
    else {
        return;
    };
    let validated = fill(
        format,
        elements.len(),
        true,
        |_| Ok(()),
        |verb, at| match elements.get(at).and_then(|argument| refused_by(verb, argument, context)) {
            None => Ok(String::new()),
            Some((id, ty)) => Err((id, verb.refuse(&ty))),
        },
    );
    match validated {
        Err(Fault::Text(text)) => report(call.id, text),
        Err(Fault::Value((id, text))) => report(id, format!("error during formatting: {text}")),
        Ok(used) if elements.len() > used => {
            let got = elements.len();
            report(call.id, format!("too many arguments supplied to string.format (expected {used}, got {got})"));
        }
        Ok(_) => {}
    }
}

/// The part of an argument that a verb does not take, and its type.
fn refused_by(verb: Verb, argument: &Expr, context: &Checked<'_>) -> Option<(ExprId, String)> {
    let ty = context.types.get(&argument.id).unwrap_or(&Type::Dyn);
    let plain = if let Type::Wrapper(inner) = ty { inner } else { ty };
    let takes = match verb {
        Verb::Text => matches!(
            plain,
            Type::List(_)
                | Type::Map(_)
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::String
                | Type::Timestamp
                | Type::Bytes
                | Type::Duration
                | Type::Type(_)
                | Type::Null
        ),
        Verb::Decimal | Verb::Octal => matches!(plain, Type::Int | Type::Uint),
        Verb::Fixed(_) | Verb::Scientific(_) => matches!(plain, Type::Double | Type::String),
        Verb::Binary => matches!(plain, Type::Int | Type::Uint | Type::Bool),
        Verb::Hex { .. } => matches!(plain, Type::Int | Type::Uint | Type::String | Type::Bytes),
    };
    if !takes && !ty.is_dyn() {
        return Some((argument.id, ty.runtime_name().to_owned()));
    }
    match (&argument.kind, verb) {
        (Kind::List { elements, .. }, Verb::Text) => {
            elements.iter().find_map(|element| refused_by(verb, element, context))
        }
        (Kind::Map(entries), Verb::Text) => {
            entries.iter().flat_map(|entry| [&entry.key, &entry.value]).find_map(|part| refused_by(verb, part, context))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(format_string: &str, values: Vec<Value<'_>>) -> String {
        match format(&[Value::string(format_string), Value::list(values)]) {
            Ok(value) => value.as_str().unwrap().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn numbers_in_all_verbs() {
        for (format, value, text) in [
            ("%d|%%", Value::Int(-7), "-7|%"),
            ("%b", Value::Bool(true), "1"),
            ("%x", Value::Int(i64::MIN), "-8000000000000000"),
            ("%X", Value::string("hé"), "68C3A9"),
            ("%o", Value::Uint(8), "10"),
            ("%f", Value::Double(2.5), "2.500000"),
            ("%.2f", Value::Double(1e10), "10,000,000,000.00"),
            ("%.0f", Value::Double(123_456.789), "123,457"),
            ("%.2f", Value::Double(-0.001), "0.00"),
            ("%.258f", Value::Double(0.5), "0.50"),
            ("%e", Value::Double(123_456.789), "1.234568×10⁰⁵"),
            ("%.3e", Value::Double(0.005), "5.000000×10⁻⁰³"),
            ("%e", Value::Double(1e300), "1.000000×10³⁰⁰"),
            ("%f", Value::Double(f64::NEG_INFINITY), "-∞"),
            ("%f", Value::string("Infinity"), "∞"),
            ("%s", Value::Double(1e21), "1e+21"),
        ] {
            assert_eq!(filled(format, vec![value]), text, "{format}");
        }
    }

    #[test]
    fn values_within_values_are_quoted() {
        let list =
            Value::list(vec![Value::string("a\"b"), Value::Double(1.5), Value::Null, Value::Bytes(b"x"[..].into())]);
        assert_eq!(filled("日%s本", vec![list]), "日[\"a\\\"b\", 1.500000, null, b\"x\"]本");
        let map = Value::map(vec![(Value::string("z"), Value::Int(1)), (Value::string("a"), Value::list(vec![]))]);
        assert_eq!(filled("%s", vec![map.unwrap()]), "{\"a\":[], \"z\":1}");
    }

    #[test]
    fn results_are_bounded() {
        let shared = (0..40).fold(Value::list(vec![]), |list, _| Value::list(vec![list.clone(), list]));
        let result = format(&[Value::string("%s"), Value::list(vec![shared])]);
        assert_eq!(result.unwrap_err(), EvalError::CostExceeded);
    }

    #[test]
    fn faults_of_formats_and_values() {
        for (format, why) in [
            ("%", "unexpected end of string"),
            ("%s%s", "index 1 out of range"),
            ("%z", "could not parse formatting clause: unrecognized formatting clause \"z\""),
            (
                "%.f",
                "could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax",
            ),
            (
                "%.3",
                "could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
            ),
            ("%f", "error during formatting: fixed-point clause can only be used on doubles, was given string"),
            ("%o", "error during formatting: octal clause can only be used on integers, was given string"),
        ] {
            assert_eq!(filled(format, vec![Value::string("text")]), why, "{format}");
        }
    }
}
