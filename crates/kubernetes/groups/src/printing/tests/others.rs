//! Tests of the cells of events, certificates, selectors and other kinds.
//!
//! Rows of objects and cells. Nothing depends on the time of the run.

use super::{HOUR_AGO, MINUTE_AGO, check, check_row, v};
use pintle_schema::{Value, value};

#[test]
fn events() {
    let seen = |event: Value, last: &str, first: &str, count: i64| {
        let expected = [("Last Seen", v(last)), ("First Seen", v(first)), ("Count", Value::Int(count))];
        check("", "Event", event, &expected);
    };
    seen(value!({}), "<unknown>", "<unknown>", 1);
    seen(value!({"firstTimestamp": HOUR_AGO, "lastTimestamp": MINUTE_AGO, "count": 3}), "60s", "60m", 3);
    seen(value!({"firstTimestamp": HOUR_AGO, "lastTimestamp": null}), "60m", "60m", 1);
    seen(value!({"eventTime": "2001-09-09T00:46:40.000000Z"}), "60m", "60m", 1);
    seen(
        value!({"eventTime": "2001-09-09T00:46:40.000000Z", "series": {"count": 7, "lastObservedTime": "2001-09-09T01:45:40.000000Z"}}),
        "60s",
        "60m",
        7,
    );
    check_row(
        "events.k8s.io",
        "Event",
        value!({
            "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "type": "Normal", "reason": "R", "message": " m\n", "firstTimestamp": HOUR_AGO,
            "reportingComponent": "c", "reportingInstance": "i"
        }),
        value!(["60m", "Normal", "R", "pod/p", "spec", "c, i", "m", "60m", 1, "e"]),
    );
    let object =
        value!({"involvedObject": {"kind": "Node"}, "source": {"component": "kubelet"}, "reportingComponent": "c"});
    check("", "Event", object, &[("Object", v("node")), ("Source", v("kubelet"))]);
}

#[test]
fn signing_requests() {
    let has = |types: &[&str]| Value::List(types.iter().map(|ty| value!({"type": (*ty), "status": "True"})).collect());
    let rows = [
        (value!({}), "Pending"),
        (value!({"conditions": (has(&["Approved"]))}), "Approved"),
        (value!({"conditions": (has(&["Approved"])), "certificate": "eA=="}), "Approved,Issued"),
        (value!({"conditions": (has(&["Approved", "Denied"]))}), "Denied"),
        (value!({"conditions": (has(&["Approved", "Failed"]))}), "Approved,Failed"),
    ];
    for (status, expected) in rows {
        let object = value!({"spec": {"expirationSeconds": 3600}, "status": (status)});
        let expected = [("Condition", v(expected)), ("RequestedDuration", v("60m")), ("SignerName", v("<none>"))];
        check("certificates.k8s.io", "CertificateSigningRequest", object, &expected);
    }
    let object = value!({"status": {"conditions": (has(&["Issued", "Failed", "Other"]))}});
    check("certificates.k8s.io", "PodCertificateRequest", object, &[("State", v("Failed"))]);
}

#[test]
fn selectors() {
    let selector = value!({
        "matchLabels": {"z": "1"},
        "matchExpressions": [
            {"key": "b", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"}, {"key": "a", "operator": "NotIn", "values": ["x"]}
        ]
    });
    let shown = "a notin (x),b in (x,y),c,!d,z=1";
    let rows = [
        (Value::Null, "<none>", ""),
        (value!({}), "<none>", ""),
        (selector.clone(), shown, shown),
        (value!({"matchExpressions": [{"key": "b", "operator": "Like"}]}), "<error>", "<invalid>"),
    ];
    for (selector, of_set, of_deployment) in rows {
        let object = value!({"spec": {"selector": (selector)}});
        check("apps", "ReplicaSet", object.clone(), &[("Selector", v(of_set))]);
        check("apps", "Deployment", object, &[("Selector", v(of_deployment))]);
    }
    let binding = |param_ref: Value| value!({"spec": {"paramRef": param_ref}});
    let rows = [
        (Value::Null, "<unset>"),
        (value!({"name": "n"}), "*/n"),
        (value!({"name": "n", "namespace": "s"}), "s/n"),
        (
            value!({"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}}),
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
        ),
    ];
    for (param_ref, expected) in rows {
        let kind = "ValidatingAdmissionPolicyBinding";
        check("admissionregistration.k8s.io", kind, binding(param_ref), &[("ParamRef", v(expected))]);
    }
}

#[test]
fn others() {
    let created = || value!({"name": "n", "creationTimestamp": HOUR_AGO});
    let owner = value!({"name": "n", "creationTimestamp": HOUR_AGO, "ownerReferences": [
        {"apiVersion": "v1", "kind": "A", "name": "a"}, {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true}
    ]});
    let subjects = value!([
        {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "User", "name": "w"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "x"}
    ]);
    let unavailable = value!([{"type": "Available", "status": "False", "reason": "MissingEndpoints"}]);
    let rows = [
        ("rbac.authorization.k8s.io", "Role", value!({"metadata": (created())}), value!(["n", HOUR_AGO])),
        (
            "",
            "ConfigMap",
            value!({"metadata": (created()), "data": {"a": ""}, "binaryData": {"b": ""}}),
            value!(["n", 2, "60m"]),
        ),
        (
            "apps",
            "ControllerRevision",
            value!({"metadata": (owner), "revision": 3}),
            value!(["n", "daemonset.apps/d", 3, "60m"]),
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            value!({"metadata": (created()), "roleRef": {"kind": "Role", "name": "r"}, "subjects": (subjects)}),
            value!(["n", "Role/r", "60m", "u, w", "g", "x/s"]),
        ),
        (
            "policy",
            "PodDisruptionBudget",
            value!({"metadata": (created()), "spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}}),
            value!(["n", "50%", "N/A", 1, "60m"]),
        ),
        (
            "",
            "ComponentStatus",
            value!({"metadata": (created()), "conditions": [{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]}),
            value!(["n", "Unhealthy", "m", "e"]),
        ),
        (
            "storage.k8s.io",
            "CSIDriver",
            value!({"metadata": (created()), "spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}], "volumeLifecycleModes": []}}),
            value!(["n", true, false, false, "a,b", false, "<none>", "60m"]),
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            value!({"metadata": (created()), "provisioner": "p"}),
            value!(["n", "p", "Delete", "Immediate", false, "60m"]),
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            value!({"metadata": (created()), "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}}}}}),
            value!(["n", "Limited", 0, 64, 6, 50, "60m"]),
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            value!({"metadata": (created()), "spec": {"service": {"namespace": "x", "name": "s"}}, "status": {"conditions": (unavailable)}}),
            value!(["n", "x/s", "False (MissingEndpoints)", "60m"]),
        ),
        (
            "internal.apiserver.k8s.io",
            "StorageVersion",
            value!({"metadata": (created()), "status": {"storageVersions": [{"apiServerID": "a", "encodingVersion": "v1"}]}}),
            value!(["n", "<unset>", "a=v1", "60m"]),
        ),
        (
            "storagemigration.k8s.io",
            "StorageVersionMigration",
            value!({"metadata": (created()), "spec": {"resource": {"group": "apps", "resource": "deployments"}}, "status": {"conditions": [{"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"}]}}),
            value!(["n", "deployments.apps", "Succeeded"]),
        ),
        (
            "scheduling.k8s.io",
            "PodGroup",
            value!({"metadata": (created()), "spec": {"schedulingPolicy": {"gang": {}}}, "status": {"conditions": [{"type": "PodGroupScheduled", "status": "False"}]}}),
            value!(["n", "Gang", "<none>", "Unschedulable", "60m"]),
        ),
    ];
    for (group, kind, object, expected) in rows {
        check_row(group, kind, object, expected);
    }
}
