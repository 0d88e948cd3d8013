//! The order in which kube-apiserver validates the fields of webhooks and policies, by the version that they are stored in.

/// Kinds that are stored in the first version.
pub mod of_v1 {
    use pintle_types::admissionregistration::v1::{
        MatchResources, MutatingWebhook, ValidatingAdmissionPolicySpec, ValidatingWebhook,
    };
    use pintle_validation::{FieldOrder, field_order};

    pub static ORDERS: &[FieldOrder] = &[
        field_order!(MatchResources: [MATCH_POLICY]),
        field_order!(ValidatingWebhook: [
            NAME, RULES, FAILURE_POLICY, MATCH_POLICY, SIDE_EFFECTS, TIMEOUT_SECONDS, NAMESPACE_SELECTOR, OBJECT_SELECTOR,
            CLIENT_CONFIG, MATCH_CONDITIONS
        ]),
        field_order!(MutatingWebhook: [
            NAME, RULES, FAILURE_POLICY, MATCH_POLICY, SIDE_EFFECTS, TIMEOUT_SECONDS, NAMESPACE_SELECTOR, OBJECT_SELECTOR,
            REINVOCATION_POLICY, CLIENT_CONFIG, MATCH_CONDITIONS
        ]),
        field_order!(ValidatingAdmissionPolicySpec: [
            FAILURE_POLICY, PARAM_KIND, MATCH_CONSTRAINTS, MATCH_CONDITIONS, VARIABLES
        ]),
    ];
}

/// Kinds that are stored in `v1beta1`.
pub mod of_v1beta1 {
    use pintle_types::admissionregistration::v1beta1::{MatchResources, MutatingAdmissionPolicySpec};
    use pintle_validation::{FieldOrder, field_order};

    pub static ORDERS: &[FieldOrder] = &[
        field_order!(MatchResources: [MATCH_POLICY]),
        field_order!(MutatingAdmissionPolicySpec: [
            FAILURE_POLICY, PARAM_KIND, MATCH_CONSTRAINTS, MATCH_CONDITIONS
        ]),
    ];
}
