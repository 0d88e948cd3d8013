//! Types of `authentication.k8s.io/v1`: who a user is: token reviews and requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Time};

use crate::meta::v1::{ObjectMeta, TypeMeta};

/// Asks the server whether a bearer token is valid and whose it is.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authentication.k8s.io", plural = "tokenreviews", cluster))]
pub struct TokenReview {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Token to check.
    #[k8s(proto = 2, published = required, always)]
    pub spec: TokenReviewSpec,
    /// Answer of the server.
    #[k8s(proto = 3, optional)]
    pub status: TokenReviewStatus,
}

/// Token to check and for whom.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenReviewSpec {
    /// The bearer token, without any prefix.
    #[k8s(proto = 1, published = required)]
    pub token: String,
    /// Audiences of the asking service; those of the API server when empty.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub audiences: Vec<String>,
}

/// Result of checking a token.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenReviewStatus {
    /// Whether the token belongs to a known user.
    #[k8s(proto = 1, optional)]
    pub authenticated: bool,
    /// User behind the token.
    #[k8s(proto = 2, optional)]
    pub user: UserInfo,
    /// Requested audiences for which the token is good.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub audiences: Vec<String>,
    /// Why the token could not be checked.
    #[k8s(proto = 3, optional)]
    pub error: String,
}

/// Identity of a user as known to the server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UserInfo {
    /// Name that distinguishes the user from all other active ones.
    #[k8s(proto = 1, optional)]
    pub username: String,
    /// Value telling apart users that had the same name at different times.
    #[k8s(proto = 2, optional)]
    pub uid: String,
    /// Groups the user belongs to.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub groups: Vec<String>,
    /// Further attributes delivered by the authenticator.
    #[k8s(proto = 4, optional)]
    pub extra: BTreeMap<String, ExtraValue>,
}

/// List of values for one extra user attribute.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct ExtraValue {
    /// The values, in order.
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

/// Asks for a fresh token of a service account.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenRequest {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted audience, lifetime and binding.
    #[k8s(proto = 2, optional, always)]
    pub spec: TokenRequestSpec,
    /// The issued token.
    #[k8s(proto = 3, optional)]
    pub status: TokenRequestStatus,
}

/// Properties the token should have.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenRequestSpec {
    /// Recipients the token is meant for; they must reject other tokens.
    #[k8s(proto = 1, optional, always, list_type = atomic)]
    pub audiences: Vec<String>,
    /// Wanted lifetime in seconds; the server may give another.
    #[k8s(proto = 4, optional, always, default = 3600)]
    pub expiration_seconds: Option<i64>,
    /// Object whose deletion makes the token invalid.
    #[k8s(proto = 3, optional, always)]
    pub bound_object_ref: Option<BoundObjectReference>,
}

/// Token issued in response.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenRequestStatus {
    /// The signed token.
    #[k8s(proto = 1, optional, always)]
    pub token: String,
    /// Moment after which the token stops working.
    #[k8s(proto = 2, optional, always)]
    pub expiration_timestamp: Time,
}

/// Points at the object a token's life depends on.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct BoundObjectReference {
    /// Kind of the object, such as Pod, Secret or Node.
    #[k8s(proto = 1, optional)]
    pub kind: String,
    /// API version of the object.
    #[k8s(proto = 2, optional)]
    pub api_version: String,
    /// Name of the object.
    #[k8s(proto = 3, optional)]
    pub name: String,
    /// UID of the object.
    #[k8s(proto = 4, optional)]
    pub uid: String,
}

/// Tells the caller as whom the server sees them.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "authentication.k8s.io", plural = "selfsubjectreviews", cluster))]
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
