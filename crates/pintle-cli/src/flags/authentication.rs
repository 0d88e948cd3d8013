//! The flags about tokens that other parties issue or review. Guarantees that one issuer is configured by flags or
//! several by a file, not both. Must never read a file: files are read after all flags have been checked.

use super::FlagError;
use super::config::with_defaults;
use super::setting::{InputFile, Repeated, Word};
use super::table::{Flag, must};
use pintle_jwt::Algorithm;
use pintle_reviews::ReviewVersion;
use std::time::Duration;

with_defaults! {
    /// Which tokens of other parties are accepted.
    pub struct AuthenticationFlags {
        /// The authorities of client certificates.
        pub client_ca_file: Option<InputFile>,
        pub token_file: Option<InputFile>,
        /// Whether requests without credentials are accepted.
        pub anonymous: Option<bool>,
        pub config_file: Option<InputFile>,
        pub oidc: OidcFlags,
        pub webhook_file: Option<InputFile>,
        pub webhook_version: String = ReviewVersion::V1beta1.name().to_owned(),
        pub webhook_cache_ttl: Duration = Duration::from_secs(120),
    }
}

with_defaults! {
    /// The flags that begin with `--oidc-`.
    pub struct OidcFlags {
        pub issuer_url: Option<String>,
        pub client_id: Option<String>,
        pub ca_file: Option<InputFile>,
        pub username_claim: String = "sub".to_owned(),
        pub username_prefix: Option<String>,
        pub groups_claim: Option<String>,
        pub groups_prefix: Option<String>,
        /// RS256 when empty.
        pub signing_algorithms: Vec<String>,
        pub required_claims: Repeated<RequiredClaim>,
    }
}

/// A claim and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredClaim {
    pub claim: String,
    pub value: String,
}

impl Word for RequiredClaim {
    const SHAPE: &'static str = "CLAIM=VALUE";

    fn read(text: &str) -> Result<Self, String> {
        let (claim, value) = text.split_once('=').ok_or("malformed pair, expect string=string")?;
        Ok(RequiredClaim { claim: claim.trim().to_owned(), value: value.trim().to_owned() })
    }

    fn write(&self) -> String {
        format!("{}={}", self.claim, self.value)
    }
}

impl OidcFlags {
    fn is_set(&self) -> bool {
        let defaults = OidcFlags::default();
        let texts = [&self.issuer_url, &self.client_id, &self.username_prefix, &self.groups_claim, &self.groups_prefix];
        texts.iter().any(|text| text.is_some())
            || self.ca_file.is_some()
            || self.username_claim != defaults.username_claim
            || !self.signing_algorithms.is_empty()
            || !self.required_claims.0.is_empty()
    }

    /// How tokens may be signed.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        match self.signing_algorithms.is_empty() {
            true => vec![Algorithm::Rs256],
            false => self.signing_algorithms.iter().filter_map(|name| Algorithm::of_name(name)).collect(),
        }
    }
}

impl AuthenticationFlags {
    /// # Errors
    /// The flags contradict each other.
    pub fn check(&self) -> Result<(), FlagError> {
        let refused = |sentence: &str| Err(FlagError::Combination(sentence.to_owned()));
        if self.config_file.is_some() && self.oidc.is_set() {
            return refused("authentication-config file and oidc-* flags are mutually exclusive");
        }
        if self.oidc.is_set() && (self.oidc.issuer_url.is_none() || self.oidc.client_id.is_none()) {
            return refused(
                "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
            );
        }
        Ok(())
    }

    /// The version of the reviews that are sent to the webhook.
    pub fn webhook_version(&self) -> ReviewVersion {
        ReviewVersion::of_name(&self.webhook_version).unwrap_or_default()
    }
}

/// The credentials of clients.
pub static CLIENT_FLAGS: &[Flag] = &[
    Flag::new(
        "client-ca-file",
        |c| &mut c.authentication.client_ca_file,
        "PEM file with the CA certificates that issue client certificates. Default: a generated CA.",
    ),
    Flag::new(
        "token-auth-file",
        |c| &mut c.authentication.token_file,
        "CSV file with static tokens: token,user,uid,\"group1,group2\".",
    ),
    Flag::new(
        "anonymous-auth",
        |c| &mut c.authentication.anonymous,
        "Whether requests without credentials are authenticated as system:anonymous; if false they are \
         rejected. Default: true.",
    ),
];

pub static AUTHENTICATION_FLAGS: &[Flag] = &[
    Flag::new(
        "authentication-config",
        |c| &mut c.authentication.config_file,
        "File with an AuthenticationConfiguration: issuers of JSON web tokens, and where anonymous requests are allowed. \
         Issuers are read again when the file changes. Excludes the --oidc- flags.",
    ),
    Flag::new(
        "authentication-token-webhook-config-file",
        |c| &mut c.authentication.webhook_file,
        "Kubeconfig of a webhook that reviews bearer tokens.",
    ),
    Flag::new(
        "authentication-token-webhook-version",
        |c| &mut c.authentication.webhook_version,
        "Version of the TokenReviews that the webhook is sent: v1 or v1beta1.",
    )
    .checked(|c| {
        let version = &c.authentication.webhook_version;
        must(ReviewVersion::of_name(version).is_some(), "must be v1 or v1beta1")
    }),
    Flag::new(
        "authentication-token-webhook-cache-ttl",
        |c| &mut c.authentication.webhook_cache_ttl,
        "How long answers of the webhook for tokens are kept.",
    ),
    Flag::new(
        "oidc-issuer-url",
        |c| &mut c.authentication.oidc.issuer_url,
        "HTTPS URL of the OpenID Connect issuer whose tokens are accepted.",
    ),
    Flag::new(
        "oidc-client-id",
        |c| &mut c.authentication.oidc.client_id,
        "Audience that tokens of the issuer must have.",
    ),
    Flag::new(
        "oidc-ca-file",
        |c| &mut c.authentication.oidc.ca_file,
        "PEM file with the CA certificates of the issuer's server. Default: those of the system.",
    ),
    Flag::new("oidc-username-claim", |c| &mut c.authentication.oidc.username_claim, "Claim with the user name."),
    Flag::new(
        "oidc-username-prefix",
        |c| &mut c.authentication.oidc.username_prefix,
        "Prefix of user names; - is none. Default: the issuer's URL and #, but none for the claim email.",
    ),
    Flag::new(
        "oidc-groups-claim",
        |c| &mut c.authentication.oidc.groups_claim,
        "Claim with the user's groups: a text or a list of texts.",
    ),
    Flag::new("oidc-groups-prefix", |c| &mut c.authentication.oidc.groups_prefix, "Prefix of groups."),
    Flag::new(
        "oidc-required-claim",
        |c| &mut c.authentication.oidc.required_claims,
        "Claim that tokens must have, with its value. May be repeated.",
    ),
    Flag::new(
        "oidc-signing-algs",
        |c| &mut c.authentication.oidc.signing_algorithms,
        "Algorithms that tokens may be signed with: RS, ES and PS with 256, 384 and 512. Default: RS256.",
    )
    .checked(|c| {
        let unknown = c.authentication.oidc.signing_algorithms.iter().find(|name| Algorithm::of_name(name).is_none());
        unknown.map_or(Ok(()), |name| Err(format!("unsupported signing alg: {name:?}")))
    }),
];
