//! The kinds that are known besides those of resources: those of subresources and options, and those of older versions.
//!
//! Only error messages depend on this: they differ for known and unknown kinds.

use pintle_endpoints::scheme::{KnownKinds, group_of};

/// Kinds that are not resources: those of subresources and options, and of versions that are not served any more.
const OTHERS: [(&str, &[&str]); 35] = [
    ("admission.k8s.io/v1", &["AdmissionReview"]),
    ("admission.k8s.io/v1beta1", &["AdmissionReview"]),
    ("admissionregistration.k8s.io/v1alpha1", &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]),
    ("admissionregistration.k8s.io/v1beta1", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]),
    ("apiextensions.k8s.io/v1", &["ConversionReview"]),
    ("apiextensions.k8s.io/v1beta1", &["ConversionReview", "CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1beta1", &["APIService"]),
    ("apps/v1beta1", &["ControllerRevision", "Deployment", "DeploymentRollback", "Scale", "StatefulSet"]),
    ("apps/v1beta2", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "Scale", "StatefulSet"]),
    ("authentication.k8s.io/v1", &["TokenRequest"]),
    ("authentication.k8s.io/v1alpha1", &["SelfSubjectReview"]),
    ("authentication.k8s.io/v1beta1", &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io/v1beta1",
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
    ),
    ("autoscaling/v1", &["Scale"]),
    ("batch/v1beta1", &["CronJob"]),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    (
        "extensions/v1beta1",
        &["DaemonSet", "Deployment", "DeploymentRollback", "Ingress", "NetworkPolicy", "ReplicaSet", "Scale"],
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta1", FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta2", FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io/v1beta3", FLOW_CONTROL),
    ("imagepolicy.k8s.io/v1alpha1", &["ImageReview"]),
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
    (
        "v1",
        &[
            "List",
            "NodeProxyOptions",
            "PodAttachOptions",
            "PodExecOptions",
            "PodLogOptions",
            "PodPortForwardOptions",
            "PodProxyOptions",
            "PodStatusResult",
            "RangeAllocation",
            "SerializedReference",
            "ServiceProxyOptions",
        ],
    ),
];

const FLOW_CONTROL: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const RBAC: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// The kinds that Kubernetes knows, and the groups that it moved some from.
pub struct KubernetesKinds;

/// Whether a version is known, even if no resource has it.
pub fn is_version(api_version: &str) -> bool {
    OTHERS.iter().any(|(version, _)| *version == api_version)
}

/// The same for a group.
pub fn is_group(name: &str) -> bool {
    OTHERS.iter().any(|(version, _)| group_of(version) == name)
}

impl KnownKinds for KubernetesKinds {
    fn is_known(&self, api_version: &str, kind: &str) -> bool {
        OTHERS.iter().any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
    }

    fn is_version(&self, api_version: &str) -> bool {
        is_version(api_version)
    }

    /// kube-apiserver consists of three servers, each of which has its own scheme.
    fn scheme(&self, group: &str) -> &'static str {
        match group {
            "apiextensions.k8s.io" => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:53",
            "apiregistration.k8s.io" => "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
            _ => "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30",
        }
    }

    fn home<'a>(&self, group: &'a str, kind: &str) -> &'a str {
        match (group, kind) {
            ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
            ("apps" | "extensions", "Scale") => "autoscaling",
            ("extensions", _) => "apps",
            ("events.k8s.io", _) => "",
            (group, _) => group,
        }
    }

    fn package<'a>(&self, group: &'a str) -> &'a str {
        match group {
            "" => "core",
            "internal.apiserver.k8s.io" => "apiserverinternal",
            group => group.split('.').next().unwrap_or(group),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_endpoints::scheme::Scheme;

    fn scheme() -> Scheme {
        Scheme::new(pintle_groups::resources(), Box::new(KubernetesKinds))
    }

    #[test]
    fn kinds_convert_between_versions_and_old_groups() {
        let rows = [
            ("extensions/v1beta1", "Deployment", "apps", true),
            ("apps/v1beta2", "Deployment", "apps", true),
            ("v1", "Event", "events.k8s.io", true),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "autoscaling", true),
            ("apps/v3", "Deployment", "apps", false),
            ("extensions/v1beta1", "Ingress", "apps", false),
            ("apps/v1beta2", "Scale", "autoscaling", true),
            ("authentication.k8s.io/v1alpha1", "SelfSubjectReview", "authentication.k8s.io", true),
            ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "apiextensions.k8s.io", true),
            ("apiregistration.k8s.io/v1beta1", "APIService", "apiregistration.k8s.io", true),
        ];
        for (version, kind, group, expected) in rows {
            assert_eq!(scheme().converts(version, kind, group, kind), expected, "{version} {kind}");
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
            assert_eq!(scheme().go_type(group, kind), expected);
        }
    }

    #[test]
    fn unknown_kinds_are_told_apart() {
        assert!(
            scheme()
                .mismatch_message("v1", "ConfigMapList", "", "ConfigMap")
                .starts_with("converting (v1.ConfigMapList) to (core.ConfigMap)")
        );
        assert!(
            scheme()
                .mismatch_message("v1", "configmap", "", "ConfigMap")
                .starts_with("no kind \"configmap\" is registered")
        );
        for (version, kind, short) in [("autoscaling/v1", "Scale", "v1"), ("autoscaling/v2", "WatchEvent", "v1")] {
            let expected = format!("converting ({short}.{kind}) to (core.ConfigMap): unknown conversion");
            assert_eq!(scheme().mismatch_message(version, kind, "", "ConfigMap"), expected);
        }
        assert!(
            scheme()
                .mismatch_message("none/v1", "DeleteOptions", "", "ConfigMap")
                .starts_with("no kind \"DeleteOptions\"")
        );
    }

    #[test]
    fn each_server_knows_its_own_kinds() {
        let definitions = ("apiextensions.k8s.io", "CustomResourceDefinition");
        let rows = [
            ("v1", "Pod", definitions, "no kind \"Pod\""),
            ("v1", "Status", definitions, "converting (v1.Status)"),
            ("v1", "DeleteOptions", definitions, "converting (v1.DeleteOptions)"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinitionList", definitions, "converting"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", ("", "Pod"), "no kind"),
            ("apiregistration.k8s.io/v1", "APIService", definitions, "no kind"),
        ];
        for (version, kind, (group, expected), start) in rows {
            let refused = scheme().mismatch_message(version, kind, group, expected);
            assert!(refused.starts_with(start), "{version} {kind}: {refused}");
        }
    }
}
