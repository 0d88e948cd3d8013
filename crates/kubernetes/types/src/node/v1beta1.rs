//! Types of `node.k8s.io/v1beta1`: runtime classes.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::same_as;

use crate::core::v1::{ResourceList, Toleration};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{Overhead, RuntimeClass, RuntimeClassList, Scheduling} }
