//! Metrics of admission: the duration of its two steps, and of each plugin. Guarantees that each step of a write and each
//! plugin in it is counted once. Must never change what is measured.

use pintle_metrics::{Exposition, Family, Histogram, Keyed, Label, Layout};
use pintle_registry::{AdmissionObserver, Operation, Phase};
use pintle_schema::Str;
use std::time::Duration;

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
    plugins: Keyed<(Str, Step), Histogram>,
}

impl AdmissionSteps {
    pub(super) fn render(&self, out: &mut Exposition) {
        out.family(&STEP_DURATION);
        for (step, durations) in self.series.sorted() {
            out.histogram(STEP_DURATION.name, &labels(step), &durations);
        }
        out.family(&PLUGIN_DURATION);
        for ((plugin, step), durations) in self.plugins.sorted() {
            let [operation, rejected, step] = labels(step);
            out.histogram(PLUGIN_DURATION.name, &[("name", &plugin), operation, rejected, step], &durations);
        }
    }
}

impl AdmissionObserver for AdmissionSteps {
    fn plugin(&self, name: &str, operation: Operation, phase: Phase, refused: bool, took: Duration) {
        let key = (Str::new(name), (operation.name(), refused, phase.name()));
        self.plugins.get(&key, || Histogram::new(&DURATIONS)).observe_duration(took);
    }

    fn phase(&self, operation: Operation, phase: Phase, refused: bool, took: Duration) {
        let key = (operation.name(), refused, phase.name());
        self.series.get(&key, || Histogram::new(&DURATIONS)).observe_duration(took);
    }
}
