//! `StartError`: why a server did not start.

use pintle_schema::gates::GateError;
use pintle_storage::StoreError;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store failed when bootstrap objects were written.
    #[error("the first objects could not be written: {0}")]
    Bootstrap(String),
    /// The admission configurations in files cannot be used.
    #[error("{0}")]
    Manifests(String),
    /// The release that the server behaves as cannot have these feature gates.
    #[error(transparent)]
    Gates(#[from] GateError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<pintle_server::StartError> for StartError {
    fn from(error: pintle_server::StartError) -> Self {
        match error {
            pintle_server::StartError::Store(error) => StartError::Store(error),
            pintle_server::StartError::Gates(error) => StartError::Gates(error),
            pintle_server::StartError::Io(error) => StartError::Io(error),
        }
    }
}
