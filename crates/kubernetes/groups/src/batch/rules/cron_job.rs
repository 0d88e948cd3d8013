//! Rules of CronJob.

use crate::rules::internal_form::in_full;
use pintle_types::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};

/// The longest name: the jobs that it creates get longer names.
const MAX_NAME: usize = 52;

/// A schedule has no time zone, which has its own field, unless the stored schedule has one.
pub fn one_time_zone(text: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let value = text.new.as_str();
    if !value.contains("TZ") {
        return;
    }
    let named_before = text.old.is_some_and(|old| old.as_str().contains("TZ"));
    let spec = cx.root::<CronJob>().field(CronJob::SPEC);
    let detail = match (named_before, spec.field(CronJobSpec::TIME_ZONE).is_set()) {
        (false, _) => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        (true, true) => "cannot use both timeZone field and TZ or CRON_TZ in schedule",
        (true, false) => return,
    };
    cx.errors.invalid(text.path, value, detail);
}

/// Jobs of a template have generated selectors.
pub fn selects_automatically(template: At<'_, JobTemplateSpec>, cx: &mut ValidationContext<'_>) {
    template.field(JobTemplateSpec::SPEC, |spec| {
        let selector = spec.new.field(JobSpec::SELECTOR);
        if selector.is_set() {
            cx.errors.invalid(spec.path.to(JobSpec::SELECTOR), in_full(selector), "`selector` will be auto-generated");
        }
        if spec.new.field(JobSpec::MANUAL_SELECTOR).get() == Some(true) {
            cx.errors.not_supported(spec.path.to(JobSpec::MANUAL_SELECTOR), true, &["nil", "false"]);
        }
    });
}

/// The names of its jobs, which begin with its own, are valid names.
pub fn short_name(cron_job: At<'_, CronJob>, cx: &mut ValidationContext<'_>) {
    let name = cron_job.new.field(CronJob::METADATA).field(ObjectMeta::NAME).as_str();
    if name.len() > MAX_NAME {
        let path = cron_job.path.to(CronJob::METADATA);
        cx.errors.invalid(path.to(ObjectMeta::NAME), name, format!("must be no more than {MAX_NAME} characters"));
    }
}
