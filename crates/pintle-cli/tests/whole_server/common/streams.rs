//! Backends for tests of streams: a server of one handler, with TLS or without, that speaks HTTP as far as it must.
//! Guarantees that a handler that fails makes its test fail: the connection breaks.
//! Must never outlive its test for anything but waiting for a connection.

use futures_util::future::BoxFuture;
use pintle::SocketConnector;
use pintle_proxy::backend::{BackendResponse, ByteStream, Connector, Destination, Trust, Unreachable};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use tungstenite::WebSocket;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;

/// A connection of either kind.
pub trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// The head of a request.
pub struct Head {
    pub method: String,
    pub target: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// All values of a header.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }

    /// Agrees to a WebSocket in a protocol.
    pub fn accept_websocket<'a>(&self, stream: &'a mut dyn Stream, protocol: &str) -> WebSocket<&'a mut dyn Stream> {
        let accept = derive_accept_key(self.header("sec-websocket-key").as_bytes());
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        WebSocket::from_raw_socket(stream, Role::Server, None)
    }
}

/// A server on a port of the loopback interface.
pub struct Backend {
    port: u16,
    certificate: String,
}

impl Backend {
    pub fn plain(handler: impl Fn(&Head, &mut dyn Stream) + Send + Sync + 'static) -> Backend {
        Backend::start(Ipv4Addr::LOCALHOST.into(), None, String::new(), handler)
    }

    /// With a certificate of its own for the loopback address.
    pub fn tls(handler: impl Fn(&Head, &mut dyn Stream) + Send + Sync + 'static) -> Backend {
        Backend::tls_at(Ipv4Addr::LOCALHOST.into(), None, handler)
    }

    /// The same at an address, for clients that hold the key of a certificate.
    pub fn tls_at(
        address: IpAddr,
        client: Option<CertificateDer<'static>>,
        handler: impl Fn(&Head, &mut dyn Stream) + Send + Sync + 'static,
    ) -> Backend {
        Backend::tls_named(address, &address.to_string(), client, handler)
    }

    /// The same with a certificate for a name.
    pub fn tls_named(
        address: IpAddr,
        name: &str,
        client: Option<CertificateDer<'static>>,
        handler: impl Fn(&Head, &mut dyn Stream) + Send + Sync + 'static,
    ) -> Backend {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let config = config.expect("versions");
        let config = match client {
            None => config.with_no_client_auth(),
            Some(client) => {
                let mut roots = RootCertStore::empty();
                roots.add(client).expect("a certificate");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                config.with_client_cert_verifier(verifier.expect("a verifier"))
            }
        };
        let config = config.with_single_cert(vec![made.cert.der().clone()], key).expect("a pair");
        Backend::start(address, Some(Arc::new(config)), made.cert.pem(), handler)
    }

    fn start(
        address: IpAddr,
        tls: Option<Arc<ServerConfig>>,
        certificate: String,
        handler: impl Fn(&Head, &mut dyn Stream) + Send + Sync + 'static,
    ) -> Backend {
        let listener = TcpListener::bind((address, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let handler = Arc::new(handler);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (tls, handler) = (tls.clone(), handler.clone());
                std::thread::spawn(move || serve(stream, tls, &*handler));
            }
        });
        Backend { port, certificate }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its certificate in PEM, which is its authority as well.
    pub fn certificate(&self) -> String {
        self.certificate.clone()
    }
}

fn serve(tcp: TcpStream, tls: Option<Arc<ServerConfig>>, handler: &dyn Fn(&Head, &mut dyn Stream)) {
    match tls {
        None => answer(tcp, handler),
        Some(config) => {
            let connection = ServerConnection::new(config).expect("a connection");
            let mut stream = StreamOwned::new(connection, tcp);
            // A client that does not like the certificate ends it here.
            if stream.conn.complete_io(&mut stream.sock).is_ok() {
                answer(stream, handler);
            }
        }
    }
}

fn answer(mut stream: impl Stream, handler: &dyn Fn(&Head, &mut dyn Stream)) {
    // Byte for byte: what follows the head is the handler's.
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or("").split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    handler(&Head { method, target, headers }, &mut stream);
    let _ = stream.flush();
}

/// A connector that finds one address at another place.
pub struct Redirected {
    pub from: &'static str,
    pub port: u16,
    pub inner: SocketConnector,
}

impl Connector for Redirected {
    fn send(
        &self,
        mut to: Destination,
        request: http::Request<ByteStream>,
    ) -> BoxFuture<'_, Result<BackendResponse, Unreachable>> {
        if to.host == self.from {
            let trust = Trust::UnverifiedKubelet;
            to = Destination { host: "127.0.0.1".to_owned(), port: self.port, trust, ..to };
        }
        Connector::send(&self.inner, to, request)
    }
}

/// A request for an upgrade, with a credential that is not the backend's business.
pub fn upgrade_request(path: &str, protocol: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\
         Authorization: Basic c2VjcmV0\r\nContent-Length: 0\r\n\r\n"
    )
}

/// The head of a response, with names in lower case as the server sends them.
pub fn rest_of_head(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).expect("an answer"), 0, "cut off: {head}");
    }
    head
}
