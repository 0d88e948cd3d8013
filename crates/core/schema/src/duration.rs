//! Durations: texts such as `1h30m`, and the ages in tables.
//! Guarantees kube-apiserver's parsing, text and errors.
//! Must never panic or overflow on a long text.

use std::fmt;

use crate::compat::quote::quoted_bytes;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The magnitude of the smallest i64.
const LIMIT: u64 = 1 << 63;

/// A duration in the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Its length in nanoseconds, which may be negative.
    pub nanos: i64,
}

impl Duration {
    /// A number of whole seconds, clamped to the range of a duration.
    pub const fn from_seconds(seconds: i64) -> Duration {
        Duration { nanos: seconds.saturating_mul(1_000_000_000) }
    }

    /// Parses numbers with units: `1h2m3s`, `1.5h`, `-300ms`; `0` needs no unit.
    pub fn parse(text: &str) -> Result<Duration, DurationError> {
        let invalid = || DurationError::Invalid(text.to_string());
        let negative = text.starts_with('-');
        let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        if rest == "0" {
            return Ok(Duration::default());
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let whole;
            let fraction;
            (whole, rest) = split_at(rest, |c| !c.is_ascii_digit());
            (fraction, rest) = match rest.strip_prefix('.') {
                Some(rest) => split_at(rest, |c| !c.is_ascii_digit()),
                None => ("", rest),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            // The number is checked before its unit, as in kube-apiserver.
            let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
            if whole > LIMIT {
                return Err(invalid());
            }
            let name;
            (name, rest) = split_at(rest, |c| c == '.' || c.is_ascii_digit());
            if name.is_empty() {
                return Err(DurationError::MissingUnit(text.to_string()));
            }
            let unit = unit(name).ok_or_else(|| DurationError::UnknownUnit(name.to_string(), text.to_string()))?;
            let nanos = whole.checked_mul(unit).and_then(|nanos| nanos.checked_add(part_of(fraction, unit)));
            total =
                nanos.and_then(|nanos| total.checked_add(nanos)).filter(|total| *total <= LIMIT).ok_or_else(invalid)?;
        }
        if negative {
            return Ok(Duration { nanos: 0_i64.wrapping_sub_unsigned(total) });
        }
        i64::try_from(total).map(|nanos| Duration { nanos }).map_err(|_| invalid())
    }
}

fn split_at(text: &str, end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at_checked(text.find(end).unwrap_or(text.len())).unwrap_or((text, ""))
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        // Both the micro sign and the Greek letter are in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

/// The nanoseconds of a fraction of a unit. Digits beyond the range are ignored.
fn part_of(fraction: &str, unit: u64) -> u64 {
    let (mut digits, mut scale) = (0_u64, 1.0);
    for digit in fraction.bytes() {
        let Some(next) = digits.checked_mul(10).and_then(|d| d.checked_add(u64::from(digit.wrapping_sub(b'0')))) else {
            break;
        };
        if next > LIMIT {
            break;
        }
        digits = next;
        scale *= 10.0;
    }
    // In floating point, as in kube-apiserver, because the last nanosecond depends on it.
    (digits as f64 * (unit as f64 / scale)) as u64
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.nanos.unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if self.nanos < 0 {
            f.write_str("-")?;
        }
        if nanos < MICROSECOND {
            return write!(f, "{nanos}ns");
        }
        if nanos < MILLISECOND {
            return write!(f, "{}\u{b5}s", with_fraction(nanos, MICROSECOND));
        }
        if nanos < SECOND {
            return write!(f, "{}ms", with_fraction(nanos, MILLISECOND));
        }
        let (hours, minutes) = (nanos / HOUR, nanos / MINUTE % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write!(f, "{}s", with_fraction(nanos % MINUTE, SECOND))
    }
}

/// `nanos` in units, with as many decimal places as needed.
fn with_fraction(nanos: u64, unit: u64) -> String {
    let width = unit.ilog10() as usize;
    let text = format!("{}.{:0width$}", nanos / unit, nanos % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl std::str::FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Duration::parse(text)
    }
}

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is malformed, or its value is too large.
    #[error("time: invalid duration {}", quoted_bytes(.0))]
    Invalid(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quoted_bytes(.0))]
    MissingUnit(String),
    /// An unknown unit: the unit, the text.
    #[error("time: unknown unit {} in duration {}", quoted_bytes(.0), quoted_bytes(.1))]
    UnknownUnit(String, String),
}

/// An age as in tables, from whole seconds: at most two units, the smaller one only while it is significant.
pub fn human_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..-1 => "<invalid>".to_string(),
        -1 => "0s".to_string(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit}{small}{small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows() {
        let rows = [
            ("0", 0, "0s"),
            ("-0", 0, "0s"),
            ("0s", 0, "0s"),
            ("1h2m3s", 3_723_000_000_000, "1h2m3s"),
            ("1.5h", 5_400_000_000_000, "1h30m0s"),
            ("300ms", 300_000_000, "300ms"),
            ("-1m", -60_000_000_000, "-1m0s"),
            ("+5s", 5_000_000_000, "5s"),
            (".5s", 500_000_000, "500ms"),
            ("1.s", 1_000_000_000, "1s"),
            ("1us", 1000, "1\u{b5}s"),
            ("1.5\u{b5}s", 1500, "1.5\u{b5}s"),
            ("2\u{3bc}s", 2000, "2\u{b5}s"),
            ("1ns", 1, "1ns"),
            ("1.9ns", 1, "1ns"),
            ("1s1s", 2_000_000_000, "2s"),
            ("0.100000000000000000000h", 360_000_000_000, "6m0s"),
            ("0.9223372036854775807h", 3_320_413_933_267, "55m20.413933267s"),
            ("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
            ("100h", 360_000_000_000_000, "100h0m0s"),
        ];
        for (text, nanos, shown) in rows {
            let duration = Duration::parse(text);
            assert_eq!(duration, Ok(Duration { nanos }), "{text}");
            assert_eq!(duration.map(|duration| duration.to_string()), Ok(shown.to_string()), "{text}");
        }
    }

    #[test]
    fn words_refusals_as_the_reference() {
        let rows = [
            ("", "time: invalid duration \"\""),
            ("bogus", "time: invalid duration \"bogus\""),
            ("-", "time: invalid duration \"-\""),
            (".", "time: invalid duration \".\""),
            (".s", "time: invalid duration \".s\""),
            ("+.s", "time: invalid duration \"+.s\""),
            ("3", "time: missing unit in duration \"3\""),
            ("1h3", "time: missing unit in duration \"1h3\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1 s", "time: unknown unit \" s\" in duration \"1 s\""),
            ("1é", "time: unknown unit \"\\xc3\\xa9\" in duration \"1\\xc3\\xa9\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("-9223372036854775809ns", "time: invalid duration \"-9223372036854775809ns\""),
            ("99999999999999999999", "time: invalid duration \"99999999999999999999\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            ("9223372036854775807ns1ns", "time: invalid duration \"9223372036854775807ns1ns\""),
        ];
        for (text, expected) in rows {
            assert_eq!(Duration::parse(text).map_err(|error| error.to_string()), Err(expected.to_string()));
        }
    }

    #[test]
    fn ages() {
        let rows = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_199, "7d23h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
            (i64::MAX, "292471208677y"),
            (i64::MIN, "<invalid>"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(human_duration(seconds), expected, "{seconds}");
        }
    }
}
