//! Types of `apiserver.config.k8s.io/v1`: the configuration of the webhook admission plugins.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::TypeMeta;

/// Settings for the admission webhook plugins.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookAdmission {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Kubeconfig file with credentials for calling webhooks.
    #[k8s(always)]
    pub kube_config_file: String,
    /// Directory with webhook configurations loaded from disk.
    #[k8s(optional)]
    pub static_manifests_dir: String,
}
