//! Times: RFC 3339 texts, and seconds and nanoseconds since 1970.
//! Guarantees kube-apiserver's parsing, including its leniency, and its error messages.
//! Must never read a clock.

use crate::compat::quote::quoted_bytes;
use std::fmt;

/// Seconds since 1970 of the beginning of year 1, which the API treats as no time.
const ZERO_SECONDS: i64 = -62_135_596_800;

const DAY_SECONDS: i64 = 86_400;

const SECONDS_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

const MICROS_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// A time, encoded with whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second. Parsed but not encoded.
    pub nanos: u32,
}

/// A time, encoded with microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

impl Time {
    /// No time: JSON has null.
    pub const ZERO: Time = Time { seconds: ZERO_SECONDS, nanos: 0 };

    /// The time a number of seconds after 1970.
    pub const fn from_seconds(seconds: i64) -> Time {
        Time { seconds, nanos: 0 }
    }

    /// Parses `2006-01-02T15:04:05Z`, optionally with an offset and a fraction.
    pub fn parse(text: &str) -> Result<Time, TimeError> {
        parse(text, SECONDS_LAYOUT, false).map(|(seconds, nanos)| Time { seconds, nanos })
    }

    /// Whether this is no time.
    pub fn is_zero(&self) -> bool {
        *self == Time::ZERO
    }

    /// The date and hour in UTC.
    pub fn civil(&self) -> Civil {
        Civil::at(self.seconds, self.nanos)
    }

    /// The encoded text: UTC, whole seconds.
    pub fn to_rfc3339(&self) -> String {
        let mut text = self.civil().date_and_hour();
        text.push('Z');
        text
    }
}

impl MicroTime {
    /// No time: JSON has null.
    pub const ZERO: MicroTime = MicroTime { seconds: ZERO_SECONDS, nanos: 0 };

    /// Parses `2006-01-02T15:04:05.000000Z`, optionally with an offset; all six digits are required.
    pub fn parse(text: &str) -> Result<MicroTime, TimeError> {
        parse(text, MICROS_LAYOUT, true).map(|(seconds, nanos)| MicroTime { seconds, nanos })
    }

    /// Whether this is no time.
    pub fn is_zero(&self) -> bool {
        *self == MicroTime::ZERO
    }

    /// The date and hour in UTC.
    pub fn civil(&self) -> Civil {
        Civil::at(self.seconds, self.nanos)
    }

    /// The encoded text: UTC, microseconds.
    pub fn to_rfc3339(&self) -> String {
        let mut text = self.civil().date_and_hour();
        text.push('.');
        for part in [self.nanos / 10_000_000, self.nanos / 100_000, self.nanos / 1000] {
            push_two_digits(&mut text, part % 100);
        }
        text.push('Z');
        text
    }
}

impl Default for Time {
    fn default() -> Self {
        Time::ZERO
    }
}

impl Default for MicroTime {
    fn default() -> Self {
        MicroTime::ZERO
    }
}

impl From<Time> for MicroTime {
    fn from(time: Time) -> Self {
        MicroTime { seconds: time.seconds, nanos: time.nanos }
    }
}

impl From<MicroTime> for Time {
    fn from(time: MicroTime) -> Self {
        Time { seconds: time.seconds, nanos: time.nanos }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// A date and hour of the Gregorian calendar in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year; 0 is the one before year 1.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
    /// Below 10^9.
    pub nanos: u32,
}

impl Civil {
    /// The date and hour so many seconds after 1970 began; `nanos` is below one milliard.
    pub fn at(seconds: i64, nanos: u32) -> Civil {
        let (year, month, day) = date_of_day(seconds.div_euclid(DAY_SECONDS));
        let rest = small(seconds.rem_euclid(DAY_SECONDS));
        Civil { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, nanos }
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> i64 {
        let of_day = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        day_of_date(self.year, self.month, self.day).saturating_mul(DAY_SECONDS).saturating_add(of_day)
    }

    fn date_and_hour(&self) -> String {
        // Without the formatting machinery of the standard library, which costs more than the rest of an audit event's line.
        let mut text = String::with_capacity(LENGTH);
        match self.year {
            year @ 0..=9999 => {
                push_two_digits(&mut text, small(year) / 100);
                push_two_digits(&mut text, small(year) % 100);
            }
            year => {
                let sign = if year < 0 { "-" } else { "" };
                text.push_str(&format!("{sign}{:04}", year.unsigned_abs()));
            }
        }
        for (separator, number) in
            [('-', self.month), ('-', self.day), ('T', self.hour), (':', self.minute), (':', self.second)]
        {
            text.push(separator);
            push_two_digits(&mut text, number);
        }
        text
    }
}

/// The bytes of `2006-01-02T15:04:05.000000Z`.
const LENGTH: usize = 27;

/// Appends a number below 100 with two digits.
fn push_two_digits(text: &mut String, number: u32) {
    let digit = |number: u32| char::from(b'0' + (number % 10) as u8);
    text.extend([digit(number / 10), digit(number)]);
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// Days since 1970. Years begin in March, so that the leap day is the last one of its year.
fn day_of_date(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.saturating_mul(146_097).saturating_add(day_of_era - 719_468)
}

fn date_of_day(day: i64) -> (i64, u32, u32) {
    let from_march_of_0 = day.saturating_add(719_468);
    let (era, day_of_era) = (from_march_of_0.div_euclid(146_097), from_march_of_0.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, small(month), small(day))
}

/// The number of days of a month.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Why a text is not a time, with kube-apiserver's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeError(String);

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    layout: &'static str,
}

impl<'a> Reader<'a> {
    fn unreadable(&self, at: &str, element: &str) -> TimeError {
        let (text, layout) = (quoted_bytes(self.text), quoted_bytes(self.layout));
        TimeError(format!(
            "parsing time {text} as {layout}: cannot parse {} as {}",
            quoted_bytes(at),
            quoted_bytes(element)
        ))
    }

    fn wrong(&self, why: &str) -> TimeError {
        TimeError(format!("parsing time {}: {why}", quoted_bytes(self.text)))
    }

    fn literal(&mut self, literal: &str) -> Result<(), TimeError> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.unreadable(self.rest, literal))?;
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.take(count)?;
        digits.parse().ok()
    }

    /// A number of two digits. Only the hour may have one.
    fn number(&mut self, element: &str, name: &str, range: std::ops::Range<u32>) -> Result<u32, TimeError> {
        let number = self.digits(2).or_else(|| if element == "15" { self.digits(1) } else { None });
        let number = number.ok_or_else(|| self.unreadable(self.rest, element))?;
        if range.contains(&number) { Ok(number) } else { Err(self.wrong(&format!("{name} out of range"))) }
    }

    /// The digits after a second, if any, up to nanoseconds.
    fn optional_fraction(&mut self) -> u32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return 0;
        }
        let _ = self.take(1);
        let digits = self.take(count).unwrap_or("");
        digits
            .bytes()
            .chain(std::iter::repeat(b'0'))
            .take(9)
            .fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
    }

    fn micros(&mut self) -> Result<u32, TimeError> {
        const ELEMENT: &str = ".000000";
        let error = self.unreadable(self.rest, ELEMENT);
        self.rest = self.rest.strip_prefix(['.', ',']).ok_or_else(|| error.clone())?;
        Ok(self.digits(6).ok_or(error)? * 1000)
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, TimeError> {
        const ELEMENT: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let error = self.unreadable(self.rest, ELEMENT);
        let bad = || error.clone();
        let bytes = self.rest.as_bytes();
        if bytes.len() < 6 || bytes.get(3) != Some(&b':') {
            return Err(error);
        }
        let sign = self.take(1).ok_or_else(bad)?;
        let hours = self.digits(2).ok_or_else(bad)?;
        let _ = self.take(1);
        let minutes = self.digits(2).ok_or_else(bad)?;
        // A full day and a full hour are accepted, because some clients send them.
        if hours > 24 {
            return Err(self.wrong("time zone offset hour out of range"));
        }
        if minutes > 60 {
            return Err(self.wrong("time zone offset minute out of range"));
        }
        let seconds = i64::from(hours * 3600 + minutes * 60);
        match sign {
            "+" => Ok(seconds),
            "-" => Ok(-seconds),
            _ => Err(error),
        }
    }
}

fn parse(text: &str, layout: &'static str, micros: bool) -> Result<(i64, u32), TimeError> {
    let mut reader = Reader { text, rest: text, layout };
    let year = reader.digits(4).ok_or_else(|| reader.unreadable(text, "2006"))?;
    reader.literal("-")?;
    let month = reader.number("01", "month", 1..13)?;
    reader.literal("-")?;
    let day = reader.number("02", "day", 0..100)?;
    reader.literal("T")?;
    let hour = reader.number("15", "hour", 0..24)?;
    reader.literal(":")?;
    let minute = reader.number("04", "minute", 0..60)?;
    reader.literal(":")?;
    let second = reader.number("05", "second", 0..60)?;
    let nanos = if micros { reader.micros()? } else { reader.optional_fraction() };
    let offset = reader.offset()?;
    if !reader.rest.is_empty() {
        return Err(reader.wrong(&format!("extra text: {}", quoted_bytes(reader.rest))));
    }
    let year = i64::from(year);
    if day < 1 || day > days_in_month(year, month) {
        return Err(reader.wrong("day out of range"));
    }
    let civil = Civil { year, month, day, hour, minute, second, nanos };
    Ok((civil.seconds() - offset, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows_seconds() {
        let rows = [
            ("1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"),
            ("2006-01-02T15:04:05+07:00", 1_136_189_045, 0, "2006-01-02T08:04:05Z"),
            ("2024-02-29T23:59:59.123456789123Z", 1_709_251_199, 123_456_789, "2024-02-29T23:59:59Z"),
            ("2024-02-29T23:59:59,5-00:30", 1_709_252_999, 500_000_000, "2024-03-01T00:29:59Z"),
            ("2024-01-01T1:00:00Z", 1_704_070_800, 0, "2024-01-01T01:00:00Z"),
            ("1969-12-31T23:59:59Z", -1, 0, "1969-12-31T23:59:59Z"),
            ("0001-01-01T00:00:00Z", ZERO_SECONDS, 0, "0001-01-01T00:00:00Z"),
            ("0000-01-01T00:00:00+24:00", -62_167_305_600, 0, "-0001-12-31T00:00:00Z"),
            ("9999-12-31T23:59:59-00:60", 253_402_304_399, 0, "10000-01-01T00:59:59Z"),
            ("2000-02-29T00:00:00Z", 951_782_400, 0, "2000-02-29T00:00:00Z"),
        ];
        for (text, seconds, nanos, shown) in rows {
            let time = Time::parse(text);
            assert_eq!(time, Ok(Time { seconds, nanos }), "{text}");
            assert_eq!(time.map(|time| time.to_rfc3339()), Ok(shown.to_string()), "{text}");
        }
        assert!(Time::parse("0001-01-01T00:00:00Z").is_ok_and(|time| time.is_zero()));
    }

    #[test]
    fn reads_and_shows_micros() {
        let rows = [
            ("1970-01-01T00:00:00.000001Z", 0, 1000, "1970-01-01T00:00:00.000001Z"),
            ("2006-01-02T15:04:05.123456-07:00", 1_136_239_445, 123_456_000, "2006-01-02T22:04:05.123456Z"),
        ];
        for (text, seconds, nanos, shown) in rows {
            let time = MicroTime::parse(text);
            assert_eq!(time, Ok(MicroTime { seconds, nanos }), "{text}");
            assert_eq!(time.map(|time| time.to_rfc3339()), Ok(shown.to_string()), "{text}");
        }
        assert_eq!(MicroTime { seconds: 1, nanos: 999_999_999 }.to_rfc3339(), "1970-01-01T00:00:01.999999Z");
    }

    #[test]
    fn words_refusals_as_the_reference() {
        let unreadable = [
            ("", "", "2006"),
            ("x", "x", "2006"),
            ("yesterday", "yesterday", "2006"),
            ("20é4-01-01T00:00:00Z", "20\\xc3\\xa94-01-01T00:00:00Z", "2006"),
            ("2024/01", "/01", "-"),
            ("2024-1-01T00:00:00Z", "1-01T00:00:00Z", "01"),
            ("2024-01-01", "", "T"),
            ("2024-01-01 00:00:00Z", " 00:00:00Z", "T"),
            ("2024-01-01T00:00", "", ":"),
            ("2024-01-01T00:00:00", "", "Z07:00"),
            ("2024-01-01T00:00:00.Z", ".Z", "Z07:00"),
            ("2024-01-01T00:00:00*01:00", "*01:00", "Z07:00"),
            ("2024-01-01T00:00:00+0100", "+0100", "Z07:00"),
            ("2024-01-01T00:00:00+é:00", "+\\xc3\\xa9:00", "Z07:00"),
        ];
        for (text, at, element) in unreadable {
            let text_shown = text.replace('é', "\\xc3\\xa9");
            let expected = format!(
                "parsing time \"{text_shown}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{at}\" as \"{element}\""
            );
            assert_eq!(Time::parse(text).map_err(|error| error.to_string()), Err(expected));
        }
        let wrong = [
            ("2024-13-01T00:00:00Z", "month out of range"),
            ("2024-02-30T00:00:00Z", "day out of range"),
            ("2023-02-29T00:00:00Z", "day out of range"),
            ("2024-01-00T00:00:00Z", "day out of range"),
            ("2024-01-01T24:00:00Z", "hour out of range"),
            ("2024-01-01T00:60:00Z", "minute out of range"),
            ("2024-01-01T00:00:60Z", "second out of range"),
            ("2024-01-01T00:00:00+25:00", "time zone offset hour out of range"),
            ("2024-01-01T00:00:00+00:61", "time zone offset minute out of range"),
            ("2024-01-01T00:00:00Z ", "extra text: \" \""),
        ];
        for (text, why) in wrong {
            let expected = format!("parsing time \"{text}\": {why}");
            assert_eq!(Time::parse(text).map_err(|error| error.to_string()), Err(expected));
        }
        let micros = [
            ("2024-01-01T00:00:00Z", "Z", ".000000"),
            ("2024-01-01T00:00:00.123Z", ".123Z", ".000000"),
            ("2024-01-01T00:00:00.1234567Z", "7Z", "Z07:00"),
        ];
        for (text, at, element) in micros {
            let expected = format!(
                "parsing time \"{text}\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"{at}\" as \"{element}\""
            );
            assert_eq!(MicroTime::parse(text).map_err(|error| error.to_string()), Err(expected));
        }
    }

    #[test]
    fn dates_and_days_agree() {
        let mut expected = (1895, 3, 1);
        for day in day_of_date(1895, 3, 1)..day_of_date(2105, 1, 1) {
            assert_eq!(date_of_day(day), expected);
            assert_eq!(day_of_date(expected.0, expected.1, expected.2), day);
            expected.2 += 1;
            if expected.2 > days_in_month(expected.0, expected.1) {
                expected = if expected.1 == 12 { (expected.0 + 1, 1, 1) } else { (expected.0, expected.1 + 1, 1) };
            }
        }
        for seconds in [i64::MIN, i64::MAX] {
            assert!(!Time::from_seconds(seconds).to_rfc3339().is_empty());
        }
    }
}
