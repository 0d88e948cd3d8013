//! Types of `v1`: environment variables and where their values come from.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Quantity};

use super::LocalObjectReference;

/// One environment variable of a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EnvVar {
    /// Name of the variable; any printable ASCII characters except `=`.
    #[k8s(
        proto = 1,
        always,
        required,
        if_enabled(pintle_gates::RELAXED_ENVIRONMENT_VARIABLE_VALIDATION)(format = "relaxed-env-var-name"),
        if_disabled(pintle_gates::RELAXED_ENVIRONMENT_VARIABLE_VALIDATION)(format = "env-var-name")
    )]
    pub name: String,
    /// Literal value, in which $(NAME) is replaced by earlier variables and $$ yields a single $.
    /// Absent means an empty string.
    #[k8s(proto = 2, optional)]
    pub value: String,
    /// Where to take the value from instead; must not be combined with a non-empty `value`.
    #[k8s(proto = 3, optional)]
    pub value_from: Option<EnvVarSource>,
}

/// Source of an environment variable's value; exactly one of the members must be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EnvVarSource {
    /// Takes the value from a field of the pod, for example metadata.name, spec.nodeName or
    /// status.podIP.
    #[k8s(proto = 1, optional)]
    pub field_ref: Option<ObjectFieldSelector>,
    /// Takes the value from a resource request or limit of a container, for example limits.cpu.
    #[k8s(proto = 2, optional)]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// Takes the value from one key of a ConfigMap in the pod's namespace.
    #[k8s(proto = 3, optional)]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// Takes the value from one entry of a Secret that lives beside the pod in its namespace.
    #[k8s(proto = 4, optional)]
    pub secret_key_ref: Option<SecretKeySelector>,
    /// Takes the value from a variable defined in an env file on one of the pod's volumes.
    #[k8s(proto = 5, optional, gate = pintle_gates::ENV_FILES)]
    pub file_key_ref: Option<FileKeySelector>,
}

/// Picks one variable out of an env file stored on a volume of the pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct FileKeySelector {
    /// Name of the emptyDir volume that contains the file.
    #[k8s(proto = 1, required, format = "dns1123-label", always)]
    pub volume_name: String,
    /// Location of the env file, relative to the root of the volume; it must not contain `..`.
    #[k8s(proto = 2, required, format = "path-no-backsteps", always)]
    pub path: String,
    /// Variable to look up in the file.
    #[k8s(proto = 3, required, format = "relaxed-env-var-name", always)]
    pub key: String,
    /// When true, a missing file or key simply leaves the variable unset; defaults to false, which
    /// stops the container from starting.
    #[k8s(proto = 4, optional, default = false, published = default)]
    pub optional: Option<bool>,
}

/// Picks a field of the pod itself.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ObjectFieldSelector {
    /// API version in which the field path is to be read; defaults to v1.
    #[k8s(proto = 1, optional, default = "v1")]
    pub api_version: String,
    /// Path of the field, such as `metadata.labels['app']` or spec.serviceAccountName.
    #[k8s(proto = 2, always)]
    pub field_path: String,
}

/// Picks a resource request or limit of a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ResourceFieldSelector {
    /// Container to read from; mandatory in volumes, while environment variables default to their
    /// own container.
    #[k8s(proto = 1, optional)]
    pub container_name: String,
    /// Figure wanted, such as limits.cpu or requests.memory.
    #[k8s(proto = 2, always)]
    pub resource: String,
    /// Unit in which the figure is output, for instance 1Mi or 1m, with rounding up; absent or zero
    /// means 1.
    #[k8s(proto = 3, optional)]
    pub divisor: Quantity,
}

/// Picks one key of a ConfigMap.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
#[k8s(subfield(name)(format = "dns1123-subdomain"))]
pub struct ConfigMapKeySelector {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// Key whose value is taken.
    #[k8s(proto = 2, always, required, format = "config-map-key")]
    pub key: String,
    /// When true, a missing ConfigMap or key is tolerated; otherwise the container cannot start.
    #[k8s(proto = 3, optional)]
    pub optional: Option<bool>,
}

/// Picks one key of a Secret.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
#[k8s(subfield(name)(format = "dns1123-subdomain"))]
pub struct SecretKeySelector {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// Key whose value is taken.
    #[k8s(proto = 2, always, required, format = "config-map-key")]
    pub key: String,
    /// When true, a missing Secret or key is tolerated; otherwise the container cannot start.
    #[k8s(proto = 3, optional)]
    pub optional: Option<bool>,
}

/// Turns all entries of a ConfigMap or Secret into environment variables.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EnvFromSource {
    /// Text put in front of each key to form the variable name; absent means none.
    #[k8s(
        proto = 1,
        optional,
        if_enabled(pintle_gates::RELAXED_ENVIRONMENT_VARIABLE_VALIDATION)(format = "relaxed-env-var-name"),
        if_disabled(pintle_gates::RELAXED_ENVIRONMENT_VARIABLE_VALIDATION)(format = "env-var-name")
    )]
    pub prefix: String,
    /// Imports the entries of this ConfigMap.
    #[k8s(proto = 2, optional)]
    pub config_map_ref: Option<ConfigMapEnvSource>,
    /// Imports the entries of this Secret.
    #[k8s(proto = 3, optional)]
    pub secret_ref: Option<SecretEnvSource>,
}

/// Names a ConfigMap whose entries become environment variables.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(name)(required, format = "dns1123-subdomain-prefix"))]
pub struct ConfigMapEnvSource {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// When true, a missing ConfigMap is tolerated; otherwise the container cannot start.
    #[k8s(proto = 2, optional)]
    pub optional: Option<bool>,
}

/// Names a Secret whose entries become environment variables.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(name)(required, format = "dns1123-subdomain-prefix"))]
pub struct SecretEnvSource {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// When true, a missing Secret is tolerated; otherwise the container cannot start.
    #[k8s(proto = 2, optional)]
    pub optional: Option<bool>,
}
