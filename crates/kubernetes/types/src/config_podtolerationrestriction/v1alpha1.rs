//! Types of `podtolerationrestriction.admission.k8s.io/v1alpha1`: the configuration of the pod toleration restriction
//! admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::core::v1::Toleration;
use crate::meta::v1::TypeMeta;

/// Cluster-wide tolerations for namespaces that define none.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Tolerations added to pods.
    pub default: Vec<Toleration>,
    /// Only these tolerations are permitted on pods.
    pub whitelist: Vec<Toleration>,
}
