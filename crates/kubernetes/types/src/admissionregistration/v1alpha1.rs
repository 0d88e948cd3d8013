//! Types of `admissionregistration.k8s.io/v1alpha1`: webhooks and policies that validate or mutate requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::{Condition, LabelSelector, ListMeta, ObjectMeta, StatusReason, TypeMeta};

pub use crate::admissionregistration::v1::{
    OperationType, ReinvocationPolicyType, Rule, RuleWithOperations, ScopeType,
};

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

string_type! {
    /// What happens when a check cannot be carried out.
    #[closed]
    pub FailurePolicyType {
        /// Carry on as though the check had passed.
        IGNORE = "Ignore",
        /// Reject the request.
        FAIL = "Fail",
    }
}

string_type! {
    /// How strictly requests are compared with rules.
    #[closed]
    pub MatchPolicyType {
        /// Only the very group, version and resource named.
        EXACT = "Exact",
        /// Also the same resource arriving through another group or version.
        EQUIVALENT = "Equivalent",
    }
}

/// Accepts or rejects API requests by CEL expressions, without any webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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

/// Result of type-checking a policy's expressions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypeChecking {
    /// Likely mistakes found, one for each expression.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub expression_warnings: Vec<ExpressionWarning>,
}

/// Likely mistake in one expression.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExpressionWarning {
    /// Path to the expression within the policy.
    #[k8s(proto = 2, always)]
    pub field_ref: String,
    /// Findings of the type checker, for people.
    #[k8s(proto = 3, always)]
    pub warning: String,
}

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

/// CEL condition deciding whether a request is handled at all.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MatchCondition {
    /// Qualified name identifying the condition in logs and errors.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// CEL expression giving true or false; false skips the request.
    #[k8s(proto = 2, always)]
    pub expression: String,
}

/// Kind of object supplying parameters to a policy.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ParamKind {
    /// API group and version of the parameters, as group/version.
    #[k8s(proto = 1)]
    pub api_version: String,
    /// Kind of the parameters.
    #[k8s(proto = 2)]
    pub kind: String,
}

/// One CEL check and the message given when it fails.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// CEL expression that has to yield true for the request to pass.
    #[k8s(proto = 1, always)]
    pub expression: String,
    /// Fixed text shown on failure; needed when the expression spans lines.
    #[k8s(proto = 2, optional)]
    pub message: String,
    /// Machine-readable cause deciding the HTTP status; Invalid when unset.
    #[k8s(proto = 3, optional)]
    pub reason: Option<StatusReason>,
    /// CEL expression computing the failure text; wins over the fixed one.
    #[k8s(proto = 4, optional)]
    pub message_expression: String,
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

/// Computed entry for the audit record.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AuditAnnotation {
    /// Name of the entry; prefixed with the policy name in the record.
    #[k8s(proto = 1, always)]
    pub key: String,
    /// CEL expression giving the text; null leaves the entry out.
    #[k8s(proto = 2, always)]
    pub value_expression: String,
}

/// Puts a validating policy to work, with parameters and scope.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
    #[k8s(proto = 1, published = required)]
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

/// Requests picked by resource, namespace labels and object labels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
#[k8s(validation_order("matchPolicy"))]
pub struct MatchResources {
    /// Only namespaces with matching labels; every namespace when unset.
    #[k8s(proto = 1, optional, default = {})]
    pub namespace_selector: Option<LabelSelector>,
    /// Only requests whose old or new object has matching labels.
    #[k8s(proto = 2, optional, default = {})]
    pub object_selector: Option<LabelSelector>,
    /// Operations and resources covered; a request must match one.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub resource_rules: Vec<NamedRuleWithOperations>,
    /// Operations and resources left out even if covered.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub exclude_resource_rules: Vec<NamedRuleWithOperations>,
    /// Whether equivalent resources in other versions count; Equivalent when unset.
    #[k8s(proto = 7, optional, default = "Equivalent", enum)]
    pub match_policy: Option<MatchPolicyType>,
}

string_type! {
    /// Consequence of a failed check.
    #[closed]
    pub ValidationAction {
        /// The request is rejected.
        DENY = "Deny",
        /// The client receives a warning.
        WARN = "Warn",
        /// The failure goes into the audit record.
        AUDIT = "Audit",
    }
}

/// Operations on resources, optionally only for certain names.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct NamedRuleWithOperations {
    /// Object names covered; empty means any.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub resource_names: Vec<String>,
    /// Operations together with the resources they concern.
    #[k8s(inline, proto = 2)]
    pub rule_with_operations: RuleWithOperations,
}

/// Changes API requests by CEL expressions, without any webhook.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
#[k8s(validation_order("failurePolicy", "paramKind", "matchConstraints", "matchConditions"))]
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

/// One change, expressed as apply configuration or as JSON patch.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Mutation {
    /// Form in which the change is given.
    #[k8s(proto = 2, always)]
    pub patch_type: PatchType,
    /// Change given as fields to merge into the object.
    #[k8s(proto = 3)]
    pub apply_configuration: Option<ApplyConfiguration>,
    /// Change given as JSON patch operations.
    #[k8s(proto = 4)]
    pub json_patch: Option<JSONPatch>,
}

string_type! {
    /// Form of a change to an object.
    #[closed]
    pub PatchType {
        /// Fields merged the way server-side apply does.
        APPLY_CONFIGURATION = "ApplyConfiguration",
        /// List of JSON patch operations.
        JSON_PATCH = "JSONPatch",
    }
}

/// Change computed as fields to merge.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ApplyConfiguration {
    /// CEL expression building the fields, typed as Object.
    #[k8s(proto = 1)]
    pub expression: String,
}

/// Change computed as JSON patch.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JSONPatch {
    /// CEL expression building an array of JSONPatch operations.
    #[k8s(proto = 1)]
    pub expression: String,
}

/// Puts a mutating policy to work, with parameters and scope.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
