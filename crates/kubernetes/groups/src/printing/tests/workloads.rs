//! Tests of the cells of jobs, autoscalers, quotas and claims.
//!
//! Rows of objects and cells. Nothing depends on the time of the run.

use super::{HOUR_AGO, MINUTE_AGO, check, check_row, v};
use pintle_schema::{Value, value};

#[test]
fn jobs() {
    let holds = |ty: &str| value!({"type": ty, "status": "True"});
    let expected = [("Status", v("Running")), ("Completions", v("0/1")), ("Duration", v(""))];
    check("batch", "Job", value!({}), &expected);
    let statuses = [
        (vec![holds("Suspended")], false, "Suspended"),
        (vec![holds("SuccessCriteriaMet"), holds("FailureTarget")], false, "FailureTarget"),
        (vec![holds("SuccessCriteriaMet")], false, "SuccessCriteriaMet"),
        (vec![holds("Suspended")], true, "Terminating"),
        (vec![holds("Failed"), holds("Complete")], true, "Complete"),
        (vec![holds("FailureTarget"), holds("Failed")], true, "Failed"),
        // Only the first condition of a type is looked at.
        (vec![value!({"type": "Complete", "status": "False"}), holds("Complete")], false, "Running"),
    ];
    for (conditions, deleted, expected) in statuses {
        let metadata = if deleted { value!({"deletionTimestamp": MINUTE_AGO}) } else { value!({}) };
        let object = value!({"metadata": (metadata), "status": {"conditions": (Value::List(conditions))}});
        check("batch", "Job", object, &[("Status", v(expected))]);
    }
    let completions = [
        (value!({"completions": 4, "parallelism": 2}), "1/4"),
        (value!({"parallelism": 2}), "1/1 of 2"),
        (value!({"parallelism": 1}), "1/1"),
    ];
    for (spec, expected) in completions {
        let object = value!({"spec": (spec), "status": {"succeeded": 1}});
        check("batch", "Job", object, &[("Completions", v(expected))]);
    }
    let durations = [
        (value!({"startTime": HOUR_AGO}), "60m"),
        (value!({"startTime": HOUR_AGO, "completionTime": "2001-09-09T00:49:10Z"}), "2m30s"),
    ];
    for (status, expected) in durations {
        check("batch", "Job", value!({"status": (status)}), &[("Duration", v(expected))]);
    }
}

#[test]
fn cron_jobs() {
    let template = value!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}}}});
    check_row(
        "batch",
        "CronJob",
        value!({
            "metadata": {"name": "c", "creationTimestamp": HOUR_AGO},
            "spec": {"schedule": "* * * * *", "suspend": true, "jobTemplate": template},
            "status": {"active": [{"name": "x"}], "lastScheduleTime": MINUTE_AGO}
        }),
        value!(["c", "* * * * *", "<none>", "True", 1, "60s", "60m", "a,b", "i:1,j:2", "<none>"]),
    );
}

#[test]
fn autoscalers() {
    let resource = |target: Value| value!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
    let pods = || value!({"type": "Pods", "pods": {"target": {"type": "AverageValue", "averageValue": "10"}}});
    let rows = [
        (vec![], vec![], "<none>"),
        (vec![resource(value!({"averageUtilization": 50}))], vec![], "cpu: <unknown>/50%"),
        (vec![resource(value!({}))], vec![], "cpu: <unknown>/<auto>"),
        (
            vec![resource(value!({"averageUtilization": 50}))],
            vec![
                value!({"type": "Resource", "resource": {"current": {"averageUtilization": 70, "averageValue": "7"}}}),
            ],
            "cpu: 70%/50%",
        ),
        (
            vec![resource(value!({"averageValue": "100m"}))],
            vec![
                value!({"type": "Resource", "resource": {"current": {"averageUtilization": 70, "averageValue": "7"}}}),
            ],
            "cpu: 7/100m",
        ),
        (
            vec![
                value!({"type": "ContainerResource", "containerResource": {"name": "memory", "target": {"averageUtilization": 5}}}),
            ],
            vec![],
            "memory: <unknown>/5%",
        ),
        (
            vec![value!({"type": "External", "external": {"target": {"averageValue": "2"}}})],
            vec![value!({"type": "External", "external": {"current": {"averageValue": "1"}}})],
            "1/2 (avg)",
        ),
        (
            vec![value!({"type": "Object", "object": {"target": {"value": "2"}}})],
            vec![value!({"type": "Object", "object": {"current": {"value": "1"}}})],
            "1/2",
        ),
        (vec![pods(), value!({"type": "New"})], vec![], "<unknown>/10, <unknown type>"),
        (vec![pods(), pods(), pods(), pods()], vec![], "<unknown>/10, <unknown>/10 + 2 more..."),
    ];
    for (metrics, current, expected) in rows {
        let object = value!({
            "spec": {"metrics": (Value::List(metrics)), "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
            "status": {"currentMetrics": (Value::List(current))}
        });
        let expected = [
            ("Targets", v(expected)),
            ("Reference", v("Deployment/d")),
            ("MinPods", v("<unset>")),
            ("MaxPods", 3.into()),
            ("Replicas", 0.into()),
        ];
        check("autoscaling", "HorizontalPodAutoscaler", object, &expected);
    }
    let object = value!({"spec": {"minReplicas": 2}});
    check("autoscaling", "HorizontalPodAutoscaler", object, &[("MinPods", v("2"))]);
}

#[test]
fn quotas_and_claims() {
    let status = value!({
        "hard": {"requests.cpu": "2", "limits.cpu": "4", "pods": "10", "limits": "1"}, "used": {"pods": "3", "limits.cpu": "1500m"}
    });
    let expected = [("Request", v("limits: 0/1, pods: 3/10, requests.cpu: 0/2")), ("Limit", v("limits.cpu: 1500m/4"))];
    check("", "ResourceQuota", value!({"status": (status)}), &expected);

    let deleted = || value!({"deletionTimestamp": MINUTE_AGO});
    let reserved = || value!({"allocation": {}, "reservedFor": [{}]});
    let rows = [
        (value!({}), "pending"),
        (value!({"status": {"allocation": {}}}), "allocated"),
        (value!({"status": (reserved())}), "allocated,reserved"),
        (value!({"metadata": (deleted())}), "deleted"),
        (value!({"metadata": (deleted()), "status": (reserved())}), "deleted,allocated,reserved"),
    ];
    for (claim, expected) in rows {
        check("resource.k8s.io", "ResourceClaim", claim, &[("State", v(expected))]);
    }

    check_row(
        "",
        "PersistentVolumeClaim",
        value!({
            "metadata": {"name": "c", "creationTimestamp": HOUR_AGO, "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
            "spec": {"volumeName": "v", "storageClassName": "new", "volumeMode": "Block"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"]}
        }),
        value!(["c", "Bound", "v", "1Gi", "RWO,RWX", "old", "<unset>", "60m", "Block"]),
    );
    check_row(
        "",
        "PersistentVolumeClaim",
        value!({"metadata": {"name": "c", "deletionTimestamp": MINUTE_AGO}, "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}}}),
        value!(["c", "Terminating", "", "", "", "", "<unset>", "<unknown>", "<unset>"]),
    );
    check_row(
        "",
        "PersistentVolume",
        value!({
            "metadata": {"name": "v", "creationTimestamp": HOUR_AGO},
            "spec": {
                "claimRef": {"namespace": "n", "name": "c"}, "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "s"
            },
            "status": {"phase": "Released", "reason": "R"}
        }),
        value!(["v", "0", "ROX,RWOP", "Retain", "Released", "n/c", "s", "<unset>", "R", "60m", "<unset>"]),
    );
}

#[test]
fn pools_of_devices() {
    let pools = || value!([{"totalDevices": 3, "allocatedDevices": 1}, {"totalDevices": 4, "validationError": "e"}]);
    let complete = || value!([{"type": "Complete", "status": "True", "lastTransitionTime": MINUTE_AGO}]);
    let failed = || value!([{"type": "Failed", "status": "True"}]);
    let rows = [
        (value!({"metadata": {"name": "r"}}), value!(["r", "", "-", "-", "-", "-", "-", 0, "Pending", "<none>"])),
        (
            value!({"metadata": {"name": "r"}, "status": {"poolCount": 2, "pools": (pools()), "conditions": (complete())}}),
            value!(["r", "", "7", "0", "1", "0", "1", 2, "Complete", "60s"]),
        ),
        (
            value!({"metadata": {"name": "r"}, "status": {"poolCount": 3, "pools": (pools()), "conditions": (complete())}}),
            value!(["r", "", "7", "0", "1", "0", "1", 3, "Complete (2/3 pools)", "60s"]),
        ),
        (
            value!({"metadata": {"name": "r"}, "status": {"conditions": (failed())}}),
            value!(["r", "", "-", "-", "-", "-", "-", 0, "Failed", "<none>"]),
        ),
    ];
    for (object, expected) in rows {
        check_row("resource.k8s.io", "ResourcePoolStatusRequest", object, expected);
    }
}
