//! Metrics of the controllers' queues, under the names that client-go gives them.
//! Guarantees that a scrape holds a queue's lock for no longer than it takes to walk what is due.
//! Must never change a queue.

use pintle_controllers::{Figures, Queues, Reading};
use pintle_endpoints::metrics::exposition::Number;
use pintle_endpoints::metrics::{Exposition, Family, Kind, Stability};
use pintle_instruments::Histogram;

const fn family(name: &'static str, kind: Kind, help: &'static str) -> Family {
    Family::new(name, kind, Stability::Beta, help)
}

const ADDS: Family = family("workqueue_adds_total", Kind::Counter, "Keys that were put into a queue.");
const RETRIES: Family = family("workqueue_retries_total", Kind::Counter, "Keys that were put back to be tried again.");
const DEPTH: Family = family("workqueue_depth", Kind::Gauge, "Keys of a queue that are due and wait for a worker.");
const UNFINISHED: Family = family(
    "workqueue_unfinished_work_seconds",
    Kind::Gauge,
    "Seconds that the keys in work have been so, all together; much of it means that workers are stuck.",
);
const LONGEST: Family = family(
    "workqueue_longest_running_processor_seconds",
    Kind::Gauge,
    "Seconds that the key in work for the longest time has been so.",
);
const WAITS: Family =
    family("workqueue_queue_duration_seconds", Kind::Histogram, "Time from when a key was due to when it was taken.");
const WORKS: Family = family("workqueue_work_duration_seconds", Kind::Histogram, "Time that work on a key took.");

pub fn render(queues: &Queues, out: &mut Exposition) {
    let queues = queues.read();
    let mut each = |family: &Family, value: &dyn Fn(&Reading<'_>) -> f64| {
        out.family(family);
        queues.iter().for_each(|it| out.sample(family.name, &[("name", it.figures.name)], Number(value(it))));
    };
    each(&ADDS, &|it| it.figures.adds.get() as f64);
    each(&RETRIES, &|it| it.figures.retries.get() as f64);
    each(&DEPTH, &|it| it.depth as f64);
    each(&UNFINISHED, &|it| it.unfinished.as_secs_f64());
    each(&LONGEST, &|it| it.longest.as_secs_f64());
    type Durations = fn(&Figures) -> &Histogram;
    let histograms: [(_, Durations); 2] = [(WAITS, |it| &it.waits), (WORKS, |it| &it.works)];
    for (family, durations) in histograms {
        out.family(&family);
        for it in &queues {
            out.histogram(family.name, &[("name", it.figures.name)], durations(it.figures));
        }
    }
}
