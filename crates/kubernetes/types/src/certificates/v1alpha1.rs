//! Types of `certificates.k8s.io/v1alpha1`: certificate signing requests and trust bundles.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::same_as;

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1beta1::{ClusterTrustBundle, ClusterTrustBundleList, ClusterTrustBundleSpec} }
