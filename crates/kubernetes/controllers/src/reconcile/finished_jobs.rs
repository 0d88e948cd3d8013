//! Deletes finished jobs and their pods after `ttlSecondsAfterFinished`. Guarantees that a job whose TTL was extended
//! meanwhile stays. Must never delete a running job.

use super::{Reconciler, is_removal, read, until};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, metadata};
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use pintle_types::core::v1::ConditionStatus;
use std::sync::Arc;
use std::time::Duration;

pub struct FinishedJobs {
    index: Arc<ResourceIndex>,
    jobs: KindId,
}

/// When a job expires, in seconds since 1970; `None` for jobs that have no TTL or still run.
fn end(job: &Value) -> Option<i64> {
    let view = View::<Job>::new(job);
    let ttl = view.field(Job::SPEC).field(JobSpec::TTL_SECONDS_AFTER_FINISHED).get()?;
    let mut conditions = view.field(Job::STATUS).field(JobStatus::CONDITIONS).iter();
    let finished = conditions.find(|condition| {
        let kind = condition.field(JobCondition::TYPE).get();
        (kind == "Complete" || kind == "Failed") && condition.field(JobCondition::STATUS).get() == ConditionStatus::TRUE
    })?;
    let finished = finished.field(JobCondition::LAST_TRANSITION_TIME).get();
    (!metadata::is_terminating(job)).then(|| finished.seconds.saturating_add(i64::from(ttl)))
}

impl Reconciler for FinishedJobs {
    const QUEUE: &'static str = "ttl_jobs_to_delete";

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let jobs = index.stored("batch", "jobs")?;
        Some(FinishedJobs { index, jobs })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.jobs).then_some(WatchFilter::Everything)
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.jobs && !is_removal(event) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, job)) = read(&self.index, place) else { return Outcome::Done };
        let Some(end) = end(&job) else { return Outcome::Done };
        if let Some(left) = until(&self.index, end) {
            return Outcome::After(left);
        }
        let requests = Requests { index: &self.index, who: Who::Account("ttl-after-finished-controller") };
        let options = DeleteOptions {
            uid: Some(stored.encoded.uid().to_owned()),
            resource_version: Some(stored.revision.0.to_string()),
            ..requests.delete_options(Propagation::Foreground)
        };
        retry_on_failure(&requests.delete(&kind.at(&stored), &options).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn jobs_end_after_they_have_finished() {
        let job = |kind: &str, status: &str| {
            value!({
                "spec": {"ttlSecondsAfterFinished": 10},
                "status": {"conditions": [
                    {"type": "Suspended", "status": "True", "lastTransitionTime": "1970-01-01T00:00:01Z"},
                    {"type": kind, "status": status, "lastTransitionTime": "1970-01-01T00:01:00Z"}
                ]}
            })
        };
        let rows = [("Complete", "True", Some(70)), ("Failed", "True", Some(70)), ("Failed", "False", None)];
        for (kind, status, expected) in rows {
            assert_eq!(end(&job(kind, status)), expected);
        }
        let mut unlimited = job("Complete", "True");
        unlimited.remove_at(&["spec", "ttlSecondsAfterFinished"]);
        assert_eq!(end(&unlimited), None);
    }
}
