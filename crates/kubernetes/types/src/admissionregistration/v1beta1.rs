//! Types of `admissionregistration.k8s.io/v1beta1`: webhooks and policies that validate or mutate requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, same_as, string_type};

use crate::meta::v1::{Condition, LabelSelector, ListMeta, ObjectMeta, StatusReason, TypeMeta};

pub use crate::admissionregistration::v1::{
    OperationType, ReinvocationPolicyType, Rule, RuleWithOperations, ScopeType,
};

same_as! {
    super::v1::{
        ApplyConfiguration, AuditAnnotation, ExpressionWarning, JSONPatch, MatchCondition, MatchResources,
        MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingList,
        MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicyList, MutatingAdmissionPolicySpec,
        MutatingWebhookConfiguration, MutatingWebhookConfigurationList, Mutation, NamedRuleWithOperations, ParamKind,
        ParamRef, ParameterNotFoundActionType, PatchType, ServiceReference, SideEffectClass, TypeChecking,
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingList,
        ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicyList, ValidatingAdmissionPolicySpec,
        ValidatingAdmissionPolicyStatus, ValidatingWebhookConfiguration, ValidatingWebhookConfigurationList,
        Validation, ValidationAction, Variable, WebhookClientConfig
    }
}

string_type! {
    /// What happens when a check cannot be carried out.
    pub FailurePolicyType {
        /// Carry on as though the check had passed.
        IGNORE = "Ignore",
        /// Reject the request.
        FAIL = "Fail",
    }
}

string_type! {
    /// How strictly requests are compared with rules.
    pub MatchPolicyType {
        /// Only the very group, version and resource named.
        EXACT = "Exact",
        /// Also the same resource arriving through another group or version.
        EQUIVALENT = "Equivalent",
    }
}

/// Aspect of a validating policy reported by a condition.
pub type ValidatingAdmissionPolicyConditionType = String;

/// One checking webhook and the requests sent to it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingWebhook {
    /// Qualified name such as check.example.com; unique in the configuration.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// How to reach the webhook.
    #[k8s(proto = 2, always)]
    pub client_config: WebhookClientConfig,
    /// Operations and resources sent to the webhook.
    #[k8s(proto = 3, list_type = atomic)]
    pub rules: Vec<RuleWithOperations>,
    /// Treatment of unreachable webhooks and unusable answers; Fail when unset.
    #[k8s(proto = 4, optional, default = "Ignore")]
    pub failure_policy: Option<FailurePolicyType>,
    /// Whether equivalent resources in other versions count; Equivalent when unset.
    #[k8s(proto = 9, optional, default = "Exact")]
    pub match_policy: Option<MatchPolicyType>,
    /// Only objects from namespaces with matching labels are sent.
    #[k8s(proto = 5, optional, default = {})]
    pub namespace_selector: Option<LabelSelector>,
    /// Only objects with matching labels are sent; users can evade this.
    #[k8s(proto = 10, optional, default = {})]
    pub object_selector: Option<LabelSelector>,
    /// Declares effects besides the answer; only None or NoneOnDryRun are accepted.
    #[k8s(proto = 6, optional, default = "Unknown")]
    pub side_effects: Option<SideEffectClass>,
    /// Seconds to wait for an answer, 1 to 30; 10 when unset.
    #[k8s(proto = 7, optional, default = 30)]
    pub timeout_seconds: Option<i32>,
    /// AdmissionReview versions the webhook understands, most wanted first.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub admission_review_versions: Vec<String>,
    /// CEL conditions a request must meet before being sent; up to 64.
    #[k8s(
        proto = 11,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub match_conditions: Vec<MatchCondition>,
}

/// One changing webhook and the requests sent to it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingWebhook {
    /// Qualified name such as inject.example.com; unique in the configuration.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// How to reach the webhook.
    #[k8s(proto = 2, always)]
    pub client_config: WebhookClientConfig,
    /// Operations and resources sent to the webhook.
    #[k8s(proto = 3, list_type = atomic)]
    pub rules: Vec<RuleWithOperations>,
    /// Treatment of unreachable webhooks and unusable answers; Fail when unset.
    #[k8s(proto = 4, optional, default = "Ignore")]
    pub failure_policy: Option<FailurePolicyType>,
    /// Whether equivalent resources in other versions count; Equivalent when unset.
    #[k8s(proto = 9, optional, default = "Exact")]
    pub match_policy: Option<MatchPolicyType>,
    /// Only objects from namespaces with matching labels are sent.
    #[k8s(proto = 5, optional, default = {})]
    pub namespace_selector: Option<LabelSelector>,
    /// Only objects with matching labels are sent; users can evade this.
    #[k8s(proto = 11, optional, default = {})]
    pub object_selector: Option<LabelSelector>,
    /// Declares effects besides the answer; only None or NoneOnDryRun are accepted.
    #[k8s(proto = 6, optional, default = "Unknown")]
    pub side_effects: Option<SideEffectClass>,
    /// Seconds to wait for an answer, 1 to 30; 10 when unset.
    #[k8s(proto = 7, optional, default = 30)]
    pub timeout_seconds: Option<i32>,
    /// AdmissionReview versions the webhook understands, most wanted first.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub admission_review_versions: Vec<String>,
    /// Whether it is called again after later changes; Never when unset.
    #[k8s(proto = 10, optional, default = "Never")]
    pub reinvocation_policy: Option<ReinvocationPolicyType>,
    /// CEL conditions a request must meet before being sent; up to 64.
    #[k8s(
        proto = 12,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub match_conditions: Vec<MatchCondition>,
}
