//! Rules of CronJob.

use pintle_types::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, Cx};

/// What a cron job's name may come to, so that the jobs it makes can append to it.
const MAX_NAME: usize = 52;

/// The jobs that are made get longer names.
pub fn name_leaves_room(cron: At<'_, CronJob>, cx: &mut Cx<'_>) {
    let name = cron.new.field(CronJob::METADATA).field(ObjectMeta::NAME).as_str();
    if name.len() > MAX_NAME {
        cx.errors.invalid("metadata.name", name, format!("must be no more than {MAX_NAME} characters"));
    }
}

/// The time zone has a field of its own; schedules that named one before may still.
pub fn one_time_zone(text: At<'_, String>, cx: &mut Cx<'_>) {
    let value = text.new.as_str();
    if !value.contains("TZ") {
        return;
    }
    let named_before = text.old.is_some_and(|old| old.as_str().contains("TZ"));
    let spec = cx.root::<CronJob>().field(CronJob::SPEC);
    if !named_before {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        cx.errors.invalid(text.path, value, detail);
    } else if spec.field(CronJobSpec::TIME_ZONE).is_set() {
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        cx.errors.invalid(text.path, value, detail);
    }
}

/// Jobs that are made select their own pods.
pub fn selects_automatically(template: At<'_, JobTemplateSpec>, cx: &mut Cx<'_>) {
    template.field(JobTemplateSpec::SPEC, |spec| {
        if spec.new.field(JobSpec::MANUAL_SELECTOR).get() == Some(true) {
            cx.errors.not_supported(spec.path.to(JobSpec::MANUAL_SELECTOR), true, &["nil", "false"]);
        }
    });
}
