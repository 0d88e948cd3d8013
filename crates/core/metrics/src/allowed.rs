//! Which metrics are shown, and which values of their labels: all, unless a list is given for a metric's label.
//! Guarantees that a label with a list has the values of that list, or `unexpected` for all others.
//! Must never drop what was counted: samples that come to the same labels are added up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shown instead of a value that is not allowed.
const UNEXPECTED: &str = "unexpected";

/// Lists of values, by metric and label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedLabels {
    lists: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Metrics that are not shown.
    disabled: BTreeSet<String>,
    unexpected: Unexpected,
}

/// How often a value was shown that is in no list. Lists that differ in it alone are equal.
#[derive(Clone, Debug, Default)]
struct Unexpected(Arc<AtomicU64>);

impl PartialEq for Unexpected {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Unexpected {}

impl AllowedLabels {
    /// Adds a list: the key is a metric and a label with a comma between, the values have commas between them.
    ///
    /// # Errors
    /// The key is no such pair of names.
    pub fn add(&mut self, key: &str, values: &str) -> Result<(), String> {
        let is_name = |name: &str, colons: bool| {
            let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || colons && c == ':';
            name.starts_with(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
        };
        let pair = key.split_once(',').filter(|(metric, label)| is_name(metric, true) && is_name(label, false));
        let (metric, label) = pair.ok_or("must have keys with format `metricName,labelName`")?;
        let values = values.split(',').map(str::to_owned).collect();
        self.lists.entry(metric.to_owned()).or_default().insert(label.to_owned(), values);
        Ok(())
    }

    /// Hides a metric.
    pub fn disable(&mut self, metric: &str) {
        self.disabled.insert(metric.to_owned());
    }

    /// Whether a metric is hidden.
    pub fn is_disabled(&self, metric: &str) -> bool {
        self.disabled.contains(metric)
    }

    /// Whether there is no list.
    pub fn has_no_list(&self) -> bool {
        self.lists.is_empty()
    }

    /// Whether a metric has a list.
    pub fn concerns(&self, metric: &str) -> bool {
        self.lists.contains_key(metric)
    }

    /// The shown value of a metric's label.
    pub fn shown<'a>(&self, metric: &str, label: &str, value: &'a str) -> &'a str {
        let list = self.lists.get(metric).and_then(|labels| labels.get(label));
        if list.is_none_or(|list| list.contains(value)) {
            return value;
        }
        self.unexpected.0.fetch_add(1, Ordering::Relaxed);
        UNEXPECTED
    }

    /// How often another value was shown than was counted.
    pub fn unexpected(&self) -> u64 {
        self.unexpected.0.load(Ordering::Relaxed)
    }
}

/// Samples of one family, some of which may get the same labels.
#[derive(Default)]
pub(crate) struct Merged {
    lines: Vec<(String, Sum)>,
    places: BTreeMap<String, usize>,
}

/// A value that others are added to: whole as long as all are.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    Whole(u64),
    Real(f64),
}

impl Sum {
    fn read(text: &str) -> Sum {
        match text.parse() {
            Ok(whole) => Sum::Whole(whole),
            Err(_) => Sum::Real(text.parse().unwrap_or(f64::NAN)),
        }
    }

    fn plus(self, other: Sum) -> Sum {
        match (self, other) {
            (Sum::Whole(a), Sum::Whole(b)) => Sum::Whole(a.saturating_add(b)),
            (a, b) => Sum::Real(a.real() + b.real()),
        }
    }

    fn real(self) -> f64 {
        match self {
            Sum::Whole(whole) => whole as f64,
            Sum::Real(real) => real,
        }
    }
}

impl Merged {
    /// Adds a sample, by its name and labels.
    pub(crate) fn add(&mut self, series: String, value: &str) {
        let value = Sum::read(value);
        match self.places.get(&series) {
            Some(at) => self.lines[*at].1 = self.lines[*at].1.plus(value),
            None => {
                self.places.insert(series.clone(), self.lines.len());
                self.lines.push((series, value));
            }
        }
    }

    /// Takes the samples, in the order of their first occurrence.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (String, Sum)> + use<> {
        self.places.clear();
        std::mem::take(&mut self.lines).into_iter()
    }
}
