//! Types of `apiregistration.k8s.io/v1`: API groups served by other servers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, Time, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Collection of API services.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIServiceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The APIService objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<APIService>,
}

/// Service through which an extension API server is reached.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[k8s(proto = 1, published = optional, required)]
    pub namespace: String,
    /// Name of the service.
    #[k8s(proto = 2, published = optional, required)]
    pub name: String,
    /// HTTPS port of the service; 443 when unset.
    #[k8s(
        proto = 3,
        optional,
        default = 443,
        message(invalid = "port is not valid: must be between 1 and 65535, inclusive")(format = "port")
    )]
    pub port: Option<i32>,
}

/// API group version and the server responsible for it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 6, name = "priority"))]
pub struct APIServiceSpec {
    /// Service to forward to; served locally when unset.
    #[k8s(proto = 1, optional)]
    pub service: Option<ServiceReference>,
    /// API group this entry provides.
    #[k8s(
        proto = 2,
        unless(version = "v1")(required = "only v1 may have an empty group and it better be legacy kube"),
        unless(group = "")(format = "dns1123-subdomain")
    )]
    pub group: String,
    /// API version this entry provides.
    #[k8s(proto = 3, format = "dns1035-label")]
    pub version: String,
    /// Turns off certificate checking; strongly discouraged.
    #[k8s(
        proto = 4,
        name = "insecureSkipTLSVerify",
        when_unset(service)(message(invalid = "local APIServices may not have insecureSkipTLSVerify")(forbidden))
    )]
    pub insecure_skip_tls_verify: bool,
    /// PEM certificates trusted for the server; system roots when unset.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub ca_bundle: Bytes,
    /// Ordering of the group in discovery; bigger comes first.
    #[k8s(proto = 7, always, message(invalid = "must be positive and less than 20000")(minimum = 1, maximum = 20000))]
    pub group_priority_minimum: i32,
    /// Ordering of the version within its group; bigger comes first.
    #[k8s(proto = 8, always, message(invalid = "must be positive and less than 1000")(minimum = 1, maximum = 1000))]
    pub version_priority: i32,
}

string_type! {
    /// Truth value of a condition.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It is unknown whether the condition holds.
        UNKNOWN = "Unknown",
    }
}

string_type! {
    /// Aspect of an API service reported by a condition.
    pub APIServiceConditionType {
        /// The server behind the entry answers.
        AVAILABLE = "Available",
    }
}

/// One observation on an API service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIServiceCondition {
    /// Aspect described.
    #[k8s(proto = 1, always)]
    pub r#type: APIServiceConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the status last flipped.
    #[k8s(proto = 3, optional)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 4, optional)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 5, optional)]
    pub message: String,
}

/// Observed state of an API service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIServiceStatus {
    /// Latest observations, chiefly availability.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<APIServiceCondition>,
}

/// Registers the server for one API group version; named version.group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "apiregistration.k8s.io", plural = "apiservices", categories("api-extensions"), cluster))]
pub struct APIService {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Group version and the server behind it.
    #[k8s(proto = 2)]
    pub spec: APIServiceSpec,
    /// Availability of that server.
    #[k8s(proto = 3)]
    pub status: APIServiceStatus,
}
