//! Rules of access reviews.
//!
//! Reviews are answered and never stored: their spec is validated, and their metadata must be empty.

pub mod review;

use pintle_schema::ApiType;
use pintle_types::authorization::v1::{
    FieldSelectorAttributes, LabelSelectorAttributes, LocalSubjectAccessReview, ResourceAttributes,
    SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use pintle_validation::{CustomRule, Group, KindRules, Pass, at_field, at_type, pass};

/// The group's kinds, none of which has the usual passes, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        create: &[
            Pass::Rules,
            pass!(SubjectAccessReview, |at, cx| review::no_metadata(at, SubjectAccessReview::METADATA, cx)),
        ],
        ..KindRules::of(SubjectAccessReview::schema)
    },
    KindRules {
        create: &[
            Pass::Rules,
            pass!(SelfSubjectAccessReview, |at, cx| review::no_metadata(at, SelfSubjectAccessReview::METADATA, cx)),
        ],
        ..KindRules::of(SelfSubjectAccessReview::schema)
    },
    KindRules {
        create: &[
            Pass::Rules,
            pass!(LocalSubjectAccessReview, |at, cx| review::no_metadata(at, LocalSubjectAccessReview::METADATA, cx)),
            pass!(LocalSubjectAccessReview, review::within_namespace),
        ],
        ..KindRules::of(LocalSubjectAccessReview::schema)
    },
    // It asks for nothing that could be wrong, and its metadata is passed over.
    KindRules { create: &[], ..KindRules::of(SelfSubjectRulesReview::schema) },
];

static RULES: &[CustomRule] = &[
    at_type!(SubjectAccessReviewSpec, review::of_subject),
    at_type!(SelfSubjectAccessReviewSpec, review::of_self),
    at_field!(ResourceAttributes::FIELD_SELECTOR, review::field_selector),
    at_field!(ResourceAttributes::LABEL_SELECTOR, review::label_selector),
    at_type!(FieldSelectorAttributes, review::field_requirements),
    at_type!(LabelSelectorAttributes, review::label_requirements),
];
