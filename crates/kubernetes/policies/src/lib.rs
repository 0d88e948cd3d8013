//! Admission policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, as admission plugins.
//! Guarantees that a policy takes effect with the next request after it was stored, that each version of it is compiled once,
//! and that a request that no policy matches costs a comparison of names for each policy. Stored policies must never act on
//! policies themselves, so that a wrong one can always be removed; no policy acts on reviews.

mod metrics;
mod mutating;
mod params;
mod patch;
mod policy;
mod source;
mod type_check;
mod validating;
mod versions;

pub use metrics::{Check, Checks, Stats};
pub use mutating::MutatingPolicies;
pub use type_check::{ExpressionWarning, type_check};
pub use validating::ValidatingPolicies;

use pintle_expressions::ConditionOwner;
use pintle_registry::AdmissionRequest;

/// Resources that some or all policies do not act on, by group.
const EXEMPT: [(&str, Exemption, &[&str]); 3] = [
    (
        "admissionregistration.k8s.io",
        Exemption::FromStored,
        &[
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
    ),
    ("authentication.k8s.io", Exemption::FromAll, &["selfsubjectreviews", "tokenreviews"]),
    (
        "authorization.k8s.io",
        Exemption::FromAll,
        &["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"],
    ),
];

/// Which policies do not act on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exemption {
    None,
    /// Those that are stored; those of files do.
    FromStored,
    FromAll,
}

/// Whose match conditions are counted. kube-apiserver gives both kinds of policies one type.
fn condition_owner<'a>(policy: &'a str, request: &AdmissionRequest<'_>) -> ConditionOwner<'a> {
    let operation = request.operation.name();
    ConditionOwner { name: policy, kind: "policy", admission_type: "validate", operation }
}

fn exemption(request: &AdmissionRequest<'_>) -> Exemption {
    let resource = request.resource();
    let group = EXEMPT.iter().find(|(group, ..)| *group == resource.group);
    let named = group.filter(|(.., resources)| resources.contains(&resource.plural.as_str()));
    named.map_or(Exemption::None, |(_, exemption, _)| *exemption)
}
