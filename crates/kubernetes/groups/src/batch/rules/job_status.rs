//! Rules of the status of jobs: consistent values, and valid changes.
//!
//! Most rules apply only to fields that a write changes, so that an invalid stored status can still be updated.

use super::indexes;
use super::job_spec::{invalid_without_value, is_indexed, number};
use crate::rules::internal_form::in_full;
use crate::rules::{Repeats, items};
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods};
use pintle_validation::{At, ValidationContext, same_at};

type Status = JobStatus;

/// Whether a job has a condition that is true.
pub fn is_true(job: View<'_, Job>, kind: &str) -> bool {
    job.field(Job::STATUS).field(Status::CONDITIONS).iter().any(|condition| {
        condition.value().str_at(&[JobCondition::TYPE.name()]) == kind
            && condition.value().str_at(&[JobCondition::STATUS.name()]) == "True"
    })
}

/// Pods that wait to be counted are named once each.
pub fn counted_once(status: At<'_, JobStatus>, cx: &mut ValidationContext<'_>) {
    let Some(pods) = status.new.field(Status::UNCOUNTED_TERMINATED_PODS).some() else { return };
    let path = status.path.to(Status::UNCOUNTED_TERMINATED_PODS);
    let lists = [UncountedTerminatedPods::SUCCEEDED, UncountedTerminatedPods::FAILED];
    let uid = |list: usize, at: usize| {
        lists.get(list).and_then(|field| items(pods.field(*field)).get(at)).and_then(Value::as_str).unwrap_or_default()
    };
    let succeeded = items(pods.field(lists[0])).len();
    let failed = items(pods.field(lists[1])).len();
    // Both lists name pods of one job: no pod is in both.
    let place = |at: usize| if at < succeeded { (0, at) } else { (1, at - succeeded) };
    let mut repeats = Repeats::new(succeeded + failed, |at| uid(place(at).0, place(at).1));
    for at in 0..succeeded + failed {
        let (list, index) = place(at);
        let repeated = repeats.is_repeated(at);
        let path = path.to(lists[list]);
        match uid(list, index) {
            "" => {}
            uid if repeated => cx.errors.duplicate(path.index(index), uid),
            _ => {}
        }
    }
}

/// The state of a job by its conditions.
#[derive(Clone, Copy, PartialEq)]
struct State {
    complete: bool,
    failed: bool,
    failing: bool,
    succeeding: bool,
}

impl State {
    fn of(job: View<'_, Job>) -> Self {
        State {
            complete: is_true(job, "Complete"),
            failed: is_true(job, "Failed"),
            failing: is_true(job, "FailureTarget"),
            succeeding: is_true(job, "SuccessCriteriaMet"),
        }
    }

    fn finished(self) -> bool {
        self.complete || self.failed
    }
}

/// The parts of a status agree with each other and with the spec, where this write changed them.
pub fn is_consistent(status: At<'_, JobStatus>, cx: &mut ValidationContext<'_>) {
    let (Some(old_job), Some(old)) = (cx.old_root::<Job>(), status.old) else { return };
    let job = cx.root::<Job>();
    let (spec, new) = (job.field(Job::SPEC), status.new);
    let (was, is) = (State::of(old_job), State::of(job));
    let changed = |field: &str| !same_at(new.value(), old.value(), field);
    let finish = was.finished() != is.finished();
    let (complete, failed) = (was.complete != is.complete, was.failed != is.failed);
    let started = changed(Status::START_TIME.name());
    let completed = changed(Status::COMPLETION_TIME.name());
    let active_changed = changed(Status::ACTIVE.name());
    let (completed_changed, failed_changed) =
        (changed(Status::COMPLETED_INDEXES.name()), changed(Status::FAILED_INDEXES.name()));
    let conditions = status.path.to(Status::CONDITIONS);
    let completion_time = new.field(Status::COMPLETION_TIME);
    let completions = number(spec, JobSpec::COMPLETIONS);

    if (complete || failed) && is.complete && is.failed {
        invalid_without_value(conditions, "cannot set Complete=True and Failed=true conditions", cx);
    }
    if (complete || was.failing != is.failing) && is.complete && is.failing {
        invalid_without_value(conditions, "cannot set Complete=True and FailureTarget=true conditions", cx);
    }
    let path = status.path.to(Status::COMPLETION_TIME);
    if complete || completed {
        if completion_time.is_set() && !is.complete {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            cx.errors.invalid(path, completion_time.value().clone(), detail);
        }
        if !completion_time.is_set() && is.complete {
            cx.errors.required(path, "completionTime is required for Complete jobs");
        }
    }
    let start = new.field(Status::START_TIME).value();
    if (started || completed)
        && let (Some(start), Some(end)) = (start.as_str(), completion_time.value().as_str())
        && end < start
    {
        cx.errors.invalid(path, end, "must be equal to or after `startTime`");
    }
    if (failed || failed_changed) && is.failed && !is.failing {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        invalid_without_value(conditions, detail, cx);
    }
    if (complete || was.succeeding != is.succeeding) && is.complete && !is.succeeding {
        let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        invalid_without_value(conditions, detail, cx);
    }
    let none_left = |field: &'static str, count: i32, cx: &mut ValidationContext<'_>| {
        if (finish || changed(field)) && count > 0 && is.finished() {
            cx.errors.invalid(status.path.child(field), count, format!("{field}>0 is invalid for finished job"));
        }
    };
    let active = new.field(Status::ACTIVE).get();
    none_left(Status::ACTIVE.name(), active, cx);
    let never_ran = spec.field(JobSpec::SUSPEND).get() == Some(true) && completions == Some(0);
    if (finish || started) && !never_ran && start.is_null() && is.finished() {
        cx.errors.required(status.path.to(Status::START_TIME), "startTime is required for finished job");
    }
    let uncounted = new.field(Status::UNCOUNTED_TERMINATED_PODS);
    if (finish || changed(Status::UNCOUNTED_TERMINATED_PODS.name())) && is.finished() && !is_empty(uncounted) {
        let path = status.path.to(Status::UNCOUNTED_TERMINATED_PODS);
        cx.errors.invalid(path, in_full(uncounted), "must be empty for finished job");
    }
    indexes_fit(status, spec, (completed_changed, failed_changed), cx);
    none_left(Status::TERMINATING.name(), new.field(Status::TERMINATING).some().map_or(0, View::get), cx);
    let ready = new.field(Status::READY).some().map(View::get);
    if let Some(ready) = ready.filter(|ready| (changed(Status::READY.name()) || active_changed) && *ready > active) {
        cx.errors.invalid(status.path.to(Status::READY), ready, "cannot set more ready pods than active");
    }
    if is.succeeding && is.failed {
        invalid_without_value(conditions, "cannot set SuccessCriteriaMet=True and Failed=true conditions", cx);
    }
    if is.succeeding && is.failing {
        let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        invalid_without_value(conditions, detail, cx);
    }
    if spec.field(JobSpec::SUCCESS_POLICY).is_set() && !is.succeeding && is.complete {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        invalid_without_value(conditions, detail, cx);
    }
}

fn is_empty(pods: View<'_, Option<UncountedTerminatedPods>>) -> bool {
    pods.some().is_none_or(|pods| {
        items(pods.field(UncountedTerminatedPods::SUCCEEDED)).is_empty()
            && items(pods.field(UncountedTerminatedPods::FAILED)).is_empty()
    })
}

/// Indexes are reported only by jobs that have them, and none has both failed and succeeded.
fn indexes_fit(
    status: At<'_, JobStatus>,
    spec: View<'_, JobSpec>,
    changed: (bool, bool),
    cx: &mut ValidationContext<'_>,
) {
    let completed = status.new.field(Status::COMPLETED_INDEXES).as_str();
    let failed = status.new.field(Status::FAILED_INDEXES).some().map(|text| text.value().as_str().unwrap_or_default());
    let completions = number(spec, JobSpec::COMPLETIONS).map(i64::from);
    let by_index = spec.field(JobSpec::BACKOFF_LIMIT_PER_INDEX).is_set();
    let (completed_path, failed_path) =
        (status.path.to(Status::COMPLETED_INDEXES), status.path.to(Status::FAILED_INDEXES));
    let written = [
        changed.0.then_some((completed_path, Status::COMPLETED_INDEXES.name(), completed)),
        failed.filter(|_| changed.1 && by_index).map(|failed| (failed_path, Status::FAILED_INDEXES.name(), failed)),
    ];
    for (path, field, text) in written.into_iter().flatten() {
        if let Some(Err(why)) = completions.map(|completions| indexes::count(text, completions)) {
            cx.errors.invalid(path, text, format!("error parsing {field}: {why}"));
        }
    }
    if changed.0 && !completed.is_empty() && !is_indexed(spec) {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        cx.errors.invalid(completed_path, completed, detail);
    }
    let Some(failed) = failed else { return };
    if changed.1 && !by_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        cx.errors.invalid(failed_path, failed, detail);
    }
    if let (true, Some(completions)) = (changed.0 || changed.1, completions)
        && let Some(index) = indexes::overlap(completed, failed, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        cx.errors.invalid(failed_path, failed, detail);
    }
}

/// Jobs that ended stay ended, and counters do not fall.
pub fn moves_forward(status: At<'_, JobStatus>, cx: &mut ValidationContext<'_>) {
    let (Some(old_job), Some(old)) = (cx.old_root::<Job>(), status.old) else { return };
    let job = cx.root::<Job>();
    let (spec, new) = (job.field(Job::SPEC), status.new);
    let conditions = status.path.to(Status::CONDITIONS);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(old_job, kind) && !is_true(job, kind) {
            invalid_without_value(conditions, &format!("cannot disable the terminal {kind}=True condition"), cx);
        }
    }
    // Numbered pods may become fewer together with how many run at a time.
    let resizes = is_indexed(spec) && number(spec, JobSpec::COMPLETIONS) == number(spec, JobSpec::PARALLELISM);
    let now = new.field(Status::SUCCEEDED).get();
    if now < old.field(Status::SUCCEEDED).get() && !resizes {
        cx.errors.invalid(status.path.to(Status::SUCCEEDED), now, "cannot decrease the succeeded counter");
    }
    let (is, was) = (new.field(Status::COMPLETION_TIME), old.field(Status::COMPLETION_TIME));
    if is.is_set() && was.is_set() && is.value() != was.value() {
        cx.errors.immutable(status.path.to(Status::COMPLETION_TIME), is.value().clone());
    }
    let (is, was) = (new.field(Status::START_TIME), old.field(Status::START_TIME));
    let suspended = spec.field(JobSpec::SUSPEND).get() == Some(true);
    let resumes = is_true(old_job, "Suspended") && !is_true(job, "Suspended");
    if was.is_set() && is.value() != was.value() && !suspended && !resumes {
        let detail = "field is immutable for unsuspended job once set";
        cx.errors.invalid(status.path.to(Status::START_TIME), is.value().clone(), detail);
    }
    let (was, is) = (State::of(old_job), State::of(job));
    if was.succeeding && !is.succeeding {
        invalid_without_value(conditions, "cannot disable the SuccessCriteriaMet=True condition", cx);
    }
    if was.complete && !was.succeeding && is.succeeding {
        let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        invalid_without_value(conditions, detail, cx);
    }
}
