//! Cron schedules: five fields, or a name such as `@hourly`.
//! Guarantees kube-apiserver's messages for invalid schedules.
//! Must never compute times.

use super::{quoted, time_zone};

/// The values of a field and their names, if any; a name's value is its position plus the minimum.
struct Field {
    least: i64,
    most: i64,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, names: &[] },
    Field { least: 0, most: 23, names: &[] },
    Field { least: 1, most: 31, names: &[] },
    Field {
        least: 1,
        most: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Field { least: 0, most: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

const DESCRIPTORS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Parses a schedule.
///
/// # Errors
/// Why it is invalid.
pub fn check(text: &str) -> Result<(), String> {
    let mut spec = text;
    if let Some(zoned) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) {
        let (zone, rest) = zoned.split_once(' ').ok_or("invalid schedule format")?;
        if !zone.is_empty() && zone != "Local" && !time_zone::exists(zone) {
            return Err(format!("provided bad location {zone}: {}", time_zone::why_unknown(zone)));
        }
        spec = rest.trim();
    }
    if spec.starts_with('@') {
        return descriptor(spec);
    }
    let fields: Vec<&str> = spec.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (text, field) in fields.into_iter().zip(&FIELDS) {
        text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| field.range(part))?;
    }
    Ok(())
}

fn descriptor(spec: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&spec) {
        return Ok(());
    }
    match spec.strip_prefix("@every ") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(duration) => Err(format!("failed to parse duration {spec}: time: invalid duration {}", quoted(duration))),
        None => Err(format!("unrecognized descriptor: {spec}")),
    }
}

/// Whether a text consists of numbers with units, such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - digits.len()];
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return false;
        }
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().find_map(|unit| digits.strip_prefix(unit));
        let Some(after) = unit else { return false };
        rest = after;
    }
    !text.is_empty()
}

impl Field {
    /// Parses `*`, `a`, `a-b`, each optionally with `/step`.
    fn range(&self, text: &str) -> Result<(), String> {
        let mut parts = text.split('/');
        let bounds: Vec<&str> = parts.next().unwrap_or_default().split('-').collect();
        let step = parts.next();
        let (start, mut end) = match bounds.as_slice() {
            ["*" | "?", ..] => (self.least, self.most),
            [only] => {
                let only = self.number(only)?;
                (only, only)
            }
            [first, last] => (self.number(first)?, self.number(last)?),
            _ => {
                self.number(bounds.first().copied().unwrap_or_default())?;
                return Err(format!("too many hyphens: {text}"));
            }
        };
        let step = step.map(integer).transpose()?;
        if parts.next().is_some() {
            return Err(format!("too many slashes: {text}"));
        }
        if step.is_some() && bounds.len() == 1 {
            end = self.most;
        }
        if start < self.least {
            return Err(format!("beginning of range ({start}) below minimum ({}): {text}", self.least));
        }
        if end > self.most {
            return Err(format!("end of range ({end}) above maximum ({}): {text}", self.most));
        }
        if start > end {
            return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
        }
        if step == Some(0) {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        Ok(())
    }

    fn number(&self, text: &str) -> Result<i64, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        match named.and_then(|at| i64::try_from(at).ok()) {
            Some(at) => Ok(at + self.least),
            None => integer(text),
        }
    }
}

fn integer(text: &str) -> Result<i64, String> {
    let why = "invalid syntax";
    let number: i64 = text
        .parse()
        .map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", quoted(text)))?;
    if number < 0 {
        return Err(format!("negative number ({number}) not allowed: {text}"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_that_can_be_read() {
        for right in ["*/5 * * * *", "0 0 1-5/2 JAN-MAR MON", "*/61 * * * *", "@hourly", "@every 1h30m", "0,30 ? * * 0"]
        {
            assert_eq!(check(right), Ok(()), "{right}");
        }
    }

    #[test]
    fn and_those_that_cannot() {
        let why = |text| check(text).unwrap_err();
        assert_eq!(why("héé"), "expected exactly 5 fields, found 1: [héé]");
        assert_eq!(why("60 * * * *"), "end of range (60) above maximum (59): 60");
        assert_eq!(why("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
        assert_eq!(why("5-1 * * * *"), "beginning of range (5) beyond end of range (1): 5-1");
        assert_eq!(why("*/0 * * * *"), "step of range should be a positive number: */0");
        assert_eq!(why("@often"), "unrecognized descriptor: @often");
        assert_eq!(why("x * * * *"), "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
    }
}
