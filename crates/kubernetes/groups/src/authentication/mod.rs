//! The `authentication.k8s.io` group: reviews of who a user is.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use pintle_resource::{Resource, Verbs};
use pintle_types::authentication::v1;

pub(crate) fn resources() -> Vec<Resource> {
    vec![self_subject_reviews(), token_reviews()]
}

fn self_subject_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::cluster::<v1::SelfSubjectReview>(
            "authentication.k8s.io",
            "v1",
            "selfsubjectreviews",
            "selfsubjectreview",
            "SelfSubjectReview",
        )
    }
}

fn token_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::cluster::<v1::TokenReview>(
            "authentication.k8s.io",
            "v1",
            "tokenreviews",
            "tokenreview",
            "TokenReview",
        )
    }
}
