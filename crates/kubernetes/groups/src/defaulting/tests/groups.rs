//! Tests of the defaults of the other groups.
//!
//! Rows have the input, and the fields of the output that matter.

use super::{at, row};
use pintle_schema::{Value, value as v};
use pintle_types::admissionregistration::v1beta1::ValidatingWebhookConfiguration as OldWebhooks;
use pintle_types::apiextensions::v1::CustomResourceDefinition;
use pintle_types::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use pintle_types::autoscaling::v2::HorizontalPodAutoscaler;
use pintle_types::batch::v1::{CronJob, Job};
use pintle_types::certificates::v1beta1::CertificateSigningRequest;
use pintle_types::discovery::v1::EndpointSlice;
use pintle_types::networking::v1::{IngressClass, NetworkPolicy};
use pintle_types::rbac::v1::RoleBinding;
use pintle_types::resource::{v1 as resource_v1, v1alpha3 as resource_v1alpha3, v1beta1 as resource_v1beta1};
use pintle_types::storage::v1::{CSIDriver, StorageClass};
use pintle_types::{flowcontrol, rbac};

#[test]
fn the_apps_group() {
    let rolling = v!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}});
    assert_eq!(at::<Deployment>(v!({}), &["spec", "strategy"]), rolling);
    let surge = v!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0}}, "replicas": 0}});
    assert_eq!(
        at::<Deployment>(surge.clone(), &["spec", "strategy", "rollingUpdate"]),
        v!({"maxSurge": 0, "maxUnavailable": "25%"})
    );
    assert_eq!(at::<Deployment>(surge, &["spec", "replicas"]), Value::Int(0));
    let recreate = v!({"spec": {"strategy": {"type": "Recreate"}}});
    assert_eq!(at::<Deployment>(recreate, &["spec", "strategy"]), v!({"type": "Recreate"}));
    assert_eq!(
        at::<DaemonSet>(v!({"spec": {"updateStrategy": {}}}), &["spec", "updateStrategy"]),
        v!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})
    );
    let rows = [
        (v!({}), v!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})),
        (v!({"type": "RollingUpdate"}), v!({"type": "RollingUpdate"})),
        (v!({"type": "OnDelete"}), v!({"type": "OnDelete"})),
        (
            v!({"type": "RollingUpdate", "rollingUpdate": {}}),
            v!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ),
    ];
    for (given, wanted) in rows {
        assert_eq!(at::<StatefulSet>(v!({"spec": {"updateStrategy": given}}), &["spec", "updateStrategy"]), wanted);
    }
    let set = at::<StatefulSet>(v!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}}]}}), &["spec"]);
    assert_eq!(
        set.get("persistentVolumeClaimRetentionPolicy"),
        Some(&v!({"whenDeleted": "Retain", "whenScaled": "Retain"}))
    );
    assert_eq!(set.get("podManagementPolicy"), Some(&Value::from("OrderedReady")));
    let claims = set.get("volumeClaimTemplates").and_then(Value::as_list).unwrap_or_default();
    assert_eq!(claims.first().map(|claim| claim.str_at(&["status", "phase"])), Some("Pending"));
    assert_eq!(at::<ReplicaSet>(v!({}), &["spec", "replicas"]), Value::Int(1));
}

#[test]
fn jobs() {
    let rows = [
        (v!({}), (Value::Int(1), Value::Int(1), Value::Int(6), "TerminatingOrFailed")),
        (v!({"parallelism": 3}), (Value::Null, Value::Int(3), Value::Int(6), "TerminatingOrFailed")),
        (
            v!({"completions": 2, "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": []}}),
            (Value::Int(2), Value::Int(1), Value::Int(2_147_483_647), "Failed"),
        ),
    ];
    for (given, (completions, parallelism, backoff, replacement)) in rows {
        let spec = at::<Job>(v!({"spec": given}), &["spec"]);
        let of = |name: &str| spec.get(name).cloned().unwrap_or_default();
        assert_eq!((of("completions"), of("parallelism"), of("backoffLimit")), (completions, parallelism, backoff));
        assert_eq!(of("podReplacementPolicy"), replacement.into());
        assert_eq!(
            (of("completionMode"), of("suspend"), of("manualSelector")),
            ("NonIndexed".into(), false.into(), false.into())
        );
    }
    let labelled = v!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
    assert_eq!(at::<Job>(labelled, &["metadata", "labels"]), v!({"a": "b"}));
    let cron = at::<CronJob>(v!({"spec": {"suspend": true, "jobTemplate": {"spec": {"template": {}}}}}), &["spec"]);
    assert_eq!(cron.get("concurrencyPolicy"), Some(&Value::from("Allow")));
    assert_eq!((cron.get("suspend"), cron.get("failedJobsHistoryLimit")), (Some(&true.into()), Some(&1.into())));
    assert_eq!(cron.at(&["jobTemplate", "spec", "backoffLimit"]), None, "a template is no job");
    assert_eq!(cron.str_at(&["jobTemplate", "spec", "template", "spec", "dnsPolicy"]), "ClusterFirst");
    let pattern = v!({"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "T"}]}]}});
    let rules = at::<Job>(v!({"spec": pattern}), &["spec", "podFailurePolicy", "rules"]);
    assert_eq!(rules, v!([{"action": "Ignore", "onPodConditions": [{"type": "T", "status": "True"}]}]));
}

#[test]
fn autoscalers() {
    let cpu = v!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    row::<HorizontalPodAutoscaler>(v!({}), v!({"spec": {"minReplicas": 1, "metrics": cpu}}));
    let up =
        v!([{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]);
    let down = v!([{"type": "Percent", "value": 100, "periodSeconds": 15}]);
    let own = v!([{"type": "Pods", "value": 1, "periodSeconds": 1}]);
    assert_eq!(
        at::<HorizontalPodAutoscaler>(v!({"spec": {"behavior": {}}}), &["spec", "behavior"]),
        v!({
            "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": up},
            "scaleDown": {"selectPolicy": "Max", "policies": down}
        })
    );
    let given = v!({"scaleUp": {"selectPolicy": "Min", "policies": []}, "scaleDown": {"policies": (own.clone()), "tolerance": "1"}});
    assert_eq!(
        at::<HorizontalPodAutoscaler>(v!({"spec": {"behavior": given}}), &["spec", "behavior"]),
        v!({
            "scaleUp": {"selectPolicy": "Min", "policies": [], "stabilizationWindowSeconds": 0},
            "scaleDown": {"policies": own, "tolerance": "1", "selectPolicy": "Max"}
        })
    );
}

#[test]
fn definitions() {
    row::<CustomResourceDefinition>(
        v!({"spec": {"names": {"kind": "Gadget", "plural": "gadgets"}, "versions": [{"name": "v1"}, {"name": "v2", "storage": true}]}}),
        v!({"spec": {
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1"}, {"name": "v2", "storage": true}], "conversion": {"strategy": "None"}
        }, "status": {"storedVersions": ["v2"]}}),
    );
    let webhook =
        v!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}}}});
    assert_eq!(
        at::<CustomResourceDefinition>(webhook, &["spec", "conversion", "webhook", "clientConfig", "service", "port"]),
        Value::Int(443)
    );
}

#[test]
fn the_other_groups() {
    let webhook = at::<OldWebhooks>(v!({"webhooks": [{"name": "w", "rules": [{}]}]}), &["webhooks"]);
    let webhook = webhook.as_list().and_then(<[Value]>::first).cloned().unwrap_or_default();
    assert_eq!(webhook.get("admissionReviewVersions"), Some(&v!(["v1beta1"])));
    assert_eq!((webhook.get("timeoutSeconds"), webhook.get("namespaceSelector")), (Some(&30.into()), Some(&v!({}))));

    let policy = |spec: Value| at::<NetworkPolicy>(v!({"spec": spec}), &["spec", "policyTypes"]);
    assert_eq!(policy(v!({"policyTypes": []})), v!(["Ingress"]));
    assert_eq!(policy(v!({"egress": [{"ports": [{"port": 1}]}]})), v!(["Ingress", "Egress"]));
    assert_eq!(policy(v!({"policyTypes": ["Egress"]})), v!(["Egress"]));
    assert_eq!(
        at::<IngressClass>(v!({"spec": {"parameters": {}}}), &["spec", "parameters", "scope"]),
        "Cluster".into()
    );
    assert_eq!(at::<IngressClass>(v!({"spec": {}}), &["spec"]), v!({}));

    row::<RoleBinding>(
        v!({"subjects": [{"kind": "User", "name": "a"}, {"kind": "ServiceAccount", "name": "b"}], "roleRef": {"kind": "Role", "name": "r"}}),
        v!({
            "subjects": [
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "a"}, {"kind": "ServiceAccount", "name": "b"}
            ],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        }),
    );
    let subject = |kind: &str| at::<rbac::v1alpha1::Subject>(v!({"kind": kind}), &["apiVersion"]);
    assert_eq!(subject("Group"), "rbac.authorization.k8s.io/v1alpha1".into());
    assert_eq!(subject("ServiceAccount"), "v1".into());
    assert_eq!(subject("Other"), Value::Null);

    row::<StorageClass>(v!({}), v!({"provisioner": "", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}));
    row::<CSIDriver>(
        v!({}),
        v!({"spec": {
            "attachRequired": true, "podInfoOnMount": false, "volumeLifecycleModes": ["Persistent"], "storageCapacity": false,
            "fsGroupPolicy": "ReadWriteOnceWithFSType", "requiresRepublish": false, "seLinuxMount": false
        }}),
    );
    row::<EndpointSlice>(
        v!({"endpoints": [], "ports": [{"port": 1}, null]}),
        v!({"endpoints": [], "ports": [{"port": 1, "name": "", "protocol": "TCP"}, {"name": "", "protocol": "TCP"}]}),
    );
    let usages = at::<CertificateSigningRequest>(v!({}), &["spec", "usages"]);
    assert_eq!(usages, v!(["digital signature", "key encipherment"]));
}

#[test]
fn priority_levels() {
    let shares = |annotations: Value| {
        let level = v!({"metadata": {"annotations": annotations}, "spec": {"type": "Limited", "limited": {}}});
        at::<flowcontrol::v1beta3::PriorityLevelConfiguration>(level, &["spec", "limited", "nominalConcurrencyShares"])
    };
    assert_eq!(shares(v!({})), Value::Int(30));
    assert_eq!(shares(v!({"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""})), Value::Null);
    let queues = v!({"spec": {"limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 0}}, "nominalConcurrencyShares": 0}}});
    let limited = at::<flowcontrol::v1::PriorityLevelConfiguration>(queues, &["spec", "limited"]);
    assert_eq!(
        limited.at(&["limitResponse", "queuing"]),
        Some(&v!({"queues": 64, "handSize": 8, "queueLengthLimit": 50}))
    );
    assert_eq!(limited.get("nominalConcurrencyShares"), Some(&Value::Int(0)));
}

#[test]
fn devices() {
    let requests = v!({"spec": {"devices": {"requests": [
        {"name": "a", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k"}]}},
        {"name": "b", "exactly": {"allocationMode": "All"}},
        {"name": "c", "firstAvailable": [{"name": "d", "count": 2}]}
    ]}}});
    assert_eq!(
        at::<resource_v1::ResourceClaim>(requests, &["spec", "devices", "requests"]),
        v!([
            {"name": "a", "exactly": {
                "deviceClassName": "c", "tolerations": [{"key": "k", "operator": "Equal"}], "count": 1, "allocationMode": "ExactCount"
            }},
            {"name": "b", "exactly": {"allocationMode": "All"}},
            {"name": "c", "firstAvailable": [{"name": "d", "count": 2, "allocationMode": "ExactCount"}]}
        ])
    );
    let requests = v!({"spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "c"}, {"name": "b"}]}}});
    assert_eq!(
        at::<resource_v1beta1::ResourceClaim>(requests, &["spec", "devices", "requests"]),
        v!([{"name": "a", "deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}, {"name": "b"}])
    );
    let added = at::<resource_v1alpha3::DeviceTaintRule>(v!({}), &["spec", "taint", "timeAdded"]);
    assert_eq!(added, "2001-09-09T01:46:40Z".into());
    let given = v!({"spec": {"taint": {"timeAdded": "2020-01-01T00:00:00Z"}}});
    assert_eq!(
        at::<resource_v1alpha3::DeviceTaintRule>(given, &["spec", "taint", "timeAdded"]),
        "2020-01-01T00:00:00Z".into()
    );
}
