//! PodTemplates and ReplicationControllers.
//!
//! Newer workloads are in `apps`.

use crate::core::pod_spec;
use crate::printing::printer;
use pintle_resource::{
    GENERAL, GarbageCollection, NOT_SUPPORTED, NameRule, Resource, SPEC_PATHS, STATUS, ScalePaths, Selectable, Storage,
    Strategy, Subresource, WITH_STATUS,
};
use pintle_schema::{Value, ViewMut};
use pintle_types::autoscaling::v1::Scale;
use pintle_types::core::v1;

pub(super) fn pod_templates() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::PodTemplate>()),
        strategy: &POD_TEMPLATE,
        printer: printer(&super::columns::pod::POD_TEMPLATE),
        warn: Some(super::rules::template_warnings::pod_template),
        ..Resource::of::<v1::PodTemplate>()
    }
}

pub(super) fn replication_controllers() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ReplicationController>().under("/registry/controllers/")),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<v1::ReplicationController>(&STATUS),
        ],
        selectable: vec![Selectable::path("status.replicas", &["status", "replicas"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &REPLICATION_CONTROLLER,
        printer: printer(&super::columns::REPLICATION_CONTROLLER),
        warn: Some(super::rules::template_warnings::replication_controller),
        ..Resource::of::<v1::ReplicationController>()
    }
}

static POD_TEMPLATE: Strategy = Strategy {
    delete_answers_object: true,
    generation: Some(&[&["template"]]),
    normalize: Some(normalize_pod_template),
    ..GENERAL
};

static REPLICATION_CONTROLLER: Strategy = Strategy {
    name: NameRule::LongName,
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
