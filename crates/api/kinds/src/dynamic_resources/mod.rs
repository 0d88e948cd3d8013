//! The `resource.k8s.io` group: device classes, claims and slices.
//!
//! Four versions of one API: tables here, what they do in `prepare`, and where they differ in `convert`.

mod convert;
mod prepare;

use crate::resource::{Resource, Selectable, Served, Storage, Subresource};
use crate::strategy::{GENERAL, NameRule, Part, SPEC_PATHS, STATUS_ALONE, Strategy, WITH_STATUS};
use pintle_types::resource::{v1, v1alpha3, v1beta1, v1beta2};

pub(crate) static RESOURCES: &[&Resource] = &[
    &DEVICE_CLASSES,
    &RESOURCE_CLAIMS,
    &RESOURCE_CLAIM_TEMPLATES,
    &RESOURCE_SLICES,
    &DEVICE_CLASSES_V1BETA2,
    &DEVICE_TAINT_RULES,
    &RESOURCE_CLAIMS_V1BETA2,
    &RESOURCE_CLAIM_TEMPLATES_V1BETA2,
    &RESOURCE_SLICES_V1BETA2,
    &DEVICE_CLASSES_V1BETA1,
    &RESOURCE_CLAIMS_V1BETA1,
    &RESOURCE_CLAIM_TEMPLATES_V1BETA1,
    &RESOURCE_SLICES_V1BETA1,
    &DEVICE_TAINT_RULES_V1ALPHA3,
    &RESOURCE_POOL_STATUS_REQUESTS,
];

static DEVICE_CLASS: Strategy =
    Strategy { name: NameRule::None, delete_answers_object: true, generation: Some(SPEC_PATHS), ..GENERAL };

const DEVICE_CLASS_STORAGE: Storage =
    Storage::of::<v1::DeviceClass>("resource.k8s.io/v1", "DeviceClass", "/registry/deviceclasses/", "Yk2PTc1Ybxk=");

static RESOURCE_CLAIM: Strategy = Strategy { delete_answers_object: true, ..WITH_STATUS };

static CLAIM_STATUS: Part = Part { prepare: Some(prepare::update_claim_status), ..STATUS_ALONE };

const RESOURCE_CLAIM_STORAGE: Storage = Storage::of::<v1::ResourceClaim>(
    "resource.k8s.io/v1",
    "ResourceClaim",
    "/registry/resourceclaims/",
    "wgAZaHcZxUg=",
);

static RESOURCE_CLAIM_TEMPLATE: Strategy = Strategy { delete_answers_object: true, ..GENERAL };

const RESOURCE_CLAIM_TEMPLATE_STORAGE: Storage = Storage::of::<v1::ResourceClaimTemplate>(
    "resource.k8s.io/v1",
    "ResourceClaimTemplate",
    "/registry/resourceclaimtemplates/",
    "TuzjC49aUfM=",
);

static RESOURCE_SLICE: Strategy =
    Strategy { delete_answers_object: true, generation: Some(SPEC_PATHS), counts_dropped: true, ..GENERAL };

const RESOURCE_SLICE_STORAGE: Storage = Storage::of::<v1::ResourceSlice>(
    "resource.k8s.io/v1",
    "ResourceSlice",
    "/registry/resourceslices/",
    "KsC072WgaEY=",
);

static DEVICE_TAINT_RULE: Strategy = Strategy {
    delete_answers_object: true,
    generation: Some(SPEC_PATHS),
    prepare_update: Some(prepare::update_taint_rule),
    ..WITH_STATUS
};

const DEVICE_TAINT_RULE_STORAGE: Storage = Storage::of::<v1alpha3::DeviceTaintRule>(
    "resource.k8s.io/v1alpha3",
    "DeviceTaintRule",
    "/registry/devicetaintrules/",
    "DJ3UJ0fj8MI=",
);

static RESOURCE_POOL_STATUS_REQUEST: Strategy =
    Strategy { unconditional_update: false, delete_answers_object: true, ..WITH_STATUS };

static DEVICE_CLASSES: Resource = Resource {
    storage: Some(DEVICE_CLASS_STORAGE),
    strategy: &DEVICE_CLASS,
    ..Resource::cluster::<v1::DeviceClass>("resource.k8s.io", "v1", "deviceclasses", "deviceclass", "DeviceClass")
};

static RESOURCE_CLAIMS: Resource = Resource {
    storage: Some(RESOURCE_CLAIM_STORAGE),
    subresources: &[Subresource::status::<v1::ResourceClaim>("ResourceClaim", &CLAIM_STATUS)],
    strategy: &RESOURCE_CLAIM,
    ..Resource::namespaced::<v1::ResourceClaim>(
        "resource.k8s.io",
        "v1",
        "resourceclaims",
        "resourceclaim",
        "ResourceClaim",
    )
};

static RESOURCE_CLAIM_TEMPLATES: Resource = Resource {
    storage: Some(RESOURCE_CLAIM_TEMPLATE_STORAGE),
    strategy: &RESOURCE_CLAIM_TEMPLATE,
    ..Resource::namespaced::<v1::ResourceClaimTemplate>(
        "resource.k8s.io",
        "v1",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        "ResourceClaimTemplate",
    )
};

static RESOURCE_SLICES: Resource = Resource {
    storage: Some(RESOURCE_SLICE_STORAGE),
    selectable: &[
        Selectable::path("spec.driver", &["spec", "driver"]),
        Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
    ],
    selector_refusal: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}",
    strategy: &RESOURCE_SLICE,
    ..Resource::cluster::<v1::ResourceSlice>(
        "resource.k8s.io",
        "v1",
        "resourceslices",
        "resourceslice",
        "ResourceSlice",
    )
};

static DEVICE_CLASSES_V1BETA2: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(DEVICE_CLASS_STORAGE),
    strategy: &DEVICE_CLASS,
    deprecation: "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::cluster::<v1beta2::DeviceClass>(
        "resource.k8s.io",
        "v1beta2",
        "deviceclasses",
        "deviceclass",
        "DeviceClass",
    )
};

static DEVICE_TAINT_RULES: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(DEVICE_TAINT_RULE_STORAGE),
    subresources: &[Subresource::status::<v1beta2::DeviceTaintRule>("DeviceTaintRule", &STATUS_ALONE)],
    strategy: &DEVICE_TAINT_RULE,
    ..Resource::cluster::<v1beta2::DeviceTaintRule>(
        "resource.k8s.io",
        "v1beta2",
        "devicetaintrules",
        "devicetaintrule",
        "DeviceTaintRule",
    )
};

static RESOURCE_CLAIMS_V1BETA2: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_CLAIM_STORAGE),
    subresources: &[Subresource::status::<v1beta2::ResourceClaim>("ResourceClaim", &CLAIM_STATUS)],
    strategy: &RESOURCE_CLAIM,
    deprecation: "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::namespaced::<v1beta2::ResourceClaim>(
        "resource.k8s.io",
        "v1beta2",
        "resourceclaims",
        "resourceclaim",
        "ResourceClaim",
    )
};

static RESOURCE_CLAIM_TEMPLATES_V1BETA2: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_CLAIM_TEMPLATE_STORAGE),
    strategy: &RESOURCE_CLAIM_TEMPLATE,
    deprecation: "resource.k8s.io/v1beta2 ResourceClaimTemplate is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::namespaced::<v1beta2::ResourceClaimTemplate>(
        "resource.k8s.io",
        "v1beta2",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        "ResourceClaimTemplate",
    )
};

static RESOURCE_SLICES_V1BETA2: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_SLICE_STORAGE),
    selectable: &[
        Selectable::path("spec.driver", &["spec", "driver"]),
        Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
    ],
    selector_refusal: "field label not supported for resource.k8s.io/v1beta2, Kind=ResourceSlice: {label}",
    strategy: &RESOURCE_SLICE,
    deprecation: "resource.k8s.io/v1beta2 ResourceSlice is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::cluster::<v1beta2::ResourceSlice>(
        "resource.k8s.io",
        "v1beta2",
        "resourceslices",
        "resourceslice",
        "ResourceSlice",
    )
};

static DEVICE_CLASSES_V1BETA1: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(DEVICE_CLASS_STORAGE),
    strategy: &DEVICE_CLASS,
    deprecation: "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::cluster::<v1beta1::DeviceClass>(
        "resource.k8s.io",
        "v1beta1",
        "deviceclasses",
        "deviceclass",
        "DeviceClass",
    )
};

static RESOURCE_CLAIMS_V1BETA1: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_CLAIM_STORAGE.converting(convert::claim_to_v1, convert::claim_from_v1)),
    subresources: &[Subresource::status::<v1beta1::ResourceClaim>("ResourceClaim", &CLAIM_STATUS)],
    strategy: &RESOURCE_CLAIM,
    deprecation: "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::namespaced::<v1beta1::ResourceClaim>(
        "resource.k8s.io",
        "v1beta1",
        "resourceclaims",
        "resourceclaim",
        "ResourceClaim",
    )
};

static RESOURCE_CLAIM_TEMPLATES_V1BETA1: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_CLAIM_TEMPLATE_STORAGE.converting(convert::template_to_v1, convert::template_from_v1)),
    strategy: &RESOURCE_CLAIM_TEMPLATE,
    deprecation: "resource.k8s.io/v1beta1 ResourceClaimTemplate is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::namespaced::<v1beta1::ResourceClaimTemplate>(
        "resource.k8s.io",
        "v1beta1",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        "ResourceClaimTemplate",
    )
};

static RESOURCE_SLICES_V1BETA1: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(RESOURCE_SLICE_STORAGE.converting(convert::slice_to_v1, convert::slice_from_v1)),
    selectable: &[
        Selectable::path("spec.driver", &["spec", "driver"]),
        Selectable::path("spec.nodeName", &["spec", "nodeName"]).indexed(),
    ],
    selector_refusal: "field label not supported for resource.k8s.io/v1beta1, Kind=ResourceSlice: {label}",
    strategy: &RESOURCE_SLICE,
    deprecation: "resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::cluster::<v1beta1::ResourceSlice>(
        "resource.k8s.io",
        "v1beta1",
        "resourceslices",
        "resourceslice",
        "ResourceSlice",
    )
};

static DEVICE_TAINT_RULES_V1ALPHA3: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(DEVICE_TAINT_RULE_STORAGE),
    subresources: &[Subresource::status::<v1alpha3::DeviceTaintRule>("DeviceTaintRule", &STATUS_ALONE)],
    strategy: &DEVICE_TAINT_RULE,
    deprecation: "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+",
    ..Resource::cluster::<v1alpha3::DeviceTaintRule>(
        "resource.k8s.io",
        "v1alpha3",
        "devicetaintrules",
        "devicetaintrule",
        "DeviceTaintRule",
    )
};

static RESOURCE_POOL_STATUS_REQUESTS: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(Storage::of::<v1alpha3::ResourcePoolStatusRequest>(
        "resource.k8s.io/v1alpha3",
        "ResourcePoolStatusRequest",
        "/registry/resourcepoolstatusrequests/",
        "iy583CtMwdY=",
    )),
    subresources: &[Subresource::status::<v1alpha3::ResourcePoolStatusRequest>(
        "ResourcePoolStatusRequest",
        &STATUS_ALONE,
    )],
    strategy: &RESOURCE_POOL_STATUS_REQUEST,
    ..Resource::cluster::<v1alpha3::ResourcePoolStatusRequest>(
        "resource.k8s.io",
        "v1alpha3",
        "resourcepoolstatusrequests",
        "resourcepoolstatusrequest",
        "ResourcePoolStatusRequest",
    )
};
