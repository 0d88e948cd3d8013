//! Cluster roles for users and for all clients: admin, edit and view, discovery, health.
//!
//! `admin`, `edit` and `view` have no rules of their own: they aggregate the roles labelled as parts of them.
//! `system:unauthenticated` has only `system:public-info-viewer`, which must never reveal more than that a server is up.

use super::table::{
    ANY, APPS, AUTHENTICATION, AUTHORIZATION, AUTOSCALING, BATCH, COORDINATION, CORE, CORE_AND_EVENTS, CREATE,
    DISCOVERY, EXTENSIONS, GET, NETWORKING, POLICY, RBAC, READ, READ_WRITE, RESOURCE, Role, WRITE, aggregate, role,
    rule, urls,
};

pub(super) const USER_ROLES: &[Role] = &[
    aggregate("admin", "admin"),
    role("cluster-admin", &[rule(ANY, ANY, ANY), urls(ANY, &["*"])]),
    aggregate("edit", "edit").part_of("admin"),
    role(
        "system:aggregate-to-admin",
        &[
            rule(CREATE, AUTHORIZATION, &["localsubjectaccessreviews"]),
            rule(READ_WRITE, RBAC, &["rolebindings", "roles"]),
        ],
    )
    .part_of("admin"),
    role(
        "system:aggregate-to-edit",
        &[
            rule(
                READ,
                CORE,
                &["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"],
            ),
            rule(&["impersonate"], CORE, &["serviceaccounts"]),
            rule(WRITE, CORE, &["pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]),
            rule(CREATE, CORE, &["pods/eviction"]),
            rule(
                WRITE,
                CORE,
                &[
                    "configmaps",
                    "persistentvolumeclaims",
                    "replicationcontrollers",
                    "replicationcontrollers/scale",
                    "secrets",
                    "serviceaccounts",
                    "services",
                    "services/proxy",
                ],
            ),
            rule(CREATE, CORE, &["serviceaccounts/token"]),
            rule(WRITE, CORE_AND_EVENTS, &["events"]),
            rule(
                WRITE,
                APPS,
                &[
                    "daemonsets",
                    "deployments",
                    "deployments/rollback",
                    "deployments/scale",
                    "replicasets",
                    "replicasets/scale",
                    "statefulsets",
                    "statefulsets/scale",
                ],
            ),
            rule(WRITE, AUTOSCALING, &["horizontalpodautoscalers"]),
            rule(WRITE, BATCH, &["cronjobs", "jobs"]),
            rule(
                WRITE,
                EXTENSIONS,
                &[
                    "daemonsets",
                    "deployments",
                    "deployments/rollback",
                    "deployments/scale",
                    "ingresses",
                    "networkpolicies",
                    "replicasets",
                    "replicasets/scale",
                    "replicationcontrollers/scale",
                ],
            ),
            rule(WRITE, POLICY, &["poddisruptionbudgets"]),
            rule(WRITE, NETWORKING, &["ingresses", "networkpolicies"]),
            rule(READ_WRITE, COORDINATION, &["leases"]),
            rule(WRITE, RESOURCE, &["resourceclaims", "resourceclaimtemplates"]),
        ],
    )
    .part_of("edit"),
    role(
        "system:aggregate-to-view",
        &[
            rule(
                READ,
                CORE,
                &[
                    "configmaps",
                    "endpoints",
                    "persistentvolumeclaims",
                    "persistentvolumeclaims/status",
                    "pods",
                    "replicationcontrollers",
                    "replicationcontrollers/scale",
                    "serviceaccounts",
                    "services",
                    "services/status",
                ],
            ),
            rule(
                READ,
                CORE,
                &[
                    "bindings",
                    "limitranges",
                    "namespaces/status",
                    "pods/log",
                    "pods/status",
                    "replicationcontrollers/status",
                    "resourcequotas",
                    "resourcequotas/status",
                ],
            ),
            rule(READ, CORE, &["namespaces"]),
            rule(READ, CORE_AND_EVENTS, &["events"]),
            rule(READ, DISCOVERY, &["endpointslices"]),
            rule(
                READ,
                APPS,
                &[
                    "controllerrevisions",
                    "daemonsets",
                    "daemonsets/status",
                    "deployments",
                    "deployments/scale",
                    "deployments/status",
                    "replicasets",
                    "replicasets/scale",
                    "replicasets/status",
                    "statefulsets",
                    "statefulsets/scale",
                    "statefulsets/status",
                ],
            ),
            rule(READ, AUTOSCALING, &["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
            rule(READ, BATCH, &["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
            rule(
                READ,
                EXTENSIONS,
                &[
                    "daemonsets",
                    "daemonsets/status",
                    "deployments",
                    "deployments/scale",
                    "deployments/status",
                    "ingresses",
                    "ingresses/status",
                    "networkpolicies",
                    "replicasets",
                    "replicasets/scale",
                    "replicasets/status",
                    "replicationcontrollers/scale",
                ],
            ),
            rule(READ, POLICY, &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
            rule(READ, NETWORKING, &["ingresses", "ingresses/status", "networkpolicies"]),
            rule(READ, RESOURCE, &["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"]),
        ],
    )
    .part_of("view"),
    role(
        "system:basic-user",
        &[
            rule(CREATE, AUTHORIZATION, &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
            rule(CREATE, AUTHENTICATION, &["selfsubjectreviews"]),
        ],
    ),
    role(
        "system:discovery",
        &[urls(
            GET,
            &[
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ],
        )],
    ),
    role(
        "system:monitoring",
        &[
            urls(
                GET,
                &[
                    "/flagz",
                    "/healthz",
                    "/healthz/*",
                    "/livez",
                    "/livez/*",
                    "/metrics",
                    "/metrics/slis",
                    "/readyz",
                    "/readyz/*",
                    "/statusz",
                ],
            ),
            rule(GET, CORE, &["nodes/metrics"]),
        ],
    ),
    role("system:public-info-viewer", &[urls(GET, &["/healthz", "/livez", "/readyz", "/version", "/version/"])]),
    role(
        "system:service-account-issuer-discovery",
        &[urls(
            GET,
            &[
                "/.well-known/openid-configuration",
                "/.well-known/openid-configuration/",
                "/openid/v1/jwks",
                "/openid/v1/jwks/",
            ],
        )],
    ),
    aggregate("view", "view").part_of("edit"),
];
