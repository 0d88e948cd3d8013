//! Types of `v1`: security settings of pods and containers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

/// Name of a POSIX capability, such as NET_ADMIN or CHOWN, without the CAP_ prefix.
pub type Capability = String;

/// Capabilities added to or removed from a container's default set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Capabilities {
    /// Capabilities the container gets in addition to the runtime's defaults.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub add: Vec<Capability>,
    /// Capabilities taken away from the container; ALL removes every one.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub drop: Vec<Capability>,
}

string_type! {
    /// When the group ownership of a volume's files is adjusted at mount time.
    #[closed]
    pub PodFSGroupChangePolicy {
        /// Only if the top directory does not already have the expected owner and mode.
        ON_ROOT_MISMATCH = "OnRootMismatch",
        /// Each time the volume is mounted.
        ALWAYS = "Always",
    }
}

string_type! {
    /// Which additional groups the processes of a pod get.
    #[closed]
    pub SupplementalGroupsPolicy {
        /// Groups from the pod and from the image's group file.
        MERGE = "Merge",
        /// Only groups listed in the pod.
        STRICT = "Strict",
    }
}

string_type! {
    /// How SELinux labels are put on a pod's volumes.
    pub PodSELinuxChangePolicy {
        /// Every file is relabelled by the container runtime.
        RECURSIVE = "Recursive",
        /// The label is given as a mount option where the volume allows it.
        MOUNT_OPTION = "MountOption",
    }
}

/// Security settings for all containers of a pod; most can be overridden per container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSecurityContext {
    /// SELinux label for the containers; absent lets the runtime choose one per container. Not for
    /// Windows.
    #[k8s(proto = 1, optional)]
    pub se_linux_options: Option<SELinuxOptions>,
    /// Settings for Windows containers; not for Linux.
    #[k8s(proto = 8, optional)]
    pub windows_options: Option<WindowsSecurityContextOptions>,
    /// Numeric user the processes start as; absent uses the user set in the image. Not for Windows.
    #[k8s(proto = 2, optional, format = "user-id")]
    pub run_as_user: Option<i64>,
    /// Numeric primary group of the processes; absent leaves it to the runtime. Not for Windows.
    #[k8s(proto = 6, optional, format = "user-id")]
    pub run_as_group: Option<i64>,
    /// When true, containers that would run as user 0 are refused at start.
    #[k8s(proto = 3, optional)]
    pub run_as_non_root: Option<bool>,
    /// Numeric groups the first process of each container gets in addition to its primary group.
    /// Not for Windows.
    #[k8s(proto = 4, optional, each_val(format = "user-id"), list_type = atomic)]
    pub supplemental_groups: Vec<i64>,
    /// Where additional groups come from: "Merge" (the default) or "Strict". Not for Windows.
    #[k8s(proto = 12, optional, enum, gate = pintle_gates::SUPPLEMENTAL_GROUPS_POLICY)]
    pub supplemental_groups_policy: Option<SupplementalGroupsPolicy>,
    /// Numeric group that owns the files of volumes supporting this and that all containers join;
    /// absent leaves volumes unchanged. Not for Windows.
    #[k8s(proto = 5, optional, format = "user-id")]
    pub fs_group: Option<i64>,
    /// Kernel parameters set within the pod's namespaces; nodes may refuse those they do not allow.
    /// Not for Windows.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub sysctls: Vec<Sysctl>,
    /// When file ownership is adjusted for fsGroup: "OnRootMismatch" or "Always" (the default). Not
    /// for Windows.
    #[k8s(proto = 9, optional, enum)]
    pub fs_group_change_policy: Option<PodFSGroupChangePolicy>,
    /// System call filter for the containers. Not for Windows.
    #[k8s(proto = 10, optional)]
    pub seccomp_profile: Option<SeccompProfile>,
    /// AppArmor profile for the containers. Not for Windows.
    #[k8s(proto = 11, optional)]
    pub app_armor_profile: Option<AppArmorProfile>,
    /// How SELinux labels reach volumes: "Recursive" or "MountOption" (the default where the node
    /// supports it). Not for Windows.
    #[k8s(
        proto = 13,
        optional,
        if_enabled(pintle_gates::SELINUX_MOUNT)(enum),
        if_disabled(pintle_gates::SELINUX_MOUNT)(enum("Recursive")),
        gate = pintle_gates::SELINUX_CHANGE_POLICY
    )]
    pub se_linux_change_policy: Option<PodSELinuxChangePolicy>,
}

/// Chooses a system call filter.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union = "type")]
pub struct SeccompProfile {
    /// Kind of profile: "Localhost", "RuntimeDefault" or "Unconfined".
    #[k8s(proto = 1, always, required = "type is required when seccompProfile is set", enum)]
    pub r#type: SeccompProfileType,
    /// Profile file on the node, relative to the kubelet's seccomp directory; required for
    /// "Localhost" and forbidden otherwise.
    #[k8s(
        proto = 2,
        published = optional,
        when(type = "Localhost")(required = "must be set when seccomp type is Localhost", format = "relative-path")
    )]
    pub localhost_profile: Option<String>,
}

string_type! {
    /// Kind of system call filter.
    #[closed]
    pub SeccompProfileType {
        /// No filter.
        UNCONFINED = "Unconfined",
        /// The default filter of the container runtime.
        RUNTIME_DEFAULT = "RuntimeDefault",
        /// A profile file present on the node.
        LOCALHOST = "Localhost",
    }
}

/// Chooses an AppArmor profile.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union = "type")]
pub struct AppArmorProfile {
    /// Kind of profile: "Localhost", "RuntimeDefault" or "Unconfined".
    #[k8s(proto = 1, always, required = "type is required when appArmorProfile is set", enum)]
    pub r#type: AppArmorProfileType,
    /// Name of a profile loaded on the node; required for "Localhost" and forbidden otherwise.
    #[k8s(
        proto = 2,
        published = optional,
        when(type = "Localhost")(
            required = "must be set when AppArmor type is Localhost",
            first(message(required = "must be set when AppArmor type is Localhost")(neq = "")),
            message(invalid = "must not be padded with whitespace")(format = "trimmed"),
            max_bytes = 4095
        ),
        when(type = "RuntimeDefault|Unconfined")(
            message(invalid = "can only be set when AppArmor type is Localhost")(forbidden)
        )
    )]
    pub localhost_profile: Option<String>,
}

string_type! {
    /// Kind of AppArmor profile.
    #[closed]
    pub AppArmorProfileType {
        /// No confinement.
        UNCONFINED = "Unconfined",
        /// The default profile of the container runtime.
        RUNTIME_DEFAULT = "RuntimeDefault",
        /// A profile loaded on the node.
        LOCALHOST = "Localhost",
    }
}

/// Security settings of one container; where also set for the pod, these take precedence.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SecurityContext {
    /// Linux capabilities to add or drop; absent uses the runtime's default set. Not for Windows.
    #[k8s(proto = 1, optional)]
    pub capabilities: Option<Capabilities>,
    /// True gives the processes practically the same rights as root on the node. Defaults to false;
    /// not for Windows.
    #[k8s(proto = 2, optional)]
    pub privileged: Option<bool>,
    /// SELinux label of the container; absent lets the runtime choose one. Not for Windows.
    #[k8s(proto = 3, optional)]
    pub se_linux_options: Option<SELinuxOptions>,
    /// Settings for Windows containers; not for Linux.
    #[k8s(proto = 10, optional)]
    pub windows_options: Option<WindowsSecurityContextOptions>,
    /// Numeric user the process starts as; absent uses the pod's setting or else the image's. Not
    /// for Windows.
    #[k8s(proto = 4, optional, format = "user-id")]
    pub run_as_user: Option<i64>,
    /// Numeric primary group of the process; absent uses the pod's setting or leaves it to the
    /// runtime. Not for Windows.
    #[k8s(proto = 8, optional, format = "user-id")]
    pub run_as_group: Option<i64>,
    /// When true, the container is refused at start if it would run as user 0; absent uses the
    /// pod's setting.
    #[k8s(proto = 5, optional)]
    pub run_as_non_root: Option<bool>,
    /// True makes the container's root file system read-only. Defaults to false; not for Windows.
    #[k8s(proto = 6, optional)]
    pub read_only_root_filesystem: Option<bool>,
    /// Whether a process may gain more rights than its parent; always true for privileged
    /// containers or with CAP_SYS_ADMIN. Not for Windows.
    #[k8s(proto = 7, optional)]
    pub allow_privilege_escalation: Option<bool>,
    /// How /proc is mounted: "Default" hides some paths, "Unmasked" shows all and needs hostUsers
    /// to be false. Not for Windows.
    #[k8s(proto = 9, optional, enum, gate = pintle_gates::PROC_MOUNT_TYPE)]
    pub proc_mount: Option<ProcMountType>,
    /// System call filter of the container; absent uses the pod's. Not for Windows.
    #[k8s(proto = 11, optional)]
    pub seccomp_profile: Option<SeccompProfile>,
    /// AppArmor profile of the container; absent uses the pod's. Not for Windows.
    #[k8s(proto = 12, optional)]
    pub app_armor_profile: Option<AppArmorProfile>,
}

string_type! {
    /// How /proc is mounted in a container.
    #[closed]
    pub ProcMountType {
        /// With the runtime's usual paths hidden or read-only.
        DEFAULT = "Default",
        /// Without hiding anything.
        UNMASKED = "Unmasked",
    }
}

/// The parts of an SELinux label.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SELinuxOptions {
    /// User part of the label.
    #[k8s(proto = 1, optional)]
    pub user: String,
    /// Role part of the label.
    #[k8s(proto = 2, optional)]
    pub role: String,
    /// Type part of the label.
    #[k8s(proto = 3, optional)]
    pub r#type: String,
    /// Level part of the label, such as "s0:c123,c456".
    #[k8s(proto = 4, optional)]
    pub level: String,
}

/// Security settings for Windows containers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WindowsSecurityContextOptions {
    /// Name of the GMSA credential spec object to use.
    #[k8s(proto = 1, optional, format = "dns1123-subdomain")]
    pub gmsa_credential_spec_name: Option<String>,
    /// Contents of the GMSA credential spec, usually filled in by an admission webhook from
    /// gmsaCredentialSpecName.
    #[k8s(
        proto = 2,
        optional,
        first(message(invalid = "gmsaCredentialSpec cannot be an empty string", value = "")(neq = "")),
        message(invalid = "gmsaCredentialSpec size must be under 64 KiB")(max_bytes = 65_536)
    )]
    pub gmsa_credential_spec: Option<String>,
    /// Windows user the process starts as, optionally as "DOMAIN\\user"; absent uses the image's.
    #[k8s(proto = 3, optional)]
    pub run_as_user_name: Option<String>,
    /// True runs the container directly on the node; all containers of a pod have to agree, and
    /// hostNetwork must be true.
    #[k8s(proto = 4, optional)]
    pub host_process: Option<bool>,
}

/// One kernel parameter.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Sysctl {
    /// Name of the parameter, such as "net.core.somaxconn".
    #[k8s(proto = 1, always, required, format = "sysctl-name")]
    pub name: String,
    /// Value to set.
    #[k8s(proto = 2, always)]
    pub value: String,
}
