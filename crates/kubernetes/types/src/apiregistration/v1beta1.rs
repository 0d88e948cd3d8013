//! Types of `apiregistration.k8s.io/v1beta1`: API groups served by other servers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, Time, same_as};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        APIService, APIServiceCondition, APIServiceConditionType, APIServiceList, APIServiceSpec, APIServiceStatus,
        ConditionStatus
    }
}

/// Service through which an extension API server is reached.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[k8s(proto = 1)]
    pub namespace: String,
    /// Name of the service.
    #[k8s(proto = 2)]
    pub name: String,
    /// HTTPS port of the service; 443 when unset.
    #[k8s(proto = 3, optional, default = 443)]
    pub port: Option<i32>,
}
