//! Columns of the group `coordination.k8s.io`.
//!
//! Whether a lease has expired is not shown.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};

printers! {
    LEASE: Lease |lease, now| {
        NAME => name(lease),
        string("Holder", "Who holds the lease.") => text(lease.to(Lease::SPEC).to(LeaseSpec::HOLDER_IDENTITY)),
        AGE => age(lease, now),
    }
    LEASE_CANDIDATE: LeaseCandidate |candidate, now| {
        NAME => name(candidate),
        string("LeaseName", "Lease that is sought.")
            => text(candidate.to(LeaseCandidate::SPEC).to(LeaseCandidateSpec::LEASE_NAME)),
        string("BinaryVersion", "Version of the program.")
            => text(candidate.to(LeaseCandidate::SPEC).to(LeaseCandidateSpec::BINARY_VERSION)),
        string("EmulationVersion", "Version that the program behaves as.")
            => text(candidate.to(LeaseCandidate::SPEC).to(LeaseCandidateSpec::EMULATION_VERSION)),
        AGE => age(candidate, now),
    }
}
