//! Metrics of the controllers' queues, under the names that client-go gives them. Guarantees that a scrape holds a
//! queue's lock only while it counts the due keys. Must never change a queue.

use pintle_controllers::{QueueSnapshot, Queues, Stats};
use pintle_metrics::{Exposition, Family, Histogram, Number};

const ADDS: Family = Family::counter("workqueue_adds_total", "Keys that were put into a queue.").beta();
const RETRIES: Family = Family::counter("workqueue_retries_total", "Keys that were put back to be tried again.").beta();
const DEPTH: Family = Family::gauge("workqueue_depth", "Keys of a queue that are due and wait for a worker.").beta();
const UNFINISHED: Family = Family::gauge(
    "workqueue_unfinished_work_seconds",
    "Seconds that the keys in work have been so, all together; much of it means that workers are stuck.",
)
.beta();
const LONGEST: Family = Family::gauge(
    "workqueue_longest_running_processor_seconds",
    "Seconds that the key in work for the longest time has been so.",
)
.beta();
const WAITS: Family =
    Family::histogram("workqueue_queue_duration_seconds", "Time from when a key was due to when it was taken.").beta();
const WORKS: Family = Family::histogram("workqueue_work_duration_seconds", "Time that work on a key took.").beta();

pub fn render(queues: &Queues, out: &mut Exposition) {
    let queues = queues.read();
    let mut each = |family: &Family, value: &dyn Fn(&QueueSnapshot<'_>) -> f64| {
        out.family(family);
        queues.iter().for_each(|it| out.sample(family.name, &[("name", it.stats.name)], Number(value(it))));
    };
    each(&ADDS, &|it| it.stats.adds.get() as f64);
    each(&RETRIES, &|it| it.stats.retries.get() as f64);
    each(&DEPTH, &|it| it.depth as f64);
    each(&UNFINISHED, &|it| it.unfinished.as_secs_f64());
    each(&LONGEST, &|it| it.longest.as_secs_f64());
    type Durations = fn(&Stats) -> &Histogram;
    let histograms: [(_, Durations); 2] = [(WAITS, |it| &it.waits), (WORKS, |it| &it.works)];
    for (family, durations) in histograms {
        out.family(&family);
        for it in &queues {
            out.histogram(family.name, &[("name", it.stats.name)], durations(it.stats));
        }
    }
}
