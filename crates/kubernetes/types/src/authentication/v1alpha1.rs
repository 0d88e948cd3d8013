//! Types of `authentication.k8s.io/v1alpha1`: who a user is: token reviews and requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::authentication::v1::UserInfo;
use crate::meta::v1::{ObjectMeta, TypeMeta};

/// Tells the caller as whom the server sees them.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelfSubjectReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Identity of the caller.
    #[k8s(proto = 2, optional)]
    pub status: SelfSubjectReviewStatus,
}

/// Answer to who the caller is.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelfSubjectReviewStatus {
    /// User attributes of the caller.
    #[k8s(proto = 1, optional)]
    pub user_info: UserInfo,
}
