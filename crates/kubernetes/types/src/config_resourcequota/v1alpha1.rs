//! Types of `resourcequota.admission.k8s.io/v1alpha1`: the configuration of the resource quota admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::same_as;

use crate::core::v1::ScopedResourceSelectorRequirement;
use crate::meta::v1::TypeMeta;

same_as! { super::v1::{Configuration, LimitedResource} }
