//! Defaults of the networking group that are not constants: the policy types of a network policy.
//!
//! A policy applies to ingress by default, and to egress if it has egress rules.

use crate::defaulting::Rule;
use crate::defaulting::fields::{is_zero, set};
use pintle_schema::{ApiType, Value};
use pintle_types::networking::v1::{NetworkPolicySpec, PolicyType};

pub const RULES: &[Rule] = &[(NetworkPolicySpec::schema, policy_types)];

fn policy_types(spec: &mut Value) {
    if is_zero(spec, NetworkPolicySpec::POLICY_TYPES) {
        let mut types = vec![PolicyType::INGRESS];
        if !is_zero(spec, NetworkPolicySpec::EGRESS) {
            types.push(PolicyType::EGRESS);
        }
        set(spec, NetworkPolicySpec::POLICY_TYPES, types);
    }
}
