//! The flags about authorizers.
//! Guarantees that authorizers are configured by flags or by a file, not both.
//! Must never read a file: files are read after all flags have been checked.

use super::FlagError;
use super::config::{Config, with_defaults};
use super::setting::InputFile;
use super::table::{Flag, must};
use pintle_kubernetes_auth::Mode;
use pintle_reviews::ReviewVersion;
use std::collections::BTreeMap;
use std::time::Duration;

/// A value of `--authorization-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationMode {
    BuiltIn(Mode),
    Webhook,
}

impl From<Mode> for AuthorizationMode {
    fn from(mode: Mode) -> Self {
        AuthorizationMode::BuiltIn(mode)
    }
}

impl AuthorizationMode {
    /// The name in the flag's value.
    pub fn name(self) -> &'static str {
        match self {
            AuthorizationMode::BuiltIn(mode) => mode.name(),
            AuthorizationMode::Webhook => WEBHOOK,
        }
    }

    /// # Errors
    /// There is no such mode.
    pub fn read(text: &str) -> Result<AuthorizationMode, String> {
        if text == WEBHOOK {
            return Ok(AuthorizationMode::Webhook);
        }
        let known = || Mode::NAMES.map(|(name, _)| name).into_iter().chain([WEBHOOK]).collect::<Vec<_>>().join(", ");
        text.parse().map(AuthorizationMode::BuiltIn).map_err(|_| format!("{text} is not one of {}", known()))
    }
}

const WEBHOOK: &str = "Webhook";

with_defaults! {
    /// How requests are authorized, apart from the modes.
    pub struct AuthorizationFlags {
        pub modes: Vec<AuthorizationMode>,
        /// The policies of the ABAC mode.
        pub policy_file: Option<InputFile>,
        pub config_file: Option<InputFile>,
        pub webhook_file: Option<InputFile>,
        pub webhook_version: String = ReviewVersion::V1beta1.name().to_owned(),
        pub authorized_ttl: Duration = Duration::from_secs(300),
        pub unauthorized_ttl: Duration = Duration::from_secs(30),
    }
}

impl AuthorizationFlags {
    /// # Errors
    /// The flags contradict each other.
    pub fn check(&self, given: &BTreeMap<&'static str, Vec<String>>) -> Result<(), FlagError> {
        let refused = |sentence: &str| Err(FlagError::Combination(sentence.to_owned()));
        let is_legacy = |name: &&str| *name == "authorization-mode" || name.starts_with("authorization-webhook-");
        if self.config_file.is_some() && given.keys().any(is_legacy) {
            return refused(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags \
                 are defined",
            );
        }
        match (self.modes.contains(&AuthorizationMode::Webhook), &self.webhook_file) {
            (true, None) => refused("authorization-mode Webhook's authorization config file not passed"),
            (false, Some(_)) => refused("cannot specify --authorization-webhook-config-file without mode Webhook"),
            _ => Ok(()),
        }
    }

    /// The version of the reviews that are sent to the webhook.
    pub fn webhook_version(&self) -> ReviewVersion {
        ReviewVersion::of_name(&self.webhook_version).unwrap_or_default()
    }
}

fn check_modes(config: &Config) -> Result<(), String> {
    let modes = &config.authorization.modes;
    for (at, mode) in modes.iter().enumerate() {
        if modes[..at].contains(mode) {
            return Err(format!("{} is there more than once", mode.name()));
        }
    }
    must(!modes.is_empty(), "at least one mode must be given")
}

/// The authorizers in order.
pub static MODE_FLAGS: &[Flag] = &[
    Flag::new(
        "authorization-mode",
        |c| &mut c.authorization.modes,
        "Authorization modes in order: Node, RBAC, ABAC, AlwaysAllow, AlwaysDeny. Default: Node,RBAC.",
    )
    .checked(check_modes),
    Flag::new(
        "authorization-policy-file",
        |c| &mut c.authorization.policy_file,
        "File with the policies of mode ABAC, one JSON object per line.",
    ),
];

pub static AUTHORIZATION_FLAGS: &[Flag] = &[
    Flag::new(
        "authorization-config",
        |c| &mut c.authorization.config_file,
        "File with an AuthorizationConfiguration: authorizers in their order. It is read again when it changes. Excludes \
         --authorization-mode and the --authorization-webhook- flags.",
    ),
    Flag::new(
        "authorization-webhook-config-file",
        |c| &mut c.authorization.webhook_file,
        "Kubeconfig of the webhook of the mode Webhook.",
    ),
    Flag::new(
        "authorization-webhook-version",
        |c| &mut c.authorization.webhook_version,
        "Version of the SubjectAccessReviews that the webhook is sent: v1 or v1beta1.",
    )
    .checked(|c| must(ReviewVersion::of_name(&c.authorization.webhook_version).is_some(), "must be v1 or v1beta1")),
    Flag::new(
        "authorization-webhook-cache-authorized-ttl",
        |c| &mut c.authorization.authorized_ttl,
        "How long answers of the webhook are kept that allow a request.",
    ),
    Flag::new(
        "authorization-webhook-cache-unauthorized-ttl",
        |c| &mut c.authorization.unauthorized_ttl,
        "How long other answers of the webhook are kept.",
    ),
];
