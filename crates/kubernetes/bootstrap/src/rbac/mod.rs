//! The roles and bindings of a new server.
//!
//! The tables of this module are the one place where the permissions of the built-in users, groups and service accounts
//! are written down. Every binding refers to a role of these tables; nothing here grants by code.

mod cluster_bindings;
mod component_roles;
mod controller_roles;
mod namespaced;
mod table;
mod user_roles;

use crate::object::{BootstrapObject, Kind, type_meta};
use crate::reconcile::Reconcile;
use pintle_types::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use table::{GROUP, managed, policies, role_ref, subjects, system_account};

const CLUSTER_ROLE: Kind = Kind { group: GROUP, version: "v1", plural: "clusterroles", kind: "ClusterRole" };
const CLUSTER_ROLE_BINDING: Kind =
    Kind { group: GROUP, version: "v1", plural: "clusterrolebindings", kind: "ClusterRoleBinding" };
const ROLE: Kind = Kind { group: GROUP, version: "v1", plural: "roles", kind: "Role" };
const ROLE_BINDING: Kind = Kind { group: GROUP, version: "v1", plural: "rolebindings", kind: "RoleBinding" };

/// The role of nodes.
const NODE_ROLE: &str = "system:node";

/// Cluster roles that were split from others, and these.
const SPLIT_ROLES: [(&str, &str); 3] = [
    ("system:aggregate-to-admin", "admin"),
    ("system:aggregate-to-edit", "edit"),
    ("system:aggregate-to-view", "view"),
];
/// The same of cluster role bindings.
const SPLIT_BINDINGS: [(&str, &str); 1] = [("system:public-info-viewer", "system:discovery")];

fn source_of(name: &str, split: &[(&'static str, &'static str)]) -> Option<&'static str> {
    split.iter().find(|(own, _)| *own == name).map(|(_, source)| *source)
}

/// Appends roles before their bindings.
pub(crate) fn objects(out: &mut Vec<BootstrapObject>) {
    for role in user_roles::USER_ROLES.iter().chain(component_roles::COMPONENT_ROLES) {
        out.push(BootstrapObject { split_from: source_of(role.name, &SPLIT_ROLES), ..cluster_role(role) });
    }
    for controller in controller_roles::CONTROLLERS {
        let name = controller_role_name(controller.name);
        out.push(CLUSTER_ROLE.object(
            "",
            Reconcile::Role,
            &ClusterRole {
                type_meta: type_meta(CLUSTER_ROLE),
                metadata: managed(&name, ""),
                rules: policies(controller.rules),
                aggregation_rule: None,
            },
        ));
    }
    for binding in cluster_bindings::CLUSTER_BINDINGS {
        let split_from = source_of(binding.name, &SPLIT_BINDINGS);
        out.push(BootstrapObject { split_from, ..cluster_role_binding(binding.name, binding.subjects) });
    }
    for controller in controller_roles::CONTROLLERS {
        out.push(cluster_role_binding(&controller_role_name(controller.name), &[system_account(controller.name)]));
    }
    for role in namespaced::ROLES {
        out.push(ROLE.object(
            role.namespace,
            Reconcile::Role,
            &Role {
                type_meta: type_meta(ROLE),
                metadata: managed(role.name, role.namespace),
                rules: policies(role.rules),
            },
        ));
    }
    for binding in namespaced::BINDINGS {
        out.push(ROLE_BINDING.object(
            binding.namespace,
            Reconcile::Binding,
            &RoleBinding {
                type_meta: type_meta(ROLE_BINDING),
                metadata: managed(binding.name, binding.namespace),
                subjects: subjects(binding.subjects),
                role_ref: role_ref("Role", binding.role),
            },
        ));
    }
}

/// The rules of every node, for the node authorizer.
pub fn node_rules() -> Vec<PolicyRule> {
    let role = component_roles::COMPONENT_ROLES.iter().find(|role| role.name == NODE_ROLE);
    role.map(|role| policies(role.rules)).unwrap_or_default()
}

fn controller_role_name(controller: &str) -> String {
    format!("system:controller:{controller}")
}

fn cluster_role(role: &table::Role) -> BootstrapObject {
    CLUSTER_ROLE.object(
        "",
        Reconcile::Role,
        &ClusterRole {
            type_meta: type_meta(CLUSTER_ROLE),
            metadata: role.metadata(),
            rules: policies(role.rules),
            aggregation_rule: role.aggregation(),
        },
    )
}

fn cluster_role_binding(name: &str, to: &[table::Subject]) -> BootstrapObject {
    CLUSTER_ROLE_BINDING.object(
        "",
        Reconcile::Binding,
        &ClusterRoleBinding {
            type_meta: type_meta(CLUSTER_ROLE_BINDING),
            metadata: managed(name, ""),
            subjects: subjects(to),
            role_ref: role_ref("ClusterRole", name),
        },
    )
}
