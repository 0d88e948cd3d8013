//! The `eventratelimit.admission.k8s.io` group: the configuration of the event rate limit admission plugin.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1alpha1;
