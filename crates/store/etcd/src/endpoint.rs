//! `Endpoint`: one member's address, and the connection to it. Guarantees one attempt to connect at a time, which
//! continues if its waiters give up. Must never decide which endpoint is used.

use crate::alert_stream::AlertStream;
use crate::limits;
use crate::tasks::Tasks;
use crate::tls::{self, Tls};
use http::Uri;
use pintle_grpc::{Connection, Executor, Settings, Status};
use rustls::pki_types::ServerName;
use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The default port of members.
const PORT: u16 = 2379;

pub struct Endpoint {
    host: String,
    port: u16,
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
        let settings = Settings {
            origin,
            window: limits::WINDOW,
            message_max: usize::MAX,
            keep_alive: Some((limits::KEEP_ALIVE, limits::KEEP_ALIVE_TIMEOUT)),
        };
        let tasks = tasks.clone();
        let (executor, link) = (Executor::new(move |task| tasks.spawn(task)), Mutex::new(Link::Closed));
        Ok(Arc::new(Endpoint { host, port, tls, settings, executor, link }))
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
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => self.begin(stream).await,
            Some((connector, name)) => self.begin(AlertStream(connector.connect(name.clone(), stream).await?)).await,
        }
    }

    async fn begin(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Connection> {
        Connection::open(stream, &self.settings, self.executor.clone()).await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Handle;

    #[tokio::test]
    async fn invalid_urls_of_members_are_rejected() {
        let tasks = Arc::new(Tasks::new(Handle::current()));
        let endpoint = |url: &str| Endpoint::new(url, &Tls::default(), &tasks);
        for url in ["http://a:2379", "a:1", "10.0.0.1", "http://[::1]:2379", "https://a"] {
            assert!(endpoint(url).is_ok(), "{url}");
        }
        for url in ["", "http://", "ftp://a", "http://a:b", "https://-"] {
            assert!(endpoint(url).is_err(), "{url}");
        }
        let parts = |url: &str| endpoint(url).map(|it| (it.host.clone(), it.port)).unwrap();
        assert_eq!(parts("http://[::1]:23"), ("::1".to_owned(), 23));
        assert_eq!(parts("a"), ("a".to_owned(), PORT));
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
