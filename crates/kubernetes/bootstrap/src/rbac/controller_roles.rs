//! The roles of the controllers of the controller manager; each has its own service account in `kube-system`.
//!
//! A controller gets only the permissions that it needs. A rule removed here stays in existing clusters: reconciling only adds.

use super::table::{
    ADMISSION, ANY, APPS, APPS_AND_EXTENSIONS, AUTHORIZATION, AUTOSCALING, BATCH, CERTIFICATES, CORE, CREATE,
    DISCOVERY, EVENTS, GET, LIST, MODIFY, NETWORKING, POLICY, RBAC, READ, READ_UPDATE, RESOURCE, Rule, STORAGE, UPDATE,
    rule,
};

/// A controller: the name of its service account, of its role and of its binding, and the role's rules.
pub(super) struct Controller {
    pub name: &'static str,
    pub rules: &'static [Rule],
}

const fn controller(name: &'static str, rules: &'static [Rule]) -> Controller {
    Controller { name, rules }
}

pub(super) const CONTROLLERS: &[Controller] = &[
    controller(
        "attachdetach-controller",
        &[
            rule(LIST, CORE, &["persistentvolumeclaims", "persistentvolumes"]),
            rule(READ, CORE, &["nodes"]),
            rule(MODIFY, CORE, &["nodes/status"]),
            rule(LIST, CORE, &["pods"]),
            EVENTS,
            rule(&["create", "delete", "get", "list", "watch"], STORAGE, &["volumeattachments"]),
            rule(READ, STORAGE, &["csidrivers"]),
            rule(READ, STORAGE, &["csinodes"]),
        ],
    ),
    controller(
        "certificate-controller",
        &[
            rule(&["delete", "get", "list", "watch"], CERTIFICATES, &["certificatesigningrequests"]),
            rule(UPDATE, CERTIFICATES, &["certificatesigningrequests/approval", "certificatesigningrequests/status"]),
            rule(&["approve"], CERTIFICATES, &["signers"]).named(&["kubernetes.io/kube-apiserver-client-kubelet"]),
            rule(&["sign"], CERTIFICATES, &["signers"]).named(&[
                "kubernetes.io/kube-apiserver-client",
                "kubernetes.io/kube-apiserver-client-kubelet",
                "kubernetes.io/kubelet-serving",
                "kubernetes.io/legacy-unknown",
            ]),
            rule(CREATE, AUTHORIZATION, &["subjectaccessreviews"]),
            EVENTS,
        ],
    ),
    controller(
        "clusterrole-aggregation-controller",
        &[rule(&["escalate", "get", "list", "patch", "update", "watch"], RBAC, &["clusterroles"])],
    ),
    controller(
        "cronjob-controller",
        &[
            rule(READ_UPDATE, BATCH, &["cronjobs"]),
            rule(&["create", "delete", "get", "list", "patch", "update", "watch"], BATCH, &["jobs"]),
            rule(UPDATE, BATCH, &["cronjobs/status"]),
            rule(UPDATE, BATCH, &["cronjobs/finalizers"]),
            rule(&["delete", "list", "watch"], CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "daemon-set-controller",
        &[
            rule(READ, APPS_AND_EXTENSIONS, &["daemonsets"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["daemonsets/status"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["daemonsets/finalizers"]),
            rule(LIST, CORE, &["nodes"]),
            rule(&["create", "delete", "list", "patch", "watch"], CORE, &["pods"]),
            rule(CREATE, CORE, &["pods/binding"]),
            rule(&["create", "delete", "get", "list", "patch", "update", "watch"], APPS, &["controllerrevisions"]),
            EVENTS,
        ],
    ),
    controller(
        "deployment-controller",
        &[
            rule(READ_UPDATE, APPS_AND_EXTENSIONS, &["deployments"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["deployments/status"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["deployments/finalizers"]),
            rule(
                &["create", "delete", "get", "list", "patch", "update", "watch"],
                APPS_AND_EXTENSIONS,
                &["replicasets"],
            ),
            rule(READ_UPDATE, CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "device-taint-eviction-controller",
        &[
            rule(&["delete", "get", "list", "watch"], CORE, &["pods"]),
            rule(MODIFY, CORE, &["pods/status"]),
            rule(READ, RESOURCE, &["resourceclaims"]),
            rule(READ, RESOURCE, &["resourceslices"]),
            rule(READ, RESOURCE, &["deviceclasses"]),
            EVENTS,
        ],
    ),
    controller(
        "disruption-controller",
        &[
            rule(READ, APPS_AND_EXTENSIONS, &["deployments"]),
            rule(READ, APPS_AND_EXTENSIONS, &["replicasets"]),
            rule(READ, CORE, &["replicationcontrollers"]),
            rule(READ, POLICY, &["poddisruptionbudgets"]),
            rule(READ, APPS, &["statefulsets"]),
            rule(UPDATE, POLICY, &["poddisruptionbudgets/status"]),
            rule(MODIFY, CORE, &["pods/status"]),
            rule(GET, ANY, &["*/scale"]),
            EVENTS,
        ],
    ),
    controller(
        "endpoint-controller",
        &[
            rule(READ, CORE, &["pods", "services"]),
            rule(&["create", "delete", "get", "list", "update", "watch"], CORE, &["endpoints"]),
            rule(CREATE, CORE, &["endpoints/restricted"]),
            EVENTS,
        ],
    ),
    controller(
        "endpointslice-controller",
        &[
            rule(READ, CORE, &["nodes", "pods", "services"]),
            rule(UPDATE, CORE, &["services/finalizers"]),
            rule(&["create", "delete", "get", "list", "update", "watch"], DISCOVERY, &["endpointslices"]),
            rule(CREATE, DISCOVERY, &["endpointslices/restricted"]),
            EVENTS,
        ],
    ),
    controller(
        "endpointslicemirroring-controller",
        &[
            rule(READ, CORE, &["endpoints", "services"]),
            rule(UPDATE, CORE, &["services/finalizers"]),
            rule(UPDATE, CORE, &["endpoints/finalizers"]),
            rule(&["create", "delete", "get", "list", "update", "watch"], DISCOVERY, &["endpointslices"]),
            rule(CREATE, DISCOVERY, &["endpointslices/restricted"]),
            EVENTS,
        ],
    ),
    controller(
        "ephemeral-volume-controller",
        &[
            rule(READ, CORE, &["pods"]),
            rule(UPDATE, CORE, &["pods/finalizers"]),
            rule(&["create", "get", "list", "watch"], CORE, &["persistentvolumeclaims"]),
            EVENTS,
        ],
    ),
    controller(
        "expand-controller",
        &[
            rule(&["get", "list", "patch", "update", "watch"], CORE, &["persistentvolumes"]),
            rule(MODIFY, CORE, &["persistentvolumeclaims/status"]),
            rule(READ, CORE, &["persistentvolumeclaims"]),
            EVENTS,
        ],
    ),
    controller(
        "generic-garbage-collector",
        &[rule(&["delete", "get", "list", "patch", "update", "watch"], ANY, ANY), EVENTS],
    ),
    controller(
        "horizontal-pod-autoscaler",
        &[
            rule(READ, AUTOSCALING, &["horizontalpodautoscalers"]),
            rule(UPDATE, AUTOSCALING, &["horizontalpodautoscalers/status"]),
            rule(&["get", "update"], ANY, &["*/scale"]),
            rule(LIST, CORE, &["pods"]),
            rule(LIST, &["metrics.k8s.io"], &["pods"]),
            rule(READ, &["custom.metrics.k8s.io"], ANY),
            rule(READ, &["external.metrics.k8s.io"], ANY),
            EVENTS,
        ],
    ),
    controller(
        "job-controller",
        &[
            rule(&["get", "list", "patch", "update", "watch"], BATCH, &["jobs"]),
            rule(UPDATE, BATCH, &["jobs/status"]),
            rule(UPDATE, BATCH, &["jobs/finalizers"]),
            rule(&["create", "delete", "list", "patch", "watch"], CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "legacy-service-account-token-cleaner",
        &[
            rule(GET, CORE, &["configmaps"]).named(&["kube-apiserver-legacy-service-account-token-tracking"]),
            rule(&["delete", "patch"], CORE, &["secrets"]),
        ],
    ),
    controller(
        "namespace-controller",
        &[
            rule(&["delete", "get", "list", "watch"], CORE, &["namespaces"]),
            rule(UPDATE, CORE, &["namespaces/finalize", "namespaces/status"]),
            rule(&["delete", "deletecollection", "get", "list", "watch"], ANY, ANY),
        ],
    ),
    controller(
        "node-controller",
        &[
            rule(&["delete", "get", "list", "patch", "update", "watch"], CORE, &["nodes"]),
            rule(MODIFY, CORE, &["nodes/status"]),
            rule(MODIFY, CORE, &["pods/status"]),
            rule(&["delete", "get", "list", "watch"], CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "persistent-volume-binder",
        &[
            rule(&["create", "delete", "get", "list", "update", "watch"], CORE, &["persistentvolumes"]),
            rule(UPDATE, CORE, &["persistentvolumes/status"]),
            rule(READ_UPDATE, CORE, &["persistentvolumeclaims"]),
            rule(UPDATE, CORE, &["persistentvolumeclaims/status"]),
            rule(&["create", "delete", "get", "list", "watch"], CORE, &["pods"]),
            rule(READ, STORAGE, &["storageclasses"]),
            rule(LIST, CORE, &["nodes"]),
            EVENTS,
            rule(&["watch"], CORE, &["events"]),
        ],
    ),
    controller(
        "pod-garbage-collector",
        &[
            rule(&["delete", "list", "watch"], CORE, &["pods"]),
            rule(READ, CORE, &["nodes"]),
            rule(&["patch"], CORE, &["pods/status"]),
        ],
    ),
    controller("pv-protection-controller", &[rule(READ_UPDATE, CORE, &["persistentvolumes"]), EVENTS]),
    controller(
        "pvc-protection-controller",
        &[
            rule(READ_UPDATE, CORE, &["persistentvolumeclaims"]),
            rule(UPDATE, CORE, &["persistentvolumeclaims/status"]),
            rule(READ, CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "replicaset-controller",
        &[
            rule(READ_UPDATE, APPS_AND_EXTENSIONS, &["replicasets"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["replicasets/status"]),
            rule(UPDATE, APPS_AND_EXTENSIONS, &["replicasets/finalizers"]),
            rule(&["create", "delete", "list", "patch", "watch"], CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "replication-controller",
        &[
            rule(READ_UPDATE, CORE, &["replicationcontrollers"]),
            rule(UPDATE, CORE, &["replicationcontrollers/status"]),
            rule(UPDATE, CORE, &["replicationcontrollers/finalizers"]),
            rule(&["create", "delete", "list", "patch", "watch"], CORE, &["pods"]),
            EVENTS,
        ],
    ),
    controller(
        "resource-claim-controller",
        &[
            rule(READ, CORE, &["pods"]),
            rule(UPDATE, CORE, &["pods/finalizers"]),
            rule(&["create", "delete", "get", "list", "watch"], RESOURCE, &["resourceclaims"]),
            rule(MODIFY, RESOURCE, &["resourceclaims", "resourceclaims/status"]),
            rule(MODIFY, CORE, &["pods/status"]),
            EVENTS,
            rule(MODIFY, RESOURCE, &["resourceclaims/binding"]),
        ],
    ),
    controller(
        "resourcequota-controller",
        &[rule(LIST, ANY, ANY), rule(UPDATE, CORE, &["resourcequotas/status"]), EVENTS],
    ),
    controller("root-ca-cert-publisher", &[rule(&["create", "update"], CORE, &["configmaps"]), EVENTS]),
    controller("route-controller", &[rule(LIST, CORE, &["nodes"]), rule(&["patch"], CORE, &["nodes/status"]), EVENTS]),
    controller(
        "selinux-warning-controller",
        &[
            EVENTS,
            rule(READ, CORE, &["persistentvolumes"]),
            rule(READ, CORE, &["persistentvolumeclaims"]),
            rule(READ, CORE, &["pods"]),
            rule(READ, STORAGE, &["csidrivers"]),
        ],
    ),
    controller("service-account-controller", &[rule(CREATE, CORE, &["serviceaccounts"]), EVENTS]),
    controller(
        "service-cidrs-controller",
        &[
            rule(&["get", "list", "patch", "update", "watch"], NETWORKING, &["servicecidrs"]),
            rule(MODIFY, NETWORKING, &["servicecidrs/finalizers"]),
            rule(MODIFY, NETWORKING, &["servicecidrs/status"]),
            rule(READ, NETWORKING, &["ipaddresses"]),
            EVENTS,
        ],
    ),
    controller(
        "service-controller",
        &[
            rule(READ, CORE, &["services"]),
            rule(MODIFY, CORE, &["services/status"]),
            rule(LIST, CORE, &["nodes"]),
            EVENTS,
        ],
    ),
    controller(
        "statefulset-controller",
        &[
            rule(LIST, CORE, &["pods"]),
            rule(READ, APPS, &["statefulsets"]),
            rule(UPDATE, APPS, &["statefulsets/status"]),
            rule(UPDATE, APPS, &["statefulsets/finalizers"]),
            rule(&["create", "delete", "get", "patch", "update"], CORE, &["pods"]),
            rule(&["create", "delete", "get", "list", "patch", "update", "watch"], APPS, &["controllerrevisions"]),
            rule(&["create", "get", "list", "watch"], CORE, &["persistentvolumeclaims"]),
            rule(&["delete", "update"], CORE, &["persistentvolumeclaims"]),
            rule(UPDATE, CORE, &["pods/finalizers"]),
            EVENTS,
        ],
    ),
    controller("ttl-after-finished-controller", &[rule(&["delete", "get", "list", "watch"], BATCH, &["jobs"]), EVENTS]),
    controller("ttl-controller", &[rule(&["list", "patch", "update", "watch"], CORE, &["nodes"]), EVENTS]),
    controller(
        "validatingadmissionpolicy-status-controller",
        &[
            rule(READ, ADMISSION, &["validatingadmissionpolicies"]),
            rule(&["get", "patch", "update"], ADMISSION, &["validatingadmissionpolicies/status"]),
            EVENTS,
        ],
    ),
    controller(
        "volumeattributesclass-protection-controller",
        &[
            rule(READ, CORE, &["persistentvolumeclaims"]),
            rule(READ, CORE, &["persistentvolumes"]),
            rule(READ_UPDATE, STORAGE, &["volumeattributesclasses"]),
            EVENTS,
        ],
    ),
];
