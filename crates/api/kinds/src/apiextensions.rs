//! The `apiextensions.k8s.io` group: custom resource definitions.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{GENERAL, NameRule, Part, SPEC_PATHS, STATUS, STATUS_PATHS, Strategy};
use pintle_types::apiextensions::{v1, v1beta1};

pub(crate) static RESOURCES: &[&Resource] = &[&CUSTOM_RESOURCE_DEFINITIONS];

static CUSTOM_RESOURCE_DEFINITION_STRATEGY: Strategy = Strategy {
    name: NameRule::None,
    unconditional_update: false,
    delete_answers_object: true,
    generation: Some(SPEC_PATHS),
    reset_fields: STATUS_PATHS,
    // TODO prepareCreate: status cleared, status.storedVersions = [storage version name]
    // TODO prepareCreate: generation = 1
    // TODO prepareUpdate: status kept; storage version name appended to status.storedVersions when missing
    // TODO prepareUpdate: generation +1 when spec differs
    ..GENERAL
};

static CUSTOM_RESOURCE_DEFINITION_STATUS: Part = Part { keeps: &[], reset_fields: &[], ..STATUS };

static CUSTOM_RESOURCE_DEFINITIONS: Resource = Resource {
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1beta1::CustomResourceDefinition>("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "/registry/apiextensions.k8s.io/customresourcedefinitions/", "jfWCUB31mvA=")),
    subresources: &[
        Subresource::status::<v1::CustomResourceDefinition>("CustomResourceDefinition", &CUSTOM_RESOURCE_DEFINITION_STATUS),
    ],
    strategy: &CUSTOM_RESOURCE_DEFINITION_STRATEGY,
    ..Resource::cluster::<v1::CustomResourceDefinition>("apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition")
};
