//! Types of `v1`: secrets, config maps and service accounts.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, string_type};

use super::{LocalObjectReference, ObjectReference};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// An identity for processes in pods when they talk to the API server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "serviceaccounts", short_names("sa"), namespaced))]
pub struct ServiceAccount {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Secrets that pods of this account may use; enforced only when the account is annotated so.
    /// Mostly of historical interest.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub secrets: Vec<ObjectReference>,
    /// Secrets with registry credentials, given to pods of this account that list none themselves.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Whether pods of this account get its token mounted; a pod's own setting wins. Absent means
    /// true.
    #[k8s(proto = 4, optional)]
    pub automount_service_account_token: Option<bool>,
}

/// A list of ServiceAccounts.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceAccountList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ServiceAccount objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ServiceAccount>,
}

/// Holds confidential data of at most 1 MiB in total, for use by pods and other clients.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "secrets", namespaced))]
pub struct Secret {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// True fixes the data for good; only metadata can change then, and the setting cannot be taken
    /// back. Defaults to false.
    #[k8s(proto = 5, optional)]
    pub immutable: Option<bool>,
    /// The data by key, with values in base64. Keys consist of letters, digits, "-", "_" and ".".
    #[k8s(proto = 2, optional, each_entry_key(format = "config-map-key"))]
    pub data: BTreeMap<String, Bytes>,
    /// Data given as plain text, for writing only: it is merged into data, replacing equal keys,
    /// and never returned.
    #[k8s(proto = 4, optional)]
    pub string_data: BTreeMap<String, String>,
    /// Tells what the data is for and so which keys it must have; defaults to "Opaque" and cannot
    /// be changed.
    #[k8s(proto = 3, optional, default = "Opaque")]
    pub r#type: SecretType,
}

string_type! {
    /// Tells what the data in a secret is for.
    pub SecretType {
        /// Any data, without required keys.
        OPAQUE = "Opaque",
        /// A long-lived token of a service account named in an annotation.
        SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token",
        /// Registry credentials in the old dockercfg format.
        DOCKERCFG = "kubernetes.io/dockercfg",
        /// Registry credentials in the config.json format.
        DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson",
        /// A user name, a password, or both.
        BASIC_AUTH = "kubernetes.io/basic-auth",
        /// A private key for SSH.
        SSH_AUTH = "kubernetes.io/ssh-auth",
        /// A certificate and its private key.
        TLS = "kubernetes.io/tls",
        /// A token by which new nodes join the cluster.
        BOOTSTRAP_TOKEN = "bootstrap.kubernetes.io/token",
    }
}

/// A list of Secrets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SecretList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Secret objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Secret>,
}

/// Holds configuration that is not confidential, at most 1 MiB in total, for use by pods and other
/// clients.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "configmaps", short_names("cm"), namespaced))]
pub struct ConfigMap {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// True fixes the data for good; only metadata can change then, and the setting cannot be taken
    /// back. Defaults to false.
    #[k8s(proto = 4, optional)]
    pub immutable: Option<bool>,
    /// Text values by key. Keys consist of letters, digits, "-", "_" and ".", and must not occur in
    /// binaryData as well.
    #[k8s(proto = 2, optional, each_entry_key(format = "config-map-key"))]
    pub data: BTreeMap<String, String>,
    /// Binary values by key, in base64; keys must not occur in data as well.
    #[k8s(proto = 3, optional, each_entry_key(format = "config-map-key"))]
    pub binary_data: BTreeMap<String, Bytes>,
}

/// A list of ConfigMaps.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ConfigMapList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ConfigMap objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ConfigMap>,
}
