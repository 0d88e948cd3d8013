//! Version `v7beta1` of the group: the height has its unit in its name, and there is no singular `param`.

use crate::gates;
use crate::v6::{FrobberStatus, RestartPolicy};
use pintle_meta::meta::v1::{ObjectMeta, TypeMeta};
use pintle_schema::{ApiType, same_as};

same_as! { super::v6::{Frobber} }

/// The desired state of a frobber.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 6, name = "depth"))]
pub struct FrobberSpec {
    /// Height, 1 by default.
    #[k8s(proto = 1, always, published = optional, default = 1, minimum = 1)]
    pub height_in_inches: i32,
    /// Width in inches (alpha, gate Frobber2D).
    #[k8s(proto = 2, optional, gate = gates::FROBBER_2D, minimum = 1)]
    pub width: Option<i32>,
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
