//! The kinds that bodies may name: those that are served, and those that older versions had.
//!
//! Only messages depend on this: a kind that is known is refused in other words than one that is not.

use pintle_kinds::resource::Resource;

/// Versions that are not served any more, with their kinds.
const RETIRED: [(&str, &[&str]); 24] = [
    ("admissionregistration.k8s.io/v1alpha1", &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]),
    (
        "admissionregistration.k8s.io/v1beta1",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apps/v1beta1", &["ControllerRevision", "Deployment", "StatefulSet"]),
    ("apps/v1beta2", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch/v1beta1", &["CronJob"]),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    ("extensions/v1beta1", &["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta2", FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta3", FLOW_CONTROL),
    ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass"]),
    ("node.k8s.io/v1alpha1", &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("policy/v1", &["Eviction"]),
    ("policy/v1beta1", &["Eviction", "PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io/v1alpha1", RBAC),
    ("rbac.authorization.k8s.io/v1beta1", RBAC),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    ("storage.k8s.io/v1alpha1", &["CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"]),
    ("storage.k8s.io/v1beta1", &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"]),
    ("v1", &["List", "Status"]),
];

const FLOW_CONTROL: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const RBAC: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// The resource of a kind, if one is served by some configuration.
pub fn resource(api_version: &str, kind: &str) -> Option<&'static Resource> {
    pintle_kinds::all().find(|resource| resource.kind == kind && resource.api_version() == api_version)
}

/// Whether a kind is known in an `apiVersion`, as itself or as its list.
fn knows(api_version: &str, kind: &str) -> bool {
    let retired = |kind: &str| RETIRED.iter().any(|(version, kinds)| *version == api_version && kinds.contains(&kind));
    [Some(kind), kind.strip_suffix("List")]
        .into_iter()
        .flatten()
        .any(|kind| resource(api_version, kind).is_some() || retired(kind))
}

/// The group that a kind belongs to wherever it is served.
fn home<'a>(group: &'a str, kind: &str) -> &'a str {
    match (group, kind) {
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        ("extensions", _) => "apps",
        ("events.k8s.io", _) => "",
        (group, _) => group,
    }
}

/// Whether an object of one version is one of the expected kind, but for its version.
pub fn converts(api_version: &str, kind: &str, expected_group: &str, expected_kind: &str) -> bool {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    kind == expected_kind && home(group, kind) == home(expected_group, kind) && knows(api_version, kind)
}

/// Why an object of a kind is not one of the expected kind.
pub fn refusal(api_version: &str, kind: &str, expected_group: &str, expected_kind: &str) -> String {
    if !knows(api_version, kind) {
        let scheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";
        return format!("no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"{scheme}\"");
    }
    let short = api_version.rsplit('/').next().unwrap_or("");
    format!("converting ({short}.{kind}) to ({}): unknown conversion", go_type(expected_group, expected_kind))
}

/// The type that the reference has for a kind of any version.
pub fn go_type(group: &str, kind: &str) -> String {
    let package = match home(group, kind) {
        "" => "core",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("{package}.{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_convert_between_versions_and_old_groups() {
        let rows = [
            ("extensions/v1beta1", "Deployment", "apps", true),
            ("apps/v1beta2", "Deployment", "apps", true),
            ("v1", "Event", "events.k8s.io", true),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "autoscaling", true),
            ("apps/v3", "Deployment", "apps", false),
            ("extensions/v1beta1", "Ingress", "apps", false),
        ];
        for (version, kind, group, expected) in rows {
            assert_eq!(converts(version, kind, group, kind), expected, "{version} {kind}");
        }
    }

    #[test]
    fn types_are_those_of_a_kinds_home() {
        let rows = [
            ("", "Pod", "core.Pod"),
            ("events.k8s.io", "Event", "core.Event"),
            ("rbac.authorization.k8s.io", "Role", "rbac.Role"),
            ("internal.apiserver.k8s.io", "StorageVersion", "apiserverinternal.StorageVersion"),
        ];
        for (group, kind, expected) in rows {
            assert_eq!(go_type(group, kind), expected);
        }
    }

    #[test]
    fn unknown_kinds_are_told_apart() {
        assert!(
            refusal("v1", "ConfigMapList", "", "ConfigMap")
                .starts_with("converting (v1.ConfigMapList) to (core.ConfigMap)")
        );
        assert!(refusal("v1", "configmap", "", "ConfigMap").starts_with("no kind \"configmap\" is registered"));
    }
}
