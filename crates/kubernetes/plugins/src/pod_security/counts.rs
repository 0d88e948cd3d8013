//! How often pods were held against the pod security standards, and how often they were exempt.
//! Guarantees a bounded number of series: versions of the standards that there are not yet count as one.
//! Must never influence a decision.

use super::policy::{Level, Policy};
use crate::request::Request;
use pintle_metrics::{Counter, Keyed};
use pintle_registry::Operation;
use pintle_schema::Str;
use std::fmt;
use std::sync::Arc;

/// The newest version of the standards.
const NEWEST_MINOR: u32 = 36;

/// The request that something was counted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted {
    /// `create` or `update`.
    pub operation: &'static str,
    /// `pod`, or `controller` for workloads with a pod template.
    pub resource: &'static str,
    pub subresource: Str,
}

impl Counted {
    pub(super) fn of(request: &Request<'_>) -> Self {
        let operation = if request.operation() == Operation::Create { "create" } else { "update" };
        let resource = if request.resource() == "pods" { "pod" } else { "controller" };
        Counted { operation, resource, subresource: request.subresource().into() }
    }
}

/// The outcome of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Evaluation {
    /// `allow` or `deny`.
    pub decision: &'static str,
    pub level: &'static str,
    /// `v1.` and a minor version, `latest` or `future`.
    pub version: String,
    /// `enforce`, `audit` or `warn`.
    pub mode: &'static str,
    pub request: Counted,
}

impl Evaluation {
    fn of(policy: Policy, mode: &'static str, is_allowed: bool, request: &Counted) -> Self {
        let version = match policy.version.0 {
            u32::MAX => "latest".to_owned(),
            // This level rejects nothing in any version.
            _ if policy.level == Level::Privileged => "latest".to_owned(),
            minor if minor <= NEWEST_MINOR => format!("v1.{minor}"),
            _ => "future".to_owned(),
        };
        let decision = if is_allowed { "allow" } else { "deny" };
        Evaluation { decision, level: policy.level.name(), version, mode, request: request.clone() }
    }
}

/// Counts of one server.
pub struct PodSecurityCounts {
    evaluations: Keyed<Evaluation, Counter>,
    exemptions: Keyed<Counted, Counter>,
    /// Evaluations in spite of namespace labels that could not be read.
    errors: Keyed<Counted, Counter>,
}

impl fmt::Debug for PodSecurityCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodSecurityCounts").finish_non_exhaustive()
    }
}

impl Default for PodSecurityCounts {
    /// Counters of common outcomes exist from the start.
    fn default() -> Self {
        let counts =
            PodSecurityCounts { evaluations: Keyed::default(), exemptions: Keyed::default(), errors: Keyed::default() };
        for operation in ["create", "update"] {
            let of = |resource| Counted { operation, resource, subresource: Str::default() };
            counts.evaluations.get(&Evaluation::of(Policy::PRIVILEGED, "enforce", true, &of("pod")), Counter::new);
            counts.exemptions.get(&of("pod"), Counter::new);
            counts.exemptions.get(&of("controller"), Counter::new);
        }
        counts
    }
}

impl PodSecurityCounts {
    /// All evaluations, by outcome.
    pub fn evaluations(&self) -> Vec<(Evaluation, Arc<Counter>)> {
        self.evaluations.sorted()
    }

    /// Requests that the standards do not apply to.
    pub fn exemptions(&self) -> Vec<(Counted, Arc<Counter>)> {
        self.exemptions.sorted()
    }

    /// Requests in namespaces whose labels could not be read.
    pub fn errors(&self) -> Vec<(Counted, Arc<Counter>)> {
        self.errors.sorted()
    }

    pub(super) fn evaluated(&self, policy: Policy, mode: &'static str, is_allowed: bool, request: &Counted) {
        self.evaluations.get(&Evaluation::of(policy, mode, is_allowed, request), Counter::new).increment();
    }

    pub(super) fn exempted(&self, request: &Counted) {
        self.exemptions.get(request, Counter::new).increment();
    }

    pub(super) fn failed(&self, request: &Counted) {
        self.errors.get(request, Counter::new).increment();
    }
}
