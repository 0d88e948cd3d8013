//! The type of a plain YAML 1.1 scalar: null, a boolean, a number, a timestamp or a string.

use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond i64.
    Unsigned(u64),
    Float(f64),
    /// A date or time, which remains text.
    Timestamp,
    String,
}

/// Resolves the text of a scalar without quotes and tag.
pub(super) fn resolve(text: &str) -> Resolved {
    let Some(first) = text.bytes().next() else { return Resolved::Null };
    match first {
        b'+' | b'-' | b'0'..=b'9' => word(text).unwrap_or_else(|| number(text)),
        b'.' => word(text).unwrap_or_else(|| float(text)),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(text).unwrap_or(Resolved::String)
        }
        _ => Resolved::String,
    }
}

fn word(text: &str) -> Option<Resolved> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Resolved::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Resolved::Bool(false),
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn float(text: &str) -> Resolved {
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => Resolved::Float(float),
        _ => Resolved::String,
    }
}

fn number(text: &str) -> Resolved {
    if is_timestamp(text) {
        return Resolved::Timestamp;
    }
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    let (negative, digits) = match plain.as_bytes().first() {
        Some(b'-') => (true, &plain[1..]),
        Some(b'+') => (false, &plain[1..]),
        _ => (false, &plain[..]),
    };
    if let Some(magnitude) = integer(digits) {
        let int = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
        match int {
            Some(int) => return Resolved::Int(int),
            // With a sign it is not an unsigned number.
            None if digits.len() == plain.len() => return Resolved::Unsigned(magnitude),
            None => {}
        }
    }
    if is_float(digits) { float(&plain) } else { Resolved::String }
}

/// Digits with Go's prefixes: `0x`, `0o`, `0b`, and `0` for octal.
fn integer(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // The parser of the standard library would accept another sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Digits, at most one decimal point, and possibly an exponent.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    mantissa_fits && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
}

/// A date, or a date and time in a form that kube-apiserver's parser accepts.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Some((month, rest)) = rest.split_once('-') else { return false };
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let (day, rest) = rest.split_at(end);
    let (Ok(year), Some(month), Some(day)) = (year.parse(), short(month), short(day)) else { return false };
    if !(1..=12).contains(&month) || day < 1 || day > pintle_schema::time::days_in_month(year, month) {
        return false;
    }
    match rest.split_at_checked(1) {
        None => rest.is_empty(),
        Some(("T" | "t", rest)) => time_end(rest).is_some_and(is_zone),
        Some((" ", rest)) => time_end(rest) == Some(""),
        Some(_) => false,
    }
}

/// One or two digits.
fn short(text: &str) -> Option<u32> {
    if matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The part after hours, minutes, seconds and their fraction.
fn time_end(text: &str) -> Option<&str> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, rest) = rest.split_once(':')?;
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let (second, mut rest) = rest.split_at(end);
    if short(hour)? > 23 || short(minute)? > 59 || short(second)? > 59 {
        return None;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            rest = &fraction[digits..];
        }
    }
    Some(rest)
}

fn is_zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some((hours, minutes)) = text.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':')) else {
        return false;
    };
    let two = |text: &str, most: u32| text.len() == 2 && short(text).is_some_and(|value| value <= most);
    two(hours, 24) && two(minutes, 60)
}

/// Whether a text looks like a base 60 number of YAML 1.1, such as `12:30`: it is read as a string but written in
/// quotes.
pub(super) fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !text.starts_with(|char: char| char.is_ascii_digit()) {
        return false;
    }
    let mut parts = text.split(':');
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if !parts.next().is_some_and(is_number) {
        return false;
    }
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return false;
    }
    while let Some(part) = parts.next() {
        let (part, fraction) = match part.split_once('.') {
            Some((part, fraction)) => (part, Some(fraction)),
            None => (part, None),
        };
        if short(part).is_none_or(|value| value > 59) || fraction.is_some_and(|text| !is_number(text)) {
            return false;
        }
        if fraction.is_some() && parts.peek().is_some() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_yaml_1_1_has_them_be() {
        for (text, wanted) in [
            ("", Resolved::Null),
            ("~", Resolved::Null),
            ("yes", Resolved::Bool(true)),
            ("Off", Resolved::Bool(false)),
            ("y", Resolved::Bool(true)),
            ("yEs", Resolved::String),
            ("12", Resolved::Int(12)),
            ("-12", Resolved::Int(-12)),
            ("+12", Resolved::Int(12)),
            ("1_000", Resolved::Int(1000)),
            ("0777", Resolved::Int(511)),
            ("0o17", Resolved::Int(15)),
            ("0x1F", Resolved::Int(31)),
            ("0b101", Resolved::Int(5)),
            ("08", Resolved::Float(8.0)),
            ("9223372036854775808", Resolved::Unsigned(1 << 63)),
            ("-9223372036854775808", Resolved::Int(i64::MIN)),
            ("1.5", Resolved::Float(1.5)),
            ("1.", Resolved::Float(1.0)),
            (".5", Resolved::Float(0.5)),
            ("1e3", Resolved::Float(1000.0)),
            ("1e999", Resolved::String),
            (".", Resolved::String),
            ("-", Resolved::String),
            ("1.2.3", Resolved::String),
            ("12:30", Resolved::String),
            ("100m", Resolved::String),
            ("2024-01-02", Resolved::Timestamp),
            ("2024-01-02T03:04:05Z", Resolved::Timestamp),
            ("2024-1-2 3:4:5.6", Resolved::Timestamp),
            ("2024-13-02", Resolved::String),
            ("2024-01-02é", Resolved::String),
            ("_1", Resolved::String),
            ("text", Resolved::String),
        ] {
            assert_eq!(resolve(text), wanted, "{text}");
        }
        assert!(is_base_60("12:30") && is_base_60("-1:2.5") && !is_base_60("12:60") && !is_base_60("12"));
    }
}
