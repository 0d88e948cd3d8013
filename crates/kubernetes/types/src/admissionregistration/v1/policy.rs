//! Types of `admissionregistration.k8s.io/v1`: admission policies and their bindings.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use super::{
    AuditAnnotation, FailurePolicyType, MatchCondition, MatchResources, Mutation, ParamKind, ParamRef,
    ReinvocationPolicyType, TypeChecking, Validation, ValidationAction, Variable,
};
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

/// Accepts or rejects API requests by CEL expressions, without any webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "validatingadmissionpolicies",
    categories("api-extensions"),
    cluster
))]
pub struct ValidatingAdmissionPolicy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Requests covered and checks to run.
    #[k8s(proto = 2)]
    pub spec: ValidatingAdmissionPolicySpec,
    /// Problems found in the policy and its conditions.
    #[k8s(proto = 3, optional)]
    pub status: ValidatingAdmissionPolicyStatus,
}

/// Observed state of a validating policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicyStatus {
    /// Generation of the policy this status describes.
    #[k8s(proto = 1, optional)]
    pub observed_generation: i64,
    /// Result of checking the expressions against known types.
    #[k8s(proto = 2, optional)]
    pub type_checking: Option<TypeChecking>,
    /// Latest observations on the policy.
    #[k8s(proto = 3, optional, list_type = map, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}

/// Aspect of a validating policy reported by a condition.
pub type ValidatingAdmissionPolicyConditionType = String;

/// Collection of validating policies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicyList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ValidatingAdmissionPolicy objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ValidatingAdmissionPolicy>,
}

/// Requests a policy covers and how they are validated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicySpec {
    /// Kind of object supplying parameters; none when unset.
    #[k8s(proto = 1, optional)]
    pub param_kind: Option<ParamKind>,
    /// Requests the policy covers.
    #[k8s(proto = 2, published = optional, required, last(subfield(resourceRules)(required)))]
    pub match_constraints: Option<MatchResources>,
    /// CEL checks that a request must all pass.
    #[k8s(
        proto = 3,
        published = optional,
        list_type = atomic,
        when_unset(auditAnnotations)(required = "validations or auditAnnotations must contain at least one item")
    )]
    pub validations: Vec<Validation>,
    /// Treatment of broken expressions or parameters; Fail when unset.
    #[k8s(proto = 4, optional, default = "Fail", enum)]
    pub failure_policy: Option<FailurePolicyType>,
    /// Values computed and added to the audit record.
    #[k8s(
        proto = 5,
        published = optional,
        list_type = atomic,
        when_unset(validations)(required = "validations or auditAnnotations must contain at least one item"),
        last(distinct_with_absent(key))
    )]
    pub audit_annotations: Vec<AuditAnnotation>,
    /// Extra CEL conditions a request must meet before it is validated; up to 64.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        max_items = 64, last(distinct(name))
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

/// Puts a validating policy to work, with parameters and scope.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "validatingadmissionpolicybindings",
    categories("api-extensions"),
    cluster
))]
pub struct ValidatingAdmissionPolicyBinding {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Policy, parameters and actions.
    #[k8s(proto = 2, published = required)]
    pub spec: ValidatingAdmissionPolicyBindingSpec,
}

/// Collection of validating policy bindings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicyBindingList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ValidatingAdmissionPolicyBinding objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ValidatingAdmissionPolicyBinding>,
}

/// Which policy is enforced where, with what consequence.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingAdmissionPolicyBindingSpec {
    /// Policy to enforce; a missing policy makes the binding ineffective.
    #[k8s(proto = 1, required, format = "dns1123-subdomain")]
    pub policy_name: String,
    /// Parameters given to the policy.
    #[k8s(proto = 2, optional)]
    pub param_ref: Option<ParamRef>,
    /// Narrows which covered requests this binding handles.
    #[k8s(proto = 3, optional)]
    pub match_resources: Option<MatchResources>,
    /// What follows from a failed check; at least one of Deny, Warn, Audit.
    #[k8s(proto = 4, published = required, list_type = set)]
    pub validation_actions: Vec<ValidationAction>,
}

/// Changes API requests by CEL expressions, without any webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "mutatingadmissionpolicies",
    categories("api-extensions"),
    cluster
))]
pub struct MutatingAdmissionPolicy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Requests covered and changes to make.
    #[k8s(proto = 2)]
    pub spec: MutatingAdmissionPolicySpec,
}

/// Collection of mutating policies.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingAdmissionPolicyList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The MutatingAdmissionPolicy objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<MutatingAdmissionPolicy>,
}

/// Requests a policy covers and how they are changed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingAdmissionPolicySpec {
    /// Kind of object supplying parameters; none when unset.
    #[k8s(proto = 1, optional)]
    pub param_kind: Option<ParamKind>,
    /// Requests the policy covers.
    #[k8s(proto = 2, published = optional, required, last(subfield(resourceRules)(required)))]
    pub match_constraints: Option<MatchResources>,
    /// Named expressions that others can refer to.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub variables: Vec<Variable>,
    /// Changes to make, carried out in order.
    #[k8s(proto = 4, published = optional, list_type = atomic, required = "mutations must contain at least one item")]
    pub mutations: Vec<Mutation>,
    /// Treatment of broken expressions or parameters; Fail when unset.
    #[k8s(proto = 5, optional, default = "Fail", enum)]
    pub failure_policy: Option<FailurePolicyType>,
    /// Extra CEL conditions a request must meet before being changed; up to 64.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        max_items = 64, last(distinct(name))
    )]
    pub match_conditions: Vec<MatchCondition>,
    /// Whether changes are redone after later ones touched the object.
    #[k8s(proto = 7, published = optional, required, enum)]
    pub reinvocation_policy: ReinvocationPolicyType,
}

/// Puts a mutating policy to work, with parameters and scope.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "mutatingadmissionpolicybindings",
    categories("api-extensions"),
    cluster
))]
pub struct MutatingAdmissionPolicyBinding {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Policy, parameters and scope.
    #[k8s(proto = 2)]
    pub spec: MutatingAdmissionPolicyBindingSpec,
}

/// Collection of mutating policy bindings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingAdmissionPolicyBindingList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The MutatingAdmissionPolicyBinding objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<MutatingAdmissionPolicyBinding>,
}

/// Which policy changes which requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingAdmissionPolicyBindingSpec {
    /// Policy to carry out; a missing policy makes the binding ineffective.
    #[k8s(proto = 1, published = optional, required, format = "dns1123-subdomain")]
    pub policy_name: String,
    /// Parameters given to the policy.
    #[k8s(proto = 2, optional)]
    pub param_ref: Option<ParamRef>,
    /// Narrows which covered requests this binding handles.
    #[k8s(proto = 3, optional)]
    pub match_resources: Option<MatchResources>,
}
