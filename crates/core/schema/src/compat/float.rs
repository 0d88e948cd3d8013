//! Floating point numbers as texts.
//!
//! Guarantees the shortest text that reads back as the same number, in the form that Go gives it.

use std::fmt::{Display, LowerExp};
use std::ops::Range;

/// The shortest text (`%g`): `0.1`, `1e+06`, `+Inf`.
pub fn print(number: f64) -> String {
    print_or(number, -4..6)
}

/// The text of a value (`%v`), which has no exponent below 1e+21.
pub fn print_value(number: f64) -> String {
    print_or(number, -4..21)
}

fn print_or(number: f64, plain: Range<i32>) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => finite(number, plain),
    }
}

/// The digits of a finite number of either precision, with an exponent of two digits or more unless that is in `plain`.
pub fn finite<T: Display + LowerExp>(number: T, plain: Range<i32>) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if plain.contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::{print, print_value};

    #[test]
    fn numbers_print_shortest() {
        for (number, text) in [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1.0, "1"),
            (123_456.789, "123456.789"),
            (1e6, "1e+06"),
            (123_456_789_012.5, "1.234567890125e+11"),
            (1e-9, "1e-09"),
            (0.0001, "0.0001"),
            (1e300, "1e+300"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(print(number), text);
        }
        for (number, text) in [(0.0, "0"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1e-5, "1e-05")] {
            assert_eq!(print_value(number), text);
        }
    }
}
