//! Floating point numbers as texts.
//!
//! Guarantees the shortest text that reads back as the same number, in the form that Go gives it.

/// Exponents of numbers that are written without one.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..6;

/// The shortest text: `0.1`, `1e+06`, `+Inf`.
pub fn print(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if PLAIN_EXPONENTS.contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::print;

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
    }
}
