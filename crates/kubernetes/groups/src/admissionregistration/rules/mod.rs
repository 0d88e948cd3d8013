//! Handwritten rules of the group `admissionregistration.k8s.io`.
//!
//! Policies that mutate are stored in another version than those that validate; the types that both have are validated
//! alike. Expressions are validated together with what they may use.

mod expressions;
mod matching;
mod order;
mod policy;
mod webhook;
mod webhook_client;

use crate::rules::warnings::Written;
use pintle_gates as gates;
use pintle_schema::ApiType;
use pintle_types::admissionregistration::{v1, v1beta1};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, CustomRule, Group, KindRules, Pass, Phase, ValidationContext, When};

/// The group's kinds whose passes are not the usual ones, and its rules for the first version.
pub static GROUP: Group =
    Group { kinds: KINDS, custom_rules: RULES_OF_V1, orders: order::of_v1::ORDERS, ..Group::NONE };

/// The same rules for the version that some kinds are stored in.
pub static GROUP_OF_V1BETA1: Group =
    Group { kinds: KINDS_OF_V1BETA1, custom_rules: RULES_OF_V1BETA1, orders: order::of_v1beta1::ORDERS, ..Group::NONE };

/// The suffix of the names of objects that are read from files.
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// Warns of a name that is reserved for configurations in files, unless it is refused.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    // Metadata has the same path in every object.
    let metadata = written.view::<v1::ValidatingAdmissionPolicy>().field(v1::ValidatingAdmissionPolicy::METADATA);
    let is_reserved = metadata.field(ObjectMeta::NAME).as_str().ends_with(STATIC_SUFFIX);
    if written.subresource.is_empty()
        && is_reserved
        && !written.gates.is_on(&gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG)
    {
        warnings.push(format!("metadata.name: {}", reserved()));
    }
}

fn reserved() -> String {
    format!(
        "names ending with {STATIC_SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed \
         via the API"
    )
}

/// Refuses a new object with a name that is reserved for configurations in files.
fn name_is_free(policy: At<'_, v1::ValidatingAdmissionPolicy>, cx: &mut ValidationContext<'_>) {
    // Metadata has the same path in every object.
    let metadata = policy.path.to(v1::ValidatingAdmissionPolicy::METADATA);
    let name = policy.new.field(v1::ValidatingAdmissionPolicy::METADATA).field(ObjectMeta::NAME).as_str();
    if cx.enabled(&gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG) && name.ends_with(STATIC_SUFFIX) {
        cx.errors.invalid(metadata.to(ObjectMeta::NAME), name, reserved());
    }
}

const NAME_IS_FREE: Pass = Pass::Rule(|object, cx| name_is_free(object.typed(), cx));

/// Finalizers need no domain.
const fn plain(of: fn() -> &'static pintle_schema::Struct) -> KindRules {
    KindRules {
        create: &[Pass::PlainMetadata, Pass::Rules, NAME_IS_FREE],
        update: &[Pass::PlainMetadata, Pass::Rules],
        parts: &[("status", &[Pass::Rules])],
        of,
    }
}

static KINDS: &[KindRules] = &[
    plain(v1::ValidatingWebhookConfiguration::schema),
    plain(v1::MutatingWebhookConfiguration::schema),
    plain(v1::ValidatingAdmissionPolicy::schema),
    plain(v1::ValidatingAdmissionPolicyBinding::schema),
];

static KINDS_OF_V1BETA1: &[KindRules] =
    &[plain(v1beta1::MutatingAdmissionPolicy::schema), plain(v1beta1::MutatingAdmissionPolicyBinding::schema)];

/// A rule for a type of a version, or for one of its fields, that is written for the first version's.
macro_rules! rule {
    ($version:ident :: $of:ident $(:: $field:ident)?, $rule:expr $(, $when:ident)?) => {
        rule!($version::$of $(:: $field)?, $rule, phase = Before $(, $when)?)
    };
    ($version:ident :: $of:ident, $rule:expr, phase = $phase:ident $(, $when:ident)?) => {
        CustomRule {
            name: stringify!($rule),
            of: <$version::$of as ApiType>::schema,
            field: "",
            when: When(0 $(| When::$when)?),
            phase: Phase::$phase,
            run: |value, cx| $rule(value.typed(), cx),
        }
    };
    ($version:ident :: $of:ident :: $field:ident, $rule:expr, phase = $phase:ident $(, $when:ident)?) => {
        CustomRule {
            field: $version::$of::$field.name(),
            ..rule!($version::$of, $rule, phase = $phase $(, $when)?)
        }
    };
}

/// The rules of the types that versions have alike.
macro_rules! of_version {
    ($version:ident; $($own:expr),*) => {
        &[
            rule!($version::NamedRuleWithOperations::RESOURCE_NAMES, matching::resource_names),
            rule!($version::MatchCondition, policy::match_condition, ALWAYS),
            rule!($version::ParamKind, policy::param_kind),
            rule!($version::ParamRef, policy::param_name),
            rule!($version::ParamRef, policy::param_ref, phase = After),
            rule!($version::Variable, policy::variable, ALWAYS),
            rule!($version::Mutation, policy::mutation, ALWAYS),
            rule!($version::MutatingAdmissionPolicySpec::MATCH_CONSTRAINTS, matching::mutable_operations, phase = After),
            rule!($version::MutatingAdmissionPolicyBindingSpec::MATCH_RESOURCES, matching::mutable_operations, phase = After),
            $($own),*
        ]
    };
}

static RULES_OF_V1: &[CustomRule] = of_version!(v1;
    rule!(v1::RuleWithOperations::OPERATIONS, matching::operations),
    rule!(v1::Rule::API_GROUPS, matching::api_groups),
    rule!(v1::Rule::API_VERSIONS, matching::api_versions),
    rule!(v1::Rule::RESOURCES, matching::resources),
    rule!(v1::Validation, policy::validation, ALWAYS),
    rule!(v1::AuditAnnotation, policy::audit_annotation, ALWAYS),
    rule!(v1::ValidatingAdmissionPolicySpec::AUDIT_ANNOTATIONS, policy::audit_annotations),
    rule!(v1::ValidatingAdmissionPolicyBindingSpec::VALIDATION_ACTIONS, policy::actions),
    rule!(v1::ExpressionWarning, policy::expression_warning),
    rule!(v1::ValidatingAdmissionPolicyStatus::CONDITIONS, crate::rules::condition::conditions),
    rule!(v1::ValidatingWebhook::NAME, webhook::name),
    rule!(v1::MutatingWebhook::NAME, webhook::name),
    rule!(v1::ValidatingWebhook::ADMISSION_REVIEW_VERSIONS, webhook::review_versions),
    rule!(v1::MutatingWebhook::ADMISSION_REVIEW_VERSIONS, webhook::review_versions),
    rule!(v1::WebhookClientConfig, webhook_client::config)
);

static RULES_OF_V1BETA1: &[CustomRule] = of_version!(v1beta1;);

#[cfg(test)]
mod tests;
