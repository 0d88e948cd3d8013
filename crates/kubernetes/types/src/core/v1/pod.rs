//! Types of `v1`: pods and pod templates.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::{PodConditionType, PodSpec, PodStatus};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// An additional condition a pod must meet to count as ready.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodReadinessGate {
    /// Type of the pod condition that has to be "True".
    #[k8s(proto = 1, always, format = "k8s-label-key")]
    pub condition_type: PodConditionType,
}

/// Makes a resource claim available to a pod, by naming either an existing claim or a template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 2, name = "source"))]
pub struct PodResourceClaim {
    /// Name by which containers refer to the claim; unique within the pod.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub name: String,
    /// Existing ResourceClaim in the same namespace; cannot be set together with
    /// resourceClaimTemplateName.
    #[k8s(proto = 3, format = "dns1123-subdomain")]
    pub resource_claim_name: Option<String>,
    /// ResourceClaimTemplate from which a claim is made for this pod alone and removed with it;
    /// cannot be set together with resourceClaimName.
    #[k8s(proto = 4, format = "dns1123-subdomain")]
    pub resource_claim_template_name: Option<String>,
}

string_type! {
    /// Operating system of a pod.
    pub OSName {
        /// Linux.
        LINUX = "linux",
        /// Windows.
        WINDOWS = "windows",
    }
}

/// Operating system that a pod's containers are made for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodOS {
    /// Name of the system: "linux" or "windows".
    #[k8s(proto = 1, always, required)]
    pub name: OSName,
}

/// Holds back scheduling of a pod until it is removed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSchedulingGate {
    /// Name of the gate, unique within the pod.
    #[k8s(proto = 1, always)]
    pub name: String,
}

/// The group of pods a pod is scheduled together with.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union)]
pub struct PodSchedulingGroup {
    /// PodGroup in the same namespace that the pod belongs to.
    #[k8s(
        proto = 1,
        published = optional,
        if_enabled(pintle_gates::GENERIC_WORKLOAD)(
            message(invalid = "must specify one of: `podGroupName`")(required),
            format = "dns1123-subdomain"
        )
    )]
    pub pod_group_name: Option<String>,
}

/// One address and its names for the hosts file of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HostAlias {
    /// IP address of the line.
    #[k8s(
        proto = 1,
        published = required,
        always,
        if_enabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "strict-legacy-ip"),
        if_disabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "legacy-ip")
    )]
    pub ip: String,
    /// Names that resolve to the address.
    #[k8s(proto = 2, list_type = atomic, each_val(format = "dns1123-subdomain"))]
    pub hostnames: Vec<String>,
}

/// DNS settings of a pod in addition to those from its policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDNSConfig {
    /// IP addresses of name servers, appended to the ones from the policy without repeats. At most
    /// 3.
    #[k8s(
        proto = 1,
        optional,
        list_type = atomic,
        each_val(
            if_enabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "strict-legacy-ip"),
            if_disabled(pintle_gates::STRICT_IP_CIDR_VALIDATION)(format = "legacy-ip")
        ),
        last(message(invalid = "must not have more than 3 nameservers")(max_items = 3))
    )]
    pub nameservers: Vec<String>,
    /// Search domains, appended to the ones from the policy without repeats.
    #[k8s(
        proto = 2,
        optional,
        list_type = atomic,
        last(message(invalid = "must not have more than 32 search paths")(max_items = 32))
    )]
    pub searches: Vec<String>,
    /// Resolver options, merged with the ones from the policy; an entry here replaces an option of
    /// the same name.
    #[k8s(
        proto = 3,
        optional,
        list_type = atomic,
        last(each_val(message(required = "must not be empty")(at_least_one("name"))))
    )]
    pub options: Vec<PodDNSConfigOption>,
}

/// One resolver option.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDNSConfigOption {
    /// Name of the option, such as "ndots"; required.
    #[k8s(proto = 1)]
    pub name: String,
    /// Value of the option; absent for options that are mere switches.
    #[k8s(proto = 2, optional)]
    pub value: Option<String>,
}

/// A group of containers run together on one node, sharing network and volumes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "pods", short_names("po"), categories("all"), namespaced))]
pub struct Pod {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired containers and placement.
    #[k8s(proto = 2, optional)]
    pub spec: PodSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: PodStatus,
}

/// A list of Pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Pod objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Pod>,
}

/// Metadata and desired state given to pods made from a template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    last(
        subfield(spec)(
            subfield(ephemeral_containers)(forbidden = "ephemeral containers not allowed in pod template")
        )
    )
)]
pub struct PodTemplateSpec {
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired state of each created pod.
    #[k8s(proto = 2, optional)]
    pub spec: PodSpec,
}

/// Stores a template for pods as an object of its own.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "podtemplates", namespaced))]
pub struct PodTemplate {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The metadata and desired state of pods to be made.
    #[k8s(proto = 2, optional)]
    pub template: PodTemplateSpec,
}

/// A list of PodTemplates.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodTemplateList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PodTemplate objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PodTemplate>,
}
