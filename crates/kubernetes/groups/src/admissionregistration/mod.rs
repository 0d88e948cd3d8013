//! The `admissionregistration.k8s.io` group: webhooks and policies of admission.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::sent_empties::has_empties;
use pintle_resource::{
    GENERAL, Group, Resource, SPEC_PATHS, STATUS_ALONE, Served, Storage, Strategy, Subresource, Unserved, WITH_STATUS,
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
    Storage::of::<v1beta1::MutatingAdmissionPolicy>()
}

static MUTATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

fn mutating_admission_policy_binding_storage() -> Storage {
    Storage::of::<v1beta1::MutatingAdmissionPolicyBinding>()
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
    Storage::of::<v1::ValidatingAdmissionPolicy>()
}

static VALIDATING_ADMISSION_POLICY_BINDING: Strategy =
    Strategy { unconditional_update: false, generation: Some(SPEC_PATHS), ..GENERAL };

fn validating_admission_policy_binding_storage() -> Storage {
    Storage::of::<v1::ValidatingAdmissionPolicyBinding>()
}

/// Whether a webhook has a list, or labels to match, that was sent empty. kube-apiserver tells it from an absent one, as which it
/// is stored: it is new with each write.
fn has_empty_webhook_lists(sent: &Value) -> bool {
    has_empties(sent.get("webhooks"), &[])
}

fn mutating_admission_policies() -> Resource {
    Resource {
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        introduced: 36,
        ..Resource::of::<v1::MutatingAdmissionPolicy>()
    }
}

fn mutating_admission_policy_bindings() -> Resource {
    Resource {
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        introduced: 36,
        ..Resource::of::<v1::MutatingAdmissionPolicyBinding>()
    }
}

fn mutating_webhook_configurations() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::MutatingWebhookConfiguration>()),
        strategy: &WEBHOOK_CONFIGURATION,
        printer: printer(&columns::MUTATING_WEBHOOK_CONFIGURATION),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1beta1::MutatingWebhookConfiguration>()],
        ..Resource::of::<v1::MutatingWebhookConfiguration>()
    }
}

fn validating_admission_policies() -> Resource {
    Resource {
        storage: Some(validating_admission_policy_storage()),
        subresources: vec![Subresource::status::<v1::ValidatingAdmissionPolicy>(&STATUS_ALONE)],
        strategy: &VALIDATING_ADMISSION_POLICY,
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1alpha1::ValidatingAdmissionPolicy>()],
        ..Resource::of::<v1::ValidatingAdmissionPolicy>()
    }
}

fn validating_admission_policy_bindings() -> Resource {
    Resource {
        storage: Some(validating_admission_policy_binding_storage()),
        strategy: &VALIDATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1alpha1::ValidatingAdmissionPolicyBinding>()],
        ..Resource::of::<v1::ValidatingAdmissionPolicyBinding>()
    }
}

fn validating_webhook_configurations() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ValidatingWebhookConfiguration>()),
        strategy: &WEBHOOK_CONFIGURATION,
        printer: printer(&columns::VALIDATING_WEBHOOK_CONFIGURATION),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1beta1::ValidatingWebhookConfiguration>()],
        ..Resource::of::<v1::ValidatingWebhookConfiguration>()
    }
}

fn mutating_admission_policies_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        introduced: 34,
        ..Resource::of::<v1beta1::MutatingAdmissionPolicy>()
    }
}

fn mutating_admission_policy_bindings_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        introduced: 34,
        ..Resource::of::<v1beta1::MutatingAdmissionPolicyBinding>()
    }
}

fn validating_admission_policies_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        removed: 34,
        storage: Some(validating_admission_policy_storage()),
        subresources: vec![Subresource::status::<v1beta1::ValidatingAdmissionPolicy>(&STATUS_ALONE)],
        strategy: &VALIDATING_ADMISSION_POLICY,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy is deprecated in v1.31+, unavailable in v1.34+",
        ),
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1alpha1::ValidatingAdmissionPolicy>()],
        ..Resource::of::<v1beta1::ValidatingAdmissionPolicy>()
    }
}

fn validating_admission_policy_bindings_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        removed: 34,
        storage: Some(validating_admission_policy_binding_storage()),
        strategy: &VALIDATING_ADMISSION_POLICY_BINDING,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding is deprecated in v1.31+, unavailable in v1.34+",
        ),
        printer: printer(&columns::VALIDATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        unserved: vec![Unserved::same::<v1alpha1::ValidatingAdmissionPolicyBinding>()],
        ..Resource::of::<v1beta1::ValidatingAdmissionPolicyBinding>()
    }
}

fn mutating_admission_policies_v1alpha1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_storage()),
        strategy: &MUTATING_ADMISSION_POLICY,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::MUTATING_ADMISSION_POLICY),
        warn: Some(rules::warn),
        ..Resource::of::<v1alpha1::MutatingAdmissionPolicy>()
    }
}

fn mutating_admission_policy_bindings_v1alpha1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(mutating_admission_policy_binding_storage()),
        strategy: &MUTATING_ADMISSION_POLICY_BINDING,
        deprecation: Str::new_static(
            "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+",
        ),
        printer: printer(&columns::MUTATING_ADMISSION_POLICY_BINDING),
        warn: Some(rules::warn),
        ..Resource::of::<v1alpha1::MutatingAdmissionPolicyBinding>()
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
