//! Types of `scheduling.k8s.io/v1beta1`: priority classes and groups of pods that are scheduled together.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::same_as;

use crate::core::v1::PreemptionPolicy;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{PriorityClass, PriorityClassList} }
