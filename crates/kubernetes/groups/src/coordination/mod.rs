//! The `coordination.k8s.io` group: leases.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{GENERAL, Group, NameRule, Resource, Served, Storage, Strategy, Unserved};
use pintle_schema::Str;
use pintle_types::coordination::{v1, v1alpha2, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("coordination.k8s.io"),
        priority: Some(16500),
        built_in: true,
        versions: vec![version("v1", 15), version("v1beta1", 13), version("v1alpha2", 12)],
        resources: functions.complete(vec![leases(), lease_candidates(), lease_candidates_v1alpha2()]),
        internal: Vec::new(),
    }
}

static LEASE: Strategy = Strategy { unconditional_update: false, create_on_update: true, ..GENERAL };

static LEASE_CANDIDATE: Strategy =
    Strategy { name: NameRule::ConfigMapKey, unconditional_update: false, create_on_update: true, ..GENERAL };

fn lease_candidate_storage() -> Storage {
    Storage::of::<v1beta1::LeaseCandidate>()
}

fn leases() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::Lease>()),
        strategy: &LEASE,
        printer: printer(&columns::LEASE),
        unserved: vec![Unserved::same::<v1beta1::Lease>()],
        ..Resource::of::<v1::Lease>()
    }
}

fn lease_candidates() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(lease_candidate_storage()),
        strategy: &LEASE_CANDIDATE,
        deprecation: Str::new_static(
            "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::LEASE_CANDIDATE),
        ..Resource::of::<v1beta1::LeaseCandidate>()
    }
}

fn lease_candidates_v1alpha2() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(lease_candidate_storage()),
        strategy: &LEASE_CANDIDATE,
        deprecation: Str::new_static(
            "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::LEASE_CANDIDATE),
        ..Resource::of::<v1alpha2::LeaseCandidate>()
    }
}
