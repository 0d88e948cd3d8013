//! Sets of indexes as text: numbers and ranges in ascending order, such as `1,3-5`.

use pintle_schema::names::quoted;

/// How many indexes a text names.
///
/// # Errors
/// The text is no such list, or names an index that a job with so many completions does not have.
pub fn count(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for interval in intervals(text) {
        let (first, end) = interval_of(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(falling(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that two texts have in common. Parts that cannot be read are passed over.
pub fn overlap(left: &str, right: &str, completions: i64) -> Option<i64> {
    let read = |text| intervals(text).filter_map(move |interval| interval_of(interval, completions).ok());
    let (mut lefts, mut rights) = (read(left), read(right));
    let (mut one, mut other) = (lefts.next()?, rights.next()?);
    loop {
        if one.0 <= other.1 && other.0 <= one.1 {
            return Some(one.0.max(other.0));
        }
        match one.1 <= other.1 {
            true => one = lefts.next()?,
            false => other = rights.next()?,
        }
    }
}

fn intervals(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| !text.is_empty())
}

fn interval_of(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |text: &str| -> Result<i64, String> {
        let index: i64 =
            text.parse().map_err(|_| format!("cannot convert string to integer for index: {}", quoted(text)))?;
        if index >= completions {
            return Err(format!("too large index: {}", quoted(text)));
        }
        Ok(index)
    };
    let Some((first, end)) = text.split_once('-') else {
        let only = index(text)?;
        return Ok((only, only));
    };
    if end.contains('-') {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quoted(text)
        ));
    }
    let (first, end) = (index(first)?, index(end)?);
    if first >= end { Err(falling(first, end)) } else { Ok((first, end)) }
}

fn falling(before: i64, now: i64) -> String {
    format!("non-increasing order, previous: {before}, current: {now}")
}

#[cfg(test)]
mod tests {
    use super::{count, overlap};

    #[test]
    fn what_is_named_is_counted() {
        assert_eq!(count("0,2-3", 4), Ok(3));
        assert_eq!(count("", 4), Ok(0));
        let why = |text| count(text, 4).unwrap_err();
        assert_eq!(why("3-1"), "non-increasing order, previous: 3, current: 1");
        assert_eq!(why("1,1"), "non-increasing order, previous: 1, current: 1");
        assert_eq!(why("4"), "too large index: \"4\"");
        assert_eq!(why("Abc"), "cannot convert string to integer for index: \"Abc\"");
    }

    #[test]
    fn what_two_have_in_common() {
        assert_eq!(overlap("0-1", "1", 4), Some(1));
        assert_eq!(overlap("0,3", "1-2", 4), None);
        assert_eq!(overlap("x,3", "2-3", 4), Some(3));
    }
}
