//! Types of `coordination.k8s.io/v1alpha2`: leases and the candidates for them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{MicroTime, same_as};

use crate::coordination::v1::CoordinatedLeaseStrategy;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1beta1::{LeaseCandidate, LeaseCandidateList, LeaseCandidateSpec} }
