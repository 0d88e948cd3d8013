//! Types of `v1`: the observed state of containers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use super::{RecursiveReadOnlyMode, ResourceList, ResourceName, ResourceRequirements};

string_type! {
    /// Name of a signal that stops a container.
    #[closed]
    pub Signal {
        /// Abort.
        SIGABRT = "SIGABRT",
        /// Alarm timer expired.
        SIGALRM = "SIGALRM",
        /// Bus error.
        SIGBUS = "SIGBUS",
        /// Child process changed state.
        SIGCHLD = "SIGCHLD",
        /// Synonym of SIGCHLD.
        SIGCLD = "SIGCLD",
        /// Continue if stopped.
        SIGCONT = "SIGCONT",
        /// Arithmetic error.
        SIGFPE = "SIGFPE",
        /// Hang-up, often used to reload configuration.
        SIGHUP = "SIGHUP",
        /// Illegal instruction.
        SIGILL = "SIGILL",
        /// Interrupt from the keyboard.
        SIGINT = "SIGINT",
        /// Input or output possible.
        SIGIO = "SIGIO",
        /// Synonym of SIGABRT.
        SIGIOT = "SIGIOT",
        /// Immediate kill, cannot be caught.
        SIGKILL = "SIGKILL",
        /// Write to a pipe without reader.
        SIGPIPE = "SIGPIPE",
        /// Synonym of SIGIO.
        SIGPOLL = "SIGPOLL",
        /// Profiling timer expired.
        SIGPROF = "SIGPROF",
        /// Power failure.
        SIGPWR = "SIGPWR",
        /// Quit with core dump.
        SIGQUIT = "SIGQUIT",
        /// Invalid memory access.
        SIGSEGV = "SIGSEGV",
        /// Coprocessor stack fault.
        SIGSTKFLT = "SIGSTKFLT",
        /// Suspend, cannot be caught.
        SIGSTOP = "SIGSTOP",
        /// Invalid system call.
        SIGSYS = "SIGSYS",
        /// Request to terminate, the usual default.
        SIGTERM = "SIGTERM",
        /// Trace or breakpoint trap.
        SIGTRAP = "SIGTRAP",
        /// Suspend requested from the terminal.
        SIGTSTP = "SIGTSTP",
        /// Terminal input by a background process.
        SIGTTIN = "SIGTTIN",
        /// Terminal output by a background process.
        SIGTTOU = "SIGTTOU",
        /// Urgent data on a socket.
        SIGURG = "SIGURG",
        /// First signal for application use.
        SIGUSR1 = "SIGUSR1",
        /// Second signal for application use.
        SIGUSR2 = "SIGUSR2",
        /// Virtual timer expired.
        SIGVTALRM = "SIGVTALRM",
        /// Terminal window resized; some servers stop gracefully on it.
        SIGWINCH = "SIGWINCH",
        /// CPU time limit exceeded.
        SIGXCPU = "SIGXCPU",
        /// File size limit exceeded.
        SIGXFSZ = "SIGXFSZ",
        /// Lowest real-time signal.
        SIGRTMIN = "SIGRTMIN",
        /// Real-time signal number 1 above the lowest.
        SIGRTMINPLUS1 = "SIGRTMIN+1",
        /// Real-time signal number 2 above the lowest.
        SIGRTMINPLUS2 = "SIGRTMIN+2",
        /// Real-time signal number 3 above the lowest.
        SIGRTMINPLUS3 = "SIGRTMIN+3",
        /// Real-time signal number 4 above the lowest.
        SIGRTMINPLUS4 = "SIGRTMIN+4",
        /// Real-time signal number 5 above the lowest.
        SIGRTMINPLUS5 = "SIGRTMIN+5",
        /// Real-time signal number 6 above the lowest.
        SIGRTMINPLUS6 = "SIGRTMIN+6",
        /// Real-time signal number 7 above the lowest.
        SIGRTMINPLUS7 = "SIGRTMIN+7",
        /// Real-time signal number 8 above the lowest.
        SIGRTMINPLUS8 = "SIGRTMIN+8",
        /// Real-time signal number 9 above the lowest.
        SIGRTMINPLUS9 = "SIGRTMIN+9",
        /// Real-time signal number 10 above the lowest.
        SIGRTMINPLUS10 = "SIGRTMIN+10",
        /// Real-time signal number 11 above the lowest.
        SIGRTMINPLUS11 = "SIGRTMIN+11",
        /// Real-time signal number 12 above the lowest.
        SIGRTMINPLUS12 = "SIGRTMIN+12",
        /// Real-time signal number 13 above the lowest.
        SIGRTMINPLUS13 = "SIGRTMIN+13",
        /// Real-time signal number 14 above the lowest.
        SIGRTMINPLUS14 = "SIGRTMIN+14",
        /// Real-time signal number 15 above the lowest.
        SIGRTMINPLUS15 = "SIGRTMIN+15",
        /// Real-time signal number 14 below the highest.
        SIGRTMAXMINUS14 = "SIGRTMAX-14",
        /// Real-time signal number 13 below the highest.
        SIGRTMAXMINUS13 = "SIGRTMAX-13",
        /// Real-time signal number 12 below the highest.
        SIGRTMAXMINUS12 = "SIGRTMAX-12",
        /// Real-time signal number 11 below the highest.
        SIGRTMAXMINUS11 = "SIGRTMAX-11",
        /// Real-time signal number 10 below the highest.
        SIGRTMAXMINUS10 = "SIGRTMAX-10",
        /// Real-time signal number 9 below the highest.
        SIGRTMAXMINUS9 = "SIGRTMAX-9",
        /// Real-time signal number 8 below the highest.
        SIGRTMAXMINUS8 = "SIGRTMAX-8",
        /// Real-time signal number 7 below the highest.
        SIGRTMAXMINUS7 = "SIGRTMAX-7",
        /// Real-time signal number 6 below the highest.
        SIGRTMAXMINUS6 = "SIGRTMAX-6",
        /// Real-time signal number 5 below the highest.
        SIGRTMAXMINUS5 = "SIGRTMAX-5",
        /// Real-time signal number 4 below the highest.
        SIGRTMAXMINUS4 = "SIGRTMAX-4",
        /// Real-time signal number 3 below the highest.
        SIGRTMAXMINUS3 = "SIGRTMAX-3",
        /// Real-time signal number 2 below the highest.
        SIGRTMAXMINUS2 = "SIGRTMAX-2",
        /// Real-time signal number 1 below the highest.
        SIGRTMAXMINUS1 = "SIGRTMAX-1",
        /// Highest real-time signal.
        SIGRTMAX = "SIGRTMAX",
    }
}

/// Details of a container that is not running yet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerStateWaiting {
    /// CamelCase code for what it is waiting for, such as ContainerCreating or CrashLoopBackOff.
    #[k8s(proto = 1, optional)]
    pub reason: String,
    /// Readable details about the wait.
    #[k8s(proto = 2, optional)]
    pub message: String,
}

/// Details of a running container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerStateRunning {
    /// Time at which the container was last started or restarted.
    #[k8s(proto = 1, optional)]
    pub started_at: Time,
}

/// Details of a container that has ended.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerStateTerminated {
    /// Exit code of its main process.
    #[k8s(proto = 1, always)]
    pub exit_code: i32,
    /// Number of the signal that ended it; absent if it was not ended by one.
    #[k8s(proto = 2, optional)]
    pub signal: i32,
    /// CamelCase code for the way it ended, such as Completed, Error or OOMKilled.
    #[k8s(proto = 3, optional)]
    pub reason: String,
    /// Final message left by the container, or readable details about its end.
    #[k8s(proto = 4, optional)]
    pub message: String,
    /// Time at which this run of the container began.
    #[k8s(proto = 5, optional)]
    pub started_at: Time,
    /// Time at which this run of the container ended.
    #[k8s(proto = 6, optional)]
    pub finished_at: Time,
    /// Identifier of the container in the form runtime://id.
    #[k8s(proto = 7, name = "containerID", optional)]
    pub container_id: String,
}

/// What a container is doing; at most one member is set, and none means waiting.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerState {
    /// Set while the container has not started running.
    #[k8s(proto = 1, optional)]
    pub waiting: Option<ContainerStateWaiting>,
    /// Set while the container runs.
    #[k8s(proto = 2, optional)]
    pub running: Option<ContainerStateRunning>,
    /// Set once the container has ended.
    #[k8s(proto = 3, optional)]
    pub terminated: Option<ContainerStateTerminated>,
}

/// Observed state of one container of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerStatus {
    /// Name of the container as in the pod's spec.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// What the container is doing now.
    #[k8s(proto = 2, optional)]
    pub state: ContainerState,
    /// How the previous run of the container ended; empty if it never restarted.
    #[k8s(proto = 3, optional)]
    pub last_state: ContainerState,
    /// Whether the container currently passes its readiness check; it becomes true only after
    /// start-up has succeeded.
    #[k8s(proto = 4, always)]
    pub ready: bool,
    /// How many times the container has been restarted; may be too low after the node removed dead
    /// containers.
    #[k8s(proto = 5, always)]
    pub restart_count: i32,
    /// Image the container runs, as resolved by the runtime; it may differ from the reference in
    /// the spec.
    #[k8s(proto = 6, always)]
    pub image: String,
    /// Digest-based identifier of the image as reported by the runtime.
    #[k8s(proto = 7, name = "imageID", always)]
    pub image_id: String,
    /// Identifier of the container in the form runtime://id; absent before creation.
    #[k8s(proto = 8, name = "containerID", optional)]
    pub container_id: String,
    /// Whether the startup probe and the postStart hook are done; absent while unknown.
    #[k8s(proto = 9, optional)]
    pub started: Option<bool>,
    /// Resources the node has admitted for this container, following the requests after an accepted
    /// resize.
    #[k8s(proto = 10, optional)]
    pub allocated_resources: ResourceList,
    /// Requests and limits in force for the running container, as far as the runtime reports them.
    #[k8s(proto = 11, optional, opaque_type, gate = pintle_gates::IN_PLACE_POD_VERTICAL_SCALING)]
    pub resources: Option<ResourceRequirements>,
    /// How each volume has in fact been mounted into the container.
    #[k8s(
        proto = 12,
        optional,
        list_type = map,
        list_map_keys("mountPath"),
        patch_strategy = "merge",
        patch_merge_key = "mountPath"
    )]
    pub volume_mounts: Vec<VolumeMountStatus>,
    /// User and groups under which the container's first process was started.
    #[k8s(proto = 13, optional, gate = pintle_gates::SUPPLEMENTAL_GROUPS_POLICY)]
    pub user: Option<ContainerUser>,
    /// Health of the devices and other special resources given to the container.
    #[k8s(
        proto = 14,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        gate = pintle_gates::RESOURCE_HEALTH_STATUS
    )]
    pub allocated_resources_status: Vec<ResourceStatus>,
    /// Signal that will be sent to stop the container.
    // Its gate is the spec's alone: what a node reports is kept.
    #[k8s(proto = 15, optional)]
    pub stop_signal: Option<Signal>,
}

/// Health of everything a container was given under one resource name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceStatus {
    /// Resource concerned: an extended resource name, or claim:name/request for a resource claim of
    /// the pod.
    #[k8s(proto = 1, published = required, always)]
    pub name: ResourceName,
    /// Health of each single unit, listed by its identifier; meaningful only together with the
    /// node's name.
    #[k8s(proto = 2, list_type = map, list_map_keys("resourceID"), last(distinct(resourceID)))]
    pub resources: Vec<ResourceHealth>,
}

string_type! {
    /// Health of a device as reported by its driver.
    pub ResourceHealthStatus {
        /// The device works.
        HEALTHY = "Healthy",
        /// The device does not work.
        UNHEALTHY = "Unhealthy",
        /// The driver has not said, or not recently.
        UNKNOWN = "Unknown",
    }
}

/// Identifier of a single unit of a resource on its node.
pub type ResourceID = String;

/// Health of a single device or other resource unit.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceHealth {
    /// Identifier of the unit, unique per node and resource; see the driver for its form.
    #[k8s(proto = 1, name = "resourceID", always)]
    pub resource_id: ResourceID,
    /// State of the unit: Healthy, Unhealthy or Unknown.
    #[k8s(proto = 2, enum("Healthy", "Unhealthy", "Unknown"))]
    pub health: ResourceHealthStatus,
    /// Readable details about the health, given by the driver; absent if there is nothing to add.
    #[k8s(proto = 6, optional, gate = pintle_gates::RESOURCE_HEALTH_STATUS_MESSAGE)]
    pub message: Option<String>,
}

/// Identity of a container's first process, depending on its operating system.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerUser {
    /// Numeric identity on Linux; absent on other systems.
    #[k8s(proto = 1, optional)]
    pub linux: Option<LinuxContainerUser>,
}

/// Numeric user and groups of a container's first process on Linux.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LinuxContainerUser {
    /// User ID at start.
    #[k8s(proto = 1, always, format = "user-id")]
    pub uid: i64,
    /// Primary group ID at start.
    #[k8s(proto = 2, always, format = "user-id")]
    pub gid: i64,
    /// Additional group IDs at start.
    #[k8s(proto = 3, optional, list_type = atomic, each_val(format = "user-id"))]
    pub supplemental_groups: Vec<i64>,
}

/// How a volume has in fact been mounted into a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeMountStatus {
    /// Name of the volume mount, matching the container's spec.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Path of the mount inside the container, matching the container's spec.
    #[k8s(proto = 2, always)]
    pub mount_path: String,
    /// Whether the mount is read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Whether nested mounts are read-only as well: Disabled or Enabled, since IfPossible has been
    /// decided by then.
    #[k8s(proto = 4, optional)]
    pub recursive_read_only: Option<RecursiveReadOnlyMode>,
    /// Facts known about the mounted volume, depending on its type.
    #[k8s(proto = 5, optional)]
    pub volume_status: Option<VolumeStatus>,
}

/// Facts about a mounted volume, by volume type.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeStatus {
    /// Facts about a volume that was filled from an image.
    #[k8s(proto = 1, optional, gate = pintle_gates::IMAGE_VOLUME_WITH_DIGEST)]
    pub image: Option<ImageVolumeStatus>,
}

/// What an image volume was resolved to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageVolumeStatus {
    /// Image reference with digest that was mounted.
    #[k8s(proto = 1, published = required)]
    pub image_ref: String,
}

/// Connects an extended resource of one container with a request in the claim.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerExtendedResourceRequest {
    /// Container that asks for the resource.
    #[k8s(proto = 1, always)]
    pub container_name: String,
    /// Extended resource asked for by the container.
    #[k8s(proto = 2, always)]
    pub resource_name: String,
    /// Request in the claim that serves it.
    #[k8s(proto = 3, always)]
    pub request_name: String,
}
