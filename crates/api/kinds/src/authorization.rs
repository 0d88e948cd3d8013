//! The `authorization.k8s.io` group: reviews of what a user may do.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Verbs};
use pintle_types::authorization::v1;

pub(crate) static RESOURCES: &[&Resource] = &[
    &LOCAL_SUBJECT_ACCESS_REVIEWS,
    &SELF_SUBJECT_ACCESS_REVIEWS,
    &SELF_SUBJECT_RULES_REVIEWS,
    &SUBJECT_ACCESS_REVIEWS,
];

static LOCAL_SUBJECT_ACCESS_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::namespaced::<v1::LocalSubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "localsubjectaccessreviews",
        "localsubjectaccessreview",
        "LocalSubjectAccessReview",
    )
};

static SELF_SUBJECT_ACCESS_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::cluster::<v1::SelfSubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        "SelfSubjectAccessReview",
    )
};

static SELF_SUBJECT_RULES_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::cluster::<v1::SelfSubjectRulesReview>(
        "authorization.k8s.io",
        "v1",
        "selfsubjectrulesreviews",
        "selfsubjectrulesreview",
        "SelfSubjectRulesReview",
    )
};

static SUBJECT_ACCESS_REVIEWS: Resource = Resource {
    verbs: Verbs::CREATE,
    ..Resource::cluster::<v1::SubjectAccessReview>(
        "authorization.k8s.io",
        "v1",
        "subjectaccessreviews",
        "subjectaccessreview",
        "SubjectAccessReview",
    )
};
