//! Columns of the group `rbac.authorization.k8s.io`; roles have no columns of their own.
//!
//! Both kinds of binding have the same columns.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string, wide};
use pintle_schema::{Value, View};
use pintle_types::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};

printers! {
    ROLE_BINDING: RoleBinding |binding, now| {
        NAME => name(binding),
        string("Role", "Role that is granted.") => role(binding.to(RoleBinding::ROLE_REF)),
        AGE => age(binding, now),
        wide("Users", "Users that have the role.") => subjects(binding.to(RoleBinding::SUBJECTS), "User"),
        wide("Groups", "Groups that have the role.") => subjects(binding.to(RoleBinding::SUBJECTS), "Group"),
        wide("ServiceAccounts", "Service accounts that have the role.")
            => subjects(binding.to(RoleBinding::SUBJECTS), "ServiceAccount"),
    }
    CLUSTER_ROLE_BINDING: ClusterRoleBinding |binding, now| {
        NAME => name(binding),
        string("Role", "Role that is granted.") => role(binding.to(ClusterRoleBinding::ROLE_REF)),
        AGE => age(binding, now),
        wide("Users", "Users that have the role.") => subjects(binding.to(ClusterRoleBinding::SUBJECTS), "User"),
        wide("Groups", "Groups that have the role.") => subjects(binding.to(ClusterRoleBinding::SUBJECTS), "Group"),
        wide("ServiceAccounts", "Service accounts that have the role.")
            => subjects(binding.to(ClusterRoleBinding::SUBJECTS), "ServiceAccount"),
    }
}

fn role(role: View<'_, RoleRef>) -> Value {
    format!("{}/{}", str_of(role.to(RoleRef::KIND)), str_of(role.to(RoleRef::NAME))).into()
}

fn subjects(subjects: View<'_, Vec<Subject>>, kind: &str) -> Value {
    let subjects = subjects.iter().filter(|subject| str_of(subject.to(Subject::KIND)) == kind);
    let texts = subjects.map(|subject| {
        let name = str_of(subject.to(Subject::NAME));
        // Only service accounts live in a namespace.
        if kind != "ServiceAccount" {
            return name.to_owned();
        }
        format!("{}/{name}", str_of(subject.to(Subject::NAMESPACE)))
    });
    join(texts, ", ").into()
}
