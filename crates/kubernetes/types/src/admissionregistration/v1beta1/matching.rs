//! Types of `admissionregistration.k8s.io/v1beta1`: which requests a webhook or policy applies to.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::RuleWithOperations;
use crate::meta::v1::LabelSelector;

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
