//! The `authentication.k8s.io` group: reviews of who a user is.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Verbs};
use pintle_types::authentication::v1;

pub(crate) static RESOURCES: &[&Resource] = &[&SELF_SUBJECT_REVIEWS, &TOKEN_REVIEWS];

static SELF_SUBJECT_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::cluster::<v1::SelfSubjectReview>(
        "authentication.k8s.io",
        "v1",
        "selfsubjectreviews",
        "selfsubjectreview",
        "SelfSubjectReview",
    )
};

static TOKEN_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::cluster::<v1::TokenReview>("authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview")
};
