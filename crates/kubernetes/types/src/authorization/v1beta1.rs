//! Types of `authorization.k8s.io/v1beta1`: what a user may do: access reviews.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, same_as};

use crate::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};
use crate::meta::v1::{ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        ExtraValue, LocalSubjectAccessReview, NonResourceAttributes, NonResourceRule, ResourceAttributes,
        ResourceRule, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview,
        SelfSubjectRulesReviewSpec, SubjectAccessReview, SubjectAccessReviewStatus, SubjectRulesReviewStatus
    }
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
    /// Groups of the user, under the singular name of this older version.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub group: Vec<String>,
    /// Further attributes of the user, as delivered at login.
    #[k8s(proto = 5, optional)]
    pub extra: BTreeMap<String, ExtraValue>,
    /// UID of the user.
    #[k8s(proto = 6, optional)]
    pub uid: String,
}
