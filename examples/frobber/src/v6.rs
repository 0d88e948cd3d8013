//! Version `v6` of the group, in which frobbers are stored. What is released here never changes its meaning.

use crate::gates;
use pintle_meta::meta::v1::{ObjectMeta, TypeMeta};
use pintle_schema::{ApiType, string_type};

string_type! {
    /// When a frobber is started again after it ends.
    pub RestartPolicy {
        /// After every end.
        ALWAYS = "Always",
        /// Not at all.
        NEVER = "Never",
        /// On the next Tuesday (alpha, gate FrobberRestartPolicyOnTuesday).
        ON_TUESDAY = "OnTuesday",
    }
}

/// Something that frobs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "fun.example.com", plural = "frobbers", short_names("fr"), namespaced))]
pub struct Frobber {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The desired state.
    #[k8s(proto = 2, optional)]
    pub spec: FrobberSpec,
    /// The observed state.
    #[k8s(proto = 3, optional)]
    pub status: FrobberStatus,
}

/// The desired state of a frobber.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 6, name = "depth"))]
pub struct FrobberSpec {
    /// Height in inches, 1 by default.
    #[k8s(proto = 1, always, published = optional, default = 1, minimum = 1)]
    pub height: i32,
    /// Width in inches (alpha, gate Frobber2D).
    #[k8s(proto = 2, optional, gate = gates::FROBBER_2D, minimum = 1)]
    pub width: Option<i32>,
    /// The first of `params`, for clients that know only one parameter.
    #[k8s(proto = 3, optional)]
    pub param: String,
    /// The parameters, in order.
    #[k8s(proto = 4, optional, list_type = atomic, max_items = 16)]
    pub params: Vec<String>,
    /// When it is started again.
    #[k8s(proto = 5, optional, default = "Always", enum)]
    pub restart_policy: RestartPolicy,
    /// How many of it there should be, 1 by default.
    #[k8s(proto = 7, optional, default = 1, minimum = 0)]
    pub replicas: Option<i32>,
}

/// The observed state of a frobber.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FrobberStatus {
    /// The phase of its lifecycle.
    #[k8s(proto = 1, optional)]
    pub phase: String,
    /// How many of it there are.
    #[k8s(proto = 2, optional)]
    pub replicas: i32,
}
