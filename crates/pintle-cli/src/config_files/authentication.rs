//! The file of `--authentication-config`, and the equivalent flags for one issuer: read, validated, started, reloaded.
//! Guarantees that an invalid file changes nothing while a server runs, and that new issuers are used once all of them
//! are discovered. Must never take over a part of a file.

mod validate;

use crate::config_files;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle::follow::follow;
use pintle_auth::authentication::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use pintle_jwt::{Algorithm, Fetch, Fetched, JwtAuthenticator, JwtAuthenticators};
use pintle_resource::MaybeReady;
use pintle_types::config_apiserver::v1 as config;
use pintle_validation::ErrorList;
use pintle_webhook::{Address, Client, Clients, Credentials, Settings, TlsSettings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

pub use pintle_types::config_apiserver::v1::{AuthenticationConfiguration, JWTAuthenticator};

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];

/// The timeout for fetching an issuer's document, and its maximum size.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_DOCUMENT_BYTES: usize = 4 << 20;

/// How long a reload waits for the discovery of all issuers.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Reads the file and checks it, except for the issuers of this server's own tokens.
///
/// # Errors
/// The file cannot be read, or is invalid.
pub fn read(path: &Path) -> Result<AuthenticationConfiguration, String> {
    parse(&config_files::read(path)?, &[])
}

fn parse(text: &[u8], disallowed: &[String]) -> Result<AuthenticationConfiguration, String> {
    if text.is_empty() {
        return Err("empty config data".to_owned());
    }
    let configuration = config_files::decode(text, &VERSIONS, "AuthenticationConfiguration")?;
    let faults = validate::configuration(&configuration, disallowed);
    if faults.is_empty() { Ok(configuration) } else { Err(faults.summary()) }
}

/// The authenticators of a configuration that may be reloaded.
pub struct Issuers(ArcSwap<JwtAuthenticators>);

impl Issuers {
    /// Starts the discovery of a configuration's issuers. Call it within a runtime.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn start(
        configuration: &[JWTAuthenticator],
        algorithms: &[Algorithm],
        disallowed: &[String],
        clients: &Clients,
    ) -> Result<Arc<Issuers>, String> {
        let started = start(configuration, algorithms, disallowed, clients)?;
        Ok(Arc::new(Issuers(ArcSwap::from_pointee(started))))
    }

    /// Reloads the file when it changes, until the issuers are dropped. `others` takes over what is not about issuers.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn follow(
        self: &Arc<Self>,
        path: PathBuf,
        disallowed: Vec<String>,
        clients: Arc<Clients>,
        mut others: impl FnMut(&AuthenticationConfiguration) -> Result<(), String> + Send + 'static,
    ) -> std::io::Result<()> {
        let runtime = Handle::current();
        let mut last = std::fs::read(&path)?;
        follow("authentication configuration", self, move |issuers: &Issuers| {
            let text = config_files::read(&path)?;
            if text == last {
                return Ok(());
            }
            let configuration = parse(&text, &disallowed)?;
            let started = {
                let _within = runtime.enter();
                start(&configuration.jwt, &Algorithm::ALL, &disallowed, &clients)?
            };
            wait_for(&started)?;
            others(&configuration)?;
            issuers.0.store(Arc::new(started));
            last = text;
            Ok(())
        })
    }

    /// Reads the authorities of one issuer again when their file changes, until the issuers are dropped.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn follow_authorities(
        self: &Arc<Self>,
        path: PathBuf,
        mut authenticator: JWTAuthenticator,
        algorithms: Vec<Algorithm>,
        disallowed: Vec<String>,
        clients: Arc<Clients>,
    ) -> std::io::Result<()> {
        let runtime = Handle::current();
        let mut last = std::fs::read(&path)?;
        follow("authorities of the issuer", self, move |issuers: &Issuers| {
            let text = config_files::read(&path)?;
            if text == last {
                return Ok(());
            }
            authenticator.issuer.certificate_authority = String::from_utf8_lossy(&text).into_owned();
            let started = {
                let _within = runtime.enter();
                start(&[authenticator.clone()], &algorithms, &disallowed, &clients)?
            };
            wait_for(&started)?;
            issuers.0.store(Arc::new(started));
            last = text;
            Ok(())
        })
    }
}

fn start(
    configuration: &[JWTAuthenticator],
    algorithms: &[Algorithm],
    disallowed: &[String],
    clients: &Clients,
) -> Result<JwtAuthenticators, String> {
    let mut errors = ErrorList::default();
    let mut started = Vec::new();
    for (at, authenticator) in configuration.iter().enumerate() {
        let issuer = validate::issuer(authenticator, &format!("jwt[{at}]"), &[], &mut errors);
        validate::check_allowed(&authenticator.issuer.url, "issuer.url", disallowed, &mut errors);
        let Some(mut issuer) = issuer.filter(|_| errors.is_empty()) else { return Err(errors.summary()) };
        issuer.algorithms = algorithms.to_vec();
        let fetch = Documents(client(&authenticator.issuer, clients)?);
        started.push(JwtAuthenticator::start(issuer, Arc::new(fetch)));
    }
    Ok(JwtAuthenticators(started))
}

/// Waits until all issuers are discovered.
fn wait_for(authenticators: &JwtAuthenticators) -> Result<(), String> {
    let since = Instant::now();
    loop {
        let problem = authenticators.0.iter().find_map(|authenticator| authenticator.health().err());
        match problem {
            None => return Ok(()),
            Some(problem) if since.elapsed() > FOUND_WITHIN => return Err(problem),
            Some(_) => std::thread::sleep(RETRY_INTERVAL),
        }
    }
}

impl Authenticator for Issuers {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let current = self.0.load();
        match current.authenticate(request) {
            MaybeReady::Ready(outcome) => MaybeReady::Ready(outcome),
            // The pending response borrows from authenticators that may be replaced.
            MaybeReady::Wait(_) => {
                let current = self.0.load_full();
                MaybeReady::wait(async move { current.authenticate(request).get().await })
            }
        }
    }
}

/// The HTTP client for an issuer's documents.
fn client(issuer: &config::Issuer, clients: &Clients) -> Result<Client, String> {
    let url = issuer.discovery_url.as_ref().filter(|url| !url.is_empty()).unwrap_or(&issuer.url);
    let ca_pem = issuer.certificate_authority.clone().into_bytes();
    let settings = Settings {
        address: Address::Url(url.clone()),
        tls: TlsSettings { ca_pem, http2: true, ..TlsSettings::default() },
        credentials: Credentials::default(),
        user_agent: pintle::USER_AGENT.to_owned(),
    };
    clients.client(settings).map_err(|error| format!("issuer {url}: {error}"))
}

/// Fetches documents over the network.
struct Documents(Client);

impl Fetch for Documents {
    fn get<'a>(&'a self, url: &'a str, access_token: Option<&'a str>) -> BoxFuture<'a, Result<Fetched, String>> {
        async move {
            let document = self.0.get(url, access_token, FETCH_TIMEOUT, MAX_DOCUMENT_BYTES).await;
            let document = document.map_err(|error| error.to_string())?;
            Ok(Fetched { code: document.code, headers: document.headers, body: document.body })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
