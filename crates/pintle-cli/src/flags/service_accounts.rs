//! The flags of service account tokens. Guarantees that issuers are names or URLs, and that none is given twice. Must
//! never read a key.

use super::config::{Config, with_defaults};
use super::setting::{InputFile, Repeated};
use super::table::{Flag, must};
use std::path::PathBuf;
use std::time::Duration;

with_defaults! {
    /// How service account tokens are issued and verified.
    pub struct ServiceAccounts {
        /// The first one issues new tokens.
        pub issuers: Repeated<String>,
        pub key_files: Repeated<InputFile>,
        pub signing_key_file: Option<InputFile>,
        /// The socket of a signer outside of the server.
        pub signing_endpoint: Option<PathBuf>,
        /// The issuers when empty.
        pub api_audiences: Vec<String>,
        pub extend_expiration: bool = true,
        /// 0 is no limit.
        pub max_expiration: Duration,
        pub jwks_uri: Option<String>,
    }
}

/// As in kube-apiserver, an issuer that contains a colon must be a URL.
fn check_issuers(config: &Config) -> Result<(), String> {
    let is_good = |issuer: &String| match issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://")) {
        Some(rest) => !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace),
        None => !issuer.contains(':'),
    };
    let issuers = &config.service_accounts.issuers.0;
    must(issuers.iter().all(is_good), "must be a URL, or a name without a colon")?;
    let repeated =
        issuers.iter().enumerate().find(|(at, issuer)| issuers.iter().take(*at).any(|other| other == *issuer));
    repeated.map_or(Ok(()), |(_, issuer)| Err(format!("{issuer:?} is already specified")))
}

/// The flags, in the order of the help.
pub static SERVICE_ACCOUNT_FLAGS: &[Flag] = &[
    Flag::new(
        "service-account-issuer",
        |c| &mut c.service_accounts.issuers,
        "Issuer of service account tokens. May be repeated; new tokens get the first one. Default: \
         https://kubernetes.default.svc.",
    )
    .checked(check_issuers),
    Flag::new(
        "service-account-key-file",
        |c| &mut c.service_accounts.key_files,
        "PEM file with keys that verify service account tokens. May be repeated.",
    ),
    Flag::new(
        "service-account-signing-key-file",
        |c| &mut c.service_accounts.signing_key_file,
        "PEM file with the key that signs and verifies service account tokens. Default: service-account.key \
         in --cert-dir, generated if missing.",
    ),
    Flag::new(
        "service-account-signing-endpoint",
        |c| &mut c.service_accounts.signing_endpoint,
        "Unix socket of a signer of service account tokens, which also gives the keys that verify them. Excludes the \
         flags of key files.",
    ),
    Flag::new(
        "api-audiences",
        |c| &mut c.service_accounts.api_audiences,
        "Audiences of accepted service account tokens. Default: the issuers.",
    ),
    Flag::new(
        "service-account-extend-token-expiration",
        |c| &mut c.service_accounts.extend_expiration,
        "Whether tokens of pods are valid for longer than the kubelet requests, for clients that do not \
         reload them.",
    ),
    Flag::only(
        "service-account-lookup",
        "true",
        "Whether a service account token is invalid after the objects that it is bound to are deleted.",
    ),
    Flag::new(
        "service-account-max-token-expiration",
        |c| &mut c.service_accounts.max_expiration,
        "Longest lifetime of a service account token; 0 is no limit.",
    )
    .checked(|c| {
        let seconds = c.service_accounts.max_expiration.as_secs();
        must(seconds == 0 || (3600..=1 << 32).contains(&seconds), "must be between 1h and 2^32 seconds")
    }),
    Flag::new(
        "service-account-jwks-uri",
        |c| &mut c.service_accounts.jwks_uri,
        "URL of the token verification keys in the OIDC discovery document. Default: at this server.",
    )
    .checked(|c| {
        let uri = c.service_accounts.jwks_uri.as_deref();
        must(uri.is_none_or(|uri| uri.starts_with("https://")), "must be an https URL")
    }),
];
