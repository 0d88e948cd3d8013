//! Metrics of the rules of definitions, under the names that kube-apiserver gives them. Must never change what is counted.

use pintle_extensions::RuleTimes;
use pintle_metrics::{Exposition, Family};

const COMPILATION: Family =
    Family::histogram("apiserver_cel_compilation_duration_seconds", "CEL compilation time in seconds.");
const EVALUATION: Family =
    Family::histogram("apiserver_cel_evaluation_duration_seconds", "CEL evaluation time in seconds.");

pub fn render(times: &RuleTimes, out: &mut Exposition) {
    for (family, durations) in [(COMPILATION, &times.compilation), (EVALUATION, &times.evaluation)] {
        out.family(&family);
        out.histogram(family.name, &[], durations);
    }
}
