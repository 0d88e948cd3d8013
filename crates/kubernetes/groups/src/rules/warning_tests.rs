//! Tests of the warnings of each kind.

use crate::rules::warnings::{MOST, Written};
use crate::tests::resource_for;
use pintle_gates as gates;
use pintle_schema::gates::NO_GATES;
use pintle_schema::{ApiType, GateSet, Struct, Value, value};
use pintle_types::admissionregistration::v1::ValidatingAdmissionPolicy;
use pintle_types::apps::v1::{DaemonSet, Deployment, StatefulSet};
use pintle_types::batch::v1::{CronJob, Job};
use pintle_types::core::v1::{Pod, ReplicationController, ResourceQuota, ServiceAccount};
use pintle_types::node::v1::RuntimeClass;
use pintle_types::storage::v1::{CSIStorageCapacity, StorageClass};

fn warned(schema: &'static Struct, object: &Value, old: Option<&Value>, subresource: &str) -> Vec<String> {
    warned_with(&NO_GATES, schema, object, old, subresource)
}

fn warned_with(
    gates: &GateSet,
    schema: &'static Struct,
    object: &Value,
    old: Option<&Value>,
    subresource: &str,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(warn) = resource_for(schema).warn {
        warn(&Written { object, old, subresource, gates }, &mut warnings);
    }
    warnings
}

fn warnings_of_pod(spec: Value) -> Vec<String> {
    warned(Pod::schema(), &value!({"metadata": {"name": "a"}, "spec": spec}), None, "")
}

/// An owner of pods whose templates cannot be overlooked, in some generation.
fn owner(generation: i64, host: &str) -> Value {
    value!({
        "metadata": {"name": "a", "generation": generation},
        "spec": {"template": {"spec": {"hostAliases": [{"ip": host}]}}}
    })
}

fn of_host(host: &str) -> Vec<String> {
    let path = "spec.template.spec.hostAliases[0].ip";
    let future = "will be considered invalid in a future Kubernetes release";
    vec![format!("{path}: non-standard IP address \"0{host}\" {future}: use \"{host}\"")]
}

#[test]
fn a_new_template_is_warned_of() {
    let (old, new) = (owner(1, "01.1.1.1"), owner(2, "02.2.2.2"));
    for schema in [Deployment::schema(), StatefulSet::schema(), Job::schema()] {
        assert_eq!(warned(schema, &new, None, ""), of_host("2.2.2.2"));
        assert_eq!(warned(schema, &new, Some(&old), ""), of_host("2.2.2.2"));
        assert_eq!(warned(schema, &new, Some(&new), ""), [""; 0]);
        assert_eq!(warned(schema, &new, Some(&old), "status"), [""; 0]);
    }
    let daemons = DaemonSet::schema();
    assert_eq!(warned(daemons, &new, Some(&old), ""), of_host("2.2.2.2"));
    assert_eq!(warned(daemons, &owner(3, "02.2.2.2"), Some(&new), ""), [""; 0], "the template stayed");
    assert_eq!(warned(ReplicationController::schema(), &new, Some(&old), ""), of_host("1.1.1.1"), "the one before");
}

#[test]
fn annotations_for_which_there_are_fields() {
    let annotations = value!({
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/c": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined"
    });
    let spec = value!({"containers": [{"name": "c"}, {"name": "d"}]});
    let parts = value!({"metadata": {"name": "a", "annotations": annotations}, "spec": spec});
    let pod = warned(Pod::schema(), &parts, None, "");
    let seccomp = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    assert_eq!(
        pod,
        [
            format!("metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {seccomp}"),
            format!("metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: {seccomp}"),
        ]
    );
    let set = value!({"metadata": {"name": "a"}, "spec": {"template": parts}});
    let of_template = warned(Deployment::schema(), &set, None, "");
    assert_eq!(of_template.len(), 3);
    assert_eq!(
        of_template[2],
        "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; \
         use the \"appArmorProfile\" field instead"
    );
    let mut with_fields = set;
    let fields = value!({"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}});
    with_fields.set_at(&["spec", "template", "spec", "securityContext"], fields);
    assert_eq!(warned(Deployment::schema(), &with_fields, None, "").len(), 1, "a container's own stands for itself");
}

#[test]
fn files_of_one_volume_at_one_place() {
    let key = |path: &str| value!({"key": "k", "path": path});
    let volumes = value!([
        {"name": "a", "configMap": {"name": "m", "items": (vec![key("x/"), key("x/y"), key("xy"), key("x")])}},
        {"name": "b", "downwardAPI": {"items": [{"path": "z"}, {"path": "z"}]}},
        {"name": "c", "projected": {"sources": [
            {}, {"configMap": {"name": "m", "items": (vec![key("t")])}}, {"serviceAccountToken": {"path": "t"}},
            {"podCertificate": {"keyPath": "t/key"}}, {"clusterTrustBundle": {"signerName": "s/t", "path": "u"}}
        ]}}
    ]);
    assert_eq!(
        warnings_of_pod(value!({"volumes": volumes})),
        [
            r#"volume "a" (ConfigMap "m"): overlapping paths: "x/y" with "x""#,
            r#"volume "a" (ConfigMap "m"): overlapping paths: "x" with "x""#,
            r#"volume "a" (ConfigMap "m"): overlapping paths: "x" with "x/y""#,
            r#"volume "b" (DownwardAPI): overlapping paths: "z" with "z""#,
            r#"volume "c" (Projected) has no sources provided"#,
            r#"volume "c" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (ConfigMap "m")"#,
            r#"volume "c" (Projected): overlapping paths: "t/key" (PodCertificate key) with "t" (ConfigMap "m")"#,
            r#"volume "c" (Projected): overlapping paths: "t/key" (PodCertificate key) with "t" (ServiceAccountToken)"#,
        ]
    );
}

#[test]
fn ports_and_variables_that_hide_others() {
    let port = |name: &str, port: i64| value!({"name": name, "containerPort": port, "protocol": "TCP"});
    let vars = value!([
        {"name": "A", "value": "1"}, {"name": "A", "value": "$(A)"}, {"name": "A", "value": "$(A)2"},
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    ]);
    let spec = value!({
        "initContainers": [{"name": "i", "ports": (vec![port("p", 1)])}],
        "containers": [{"name": "c", "ports": (vec![port("p", 2), port("", 1)]), "env": vars}]
    });
    let hides = "hides previous definition of \"A\", which may be dropped when using apply";
    assert_eq!(
        warnings_of_pod(spec),
        [
            format!("spec.containers[0].env[1]: {hides}"),
            format!("spec.containers[0].env[3]: {hides}"),
            "spec.containers[0].ports[1]: duplicate port definition with spec.initContainers[0].ports[0]".to_owned(),
            "spec.containers[0].ports[0]: duplicate port name \"p\" with spec.initContainers[0].ports[0], services and \
             probes that select ports by name will use spec.initContainers[0].ports[0]"
                .to_owned(),
        ]
    );
}

#[test]
fn what_repeats_in_pairs_is_told_of_as_far_as_there_is_room() {
    const MANY: usize = 5_000;
    let ports = vec![value!({"containerPort": 80, "protocol": "TCP"}); MANY];
    let items = vec![value!({"key": "k", "path": "p"}); MANY];
    let containers = value!([{"name": "c", "ports": ports}]);
    let volumes = value!([{"name": "a", "configMap": {"name": "m", "items": items}}]);
    for spec in [value!({"containers": containers}), value!({"volumes": volumes})] {
        let reported = warnings_of_pod(spec).len();
        assert!((MOST..MOST + MANY).contains(&reported), "{reported}");
    }
}

#[test]
fn what_a_pod_prefers_of_nodes() {
    let terms = value!([{"weight": 1, "preference": {"matchExpressions": [
        {"key": "node-role.kubernetes.io/master", "operator": "In", "values": ["-1"]}
    ]}}]);
    let affinity = value!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}});
    let reported = warnings_of_pod(value!({"affinity": affinity}));
    let place = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference";
    assert_eq!(
        reported[0],
        format!(
            "{place}.matchExpressions[0].key: node-role.kubernetes.io/master is use \
             \"node-role.kubernetes.io/control-plane\" instead"
        )
    );
    assert!(
        reported[1]
            .starts_with(&format!("{place}.matchExpressions[0].values[0]: -1 is invalid, a valid label must be"))
    );
}

#[test]
fn addresses_in_the_status_of_a_pod() {
    let pod =
        value!({"metadata": {"name": "a"}, "status": {"podIPs": [{"ip": "01.1.1.1"}], "hostIPs": [{"ip": "::F"}]}});
    let reported = warned(Pod::schema(), &pod, Some(&pod), "status");
    assert!(reported[0].starts_with("status.podIPs[0].ip: non-standard"), "{reported:?}");
    assert!(reported[1].starts_with("status.hostIPs[0].ip: IPv6 address"), "{reported:?}");
}

#[test]
fn what_kinds_add() {
    let set = value!({"metadata": {"name": "a", "generation": 1}, "spec": {
        "revisionHistoryLimit": (-1),
        "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "500m"}}}}]
    }});
    let history =
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
    let fraction = "fractional byte value \"500m\" is invalid, must be an integer";
    let claim = |field: &str| format!("spec.volumeClaimTemplates[0]{field}.resources.requests[storage]: {fraction}");
    assert_eq!(warned(StatefulSet::schema(), &set, None, ""), [claim(""), history.to_owned()]);
    assert_eq!(warned(StatefulSet::schema(), &set, Some(&set), ""), [claim(".Spec"), history.to_owned()]);
    assert_eq!(warned(StatefulSet::schema(), &set, Some(&set), "status"), [""; 0]);

    // Amounts beyond 64 bits are whole, however they are written.
    for amount in ["1e19", "1e30", "1e40", "10E", "100E", "16Ei", "-1e30"] {
        let claim = value!({"spec": {"resources": {"requests": {"storage": (amount)}}}});
        let set = value!({"metadata": {"name": "a"}, "spec": {"volumeClaimTemplates": [(claim)]}});
        assert_eq!(warned(StatefulSet::schema(), &set, None, ""), [""; 0], "{amount}");
        let resources = value!({"requests": {"memory": (amount)}, "limits": {"memory": (amount)}});
        let pod = value!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}});
        assert_eq!(warned(Pod::schema(), &pod, None, ""), [""; 0], "{amount}");
    }

    let spec = value!({"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001});
    let many = ": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
                Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
    let job = value!({"metadata": {"name": "a"}, "spec": (spec.clone())});
    assert_eq!(warned(Job::schema(), &job, None, ""), [format!("spec{many}")]);
    let cron =
        value!({"metadata": {"name": "a"}, "spec": {"schedule": "TZ=UTC * * * * *", "jobTemplate": {"spec": spec}}});
    assert_eq!(warned(CronJob::schema(), &cron, None, ""), [format!("spec.jobTemplate.spec{many}")]);
    let zone = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
    assert_eq!(warned(CronJob::schema(), &cron, Some(&cron), ""), [zone]);
}

#[test]
fn quotas_accounts_and_policies() {
    let hard = value!({"cpu": "2", "limits.cpu": "1", "requests.memory": "1", "limits.memory": "1"});
    let quota = value!({"metadata": {"name": "a"}, "spec": {"hard": hard}});
    assert_eq!(
        warned(ResourceQuota::schema(), &quota, None, ""),
        ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]
    );
    assert_eq!(warned(ResourceQuota::schema(), &quota, Some(&quota), ""), [""; 0]);

    let plain = value!({"metadata": {"name": "a"}});
    let account = value!({"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "false"}}});
    let text = "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate \
                namespaces to isolate access to mounted secrets";
    for old in [None, Some(&plain)] {
        assert_eq!(warned(ServiceAccount::schema(), &account, old, ""), [text]);
    }
    assert_eq!(warned(ServiceAccount::schema(), &account, Some(&account), ""), [""; 0]);

    let policy = value!({"metadata": {"name": "a.static.k8s.io"}});
    let reported = warned(ValidatingAdmissionPolicy::schema(), &policy, Some(&policy), "");
    assert!(
        reported[0].starts_with("metadata.name: names ending with \".static.k8s.io\" are reserved"),
        "{reported:?}"
    );
    let on = GateSet::only([&gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG]);
    assert_eq!(warned_with(&on, ValidatingAdmissionPolicy::schema(), &policy, Some(&policy), ""), [""; 0]);
}

#[test]
fn old_labels_of_nodes_wherever_they_are_asked_for() {
    let text = "deprecated since v1.14; use \"kubernetes.io/os\" instead";
    let class =
        value!({"allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os", "values": ["a"]}]}]});
    let place = "allowedTopologies[0].matchLabelExpressions[0].key";
    assert_eq!(warned(StorageClass::schema(), &class, None, ""), [format!("{place}: {text}")]);
    let topology = value!({
        "matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}],
        "matchLabels": {"beta.kubernetes.io/os": "a"}
    });
    let capacity = value!({"nodeTopology": topology});
    assert_eq!(
        warned(CSIStorageCapacity::schema(), &capacity, None, ""),
        [
            format!("nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is {text}"),
            format!("nodeTopology.matchLabels.beta.kubernetes.io/os: {text}"),
        ]
    );
    let runtime = value!({"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "a"}}});
    assert_eq!(warned(RuntimeClass::schema(), &runtime, None, ""), [format!("scheduling.nodeSelector: {text}")]);
}
