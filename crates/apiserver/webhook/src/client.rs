//! `Clients`, which makes the client of each webhook, and shares connections between those of one server.
//! Guarantees that two clients share a connection only if address, authorities and credentials are equal.
//! Must never keep connections of servers that no client refers to.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use data_encoding::BASE64;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connect::{
    Address, Connector, ResolveError, ResolvedService, ServiceReference, ServiceResolver, port_of, service_host,
};
use crate::error::SetupError;
use crate::in_process::{self, InProcess};
use crate::path;
use crate::settings::{Credentials, Settings};
use crate::stats::ClientStats;
use crate::tls::TlsSettings;

/// How long a connection is kept without a call, as in Go's default transport.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How many connections to a server are kept without a call, as in client-go.
pub(crate) const MAX_IDLE: usize = 25;
/// When a silent HTTP/2 peer is pinged, and how long it may take to respond, as in client-go.
pub(crate) const HTTP2_PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15));
/// How long a token file's content is used.
const TOKEN_FILE_PERIOD: Duration = Duration::from_secs(60);

/// The source of clients. One for the whole process, so that connections are shared.
pub struct Clients {
    services: Arc<dyn ServiceResolver>,
    transports: Mutex<HashMap<TransportKey, Weak<Transport>>>,
    in_process: RwLock<HashMap<String, InProcess>>,
    stats: Arc<ClientStats>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct TransportKey {
    scheme: String,
    host: String,
    port: u16,
    service: Option<(String, String)>,
    tls: TlsSettings,
}

/// The kept connections to one server, or to the endpoints of one service.
pub(crate) struct Transport {
    pub(crate) http: legacy::Client<Connector, Full<Bytes>>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

/// A resolver that knows no service.
struct NoServices;

impl ServiceResolver for NoServices {
    fn resolve(&self, _namespace: &str, name: &str, _port: u16) -> Result<(String, u16), ResolveError> {
        Err(ResolveError(format!("service {name:?} not found")))
    }
}

impl Default for Clients {
    fn default() -> Self {
        Clients::new(Arc::new(NoServices))
    }
}

impl Clients {
    /// Clients whose references to services are resolved by `services`.
    pub fn new(services: Arc<dyn ServiceResolver>) -> Clients {
        Clients { services, transports: Mutex::default(), in_process: RwLock::default(), stats: Arc::default() }
    }

    /// Counts of the requests of all clients.
    pub fn stats(&self) -> &ClientStats {
        &self.stats
    }

    /// The number of servers that connections are kept to.
    pub fn transports(&self) -> usize {
        let transports = self.transports.lock().unwrap_or_else(PoisonError::into_inner);
        transports.values().filter(|transport| transport.strong_count() > 0).count()
    }

    /// Registers a closure; returns the URL by which a configuration refers to it. A name is the letters, digits and
    /// dashes of a host name. A closure that is registered again takes the place of the one before.
    pub fn register(&self, name: &str, webhook: InProcess) -> String {
        let mut registered = self.in_process.write().unwrap_or_else(PoisonError::into_inner);
        registered.insert(name.to_owned(), webhook);
        format!("https://{name}{}/", in_process::DOMAIN)
    }

    /// The client of a webhook.
    ///
    /// # Errors
    /// Part of the settings cannot be used.
    pub fn client(&self, settings: Settings) -> Result<Client, SetupError> {
        let Settings { address, mut tls, credentials, user_agent } = settings;
        if let Some(identity) = &credentials.identity {
            tls.identity.get_or_insert_with(|| identity.clone());
        }
        let (origin, path, service) = match address {
            Address::Service(service) => {
                let host = service_host(&service);
                tls.server_name.get_or_insert_with(|| host.clone());
                (format!("https://{host}:{}", service.port), service.path.clone(), Some(service))
            }
            Address::Url(url) => {
                let uri: Uri = path::escape_invalid(&url)
                    .parse()
                    .map_err(|error| SetupError::Url(format!("parse {url:?}: {error}")))?;
                let (Some(scheme @ ("https" | "http")), Some(authority)) =
                    (uri.scheme_str(), uri.authority().filter(|authority| !authority.as_str().contains('@')))
                else {
                    return Err(SetupError::Url(format!("parse {url:?}: it must be an absolute URL of a host")));
                };
                (format!("{scheme}://{authority}"), path::unescape(uri.path()), None)
            }
        };
        let path = path::escape(&path::clean(&path));
        let uri: Uri =
            format!("{origin}{path}").parse().map_err(|error| SetupError::Url(format!("parse {origin:?}: {error}")))?;
        let user_agent = HeaderValue::from_str(&user_agent).map_err(|_| SetupError::Credentials("user agent"))?;
        let target = match uri.host().and_then(|host| host.strip_suffix(in_process::DOMAIN)) {
            Some(name) => {
                let registered = self.in_process.read().unwrap_or_else(PoisonError::into_inner);
                let webhook = registered.get(name).ok_or_else(|| SetupError::NotRegistered(name.to_owned()))?;
                Target::InProcess(webhook.clone())
            }
            None => {
                let transport = self.transport(&uri, service.as_ref(), tls)?;
                Target::Network(transport, service.map(|service| (service, Arc::clone(&self.services))))
            }
        };
        let authorization = Authorization::new(&credentials)?;
        let inner = Inner { target, uri, user_agent, authorization, stats: self.stats.clone() };
        Ok(Client { inner: Arc::new(SharedClient(ArcSwap::from_pointee(inner))) })
    }

    /// The connections to a server, kept ones if another client has them.
    fn transport(
        &self,
        uri: &Uri,
        service: Option<&ServiceReference>,
        tls: TlsSettings,
    ) -> Result<Arc<Transport>, SetupError> {
        let key = TransportKey {
            scheme: uri.scheme_str().unwrap_or_default().to_owned(),
            host: uri.host().unwrap_or_default().to_owned(),
            port: port_of(uri),
            service: service.map(|service| (service.namespace.clone(), service.name.clone())),
            tls,
        };
        let mut transports = self.transports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(transport) = transports.get(&key).and_then(Weak::upgrade) {
            return Ok(transport);
        }
        let connector = Connector { tls: Arc::new(key.tls.config()?), server_name: key.tls.server_name.clone() };
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(HTTP2_PING.0)
            .http2_keep_alive_timeout(HTTP2_PING.1)
            .build(connector);
        let transport = Arc::new(Transport { http });
        transports.retain(|_, transport| transport.strong_count() > 0);
        transports.insert(key, Arc::downgrade(&transport));
        Ok(transport)
    }
}

/// The client of one webhook. Cheap to clone; clones are one client.
#[derive(Clone)]
pub struct Client {
    inner: Arc<SharedClient>,
}

/// What the clones of a client share.
pub struct SharedClient(ArcSwap<Inner>);

impl SharedClient {
    /// Continues as another client: later calls go where it goes, as who it is.
    pub fn replace(&self, by: &Client) {
        self.0.store(by.inner());
    }
}

impl Client {
    /// What clones of this client share.
    pub fn shared(&self) -> &Arc<SharedClient> {
        &self.inner
    }

    /// How calls are made at this time.
    pub(crate) fn inner(&self) -> Arc<Inner> {
        self.inner.0.load_full()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.inner().uri).finish()
    }
}

pub(crate) struct Inner {
    pub(crate) target: Target,
    pub(crate) uri: Uri,
    pub(crate) user_agent: HeaderValue,
    pub(crate) authorization: Authorization,
    pub(crate) stats: Arc<ClientStats>,
}

pub(crate) enum Target {
    /// The connections, and the service whose endpoints they lead to, if it is one.
    Network(Arc<Transport>, Option<ResolvedService>),
    InProcess(InProcess),
}

/// The server's `Authorization` header.
pub(crate) enum Authorization {
    None,
    Fixed(HeaderValue),
    TokenFile { path: PathBuf, known: Mutex<Option<(Instant, HeaderValue)>> },
}

impl Authorization {
    fn new(credentials: &Credentials) -> Result<Authorization, SetupError> {
        if let Some(path) = &credentials.token_file {
            return Ok(Authorization::TokenFile { path: path.clone(), known: Mutex::default() });
        }
        let text = match (&credentials.token, &credentials.basic) {
            (Some(token), _) => format!("Bearer {token}"),
            (None, Some((name, password))) => {
                format!("Basic {}", BASE64.encode(format!("{name}:{password}").as_bytes()))
            }
            (None, None) => return Ok(Authorization::None),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| SetupError::Credentials("token"))?;
        value.set_sensitive(true);
        Ok(Authorization::Fixed(value))
    }

    /// The header, if there is one. A file that cannot be read any more leaves the token that was read last.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        match self {
            Authorization::None => None,
            Authorization::Fixed(value) => Some(value.clone()),
            Authorization::TokenFile { path, known } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                let is_fresh = |(since, _): &(Instant, HeaderValue)| since.elapsed() < TOKEN_FILE_PERIOD;
                if !known.as_ref().is_some_and(is_fresh) {
                    let token = std::fs::read_to_string(path).ok();
                    let value = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok());
                    if let Some(mut value) = value {
                        value.set_sensitive(true);
                        *known = Some((Instant::now(), value));
                    }
                }
                known.as_ref().map(|(_, value)| value.clone())
            }
        }
    }
}
