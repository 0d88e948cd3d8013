//! Defaults of the rbac group: the API group of a binding's subjects, which depends on their kind.
//!
//! Subjects of an unknown kind get none; validation rejects them.

use crate::defaulting::Rule;
use crate::defaulting::fields::{set_if_zero, text};
use pintle_schema::{ApiType, Value};
use pintle_types::rbac::{v1, v1alpha1, v1beta1};

pub const RULES: &[Rule] = &[
    (v1::Subject::schema, subject_v1),
    (v1alpha1::Subject::schema, subject_v1alpha1),
    (v1beta1::Subject::schema, subject_v1beta1),
];

const GROUP: &str = "rbac.authorization.k8s.io";

fn is_name(kind: &str) -> bool {
    matches!(kind, "User" | "Group")
}

fn subject_v1(subject: &mut Value) {
    if is_name(text(subject, v1::Subject::KIND)) {
        set_if_zero(subject, v1::Subject::API_GROUP, GROUP);
    }
}

fn subject_v1beta1(subject: &mut Value) {
    if is_name(text(subject, v1beta1::Subject::KIND)) {
        set_if_zero(subject, v1beta1::Subject::API_GROUP, GROUP);
    }
}

fn subject_v1alpha1(subject: &mut Value) {
    match text(subject, v1alpha1::Subject::KIND) {
        kind if is_name(kind) => {
            set_if_zero(subject, v1alpha1::Subject::API_VERSION, "rbac.authorization.k8s.io/v1alpha1");
        }
        "ServiceAccount" => set_if_zero(subject, v1alpha1::Subject::API_VERSION, "v1"),
        _ => {}
    }
}
