//! Types of `admissionregistration.k8s.io/v1beta1`: what policies evaluate, and their parameters.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::{LabelSelector, StatusReason};

string_type! {
    /// What happens when a binding finds no parameters.
    pub ParameterNotFoundActionType {
        /// Treat the request as passing.
        ALLOW = "Allow",
        /// Apply the failure policy of the policy.
        DENY = "Deny",
    }
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
#[k8s(struct_type = atomic)]
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

/// Finds the parameter objects for a policy, by name or by labels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ParamRef {
    /// Name of the parameter object; excludes a selector.
    #[k8s(proto = 1)]
    pub name: String,
    /// Namespace to look in; that of the request when unset.
    #[k8s(proto = 2, optional)]
    pub namespace: String,
    /// Labels choosing parameter objects; each one found is applied.
    #[k8s(proto = 3, optional)]
    pub selector: Option<LabelSelector>,
    /// What to do when no parameter object exists.
    #[k8s(proto = 4)]
    pub parameter_not_found_action: Option<ParameterNotFoundActionType>,
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
