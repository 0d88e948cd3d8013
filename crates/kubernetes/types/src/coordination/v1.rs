//! Types of `coordination.k8s.io/v1`: leases and the candidates for them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, MicroTime, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Way of electing a leader among lease candidates.
    pub CoordinatedLeaseStrategy {
        /// Prefer the candidate emulating the oldest version.
        OLDEST_EMULATION_VERSION = "OldestEmulationVersion",
    }
}

/// Lock with an expiry, used for heartbeats and leader election.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "coordination.k8s.io", plural = "leases", namespaced))]
pub struct Lease {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Holder and timing of the lease.
    #[k8s(proto = 2, optional)]
    pub spec: LeaseSpec,
}

/// Who holds a lease, since when and for how long.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LeaseSpec {
    /// Identity of the current holder; empty when there is no holder.
    #[k8s(proto = 1, optional)]
    pub holder_identity: Option<String>,
    /// How long others wait after the last renewal before taking over.
    #[k8s(proto = 2, optional, message(invalid = "must be greater than 0")(minimum = 1))]
    pub lease_duration_seconds: Option<i32>,
    /// When the current holder took the lease.
    #[k8s(proto = 3, optional)]
    pub acquire_time: Option<MicroTime>,
    /// When the current holder last refreshed the lease.
    #[k8s(proto = 4, optional)]
    pub renew_time: Option<MicroTime>,
    /// How many times the holder has changed.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub lease_transitions: Option<i32>,
    /// Election method when the leader is chosen by coordinated election.
    #[k8s(proto = 6, optional, gate = pintle_gates::COORDINATED_LEADER_ELECTION)]
    pub strategy: Option<CoordinatedLeaseStrategy>,
    /// Candidate the current holder should yield to; needs a strategy.
    #[k8s(
        proto = 7,
        optional,
        gate = pintle_gates::COORDINATED_LEADER_ELECTION,
        if_enabled(pintle_gates::COORDINATED_LEADER_ELECTION)(
            when(strategy = "")(
                unless(preferred_holder = "")(forbidden = "may only be specified if `strategy` is defined")
            )
        )
    )]
    pub preferred_holder: Option<String>,
}

/// Collection of leases.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LeaseList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Lease objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Lease>,
}
