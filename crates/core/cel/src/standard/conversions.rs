//! Conversions between types, and `type` and `dyn`.

use crate::error::EvalError;
use crate::function::{Function, Overload};
use crate::library::time;
use crate::types::Type;
use crate::value::{Duration, Timestamp, Value};
use std::sync::Arc;

type Outcome<'a> = Result<Value<'a>, EvalError>;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let to = |id, from: Type, result: Type, call| Overload::global(id, vec![from], result, call);
    let a = || Type::param("A");
    vec![
        Function::new("type", vec![to("type", a(), Type::type_of(a()), type_of)]).unguarded(),
        Function::new("dyn", vec![to("to_dyn", a(), Type::Dyn, same)]).unguarded(),
        Function::new("bool", vec![to("bool_to_bool", Bool, Bool, same), to("string_to_bool", String, Bool, to_bool)]),
        Function::new(
            "bytes",
            vec![to("bytes_to_bytes", Bytes, Bytes, same), to("string_to_bytes", String, Bytes, to_bytes)],
        ),
        Function::new(
            "double",
            vec![
                to("double_to_double", Double, Double, same),
                to("int64_to_double", Int, Double, to_double),
                to("string_to_double", String, Double, to_double),
                to("uint64_to_double", Uint, Double, to_double),
            ],
        ),
        Function::new(
            "duration",
            vec![
                to("duration_to_duration", Duration, Duration, same),
                to("int64_to_duration", Int, Duration, to_duration),
                to("string_to_duration", String, Duration, to_duration),
            ],
        ),
        Function::new(
            "int",
            vec![
                to("int64_to_int64", Int, Int, same),
                to("double_to_int64", Double, Int, to_int),
                to("duration_to_int64", Duration, Int, to_int),
                to("string_to_int64", String, Int, to_int),
                to("timestamp_to_int64", Timestamp, Int, to_int),
                to("uint64_to_int64", Uint, Int, to_int),
            ],
        ),
        Function::new(
            "string",
            vec![
                to("string_to_string", String, String, same),
                to("bool_to_string", Bool, String, to_string),
                to("bytes_to_string", Bytes, String, to_string),
                to("double_to_string", Double, String, to_string),
                to("duration_to_string", Duration, String, to_string),
                to("int64_to_string", Int, String, to_string),
                to("timestamp_to_string", Timestamp, String, to_string),
                to("uint64_to_string", Uint, String, to_string),
            ],
        ),
        Function::new(
            "timestamp",
            vec![
                to("timestamp_to_timestamp", Timestamp, Timestamp, same),
                to("int64_to_timestamp", Int, Timestamp, to_timestamp),
                to("string_to_timestamp", String, Timestamp, to_timestamp),
            ],
        ),
        Function::new(
            "uint",
            vec![
                to("uint64_to_uint64", Uint, Uint, same),
                to("double_to_uint64", Double, Uint, to_uint),
                to("int64_to_uint64", Int, Uint, to_uint),
                to("string_to_uint64", String, Uint, to_uint),
            ],
        ),
    ]
}

fn same<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    args.first().cloned().ok_or_else(EvalError::no_overload)
}

fn type_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    args.first().map(|value| Value::Type(value.type_of())).ok_or_else(EvalError::no_overload)
}

fn fails<'a>(args: &[Value<'a>], to: &Type) -> Outcome<'a> {
    let from = args.first().map_or("", Value::type_name);
    Err(EvalError::new(format!("type conversion error from '{from}' to '{}'", to.runtime_name())))
}

fn to_bool<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args.first().and_then(Value::as_str) {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Value::Bool(true)),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Value::Bool(false)),
        _ => fails(args, &Type::Bool),
    }
}

fn to_bytes<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => fails(args, &Type::Bytes),
    }
}

fn to_double<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(i)] => Ok(Value::Double(*i as f64)),
        [Value::Uint(u)] => Ok(Value::Double(*u as f64)),
        [Value::String(text)] => match parse_double(text) {
            Some(double) => Ok(Value::Double(double)),
            None => fails(args, &Type::Double),
        },
        _ => fails(args, &Type::Double),
    }
}

/// A number as Go reads it: decimal or hexadecimal with an exponent, infinities; `_` may stand between digits.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let lower = unsigned.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        "nan" => return (unsigned.len() == text.len()).then_some(f64::NAN),
        _ => {}
    }
    let is_hexadecimal = lower.starts_with("0x");
    let digits = without_separators(&lower, is_hexadecimal)?;
    if is_hexadecimal {
        return parse_hexadecimal(&digits).map(|double| double * sign);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    digits.parse::<f64>().ok().filter(|double| double.is_finite()).map(|double| double * sign)
}

/// The text without `_`, each of which must stand between digits, or behind the prefix.
fn without_separators(text: &str, is_hexadecimal: bool) -> Option<String> {
    let is_digit = |byte: Option<&u8>| {
        byte.is_some_and(|byte| if is_hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() })
    };
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('_') {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let follows_prefix = is_hexadecimal && at == 2;
        if !(follows_prefix || is_digit(before)) || !is_digit(bytes.get(at + 1)) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.get(2..)?.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() || mantissa.len() > 16 {
        return None;
    }
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()? * 4)?;
    let value = digits as f64 * 2f64.powi(shift);
    value.is_finite().then_some(value)
}

fn to_duration<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args.first().and_then(Value::as_str).and_then(time::parse_duration) {
        Some(nanos) => Ok(Value::Duration(Duration { nanos })),
        None => fails(args, &Type::Duration),
    }
}

fn to_int<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    const OVERFLOW: &str = "integer overflow";
    match args {
        [Value::Double(d)] if d.is_finite() && *d > i64::MIN as f64 && *d < i64::MAX as f64 => {
            Ok(Value::Int(*d as i64))
        }
        [Value::Double(_)] => Err(EvalError::new(OVERFLOW)),
        [Value::Duration(duration)] => Ok(Value::Int(duration.nanos)),
        [Value::Timestamp(time)] => Ok(Value::Int(time.seconds)),
        [Value::Uint(u)] => i64::try_from(*u).map(Value::Int).map_err(|_| EvalError::new(OVERFLOW)),
        [Value::String(text)] => match text.parse() {
            Ok(int) => Ok(Value::Int(int)),
            Err(_) => fails(args, &Type::Int),
        },
        _ => fails(args, &Type::Int),
    }
}

fn to_uint<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    const OVERFLOW: &str = "unsigned integer overflow";
    match args {
        [Value::Double(d)] if *d >= 0.0 && *d < 18_446_744_073_709_551_616.0 => Ok(Value::Uint(*d as u64)),
        [Value::Double(_)] => Err(EvalError::new(OVERFLOW)),
        [Value::Int(i)] => u64::try_from(*i).map(Value::Uint).map_err(|_| EvalError::new(OVERFLOW)),
        [Value::String(text)] if !text.starts_with('+') => match text.parse() {
            Ok(uint) => Ok(Value::Uint(uint)),
            Err(_) => fails(args, &Type::Uint),
        },
        _ => fails(args, &Type::Uint),
    }
}

fn to_string<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::string(match args {
        [Value::Bool(b)] => b.to_string(),
        [Value::Int(i)] => i.to_string(),
        [Value::Uint(u)] => u.to_string(),
        [Value::Double(d)] => pintle_schema::compat::float::print(*d),
        [Value::Duration(duration)] => time::print_duration(duration.nanos),
        [Value::Timestamp(moment)] => print_timestamp(moment),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_string(),
            Err(_) => return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        _ => return fails(args, &Type::String),
    }))
}

/// A moment in the zone it was written in.
pub(crate) fn print_timestamp(moment: &Timestamp) -> String {
    time::print_timestamp(moment)
}

fn to_timestamp<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let moment = match args {
        [Value::Int(seconds)] => Timestamp::utc(*seconds, 0),
        [Value::String(text)] => match time::parse_timestamp(text) {
            Some(moment) => moment,
            None => return fails(args, &Type::Timestamp),
        },
        _ => return fails(args, &Type::Timestamp),
    };
    if moment.is_in_range() { Ok(Value::Timestamp(moment)) } else { Err(EvalError::new("timestamp overflow")) }
}
