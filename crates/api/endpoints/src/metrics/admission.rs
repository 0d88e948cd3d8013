//! Metrics of admission: how long its two steps take.
//! Guarantees nothing but that time is counted once for each step of a write.
//! Must never change what is measured: the inner admission answers as if it were alone.

use super::exposition::{Exposition, Family, Kind, Stability};
use super::instrument::{Histogram, Keyed, Layout};
use pintle_registry::{Admission, AdmissionRequest, Registry, Result, Target};
use pintle_schema::Value;
use std::sync::Arc;
use std::time::Instant;

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0]);

const STEP_DURATION: Family = Family::new(
    "apiserver_admission_step_admission_duration_seconds",
    Kind::Histogram,
    Stability::Stable,
    "Time of a step of admission by operation, type and whether the write was rejected.",
);

/// Durations by operation, whether it was rejected, and type.
#[derive(Default)]
pub struct AdmissionSteps {
    series: Keyed<(&'static str, bool, &'static str), Histogram>,
}

impl AdmissionSteps {
    fn measured<T>(&self, operation: &'static str, step: &'static str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = act();
        let series = self.series.get(&(operation, outcome.is_err(), step), || Histogram::new(&DURATIONS));
        series.observe_duration(started.elapsed());
        outcome
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        out.family(&STEP_DURATION);
        for ((operation, rejected, step), durations) in self.series.sorted() {
            let rejected = if rejected { "true" } else { "false" };
            let labels = [("operation", operation), ("rejected", rejected), ("type", step)];
            out.histogram(STEP_DURATION.name, &labels, &durations);
        }
    }
}

/// An admission whose steps are measured.
pub struct Measured<A> {
    pub inner: A,
    pub steps: Arc<AdmissionSteps>,
}

fn operation(request: &AdmissionRequest<'_>) -> &'static str {
    if request.old.is_some() { "UPDATE" } else { "CREATE" }
}

impl<A: Admission> Admission for Measured<A> {
    fn mutate(&self, request: &AdmissionRequest<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()> {
        self.steps.measured(operation(request), "admit", || self.inner.mutate(request, object, warnings))
    }

    fn validate(&self, request: &AdmissionRequest<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
        self.steps.measured(operation(request), "validate", || self.inner.validate(request, object, warnings))
    }

    fn delete(&self, registry: &Registry, target: &Target, old: &Value) -> Result<()> {
        self.steps.measured("DELETE", "validate", || self.inner.delete(registry, target, old))
    }
}
