//! The settings of a webhook's client: where the webhook is, and what the server shows it. Guarantees that credentials are not
//! printed. Must never read a file.

use crate::connect::Address;
use crate::tls::{Identity, TlsSettings};
use std::path::PathBuf;

/// The settings of a webhook's client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the webhook is.
    pub address: Address,
    /// How TLS is spoken with it.
    pub tls: TlsSettings,
    /// The server's credentials.
    pub credentials: Credentials,
    /// The User-Agent.
    pub user_agent: String,
}

/// The server's credentials for a webhook.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A bearer token.
    pub token: Option<String>,
    /// A file with a bearer token, which is read again from time to time.
    pub token_file: Option<PathBuf>,
    /// A name and a password.
    pub basic: Option<(String, String)>,
    /// A client certificate.
    pub identity: Option<Identity>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}
