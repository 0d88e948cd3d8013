//! Rules of RoleBinding and ClusterRoleBinding.

use pintle_types::rbac::v1::Subject;
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
