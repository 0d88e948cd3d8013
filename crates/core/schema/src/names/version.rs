//! Semantic versions: validity and order.
//! Guarantees the order of the semver specification, without build metadata.

use std::cmp::Ordering;

/// A version without its build metadata, which does not affect order.
#[derive(Default)]
pub struct Version<'a> {
    numbers: [u64; 3],
    /// The pre-release part, "" for a release.
    before: &'a str,
}

impl<'a> Version<'a> {
    /// Parses `1.2.3-rc.1+build`.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        let (release, before) = text.split_once('-').map_or((text, None), |(text, before)| (text, Some(before)));
        let mut parts = release.split('.').map(number);
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let is_identifier = |word: &str| is_word(word) && (!is_digits(word) || number(word).is_some());
        let is_right = parts.next().is_none()
            && before.is_none_or(|before| before.split('.').all(is_identifier))
            && build.is_none_or(|build| build.split('.').all(is_word));
        is_right.then(|| Version { numbers, before: before.unwrap_or_default() })
    }

    /// Whether this is 0.0.0.
    pub fn is_zero(&self) -> bool {
        self.numbers == [0; 3] && self.before.is_empty()
    }

    pub fn is_older_than(&self, other: &Version<'_>) -> bool {
        self.order(other) == Ordering::Less
    }

    fn order(&self, other: &Version<'_>) -> Ordering {
        let by_numbers = self.numbers.cmp(&other.numbers);
        by_numbers.then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (false, false) => self.before.split('.').map(Identifier).cmp(other.before.split('.').map(Identifier)),
            (mine, others) => mine.cmp(&others),
        })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    if !is_digits(text) || text.len() > 1 && text.starts_with('0') {
        return None;
    }
    text.parse().ok()
}

/// An identifier of a pre-release: numbers are lower than words.
#[derive(PartialEq, Eq)]
struct Identifier<'a>(&'a str);

impl Ord for Identifier<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (number(self.0), number(other.0)) {
            (Some(mine), Some(others)) => mine.cmp(&others),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.0.cmp(other.0),
        }
    }
}

impl PartialOrd for Identifier<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn texts_that_are_versions() {
        for right in ["0.0.0", "1.36.2", "1.0.0-rc.1", "1.0.0-a-b.2+c.01"] {
            assert!(Version::parse(right).is_some(), "{right}");
        }
        for wrong in ["", "1.2", "1.2.3.4", "01.2.3", "v1.2.3", "1.2.3x", "1.2.3-", "1.2.3-01", "1.2.3+"] {
            assert!(Version::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn versions_in_order() {
        let texts = ["0.9.9", "1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0", "1.2.0", "1.10.0"];
        let versions: Vec<_> = texts.iter().filter_map(|text| Version::parse(text)).collect();
        assert_eq!(versions.len(), texts.len());
        for (at, pair) in versions.windows(2).enumerate() {
            assert!(pair[0].is_older_than(&pair[1]) && !pair[1].is_older_than(&pair[0]), "{}", texts[at]);
        }
    }
}
