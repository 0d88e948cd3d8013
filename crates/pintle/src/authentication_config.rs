//! The file of `--authentication-config`, and the flags that say the same for one issuer: read, validated, started, followed.
//! Guarantees that a file with a fault changes nothing while a server runs, and that new issuers are taken over once they are
//! all found. Must never change who is anonymous while a server runs, as kube-apiserver does not.

mod validate;

use crate::config_file;
use crate::follow::follow;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
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

pub use pintle_types::config_apiserver::v1::{AnonymousAuthConfig, AuthenticationConfiguration, JWTAuthenticator};

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];

/// How long a document of an issuer may take, and how large it may be.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_DOCUMENT_BYTES: usize = 4 << 20;

/// How long issuers of a changed file are waited for.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Reads the file and checks it; `disallowed` are the issuers of this server's own tokens.
///
/// # Errors
/// It cannot be read, or has faults.
pub fn read(path: &Path, disallowed: &[String]) -> Result<AuthenticationConfiguration, String> {
    parse(&config_file::read(path)?, disallowed)
}

fn parse(text: &[u8], disallowed: &[String]) -> Result<AuthenticationConfiguration, String> {
    if text.is_empty() {
        return Err("empty config data".to_owned());
    }
    let configuration = config_file::decode(text, &VERSIONS, "AuthenticationConfiguration")?;
    let faults = validate::configuration(&configuration, disallowed);
    if faults.is_empty() { Ok(configuration) } else { Err(faults.summary()) }
}

/// The issuers of a configuration that may change.
pub struct Issuers(ArcSwap<JwtAuthenticators>);

impl Issuers {
    /// Starts to look for the issuers of a configuration. Must be called within a runtime.
    ///
    /// # Errors
    /// The configuration has faults.
    pub fn start(
        configuration: &[JWTAuthenticator],
        algorithms: &[Algorithm],
        disallowed: &[String],
        clients: &Clients,
    ) -> Result<Arc<Issuers>, String> {
        let started = start(configuration, algorithms, disallowed, clients)?;
        Ok(Arc::new(Issuers(ArcSwap::from_pointee(started))))
    }

    /// The authenticators of the issuers as they are now.
    pub fn current(&self) -> Arc<JwtAuthenticators> {
        self.0.load_full()
    }

    /// Follows a file for as long as the issuers are used.
    ///
    /// # Errors
    /// The system has no thread to spare.
    pub fn follow(
        self: &Arc<Self>,
        path: PathBuf,
        disallowed: Vec<String>,
        clients: Arc<Clients>,
    ) -> std::io::Result<()> {
        let runtime = Handle::current();
        let mut last = std::fs::read(&path)?;
        follow("authentication configuration", self, move |issuers: &Issuers| {
            let text = config_file::read(&path)?;
            if text == last {
                return Ok(());
            }
            let configuration = parse(&text, &disallowed)?;
            let started = {
                let _within = runtime.enter();
                start(&configuration.jwt, &Algorithm::ALL, &disallowed, &clients)?
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
        let issuer = validate::issuer(authenticator, &format!("jwt[{at}]"), disallowed, &mut errors);
        let Some(mut issuer) = issuer else { return Err(errors.summary()) };
        issuer.algorithms = algorithms.to_vec();
        let fetch = Documents(client(&authenticator.issuer, clients)?);
        started.push(JwtAuthenticator::start(issuer, Arc::new(fetch)));
    }
    Ok(JwtAuthenticators(started))
}

/// Waits until all issuers are found.
fn wait_for(authenticators: &JwtAuthenticators) -> Result<(), String> {
    let since = Instant::now();
    loop {
        let problem = authenticators.0.iter().find_map(|authenticator| authenticator.health().err());
        match problem {
            None => return Ok(()),
            Some(problem) if since.elapsed() > FOUND_WITHIN => return Err(problem),
            Some(_) => std::thread::sleep(LOOK_AGAIN),
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
            // What was answered borrows from issuers that may be replaced.
            MaybeReady::Wait(_) => {
                let current = self.0.load_full();
                MaybeReady::wait(async move { current.authenticate(request).get().await })
            }
        }
    }
}

/// The client of an issuer's documents.
fn client(issuer: &config::Issuer, clients: &Clients) -> Result<Client, String> {
    let url = issuer.discovery_url.as_ref().filter(|url| !url.is_empty()).unwrap_or(&issuer.url);
    let ca_pem = issuer.certificate_authority.clone().into_bytes();
    let settings = Settings {
        address: Address::Url(url.clone()),
        tls: TlsSettings { ca_pem, http2: true, ..TlsSettings::default() },
        credentials: Credentials::default(),
        user_agent: crate::USER_AGENT.to_owned(),
    };
    clients.client(settings).map_err(|error| format!("issuer {url}: {error}"))
}

/// Documents over the network.
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
