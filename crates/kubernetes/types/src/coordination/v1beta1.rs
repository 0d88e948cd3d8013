//! Types of `coordination.k8s.io/v1beta1`: leases and the candidates for them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, MicroTime, same_as};

use crate::coordination::v1::CoordinatedLeaseStrategy;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{Lease, LeaseList, LeaseSpec} }

/// Component instance offering to become leader for a lease.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "coordination.k8s.io", plural = "leasecandidates", namespaced))]
#[k8s(last(subfield(spec)(subfield(lease_name)(fixed))))]
pub struct LeaseCandidate {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Candidate's versions and liveness.
    #[k8s(proto = 2, published = required)]
    pub spec: LeaseCandidateSpec,
}

/// Which lease a candidate wants and how it qualifies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LeaseCandidateSpec {
    /// Lease the candidate competes for; cannot change later.
    #[k8s(proto = 1, required, always)]
    pub lease_name: String,
    /// When the coordinator last asked whether the candidate is alive.
    #[k8s(proto = 2, optional)]
    pub ping_time: Option<MicroTime>,
    /// When the candidate last showed a sign of life.
    #[k8s(proto = 3, optional)]
    pub renew_time: Option<MicroTime>,
    /// Version of the candidate's program, as semantic version.
    #[k8s(proto = 4, required, always, format = "semantic-version")]
    pub binary_version: String,
    /// Version the candidate behaves as; not above its program version.
    #[k8s(proto = 5, optional, format = "semantic-version")]
    pub emulation_version: String,
    /// Election method the candidate wants coordination to use.
    #[k8s(proto = 6, required)]
    pub strategy: CoordinatedLeaseStrategy,
}

/// Collection of lease candidates.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LeaseCandidateList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The LeaseCandidate objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<LeaseCandidate>,
}
