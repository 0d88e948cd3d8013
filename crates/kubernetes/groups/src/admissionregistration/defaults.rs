//! Defaults of the admissionregistration group that are no constants: the review version of v1beta1's webhooks.
//!
//! Only what tags cannot say; the rest stands in the types.

use crate::defaulting::Rule;
use crate::defaulting::fields::set_if_zero;
use pintle_schema::{ApiType, Value};
use pintle_types::admissionregistration::v1beta1::{MutatingWebhook, ValidatingWebhook};

pub const RULES: &[Rule] = &[
    (ValidatingWebhook::schema, |webhook| {
        set_if_zero(webhook, ValidatingWebhook::ADMISSION_REVIEW_VERSIONS, review_versions());
    }),
    (MutatingWebhook::schema, |webhook: &mut Value| {
        set_if_zero(webhook, MutatingWebhook::ADMISSION_REVIEW_VERSIONS, review_versions());
    }),
];

fn review_versions() -> Vec<String> {
    vec!["v1beta1".to_owned()]
}
