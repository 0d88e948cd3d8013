//! The legacy core group: the file with which a client reaches clusters.
//! One module per version; each holds the complete shape of that version.
//! A version never borrows a type from another one unless the API itself defines the two as one.

pub mod v1;
