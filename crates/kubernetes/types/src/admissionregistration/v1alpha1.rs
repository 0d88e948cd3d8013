//! Types of `admissionregistration.k8s.io/v1alpha1`: webhooks and policies that validate or mutate requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, same_as, string_type};

use crate::meta::v1::{Condition, LabelSelector, ListMeta, ObjectMeta, StatusReason, TypeMeta};

pub use crate::admissionregistration::v1::{
    OperationType, ReinvocationPolicyType, Rule, RuleWithOperations, ScopeType,
};

same_as! {
    super::v1::{
        ApplyConfiguration, AuditAnnotation, ExpressionWarning, FailurePolicyType, JSONPatch, MatchCondition,
        MatchPolicyType, MatchResources, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
        MutatingAdmissionPolicyBindingList, MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicyList,
        MutatingAdmissionPolicySpec, Mutation, NamedRuleWithOperations, ParamKind, PatchType, TypeChecking,
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingList,
        ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicyList, ValidatingAdmissionPolicyStatus,
        Validation, ValidationAction
    }
}

string_type! {
    /// What happens when a binding finds no parameters.
    #[closed]
    pub ParameterNotFoundActionType {
        /// Treat the request as passing.
        ALLOW = "Allow",
        /// Apply the failure policy of the policy.
        DENY = "Deny",
    }
}

/// Requests a policy covers and how they are validated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicySpec {
    /// Kind of object supplying parameters; none when unset.
    #[k8s(proto = 1, optional)]
    pub param_kind: Option<ParamKind>,
    /// Requests the policy covers.
    #[k8s(proto = 2)]
    pub match_constraints: Option<MatchResources>,
    /// CEL checks that a request must all pass.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub validations: Vec<Validation>,
    /// Treatment of broken expressions or parameters; Fail when unset.
    #[k8s(proto = 4, optional, default = "Fail")]
    pub failure_policy: Option<FailurePolicyType>,
    /// Values computed and added to the audit record.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub audit_annotations: Vec<AuditAnnotation>,
    /// Extra CEL conditions a request must meet before it is validated; up to 64.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub match_conditions: Vec<MatchCondition>,
    /// Named expressions that others can refer to.
    #[k8s(
        proto = 7,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub variables: Vec<Variable>,
}

/// Named CEL expression reusable inside a policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Variable {
    /// Identifier; used in expressions as variables.name.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// CEL expression giving the value, computed on first use.
    #[k8s(proto = 2, always)]
    pub expression: String,
}

/// Finds the parameter objects for a policy, by name or by labels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ParamRef {
    /// Name of the parameter object; excludes a selector.
    #[k8s(proto = 1, published = optional)]
    pub name: String,
    /// Namespace to look in; that of the request when unset.
    #[k8s(proto = 2, optional)]
    pub namespace: String,
    /// Labels choosing parameter objects; each one found is applied.
    #[k8s(proto = 3, optional)]
    pub selector: Option<LabelSelector>,
    /// What to do when no parameter object exists.
    #[k8s(proto = 4, default = "Deny", published = optional)]
    pub parameter_not_found_action: Option<ParameterNotFoundActionType>,
}
