//! The `admissionregistration.k8s.io` group: webhooks and policies that validate or mutate requests.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;
