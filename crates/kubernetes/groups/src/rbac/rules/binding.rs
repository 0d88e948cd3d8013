//! Rules of RoleBinding and ClusterRoleBinding.

use crate::rules::internal_form::in_full;
use pintle_types::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use pintle_validation::{At, ValidationContext};

/// A binding in a namespace grants roles of the namespace or of the cluster, one of the cluster only the latter.
pub fn role_kind(kind: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let kinds: &[&str] = if cx.request.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.new.as_str()) {
        cx.errors.not_supported(kind.path, kind.new.as_str(), kinds);
    }
}

/// A binding in a namespace means the service account there unless it names another namespace.
pub fn subject_namespace(subject: At<'_, Subject>, cx: &mut ValidationContext<'_>) {
    let namespace = subject.new.field(Subject::NAMESPACE).as_str();
    if subject.new.field(Subject::KIND).as_str() == "ServiceAccount" && !cx.request.namespaced && namespace.is_empty() {
        cx.errors.required(subject.path.to(Subject::NAMESPACE), "");
    }
}

/// A binding keeps its role.
pub fn keeps_role(binding: At<'_, RoleBinding>, cx: &mut ValidationContext<'_>) {
    binding.field(RoleBinding::ROLE_REF, |role| keeps(role, cx));
}

/// The same for the whole cluster.
pub fn keeps_cluster_role(binding: At<'_, ClusterRoleBinding>, cx: &mut ValidationContext<'_>) {
    binding.field(ClusterRoleBinding::ROLE_REF, |role| keeps(role, cx));
}

fn keeps(role: At<'_, RoleRef>, cx: &mut ValidationContext<'_>) {
    if role.old.is_some() && !role.unchanged() {
        cx.errors.invalid(role.path, in_full(role.new), "cannot change roleRef");
    }
}
