//! Types of `config.k8s.io/v1beta1`: a component's status and flags. `v1alpha1` has the same ones.
//! Names and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time};
use std::collections::BTreeMap;

use crate::meta::v1::{ObjectMeta, TypeMeta};

/// What a component is and how long it has been running.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Statusz {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata; only the component's name is set.
    #[k8s(optional)]
    pub metadata: ObjectMeta,
    /// When the process began.
    #[k8s(always)]
    pub start_time: Time,
    /// Seconds for which it has been running.
    #[k8s(always)]
    pub uptime_seconds: i64,
    /// Version of Go that the component was built with.
    #[k8s(always)]
    pub go_version: String,
    /// Version of the component.
    #[k8s(always)]
    pub binary_version: String,
    /// Version that the component emulates, as major and minor number.
    #[k8s(optional)]
    pub emulation_version: String,
    /// Paths at which more can be found for debugging.
    #[k8s(always, list_type = set)]
    pub paths: Vec<String>,
}

/// The flags that a component was started with.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Flagz {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata; only the component's name is set.
    #[k8s(optional)]
    pub metadata: ObjectMeta,
    /// Values of flags by their names; secret ones are left out.
    #[k8s(optional)]
    pub flags: BTreeMap<String, String>,
}
