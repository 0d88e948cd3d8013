//! The initial bindings of cluster roles. A binding has the name of its role.
//!
//! Bindings of controllers are made from their table. Nothing here may bind `system:unauthenticated` to more than
//! health and version.

use super::table::{Binding, binding, group, system_account, user};

pub(super) const CLUSTER_BINDINGS: &[Binding] = &[
    binding("cluster-admin", &[group("system:masters")]),
    binding("system:basic-user", &[group("system:authenticated")]),
    binding("system:discovery", &[group("system:authenticated")]),
    binding("system:kube-controller-manager", &[user("system:kube-controller-manager")]),
    binding("system:kube-dns", &[system_account("kube-dns")]),
    binding("system:kube-scheduler", &[user("system:kube-scheduler")]),
    binding("system:monitoring", &[group("system:monitoring")]),
    binding("system:node", &[]),
    binding("system:node-proxier", &[user("system:kube-proxy")]),
    binding("system:public-info-viewer", &[group("system:authenticated"), group("system:unauthenticated")]),
    binding("system:service-account-issuer-discovery", &[group("system:serviceaccounts")]),
    binding("system:volume-scheduler", &[user("system:kube-scheduler")]),
];
