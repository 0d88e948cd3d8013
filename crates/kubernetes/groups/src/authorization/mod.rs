//! The `authorization.k8s.io` group: reviews of what a user may do.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

pub(crate) mod rules;

use pintle_resource::{Resource, Verbs};
use pintle_types::authorization::v1;

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        local_subject_access_reviews(),
        self_subject_access_reviews(),
        self_subject_rules_reviews(),
        subject_access_reviews(),
    ]
}

fn local_subject_access_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::namespaced::<v1::LocalSubjectAccessReview>(
            "authorization.k8s.io",
            "v1",
            "localsubjectaccessreviews",
            "localsubjectaccessreview",
            "LocalSubjectAccessReview",
        )
    }
}

fn self_subject_access_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::cluster::<v1::SelfSubjectAccessReview>(
            "authorization.k8s.io",
            "v1",
            "selfsubjectaccessreviews",
            "selfsubjectaccessreview",
            "SelfSubjectAccessReview",
        )
    }
}

fn self_subject_rules_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::cluster::<v1::SelfSubjectRulesReview>(
            "authorization.k8s.io",
            "v1",
            "selfsubjectrulesreviews",
            "selfsubjectrulesreview",
            "SelfSubjectRulesReview",
        )
    }
}

fn subject_access_reviews() -> Resource {
    Resource {
        verbs: Verbs::CREATE,
        ..Resource::cluster::<v1::SubjectAccessReview>(
            "authorization.k8s.io",
            "v1",
            "subjectaccessreviews",
            "subjectaccessreview",
            "SubjectAccessReview",
        )
    }
}
