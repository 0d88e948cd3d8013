//! The `resource.k8s.io` group: device classes, claims and slices.
//!
//! The API has four versions. `prepare` has their common behaviour, `convert` the differences.

pub(crate) mod columns;
mod convert;
pub(crate) mod defaults;
mod prepare;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{
    GENERAL, Group, NameRule, Part, Resource, SPEC_PATHS, STATUS_ALONE, Selectable, Served, Storage, Strategy,
    Subresource, WITH_STATUS,
};
use pintle_schema::Str;
use pintle_types::resource::{v1, v1alpha3, v1beta1, v1beta2};

/// The group.
pub fn group() -> Group {
    let functions =
        TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES).dated_defaults(defaults::DATED);
    Group {
        name: Str::new_static("resource.k8s.io"),
        priority: Some(16200),
        built_in: true,
        versions: vec![version("v1", 21), version("v1beta2", 15), version("v1beta1", 9), version("v1alpha3", 1)],
        resources: functions.complete(vec![
            device_classes(),
            resource_claims(),
            resource_claim_templates(),
            resource_slices(),
            device_classes_v1beta2(),
            device_taint_rules(),
            resource_claims_v1beta2(),
            resource_claim_templates_v1beta2(),
            resource_slices_v1beta2(),
            device_classes_v1beta1(),
            resource_claims_v1beta1(),
            resource_claim_templates_v1beta1(),
            resource_slices_v1beta1(),
            device_taint_rules_v1alpha3(),
            resource_pool_status_requests(),
        ]),
        internal: Vec::new(),
    }
}

static DEVICE_CLASS: Strategy =
    Strategy { name: NameRule::LongName, delete_answers_object: true, generation: Some(SPEC_PATHS), ..GENERAL };

fn device_class_storage() -> Storage {
    Storage::of::<v1::DeviceClass>()
}

static RESOURCE_CLAIM: Strategy = Strategy { delete_answers_object: true, ..WITH_STATUS };

static CLAIM_STATUS: Part = Part { prepare: Some(prepare::update_claim_status), ..STATUS_ALONE };

fn resource_claim_storage() -> Storage {
    Storage::of::<v1::ResourceClaim>()
}

static RESOURCE_CLAIM_TEMPLATE: Strategy = Strategy { delete_answers_object: true, ..GENERAL };

fn resource_claim_template_storage() -> Storage {
    Storage::of::<v1::ResourceClaimTemplate>()
}

static RESOURCE_SLICE: Strategy =
    Strategy { delete_answers_object: true, generation: Some(SPEC_PATHS), counts_dropped: true, ..GENERAL };

fn resource_slice_storage() -> Storage {
    Storage::of::<v1::ResourceSlice>()
}

static DEVICE_TAINT_RULE: Strategy = Strategy {
    delete_answers_object: true,
    generation: Some(SPEC_PATHS),
    prepare_update: Some(prepare::update_taint_rule),
    ..WITH_STATUS
};

fn device_taint_rule_storage() -> Storage {
    Storage::of::<v1alpha3::DeviceTaintRule>()
}

static RESOURCE_POOL_STATUS_REQUEST: Strategy =
    Strategy { unconditional_update: false, delete_answers_object: true, ..WITH_STATUS };

fn device_classes() -> Resource {
    Resource {
        storage: Some(device_class_storage()),
        strategy: &DEVICE_CLASS,
        printer: printer(&columns::DEVICE_CLASS),
        introduced: 34,
        ..Resource::of::<v1::DeviceClass>()
    }
}

fn resource_claims() -> Resource {
    Resource {
        storage: Some(resource_claim_storage()),
        subresources: vec![Subresource::status::<v1::ResourceClaim>(&CLAIM_STATUS)],
        strategy: &RESOURCE_CLAIM,
        printer: printer(&columns::RESOURCE_CLAIM),
        introduced: 34,
        ..Resource::of::<v1::ResourceClaim>()
    }
}

fn resource_claim_templates() -> Resource {
    Resource {
        storage: Some(resource_claim_template_storage()),
        strategy: &RESOURCE_CLAIM_TEMPLATE,
        printer: printer(&columns::RESOURCE_CLAIM_TEMPLATE),
        introduced: 34,
        ..Resource::of::<v1::ResourceClaimTemplate>()
    }
}

fn resource_slices() -> Resource {
    Resource {
        storage: Some(resource_slice_storage()),
        selectable: vec![
            Selectable::path("spec.driver", &["spec", "driver"]),
            Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
        ],
        selector_refusal: Str::new_static(
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}",
        ),
        strategy: &RESOURCE_SLICE,
        printer: printer(&columns::RESOURCE_SLICE),
        warn: Some(rules::slice::warn),
        introduced: 34,
        ..Resource::of::<v1::ResourceSlice>()
    }
}

fn device_classes_v1beta2() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(device_class_storage()),
        strategy: &DEVICE_CLASS,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::DEVICE_CLASS),
        ..Resource::of::<v1beta2::DeviceClass>()
    }
}

fn device_taint_rules() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(device_taint_rule_storage()),
        subresources: vec![Subresource::status::<v1beta2::DeviceTaintRule>(&STATUS_ALONE)],
        strategy: &DEVICE_TAINT_RULE,
        printer: printer(&columns::DEVICE_TAINT_RULE),
        introduced: 36,
        ..Resource::of::<v1beta2::DeviceTaintRule>()
    }
}

fn resource_claims_v1beta2() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_claim_storage()),
        subresources: vec![Subresource::status::<v1beta2::ResourceClaim>(&CLAIM_STATUS)],
        strategy: &RESOURCE_CLAIM,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::RESOURCE_CLAIM),
        ..Resource::of::<v1beta2::ResourceClaim>()
    }
}

fn resource_claim_templates_v1beta2() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_claim_template_storage()),
        strategy: &RESOURCE_CLAIM_TEMPLATE,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta2 ResourceClaimTemplate is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::RESOURCE_CLAIM_TEMPLATE),
        ..Resource::of::<v1beta2::ResourceClaimTemplate>()
    }
}

fn resource_slices_v1beta2() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_slice_storage()),
        selectable: vec![
            Selectable::path("spec.driver", &["spec", "driver"]),
            Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
        ],
        selector_refusal: Str::new_static(
            "field label not supported for resource.k8s.io/v1beta2, Kind=ResourceSlice: {label}",
        ),
        strategy: &RESOURCE_SLICE,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta2 ResourceSlice is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::RESOURCE_SLICE),
        warn: Some(rules::slice::warn),
        ..Resource::of::<v1beta2::ResourceSlice>()
    }
}

fn device_classes_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(device_class_storage()),
        strategy: &DEVICE_CLASS,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::DEVICE_CLASS),
        ..Resource::of::<v1beta1::DeviceClass>()
    }
}

fn resource_claims_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_claim_storage().converting(convert::claim_to_v1, convert::claim_from_v1)),
        subresources: vec![Subresource::status::<v1beta1::ResourceClaim>(&CLAIM_STATUS)],
        strategy: &RESOURCE_CLAIM,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::RESOURCE_CLAIM),
        ..Resource::of::<v1beta1::ResourceClaim>()
    }
}

fn resource_claim_templates_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_claim_template_storage().converting(convert::template_to_v1, convert::template_from_v1)),
        strategy: &RESOURCE_CLAIM_TEMPLATE,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta1 ResourceClaimTemplate is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::RESOURCE_CLAIM_TEMPLATE),
        ..Resource::of::<v1beta1::ResourceClaimTemplate>()
    }
}

fn resource_slices_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(resource_slice_storage().converting(convert::slice_to_v1, convert::slice_from_v1)),
        selectable: vec![
            Selectable::path("spec.driver", &["spec", "driver"]),
            Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
        ],
        selector_refusal: Str::new_static(
            "field label not supported for resource.k8s.io/v1beta1, Kind=ResourceSlice: {label}",
        ),
        strategy: &RESOURCE_SLICE,
        deprecation: Str::new_static(
            "resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::RESOURCE_SLICE),
        warn: Some(rules::slice::warn),
        ..Resource::of::<v1beta1::ResourceSlice>()
    }
}

fn device_taint_rules_v1alpha3() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(device_taint_rule_storage()),
        subresources: vec![Subresource::status::<v1alpha3::DeviceTaintRule>(&STATUS_ALONE)],
        strategy: &DEVICE_TAINT_RULE,
        deprecation: Str::new_static(
            "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+",
        ),
        printer: printer(&columns::DEVICE_TAINT_RULE),
        ..Resource::of::<v1alpha3::DeviceTaintRule>()
    }
}

fn resource_pool_status_requests() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(Storage::of::<v1alpha3::ResourcePoolStatusRequest>()),
        subresources: vec![Subresource::status::<v1alpha3::ResourcePoolStatusRequest>(&STATUS_ALONE)],
        strategy: &RESOURCE_POOL_STATUS_REQUEST,
        printer: printer(&columns::RESOURCE_POOL_STATUS_REQUEST),
        introduced: 36,
        ..Resource::of::<v1alpha3::ResourcePoolStatusRequest>()
    }
}
