//! Types of `pod-security.admission.config.k8s.io/v1`: the configuration of the pod security admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::TypeMeta;

/// Cluster-wide defaults and exemptions of pod security checks.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSecurityConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Levels for namespaces without labels.
    #[k8s(always)]
    pub defaults: PodSecurityDefaults,
    /// Requests never checked.
    #[k8s(always)]
    pub exemptions: PodSecurityExemptions,
}

/// Levels for namespaces without labels of their own.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSecurityDefaults {
    /// Level whose violation gets pods rejected.
    #[k8s(default = "privileged")]
    pub enforce: String,
    /// Version of the rules for that level; latest when unset.
    #[k8s(name = "enforce-version", default = "latest")]
    pub enforce_version: String,
    /// Level whose violation is noted in the audit record.
    #[k8s(default = "privileged")]
    pub audit: String,
    /// Version of the rules for that level; latest when unset.
    #[k8s(name = "audit-version", default = "latest")]
    pub audit_version: String,
    /// Level whose violation gives the client a warning.
    #[k8s(default = "privileged")]
    pub warn: String,
    /// Version of the rules for that level; latest when unset.
    #[k8s(name = "warn-version", default = "latest")]
    pub warn_version: String,
}

/// Requests that pod security never checks.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSecurityExemptions {
    /// Users whose requests are not checked.
    pub usernames: Vec<String>,
    /// Namespaces that are not checked.
    pub namespaces: Vec<String>,
    /// Runtime classes whose pods are not checked.
    pub runtime_classes: Vec<String>,
}
