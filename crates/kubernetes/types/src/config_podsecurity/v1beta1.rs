//! Types of `pod-security.admission.config.k8s.io/v1beta1`: the configuration of the pod security admission plugin.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::same_as;

use crate::meta::v1::TypeMeta;

same_as! { super::v1::{PodSecurityConfiguration, PodSecurityDefaults, PodSecurityExemptions} }
