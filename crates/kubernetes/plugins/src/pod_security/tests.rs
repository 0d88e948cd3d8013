//! Tests of policies in labels, and of the messages of every check.

use super::checks::violations;
use super::policy::{Level, Policies, Policy, Version};
use super::subject::Subject;
use super::{PODS_TO_CHECK, PodSecurity, details, is_significant};
use crate::configuration::Configuration;
use crate::testing::Cluster;
use pintle_schema::{Value, value};
use pintle_types::config_podsecurity::v1::{PodSecurityConfiguration, PodSecurityDefaults, PodSecurityExemptions};

fn policies(labels: &[(&str, &str)]) -> (Policies, bool) {
    let find = |label: &str| {
        let label = label.strip_prefix("pod-security.kubernetes.io/").unwrap_or(label);
        labels.iter().find(|(key, _)| *key == label).map(|(_, value)| (*value).to_owned())
    };
    let (policies, errors) = Policies::from_labels(&find, &Policies::default());
    (policies, errors.is_empty())
}

#[test]
fn labels() {
    type Labels = &'static [(&'static str, &'static str)];
    let rows: [(Labels, &str, &str, bool); 7] = [
        (&[], "privileged:latest", "privileged:latest", true),
        (&[("enforce", "baseline")], "baseline:latest", "baseline:latest", true),
        (
            &[("enforce", "baseline"), ("enforce-version", "v1.24"), ("warn", "restricted")],
            "baseline:v1.24",
            "restricted:latest",
            true,
        ),
        (&[("enforce", "restricted"), ("enforce-version", "v1.30")], "restricted:v1.30", "restricted:v1.30", true),
        (&[("enforce", "restricted"), ("warn", "baseline")], "restricted:latest", "baseline:latest", true),
        (&[("enforce", "extreme")], "restricted:latest", "privileged:latest", false),
        (&[("warn", "extreme"), ("warn-version", "v1.08")], "privileged:latest", "privileged:latest", false),
    ];
    for (labels, enforce, warn, valid) in rows {
        let (policies, readable) = policies(labels);
        assert_eq!(
            (policies.enforce.to_string(), policies.warn.to_string(), readable),
            (enforce.to_owned(), warn.to_owned(), valid)
        );
    }
}

#[tokio::test]
async fn defaults_and_exemptions() {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let configured = |users: &[&str], namespaces: &[&str], classes: &[&str]| {
        let text = ToOwned::to_owned;
        let [enforce, audit, warn] = ["baseline", "privileged", "privileged"].map(text);
        let configuration = PodSecurityConfiguration {
            defaults: PodSecurityDefaults { enforce, audit, warn, ..PodSecurityDefaults::default() },
            exemptions: PodSecurityExemptions {
                usernames: list(users),
                namespaces: list(namespaces),
                runtime_classes: list(classes),
            },
            ..PodSecurityConfiguration::default()
        };
        let pod_security = PodSecurity::new(configuration).expect("a configuration");
        Cluster::configured(&[], Configuration { pod_security, ..Configuration::default() })
    };
    let validated = async |cluster: Cluster, labels: Value, class: &str| {
        let cluster = cluster.with_account("default").await;
        let class_object = value!({"metadata": {"name": "vm"}, "handler": "vm"});
        cluster.store("node.k8s.io", "runtimeclasses", class_object).await;
        cluster.store("", "namespaces", value!({"metadata": {"name": "ns", "labels": labels}})).await;
        let mut pod = pod(value!({"hostNetwork": true}));
        if !class.is_empty() {
            pod.set_at(&["spec", "runtimeClassName"], Value::from(class));
        }
        cluster.create("", "pods", pod).await.err().map(|status| status.message)
    };
    let refused = Some(
        "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)"
            .to_owned(),
    );
    assert_eq!(validated(configured(&[], &[], &[]), value!({}), "").await, refused);
    assert_eq!(validated(configured(&["bob"], &["other"], &["vm"]), value!({}), "").await, refused);
    let open = value!({"pod-security.kubernetes.io/enforce": "privileged"});
    assert_eq!(validated(configured(&[], &[], &[]), open, "").await, None);
    assert_eq!(validated(configured(&["alice"], &[], &[]), value!({}), "").await, None);
    assert_eq!(validated(configured(&[], &["ns"], &[]), value!({}), "").await, None);
    assert_eq!(validated(configured(&[], &[], &["vm"]), value!({}), "vm").await, None);
}

fn pod(spec: Value) -> Value {
    let mut pod = value!({"metadata": {"name": "p"}, "spec": spec});
    if pod.at(&["spec", "containers"]).is_none() {
        pod.set_at(&["spec", "containers"], value!([{"name": "c", "image": "i"}]));
    }
    pod
}

const LATEST: u32 = u32::MAX;

fn validated(level: Level, minor: u32, pod: &Value) -> String {
    details(&violations(Policy { level, version: Version(minor) }, &Subject::of_pod(pod)))
}

const HARDENED: &str = "allowPrivilegeEscalation";

/// A container that passes the restricted level, except for the given field.
fn hardened(name: &str, field: &str, value: Value) -> Value {
    let mut container = value!({"name": name, "image": "i", "securityContext": {
        "allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}
    }});
    container.set_at(&["securityContext", field], value);
    container
}

#[test]
fn annotations_of_seccomp_count_before_there_were_fields() {
    type Annotations<'a> = &'a [(&'a str, &'a str)];
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/c";
    const OTHER: &str = "container.seccomp.security.alpha.kubernetes.io/other";
    let annotated = |annotations: Annotations<'_>| {
        let mut pod = pod(value!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}));
        annotations.iter().for_each(|(key, value)| pod.set_at(&["metadata", "annotations", key], *value));
        pod
    };
    let of_pod = format!("seccompProfile (forbidden annotation {POD}=\"unconfined\")");
    let both = format!("seccompProfile (forbidden annotations {CONTAINER}=\"\", {POD}=\"unconfined\")");
    let field = "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")";
    let rows: [(Annotations<'_>, u32, &str); 8] = [
        (&[], 0, ""),
        (&[(POD, "runtime/default"), (CONTAINER, "docker/default")], 18, ""),
        (&[(POD, "localhost/p"), (OTHER, "unconfined")], 18, ""),
        (&[(POD, "unconfined")], 0, &of_pod),
        (&[(POD, "unconfined")], 18, &of_pod),
        (&[(POD, "unconfined"), (CONTAINER, "")], 8, &both),
        (&[(POD, "unconfined")], 19, field),
        (&[(POD, "unconfined")], LATEST, field),
    ];
    for (annotations, minor, expected) in rows {
        assert_eq!(validated(Level::Baseline, minor, &annotated(annotations)), expected, "{annotations:?} {minor}");
    }
    let restricted = validated(Level::Restricted, 18, &annotated(&[(POD, "unconfined")]));
    assert!(restricted.contains(&of_pod), "{restricted}");
}

#[test]
fn violations_of_the_baseline_level() {
    let container = |context: Value| value!({"containers": [{"name": "c", "securityContext": context}]});
    let rows = [
        (value!({}), 36, ""),
        (value!({"hostNetwork": true, "hostIPC": true}), 36, "host namespaces (hostNetwork=true, hostIPC=true)"),
        (
            value!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "hostPath": {"path": "/"}}]}),
            36,
            "hostPath volumes (volumes \"a\", \"b\")",
        ),
        (
            value!({"containers": [
                {"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]},
                {"name": "d", "ports": [{"containerPort": 8, "hostPort": 8}]}
            ]}),
            36,
            "hostPort (containers \"c\", \"d\" use hostPorts 8, 80)",
        ),
        (
            container(value!({"capabilities": {"add": ["SYS_TIME", "CHOWN", "NET_ADMIN"]}})),
            36,
            "non-default capabilities (container \"c\" must not include \"NET_ADMIN\", \"SYS_TIME\" in \
             securityContext.capabilities.add)",
        ),
        (
            value!({"securityContext": {"seLinuxOptions": {"type": "container_engine_t", "role": "r"}}}),
            36,
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: role may not be set)",
        ),
        (
            value!({"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}}),
            30,
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"container_engine_t\")",
        ),
        (
            value!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}, {"name": "kernel.msgmax"}]}}),
            36,
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            value!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}),
            31,
            "forbidden sysctls (net.ipv4.tcp_rmem)",
        ),
        (
            container(value!({"seccompProfile": {"type": "Unconfined"}})),
            36,
            "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (container(value!({"seccompProfile": {"type": "Unconfined"}})), 18, ""),
        (
            container(value!({"procMount": "Unmasked"})),
            36,
            "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")",
        ),
        (
            value!({"hostUsers": false, "containers": [{"name": "c", "securityContext": {"procMount": "Unmasked"}}]}),
            36,
            "",
        ),
        (
            value!({"securityContext": {"windowsOptions": {"hostProcess": true}}}),
            36,
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            value!({"containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": 1, "host": "h"}}}]}),
            36,
            "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"h\")",
        ),
        (value!({"containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": 1, "host": "h"}}}]}), 33, ""),
        (
            value!({"ephemeralContainers": [{"name": "e", "securityContext": {"privileged": true}}]}),
            36,
            "privileged (container \"e\" must not set securityContext.privileged=true)",
        ),
    ];
    for (spec, minor, expected) in rows {
        assert_eq!(validated(Level::Baseline, minor, &pod(spec.clone())), expected, "{spec:?}");
        assert_eq!(validated(Level::Privileged, minor, &pod(spec)), "");
    }
}

#[test]
fn annotations_of_app_armor_count() {
    let mut pod = pod(value!({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}));
    let key = "container.apparmor.security.beta.kubernetes.io/c";
    pod.set_at(&["metadata", "annotations", key], "unconfined");
    let expected = format!(
        "forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to \"Unconfined\", \
         \"{key}=\"unconfined\"\")"
    );
    assert_eq!(validated(Level::Baseline, 36, &pod), expected);
}

#[test]
fn requirements_of_the_restricted_level() {
    let only = |field: &str, value: Value| value!({"containers": [(hardened("c", field, value))]});
    let rows = [
        (only(HARDENED, Value::Bool(false)), 36, ""),
        (
            value!({}),
            36,
            "allowPrivilegeEscalation != false (container \"c\" must set \
             securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"c\" must set \
             securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"c\" must set \
             securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set \
             securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
        ),
        (value!({}), 7, "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)"),
        (
            value!({"os": {"name": "windows"}}),
            36,
            "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)",
        ),
        (
            only("capabilities", value!({"drop": ["NET_RAW"], "add": ["NET_BIND_SERVICE", "CHOWN"]})),
            36,
            "unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]; \
             container \"c\" must not include \"CHOWN\" in securityContext.capabilities.add)",
        ),
        (
            only("runAsNonRoot", Value::Bool(false)),
            36,
            "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false)",
        ),
        (only("runAsUser", Value::Int(0)), 36, "runAsUser=0 (container \"c\" must not set runAsUser=0)"),
        (only("runAsUser", Value::Int(0)), 22, ""),
        (
            only("seccompProfile", value!({"type": "Unconfined"})),
            36,
            "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            value!({
                "containers": [(hardened("c", HARDENED, Value::Bool(false)))],
                "volumes": [{"name": "n", "nfs": {}}, {"name": "e", "emptyDir": {}}, {"name": "i", "iscsi": {}}]
            }),
            36,
            "restricted volume types (volumes \"n\", \"i\" use restricted volume types \"iscsi\", \"nfs\")",
        ),
        // The check of volumes replaces the one of the baseline level, and so does that of `procMount`.
        (
            value!({
                "containers": [(hardened("c", HARDENED, Value::Bool(false)))],
                "volumes": [{"name": "h", "hostPath": {"path": "/"}}]
            }),
            36,
            "restricted volume types (volume \"h\" uses restricted volume type \"hostPath\")",
        ),
        (
            only("procMount", value!("Unmasked")),
            36,
            "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")",
        ),
        // Violations of the baseline level come first.
        (
            value!({"hostPID": true, "containers": [(hardened("c", HARDENED, Value::Bool(true)))]}),
            LATEST,
            "host namespaces (hostPID=true), allowPrivilegeEscalation != false (container \"c\" must set \
             securityContext.allowPrivilegeEscalation=false)",
        ),
    ];
    for (spec, minor, expected) in rows {
        assert_eq!(validated(Level::Restricted, minor, &pod(spec.clone())), expected, "{spec:?}");
    }
}

#[test]
fn only_what_the_standards_look_at_is_a_change() {
    let old = pod(value!({}));
    let with = |path: &[&'static str], value: Value| {
        let mut new = old.clone();
        new.set_at(path, value);
        new
    };
    let image = value!([{"name": "c", "image": "j"}]);
    let rows = [
        (with(&["metadata", "labels"], value!({"a": "b"})), false),
        (with(&["spec", "activeDeadlineSeconds"], Value::Int(1)), false),
        (with(&["spec", "containers"], image), true),
        (with(&["spec", "ephemeralContainers"], value!([{"name": "e", "image": "i"}])), true),
        (with(&["metadata", "annotations"], value!({"seccomp.security.alpha.kubernetes.io/pod": "x"})), true),
    ];
    for (new, expected) in rows {
        assert_eq!(is_significant(&new, &old), expected, "{new:?}");
    }
}

#[tokio::test]
async fn changed_labels_of_namespaces_are_validated() {
    let cluster = Cluster::new();
    let namespace = |label: &str, value: &str| {
        let mut namespace = value!({"metadata": {"name": "n"}});
        namespace.set_at(&["metadata", "labels"], Value::map());
        if let Some(labels) = namespace.at_mut(&["metadata", "labels"]) {
            labels.make_map().set(format!("pod-security.kubernetes.io/{label}"), value);
        }
        namespace
    };
    let (good, bad) = (namespace("enforce", "baseline"), namespace("enforce", "extreme"));
    assert!(cluster.create("", "namespaces", good.clone()).await.is_ok());
    let refusal = cluster.create("", "namespaces", bad.clone()).await.expect_err("refused");
    let field = "metadata.labels[pod-security.kubernetes.io/enforce]";
    let why = "Invalid value: \"extreme\": must be one of privileged, baseline, restricted";
    assert_eq!((refusal.code, refusal.message), (422, format!("Namespace \"n\" is invalid: {field}: {why}")));
    for (old, new, admitted) in [
        (&good, &bad, false),
        (&bad, &bad, true),
        (&bad, &good, true),
        (&bad, &namespace("warn-version", "1.30"), false),
    ] {
        let outcome = cluster.update(("", "namespaces", ""), old, new.clone(), "alice");
        assert_eq!(outcome.is_ok(), admitted, "{new:?}");
    }
}

#[tokio::test]
async fn standards_after_the_emulated_version_are_not_applied() {
    let probing = value!({"containers": [{
        "name": "c", "image": "i", "livenessProbe": {"tcpSocket": {"host": "example.com", "port": 80}}
    }]});
    for (emulated_minor, selected, is_admitted) in
        [(None, "latest", false), (Some(36), "latest", false), (Some(33), "latest", true), (Some(33), "v1.36", true)]
    {
        let pod_security = PodSecurity { emulated_minor, ..PodSecurity::default() };
        let configuration = Configuration { pod_security, ..Configuration::default() };
        let cluster = Cluster::configured(&[], configuration).with_account("default").await;
        let labels = value!({
            "pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": (selected)
        });
        cluster.store("", "namespaces", value!({"metadata": {"name": "ns", "labels": labels}})).await;
        let outcome = cluster.create("", "pods", pod(probing.clone())).await;
        assert_eq!(outcome.is_ok(), is_admitted, "{emulated_minor:?} {selected}");
    }
}

#[tokio::test]
async fn a_namespace_keeps_pods_out() {
    let cluster = Cluster::new().with_account("default").await;
    let labels = value!({"pod-security.kubernetes.io/enforce": "baseline"});
    cluster.store("", "namespaces", value!({"metadata": {"name": "ns", "labels": labels}})).await;
    let bad = value!({"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": true}}]});
    let refusal = cluster.create("", "pods", pod(bad.clone())).await.expect_err("refused");
    let why = "privileged (container \"c\" must not set securityContext.privileged=true)";
    assert_eq!(refusal.message, format!("pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": {why}"));
    assert!(cluster.create("", "pods", pod(value!({}))).await.is_ok());
    // Those that make pods are only warned.
    let set = value!({"metadata": {"name": "r"}, "spec": {"template": {"spec": (bad.clone())}}});
    assert!(cluster.create("apps", "replicasets", set).await.is_ok());
    let mut old = pod(bad);
    old.set_at(&["metadata", "labels"], value!({"a": "b"}));
    let mut new = old.clone();
    new.set_at(&["metadata", "labels"], value!({"a": "c"}));
    assert!(cluster.update(("", "pods", ""), &old, new, "alice").is_ok());
}

#[tokio::test]
async fn a_namespace_that_gets_stricter_names_the_first_pods_that_fail() {
    let cluster = Cluster::new();
    let named = |name: String, spec: Value| {
        let mut pod = pod(spec);
        pod.set_at(&["metadata", "name"], name);
        cluster.store("", "pods", pod)
    };
    let namespace = |level: &str| {
        let labels = value!({"pod-security.kubernetes.io/enforce": level});
        value!({"metadata": {"name": "ns", "labels": labels}})
    };
    let (open, strict) = (namespace("privileged"), namespace("baseline"));
    let stricter = || cluster.warnings("", "namespaces", &open, strict.clone()).expect("admitted");
    assert_eq!(stricter(), [""; 0]);
    named("a".to_owned(), value!({"hostPID": true})).await;
    named("b".to_owned(), value!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]})).await;
    named("c".to_owned(), value!({"hostIPC": true})).await;
    let fail = [
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"",
        "a (and 1 other pod): host namespaces",
        "b: hostPath volumes",
    ];
    assert_eq!(stricter(), fail);
    assert_eq!(cluster.warnings("", "namespaces", &strict, strict.clone()).expect("admitted"), [""; 0]);
    for index in 3..PODS_TO_CHECK {
        named(format!("p{index}"), value!({})).await;
    }
    assert_eq!(stricter(), fail);
    named("z".to_owned(), value!({"hostIPC": true})).await;
    let checked = "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods";
    assert_eq!(stricter(), [checked, fail[0], fail[1], fail[2]]);
}
