//! `Endpoint`: one member's address, and the connection to it. Guarantees one attempt to connect at a time, which
//! continues if its waiters give up. Must never decide which endpoint is used.

use crate::alert_stream::AlertStream;
use crate::limits;
use crate::tasks::Tasks;
use crate::tls::{self, Tls};
use http::Uri;
use pintle_grpc::{Connection, Executor, Settings, Status, local_socket};
use rustls::pki_types::ServerName;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The default port of members.
const PORT: u16 = 2379;

/// Where a member listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Port(String, u16),
    /// A path, or `@` and the name of an abstract socket.
    Socket(PathBuf),
}

pub struct Endpoint {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    settings: Settings,
    /// Runs the connections.
    executor: Executor,
    link: Mutex<Link>,
}

type Outcome = Result<Connection, Status>;

#[derive(Clone)]
enum Link {
    Closed,
    /// A task is connecting, and will send the outcome.
    Opening(watch::Receiver<Option<Outcome>>),
    Open(Connection),
}

impl Endpoint {
    /// Connects when a connection is first needed.
    ///
    /// # Errors
    /// The endpoint is not a URL, or a certificate is invalid.
    pub fn new(url: &str, tls: &Tls, tasks: &Arc<Tasks>) -> Result<Arc<Endpoint>, String> {
        if let Some((scheme, path)) = local_url(url) {
            return Endpoint::at_socket((url, scheme, path), tls, tasks);
        }
        let with_scheme = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let wrong = |error: &dyn Display| format!("etcd endpoint {url}: {error}");
        let uri: Uri = with_scheme.parse().map_err(|error: http::uri::InvalidUri| wrong(&error))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(wrong(&"invalid URL"));
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = match authority.port_u16() {
            Some(port) => port,
            None if authority.as_str() == authority.host() => PORT,
            None => return Err(wrong(&"invalid port")),
        };
        let tls = match scheme.as_str() {
            "http" => None,
            "https" => {
                let name = ServerName::try_from(host.clone()).map_err(|error| wrong(&error))?;
                let config = tls::config(tls).map_err(|error| wrong(&error))?;
                Some((TlsConnector::from(Arc::new(config)), name))
            }
            _ => return Err(wrong(&"neither http nor https")),
        };
        let origin = Uri::builder().scheme(scheme.clone()).authority(authority.clone()).path_and_query("/").build();
        let origin = origin.map_err(|error| wrong(&error))?;
        Ok(Endpoint::at(Address::Port(host, port), tls, origin, tasks))
    }

    /// The member behind a socket of this machine. As in etcd's client, the connection is encrypted if the scheme says so or certificates
    /// are given, and the member is known by the last part of the path.
    fn at_socket(
        (url, scheme, path): (&str, &str, &str),
        tls: &Tls,
        tasks: &Arc<Tasks>,
    ) -> Result<Arc<Endpoint>, String> {
        let wrong = |error: &dyn Display| format!("etcd endpoint {url}: {error}");
        if path.is_empty() {
            return Err(wrong(&"no path"));
        }
        let is_encrypted = scheme == "unixs" || tls.ca_pem.is_some() || tls.identity.is_some();
        let tls = match is_encrypted {
            false => None,
            true => {
                let name = path.rsplit('/').next().unwrap_or(path).to_owned();
                let name = ServerName::try_from(name).map_err(|error| wrong(&error))?;
                let config = tls::config(tls).map_err(|error| wrong(&error))?;
                Some((TlsConnector::from(Arc::new(config)), name))
            }
        };
        let origin = if is_encrypted { "https://localhost/" } else { "http://localhost/" };
        Ok(Endpoint::at(Address::Socket(path.into()), tls, Uri::from_static(origin), tasks))
    }

    fn at(
        address: Address,
        tls: Option<(TlsConnector, ServerName<'static>)>,
        origin: Uri,
        tasks: &Arc<Tasks>,
    ) -> Arc<Endpoint> {
        let settings = Settings {
            origin,
            window: limits::WINDOW,
            message_max: usize::MAX,
            keep_alive: Some((limits::KEEP_ALIVE, limits::KEEP_ALIVE_TIMEOUT)),
        };
        let tasks = tasks.clone();
        let (executor, link) = (Executor::new(move |task| tasks.spawn(task)), Mutex::new(Link::Closed));
        Arc::new(Endpoint { address, tls, settings, executor, link })
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        // No code that holds the lock can panic.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection; connects again if the last one has ended.
    ///
    /// # Errors
    /// The member cannot be reached.
    pub async fn connection(self: &Arc<Self>) -> Outcome {
        let link = self.link().clone();
        if let Link::Open(connection) = &link
            && connection.is_usable()
        {
            return Ok(connection.clone());
        }
        let mut opening = self.open();
        match opening.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(Status::unavailable("the attempt to connect was given up")),
        }
    }

    /// Starts a task that connects, unless there is one.
    fn open(self: &Arc<Self>) -> watch::Receiver<Option<Outcome>> {
        let mut link = self.link();
        // The connecting task may have panicked.
        if let Link::Opening(opening) = &*link
            && opening.has_changed().is_ok()
        {
            return opening.clone();
        }
        let (tell, opening) = watch::channel(None);
        *link = Link::Opening(opening.clone());
        let endpoint = self.clone();
        tokio::spawn(async move {
            let outcome = match timeout(limits::CONNECT, endpoint.connect()).await {
                Ok(outcome) => outcome.map_err(Status::unavailable),
                Err(_) => Err(Status::deadline_exceeded()),
            };
            *endpoint.link() = outcome.clone().map_or(Link::Closed, Link::Open);
            tell.send_replace(Some(outcome));
        });
        opening
    }

    async fn connect(&self) -> io::Result<Connection> {
        match &self.address {
            Address::Port(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                self.secure(stream).await
            }
            Address::Socket(socket) => self.secure(local_socket::connect(socket).await?).await,
        }
    }

    async fn secure(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Connection> {
        match &self.tls {
            None => self.begin(stream).await,
            Some((connector, name)) => self.begin(AlertStream(connector.connect(name.clone(), stream).await?)).await,
        }
    }

    async fn begin(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Connection> {
        Connection::open(stream, &self.settings, self.executor.clone()).await.map_err(io::Error::other)
    }
}

/// The scheme and the path of a URL of a socket of this machine: `unix:path`, `unix://path`, `unix:///path`, and the same with
/// `unixs`.
pub fn local_url(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':').filter(|(scheme, _)| matches!(*scheme, "unix" | "unixs"))?;
    Some((scheme, rest.strip_prefix("//").unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixListener;
    use tokio::runtime::Handle;

    #[tokio::test]
    async fn invalid_urls_of_members_are_rejected() {
        let tasks = Arc::new(Tasks::new(Handle::current()));
        let endpoint = |url: &str| Endpoint::new(url, &Tls::default(), &tasks);
        for url in ["http://a:2379", "a:1", "10.0.0.1", "http://[::1]:2379", "https://a"] {
            assert!(endpoint(url).is_ok(), "{url}");
        }
        for url in ["", "http://", "ftp://a", "http://a:b", "https://-", "unix://", "unixs:", "unixs:///a:b"] {
            assert!(endpoint(url).is_err(), "{url}");
        }
        let address = |url: &str| endpoint(url).map(|it| (it.address.clone(), it.tls.is_some())).unwrap();
        let port = |host: &str, port| (Address::Port(host.to_owned(), port), false);
        assert_eq!(address("http://[::1]:23"), port("::1", 23));
        assert_eq!(address("a"), port("a", PORT));
        for (url, socket, is_encrypted) in [
            ("unix:///run/etcd.sock", "/run/etcd.sock", false),
            ("unix://localhost:m10", "localhost:m10", false),
            ("unix:run/etcd.sock", "run/etcd.sock", false),
            ("unix:@etcd", "@etcd", false),
            ("unixs:///run/etcd.sock", "/run/etcd.sock", true),
        ] {
            assert_eq!(address(url), (Address::Socket(socket.into()), is_encrypted), "{url}");
        }
    }

    #[tokio::test]
    async fn members_are_reached_over_sockets_of_this_machine() {
        let socket = std::env::temp_dir().join(format!("pintle-etcd-{}", std::process::id()));
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a socket");
        let tasks = Arc::new(Tasks::new(Handle::current()));
        let endpoint = Endpoint::new(&format!("unix://{}", socket.display()), &Tls::default(), &tasks);
        let endpoint = endpoint.expect("an endpoint");
        let connected = tokio::spawn(async move { endpoint.connection().await.map(drop) });
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut preface = [0; 14];
        stream.read_exact(&mut preface).await.expect("HTTP/2");
        assert_eq!(&preface, b"PRI * HTTP/2.0");
        connected.await.expect("no panic").expect("connected");
        std::fs::remove_file(&socket).expect("removed");
    }

    #[tokio::test]
    async fn an_invalid_certificate_is_reported_at_once() {
        let tasks = Arc::new(Tasks::new(Handle::current()));
        let tls = Tls { identity: Some((b"no certificate".to_vec(), b"no key".to_vec())), ..Tls::default() };
        let without = Tls { ca_pem: Some(b"no certificate".to_vec()), ..Tls::default() };
        for tls in [tls, without] {
            let error = Endpoint::new("https://a:1", &tls, &tasks).err().unwrap_or_default();
            assert!(error.starts_with("etcd endpoint https://a:1: "), "{error}");
        }
    }
}
