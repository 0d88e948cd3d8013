//! The `authentication.k8s.io` group: reviews of who a user is.
//!
//! Tables of its resources and their strategies.

use crate::group::{TypeFunctions, version};
use pintle_resource::{Group, Resource, Verbs};
use pintle_schema::Str;
use pintle_types::authentication::v1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default();
    Group {
        name: Str::new_static("authentication.k8s.io"),
        priority: Some(17700),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![self_subject_reviews(), token_reviews()]),
        internal: Vec::new(),
    }
}

fn self_subject_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::SelfSubjectReview>() }
}

fn token_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::TokenReview>() }
}
