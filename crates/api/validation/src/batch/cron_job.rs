//! Rules of CronJob.

use super::{schedule, time_zone};
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

/// A schedule is one that cron reads.
pub fn schedule(text: At<'_, String>, cx: &mut Cx<'_>) {
    let value = text.new.as_str();
    if let Some(why) = Some(value).filter(|value| !value.is_empty()).and_then(|value| schedule::check(value).err()) {
        cx.errors.invalid(text.path, value, why);
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

/// A time zone is one that is known.
pub fn time_zone(zone: At<'_, Option<String>>, cx: &mut Cx<'_>) {
    let Some(zone) = zone.some() else { return };
    let name = zone.new.as_str();
    if name.is_empty() {
        cx.errors.invalid(zone.path, name, "timeZone must be nil or non-empty string");
    } else if name.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        cx.errors.invalid(zone.path, name, detail);
    } else if !time_zone::may_exist(name) {
        cx.errors.invalid(zone.path, name, format!("unknown time zone {name}"));
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
