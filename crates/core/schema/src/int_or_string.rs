//! Texts that stand for a number or a percentage, such as percentages and ports.
//! Guarantees kube-apiserver's rounding and errors.
//! Must never overflow on large percentages.

use crate::names::quoted;
use crate::scalars::IntOrString;
use crate::value::Str;

/// Converts a numeric text to a number; any other remains a text.
pub fn parse(text: &str) -> IntOrString {
    text.parse().map_or_else(|_| IntOrString::String(Str::new(text)), IntOrString::Int)
}

/// How a fractional result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next smaller number.
    Down,
    /// To the next larger number.
    Up,
}

/// The number itself, or its percentage of `total`.
pub fn scaled(value: &IntOrString, total: i64, rounding: Rounding) -> Result<i64, String> {
    let text = match value {
        IntOrString::Int(number) => return Ok(i64::from(*number)),
        IntOrString::String(text) => text,
    };
    let Some(number) = text.strip_suffix('%') else {
        return Err("invalid value for IntOrString: invalid type: string is not a percentage".to_string());
    };
    let percent: i64 = number.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        let (text, number) = (quoted(text), quoted(number));
        format!("invalid value for IntOrString: invalid value {text}: strconv.Atoi: parsing {number}: {why}")
    })?;
    let product = i128::from(percent) * i128::from(total);
    let share = match rounding {
        Rounding::Down => product.div_euclid(100),
        Rounding::Up => -(-product).div_euclid(100),
    };
    Ok(i64::try_from(share).unwrap_or(if share < 0 { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(parse("80"), IntOrString::Int(80));
        assert_eq!(parse("http"), IntOrString::String(Str::new("http")));
        assert_eq!(parse("2147483648"), IntOrString::String(Str::new("2147483648")));
    }

    #[test]
    fn shares() {
        let syntax = |text: &str, number: &str, why: &str| {
            Err(format!(
                "invalid value for IntOrString: invalid value \"{text}\": strconv.Atoi: parsing \"{number}\": {why}"
            ))
        };
        let not_percent = "invalid value for IntOrString: invalid type: string is not a percentage";
        let rows = [
            ("3", 10, Ok(3), Ok(3)),
            ("25%", 10, Ok(2), Ok(3)),
            ("50%", 10, Ok(5), Ok(5)),
            ("-25%", 10, Ok(-3), Ok(-2)),
            ("9223372036854775807%", i64::MAX, Ok(i64::MAX), Ok(i64::MAX)),
            ("x", 10, Err(not_percent.to_string()), Err(not_percent.to_string())),
            ("%", 10, syntax("%", "", "invalid syntax"), syntax("%", "", "invalid syntax")),
        ];
        for (text, total, down, up) in rows {
            assert_eq!(scaled(&parse(text), total, Rounding::Down), down, "{text}");
            assert_eq!(scaled(&parse(text), total, Rounding::Up), up, "{text}");
        }
    }
}
