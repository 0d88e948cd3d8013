//! Admission policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, as admission plugins.
//! Guarantees that a policy takes effect with the next request after it was stored, that each version of it is compiled once,
//! and that a request that no policy matches costs a comparison of names for each policy. Must never act on policies
//! themselves, nor on reviews, so that a wrong policy can always be removed.

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

/// Resources that no policy acts on, by group.
const EXEMPT: [(&str, &[&str]); 3] = [
    (
        "admissionregistration.k8s.io",
        &[
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
    ),
    ("authentication.k8s.io", &["selfsubjectreviews", "tokenreviews"]),
    (
        "authorization.k8s.io",
        &["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"],
    ),
];

/// Whose match conditions are counted. kube-apiserver gives both kinds of policies one type.
fn condition_owner<'a>(policy: &'a str, request: &AdmissionRequest<'_>) -> ConditionOwner<'a> {
    let operation = request.operation.name();
    ConditionOwner { name: policy, kind: "policy", admission_type: "validate", operation }
}

/// Whether no policy acts on a request.
fn is_exempt(request: &AdmissionRequest<'_>) -> bool {
    let resource = request.resource();
    let group = EXEMPT.iter().find(|(group, _)| *group == resource.group);
    group.is_some_and(|(_, resources)| resources.contains(&resource.plural.as_str()))
}
