//! The `apiregistration.k8s.io` group: the registration of API groups.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{GENERAL, NameRule, Part, STATUS, STATUS_PATHS, Strategy};
use pintle_types::apiregistration::{v1};

pub(crate) static RESOURCES: &[&Resource] = &[&API_SERVICES];

static API_SERVICE_STRATEGY: Strategy = Strategy {
    name: NameRule::None,
    unconditional_update: false,
    reset_fields: STATUS_PATHS,
    // TODO prepareCreate: status cleared; without spec.service condition Available=True reason Local
    // TODO prepareUpdate: status kept
    ..GENERAL
};

static API_SERVICE_STATUS: Part = Part { keeps: &[], reset_fields: &[], /* spec, labels, annotations, finalizers, ownerReferences kept */ prepare: None, ..STATUS };

static API_SERVICES: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1::APIService>("apiregistration.k8s.io/v1", "APIService", "/registry/apiregistration.k8s.io/apiservices/", "InPBPD7+PqM=")),
    subresources: &[
        Subresource::status::<v1::APIService>("APIService", &API_SERVICE_STATUS),
    ],
    strategy: &API_SERVICE_STRATEGY,
    ..Resource::cluster::<v1::APIService>("apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService")
};
