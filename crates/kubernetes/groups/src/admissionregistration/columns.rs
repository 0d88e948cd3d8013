//! Columns of the group `admissionregistration.k8s.io`.
//!
//! The versions of a kind are alike in all that is shown, so that one type reads all of them.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, integer, printers, string};
use pintle_schema::{Value, View};
use pintle_types::admissionregistration::v1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingSpec,
    MutatingAdmissionPolicySpec, MutatingWebhookConfiguration, ParamKind, ParamRef, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
    ValidatingWebhookConfiguration,
};

printers! {
    MUTATING_WEBHOOK_CONFIGURATION: MutatingWebhookConfiguration |configuration, now| {
        NAME => name(configuration),
        integer("Webhooks", "How many webhooks there are.")
            => count(configuration.to(MutatingWebhookConfiguration::WEBHOOKS)),
        AGE => age(configuration, now),
    }
    VALIDATING_WEBHOOK_CONFIGURATION: ValidatingWebhookConfiguration |configuration, now| {
        NAME => name(configuration),
        integer("Webhooks", "How many webhooks there are.")
            => count(configuration.to(ValidatingWebhookConfiguration::WEBHOOKS)),
        AGE => age(configuration, now),
    }
    VALIDATING_ADMISSION_POLICY: ValidatingAdmissionPolicy |policy, now| {
        NAME => name(policy),
        integer("Validations", "How many rules the policy has.")
            => count(policy.to(ValidatingAdmissionPolicy::SPEC).to(ValidatingAdmissionPolicySpec::VALIDATIONS)),
        string("ParamKind", "Kind of the policy's parameters.")
            => param_kind(policy.to(ValidatingAdmissionPolicy::SPEC).to(ValidatingAdmissionPolicySpec::PARAM_KIND)),
        AGE => age(policy, now),
    }
    VALIDATING_ADMISSION_POLICY_BINDING: ValidatingAdmissionPolicyBinding |binding, now| {
        NAME => name(binding),
        string("PolicyName", "Policy that is put to work.")
            => text(binding.to(ValidatingAdmissionPolicyBinding::SPEC).to(ValidatingAdmissionPolicyBindingSpec::POLICY_NAME)),
        string("ParamRef", "Objects with the policy's parameters.")
            => param_ref(binding.to(ValidatingAdmissionPolicyBinding::SPEC).to(ValidatingAdmissionPolicyBindingSpec::PARAM_REF)),
        AGE => age(binding, now),
    }
    MUTATING_ADMISSION_POLICY: MutatingAdmissionPolicy |policy, now| {
        NAME => name(policy),
        integer("Mutations", "How many changes the policy makes.")
            => count(policy.to(MutatingAdmissionPolicy::SPEC).to(MutatingAdmissionPolicySpec::MUTATIONS)),
        string("ParamKind", "Kind of the policy's parameters.")
            => param_kind(policy.to(MutatingAdmissionPolicy::SPEC).to(MutatingAdmissionPolicySpec::PARAM_KIND)),
        AGE => age(policy, now),
    }
    MUTATING_ADMISSION_POLICY_BINDING: MutatingAdmissionPolicyBinding |binding, now| {
        NAME => name(binding),
        string("PolicyName", "Policy that is put to work.")
            => text(binding.to(MutatingAdmissionPolicyBinding::SPEC).to(MutatingAdmissionPolicyBindingSpec::POLICY_NAME)),
        string("ParamRef", "Objects with the policy's parameters.")
            => param_ref(binding.to(MutatingAdmissionPolicyBinding::SPEC).to(MutatingAdmissionPolicyBindingSpec::PARAM_REF)),
        AGE => age(binding, now),
    }
}

fn param_kind(kind: View<'_, Option<ParamKind>>) -> Value {
    if !kind.is_set() {
        return UNSET.into();
    }
    format!("{}/{}", str_of(kind.to(ParamKind::API_VERSION)), str_of(kind.to(ParamKind::KIND))).into()
}

fn param_ref(reference: View<'_, Option<ParamRef>>) -> Value {
    let name = str_of(reference.to(ParamRef::NAME));
    if !name.is_empty() {
        return format!("{}/{name}", str_or(reference.to(ParamRef::NAMESPACE), "*")).into();
    }
    reference.to(ParamRef::SELECTOR).some().map_or(UNSET.into(), |selector| selector_debug(selector).into())
}
