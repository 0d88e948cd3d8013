//! Cluster roles of the components of a cluster: kubelet, scheduler, controller manager, proxy, add-ons.
//!
//! `system:node` has no binding: the node authorizer decides for kubelets. It must never get a subject.

use super::table::{
    ANY, APPS, APPS_AND_EXTENSIONS, AUTHENTICATION, AUTHORIZATION, CERTIFICATES, COORDINATION, CORE, CREATE, DISCOVERY,
    EVENTS, EXTENSIONS, GET, LIST, MODIFY, NETWORKING, POLICY, READ, READ_UPDATE, READ_WRITE, RESOURCE, Role, STORAGE,
    UPDATE, role, rule,
};

pub(super) const COMPONENT_ROLES: &[Role] = &[
    role(
        "system:auth-delegator",
        &[rule(CREATE, AUTHENTICATION, &["tokenreviews"]), rule(CREATE, AUTHORIZATION, &["subjectaccessreviews"])],
    ),
    role(
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        &[rule(CREATE, CERTIFICATES, &["certificatesigningrequests/nodeclient"])],
    ),
    role(
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        &[rule(CREATE, CERTIFICATES, &["certificatesigningrequests/selfnodeclient"])],
    ),
    role(
        "system:certificates.k8s.io:kube-apiserver-client-approver",
        &[rule(&["approve"], CERTIFICATES, &["signers"]).named(&["kubernetes.io/kube-apiserver-client"])],
    ),
    role(
        "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
        &[rule(&["approve"], CERTIFICATES, &["signers"]).named(&["kubernetes.io/kube-apiserver-client-kubelet"])],
    ),
    role(
        "system:certificates.k8s.io:kubelet-serving-approver",
        &[rule(&["approve"], CERTIFICATES, &["signers"]).named(&["kubernetes.io/kubelet-serving"])],
    ),
    role(
        "system:certificates.k8s.io:legacy-unknown-approver",
        &[rule(&["approve"], CERTIFICATES, &["signers"]).named(&["kubernetes.io/legacy-unknown"])],
    ),
    role(
        "system:heapster",
        &[rule(READ, CORE, &["events", "namespaces", "nodes", "pods"]), rule(READ, EXTENSIONS, &["deployments"])],
    ),
    role("system:kube-aggregator", &[rule(READ, CORE, &["endpoints", "services"])]),
    role(
        "system:kube-controller-manager",
        &[
            EVENTS,
            rule(CREATE, COORDINATION, &["leases"]),
            rule(&["get", "update"], COORDINATION, &["leases"]).named(&["kube-controller-manager"]),
            rule(CREATE, CORE, &["secrets", "serviceaccounts"]),
            rule(&["delete"], CORE, &["secrets"]),
            rule(GET, CORE, &["configmaps", "namespaces", "secrets", "serviceaccounts"]),
            rule(UPDATE, CORE, &["secrets", "serviceaccounts"]),
            rule(CREATE, AUTHENTICATION, &["tokenreviews"]),
            rule(CREATE, AUTHORIZATION, &["subjectaccessreviews"]),
            rule(LIST, ANY, ANY),
            rule(CREATE, CORE, &["serviceaccounts/token"]),
        ],
    ),
    role("system:kube-dns", &[rule(LIST, CORE, &["endpoints", "services"])]),
    role(
        "system:kube-scheduler",
        &[
            EVENTS,
            rule(CREATE, COORDINATION, &["leases"]),
            rule(READ_UPDATE, COORDINATION, &["leases"]).named(&["kube-scheduler"]),
            rule(READ_WRITE, COORDINATION, &["leasecandidates"]),
            rule(READ, CORE, &["nodes"]),
            rule(&["delete", "get", "list", "watch"], CORE, &["pods"]),
            rule(CREATE, CORE, &["bindings", "pods/binding"]),
            rule(MODIFY, CORE, &["pods/status"]),
            rule(READ, CORE, &["replicationcontrollers", "services"]),
            rule(READ, APPS_AND_EXTENSIONS, &["replicasets"]),
            rule(READ, APPS, &["statefulsets"]),
            rule(READ, POLICY, &["poddisruptionbudgets"]),
            rule(READ, CORE, &["persistentvolumeclaims", "persistentvolumes"]),
            rule(CREATE, AUTHENTICATION, &["tokenreviews"]),
            rule(CREATE, AUTHORIZATION, &["subjectaccessreviews"]),
            rule(READ, STORAGE, &["csinodes"]),
            rule(READ, STORAGE, &["volumeattachments"]),
            rule(READ, CORE, &["namespaces"]),
            rule(READ, STORAGE, &["csidrivers"]),
            rule(READ, STORAGE, &["csistoragecapacities"]),
            rule(READ, RESOURCE, &["deviceclasses"]),
            rule(&["get", "list", "patch", "update", "watch"], RESOURCE, &["resourceclaims"]),
            rule(&["get", "list", "patch", "update", "watch"], RESOURCE, &["resourceclaims/status"]),
            rule(UPDATE, CORE, &["pods/finalizers"]),
            rule(READ, RESOURCE, &["resourceslices"]),
            rule(&["create", "delete"], RESOURCE, &["resourceclaims"]),
            rule(MODIFY, RESOURCE, &["resourceclaims/binding"]),
        ],
    ),
    role(
        "system:kubelet-api-admin",
        &[
            rule(READ, CORE, &["nodes"]),
            rule(&["proxy"], CORE, &["nodes"]),
            rule(ANY, CORE, &["nodes/log", "nodes/metrics", "nodes/proxy", "nodes/stats"]),
            rule(ANY, CORE, &["nodes/configz", "nodes/healthz", "nodes/pods"]),
        ],
    ),
    role(
        super::NODE_ROLE,
        &[
            rule(CREATE, AUTHENTICATION, &["tokenreviews"]),
            rule(CREATE, AUTHORIZATION, &["localsubjectaccessreviews", "subjectaccessreviews"]),
            rule(READ, CORE, &["services"]),
            rule(&["create", "get", "list", "watch"], CORE, &["nodes"]),
            rule(MODIFY, CORE, &["nodes/status"]),
            rule(MODIFY, CORE, &["nodes"]),
            EVENTS,
            rule(READ, CORE, &["pods"]),
            rule(&["create", "delete"], CORE, &["pods"]),
            rule(MODIFY, CORE, &["pods/status"]),
            rule(CREATE, CORE, &["pods/eviction"]),
            rule(READ, CORE, &["configmaps", "secrets"]),
            rule(GET, CORE, &["persistentvolumeclaims", "persistentvolumes"]),
            rule(GET, CORE, &["endpoints"]),
            rule(&["create", "get", "list", "watch"], CERTIFICATES, &["certificatesigningrequests"]),
            rule(&["create", "delete", "get", "patch", "update"], COORDINATION, &["leases"]),
            rule(GET, STORAGE, &["volumeattachments"]),
            rule(CREATE, CORE, &["serviceaccounts/token"]),
            rule(&["get", "patch", "update"], CORE, &["persistentvolumeclaims/status"]),
            rule(READ, STORAGE, &["csidrivers"]),
            rule(&["create", "delete", "get", "patch", "update"], STORAGE, &["csinodes"]),
            rule(READ, &["node.k8s.io"], &["runtimeclasses"]),
            rule(GET, RESOURCE, &["resourceclaims"]),
            rule(&["deletecollection"], RESOURCE, &["resourceslices"]),
            rule(GET, CORE, &["serviceaccounts"]),
        ],
    ),
    role(
        "system:node-bootstrapper",
        &[rule(&["create", "get", "list", "watch"], CERTIFICATES, &["certificatesigningrequests"])],
    ),
    role(
        "system:node-problem-detector",
        &[rule(GET, CORE, &["nodes"]), rule(&["patch"], CORE, &["nodes/status"]), EVENTS],
    ),
    role(
        "system:node-proxier",
        &[
            rule(LIST, CORE, &["endpoints", "services"]),
            rule(READ, CORE, &["nodes"]),
            EVENTS,
            rule(LIST, NETWORKING, &["servicecidrs"]),
            rule(LIST, DISCOVERY, &["endpointslices"]),
        ],
    ),
    role(
        "system:persistent-volume-provisioner",
        &[
            rule(&["create", "delete", "get", "list", "watch"], CORE, &["persistentvolumes"]),
            rule(READ_UPDATE, CORE, &["persistentvolumeclaims"]),
            rule(READ, STORAGE, &["storageclasses"]),
            rule(&["watch"], CORE, &["events"]),
            EVENTS,
        ],
    ),
    role(
        "system:volume-scheduler",
        &[
            rule(&["get", "list", "patch", "update", "watch"], CORE, &["persistentvolumes"]),
            rule(READ, STORAGE, &["storageclasses"]),
            rule(&["get", "list", "patch", "update", "watch"], CORE, &["persistentvolumeclaims"]),
        ],
    ),
];
