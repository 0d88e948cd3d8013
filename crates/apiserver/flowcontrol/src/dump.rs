//! The state of levels, queues and requests as text, as kube-apiserver shows it for debugging.
//! Guarantees a bounded number of rows, whatever a level configures. Must never change a state.

use crate::bounds::SHOWN_QUEUES;
use crate::controller::FlowController;
use crate::described::{Described, Details};
use crate::estimate::WorkEstimate;
use crate::level::{FlowClass, Inner};
use pintle_schema::{Duration as Shown, Time};
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LEVELS: [&str; 10] = [
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];

const QUEUES: [&str; 9] = [
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];

const REQUESTS: [&str; 10] = [
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];

const DETAILS: [&str; 8] =
    ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// The time of what has not happened.
const NEVER: &str = "0001-01-01T00:00:00Z";

impl<R: Described> FlowController<R> {
    /// A row for each level.
    pub fn dump_levels(&self) -> String {
        let row = |name: &str, inner: &Inner<R>| {
            let active = inner.queues.states().values().filter(|queue| queue.waiting > 0).count();
            let is_idle = inner.queues.is_empty() && inner.executing.is_empty();
            let totals = &inner.totals;
            [
                name.to_owned(),
                active.to_string(),
                is_idle.to_string(),
                inner.is_quiescing.to_string(),
                inner.queues.len().to_string(),
                inner.executing.len().to_string(),
                totals.dispatched.to_string(),
                totals.rejected.to_string(),
                totals.timed_out.to_string(),
                totals.cancelled.to_string(),
            ]
            .to_vec()
        };
        let rows = self.snapshot().levels.iter().map(|level| row(&level.name, &level.inner())).collect();
        table(&LEVELS, rows)
    }

    /// A row for each queue.
    pub fn dump_queues(&self) -> String {
        let mut rows = Vec::new();
        for level in &self.snapshot().levels {
            let inner = level.inner();
            let mut states = inner.queues.states();
            let shown = inner.queuing().map_or(0, |queuing| queuing.queues.min(SHOWN_QUEUES));
            (0..shown).for_each(|id| _ = states.entry(id).or_default());
            for (id, queue) in states {
                let executing = inner.executing.values().filter(|executing| executing.queue == Some(id));
                let (requests, seats) =
                    executing.fold((0, 0), |(requests, seats), it| (requests + 1, seats + it.work.max_seats()));
                rows.push(vec![
                    level.name.clone(),
                    id.to_string(),
                    queue.waiting.to_string(),
                    requests.to_string(),
                    seats.to_string(),
                    seat_seconds(queue.virtual_start),
                    queue.seats.to_string(),
                    queue.seats.to_string(),
                    seat_seconds(queue.work.into()),
                ]);
            }
        }
        table(&QUEUES, rows)
    }

    /// A row for each request that executes or waits, with what it asks for if that is wanted.
    pub fn dump_requests(&self, with_details: bool) -> String {
        let mut rows = Vec::new();
        for level in &self.snapshot().levels {
            let inner = level.inner();
            let queue = |id: Option<usize>| id.map_or_else(|| "-1".to_owned(), |id| id.to_string());
            let mut executing: Vec<_> = inner.executing.values().collect();
            executing.sort_by_key(|executing| (executing.queue, executing.started_ns));
            for it in executing {
                let place = [queue(it.queue), "-1".to_owned()];
                let times = [self.time(it.arrived_ns), self.time(it.started_ns)];
                rows.push(request(&it.class, &it.request, &it.work, place, times, with_details));
            }
            for (id, place, it) in inner.queues.waiting() {
                let place = [queue(Some(id)), place.to_string()];
                let times = [self.time(it.arrived_ns), NEVER.to_owned()];
                rows.push(request(&it.class, &it.request, &it.work, place, times, with_details));
            }
        }
        let columns: Vec<_> = if with_details { [&REQUESTS[..], &DETAILS].concat() } else { REQUESTS.to_vec() };
        table(&columns, rows)
    }

    fn time(&self, at_ns: u64) -> String {
        time(self.began + Duration::from_nanos(at_ns))
    }
}

fn request<R: Described>(
    class: &FlowClass<R>,
    request: &R,
    work: &WorkEstimate,
    [queue, place]: [String; 2],
    [arrived, started]: [String; 2],
    with_details: bool,
) -> Vec<String> {
    let Details { attributes, path } = request.details();
    let latency = Shown { nanos: i64::try_from(work.additional_latency.as_nanos()).unwrap_or(i64::MAX) };
    let mut row = vec![
        class.level.name.clone(),
        class.schema.name.clone(),
        queue,
        place,
        class.schema.distinguisher.of(&attributes).to_owned(),
        arrived,
        work.initial_seats.to_string(),
        work.final_seats.to_string(),
        latency.to_string(),
        started,
    ];
    if with_details {
        let version = match attributes.api_group {
            "" => attributes.api_version.to_owned(),
            group => format!("{group}/{}", attributes.api_version),
        };
        row.extend([attributes.user.name.to_string(), attributes.verb.to_owned(), path.into_owned()]);
        row.extend([attributes.namespace, attributes.name].map(str::to_owned));
        row.push(version);
        row.extend([attributes.resource, attributes.subresource].map(str::to_owned));
    }
    row
}

/// Seats by nanoseconds, as Go shows a fixed-point number.
fn seat_seconds(work: u128) -> String {
    let work = work / 10;
    format!("{}.{:08}ss", work / 100_000_000, work % 100_000_000)
}

/// A time in RFC 3339 with as many digits as it needs.
fn time(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let whole = Time::from_seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX)).to_string();
    if since.subsec_nanos() == 0 {
        return whole;
    }
    let fraction = format!("{:09}", since.subsec_nanos());
    format!("{}.{}Z", whole.trim_end_matches('Z'), fraction.trim_end_matches('0'))
}

/// Rows under their columns. Cells end with a comma and are padded to the width of their column, at least eight.
fn table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    const LEAST: usize = 8;
    let header: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    let mut widths = vec![LEAST; columns.len()];
    let lines = || std::iter::once(&header).chain(&rows);
    for line in lines() {
        for (width, cell) in widths.iter_mut().zip(line) {
            // A comma, and a space.
            *width = (*width).max(cell.chars().count() + 2);
        }
    }
    let mut text = String::new();
    for line in lines() {
        let last = line.len().saturating_sub(1);
        for (place, (cell, width)) in line.iter().zip(&widths).enumerate() {
            // Writing to a String cannot fail.
            let _ = match place == last {
                true => writeln!(text, "{cell}"),
                false => write!(text, "{:width$}", format!("{cell},")),
            };
        }
    }
    text
}
