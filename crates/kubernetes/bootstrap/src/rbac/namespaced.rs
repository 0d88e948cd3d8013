//! Roles and bindings inside `kube-system` and `kube-public`.
//!
//! A binding refers to a role of its own namespace. Only the two controllers of bootstrap tokens read secrets of `kube-system`.

use super::table::{
    COORDINATION, CORE, EVENTS, NamespacedBinding, NamespacedRole, READ, UPDATE, rule, system_account, user,
};

pub(super) const ROLES: &[NamespacedRole] = &[
    NamespacedRole {
        namespace: "kube-public",
        name: "system:controller:bootstrap-signer",
        rules: &[
            rule(READ, CORE, &["configmaps"]),
            rule(UPDATE, CORE, &["configmaps"]).named(&["cluster-info"]),
            EVENTS,
        ],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "extension-apiserver-authentication-reader",
        rules: &[rule(READ, CORE, &["configmaps"]).named(&["extension-apiserver-authentication"])],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "system::leader-locking-kube-controller-manager",
        rules: &[
            rule(&["create", "get", "list", "update", "watch"], COORDINATION, &["leases"]),
            rule(&["create", "get", "list", "update", "watch"], COORDINATION, &["leasecandidates"]),
        ],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "system::leader-locking-kube-scheduler",
        rules: &[
            rule(&["create", "get", "list", "update", "watch"], COORDINATION, &["leases"]),
            rule(&["create", "get", "list", "update", "watch"], COORDINATION, &["leasecandidates"]),
        ],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "system:controller:bootstrap-signer",
        rules: &[rule(READ, CORE, &["secrets"])],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "system:controller:cloud-provider",
        rules: &[rule(&["create", "get", "list", "watch"], CORE, &["configmaps"])],
    },
    NamespacedRole {
        namespace: "kube-system",
        name: "system:controller:token-cleaner",
        rules: &[rule(&["delete", "get", "list", "watch"], CORE, &["secrets"]), EVENTS],
    },
];

pub(super) const BINDINGS: &[NamespacedBinding] = &[
    NamespacedBinding {
        namespace: "kube-public",
        name: "system:controller:bootstrap-signer",
        role: "system:controller:bootstrap-signer",
        subjects: &[system_account("bootstrap-signer")],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system::extension-apiserver-authentication-reader",
        role: "extension-apiserver-authentication-reader",
        subjects: &[user("system:kube-controller-manager"), user("system:kube-scheduler")],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system::leader-locking-kube-controller-manager",
        role: "system::leader-locking-kube-controller-manager",
        subjects: &[
            user("system:kube-controller-manager"),
            system_account("kube-controller-manager"),
            system_account("leader-election-controller"),
        ],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system::leader-locking-kube-scheduler",
        role: "system::leader-locking-kube-scheduler",
        subjects: &[user("system:kube-scheduler"), system_account("kube-scheduler")],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system:controller:bootstrap-signer",
        role: "system:controller:bootstrap-signer",
        subjects: &[system_account("bootstrap-signer")],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system:controller:cloud-provider",
        role: "system:controller:cloud-provider",
        subjects: &[system_account("cloud-provider")],
    },
    NamespacedBinding {
        namespace: "kube-system",
        name: "system:controller:token-cleaner",
        role: "system:controller:token-cleaner",
        subjects: &[system_account("token-cleaner")],
    },
];
