//! The `coordination.k8s.io` group: leases.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Served, Storage};
use crate::strategy::{GENERAL, NameRule, Strategy};
use pintle_types::coordination::{v1, v1alpha2, v1beta1};

pub(crate) static RESOURCES: &[&Resource] = &[&LEASES, &LEASE_CANDIDATES, &LEASE_CANDIDATES_V1ALPHA2];

static LEASE: Strategy = Strategy { unconditional_update: false, create_on_update: true, ..GENERAL };

static LEASE_CANDIDATE: Strategy =
    Strategy { name: NameRule::ConfigMapKey, unconditional_update: false, create_on_update: true, ..GENERAL };

const LEASE_CANDIDATE_STORAGE: Storage = Storage::of::<v1beta1::LeaseCandidate>(
    "coordination.k8s.io/v1beta1",
    "LeaseCandidate",
    "/registry/leasecandidates/",
    "lvME0iHWE20=",
);

static LEASES: Resource = Resource {
    storage: Some(Storage::of::<v1::Lease>("coordination.k8s.io/v1", "Lease", "/registry/leases/", "gqkMMb/YqFM=")),
    strategy: &LEASE,
    ..Resource::namespaced::<v1::Lease>("coordination.k8s.io", "v1", "leases", "lease", "Lease")
};

static LEASE_CANDIDATES: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(LEASE_CANDIDATE_STORAGE),
    strategy: &LEASE_CANDIDATE,
    deprecation: "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::namespaced::<v1beta1::LeaseCandidate>(
        "coordination.k8s.io",
        "v1beta1",
        "leasecandidates",
        "leasecandidate",
        "LeaseCandidate",
    )
};

static LEASE_CANDIDATES_V1ALPHA2: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(LEASE_CANDIDATE_STORAGE),
    strategy: &LEASE_CANDIDATE,
    deprecation: "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::namespaced::<v1alpha2::LeaseCandidate>(
        "coordination.k8s.io",
        "v1alpha2",
        "leasecandidates",
        "leasecandidate",
        "LeaseCandidate",
    )
};
