//! Types of `v1`: component statuses.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::ConditionStatus;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Type of a component condition.
    pub ComponentConditionType {
        /// The component is in working order.
        HEALTHY = "Healthy",
    }
}

/// One observed aspect of the state of a component.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ComponentCondition {
    /// Name of the aspect; "Healthy" is the only one.
    #[k8s(proto = 1, always)]
    pub r#type: ComponentConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// Explanation for people to read, such as the answer of a health check.
    #[k8s(proto = 3, optional)]
    pub message: String,
    /// Error met while checking the component; empty if there was none.
    #[k8s(proto = 4, optional)]
    pub error: String,
}

/// Deprecated health report on a part of the control plane.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "componentstatuses", short_names("cs"), cluster))]
pub struct ComponentStatus {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Latest observed conditions of the component.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<ComponentCondition>,
}

/// Deprecated list of component health reports.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ComponentStatusList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ComponentStatus objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ComponentStatus>,
}
