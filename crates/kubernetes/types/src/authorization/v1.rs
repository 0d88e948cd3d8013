//! Types of `authorization.k8s.io/v1`: what a user may do: access reviews.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::ApiType;

use crate::meta::v1::{FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta, TypeMeta};

/// Asks whether some user may perform a certain action.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authorization.k8s.io", plural = "subjectaccessreviews", cluster))]
pub struct SubjectAccessReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// User and action in question.
    #[k8s(proto = 2, always)]
    pub spec: SubjectAccessReviewSpec,
    /// Verdict.
    #[k8s(proto = 3, optional)]
    pub status: SubjectAccessReviewStatus,
}

/// Asks whether the caller may perform a certain action.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authorization.k8s.io", plural = "selfsubjectaccessreviews", cluster))]
pub struct SelfSubjectAccessReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Action in question.
    #[k8s(proto = 2, always)]
    pub spec: SelfSubjectAccessReviewSpec,
    /// Verdict.
    #[k8s(proto = 3, optional)]
    pub status: SubjectAccessReviewStatus,
}

/// Asks whether a user may perform an action inside one namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authorization.k8s.io", plural = "localsubjectaccessreviews", namespaced))]
pub struct LocalSubjectAccessReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// User and action; its namespace must equal that of the request.
    #[k8s(proto = 2, always)]
    pub spec: SubjectAccessReviewSpec,
    /// Verdict.
    #[k8s(proto = 3, optional)]
    pub status: SubjectAccessReviewStatus,
}

/// Action on a Kubernetes resource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceAttributes {
    /// Namespace of the action; empty means cluster scope or, for self checks, all.
    #[k8s(proto = 1, optional)]
    pub namespace: String,
    /// Action such as get, list, create or delete; `*` means all.
    #[k8s(proto = 2, optional)]
    pub verb: String,
    /// API group of the resource; `*` means all.
    #[k8s(proto = 3, optional)]
    pub group: String,
    /// API version of the resource; `*` means all.
    #[k8s(proto = 4, optional)]
    pub version: String,
    /// Resource name in plural; `*` means all.
    #[k8s(proto = 5, optional)]
    pub resource: String,
    /// Subresource, such as status; empty for the resource itself.
    #[k8s(proto = 6, optional)]
    pub subresource: String,
    /// Name of one object; empty means all of them.
    #[k8s(proto = 7, optional)]
    pub name: String,
    /// Narrows the action to objects with certain field values.
    #[k8s(proto = 8, optional)]
    pub field_selector: Option<FieldSelectorAttributes>,
    /// Narrows the action to objects with certain labels.
    #[k8s(proto = 9, optional)]
    pub label_selector: Option<LabelSelectorAttributes>,
}

/// Label restriction of an access question, raw or parsed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LabelSelectorAttributes {
    /// Selector as query text; not usable together with requirements.
    #[k8s(proto = 1, optional)]
    pub raw_selector: String,
    /// Parsed conditions, all of which have to hold.
    #[k8s(proto = 2, optional, list_type = atomic, opaque_type)]
    pub requirements: Vec<LabelSelectorRequirement>,
}

/// Field restriction of an access question, raw or parsed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FieldSelectorAttributes {
    /// Selector as query text; not usable together with requirements.
    #[k8s(proto = 1, optional)]
    pub raw_selector: String,
    /// Parsed conditions, all of which have to hold.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub requirements: Vec<FieldSelectorRequirement>,
}

/// Action on a plain URL path.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NonResourceAttributes {
    /// URL path requested.
    #[k8s(proto = 1, optional)]
    pub path: String,
    /// HTTP method in lower case.
    #[k8s(proto = 2, optional)]
    pub verb: String,
}

/// User and the action to review; exactly one kind of action is given.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SubjectAccessReviewSpec {
    /// Action on a resource.
    #[k8s(proto = 1, optional)]
    pub resource_attributes: Option<ResourceAttributes>,
    /// Action on a URL path.
    #[k8s(proto = 2, optional)]
    pub non_resource_attributes: Option<NonResourceAttributes>,
    /// User to review; may be left out when groups are named.
    #[k8s(proto = 3, optional)]
    pub user: String,
    /// Groups of the user.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub groups: Vec<String>,
    /// Further attributes of the user, as delivered at login.
    #[k8s(proto = 5, optional)]
    pub extra: BTreeMap<String, ExtraValue>,
    /// UID of the user.
    #[k8s(proto = 6, optional)]
    pub uid: String,
}

/// List of values for one extra user attribute.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct ExtraValue {
    /// The values, in order.
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

/// Action of the caller to review; exactly one kind is given.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelfSubjectAccessReviewSpec {
    /// Action on a resource.
    #[k8s(proto = 1, optional)]
    pub resource_attributes: Option<ResourceAttributes>,
    /// Action on a URL path.
    #[k8s(proto = 2, optional)]
    pub non_resource_attributes: Option<NonResourceAttributes>,
}

/// Verdict on an access question.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SubjectAccessReviewStatus {
    /// Whether the action is permitted.
    #[k8s(proto = 1, always)]
    pub allowed: bool,
    /// Whether the action was explicitly refused rather than just not permitted.
    #[k8s(proto = 4, optional)]
    pub denied: bool,
    /// Why the verdict came out this way.
    #[k8s(proto = 2, optional)]
    pub reason: String,
    /// Error of the evaluation; a decision may exist in spite of it.
    #[k8s(proto = 3, optional)]
    pub evaluation_error: String,
}

/// Lists what the caller may do within a namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authorization.k8s.io", plural = "selfsubjectrulesreviews", cluster))]
pub struct SelfSubjectRulesReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Namespace in question.
    #[k8s(proto = 2, always)]
    pub spec: SelfSubjectRulesReviewSpec,
    /// Actions permitted.
    #[k8s(proto = 3, optional)]
    pub status: SubjectRulesReviewStatus,
}

/// Scope of the listing.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelfSubjectRulesReviewSpec {
    /// Namespace to evaluate.
    #[k8s(proto = 1)]
    pub namespace: String,
}

/// Permitted actions as far as they can be listed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SubjectRulesReviewStatus {
    /// Permitted actions on resources, in no particular order.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub resource_rules: Vec<ResourceRule>,
    /// Permitted actions on URL paths, in no particular order.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub non_resource_rules: Vec<NonResourceRule>,
    /// Whether some permissions could not be listed.
    #[k8s(proto = 3, always)]
    pub incomplete: bool,
    /// Trouble while collecting, such as an authorizer unable to list rules.
    #[k8s(proto = 4, optional)]
    pub evaluation_error: String,
}

/// Permitted actions on certain resources.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceRule {
    /// Permitted actions; `*` means all.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub verbs: Vec<String>,
    /// API groups concerned; `*` means all.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub api_groups: Vec<String>,
    /// Resources concerned; `*` means all, `*/name` one subresource everywhere.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub resources: Vec<String>,
    /// Only objects with these names; empty means any.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub resource_names: Vec<String>,
}

/// Permitted actions on certain URL paths.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NonResourceRule {
    /// Permitted HTTP methods in lower case; `*` means all.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub verbs: Vec<String>,
    /// Paths concerned; `*` as last segment matches anything below.
    #[k8s(proto = 2, name = "nonResourceURLs", optional, list_type = atomic)]
    pub non_resource_urls: Vec<String>,
}
