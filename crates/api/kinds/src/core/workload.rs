//! PodTemplates and ReplicationControllers.
//!
//! Newer workloads stand in `apps`.

use crate::core::pod_spec;
use crate::resource::{NOT_SUPPORTED, Resource, SCALE, Selectable, Storage, Subresource};
use crate::strategy::{GENERAL, GarbageCollection, NameRule, SPEC_PATHS, STATUS, Strategy, WITH_STATUS};
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1;

pub(super) static POD_TEMPLATES: Resource = Resource {
    storage: Some(Storage::of::<v1::PodTemplate>("v1", "PodTemplate", "/registry/podtemplates/", "LIXB2x4IFpk=")),
    strategy: &POD_TEMPLATE,
    ..Resource::namespaced::<v1::PodTemplate>("", "v1", "podtemplates", "podtemplate", "PodTemplate")
};

pub(super) static REPLICATION_CONTROLLERS: Resource = Resource {
    short_names: &["rc"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::ReplicationController>(
        "v1",
        "ReplicationController",
        "/registry/controllers/",
        "Jond2If31h0=",
    )),
    subresources: &[
        Subresource::scale(&SCALE),
        Subresource::status::<v1::ReplicationController>("ReplicationController", &STATUS),
    ],
    selectable: &[Selectable::path("status.replicas", &["status", "replicas"])],
    selector_refusal: NOT_SUPPORTED,
    strategy: &REPLICATION_CONTROLLER,
    ..Resource::namespaced::<v1::ReplicationController>(
        "",
        "v1",
        "replicationcontrollers",
        "replicationcontroller",
        "ReplicationController",
    )
};

static POD_TEMPLATE: Strategy = Strategy {
    delete_answers_object: true,
    generation: Some(&[&["template"]]),
    normalize: Some(normalize_pod_template),
    ..GENERAL
};

static REPLICATION_CONTROLLER: Strategy = Strategy {
    name: NameRule::None,
    garbage_collection: GarbageCollection::Orphan,
    generation: Some(SPEC_PATHS),
    normalize: Some(normalize_replication_controller),
    ..WITH_STATUS
};

fn normalize_pod_template(object: &mut Value) {
    pod_spec::normalize_template(ViewMut::<v1::PodTemplate>::new(object).field(v1::PodTemplate::TEMPLATE));
}

fn normalize_replication_controller(object: &mut Value) {
    let spec = ViewMut::<v1::ReplicationController>::new(object).field(v1::ReplicationController::SPEC);
    if let Some(template) = spec.field(v1::ReplicationControllerSpec::TEMPLATE).some() {
        pod_spec::normalize_template(template);
    }
}
