//! The text format of Prometheus: families, samples and histograms, in the order of the calls. Guarantees that label values are
//! escaped and that numbers are formatted as by kube-apiserver. Must never keep a metric.

use super::allowed::{AllowedLabels, Merged, Sum};
use pintle_metrics::Histogram;
use std::fmt::{self, Display, Write};
use std::sync::Arc;

/// The stability level of a metric, which begins its help text.
#[derive(Clone, Copy, Debug)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

impl Stability {
    fn name(self) -> &'static str {
        match self {
            Stability::Alpha => "ALPHA",
            Stability::Beta => "BETA",
            Stability::Stable => "STABLE",
        }
    }
}

/// The kinds of metrics.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// The common properties of the samples of one name. Its stability is ALPHA unless set otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// As in the samples.
    pub name: &'static str,
    kind: Kind,
    stability: Stability,
    help: &'static str,
}

impl Family {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Family { name, kind, stability: Stability::Alpha, help }
    }

    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Family::new(name, Kind::Counter, help)
    }

    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Family::new(name, Kind::Gauge, help)
    }

    pub const fn histogram(name: &'static str, help: &'static str) -> Self {
        Family::new(name, Kind::Histogram, help)
    }

    pub const fn beta(self) -> Self {
        Family { stability: Stability::Beta, ..self }
    }

    pub const fn stable(self) -> Self {
        Family { stability: Stability::Stable, ..self }
    }
}

/// A label and its value. Samples name their labels in alphabetical order, as scrapers see them from
/// kube-apiserver.
pub type Label<'a> = (&'a str, &'a str);

const REGISTERED: Family =
    Family::counter("registered_metrics_total", "Metrics that there are, by what they promise.").beta();
const HIDDEN: Family = Family::counter("hidden_metrics_total", "Metrics that are no longer shown.").beta();
const DISABLED: Family = Family::counter("disabled_metrics_total", "Metrics that were turned off.").beta();

/// Text in the making.
#[derive(Default)]
pub struct Exposition {
    text: String,
    /// Families by stability.
    families: [u32; 3],
    /// Families that are not shown.
    disabled: u32,
    /// Whether the family that was begun last is not shown.
    is_disabled: bool,
    /// What labels may show.
    allowed: Arc<AllowedLabels>,
    /// Samples of the family that was begun last, where some of its labels may not show all.
    merged: Merged,
}

impl Exposition {
    /// An exposition that shows allowed label values only.
    pub fn allowing(allowed: Arc<AllowedLabels>) -> Self {
        Exposition { allowed, ..Exposition::default() }
    }

    /// Begins a family; its samples follow.
    pub fn family(&mut self, family: &Family) {
        self.flush();
        self.is_disabled = self.allowed.is_disabled(family.name);
        if self.is_disabled {
            self.disabled += 1;
            return;
        }
        let stability = family.stability.name();
        self.families[family.stability as usize] += 1;
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let Family { name, help, .. } = family;
        let _ = writeln!(self.text, "# HELP {name} [{stability}] {help}\n# TYPE {name} {kind}");
    }

    /// One value.
    pub fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        self.line(name, "", labels, None, value);
    }

    /// A family of one sample without labels.
    pub fn single(&mut self, family: &Family, value: impl Display) {
        self.family(family);
        self.sample(family.name, &[], value);
    }

    /// The lines of a histogram.
    pub fn histogram(&mut self, name: &str, labels: &[Label<'_>], histogram: &Histogram) {
        let mut count = 0;
        for (bound, observed) in histogram.buckets() {
            count += observed;
            self.line(name, "_bucket", labels, Some(bound), count);
        }
        self.line(name, "_sum", labels, None, Number(histogram.sum()));
        self.line(name, "_count", labels, None, count);
    }

    /// Appends the metrics about metrics, after all others. No metric is hidden.
    pub fn of_metrics(&mut self) {
        self.single(&HIDDEN, 0);
        self.single(&DISABLED, self.disabled);
        self.family(&REGISTERED);
        let levels = [Stability::Alpha, Stability::Beta, Stability::Stable];
        for (stability, count) in levels.into_iter().zip(self.families) {
            let labels = [("deprecated_version", ""), ("stability_level", stability.name())];
            self.sample(REGISTERED.name, &labels, count);
        }
    }

    /// All of it.
    pub fn into_text(mut self) -> String {
        self.flush();
        self.text
    }

    /// Writes the samples that were added up.
    fn flush(&mut self) {
        for (series, value) in self.merged.take() {
            // Writing to a String cannot fail.
            let _ = match value {
                Sum::Whole(whole) => writeln!(self.text, "{series} {whole}"),
                Sum::Real(real) => writeln!(self.text, "{series} {}", Number(real)),
            };
        }
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[Label<'_>], bound: Option<f64>, value: impl Display) {
        if self.is_disabled {
            return;
        }
        let is_merged = self.allowed.concerns(name);
        let mut merged = String::new();
        let text = if is_merged { &mut merged } else { &mut self.text };
        text.push_str(name);
        text.push_str(suffix);
        let mut separator = '{';
        for (label, value) in labels {
            text.push(separator);
            separator = ',';
            let _ = write!(text, "{label}=\"");
            let value = if is_merged { self.allowed.shown(name, label, value) } else { value };
            for c in value.chars() {
                match c {
                    '\\' => text.push_str("\\\\"),
                    '"' => text.push_str("\\\""),
                    '\n' => text.push_str("\\n"),
                    c => text.push(c),
                }
            }
            text.push('"');
        }
        if let Some(bound) = bound {
            let _ = write!(text, "{separator}le=\"{}\"", Number(bound));
            separator = ',';
        }
        if separator == ',' {
            text.push('}');
        }
        match is_merged {
            true => self.merged.add(merged, &value.to_string()),
            false => _ = writeln!(text, " {value}"),
        }
    }
}

/// A number as Go's shortest form has it: an exponent from a million on.
pub struct Number(pub f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        if number.is_infinite() {
            return f.write_str(if number > 0.0 { "+Inf" } else { "-Inf" });
        }
        let scientific = format!("{number:e}");
        let Some((digits, exponent)) = scientific.split_once('e') else { return f.write_str(&scientific) };
        let exponent: i32 = exponent.parse().unwrap_or(0);
        if !(-4..6).contains(&exponent) {
            let sign = if exponent < 0 { '-' } else { '+' };
            return write!(f, "{digits}e{sign}{:02}", exponent.abs());
        }
        write!(f, "{number}")
    }
}
