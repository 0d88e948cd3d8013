//! Metrics of admission: how long its two steps take, and each plugin in them.
//! Guarantees nothing but that time is counted once for each step of a write, and once for each plugin in it.
//! Must never change what is measured: the inner admission answers as if it were alone.

use super::exposition::{Exposition, Family, Label};
use pintle_metrics::{Histogram, Keyed, Layout};
use pintle_registry::{
    Admission, AdmissionRequest, DeleteOptions, NamespaceCheck, Registry, Requester, Result, Target,
};
use pintle_schema::Value;
use pintle_validation::{Refusal, Right};
use std::sync::Arc;
use std::time::{Duration, Instant};

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.025, 0.1, 0.5, 1.0, 2.5]);

const STEP_DURATION: Family = Family::histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Time of a step of admission by operation, type and whether the write was rejected.",
)
.stable();

const PLUGIN_DURATION: Family = Family::histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Time of an admission plugin by name, operation, type and whether the write was rejected.",
)
.stable();

/// Operation, whether it was rejected, and type.
type Step = (&'static str, bool, &'static str);

fn labels((operation, rejected, step): Step) -> [Label<'static>; 3] {
    [("operation", operation), ("rejected", if rejected { "true" } else { "false" }), ("type", step)]
}

/// Durations by operation, whether it was rejected, and type.
#[derive(Default)]
pub struct AdmissionSteps {
    series: Keyed<Step, Histogram>,
    plugins: Keyed<(&'static str, Step), Histogram>,
}

impl AdmissionSteps {
    fn measured<T>(&self, operation: &'static str, step: &'static str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = act();
        let series = self.series.get(&(operation, outcome.is_err(), step), || Histogram::new(&DURATIONS));
        series.observe_duration(started.elapsed());
        outcome
    }

    /// Counts what a plugin did in a phase of an operation.
    pub fn acted(
        &self,
        plugin: &'static str,
        operation: &'static str,
        phase: &'static str,
        refused: bool,
        took: Duration,
    ) {
        let series = self.plugins.get(&(plugin, (operation, refused, phase)), || Histogram::new(&DURATIONS));
        series.observe_duration(took);
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        out.family(&STEP_DURATION);
        for (step, durations) in self.series.sorted() {
            out.histogram(STEP_DURATION.name, &labels(step), &durations);
        }
        out.family(&PLUGIN_DURATION);
        for ((plugin, step), durations) in self.plugins.sorted() {
            let [operation, rejected, step] = labels(step);
            out.histogram(PLUGIN_DURATION.name, &[("name", plugin), operation, rejected, step], &durations);
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

    fn delete(&self, registry: &Registry, target: &Target, old: &Value, options: &DeleteOptions) -> Result<()> {
        self.steps.measured("DELETE", "validate", || self.inner.delete(registry, target, old, options))
    }

    fn namespace_check(&self) -> NamespaceCheck {
        self.inner.namespace_check()
    }

    fn provisions_namespaces(&self) -> bool {
        self.inner.provisions_namespaces()
    }

    fn refusal(&self, target: &Target, requester: &Requester, right: &Right<'_>) -> Option<Refusal> {
        self.inner.refusal(target, requester, right)
    }
}
