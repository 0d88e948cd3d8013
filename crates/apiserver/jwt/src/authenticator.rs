//! The authenticator of issuers' tokens: discovery, verification and mapping. Guarantees that an unreachable issuer is retried
//! every ten seconds, and that its tokens are rejected until then. Must never accept a token whose `iss` differs from the
//! configured text.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use data_encoding::HEXLOWER;
use pintle_auth::authentication::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use pintle_auth::{Str, UserInfo};
use pintle_metrics::{Histogram, Layout, exponential};
use pintle_resource::MaybeReady;
use pintle_schema::Value;
use pintle_schema::names::quoted;
use ring::digest::{SHA256, digest};
use tracing::warn;

use crate::distributed::Distributed;
use crate::fetch::Fetch;
use crate::jose::{Algorithm, CompactToken};
use crate::mapping::Mapping;
use crate::verifier::{Checks, GOOGLE, Verifier};

/// How long after a failed discovery the next one is tried.
const RETRY_AFTER: Duration = Duration::from_secs(10);

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
