//! Moments and lengths of time as texts, and the parts of a moment in a time zone.
//!
//! Texts are read and printed as Go does it. Nothing here asks for the current time.

use super::zone;
use crate::value::Timestamp;
use pintle_schema::duration;
use pintle_schema::names::quoted;
use pintle_schema::time::{Civil, days_in_month};

/// The seconds of a day.
const DAY: i64 = 86_400;

/// Reads `2006-01-02T15:04:05.999Z` and its like; `None` for what is no such text.
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let mut reader = Reader(text);
    let year = i64::from(reader.digits(4)?);
    reader.literal("-")?;
    let month = reader.digits(2).filter(|month| (1..=12).contains(month))?;
    reader.literal("-")?;
    let day = reader.digits(2)?;
    reader.literal("T")?;
    // Of the hour, one digit is enough.
    let hour = reader.digits(2).or_else(|| reader.digits(1)).filter(|hour| *hour < 24)?;
    reader.literal(":")?;
    let minute = reader.digits(2).filter(|minute| *minute < 60)?;
    reader.literal(":")?;
    let second = reader.digits(2).filter(|second| *second < 60)?;
    let nanos = reader.fraction();
    let offset = reader.offset()?;
    if !reader.0.is_empty() || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let civil = Civil { year, month, day, hour, minute, second, nanos };
    Some(Timestamp { seconds: civil.seconds() - i64::from(offset), nanos, offset_seconds: offset })
}

struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        self.0 = rest;
        Some(number)
    }

    /// Nanoseconds behind a point or comma; more than nine digits are of no weight.
    fn fraction(&mut self) -> u32 {
        let Some(rest) = self.0.strip_prefix(['.', ',']) else { return 0 };
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return 0;
        }
        let (digits, rest) = rest.split_at_checked(count).unwrap_or((rest, ""));
        self.0 = rest;
        let digits = digits.get(..9).unwrap_or(digits);
        format!("{digits:0<9}").parse().unwrap_or(0)
    }

    fn offset(&mut self) -> Option<i32> {
        if self.literal("Z").is_some() {
            return Some(0);
        }
        let (sign, rest) = self.0.split_at_checked(1)?;
        self.0 = rest;
        let hours = self.digits(2).filter(|hours| *hours <= 24)?;
        self.literal(":")?;
        let minutes = self.digits(2).filter(|minutes| *minutes <= 60)?;
        let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
        match sign {
            "+" => Some(seconds),
            "-" => Some(-seconds),
            _ => None,
        }
    }
}

/// Prints a moment with as many digits of its fraction as there are, at its offset.
pub fn print_timestamp(moment: &Timestamp) -> String {
    let Civil { year, month, day, hour, minute, second, .. } =
        Civil::at(moment.seconds.saturating_add(i64::from(moment.offset_seconds)), 0);
    let sign = if year < 0 { "-" } else { "" };
    let fraction = format!(".{:09}", moment.nanos);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let year = year.unsigned_abs();
    let zone = match moment.offset_seconds {
        0 => "Z".to_owned(),
        offset => {
            let minutes = offset.unsigned_abs() / 60;
            format!("{}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
        }
    };
    format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
}

/// Reads `1h30m`, `-1.5s` and their like, in nanoseconds.
pub fn parse_duration(text: &str) -> Option<i64> {
    duration::Duration::parse(text).ok().map(|duration| duration.nanos)
}

/// Prints seconds with as many decimal places as it takes: `5400s`, `0.5s`.
pub fn print_duration(nanos: i64) -> String {
    format!("{}s", seconds(nanos))
}

/// The length in seconds. Rounded as kube-apiserver does: whole seconds and the rest each on its
/// own.
pub fn seconds(nanos: i64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
}

/// A part of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    FullYear,
    /// From 0.
    Month,
    /// From 0.
    DayOfYear,
    /// From 0.
    DayOfMonth,
    /// From 1.
    Date,
    /// From 0, Sunday.
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// A part of a moment in a time zone: `Europe/Berlin`, `-02:30`; UTC without one.
pub fn part(part: Part, seconds: i64, nanos: u32, zone: Option<&str>) -> Result<i64, String> {
    let offset = match zone {
        None => 0,
        Some(zone) => offset_of(zone, seconds)?,
    };
    let local = seconds.saturating_add(offset);
    let civil = Civil::at(local, nanos);
    Ok(match part {
        Part::FullYear => civil.year,
        Part::Month => i64::from(civil.month) - 1,
        Part::DayOfYear => local.div_euclid(DAY).saturating_sub(day_of_date(civil.year, 1, 1)),
        Part::DayOfMonth => i64::from(civil.day) - 1,
        Part::Date => i64::from(civil.day),
        // The first day of 1970 was a Thursday.
        Part::DayOfWeek => local.div_euclid(DAY).saturating_add(4).rem_euclid(7),
        Part::Hours => i64::from(civil.hour),
        Part::Minutes => i64::from(civil.minute),
        Part::Seconds => i64::from(civil.second),
        Part::Milliseconds => i64::from(nanos / 1_000_000),
    })
}

/// Seconds east of UTC at a moment.
fn offset_of(zone: &str, at: i64) -> Result<i64, String> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return zone::offset(zone, at);
    };
    let hours = integer(hours)?.wrapping_mul(60);
    let minutes = integer(minutes)?;
    let minutes = if zone.starts_with('-') { hours.wrapping_sub(minutes) } else { hours.wrapping_add(minutes) };
    // In nanoseconds, as kube-apiserver multiplies, and so wraps.
    Ok(minutes.wrapping_mul(60_000_000_000) / 1_000_000_000)
}

fn integer(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map_err(|_| {
        let why = if is_number { "value out of range" } else { "invalid syntax" };
        format!("strconv.Atoi: parsing {}: {why}", quoted(text))
    })
}

/// Days since 1970 of a date.
pub(crate) fn day_of_date(year: i64, month: u32, day: u32) -> i64 {
    Civil { year, month, day, hour: 0, minute: 0, second: 0, nanos: 0 }.seconds().div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Option<String> {
        parse_timestamp(text).map(|moment| print_timestamp(&moment))
    }

    #[test]
    fn timestamps_are_read_and_printed() {
        for (text, canonical) in [
            ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.5Z"),
            ("2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
            ("2024-02-29T12:00:00+05:30", "2024-02-29T12:00:00+05:30"),
            ("1969-12-31T23:59:58Z", "1969-12-31T23:59:58Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("2024-01-01T1:00:00Z", "2024-01-01T01:00:00Z"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(canonical), "{text}");
        }
        let none = ["", "x", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "10000-01-01T00:00:00Z"];
        for text in none.into_iter().chain(["2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00Zx"]) {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_printed() {
        for (text, canonical) in [
            ("1µs", "0.000001s"),
            ("1.5h", "5400s"),
            ("-2m", "-120s"),
            ("1h2m3s4ms5us6ns", "3723.004005006s"),
            ("-2562047h47m16.854775808s", "-9223372036.854776s"),
            ("1.s", "1s"),
        ] {
            assert_eq!(parse_duration(text).map(print_duration).as_deref(), Some(canonical), "{text}");
        }
        assert_eq!(parse_duration("2562048h"), None);
    }

    #[test]
    fn parts_in_zones() {
        let moment = parse_timestamp("2023-06-15T04:05:06.987Z").unwrap();
        let get = |which, zone| part(which, moment.seconds, moment.nanos, zone);
        assert_eq!(get(Part::Hours, None), Ok(4));
        assert_eq!(get(Part::Hours, Some("Europe/Berlin")), Ok(6));
        assert_eq!(get(Part::Minutes, Some("Asia/Kolkata")), Ok(35));
        assert_eq!(get(Part::Date, Some("-09:30")), Ok(14));
        assert_eq!(get(Part::Minutes, Some("-00:30")), Ok(35));
        assert_eq!(get(Part::DayOfYear, None), Ok(165));
        assert_eq!(get(Part::DayOfWeek, None), Ok(4));
        assert_eq!(get(Part::Milliseconds, Some("+2:00")), Ok(987));
        assert_eq!(get(Part::Hours, Some("Nowhere/City")), Err("unknown time zone Nowhere/City".to_owned()));
        assert_eq!(get(Part::Hours, Some("a:0")), Err("strconv.Atoi: parsing \"a\": invalid syntax".to_owned()));
    }
}
