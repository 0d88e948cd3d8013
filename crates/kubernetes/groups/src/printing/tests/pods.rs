//! Tests of the cells of pods, mostly of their status.
//!
//! Rows of statuses and cells. Nothing depends on the time of the run.

use super::printer;
use super::{HOUR_AGO, MINUTE_AGO, check, check_row, v};
use pintle_schema::{Value, value};

#[test]
fn pods() {
    check_row(
        "",
        "Pod",
        value!({"metadata": {"name": "p", "creationTimestamp": HOUR_AGO}}),
        value!(["p", "0/0", "", "0", "60m", "<none>", "<none>", "<none>", "<none>"]),
    );
    let ran = value!({"terminated": {"exitCode": 1, "finishedAt": MINUTE_AGO}});
    check_row(
        "",
        "Pod",
        value!({
            "metadata": {"name": "p", "creationTimestamp": HOUR_AGO},
            "spec": {
                "nodeName": "n", "containers": [{"name": "a"}, {"name": "b"}],
                "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]
            },
            "status": {
                "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "nominatedNodeName": "m",
                "conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}],
                "containerStatuses": [
                    {"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}}, "lastState": ran},
                    {"name": "b", "ready": false, "restartCount": 1, "state": {"running": {}}}
                ]
            }
        }),
        value!(["p", "1/2", "Running", "3 (60s ago)", "60m", "10.0.0.1", "n", "m", "1/2"]),
    );
}

/// A pod of an init container `i`, a sidecar `s` and a container `c`.
fn pod(metadata: Value, status: Value) -> Value {
    value!({
        "metadata": metadata,
        "spec": {
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "c"}]
        },
        "status": status
    })
}

#[test]
fn status_of_init_containers() {
    let done = || value!({"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 0}}});
    let rows: Vec<(Value, &str, &str, &str)> = vec![
        (value!({"phase": "Pending"}), "0/2", "Pending", "0"),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}),
            "0/2",
            "Init:0/2",
            "0",
        ),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}]}),
            "0/2",
            "Init:0/2",
            "0",
        ),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
            "0/2",
            "Init:CrashLoopBackOff",
            "4",
        ),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}]}),
            "0/2",
            "Init:Error",
            "0",
        ),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2, "signal": 9}}}]}),
            "0/2",
            "Init:Signal:9",
            "0",
        ),
        (
            value!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2}}}]}),
            "0/2",
            "Init:ExitCode:2",
            "0",
        ),
        // The second one is not started: restarts of both count.
        (
            value!({"phase": "Pending", "initContainerStatuses": [(done()), {"name": "s", "restartCount": 2, "started": false, "state": {"running": {}}}]}),
            "0/2",
            "Init:1/2",
            "3",
        ),
        // The sidecar runs: only its restarts count beside those of the container.
        (
            value!({
                "phase": "Running",
                "initContainerStatuses": [(done()), {"name": "s", "restartCount": 2, "started": true, "ready": true, "state": {"running": {}}}],
                "containerStatuses": [{"name": "c", "restartCount": 5, "ready": true, "state": {"running": {}}}]
            }),
            "2/2",
            "Running",
            "7",
        ),
        // Initialized once, so the containers are shown although an init container runs again.
        (
            value!({
                "phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}],
                "initContainerStatuses": [{"name": "i", "restartCount": 1, "state": {"running": {}}}],
                "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]
            }),
            "0/2",
            "ImagePullBackOff",
            "0",
        ),
    ];
    for (status, ready, shown, restarts) in rows {
        let expected = [("Ready", v(ready)), ("Status", v(shown)), ("Restarts", v(restarts))];
        check("", "Pod", pod(value!({}), status), &expected);
    }
}

#[test]
fn status_of_containers() {
    let running = || value!({"name": "r", "ready": true, "state": {"running": {}}});
    let ended =
        |code: i64, reason: &str| value!({"name": "e", "state": {"terminated": {"exitCode": code, "reason": reason}}});
    let completed = || ended(0, "Completed");
    let ready = || value!([{"type": "Ready", "status": "True"}]);
    let rows = [
        (value!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
        (
            value!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            "SchedulingGated",
        ),
        (value!({"phase": "Succeeded", "containerStatuses": [(completed())]}), "Completed"),
        (value!({"phase": "Failed", "containerStatuses": [(ended(3, ""))]}), "ExitCode:3"),
        (
            value!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "signal": 9}}}]}),
            "Signal:9",
        ),
        // The first container has the last word.
        (value!({"phase": "Running", "containerStatuses": [(ended(1, "Error")), (ended(2, "OOMKilled"))]}), "Error"),
        (value!({"phase": "Running", "containerStatuses": [(completed()), (running())]}), "NotReady"),
        (
            value!({"phase": "Running", "containerStatuses": [(completed()), (running())], "conditions": (ready())}),
            "Running",
        ),
        (value!({"phase": "Running", "containerStatuses": [(completed()), (ended(1, "Error"))]}), "Error"),
        (value!({"phase": "Running", "containerStatuses": [(completed()), (ended(1, "Error")), (running())]}), "Error"),
    ];
    for (status, shown) in rows {
        let object = value!({"metadata": {}, "spec": {"containers": []}, "status": (status)});
        check("", "Pod", object, &[("Status", v(shown))]);
    }
    let deleted = || value!({"deletionTimestamp": MINUTE_AGO});
    let rows = [
        (value!({"phase": "Running"}), "Terminating"),
        (value!({"phase": "Running", "reason": "NodeLost"}), "Unknown"),
        (value!({"phase": "Succeeded"}), "Succeeded"),
        (value!({"phase": "Failed"}), "Failed"),
    ];
    for (status, shown) in rows {
        check("", "Pod", pod(deleted(), status), &[("Status", v(shown))]);
    }
}

#[test]
fn rows_of_finished_pods_say_so() {
    let conditions = |phase: &str| {
        let remarks = printer("", "Pod").conditions(&value!({"status": {"phase": phase}}));
        Value::List(remarks.unwrap_or_default())
    };
    assert_eq!(conditions("Running"), value!([]));
    assert_eq!(
        conditions("Succeeded"),
        value!([{
            "type": "Completed", "status": "True", "reason": "Succeeded",
            "message": "The pod has completed successfully."
        }])
    );
    assert_eq!(
        conditions("Failed"),
        value!([{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}])
    );
}
