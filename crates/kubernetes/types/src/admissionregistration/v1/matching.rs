//! Types of `admissionregistration.k8s.io/v1`: which requests a webhook or policy applies to.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::LabelSelector;

/// Resources, given by group, version and name, that something applies to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// API groups covered; `*` alone means all.
    #[k8s(proto = 1, published = optional, list_type = atomic, required)]
    pub api_groups: Vec<String>,
    /// API versions covered; `*` alone means all.
    #[k8s(proto = 2, published = optional, list_type = atomic, required, each_val(required))]
    pub api_versions: Vec<String>,
    /// Resources or resource/subresource pairs covered; `*` and `*/*` are wildcards.
    #[k8s(proto = 3, published = optional, list_type = atomic, required)]
    pub resources: Vec<String>,
    /// Whether cluster-scoped, namespaced or all objects are covered; all by default.
    #[k8s(proto = 4, optional, default = "*", enum)]
    pub scope: Option<ScopeType>,
}

string_type! {
    /// Scope of objects a rule covers.
    #[closed]
    pub ScopeType {
        /// Cluster-scoped objects, including namespaces themselves.
        CLUSTER = "Cluster",
        /// Objects living in a namespace.
        NAMESPACED = "Namespaced",
        /// Objects of either scope.
        ALL_SCOPES = "*",
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

/// Requests picked by resource, namespace labels and object labels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
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

/// Operations together with the resources they concern.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RuleWithOperations {
    /// Operations covered: CREATE, UPDATE, DELETE, CONNECT or `*`.
    #[k8s(proto = 1, published = optional, list_type = atomic, required)]
    pub operations: Vec<OperationType>,
    /// Resources, given by group, version and name, that something applies to.
    #[k8s(inline, proto = 2)]
    pub rule: Rule,
}

string_type! {
    /// Kind of request an admission rule covers.
    #[closed]
    pub OperationType {
        /// Every operation.
        ALL = "*",
        /// Creating objects.
        CREATE = "CREATE",
        /// Modifying objects.
        UPDATE = "UPDATE",
        /// Removing objects.
        DELETE = "DELETE",
        /// Opening connections such as exec or proxy.
        CONNECT = "CONNECT",
    }
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
