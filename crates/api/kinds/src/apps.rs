//! The `apps` group: workloads that keep sets of pods.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, SCALE, Storage, Subresource};
use crate::strategy::{NameRule, Part, SPEC_PATHS, STATUS, Strategy, WITH_STATUS};
use pintle_types::apps::{v1};

pub(crate) static RESOURCES: &[&Resource] = &[&CONTROLLER_REVISIONS, &DAEMON_SETS, &DEPLOYMENTS, &REPLICA_SETS, &STATEFUL_SETS];

static DAEMON_SET_STRATEGY: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    // TODO prepareCreate: annotation deprecated.daemonset.template.generation at least "1"
    // TODO prepareUpdate: template generation annotation kept from old, +1 when spec.template differs
    // TODO prepareUpdate: generation +1 when spec differs
    ..WITH_STATUS
};

static DAEMON_SET_STATUS: Part = Part { keeps: &[&["metadata", "annotations", "deprecated.daemonset.template.generation"], &["spec"]], ..STATUS };

static DEPLOYMENT_STRATEGY: Strategy = Strategy {
    generation: Some(&[&["spec"], &["metadata", "annotations"]]),
    // TODO prepareUpdate: generation +1 when spec or annotations differ
    ..WITH_STATUS
};

static DEPLOYMENT_STATUS: Part = Part { keeps: &[&["metadata", "annotations", "deprecated.deployment.rollback.to"], &["metadata", "labels"], &["spec"]], reset_fields: &[&["spec"], &["metadata", "labels"]], /* metadata.labels kept */ prepare: None, /* terminatingReplicas dropped while gate DeploymentReplicaSetTerminatingReplicas is off and unset before */ prepare: None, ..STATUS };

static REPLICA_SET_STRATEGY: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    ..WITH_STATUS
};

static STATEFUL_SET_STRATEGY: Strategy = Strategy {
    name: NameRule::Label,
    generation: Some(SPEC_PATHS),
    ..WITH_STATUS
};

static CONTROLLER_REVISIONS: Resource = Resource {
    storage: Some(Storage::of::<v1::ControllerRevision>("apps/v1", "ControllerRevision", "/registry/controllerrevisions/", "85nkx63pcBU=")),
    ..Resource::namespaced::<v1::ControllerRevision>("apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision")
};

static DAEMON_SETS: Resource = Resource {
    short_names: &["ds"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::DaemonSet>("apps/v1", "DaemonSet", "/registry/daemonsets/", "dd7pWHUlMKQ=")),
    subresources: &[
        Subresource::status::<v1::DaemonSet>("DaemonSet", &DAEMON_SET_STATUS),
    ],
    strategy: &DAEMON_SET_STRATEGY,
    ..Resource::namespaced::<v1::DaemonSet>("apps", "v1", "daemonsets", "daemonset", "DaemonSet")
};

static DEPLOYMENTS: Resource = Resource {
    short_names: &["deploy"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::Deployment>("apps/v1", "Deployment", "/registry/deployments/", "8aSe+NMegvE=")),
    subresources: &[
        Subresource::scale(&SCALE),
        Subresource::status::<v1::Deployment>("Deployment", &DEPLOYMENT_STATUS),
    ],
    strategy: &DEPLOYMENT_STRATEGY,
    ..Resource::namespaced::<v1::Deployment>("apps", "v1", "deployments", "deployment", "Deployment")
};

static REPLICA_SETS: Resource = Resource {
    short_names: &["rs"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::ReplicaSet>("apps/v1", "ReplicaSet", "/registry/replicasets/", "P1RzHs8/mWQ=")),
    subresources: &[
        Subresource::scale(&SCALE),
        Subresource::status::<v1::ReplicaSet>("ReplicaSet", &STATUS),
    ],
    strategy: &REPLICA_SET_STRATEGY,
    ..Resource::namespaced::<v1::ReplicaSet>("apps", "v1", "replicasets", "replicaset", "ReplicaSet")
};

static STATEFUL_SETS: Resource = Resource {
    short_names: &["sts"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::StatefulSet>("apps/v1", "StatefulSet", "/registry/statefulsets/", "H+vl74LkKdo=")),
    subresources: &[
        Subresource::scale(&SCALE),
        Subresource::status::<v1::StatefulSet>("StatefulSet", &STATUS),
    ],
    strategy: &STATEFUL_SET_STRATEGY,
    ..Resource::namespaced::<v1::StatefulSet>("apps", "v1", "statefulsets", "statefulset", "StatefulSet")
};
