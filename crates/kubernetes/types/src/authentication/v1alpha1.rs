//! Types of `authentication.k8s.io/v1alpha1`: who a user is: token reviews and requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::same_as;

use crate::authentication::v1::UserInfo;
use crate::meta::v1::{ObjectMeta, TypeMeta};

same_as! { super::v1::{SelfSubjectReview, SelfSubjectReviewStatus} }
