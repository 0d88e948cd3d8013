//! Types of `authentication.k8s.io/v1beta1`: who a user is: token reviews and requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, same_as};

use crate::meta::v1::{ObjectMeta, TypeMeta};

same_as! { super::v1::{ExtraValue, SelfSubjectReview, TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo} }

/// Answer to who the caller is.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SelfSubjectReviewStatus {
    /// User attributes of the caller.
    #[k8s(proto = 1, optional)]
    pub user_info: crate::authentication::v1::UserInfo,
}
