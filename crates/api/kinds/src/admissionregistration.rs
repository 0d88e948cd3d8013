//! The `admissionregistration.k8s.io` group: webhooks and policies of admission.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Served, Storage, Subresource};
use crate::strategy::{GENERAL, SPEC_PATHS, STATUS_ALONE, Strategy, WITH_STATUS};
use pintle_types::admissionregistration::{v1, v1alpha1, v1beta1};

pub(crate) static RESOURCES: &[&Resource] = &[
    &MUTATING_ADMISSION_POLICIES,
    &MUTATING_ADMISSION_POLICY_BINDINGS,
    &MUTATING_WEBHOOK_CONFIGURATIONS,
    &VALIDATING_ADMISSION_POLICIES,
    &VALIDATING_ADMISSION_POLICY_BINDINGS,
    &VALIDATING_WEBHOOK_CONFIGURATIONS,
    &MUTATING_ADMISSION_POLICIES_V1BETA1,
    &MUTATING_ADMISSION_POLICY_BINDINGS_V1BETA1,
    &MUTATING_ADMISSION_POLICIES_V1ALPHA1,
    &MUTATING_ADMISSION_POLICY_BINDINGS_V1ALPHA1,
];

static MUTATING_ADMISSION_POLICY: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

const MUTATING_ADMISSION_POLICY_STORAGE: Storage = Storage::of::<v1beta1::MutatingAdmissionPolicy>(
    "admissionregistration.k8s.io/v1beta1",
    "MutatingAdmissionPolicy",
    "/registry/mutatingadmissionpolicies/",
    "LYmCf+UMVdg=",
);

static MUTATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

const MUTATING_ADMISSION_POLICY_BINDING_STORAGE: Storage = Storage::of::<v1beta1::MutatingAdmissionPolicyBinding>(
    "admissionregistration.k8s.io/v1beta1",
    "MutatingAdmissionPolicyBinding",
    "/registry/mutatingadmissionpolicybindings/",
    "90V5FRZZ3Zg=",
);

static MUTATING_WEBHOOK_CONFIGURATION: Strategy =
    Strategy { unconditional_update: false, generation: Some(&[&["webhooks"]]), ..GENERAL };

static VALIDATING_ADMISSION_POLICY: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..WITH_STATUS };

static VALIDATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

static VALIDATING_WEBHOOK_CONFIGURATION: Strategy =
    Strategy { unconditional_update: false, generation: Some(&[&["webhooks"]]), ..GENERAL };

static MUTATING_ADMISSION_POLICIES: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(MUTATING_ADMISSION_POLICY_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY,
    ..Resource::cluster::<v1::MutatingAdmissionPolicy>(
        "admissionregistration.k8s.io",
        "v1",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
        "MutatingAdmissionPolicy",
    )
};

static MUTATING_ADMISSION_POLICY_BINDINGS: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(MUTATING_ADMISSION_POLICY_BINDING_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY_BINDING,
    ..Resource::cluster::<v1::MutatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io",
        "v1",
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
        "MutatingAdmissionPolicyBinding",
    )
};

static MUTATING_WEBHOOK_CONFIGURATIONS: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1::MutatingWebhookConfiguration>(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "/registry/mutatingwebhookconfigurations/",
        "Sqi0GUgDaX0=",
    )),
    strategy: &MUTATING_WEBHOOK_CONFIGURATION,
    ..Resource::cluster::<v1::MutatingWebhookConfiguration>(
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
        "MutatingWebhookConfiguration",
    )
};

static VALIDATING_ADMISSION_POLICIES: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1::ValidatingAdmissionPolicy>(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "/registry/validatingadmissionpolicies/",
        "6OxvlMmQ6is=",
    )),
    subresources: &[Subresource::status::<v1::ValidatingAdmissionPolicy>("ValidatingAdmissionPolicy", &STATUS_ALONE)],
    strategy: &VALIDATING_ADMISSION_POLICY,
    ..Resource::cluster::<v1::ValidatingAdmissionPolicy>(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "validatingadmissionpolicy",
        "ValidatingAdmissionPolicy",
    )
};

static VALIDATING_ADMISSION_POLICY_BINDINGS: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1::ValidatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        "/registry/validatingadmissionpolicybindings/",
        "v9715VZqakg=",
    )),
    strategy: &VALIDATING_ADMISSION_POLICY_BINDING,
    ..Resource::cluster::<v1::ValidatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicybinding",
        "ValidatingAdmissionPolicyBinding",
    )
};

static VALIDATING_WEBHOOK_CONFIGURATIONS: Resource = Resource {
    categories: &["api-extensions"],
    storage: Some(Storage::of::<v1::ValidatingWebhookConfiguration>(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "/registry/validatingwebhookconfigurations/",
        "B0wHjQmsGNk=",
    )),
    strategy: &VALIDATING_WEBHOOK_CONFIGURATION,
    ..Resource::cluster::<v1::ValidatingWebhookConfiguration>(
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        "ValidatingWebhookConfiguration",
    )
};

static MUTATING_ADMISSION_POLICIES_V1BETA1: Resource = Resource {
    categories: &["api-extensions"],
    served: Served::OnRequest,
    storage: Some(MUTATING_ADMISSION_POLICY_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY,
    ..Resource::cluster::<v1beta1::MutatingAdmissionPolicy>(
        "admissionregistration.k8s.io",
        "v1beta1",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
        "MutatingAdmissionPolicy",
    )
};

static MUTATING_ADMISSION_POLICY_BINDINGS_V1BETA1: Resource = Resource {
    categories: &["api-extensions"],
    served: Served::OnRequest,
    storage: Some(MUTATING_ADMISSION_POLICY_BINDING_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY_BINDING,
    ..Resource::cluster::<v1beta1::MutatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io",
        "v1beta1",
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
        "MutatingAdmissionPolicyBinding",
    )
};

static MUTATING_ADMISSION_POLICIES_V1ALPHA1: Resource = Resource {
    categories: &["api-extensions"],
    served: Served::OnRequest,
    storage: Some(MUTATING_ADMISSION_POLICY_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY,
    deprecation: "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::cluster::<v1alpha1::MutatingAdmissionPolicy>(
        "admissionregistration.k8s.io",
        "v1alpha1",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
        "MutatingAdmissionPolicy",
    )
};

static MUTATING_ADMISSION_POLICY_BINDINGS_V1ALPHA1: Resource = Resource {
    categories: &["api-extensions"],
    served: Served::OnRequest,
    storage: Some(MUTATING_ADMISSION_POLICY_BINDING_STORAGE),
    strategy: &MUTATING_ADMISSION_POLICY_BINDING,
    deprecation: "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+",
    ..Resource::cluster::<v1alpha1::MutatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io",
        "v1alpha1",
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
        "MutatingAdmissionPolicyBinding",
    )
};
