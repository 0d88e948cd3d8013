//! Types of `v1`: containers and what they ask for.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::{EnvFromSource, EnvVar, Lifecycle, Probe, Protocol, ResourceList, ResourceName, SecurityContext};

/// A network port on which a container listens.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerPort {
    /// Name by which services can refer to the port, at most 15 characters; unique within the pod.
    #[k8s(proto = 1, optional, format = "port-name")]
    pub name: String,
    /// Port of the node to forward to the container, 1 to 65535. Absent means none; with host
    /// networking it equals containerPort.
    #[k8s(proto = 2, optional, format = "port")]
    pub host_port: i32,
    /// Port number inside the pod's network, 1 to 65535.
    #[k8s(proto = 3, always, required, format = "port")]
    pub container_port: i32,
    /// Transport protocol, TCP, UDP or SCTP; defaults to TCP.
    #[k8s(proto = 4, optional, enum, default = "TCP", published = default)]
    pub protocol: Protocol,
    /// Node address on which the host port is opened; absent means all addresses.
    #[k8s(proto = 5, name = "hostIP", optional)]
    pub host_ip: String,
}

/// Makes one of the pod's volumes visible inside a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeMount {
    /// Name of the pod volume to mount.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// When true, the container cannot write to the volume; absent means false.
    #[k8s(proto = 2, optional)]
    pub read_only: bool,
    /// Whether mounts nested below a read-only mount become read-only too: Disabled, IfPossible or
    /// Enabled. Absent means Disabled.
    #[k8s(proto = 7, optional)]
    pub recursive_read_only: Option<RecursiveReadOnlyMode>,
    /// Path inside the container at which the volume appears; it must not contain a colon.
    #[k8s(proto = 3, always)]
    pub mount_path: String,
    /// Path within the volume to mount in place of its root; absent means the root.
    #[k8s(proto = 4, optional)]
    pub sub_path: String,
    /// Whether mounts made later are carried over between node and container; absent means None.
    #[k8s(proto = 5, optional)]
    pub mount_propagation: Option<MountPropagationMode>,
    /// Like subPath, but with $(NAME) references replaced by the container's environment variables;
    /// excludes subPath.
    #[k8s(proto = 6, optional)]
    pub sub_path_expr: String,
}

string_type! {
    /// Direction in which mounts made later become visible.
    #[closed]
    pub MountPropagationMode {
        /// Neither side sees new mounts of the other.
        NONE = "None",
        /// The container sees new mounts made by the node.
        HOST_TO_CONTAINER = "HostToContainer",
        /// Both sides see each other's new mounts; only for privileged containers.
        BIDIRECTIONAL = "Bidirectional",
    }
}

string_type! {
    /// How a read-only mount treats the mounts below it.
    pub RecursiveReadOnlyMode {
        /// Mounts below may remain writable.
        DISABLED = "Disabled",
        /// Made read-only where the node's runtime supports it.
        IF_POSSIBLE = "IfPossible",
        /// Made read-only, or the pod fails to start.
        ENABLED = "Enabled",
    }
}

/// Gives a container a raw block device backed by one of the pod's claims.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeDevice {
    /// Name of the pod volume, which has to be a claim in Block mode.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Path inside the container at which the device appears.
    #[k8s(proto = 2, always)]
    pub device_path: String,
}

string_type! {
    /// When a node pulls a container image.
    #[closed]
    pub PullPolicy {
        /// Ask the registry before every start of the container.
        ALWAYS = "Always",
        /// Use only an image that is already on the node.
        NEVER = "Never",
        /// Pull only when the node does not have the image.
        IF_NOT_PRESENT = "IfNotPresent",
    }
}

string_type! {
    /// What happens to a running container when one of its resources is resized.
    pub ResourceResizeRestartPolicy {
        /// Resize in place if possible, without a restart.
        NOT_REQUIRED = "NotRequired",
        /// Restart the container so that the new amount takes effect.
        RESTART_CONTAINER = "RestartContainer",
    }
}

/// States whether resizing a given resource restarts the container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerResizePolicy {
    /// Resource the policy is about: cpu or memory.
    #[k8s(proto = 1, always)]
    pub resource_name: ResourceName,
    /// What to do on a resize of that resource: NotRequired or RestartContainer. Resources without
    /// an entry behave as NotRequired.
    #[k8s(proto = 2, always)]
    pub restart_policy: ResourceResizeRestartPolicy,
}

string_type! {
    /// Where a container's termination message comes from.
    #[closed]
    pub TerminationMessagePolicy {
        /// Only the contents of the message file.
        FILE = "File",
        /// The end of the log if the container failed and left the file empty.
        FALLBACK_TO_LOGS_ON_ERROR = "FallbackToLogsOnError",
    }
}

/// Compute resources a container, or a whole pod, needs and may use.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceRequirements {
    /// Most the container may use per resource; exceeding cpu throttles it, exceeding memory kills
    /// it. Absent means no limit.
    #[k8s(proto = 1, optional)]
    pub limits: ResourceList,
    /// Amount set aside per resource when choosing a node; defaults to the limit if one is given,
    /// else to an implementation-defined value.
    #[k8s(proto = 2, optional)]
    pub requests: ResourceList,
    /// Entries of the pod's resource claims that this container uses, for devices handed out by
    /// dynamic resource allocation.
    #[k8s(
        proto = 3,
        optional,
        list_type = map,
        list_map_keys("name"),
        gate = pintle_gates::DYNAMIC_RESOURCE_ALLOCATION
    )]
    pub claims: Vec<ResourceClaim>,
}

/// Lets a container use one of the pod's resource claims.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceClaim {
    /// Name of an entry in the pod's spec.resourceClaims.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Single request within the claim to make available; absent means everything the claim
    /// allocated.
    #[k8s(proto = 2, optional, format = "dns1123-label")]
    pub request: String,
}

/// One application container of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// Name of the container, a DNS label unique within the pod; it cannot be changed.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub name: String,
    /// Reference of the image to run, such as registry.example.com/app:1.2; workload templates may
    /// leave it to be filled in later.
    #[k8s(proto = 2, required, published = optional)]
    pub image: String,
    /// Program to run, replacing the image's entrypoint, without a shell; $(NAME) is expanded, $$
    /// escapes. Absent means the image's entrypoint.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub command: Vec<String>,
    /// Arguments for the program, replacing the image's command; $(NAME) is expanded, $$ escapes.
    /// Absent means the image's command.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub args: Vec<String>,
    /// Directory in which the program starts; absent means the one set in the image.
    #[k8s(proto = 5, optional)]
    pub working_dir: String,
    /// Ports the container listens on. The list is informational apart from host ports and names;
    /// leaving one out does not close it.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("containerPort", "protocol"),
        patch_strategy = "merge",
        patch_merge_key = "containerPort"
    )]
    pub ports: Vec<ContainerPort>,
    /// Sources whose entries all become variables; later sources win over earlier ones, and `env`
    /// wins over all of them.
    #[k8s(proto = 19, optional, list_type = atomic)]
    pub env_from: Vec<EnvFromSource>,
    /// Environment variables of the container, in order; they cannot be changed afterwards.
    #[k8s(
        proto = 7,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub env: Vec<EnvVar>,
    /// Compute resources the container requests and is limited to.
    #[k8s(proto = 8, optional)]
    pub resources: ResourceRequirements,
    /// Per resource, whether resizing it requires a restart of the container; not allowed for
    /// ephemeral containers.
    #[k8s(
        proto = 23,
        optional,
        list_type = atomic,
        gate = pintle_gates::IN_PLACE_POD_VERTICAL_SCALING
    )]
    pub resize_policy: Vec<ContainerResizePolicy>,
    /// Overrides the pod's restart policy for this container. An init container with Always keeps
    /// running as a sidecar.
    #[k8s(
        proto = 24,
        published = optional,
        when_set(restart_policy_rules)(required = "must specify restartPolicy when restart rules are used"),
        enum("Always", "Never", "OnFailure")
    )]
    pub restart_policy: Option<ContainerRestartPolicy>,
    /// Rules checked in order when the container exits; the first match decides, otherwise the
    /// restart policy applies.
    #[k8s(proto = 25, optional, list_type = atomic, gate = pintle_gates::CONTAINER_RESTART_RULES, max_items = 20)]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
    /// Volumes of the pod mounted into the container's filesystem.
    #[k8s(
        proto = 9,
        optional,
        list_type = map,
        list_map_keys("mountPath"),
        patch_strategy = "merge",
        patch_merge_key = "mountPath"
    )]
    pub volume_mounts: Vec<VolumeMount>,
    /// Raw block devices made available to the container.
    #[k8s(
        proto = 21,
        optional,
        list_type = map,
        list_map_keys("devicePath"),
        patch_strategy = "merge",
        patch_merge_key = "devicePath"
    )]
    pub volume_devices: Vec<VolumeDevice>,
    /// Check that decides whether the container is still working; failing it restarts the
    /// container. Absent counts as success.
    #[k8s(
        proto = 10,
        optional,
        last(subfield(success_threshold)(message(invalid = "must be 1")(minimum = 1, maximum = 1)))
    )]
    pub liveness_probe: Option<Probe>,
    /// Check that decides whether the container may get traffic; while it fails, the pod leaves its
    /// service endpoints. Absent counts as success.
    #[k8s(
        proto = 11,
        optional,
        last(
            subfield(termination_grace_period_seconds)(
                message(invalid = "must not be set for readinessProbes")(forbidden)
            )
        )
    )]
    pub readiness_probe: Option<Probe>,
    /// Check for completed start-up; the other probes wait until it succeeds, and failing it
    /// restarts the container.
    #[k8s(
        proto = 22,
        optional,
        last(subfield(success_threshold)(message(invalid = "must be 1")(minimum = 1, maximum = 1)))
    )]
    pub startup_probe: Option<Probe>,
    /// Hooks run right after the container starts and just before it is stopped.
    #[k8s(proto = 12, optional)]
    pub lifecycle: Option<Lifecycle>,
    /// File in the container from which a final message is read when it ends; defaults to
    /// /dev/termination-log.
    #[k8s(proto = 13, optional, default = "/dev/termination-log")]
    pub termination_message_path: String,
    /// Whether the final message is only read from the file or may fall back to the log; defaults
    /// to File.
    #[k8s(proto = 20, published = optional, default = "File", required, enum("File", "FallbackToLogsOnError"))]
    pub termination_message_policy: TerminationMessagePolicy,
    /// When to pull the image. Defaults to Always for the tag `latest` or a missing tag, otherwise
    /// to IfNotPresent.
    #[k8s(proto = 14, optional, enum)]
    pub image_pull_policy: PullPolicy,
    /// Security settings of this container; they win over those of the pod.
    #[k8s(proto = 15, optional)]
    pub security_context: Option<SecurityContext>,
    /// When true, a buffer for standard input is kept open; otherwise reads from it end at once.
    #[k8s(proto = 16, optional)]
    pub stdin: bool,
    /// When true, standard input is closed after the first client that attached has gone; it
    /// reopens only with a restart.
    #[k8s(proto = 17, optional)]
    pub stdin_once: bool,
    /// When true, the container gets a terminal; requires `stdin`.
    #[k8s(proto = 18, optional)]
    pub tty: bool,
}

string_type! {
    /// When a single container is started again after it ends.
    pub ContainerRestartPolicy {
        /// After every exit; turns an init container into a sidecar.
        ALWAYS = "Always",
        /// Not at all.
        NEVER = "Never",
        /// Only after an exit code other than 0.
        ON_FAILURE = "OnFailure",
    }
}

/// Says what to do when a container ends in a certain way.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerRestartRule {
    /// What to do on a match: Restart or RestartAllContainers.
    #[k8s(
        proto = 1,
        published = required,
        if_enabled(pintle_gates::RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS)(enum("Restart", "RestartAllContainers")),
        if_disabled(pintle_gates::RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS)(enum("Restart"))
    )]
    pub action: ContainerRestartRuleAction,
    /// Exit codes that make the rule match.
    #[k8s(proto = 2, published = optional, required = "must be specified")]
    pub exit_codes: Option<ContainerRestartRuleOnExitCodes>,
}

string_type! {
    /// What a matching restart rule does.
    pub ContainerRestartRuleAction {
        /// Start the container again.
        RESTART = "Restart",
        /// Start all containers of the pod again, init containers included.
        RESTART_ALL_CONTAINERS = "RestartAllContainers",
    }
}

/// Compares a container's exit code with a list.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerRestartRuleOnExitCodes {
    /// In to match the listed codes, NotIn to match all others.
    #[k8s(proto = 1, published = required, enum("In", "NotIn"))]
    pub operator: ContainerRestartRuleOnExitCodesOperator,
    /// Exit codes to compare with, at most 255 of them.
    #[k8s(proto = 2, optional, list_type = set, max_items = 255)]
    pub values: Vec<i32>,
}

string_type! {
    /// How an exit code is compared with a list.
    pub ContainerRestartRuleOnExitCodesOperator {
        /// The code is in the list.
        IN = "In",
        /// The code is not in the list.
        NOT_IN = "NotIn",
    }
}

/// The settings an ephemeral container shares with a regular one; some are present only to be
/// refused.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    last(
        subfield(ports)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(resources)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(resize_policy)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(restart_policy)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(restart_policy_rules)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(liveness_probe)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(readiness_probe)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(startup_probe)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(lifecycle)(forbidden = "cannot be set for an Ephemeral Container"),
        subfield(volume_mounts)(
            each_val(
                subfield(sub_path)(forbidden = "cannot be set for an Ephemeral Container"),
                subfield(sub_path_expr)(forbidden = "cannot be set for an Ephemeral Container")
            )
        )
    )
)]
pub struct EphemeralContainerCommon {
    /// Name of the container, unique among all containers of the pod.
    #[k8s(proto = 1, always, required, format = "dns1123-label")]
    pub name: String,
    /// Image to run.
    #[k8s(proto = 2, required, published = optional)]
    pub image: String,
    /// Program and leading arguments, replacing the image's entry point. $(NAME) is replaced by the
    /// variable's value, $$(NAME) stays literal.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub command: Vec<String>,
    /// Arguments for the program, replacing the image's default ones. $(NAME) is replaced by the
    /// variable's value, $$(NAME) stays literal.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub args: Vec<String>,
    /// Directory the program starts in; absent uses the one set in the image.
    #[k8s(proto = 5, optional)]
    pub working_dir: String,
    /// Not allowed for ephemeral containers.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("containerPort", "protocol"),
        patch_strategy = "merge",
        patch_merge_key = "containerPort"
    )]
    pub ports: Vec<ContainerPort>,
    /// Sources whose keys all become environment variables; later sources win over earlier ones,
    /// and env wins over both.
    #[k8s(proto = 19, optional, list_type = atomic)]
    pub env_from: Vec<EnvFromSource>,
    /// Environment variables of the container.
    #[k8s(
        proto = 7,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub env: Vec<EnvVar>,
    /// Not allowed for ephemeral containers, which use what the pod already has.
    #[k8s(proto = 8, optional)]
    pub resources: ResourceRequirements,
    /// Not allowed for ephemeral containers.
    #[k8s(
        proto = 23,
        optional,
        list_type = atomic,
        gate = pintle_gates::IN_PLACE_POD_VERTICAL_SCALING
    )]
    pub resize_policy: Vec<ContainerResizePolicy>,
    /// Not allowed for ephemeral containers, which are never restarted.
    #[k8s(proto = 24, optional)]
    pub restart_policy: Option<ContainerRestartPolicy>,
    /// Not allowed for ephemeral containers.
    #[k8s(proto = 25, optional, list_type = atomic, gate = pintle_gates::CONTAINER_RESTART_RULES, opaque_type)]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
    /// Volumes of the pod to mount into the container; mounts with a subPath are refused.
    #[k8s(
        proto = 9,
        optional,
        list_type = map,
        list_map_keys("mountPath"),
        patch_strategy = "merge",
        patch_merge_key = "mountPath"
    )]
    pub volume_mounts: Vec<VolumeMount>,
    /// Block devices of the pod's volumes to make available in the container.
    #[k8s(
        proto = 21,
        optional,
        list_type = map,
        list_map_keys("devicePath"),
        patch_strategy = "merge",
        patch_merge_key = "devicePath"
    )]
    pub volume_devices: Vec<VolumeDevice>,
    /// Not allowed for ephemeral containers.
    #[k8s(proto = 10, optional, opaque_type)]
    pub liveness_probe: Option<Probe>,
    /// Not allowed for ephemeral containers.
    #[k8s(proto = 11, optional, opaque_type)]
    pub readiness_probe: Option<Probe>,
    /// Not allowed for ephemeral containers.
    #[k8s(proto = 22, optional, opaque_type)]
    pub startup_probe: Option<Probe>,
    /// Not allowed for ephemeral containers.
    #[k8s(proto = 12, optional, opaque_type)]
    pub lifecycle: Option<Lifecycle>,
    /// File in the container read for a final message when it ends; defaults to
    /// "/dev/termination-log".
    #[k8s(proto = 13, optional, default = "/dev/termination-log")]
    pub termination_message_path: String,
    /// Source of the final message: "File" (the default), or "FallbackToLogsOnError" to use the end
    /// of the log after a failure.
    #[k8s(proto = 20, published = optional, default = "File", required, enum("File", "FallbackToLogsOnError"))]
    pub termination_message_policy: TerminationMessagePolicy,
    /// When the image is pulled: "Always", "IfNotPresent" or "Never". Defaults to "Always" for the
    /// tag "latest", otherwise to "IfNotPresent".
    #[k8s(proto = 14, optional, enum)]
    pub image_pull_policy: PullPolicy,
    /// Security settings of the container, which take precedence over those of the pod.
    #[k8s(proto = 15, optional)]
    pub security_context: Option<SecurityContext>,
    /// True keeps an input stream open for the container; otherwise reading from it gives end of
    /// file. Defaults to false.
    #[k8s(proto = 16, optional)]
    pub stdin: bool,
    /// True closes the input stream for good once the first attached client disconnects. Needs
    /// stdin to be true.
    #[k8s(proto = 17, optional)]
    pub stdin_once: bool,
    /// True gives the container a terminal; needs stdin to be true.
    #[k8s(proto = 18, optional)]
    pub tty: bool,
}

/// A temporary container added to a running pod, mostly for debugging, without guarantees and
/// without restarts.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EphemeralContainer {
    /// The settings an ephemeral container shares with a regular one; some are present only to be
    /// refused.
    #[k8s(inline, proto = 1)]
    pub ephemeral_container_common: EphemeralContainerCommon,
    /// Container whose process namespace is joined; absent uses the namespaces configured for the
    /// pod. The runtime has to support it.
    #[k8s(proto = 2, optional)]
    pub target_container_name: String,
}
