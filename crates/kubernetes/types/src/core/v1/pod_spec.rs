//! Types of `v1`: what a pod is to run, where and with which rights.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, string_type};

use super::{
    Affinity, Container, EphemeralContainer, HostAlias, LocalObjectReference, PodDNSConfig, PodOS, PodReadinessGate,
    PodResourceClaim, PodSchedulingGate, PodSchedulingGroup, PodSecurityContext, ResourceList, ResourceRequirements,
    Toleration, TopologySpreadConstraint, Volume,
};

string_type! {
    /// Whether pods may displace pods of lower priority.
    #[closed]
    pub PreemptionPolicy {
        /// Evict lower-priority pods if that makes room.
        PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority",
        /// Wait in the queue, ahead of lower priorities, without evicting anything.
        NEVER = "Never",
    }
}

string_type! {
    /// When the containers of a pod are started again after they end.
    #[closed]
    pub RestartPolicy {
        /// After every exit.
        ALWAYS = "Always",
        /// Only after an exit code other than 0.
        ON_FAILURE = "OnFailure",
        /// Not at all.
        NEVER = "Never",
    }
}

string_type! {
    /// Which name servers the containers of a pod use.
    #[closed]
    pub DNSPolicy {
        /// Cluster DNS even when the pod uses the node's network.
        CLUSTER_FIRST_WITH_HOST_NET = "ClusterFirstWithHostNet",
        /// Cluster DNS, except that pods on the node's network behave as with Default.
        CLUSTER_FIRST = "ClusterFirst",
        /// The resolver settings of the node.
        DEFAULT = "Default",
        /// Nothing but what dnsConfig says.
        NONE = "None",
    }
}

/// Desired state of a pod: what to run, where and with which rights.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 42, name = "workloadRef"))]
pub struct PodSpec {
    /// Volumes that containers of the pod may mount.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name"
    )]
    pub volumes: Vec<Volume>,
    /// Containers run one after another, each to success, before the regular containers start.
    /// Those with restartPolicy "Always" keep running as sidecars.
    #[k8s(
        proto = 20,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub init_containers: Vec<Container>,
    /// Regular containers of the pod; there must be at least one, and the list is fixed after
    /// creation.
    #[k8s(
        proto = 2,
        always,
        required,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub containers: Vec<Container>,
    /// Temporary containers for debugging a running pod; they are added only through the
    /// ephemeralcontainers subresource and never removed.
    #[k8s(
        proto = 34,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub ephemeral_containers: Vec<EphemeralContainer>,
    /// When containers are restarted after they end: "Always" (the default), "OnFailure" or
    /// "Never".
    #[k8s(proto = 3, published = optional, default = "Always", required, enum("Always", "OnFailure", "Never"))]
    pub restart_policy: RestartPolicy,
    /// Seconds the processes get to stop between the termination signal and being killed; defaults
    /// to 30, and 0 kills at once.
    #[k8s(proto = 4, optional, default = 30)]
    pub termination_grace_period_seconds: Option<i64>,
    /// Seconds after its start at which the pod is stopped and marked as failed; absent means no
    /// limit. Must be positive.
    #[k8s(proto = 5, optional, format = "positive-int32")]
    pub active_deadline_seconds: Option<i64>,
    /// How name lookup is set up: "ClusterFirst" (the default), "ClusterFirstWithHostNet",
    /// "Default" or "None".
    #[k8s(
        proto = 6,
        published = optional,
        default = "ClusterFirst",
        required,
        enum("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    )]
    pub dns_policy: DNSPolicy,
    /// Labels a node must carry, all with these values, for the pod to be placed on it.
    #[k8s(proto = 7, optional, map_type = atomic, labels)]
    pub node_selector: BTreeMap<String, String>,
    /// ServiceAccount under which the pod acts; "default" is filled in when absent.
    #[k8s(proto = 8, optional, format = "dns1123-subdomain")]
    pub service_account_name: String,
    /// Older name of serviceAccountName, kept for compatibility and always equal to it.
    #[k8s(proto = 9, optional)]
    pub service_account: String,
    /// Whether the service account's token is mounted into the containers; absent follows the
    /// ServiceAccount, which mounts it by default.
    #[k8s(proto = 21, optional)]
    pub automount_service_account_token: Option<bool>,
    /// Node the pod has been assigned to; empty until a scheduler picks one. Setting it yourself
    /// skips scheduling.
    #[k8s(proto = 10, optional, format = "dns1123-subdomain")]
    pub node_name: String,
    /// When true, the pod uses the network of its node, and container ports have to be free there.
    #[k8s(proto = 11, optional)]
    pub host_network: bool,
    /// When true, containers see the processes of the node; not allowed with shareProcessNamespace.
    #[k8s(proto = 12, name = "hostPID", optional)]
    pub host_pid: bool,
    /// When true, containers share the interprocess communication namespace of the node.
    #[k8s(proto = 13, name = "hostIPC", optional)]
    pub host_ipc: bool,
    /// When true, all containers of the pod see each other's processes; not allowed with hostPID.
    /// Defaults to false.
    #[k8s(proto = 27, optional)]
    pub share_process_namespace: Option<bool>,
    /// Security settings for the pod as a whole, which containers can partly override.
    #[k8s(proto = 14, optional, default = {})]
    pub security_context: Option<PodSecurityContext>,
    /// Secrets in the same namespace holding credentials for pulling the pod's images.
    #[k8s(
        proto = 15,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Host name inside the pod; absent uses the pod's name.
    #[k8s(proto = 16, optional, format = "dns1123-label")]
    pub hostname: String,
    /// When set, the pod's fully qualified name becomes
    /// `"<hostname>``.<subdomain>``.<namespace>.svc``.<cluster domain>"`. It usually names a
    /// headless service.
    #[k8s(proto = 17, optional, format = "dns1123-label")]
    pub subdomain: String,
    /// Rules and preferences that attract the pod to, or keep it away from, nodes and other pods.
    #[k8s(proto = 18, optional)]
    pub affinity: Option<Affinity>,
    /// Scheduler that places the pod; "default-scheduler" is filled in when absent.
    #[k8s(proto = 19, optional, default = "default-scheduler")]
    pub scheduler_name: String,
    /// Node taints this pod puts up with.
    #[k8s(proto = 22, optional, list_type = atomic)]
    pub tolerations: Vec<Toleration>,
    /// Additional lines for the pod's hosts file.
    #[k8s(proto = 23, optional, list_type = map, list_map_keys("ip"), patch_strategy = "merge", patch_merge_key = "ip")]
    pub host_aliases: Vec<HostAlias>,
    /// PriorityClass that gives the pod its priority; absent uses the cluster's default class, or
    /// priority 0 if there is none.
    #[k8s(proto = 24, optional, format = "dns1123-subdomain")]
    pub priority_class_name: String,
    /// Numeric priority, worked out by the server from priorityClassName; higher is more important.
    #[k8s(proto = 25, optional)]
    pub priority: Option<i32>,
    /// DNS settings added to those that dnsPolicy produces.
    #[k8s(proto = 26, optional)]
    pub dns_config: Option<PodDNSConfig>,
    /// Conditions that must be "True", besides all containers being ready, for the pod to count as
    /// ready.
    #[k8s(proto = 28, optional, list_type = atomic)]
    pub readiness_gates: Vec<PodReadinessGate>,
    /// RuntimeClass that decides how the pod's containers are run; absent uses the default runtime.
    #[k8s(proto = 29, optional, format = "dns1123-subdomain")]
    pub runtime_class_name: Option<String>,
    /// Whether environment variables describing the services of the namespace are added; defaults
    /// to true.
    #[k8s(proto = 30, optional)]
    pub enable_service_links: Option<bool>,
    /// Whether this pod may push out less important ones: "PreemptLowerPriority" (the default) or
    /// "Never".
    #[k8s(proto = 31, optional, first(message(required = "")(neq = "")), enum("PreemptLowerPriority", "Never"))]
    pub preemption_policy: Option<PreemptionPolicy>,
    /// Resources the pod takes in addition to its containers, filled in by the server from the
    /// RuntimeClass.
    #[k8s(proto = 32, optional)]
    pub overhead: ResourceList,
    /// Rules for distributing matching pods over zones, nodes or other parts of the cluster; all of
    /// them apply.
    #[k8s(
        proto = 33,
        optional,
        list_type = map,
        list_map_keys("topologyKey", "whenUnsatisfiable"),
        patch_strategy = "merge",
        patch_merge_key = "topologyKey"
    )]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// When true, the host name reported inside the pod is the fully qualified one; defaults to
    /// false.
    #[k8s(proto = 35, name = "setHostnameAsFQDN", optional)]
    pub set_hostname_as_fqdn: Option<bool>,
    /// Operating system the containers are made for; some fields are refused for the wrong system.
    #[k8s(proto = 36, optional)]
    pub os: Option<PodOS>,
    /// False runs the pod in a user namespace of its own, so that root inside is not root on the
    /// node. Absent or true shares the node's.
    #[k8s(proto = 37, optional, gate = pintle_gates::USER_NAMESPACES_SUPPORT)]
    pub host_users: Option<bool>,
    /// Gates that hold back scheduling while any remains; they may be set only at creation and
    /// later only be removed.
    #[k8s(
        proto = 38,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        last(distinct_items(name))
    )]
    pub scheduling_gates: Vec<PodSchedulingGate>,
    /// Claims on devices that must be allocated before the pod starts; containers refer to them by
    /// name.
    #[k8s(
        proto = 39,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name",
        gate = pintle_gates::DYNAMIC_RESOURCE_ALLOCATION,
        distinct(name)
    )]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Requests and limits for the pod as a whole, shared by its containers.
    #[k8s(
        proto = 40,
        optional,
        gate = pintle_gates::POD_LEVEL_RESOURCES,
        subfield(claims)(forbidden = "claims may not be set for Resources at pod-level")
    )]
    pub resources: Option<ResourceRequirements>,
    /// Replaces the host name inside the pod and takes the pod out of hostname and subdomain DNS
    /// handling; at most 64 characters. Not allowed with hostNetwork or setHostnameAsFQDN.
    #[k8s(proto = 41, optional, gate = pintle_gates::HOSTNAME_OVERRIDE)]
    pub hostname_override: Option<String>,
    /// Group the pod is scheduled with; absent schedules it on its own.
    #[k8s(proto = 43, optional, gate = pintle_gates::GENERIC_WORKLOAD)]
    pub scheduling_group: Option<PodSchedulingGroup>,
}
