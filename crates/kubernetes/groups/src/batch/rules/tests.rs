//! Tests of the rules of jobs and cron jobs.

use crate::rules::tests::validate;
use pintle_schema::{ApiType, Value, value};
use pintle_types::batch::v1::{CronJob, Job};

fn spec() -> Value {
    value!({
        "parallelism": 1, "completions": 4, "backoffLimit": 6, "completionMode": "Indexed", "suspend": false,
        "manualSelector": true, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File"
            }]
        }}
    })
}

fn job(changes: &[(&[&str], Value)]) -> Value {
    let mut job = value!({"metadata": {"name": "a", "namespace": "b"}, "spec": (spec())});
    for (path, to) in changes {
        job.set_at(path, to.clone());
    }
    job
}

#[test]
fn jobs() {
    let validate = |changes: &[(&[&str], Value)]| validate(Job::schema(), &job(changes), None, "");
    assert_eq!(validate(&[]), Vec::<String>::new());
    assert_eq!(
        validate(&[(&["spec", "maxFailedIndexes"], value!(3)), (&["spec", "completionMode"], value!("NonIndexed"))]),
        [
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 3: requires indexed completion mode"
        ]
    );
    assert_eq!(
        validate(&[
            (&["spec", "completionMode"], Value::Null),
            (&["spec", "backoffLimitPerIndex"], value!(1)),
            (&["spec", "maxFailedIndexes"], value!(1)),
            (&["spec", "managedBy"], value!("me")),
        ]),
        [
            "spec.managedBy: Invalid value: \"me\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
            "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
        ]
    );
    assert_eq!(
        validate(&[
            (&["spec", "parallelism"], value!(200000)),
            (&["spec", "completions"], value!(2)),
            (&["spec", "backoffLimitPerIndex"], value!(1)),
            (&["spec", "maxFailedIndexes"], value!(3)),
        ]),
        [
            "spec.parallelism: Invalid value: 200000: must be less than or equal to 100000 when completion mode is \
             Indexed",
            "spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions",
        ]
    );
    let policy = value!({"rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "containerName": "x", "values": [1, 0]}}, {}
    ]});
    assert_eq!(
        validate(&[(&["spec", "podFailurePolicy"], policy)]),
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"x\": must be one of the \
             container or initContainer names in the pod template",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [1,0]: must be ordered",
            "spec.podFailurePolicy.rules[1].action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \
             \"Ignore\"]",
            "spec.podFailurePolicy.rules[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
        ]
    );
}

#[test]
fn a_changed_job_is_validated_twice() {
    let old = job(&[]);
    let twice = validate(Job::schema(), &job(&[(&["spec", "parallelism"], value!(-1))]), Some(&old), "");
    let text = "spec.parallelism: Invalid value: -1: must be greater than or equal to 0";
    assert_eq!(twice, [text, text]);
    let twice = validate(
        Job::schema(),
        &job(&[
            (&["spec", "template", "spec", "restartPolicy"], value!("Odd")),
            (&["spec", "template", "spec", "dnsPolicy"], value!("Odd")),
        ]),
        Some(&old),
        "",
    );
    let fields: Vec<&str> = twice.iter().filter_map(|line| line.split(": ").next()).collect();
    let (restart, dns) = ("spec.template.spec.restartPolicy", "spec.template.spec.dnsPolicy");
    assert_eq!(fields, [restart, dns, restart, restart, dns, restart, "spec.template"]);
    let fixed = validate(Job::schema(), &job(&[(&["spec", "completionMode"], value!("NonIndexed"))]), Some(&old), "");
    assert_eq!(fixed, ["spec.completionMode: Invalid value: \"NonIndexed\": field is immutable"]);
    let resized = job(&[(&["spec", "completions"], value!(2)), (&["spec", "parallelism"], value!(2))]);
    assert_eq!(validate(Job::schema(), &resized, Some(&old), ""), Vec::<String>::new());
}

#[test]
fn a_suspended_job_may_be_placed_elsewhere() {
    let old = job(&[(&["spec", "suspend"], value!(true))]);
    let moved = |old: &Value| {
        let mut job = old.clone();
        job.set_at(&["spec", "template", "spec", "nodeSelector"], value!({"a": "b"}));
        validate(Job::schema(), &job, Some(old), "")
    };
    assert_eq!(moved(&old), Vec::<String>::new());
    let errors = moved(&job(&[]));
    assert!(errors.len() == 1 && errors[0].starts_with("spec.template: Invalid value: {\"labels\""), "{errors:?}");
}

#[test]
fn the_status_of_a_job() {
    let old = job(&[(&["status"], value!({"failed": 2}))]);
    let status = |status: Value| validate(Job::schema(), &job(&[(&["status"], status)]), Some(&old), "status");
    let finished = value!({"failed": 1, "active": 1, "conditions": [{"type": "Complete", "status": "True"}]});
    assert_eq!(
        status(finished),
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true \
             condition",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.startTime: Required value: startTime is required for finished job",
            "status.failed: Invalid value: 1: cannot decrease the failed counter"
        ]
    );
}

#[test]
fn a_counter_does_not_fall_below_an_absent_one() {
    let lines = validate(
        Job::schema(),
        &job(&[(&["status"], value!({"failed": (-1)}))]),
        Some(&job(&[(&["status"], value!({}))])),
        "status",
    );
    assert_eq!(
        lines,
        [
            "status.failed: Invalid value: -1: must be greater than or equal to 0",
            "status.failed: Invalid value: -1: cannot decrease the failed counter",
        ]
    );
}

const EXPLICIT: &str = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";

#[test]
fn cron_jobs() {
    let mut cron = value!({"metadata": {"name": "a", "namespace": "b"}, "spec": {
        "schedule": "@hourly", "concurrencyPolicy": "Allow", "timeZone": "Etc/UTC", "jobTemplate": {"spec": (spec())}
    }});
    for field in ["selector", "manualSelector"] {
        cron.remove_at(&["spec", "jobTemplate", "spec", field]);
    }
    assert_eq!(validate(CronJob::schema(), &cron, None, ""), Vec::<String>::new());
    cron.set_at(&["spec", "schedule"], "TZ=UTC * * * * *");
    cron.set_at(&["spec", "timeZone"], "GMT+1");
    cron.set_at(&["spec", "jobTemplate", "spec", "manualSelector"], true);
    assert_eq!(
        validate(CronJob::schema(), &cron, None, ""),
        [
            "spec.schedule: Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone \
             field instead",
            "spec.timeZone: Invalid value: \"GMT+1\": unknown time zone GMT+1",
            "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\""
        ]
    );
    for (zone, messages) in [
        ("Europe", &["is a directory"][..]),
        ("Europe/", &["unknown time zone Europe/"]),
        ("Local", &[EXPLICIT]),
        ("local", &[EXPLICIT, "unknown time zone local"]),
    ] {
        cron.set_at(&["spec", "timeZone"], zone);
        let errors = validate(CronJob::schema(), &cron, None, "");
        let found = errors.iter().filter(|error| error.starts_with("spec.timeZone"));
        let wanted: Vec<_> =
            messages.iter().map(|message| format!("spec.timeZone: Invalid value: \"{zone}\": {message}")).collect();
        assert_eq!(found.cloned().collect::<Vec<_>>(), wanted);
    }
    cron.set_at(&["spec", "timeZone"], "Etc/U..C");
    assert!(
        validate(CronJob::schema(), &cron, None, "")
            .contains(&"spec.timeZone: Invalid value: \"Etc/U..C\": time: invalid location name".to_owned())
    );
}
