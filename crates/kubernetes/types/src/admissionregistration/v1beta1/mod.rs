//! Types of `admissionregistration.k8s.io/v1beta1`: webhooks and policies that validate or mutate requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

mod expression;
mod matching;
mod policy;
mod webhook;

pub use crate::admissionregistration::v1::{
    OperationType, ReinvocationPolicyType, Rule, RuleWithOperations, ScopeType,
};
pub use expression::*;
pub use matching::*;
pub use policy::*;
pub use webhook::*;
