//! The rules of `pintle-groups` under the names that their users know.
//!
//! Re-exports alone.

pub mod certificates {
    //! Rules of certificates.

    pub use pintle_groups::certificates::rules::pem;
}
