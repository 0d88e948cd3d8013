//! Authentication and authorization by other parties: token issuers, token webhooks, authorization webhooks and their
//! configuration files. Guarantees that every file is read before a port is bound. Must never send a request itself:
//! tasks discover the issuers.

use crate::config_files;
use crate::config_files::authentication::{Issuers, JWTAuthenticator};
use crate::config_files::authorization::AuthorizationFile;
use crate::flags::{AuthorizationMode, Config};
use arc_swap::ArcSwap;
use pintle::Builder;
use pintle::authorizers::ChainMember;
use pintle::follow::{follow, read};
use pintle_auth::authentication::{
    AnonymousAccess, AuthenticationError, AuthenticationRequest, Authenticator, Identity, TokenCache, TokenCacheTimes,
    TokenFile, TokenFileError,
};
use pintle_auth::authorization::abac::{CurrentPolicies, Policies};
use pintle_auth::{AuthenticatorUnion, UserInfo};
use pintle_jwt::Algorithm;
use pintle_resource::MaybeReady;
use pintle_reviews::{AccessReviewConfig, AccessReviews, CacheTimes, OnFailure, TokenReviews};
use pintle_types::config_apiserver::v1 as types;
use pintle_webhook::Clients;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The timeout of a webhook call, unless a configuration sets another.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the users of tokens that other parties issue or review are cached. A webhook's flag does not change it.
const TOKENS_KEPT: Duration = Duration::from_secs(10);

/// The name of the webhook that flags configure.
const WEBHOOK: &str = "webhook";

/// Adds the authenticators of tokens that other parties issue or review, and configures anonymous requests.
///
/// # Errors
/// A file cannot be read, or is invalid.
pub fn authentication(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let clients = &builder.webhooks().clone();
    let anonymous = builder.generic().anonymous().clone();
    anonymous.replace(AnonymousAccess::everywhere(config.authentication.anonymous.unwrap_or(true)));
    let own_issuers = own_issuers(config);
    let mut authenticators: Vec<Arc<dyn Authenticator>> = Vec::new();
    if let Some(path) = config.authentication.config_file.as_deref() {
        let in_file = |error: String| format!("{}: {error}", path.display());
        let configuration = config_files::authentication::read(path).map_err(in_file)?;
        if configuration.anonymous.is_some() && config.authentication.anonymous.is_some() {
            return Err(ANONYMOUS_TWICE.into());
        }
        anonymous.replace(anonymous_access(config, &configuration));
        let issuers = Issuers::start(&configuration.jwt, &Algorithm::ALL, &own_issuers, clients).map_err(in_file)?;
        let flags = config.clone();
        issuers.follow(path.to_owned(), own_issuers, clients.clone(), move |configuration| {
            if configuration.anonymous.is_some() && flags.authentication.anonymous.is_some() {
                return Err(ANONYMOUS_TWICE.to_owned());
            }
            anonymous.replace(anonymous_access(&flags, configuration));
            Ok(())
        })?;
        authenticators.push(issuers);
    } else if let Some(authenticator) = of_flags(config)? {
        let algorithms = config.authentication.oidc.algorithms();
        let issuers = Issuers::start(std::slice::from_ref(&authenticator), &algorithms, &own_issuers, clients)?;
        if let Some(path) = config.authentication.oidc.ca_file.as_deref() {
            issuers.follow_authorities(path.to_owned(), authenticator, algorithms, own_issuers, clients.clone())?;
        }
        authenticators.push(issuers);
    }
    if let Some(path) = config.authentication.webhook_file.as_deref() {
        authenticators.push(token_webhook(config, path, clients)?);
    }
    if !authenticators.is_empty() {
        let all = Arc::new(AuthenticatorUnion::new(authenticators));
        let times = TokenCacheTimes { success: TOKENS_KEPT, failure: Duration::ZERO };
        let cache = TokenCache::new(all, times);
        builder.count_token_cache(cache.clone());
        builder.add_remote_authenticator(Arc::new(cache));
    }
    Ok(())
}

const ANONYMOUS_TWICE: &str = "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured \
                               in authentication configuration file";

/// Where requests without a credential are taken: as the file says, or else as the flag does.
fn anonymous_access(config: &Config, configuration: &types::AuthenticationConfiguration) -> AnonymousAccess {
    match &configuration.anonymous {
        None => AnonymousAccess::everywhere(config.authentication.anonymous.unwrap_or(true)),
        Some(anonymous) => AnonymousAccess {
            paths: anonymous.conditions.iter().map(|condition| condition.path.clone()).collect(),
            ..AnonymousAccess::everywhere(anonymous.enabled)
        },
    }
}

fn own_issuers(config: &Config) -> Vec<String> {
    match &config.service_accounts.issuers.0[..] {
        [] => vec![pintle::DEFAULT_ISSUER.to_owned()],
        issuers => issuers.to_vec(),
    }
}

/// The webhook that reviews tokens.
fn token_webhook(config: &Config, path: &Path, clients: &Arc<Clients>) -> Result<Arc<dyn Authenticator>, String> {
    let version = config.authentication.webhook_version();
    let posted = config_files::authorization::posted(path, version, WEBHOOK_TIMEOUT, clients)?;
    let audiences = match &config.service_accounts.api_audiences[..] {
        [] => own_issuers(config),
        audiences => audiences.to_vec(),
    };
    let audiences = audiences.iter().map(|audience| audience.as_str().into()).collect();
    let ttl = config.authentication.webhook_cache_ttl;
    let times = TokenCacheTimes { success: ttl, failure: ttl };
    Ok(Arc::new(TokenCache::new(Arc::new(TokenReviews::new(posted, audiences)), times)))
}

/// The issuer that the flags describe, if they do.
fn of_flags(config: &Config) -> Result<Option<JWTAuthenticator>, String> {
    let oidc = &config.authentication.oidc;
    let (Some(issuer), Some(client)) = (&oidc.issuer_url, &oidc.client_id) else { return Ok(None) };
    let prefix = match oidc.username_prefix.as_deref() {
        Some("-") => String::new(),
        Some(prefix) => prefix.to_owned(),
        None if oidc.username_claim == "email" => String::new(),
        // Names of different issuers must not be mixed up.
        None => format!("{issuer}#"),
    };
    let ca = oidc.ca_file.as_deref().map(read).transpose()?.unwrap_or_default();
    let mapping = |claim: &str, prefix: String| types::PrefixedClaimOrExpression {
        claim: claim.to_owned(),
        prefix: Some(prefix),
        expression: String::new(),
    };
    let groups = oidc.groups_claim.as_deref();
    let groups = groups.map(|claim| mapping(claim, oidc.groups_prefix.clone().unwrap_or_default()));
    Ok(Some(JWTAuthenticator {
        issuer: types::Issuer {
            url: issuer.clone(),
            certificate_authority: String::from_utf8_lossy(&ca).into_owned(),
            audiences: vec![client.clone()],
            ..types::Issuer::default()
        },
        claim_validation_rules: required_claims(config),
        claim_mappings: types::ClaimMappings {
            username: mapping(&oidc.username_claim, prefix),
            groups: groups.unwrap_or_default(),
            ..types::ClaimMappings::default()
        },
        user_validation_rules: Vec::new(),
    }))
}

fn required_claims(config: &Config) -> Vec<types::ClaimValidationRule> {
    let mut rules: Vec<types::ClaimValidationRule> = Vec::new();
    for required in &config.authentication.oidc.required_claims.0 {
        // The last value of a claim counts.
        rules.retain(|rule| rule.claim != required.claim);
        let (claim, required_value) = (required.claim.clone(), required.value.clone());
        rules.push(types::ClaimValidationRule { claim, required_value, ..Default::default() });
    }
    rules
}

/// Says who decides about requests, in which order.
///
/// # Errors
/// A file cannot be read, or is invalid.
pub fn authorization(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let clients = &builder.webhooks().clone();
    if let Some(path) = config.authorization.policy_file.as_deref() {
        builder.set_policies(policies(path)?);
    }
    if let Some(path) = config.authorization.config_file.as_deref() {
        let file = AuthorizationFile::load(path, clients.clone());
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        builder.authorize_by_chain(file.members.clone());
        builder.reload_authorizers(Box::new(move |union, built_in| file.follow(union, built_in)));
        return Ok(());
    }
    let member = |mode: &AuthorizationMode| match mode {
        AuthorizationMode::BuiltIn(mode) => Ok(ChainMember::built_in(*mode)),
        AuthorizationMode::Webhook => {
            webhook(config, clients).map(|webhook| ChainMember::Webhook(WEBHOOK.to_owned(), Arc::new(webhook)))
        }
    };
    builder.authorize_by_chain(config.authorization.modes.iter().map(member).collect::<Result<_, _>>()?);
    Ok(())
}

/// The policies of a file, which are replaced when it changes.
fn policies(path: &Path) -> Result<Arc<CurrentPolicies>, Box<dyn Error>> {
    let parse = |path: &Path, text: &[u8]| {
        let text = std::str::from_utf8(text).map_err(|error| format!("{}: {error}", path.display()))?;
        Policies::parse(text).map_err(|error| format!("error reading policy file {}, {error}", path.display()))
    };
    let mut last = read(path)?;
    let policies = Arc::new(CurrentPolicies::new(parse(path, &last)?));
    let path = path.to_owned();
    follow("file of policies", &policies, move |policies: &CurrentPolicies| {
        let text = read(&path)?;
        if text != last {
            policies.replace(parse(&path, &text)?);
            last = text;
        }
        Ok(())
    })?;
    Ok(policies)
}

/// The webhook that the flags configure.
fn webhook(config: &Config, clients: &Arc<Clients>) -> Result<AccessReviews, Box<dyn Error>> {
    let flags = &config.authorization;
    let path = flags.webhook_file.as_deref();
    let path = path.ok_or("authorization-mode Webhook's authorization config file not passed")?;
    Ok(AccessReviews::new(AccessReviewConfig {
        posted: config_files::authorization::posted(path, flags.webhook_version(), WEBHOOK_TIMEOUT, clients)?,
        times: CacheTimes { allowed: flags.authorized_ttl, others: flags.unauthorized_ttl },
        on_failure: OnFailure::NoOpinion,
        conditions: Vec::new(),
    }))
}

/// A file of static tokens that is followed, and the administrator's token, if it has one.
pub struct StaticTokens(ArcSwap<TokenFile>);

impl StaticTokens {
    /// Reads the file, if there is one, and follows it; `administrator` is added to what it says.
    ///
    /// # Errors
    /// It cannot be read, or is invalid.
    pub fn load(
        path: Option<&Path>,
        administrator: Option<(String, UserInfo)>,
    ) -> Result<Option<Arc<StaticTokens>>, Box<dyn Error>> {
        if path.is_none() && administrator.is_none() {
            return Ok(None);
        }
        let text = path.map(read).transpose()?.unwrap_or_default();
        let tokens = Arc::new(StaticTokens(ArcSwap::from_pointee(parse(&text, administrator.as_ref())?)));
        if let Some(path) = path {
            let (path, mut last) = (PathBuf::from(path), text);
            follow("file of static tokens", &tokens, move |tokens: &StaticTokens| {
                let text = read(&path)?;
                if text != last {
                    let parsed = parse(&text, administrator.as_ref());
                    tokens.0.store(Arc::new(parsed.map_err(|error| error.to_string())?));
                    last = text;
                }
                Ok(())
            })?;
        }
        Ok(Some(tokens))
    }
}

fn parse(text: &[u8], administrator: Option<&(String, UserInfo)>) -> Result<TokenFile, TokenFileError> {
    let mut tokens = TokenFile::parse(&String::from_utf8_lossy(text))?;
    if let Some((token, user)) = administrator {
        tokens.insert(token, user.clone());
    }
    Ok(tokens)
}

impl Authenticator for StaticTokens {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let user = request.bearer_token.and_then(|token| self.0.load().user(token).cloned());
        MaybeReady::Ready(Ok(user.map(Identity::of)))
    }
}
