//! Metrics of priority and fairness, under kube-apiserver's names.
//! Guarantees that families are there as soon as flow control is on. Must never lock a level for longer than to read it.

use crate::flow::{InFlight, InFlightLimits};
use pintle_flowcontrol::{FlowClass, FlowStats, LevelState, Reason};
use pintle_metrics::{Exposition, Family, Histogram, Number};
use std::fmt::Display;
use std::sync::Arc;

type Class = Arc<FlowClass<InFlight>>;
type Level = LevelState<InFlight>;

const REJECTED: Family =
    Family::counter("apiserver_flowcontrol_rejected_requests_total", "Requests that were rejected, by reason.").beta();
const DISPATCHED: Family =
    Family::counter("apiserver_flowcontrol_dispatched_requests_total", "Requests that were given seats.").beta();
const EXECUTING: Family = Family::gauge(
    "apiserver_flowcontrol_current_executing_requests",
    "Requests that have seats: watches until they have begun, others until they are answered.",
)
.beta();
const EXECUTING_SEATS: Family = Family::gauge(
    "apiserver_flowcontrol_current_executing_seats",
    "Seats that are taken, also those that stay taken until watches have been told of a write.",
)
.beta();
const WAITING: Family =
    Family::gauge("apiserver_flowcontrol_current_inqueue_requests", "Requests that wait in queues.").beta();
const WAITING_SEATS: Family =
    Family::gauge("apiserver_flowcontrol_current_inqueue_seats", "Seats that requests in queues wait for.");
const QUEUE_LENGTH: Family = Family::histogram(
    "apiserver_flowcontrol_request_queue_length_after_enqueue",
    "Length of a queue when a request had been put into it.",
);
const WAITS: Family = Family::histogram(
    "apiserver_flowcontrol_request_wait_duration_seconds",
    "How long requests waited in their queue, by whether they were executed then.",
)
.beta();
const EXECUTIONS: Family = Family::histogram(
    "apiserver_flowcontrol_request_execution_seconds",
    "How long requests had their seats: watches until they had begun, others until they were answered.",
);
const WATCHES: Family = Family::histogram(
    "apiserver_flowcontrol_watch_count_samples",
    "How many watches a write concerns, as seen by each write.",
);
const ESTIMATED: Family = Family::histogram(
    "apiserver_flowcontrol_work_estimated_seats",
    "Seats that requests were expected to need: the most at any time.",
);
const NO_ACCOMMODATION: Family = Family::counter(
    "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
    "How often the next request of a queue found fewer free seats than it needs.",
);
const EPOCHS: Family = Family::counter(
    "apiserver_flowcontrol_epoch_advance_total",
    "How often a level's virtual time was set back. It never is: it has more digits than it needs.",
);

const CURRENT_R: Family =
    Family::gauge("apiserver_flowcontrol_current_r", "Virtual time of a level's queues, in seat-seconds.");
const DISPATCH_R: Family =
    Family::gauge("apiserver_flowcontrol_dispatch_r", "Virtual time when a request was taken from a queue last.");
const LATEST_S: Family =
    Family::gauge("apiserver_flowcontrol_latest_s", "Virtual start of the request that was taken from a queue last.");
const NEXT_S: Family = Family::gauge(
    "apiserver_flowcontrol_next_s_bounds",
    "Least and greatest virtual start of the requests that were next in their queues then.",
);
const NEXT_DISCOUNTED_S: Family = Family::gauge(
    "apiserver_flowcontrol_next_discounted_s_bounds",
    "The same, less the work in progress that is not in a virtual start yet: there is none.",
);

const NOMINAL: Family =
    Family::gauge("apiserver_flowcontrol_nominal_limit_seats", "Seats of a level by its shares.").beta();
const LOWER: Family =
    Family::gauge("apiserver_flowcontrol_lower_limit_seats", "Seats that a level has whatever others want.");
const UPPER: Family = Family::gauge("apiserver_flowcontrol_upper_limit_seats", "Seats that a level has at the most.");
const LIMIT: Family = Family::gauge("apiserver_flowcontrol_current_limit_seats", "Seats of a level in this period.");
const HIGH_WATERMARK: Family = Family::gauge(
    "apiserver_flowcontrol_demand_seats_high_watermark",
    "The most seats that requests of a level wanted together in the last period.",
);
const AVERAGE: Family = Family::gauge(
    "apiserver_flowcontrol_demand_seats_average",
    "Average over time of the seats that requests of a level wanted in the last period.",
);
const DEVIATION: Family = Family::gauge(
    "apiserver_flowcontrol_demand_seats_stdev",
    "Standard deviation over time of the seats that requests of a level wanted in the last period.",
);
const SMOOTHED: Family = Family::gauge(
    "apiserver_flowcontrol_demand_seats_smoothed",
    "Seats that requests of a level wanted in the last periods, smoothed.",
);
const TARGET: Family =
    Family::gauge("apiserver_flowcontrol_target_seats", "Seats that a level was to get in this period.");
const FAIR_FRACTION: Family = Family::gauge(
    "apiserver_flowcontrol_seat_fair_frac",
    "The fraction of their target that levels get whose bounds do not matter.",
);
const DEMAND: Family = Family::histogram(
    "apiserver_flowcontrol_demand_seats",
    "Seats that requests of a level want, in proportion to its limit, at every nanosecond.",
);
const SEAT_USE: Family = Family::histogram(
    "apiserver_flowcontrol_priority_level_seat_utilization",
    "Seats of a level that are taken, in proportion to its limit, at every nanosecond.",
);
const REQUEST_USE: Family = Family::histogram(
    "apiserver_flowcontrol_priority_level_request_utilization",
    "Requests of a level that wait and that execute, in proportion to how many may, at every nanosecond.",
);
const READ_AND_WRITE: Family = Family::histogram(
    "apiserver_flowcontrol_read_vs_write_current_requests",
    "Requests that wait and that execute, in proportion to how many may, at every nanosecond.",
);

/// Everything about flow control.
pub(super) fn render(flow: &InFlightLimits, out: &mut Exposition) {
    out.family(&READ_AND_WRITE);
    for (kind, mutating) in [("mutating", true), ("readOnly", false)] {
        for (phase, over_time) in ["waiting", "executing"].into_iter().zip(flow.over_time(mutating)) {
            let labels = [("phase", phase), ("request_kind", kind)];
            out.histogram(READ_AND_WRITE.name, &labels, over_time.histogram());
        }
    }
    let Some(controller) = flow.controller() else { return };
    let (levels, classes) = (controller.levels(), controller.classes());
    out.single(&FAIR_FRACTION, Number(controller.fair_fraction()));
    of_levels(&levels, out);
    of_classes(&classes, out);
    out.family(&EPOCHS);
}

fn of_levels(levels: &[Level], out: &mut Exposition) {
    let mut gauge = |family: &Family, value: &dyn Fn(&Level) -> f64| {
        out.family(family);
        for level in levels {
            out.sample(family.name, &[("priority_level", &level.level.name)], Number(value(level)));
        }
    };
    gauge(&NOMINAL, &|level| level.seats.nominal as f64);
    gauge(&LOWER, &|level| level.seats.lower() as f64);
    gauge(&UPPER, &|level| level.seats.upper() as f64);
    gauge(&LIMIT, &|level| level.limit as f64);
    gauge(&HIGH_WATERMARK, &|level| level.demand.high_watermark as f64);
    gauge(&AVERAGE, &|level| level.demand.average);
    gauge(&DEVIATION, &|level| level.demand.deviation);
    gauge(&SMOOTHED, &|level| level.demand.smoothed);
    gauge(&TARGET, &|level| level.target);
    gauge(&CURRENT_R, &|level| level.virtual_time);
    gauge(&DISPATCH_R, &|level| level.level.stats.dispatched_at());
    gauge(&LATEST_S, &|level| level.level.stats.dispatched_at());
    for family in [&NEXT_S, &NEXT_DISCOUNTED_S] {
        out.family(family);
        for level in levels {
            for (bound, value) in ["min", "max"].into_iter().zip(level.level.stats.bounds()) {
                let labels = [("bound", bound), ("priority_level", level.level.name.as_str())];
                out.sample(family.name, &labels, Number(value));
            }
        }
    }
    out.family(&DEMAND);
    for level in levels {
        let labels = [("priority_level", level.level.name.as_str())];
        out.histogram(DEMAND.name, &labels, level.level.stats.demand.histogram());
    }
    out.family(&SEAT_USE);
    for level in levels {
        let labels = [("phase", "executing"), ("priority_level", level.level.name.as_str())];
        out.histogram(SEAT_USE.name, &labels, level.level.stats.seats.histogram());
    }
    out.family(&REQUEST_USE);
    for level in levels {
        let stats = &level.level.stats;
        for (phase, over_time) in [("executing", &stats.executing), ("waiting", &stats.waiting)] {
            let labels = [("phase", phase), ("priority_level", level.level.name.as_str())];
            out.histogram(REQUEST_USE.name, &labels, over_time.histogram());
        }
    }
}

fn of_classes(classes: &[Class], out: &mut Exposition) {
    value(&DISPATCHED, classes, out, |stats| stats.dispatched.get());
    value(&EXECUTING, classes, out, |stats| stats.executing_requests.get());
    value(&EXECUTING_SEATS, classes, out, |stats| stats.executing_seats.get());
    value(&WAITING, classes, out, |stats| stats.waiting_requests.get());
    value(&WAITING_SEATS, classes, out, |stats| stats.waiting_seats.get());
    value(&NO_ACCOMMODATION, classes, out, |stats| stats.no_accommodation.get());
    out.family(&REJECTED);
    for class in classes {
        for reason in Reason::ALL {
            let count = class.stats.rejected(reason).get();
            if count > 0 {
                let [schema, level] = labels(class);
                out.sample(REJECTED.name, &[schema, level, ("reason", reason.name())], count);
            }
        }
    }
    histogram(&QUEUE_LENGTH, classes, out, |stats| &stats.queue_lengths);
    histogram(&WATCHES, classes, out, |stats| &stats.watches);
    histogram(&ESTIMATED, classes, out, |stats| &stats.estimated_seats);
    out.family(&WAITS);
    for class in classes {
        for (executed, waits) in ["false", "true"].into_iter().zip(&class.stats.waits) {
            if !waits.is_empty() {
                let [schema, level] = labels(class);
                out.histogram(WAITS.name, &[("execute", executed), schema, level], waits);
            }
        }
    }
    out.family(&EXECUTIONS);
    for class in classes {
        for (kind, executions) in ["regular", "watch"].into_iter().zip(&class.stats.executions) {
            if !executions.is_empty() {
                let [schema, level] = labels(class);
                out.histogram(EXECUTIONS.name, &[schema, level, ("type", kind)], executions);
            }
        }
    }
}

fn labels(class: &Class) -> [(&str, &str); 2] {
    [("flow_schema", &class.schema.name), ("priority_level", &class.level.name)]
}

/// A number for each schema that has been used.
fn value<T: Display>(family: &Family, classes: &[Class], out: &mut Exposition, value: impl Fn(&FlowStats) -> T) {
    out.family(family);
    for class in classes.iter().filter(|class| !class.stats.estimated_seats.is_empty()) {
        out.sample(family.name, &labels(class), value(&class.stats));
    }
}

fn histogram(family: &Family, classes: &[Class], out: &mut Exposition, histogram: impl Fn(&FlowStats) -> &Histogram) {
    out.family(family);
    for class in classes.iter().filter(|class| !histogram(&class.stats).is_empty()) {
        out.histogram(family.name, &labels(class), histogram(&class.stats));
    }
}
