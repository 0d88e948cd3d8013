//! The text formats of Prometheus and of OpenMetrics: families, samples and histograms, in the order of the calls.
//! Guarantees that label values are escaped, that numbers are formatted as by kube-apiserver, and that samples have the
//! same names and labels in both formats. Must never keep a metric.

use crate::allowed::{AllowedLabels, Merged, Sum};
use crate::histogram::{Exemplar, Histogram};
use std::collections::HashSet;
use std::fmt::{self, Display, Write};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The formats that a scraper can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    #[default]
    Text,
    /// OpenMetrics 1.0, which has exemplars.
    OpenMetrics,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
        }
    }
}

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
const UNEXPECTED: Family = Family::counter(
    "cardinality_enforcement_unexpected_categorizations_total",
    "How often a label of a metric was shown as unexpected, since its value is not on the list of that label.",
);

/// Something that writes families of its own.
pub type Source = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// Text in the making.
#[derive(Default)]
pub struct Exposition {
    format: Format,
    text: String,
    /// Families by stability.
    families: [u32; 3],
    /// Families that are not shown.
    disabled: u32,
    /// Whether the family that was begun last is not shown.
    is_disabled: bool,
    /// The names of the families, in OpenMetrics.
    names: HashSet<&'static str>,
    /// What labels may show.
    allowed: Arc<AllowedLabels>,
    /// Samples of the family that was begun last, where some of its labels may not show all.
    merged: Merged,
}

impl Exposition {
    /// An exposition that shows allowed label values only.
    pub fn new(format: Format, allowed: Arc<AllowedLabels>) -> Self {
        Exposition { format, allowed, ..Exposition::default() }
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
        let Family { name, help, .. } = family;
        let (name, kind) = match (family.kind, self.format, name.strip_suffix("_total")) {
            (Kind::Counter, Format::Text, _) => (*name, "counter"),
            // The samples of a counter have the name of the family and `_total`.
            (Kind::Counter, Format::OpenMetrics, Some(family)) if !self.names.contains(family) => (family, "counter"),
            // Other counters keep the names that kube-apiserver gave them, which OpenMetrics allows for this type only.
            (Kind::Counter, Format::OpenMetrics, _) => (*name, "unknown"),
            (Kind::Gauge, ..) => (*name, "gauge"),
            (Kind::Histogram, ..) => (*name, "histogram"),
        };
        if self.format == Format::OpenMetrics {
            self.names.insert(name);
        }
        let _ = writeln!(self.text, "# HELP {name} [{stability}] {help}\n# TYPE {name} {kind}");
    }

    /// One value.
    pub fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        self.line(name, "", labels, None, value, None);
    }

    /// A family of one sample without labels.
    pub fn single(&mut self, family: &Family, value: impl Display) {
        self.family(family);
        self.sample(family.name, &[], value);
    }

    /// The lines of a histogram.
    pub fn histogram(&mut self, name: &str, labels: &[Label<'_>], histogram: &Histogram) {
        let mut count = 0;
        let mut exemplars = histogram.exemplars();
        for (bound, observed) in histogram.buckets() {
            count += observed;
            self.line(name, "_bucket", labels, Some(bound), count, exemplars.next().flatten());
        }
        self.line(name, "_sum", labels, None, Number(histogram.sum()), None);
        self.line(name, "_count", labels, None, count, None);
    }

    /// Appends the metrics about metrics, after all others. No metric is hidden.
    pub fn of_metrics(&mut self) {
        self.single(&HIDDEN, 0);
        self.single(&DISABLED, self.disabled);
        self.single(&UNEXPECTED, self.allowed.unexpected());
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
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
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

    fn line(
        &mut self,
        name: &str,
        suffix: &str,
        labels: &[Label<'_>],
        bound: Option<f64>,
        value: impl Display,
        exemplar: Option<Exemplar>,
    ) {
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
        if is_merged {
            return self.merged.add(merged, &value.to_string());
        }
        let _ = write!(self.text, " {value}");
        if let Some(exemplar) = exemplar.filter(|_| self.format == Format::OpenMetrics) {
            self.exemplar(&exemplar);
        }
        self.text.push('\n');
    }

    fn exemplar(&mut self, exemplar: &Exemplar) {
        self.text.push_str(" # {trace_id=\"");
        for byte in exemplar.trace {
            let _ = write!(self.text, "{byte:02x}");
        }
        let observed = exemplar.observed.duration_since(UNIX_EPOCH).unwrap_or_default();
        let _ = write!(self.text, "\"}} {} {:.3}", Number(exemplar.value), observed.as_secs_f64());
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
