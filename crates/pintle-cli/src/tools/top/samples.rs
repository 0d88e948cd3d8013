//! Parses the Prometheus text format. Guarantees that an invalid line is skipped. Must never depend on a metric's
//! meaning.

use std::collections::BTreeMap;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Sample {
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// All samples, by the names of their metrics.
#[derive(Clone, Debug, Default)]
pub struct Samples(BTreeMap<String, Vec<Sample>>);

impl Samples {
    /// Reads the text that Prometheus reads.
    pub fn parse(text: &str) -> Samples {
        let mut samples = Samples::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, sample)) = sample(line) {
                samples.0.entry(name.to_owned()).or_default().push(sample);
            }
        }
        samples
    }

    /// The samples of a metric.
    pub fn of(&self, name: &str) -> &[Sample] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The sum of a metric's samples; `None` without any.
    pub fn total(&self, name: &str) -> Option<f64> {
        let samples = self.of(name);
        (!samples.is_empty()).then(|| samples.iter().map(|sample| sample.value).sum())
    }

    /// Sums of a metric's samples by the values of labels.
    pub fn by(&self, name: &str, labels: &[&str]) -> BTreeMap<Vec<String>, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.of(name) {
            let key = labels.iter().map(|label| sample.label(label).to_owned()).collect();
            *sums.entry(key).or_insert(0.0) += sample.value;
        }
        sums
    }
}

fn sample(line: &str) -> Option<(&str, Sample)> {
    let name_end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(name_end);
    let mut labels = BTreeMap::new();
    let rest = match rest.strip_prefix('{') {
        None => rest,
        Some(mut rest) => loop {
            rest = rest.trim_start_matches(',');
            if let Some(rest) = rest.strip_prefix('}') {
                break rest;
            }
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.insert(label.to_owned(), value);
            rest = after;
        },
    };
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some((name, Sample { labels, value }))
}

/// The text up to the closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read() {
        let text =
            "# HELP a A.\na{x=\"1\",y=\"q\\\"\\\\\\n}\"} 3\na{x=\"2\"} 4 1700000000\nb 1.5e3\nbroken{x=\"\nempty\n\n";
        let samples = Samples::parse(text);
        assert_eq!(samples.total("a"), Some(7.0));
        assert_eq!(samples.total("b"), Some(1500.0));
        assert_eq!((samples.total("broken"), samples.total("empty")), (None, None));
        assert_eq!(samples.of("a")[0].label("y"), "q\"\\\n}");
        assert_eq!(samples.by("a", &["x"]), BTreeMap::from([(vec!["1".to_owned()], 3.0), (vec!["2".to_owned()], 4.0)]));
    }
}
