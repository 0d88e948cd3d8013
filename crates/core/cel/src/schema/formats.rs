//! How strings of declared formats are read: durations, dates and dates with hours.
//!
//! Texts of errors are those of Go's parsers. Validation has refused most of what these refuse.

use crate::value::Timestamp;
use pintle_schema::time::{Civil, days_in_month};

/// Go's durations (`1h30m`), and one number with a unit up to weeks (`3 days`), in nanoseconds.
pub fn duration(text: &str) -> Result<i64, String> {
    if let Ok(duration) = pintle_schema::Duration::parse(text) {
        return Ok(duration.nanos);
    }
    let mut total: i64 = 0;
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        rest = tail;
        if unit.is_empty() {
            continue;
        }
        let Some(unit) = unit_nanos(&unit.to_ascii_lowercase()) else { continue };
        let number: i64 =
            number.parse().map_err(|_| format!("strconv.Atoi: parsing \"{number}\": value out of range"))?;
        total = total.wrapping_add(number.wrapping_mul(unit));
        found = true;
    }
    if found { Ok(total) } else { Err(format!("unable to parse {text} as duration")) }
}

fn unit_nanos(unit: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000_000;
    Some(match unit {
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hr" | "hour" | "hours" => 3600 * SECOND,
        "d" | "day" | "days" => 24 * 3600 * SECOND,
        "w" | "week" | "weeks" => 7 * 24 * 3600 * SECOND,
        _ => return None,
    })
}

fn digits(text: &str, from: usize, count: usize) -> Option<u32> {
    let digits = text.get(from..from + count)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn day_of(text: &str) -> Option<Civil> {
    let bytes = text.as_bytes();
    let (year, month, day) = (digits(text, 0, 4)?, digits(text, 5, 2)?, digits(text, 8, 2)?);
    let is_date = bytes.get(4) == Some(&b'-')
        && bytes.get(7) == Some(&b'-')
        && (1..=12).contains(&month)
        && (1..=days_in_month(year.into(), month)).contains(&day);
    is_date.then_some(Civil { year: year.into(), month, day, hour: 0, minute: 0, second: 0, nanos: 0 })
}

/// `2006-01-02`.
pub fn date(text: &str) -> Result<Timestamp, String> {
    match day_of(text) {
        Some(civil) if text.len() == 10 => Ok(Timestamp::utc(civil.seconds(), 0)),
        _ => Err(format!("parsing time \"{text}\" as \"2006-01-02\": cannot parse \"{text}\" as \"2006\"")),
    }
}

/// RFC 3339, also without a zone; nothing is 1970.
pub fn date_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp::utc(0, 0));
    }
    parse_date_time(text).ok_or_else(|| {
        format!("parsing time \"{text}\" as \"2006-01-02T15:04:05.000Z07:00\": cannot parse \"{text}\" as \"2006\"")
    })
}

fn parse_date_time(text: &str) -> Option<Timestamp> {
    let mut civil = day_of(text)?;
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    (civil.hour, civil.minute) = (digits(text, 11, 2)?, digits(text, 14, 2)?);
    let mut at = 16;
    if text.as_bytes().get(16) == Some(&b':') {
        civil.second = digits(text, 17, 2)?;
        at = 19;
    }
    if civil.hour > 23 || civil.minute > 59 || civil.second > 59 || text.as_bytes().get(13) != Some(&b':') {
        return None;
    }
    let mut rest = text.get(at..)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
        let (digits, tail) = fraction.split_at(end);
        if digits.is_empty() {
            return None;
        }
        let mut nanos = digits.get(..digits.len().min(9))?.to_string();
        while nanos.len() < 9 {
            nanos.push('0');
        }
        civil.nanos = nanos.parse().ok()?;
        rest = tail;
    }
    let offset_seconds = match rest {
        "" | "Z" | "z" => 0,
        zone => {
            let sign = match zone.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let hour = i32::try_from(digits(zone, 1, 2)?).ok()?;
            let minutes = zone.get(3..)?.trim_start_matches(':');
            let minute = if minutes.is_empty() { 0 } else { i32::try_from(digits(minutes, 0, 2)?).ok()? };
            if hour > 24 || minute > 60 || minutes.len() > 2 {
                return None;
            }
            sign * (hour * 3600 + minute * 60)
        }
    };
    let seconds = civil.seconds() - i64::from(offset_seconds);
    Some(Timestamp { seconds, nanos: civil.nanos, offset_seconds })
}
