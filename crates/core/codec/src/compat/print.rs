//! JSON values as Go's `fmt` prints them, for kube-apiserver's error messages.
//! Guarantees sorted map keys. Must never be parsed again.

use crate::json::opened;
use pintle_schema::Value;
use pintle_schema::compat::float;
/// What `%q` prints.
pub use pintle_schema::compat::quote::quoted;
use std::fmt::Write;

/// What `%v` prints.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, false);
    out
}

/// What `%s` prints: values other than strings are marked as mismatches.
pub fn as_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, true);
    out
}

/// What `%v` prints for a list.
pub fn plain_list(items: &[Value]) -> String {
    let mut out = String::new();
    write_list(&mut out, items, false);
    out
}

/// What `%s` prints for the type of a value.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        Value::Raw(_) => type_name(&opened(value)),
    }
}

fn write_value(out: &mut String, value: &Value, as_string: bool) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::List(items) => write_list(out, items, as_string),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push_str("map[");
            for (at, (key, item)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_value(out, item, as_string);
            }
            out.push(']');
        }
        Value::Raw(_) => write_value(out, &opened(value), as_string),
        Value::Null if as_string => out.push_str("%!s(<nil>)"),
        Value::Null => out.push_str("<nil>"),
        scalar => {
            if as_string {
                push(out, format_args!("%!s({}=", type_name(scalar)));
            }
            match scalar {
                Value::Bool(b) => push(out, format_args!("{b}")),
                Value::Int(i) => push(out, format_args!("{i}")),
                Value::Float(f) => out.push_str(&float::print(*f)),
                _ => {}
            }
            if as_string {
                out.push(')');
            }
        }
    }
}

/// What `%#v` prints: Go syntax.
pub fn syntax(value: &Value) -> String {
    let joined = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quoted(text),
        Value::List(items) => format!("[]interface {{}}{{{}}}", joined(items.iter().map(syntax).collect())),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, item)| format!("{}:{}", quoted(key), syntax(item)));
            format!("map[string]interface {{}}{{{}}}", joined(entries.collect()))
        }
        Value::Raw(_) => syntax(&opened(value)),
        scalar => plain(scalar),
    }
}

/// What `%v` prints for the moment of an RFC 3339 text in UTC.
pub fn moment(text: &str) -> String {
    match text.strip_suffix('Z').and_then(|text| text.split_once('T')) {
        Some((date, time)) => format!("{date} {time} +0000 UTC"),
        None => text.to_owned(),
    }
}

/// What `%#v` prints for the moment of an RFC 3339 text in UTC.
pub fn moment_syntax(text: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let Some((date, time)) = text.strip_suffix('Z').and_then(|text| text.split_once('T')) else {
        return text.to_owned();
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let number = |text: &str| text.parse::<u32>().unwrap_or_default();
    let date: Vec<u32> = date.split('-').map(number).collect();
    let time: Vec<u32> = time.split(':').map(number).collect();
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return text.to_owned();
    };
    let month = usize::try_from(*month).ok().and_then(|month| MONTHS.get(month.wrapping_sub(1))).unwrap_or(&"");
    let nanos = number(&format!("{fraction:0<9}"));
    format!("time.Date({year}, time.{month}, {day}, {hour}, {minute}, {second}, {nanos}, time.UTC)")
}

fn write_list(out: &mut String, items: &[Value], as_string: bool) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        write_value(out, item, as_string);
    }
    out.push(']');
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn values_print_as_in_go() {
        let rows = [
            (value!({"b": 1, "a": "x"}), "map[a:x b:1]", "map[a:x b:%!s(int64=1)]"),
            (value!([true, null, {}]), "[true <nil> map[]]", "[%!s(bool=true) %!s(<nil>) map[]]"),
            (value!(5), "5", "%!s(int64=5)"),
            (value!(1.5), "1.5", "%!s(float64=1.5)"),
            (value!(1e21), "1e+21", "%!s(float64=1e+21)"),
            (value!(1234567.5), "1.2345675e+06", "%!s(float64=1.2345675e+06)"),
            (value!(100000.0), "100000", "%!s(float64=100000)"),
            (value!(0.00001), "1e-05", "%!s(float64=1e-05)"),
            (value!(0.0001), "0.0001", "%!s(float64=0.0001)"),
        ];
        for (value, as_v, as_s) in rows {
            assert_eq!(plain(&value), as_v);
            assert_eq!(as_string(&value), as_s);
        }
    }

    #[test]
    fn quoted_text_is_escaped_as_in_go() {
        assert_eq!(quoted("a\"\\\n\u{1}é"), "\"a\\\"\\\\\\n\\x01é\"");
    }
}
