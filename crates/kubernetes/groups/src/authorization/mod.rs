//! The `authorization.k8s.io` group: reviews of what a user may do.
//!
//! Tables of its resources and their strategies.

pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use pintle_resource::{Group, Resource, Verbs};
use pintle_schema::Str;
use pintle_types::authorization::v1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("authorization.k8s.io"),
        priority: Some(17600),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![
            local_subject_access_reviews(),
            self_subject_access_reviews(),
            self_subject_rules_reviews(),
            subject_access_reviews(),
        ]),
        internal: Vec::new(),
    }
}

fn local_subject_access_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::LocalSubjectAccessReview>() }
}

fn self_subject_access_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::SelfSubjectAccessReview>() }
}

fn self_subject_rules_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::SelfSubjectRulesReview>() }
}

fn subject_access_reviews() -> Resource {
    Resource { verbs: Verbs::CREATE, ..Resource::of::<v1::SubjectAccessReview>() }
}
