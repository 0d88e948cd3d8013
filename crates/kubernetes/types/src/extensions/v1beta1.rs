//! Types of `extensions/v1beta1`: early forms of workloads and network objects, kept for conversion.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, Time, same_as, string_type};

use crate::core::v1::{ConditionStatus, PodTemplateSpec, Protocol, TypedLocalObjectReference};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    crate::networking::v1beta1::{
        HTTPIngressRuleValue, IngressBackend, IngressLoadBalancerIngress, IngressRule, IngressSpec, IngressTLS,
        PathType
    }
}

same_as! {
    crate::networking::v1::{
        IngressLoadBalancerStatus, IngressPortStatus, IngressStatus, NetworkPolicyEgressRule,
        NetworkPolicyIngressRule
    }
}

same_as! {
    crate::apps::v1beta2::{
        DaemonSetStatus, DaemonSetUpdateStrategy, DaemonSetUpdateStrategyType, DeploymentStatus, DeploymentStrategy,
        DeploymentStrategyType, ReplicaSetStatus, RollingUpdateDaemonSet, RollingUpdateDeployment, ScaleSpec,
        ScaleStatus
    }
}

same_as! { crate::apps::v1beta1::{DeploymentSpec, RollbackConfig} }

same_as! {
    crate::apps::v1::{
        DaemonSetCondition, DeploymentCondition, DeploymentConditionType, ReplicaSetCondition,
        ReplicaSetConditionType
    }
}

/// Rules that route external HTTP traffic to services by host and path.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "extensions", plural = "ingresses", short_names("ing"), namespaced))]
pub struct Ingress {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted routing, backends and TLS setup.
    #[k8s(proto = 2, optional)]
    pub spec: IngressSpec,
    /// Addresses under which the ingress is currently reachable.
    #[k8s(proto = 3, optional)]
    pub status: IngressStatus,
}

/// Collection of ingresses.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Ingress objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Ingress>,
}

/// Protocol-specific part of an ingress rule.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IngressRuleValue {
    /// Path routing for HTTP requests.
    #[k8s(proto = 1)]
    pub http: Option<HTTPIngressRuleValue>,
}

/// A path and the backend that serves matching requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HTTPIngressPath {
    /// Request path to match; has to begin with a slash for most path types.
    #[k8s(proto = 1, optional)]
    pub path: String,
    /// Way the path is compared: Exact, Prefix or ImplementationSpecific.
    #[k8s(proto = 3)]
    pub path_type: Option<PathType>,
    /// Destination for requests with a matching path.
    #[k8s(proto = 2, always)]
    pub backend: IngressBackend,
}

/// Firewall rules stating which network traffic selected pods may send and receive.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "extensions", plural = "networkpolicies", short_names("netpol"), namespaced))]
#[k8s(reserved(proto = 3, name = "status"))]
pub struct NetworkPolicy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Pods covered by the policy and the traffic they may exchange.
    #[k8s(proto = 2, optional)]
    pub spec: NetworkPolicySpec,
}

string_type! {
    /// Traffic direction a network policy governs.
    pub PolicyType {
        /// Traffic arriving at the selected pods.
        INGRESS = "Ingress",
        /// Traffic leaving the selected pods.
        EGRESS = "Egress",
    }
}

/// Pod selection and allow rules of a network policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicySpec {
    /// Chooses the pods in this namespace to protect; empty means every pod.
    #[k8s(proto = 1, always)]
    pub pod_selector: LabelSelector,
    /// Allowed incoming traffic; empty blocks it all once Ingress is among the policy types.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub ingress: Vec<NetworkPolicyIngressRule>,
    /// Allowed outgoing traffic; empty blocks it all once Egress is among the policy types.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub egress: Vec<NetworkPolicyEgressRule>,
    /// Directions this policy restricts; derived from the rules present when omitted.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub policy_types: Vec<PolicyType>,
}

/// Port or port range that a rule opens.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyPort {
    /// Transport protocol to match: TCP, UDP or SCTP; TCP when unset.
    #[k8s(proto = 1, optional)]
    pub protocol: Option<Protocol>,
    /// Port number or named pod port; any port when unset.
    #[k8s(proto = 2, optional)]
    pub port: Option<IntOrString>,
    /// Last port of a range starting at a numeric port value.
    #[k8s(proto = 3, optional)]
    pub end_port: Option<i32>,
}

/// Address range, optionally with holes cut out of it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct IPBlock {
    /// Address range in CIDR notation, for example 10.1.0.0/16 or fd00::/64.
    #[k8s(proto = 1, published = required, always)]
    pub cidr: String,
    /// Smaller CIDRs inside the range that stay excluded.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub except: Vec<String>,
}

/// Communication partner given by pod and namespace labels or by addresses.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyPeer {
    /// Chooses partner pods by label, in this namespace unless namespaces are selected too.
    #[k8s(proto = 1, optional)]
    pub pod_selector: Option<LabelSelector>,
    /// Chooses partner namespaces by label; an empty selector takes every namespace.
    #[k8s(proto = 2, optional)]
    pub namespace_selector: Option<LabelSelector>,
    /// Chooses partners by address; excludes the use of both selectors.
    #[k8s(proto = 3, optional)]
    pub ip_block: Option<IPBlock>,
}

/// Collection of network policies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NetworkPolicyList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The NetworkPolicy objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<NetworkPolicy>,
}

/// Replica count of a workload, read and set through its scale subresource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted replica count.
    #[k8s(proto = 2, optional)]
    pub spec: ScaleSpec,
    /// Present replica count.
    #[k8s(proto = 3, optional)]
    pub status: ScaleStatus,
}

/// Keeps a number of identical pods running and moves them to new versions step by step.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "extensions", plural = "deployments", short_names("deploy"), categories("all"), namespaced))]
pub struct Deployment {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods and rollout behaviour.
    #[k8s(proto = 2, optional)]
    pub spec: DeploymentSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: DeploymentStatus,
}

/// Asks for a deployment to go back to an earlier revision.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentRollback {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Name of the deployment.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Annotations to write on the deployment.
    #[k8s(proto = 2, optional)]
    pub updated_annotations: BTreeMap<String, String>,
    /// Where to roll back to.
    #[k8s(proto = 3, always)]
    pub rollback_to: RollbackConfig,
}

/// A list of Deployments.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Deployment objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Deployment>,
}

/// Desired state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetSpec {
    /// Chooses the pods that belong to this DaemonSet; it must match the labels in the template and
    /// cannot be changed later.
    #[k8s(proto = 1, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for the pod placed on every node that its node selection and tolerations allow. Its
    /// restartPolicy has to be "Always".
    #[k8s(proto = 2, always)]
    pub template: PodTemplateSpec,
    /// How pods are replaced after a change to the template.
    #[k8s(proto = 3, optional)]
    pub update_strategy: DaemonSetUpdateStrategy,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional)]
    pub min_ready_seconds: i32,
    /// Sequence number of the pod template; grows by one with each change of it.
    #[k8s(proto = 5, optional)]
    pub template_generation: i64,
    /// Number of older revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional)]
    pub revision_history_limit: Option<i32>,
}

/// Type of a DaemonSet condition.
pub type DaemonSetConditionType = String;

/// Runs one copy of a pod on every node, or on every node that matches.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "extensions", plural = "daemonsets", short_names("ds"), categories("all"), namespaced))]
pub struct DaemonSet {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pod and update behaviour.
    #[k8s(proto = 2, optional)]
    pub spec: DaemonSetSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: DaemonSetStatus,
}

/// A list of DaemonSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The DaemonSet objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<DaemonSet>,
}

/// Keeps a number of identical pods running; usually created by a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "extensions", plural = "replicasets", short_names("rs"), categories("all"), namespaced))]
pub struct ReplicaSet {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods.
    #[k8s(proto = 2, optional)]
    pub spec: ReplicaSetSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: ReplicaSetStatus,
}

/// A list of ReplicaSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicaSetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ReplicaSet objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ReplicaSet>,
}

/// Desired state of a ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicaSetSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional)]
    pub min_ready_seconds: i32,
    /// Chooses the pods that belong to this ReplicaSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for pods that have to be added; changing it leaves existing pods alone.
    #[k8s(proto = 3, optional)]
    pub template: PodTemplateSpec,
}
