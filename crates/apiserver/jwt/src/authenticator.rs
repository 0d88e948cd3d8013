//! The authenticator of issuers' tokens: discovery, verification and mapping. Guarantees that an unreachable issuer is retried
//! every ten seconds, and that its tokens are rejected until then. Must never accept a token whose `iss` differs from the
//! configured text.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use pintle_auth::authentication::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use pintle_auth::{Str, UserInfo};
use pintle_codec::{Strictness, json};
use pintle_metrics::{Histogram, Layout, exponential};
use pintle_resource::MaybeReady;
use pintle_schema::names::quoted;
use pintle_schema::{Time, Value};
use ring::digest::{SHA256, digest};
use tracing::warn;

use crate::claims::{NO_TIME, Registered};
use crate::distributed::Distributed;
use crate::fetch::Fetch;
use crate::jose::{Algorithm, CompactToken};
use crate::keys::RemoteKeys;
use crate::mapping::Mapping;
use pintle_schema::compat::quote::quoted_list;

/// How long after a failed discovery the next one is tried.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// How much before its `nbf` a token is accepted, for clock skew.
const LEEWAY_SECONDS: i64 = 60;

const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// Google's tokens may lack the scheme.
const GOOGLE: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

static LATENCIES: Layout = Layout::seconds(&LATENCY_BOUNDS);
const LATENCY_BOUNDS: [f64; 15] = exponential(0.001, 2.0);

/// An issuer, and how its tokens become users.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// The claim `iss`.
    pub url: Str,
    /// Where the discovery document is, if not under the issuer's URL.
    pub discovery_url: Option<String>,
    /// A token must name one of them.
    pub audiences: Vec<Str>,
    /// How tokens may be signed.
    pub algorithms: Vec<Algorithm>,
    pub mapping: Mapping,
}

/// The checks of a token besides its signature.
#[derive(Clone, Debug)]
pub(crate) struct Checks {
    audiences: Vec<Str>,
    algorithms: Vec<Algorithm>,
}

/// Verifies the tokens of one issuer.
pub(crate) struct Verifier {
    issuer: Str,
    keys: Arc<RemoteKeys>,
}

impl Verifier {
    /// Reads the discovery document of an issuer.
    pub async fn discover(
        issuer: &str,
        discovery_url: Option<&str>,
        fetch: &Arc<dyn Fetch>,
    ) -> Result<Verifier, String> {
        let own = format!("{}{WELL_KNOWN}", issuer.strip_suffix('/').unwrap_or(issuer));
        let document = fetch.get(discovery_url.unwrap_or(&own), None).await?;
        if document.code != 200 {
            return Err(document.failure());
        }
        let provider = json::parse(&document.body, Strictness::Ignore).map_err(|error| {
            format!("oidc: failed to decode provider discovery object: {}", document.not_json(error.text()))
        })?;
        let named = provider.value.str_at(&["issuer"]);
        if named != issuer {
            let (expected, got) = (quoted(issuer), quoted(named));
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {expected} got {got}"
            ));
        }
        match provider.value.str_at(&["jwks_uri"]) {
            "" => Err("provider did not return JWKS URL".to_owned()),
            url => Ok(Verifier { issuer: issuer.into(), keys: RemoteKeys::new(url.to_owned(), fetch.clone()) }),
        }
    }

    /// The claims of a token that this issuer signed and that is valid now.
    ///
    /// # Errors
    /// It is malformed, for others, not valid now, or not signed by a key of the issuer.
    pub async fn verify(&self, token: &str, checks: &Checks, now: SystemTime) -> Result<Value, String> {
        let token = CompactToken::parse(token).map_err(|error| error.to_string())?;
        if !checks.algorithms.iter().any(|algorithm| algorithm.name() == token.header.algorithm) {
            let expected: Vec<&str> = checks.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let (expected, got) = (quoted_list(&expected), quoted(&token.header.algorithm));
            return Err(format!("oidc: id token signed with unsupported algorithm, expected {expected} got {got}"));
        }
        self.keys.verify(&token, now).await.map_err(|why| format!("failed to verify signature: {why}"))?;
        let failed = |why| format!("oidc: failed to unmarshal claims: {why}");
        let payload = token.claims().map_err(failed)?;
        let registered = Registered::of(&payload).map_err(failed)?;
        check_claim_sources(&payload)?;
        let named = payload.str_at(&["iss"]);
        if named != self.issuer && (named, &*self.issuer) != GOOGLE {
            let (expected, got) = (quoted(&self.issuer), quoted(named));
            return Err(format!("oidc: id token issued by a different provider, expected {expected} got {got}"));
        }
        let for_us = checks.audiences.iter().any(|own| registered.audiences.contains(own));
        let got = || quoted_list(&registered.audiences);
        if let ([only], false) = (&checks.audiences[..], for_us) {
            return Err(format!("oidc: expected audience {} got {}", quoted(only), got()));
        }
        check_times(&registered, now)?;
        if !for_us {
            let mut expected = checks.audiences.clone();
            expected.sort();
            return Err(format!("oidc: expected audience in {} got {}", quoted_list(&expected), got()));
        }
        Ok(payload)
    }
}

/// Every distributed claim must have a source.
fn check_claim_sources(payload: &Value) -> Result<(), String> {
    let names = payload.get("_claim_names").and_then(Value::as_map);
    let sources = names.into_iter().flat_map(|names| names.iter()).filter_map(|(_, source)| source.as_str());
    for source in sources {
        if source.is_empty() {
            return Err("oidc: failed to obtain source from claim name".to_owned());
        }
        if payload.at(&["_claim_sources", source]).is_none() {
            return Err("oidc: source does not exist".to_owned());
        }
    }
    Ok(())
}

fn check_times(claims: &Registered, now: SystemTime) -> Result<(), String> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let has_passed = |time: i64| time < seconds || time == seconds && since.subsec_nanos() > 0;
    match claims.expires {
        Some(end) if !has_passed(end) => {}
        end => {
            // Go's zero time.
            let end = end.map_or("0001-01-01 00:00:00 +0000 UTC".to_owned(), go_time);
            return Err(format!("oidc: token is expired (Token Expiry: {end})"));
        }
    }
    match claims.not_before {
        Some(start) if seconds.saturating_add(LEEWAY_SECONDS) < start => {
            let (now, start) = (go_time(seconds), go_time(start));
            Err(format!("oidc: current time {now} before the nbf (not before) time: {start}"))
        }
        _ => Ok(()),
    }
}

/// A time as Go prints it, whose calendar overflows at the lowest one.
fn go_time(seconds: i64) -> String {
    if seconds == NO_TIME {
        return "292277026596-12-04 15:30:08 +0000 UTC".to_owned();
    }
    Time::from_seconds(seconds).to_string().replacen('T', " ", 1).replacen('Z', " +0000 UTC", 1)
}

/// Counters of an issuer.
pub struct JwtStats {
    /// The hash by which metrics name the issuer.
    pub issuer: String,
    /// Of tokens that were accepted, and of others.
    pub accepted: Histogram,
    pub refused: Histogram,
}

/// Authenticates the tokens of one issuer.
pub struct JwtAuthenticator {
    issuer: Issuer,
    checks: Checks,
    verifier: OnceLock<Verifier>,
    distributed: Option<Distributed>,
    /// Why discovery failed last.
    problem: Mutex<String>,
    pub stats: JwtStats,
}

impl JwtAuthenticator {
    /// Starts the discovery of the issuer. Must be called within a runtime; the discovery ends with the authenticator.
    pub fn start(issuer: Issuer, fetch: Arc<dyn Fetch>) -> Arc<JwtAuthenticator> {
        let checks = Checks { audiences: issuer.audiences.clone(), algorithms: issuer.algorithms.clone() };
        let claim = issuer.mapping.groups_claim();
        let distributed = claim.map(|claim| Distributed::new(claim, fetch.clone(), checks.clone()));
        let problem = format!("oidc: authenticator for issuer {} is not initialized", quoted(&issuer.url));
        let (accepted, refused) = (Histogram::new(&LATENCIES), Histogram::new(&LATENCIES));
        let hash = format!("sha256:{}", HEXLOWER.encode(digest(&SHA256, issuer.url.as_bytes()).as_ref()));
        let authenticator = Arc::new(JwtAuthenticator {
            issuer,
            checks,
            verifier: OnceLock::new(),
            distributed,
            problem: Mutex::new(problem),
            stats: JwtStats { issuer: hash, accepted, refused },
        });
        tokio::spawn(look_for(Arc::downgrade(&authenticator), fetch));
        authenticator
    }

    /// Whether the issuer was found.
    ///
    /// # Errors
    /// Why it was not, so far.
    pub fn health(&self) -> Result<(), String> {
        if self.verifier.get().is_some() {
            return Ok(());
        }
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        Err(format!("oidc: authenticator for issuer {} is not healthy: {problem}", quoted(&self.issuer.url)))
    }

    /// How many fetches of the issuer's keys succeeded, and failed.
    pub fn key_fetches(&self) -> (u64, u64) {
        self.verifier.get().map_or((0, 0), |verifier| (verifier.keys.fetched.get(), verifier.keys.failed.get()))
    }

    fn is_of(&self, claimed: &str) -> bool {
        let claimed = if claimed == GOOGLE.0 { GOOGLE.1 } else { claimed };
        self.issuer.url == claimed
    }

    async fn user(&self, token: &str, now: SystemTime) -> Result<UserInfo, String> {
        let verifier = self.verifier.get().ok_or("oidc: authenticator not initialized")?;
        let payload = verifier.verify(token, &self.checks, now).await;
        let mut payload = payload.map_err(|why| format!("oidc: verify token: {why}"))?;
        if let Some(distributed) = &self.distributed {
            let expanded = distributed.expand(&mut payload, now).await;
            expanded.map_err(|why| format!("oidc: could not expand distributed claims: {why}"))?;
        }
        self.issuer.mapping.user(&payload)
    }
}

/// Reads the discovery document until it can be read, for as long as the authenticator is in use.
async fn look_for(authenticator: Weak<JwtAuthenticator>, fetch: Arc<dyn Fetch>) {
    loop {
        let Some(issuer) = authenticator.upgrade().map(|it| (it.issuer.url.clone(), it.issuer.discovery_url.clone()))
        else {
            return;
        };
        let found = Verifier::discover(&issuer.0, issuer.1.as_deref(), &fetch).await;
        let Some(authenticator) = authenticator.upgrade() else { return };
        match found {
            Ok(verifier) => {
                // Only this task sets it.
                drop(authenticator.verifier.set(verifier));
                return;
            }
            Err(err) => {
                warn!(err, "oidc authenticator: initializing plugin for {}", issuer.0);
                *authenticator.problem.lock().unwrap_or_else(PoisonError::into_inner) = err;
            }
        }
        drop(authenticator);
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// The authenticators of several issuers: a token is decoded once to find its own.
pub struct JwtAuthenticators(pub Vec<Arc<JwtAuthenticator>>);

impl Authenticator for JwtAuthenticators {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let none = MaybeReady::Ready(Ok(None));
        let Some(token) = request.bearer_token.and_then(|token| std::str::from_utf8(token).ok()) else { return none };
        if self.0.is_empty() {
            return none;
        }
        let claims = CompactToken::untrusted_claims(token);
        let Some(issuer) = claims.as_ref().and_then(|claims| claims.get("iss")).and_then(Value::as_str) else {
            return none;
        };
        let Some(authenticator) = self.0.iter().find(|authenticator| authenticator.is_of(issuer)) else { return none };
        MaybeReady::wait(async move {
            let since = Instant::now();
            let user = authenticator.user(token, request.now).await;
            let stats = &authenticator.stats;
            let histogram = if user.is_ok() { &stats.accepted } else { &stats.refused };
            histogram.observe_duration(since.elapsed());
            match user {
                Ok(user) => Ok(Some(Identity::of(Arc::new(user.authenticated())))),
                Err(why) => Err(AuthenticationError::refused(why)),
            }
        })
    }
}

#[cfg(test)]
#[path = "authenticator_tests.rs"]
mod tests;
