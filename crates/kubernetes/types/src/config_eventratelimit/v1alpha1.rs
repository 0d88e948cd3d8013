//! Types of `eventratelimit.admission.k8s.io/v1alpha1`: the configuration of the event rate limit admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::TypeMeta;

string_type! {
    /// What shares one event limit.
    pub LimitType {
        /// All events of the server.
        SERVER = "Server",
        /// Events of one namespace.
        NAMESPACE = "Namespace",
        /// Events sent by one user.
        USER = "User",
        /// Events with same source and object.
        SOURCE_AND_OBJECT = "SourceAndObject",
    }
}

/// Limits on how many events clients may send.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Limits that all have to be kept.
    #[k8s(always)]
    pub limits: Vec<Limit>,
}

/// One limit on the rate of events.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// What shares the limit.
    #[k8s(always)]
    pub r#type: LimitType,
    /// Events per second permitted in the long run.
    #[k8s(always)]
    pub qps: i32,
    /// Events permitted in a short burst.
    #[k8s(always)]
    pub burst: i32,
    /// Number of namespaces, users or sources tracked at once; 4096 when unset.
    #[k8s(optional)]
    pub cache_size: i32,
}
