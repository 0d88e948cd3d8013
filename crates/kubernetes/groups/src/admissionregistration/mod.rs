//! The `admissionregistration.k8s.io` group: webhooks and policies of admission.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
mod old_versions;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::sent_empties::has_empties;
use pintle_resource::{
    GENERAL, Group, Resource, SPEC_PATHS, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS, texts,
};
use pintle_schema::{Str, Value};
use pintle_types::admissionregistration::{v1, v1alpha1, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions =
        TypeFunctions::default().rules(&[&rules::GROUP, &rules::GROUP_OF_V1BETA1]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("admissionregistration.k8s.io"),
        priority: Some(16700),
        built_in: true,
        versions: vec![version("v1", 15), version("v1beta1", 12), version("v1alpha1", 9)],
        resources: functions.complete(vec![
            mutating_admission_policies(),
            mutating_admission_policy_bindings(),
            mutating_webhook_configurations(),
            validating_admission_policies(),
            validating_admission_policy_bindings(),
            validating_webhook_configurations(),
            mutating_admission_policies_v1beta1(),
            mutating_admission_policy_bindings_v1beta1(),
            validating_admission_policies_v1beta1(),
            validating_admission_policy_bindings_v1beta1(),
            mutating_admission_policies_v1alpha1(),
            mutating_admission_policy_bindings_v1alpha1(),
        ]),
        internal: Vec::new(),
    }
}

static MUTATING_ADMISSION_POLICY: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

fn mutating_admission_policy_storage() -> Storage {
    Storage::of::<v1beta1::MutatingAdmissionPolicy>(
        "admissionregistration.k8s.io/v1beta1",
        "MutatingAdmissionPolicy",
        "/registry/mutatingadmissionpolicies/",
        "LYmCf+UMVdg=",
    )
}

static MUTATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

fn mutating_admission_policy_binding_storage() -> Storage {
    Storage::of::<v1beta1::MutatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io/v1beta1",
        "MutatingAdmissionPolicyBinding",
        "/registry/mutatingadmissionpolicybindings/",
        "90V5FRZZ3Zg=",
    )
}

static WEBHOOK_CONFIGURATION: Strategy = Strategy {
    unconditional_update: false,
    generation: Some(&[&["webhooks"]]),
    counts_empties: Some(has_empty_webhook_lists),
    ..GENERAL
};

static VALIDATING_ADMISSION_POLICY: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..WITH_STATUS };

fn validating_admission_policy_storage() -> Storage {
    Storage::of::<v1::ValidatingAdmissionPolicy>(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "/registry/validatingadmissionpolicies/",
        "6OxvlMmQ6is=",
    )
}

static VALIDATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

fn validating_admission_policy_binding_storage() -> Storage {
    Storage::of::<v1::ValidatingAdmissionPolicyBinding>(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        "/registry/validatingadmissionpolicybindings/",
        "v9715VZqakg=",
    )
}

/// Whether a webhook has a list, or labels to match, that was sent empty. kube-apiserver tells it from an absent one, as which it
/// is stored: it is new with each write.
fn has_empty_webhook_lists(sent: &Value) -> bool {
    has_empties(sent.get("webhooks"), &[])
}

fn mutating_admission_policies() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        introduced: 36,
        ..Resource::cluster::<v1::MutatingAdmissionPolicy>(
            "admissionregistration.k8s.io",
            "v1",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicy",
            "MutatingAdmissionPolicy",
        )
    }
}

fn mutating_admission_policy_bindings() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        introduced: 36,
        ..Resource::cluster::<v1::MutatingAdmissionPolicyBinding>(
            "admissionregistration.k8s.io",
            "v1",
            "mutatingadmissionpolicybindings",
            "mutatingadmissionpolicybinding",
            "MutatingAdmissionPolicyBinding",
        )
    }
}

fn mutating_webhook_configurations() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(Storage::of::<v1::MutatingWebhookConfiguration>(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "/registry/mutatingwebhookconfigurations/",
            "Sqi0GUgDaX0=",
        )),
        strategy: &WEBHOOK_CONFIGURATION,
        printer: printer(&columns::MUTATING_WEBHOOK_CONFIGURATION),
        warn: Some(rules::warn),
        unserved: old_versions::MUTATING_WEBHOOK_CONFIGURATIONS.iter().collect(),
        ..Resource::cluster::<v1::MutatingWebhookConfiguration>(
            "admissionregistration.k8s.io",
            "v1",
            "mutatingwebhookconfigurations",
            "mutatingwebhookconfiguration",
            "MutatingWebhookConfiguration",
        )
    }
}

fn validating_admission_policies() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(validating_admission_policy_storage()),
        subresources: vec![Subresource::status::<v1::ValidatingAdmissionPolicy>(
            "ValidatingAdmissionPolicy",
            &STATUS_ALONE,
        )],
        strategy: &VALIDATING_ADMISSION_POLICY,
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        unserved: old_versions::VALIDATING_ADMISSION_POLICIES.iter().collect(),
        ..Resource::cluster::<v1::ValidatingAdmissionPolicy>(
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicies",
            "validatingadmissionpolicy",
            "ValidatingAdmissionPolicy",
        )
    }
}

fn validating_admission_policy_bindings() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(validating_admission_policy_binding_storage()),
        strategy: &VALIDATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        unserved: old_versions::VALIDATING_ADMISSION_POLICY_BINDINGS.iter().collect(),
        ..Resource::cluster::<v1::ValidatingAdmissionPolicyBinding>(
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicybinding",
            "ValidatingAdmissionPolicyBinding",
        )
    }
}

fn validating_webhook_configurations() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        storage: Some(Storage::of::<v1::ValidatingWebhookConfiguration>(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "/registry/validatingwebhookconfigurations/",
            "B0wHjQmsGNk=",
        )),
        strategy: &WEBHOOK_CONFIGURATION,
        printer: printer(&columns::VALIDATING_WEBHOOK_CONFIGURATION),
        warn: Some(rules::warn),
        unserved: old_versions::VALIDATING_WEBHOOK_CONFIGURATIONS.iter().collect(),
        ..Resource::cluster::<v1::ValidatingWebhookConfiguration>(
            "admissionregistration.k8s.io",
            "v1",
            "validatingwebhookconfigurations",
            "validatingwebhookconfiguration",
            "ValidatingWebhookConfiguration",
        )
    }
}

fn mutating_admission_policies_v1beta1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        introduced: 34,
        ..Resource::cluster::<v1beta1::MutatingAdmissionPolicy>(
            "admissionregistration.k8s.io",
            "v1beta1",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicy",
            "MutatingAdmissionPolicy",
        )
    }
}

fn mutating_admission_policy_bindings_v1beta1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        introduced: 34,
        ..Resource::cluster::<v1beta1::MutatingAdmissionPolicyBinding>(
            "admissionregistration.k8s.io",
            "v1beta1",
            "mutatingadmissionpolicybindings",
            "mutatingadmissionpolicybinding",
            "MutatingAdmissionPolicyBinding",
        )
    }
}

fn validating_admission_policies_v1beta1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        removed: 34,
        storage: Some(validating_admission_policy_storage()),
        subresources: vec![Subresource::status::<v1beta1::ValidatingAdmissionPolicy>(
            "ValidatingAdmissionPolicy",
            &STATUS_ALONE,
        )],
        strategy: &VALIDATING_ADMISSION_POLICY,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy is deprecated in v1.31+, unavailable in v1.34+",
        ),
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        unserved: old_versions::VALIDATING_ADMISSION_POLICIES.iter().collect(),
        ..Resource::cluster::<v1beta1::ValidatingAdmissionPolicy>(
            "admissionregistration.k8s.io",
            "v1beta1",
            "validatingadmissionpolicies",
            "validatingadmissionpolicy",
            "ValidatingAdmissionPolicy",
        )
    }
}

fn validating_admission_policy_bindings_v1beta1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        removed: 34,
        storage: Some(validating_admission_policy_binding_storage()),
        strategy: &VALIDATING_ADMISSION_POLICY_BINDING,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding is deprecated in v1.31+, unavailable in v1.34+",
        ),
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        unserved: old_versions::VALIDATING_ADMISSION_POLICY_BINDINGS.iter().collect(),
        ..Resource::cluster::<v1beta1::ValidatingAdmissionPolicyBinding>(
            "admissionregistration.k8s.io",
            "v1beta1",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicybinding",
            "ValidatingAdmissionPolicyBinding",
        )
    }
}

fn mutating_admission_policies_v1alpha1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        ..Resource::cluster::<v1alpha1::MutatingAdmissionPolicy>(
            "admissionregistration.k8s.io",
            "v1alpha1",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicy",
            "MutatingAdmissionPolicy",
        )
    }
}

fn mutating_admission_policy_bindings_v1alpha1() -> Resource {
    Resource {
        categories: texts(&["api-extensions"]),
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        ..Resource::cluster::<v1alpha1::MutatingAdmissionPolicyBinding>(
            "admissionregistration.k8s.io",
            "v1alpha1",
            "mutatingadmissionpolicybindings",
            "mutatingadmissionpolicybinding",
            "MutatingAdmissionPolicyBinding",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn lists_of_webhooks_that_are_sent_empty_count_as_changes() {
        for (webhook, counts) in [
            (value!({"rules": []}), true),
            (value!({"namespaceSelector": {"matchLabels": {}}}), true),
            (value!({"namespaceSelector": {"matchExpressions": []}, "name": null}), true),
            (value!({"namespaceSelector": {}}), false),
            (value!({"rules": [null, {}]}), false),
        ] {
            let sent = value!({"webhooks": [null, (webhook.clone())]});
            assert_eq!(has_empty_webhook_lists(&sent), counts, "{webhook:?}");
        }
        assert!(!has_empty_webhook_lists(&value!({"metadata": {"finalizers": []}})));
    }
}
