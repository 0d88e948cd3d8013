//! The client side of the tests: one connection at a time, and certificates created for the test. Guarantees that a test
//! chooses the HTTP version and TLS explicitly. Must never share code with the server.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pintle_http::TlsMaterial;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, HandshakeKind, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// One connection to the server.
pub struct Client {
    sender: Sender,
    connection: JoinHandle<()>,
    /// Whether the TLS session was resumed.
    pub resumed: bool,
}

impl Client {
    pub async fn plain(port: u16, http2: bool) -> Client {
        Client::over(connect(port).await, http2).await
    }

    pub async fn tls(port: u16, http2: bool, config: &Arc<ClientConfig>) -> Client {
        Client::tls_over(connect(port).await, http2, config).await
    }

    /// A client on a connection that takes little at a time.
    pub async fn narrow(port: u16, http2: bool, config: &Arc<ClientConfig>) -> Client {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16 * 1024).expect("a small buffer");
        let stream = socket.connect(([127, 0, 0, 1], port).into()).await.expect("connect");
        Client::tls_over(stream, http2, config).await
    }

    async fn tls_over(stream: TcpStream, http2: bool, config: &Arc<ClientConfig>) -> Client {
        let name = "localhost".try_into().expect("a name");
        let stream = TlsConnector::from(Arc::clone(config)).connect(name, stream);
        let stream = stream.await.expect("handshake");
        let kind = stream.get_ref().1.handshake_kind();
        let mut client = Client::over(stream, http2).await;
        client.resumed = kind == Some(HandshakeKind::Resumed);
        client
    }

    async fn over<I>(stream: I, http2: bool) -> Client
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(stream);
        let (sender, connection) = if http2 {
            let made = http2::handshake(TokioExecutor::new(), io).await;
            let (sender, connection) = made.expect("HTTP/2");
            (Sender::Http2(sender), tokio::spawn(async { drop(connection.await) }))
        } else {
            let (sender, connection) = http1::handshake(io).await.expect("HTTP/1");
            (Sender::Http1(sender), tokio::spawn(async { drop(connection.await) }))
        };
        Client { sender, connection, resumed: false }
    }

    /// Another client on the same connection, which must be HTTP/2.
    pub fn same_connection(&self) -> Client {
        let Sender::Http2(sender) = &self.sender else { panic!("HTTP/1 has one request at a time") };
        Client { sender: Sender::Http2(sender.clone()), connection: tokio::spawn(async {}), resumed: self.resumed }
    }

    pub async fn send(&mut self, path: &str) -> Response<hyper::body::Incoming> {
        self.request(path, Vec::new()).await
    }

    pub async fn get(&mut self, path: &str) -> (u16, String) {
        collect(self.request(path, Vec::new()).await).await
    }

    pub async fn post(&mut self, path: &str, body: Vec<u8>) -> (u16, String) {
        collect(self.request(path, body).await).await
    }

    /// Completes when the connection has ended.
    pub async fn closed(self) {
        self.connection.await.expect("no panic");
    }

    async fn request(&mut self, path: &str, body: Vec<u8>) -> Response<hyper::body::Incoming> {
        let builder = Request::builder().method("POST");
        let body = Full::from(body);
        match &mut self.sender {
            Sender::Http1(sender) => {
                let request = builder.uri(path).header("host", "localhost").body(body);
                sender.ready().await.expect("open");
                sender.send_request(request.expect("valid")).await
            }
            Sender::Http2(sender) => {
                let request = builder.uri(format!("https://localhost{path}")).body(body);
                sender.ready().await.expect("open");
                sender.send_request(request.expect("valid")).await
            }
        }
        .expect("an answer")
    }
}

async fn collect(response: Response<hyper::body::Incoming>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("whole body");
    let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
    (status, text)
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.expect("connect")
}

/// The CA of a client's certificate.
#[derive(Clone, Copy)]
pub enum Identity {
    Signed,
    Foreign,
    /// One that rustls cannot read: [`OLD`] and a public key.
    Old,
}

const OLD: &[u8] = b"old";

/// An authority, and a serving certificate for `localhost` from it.
pub struct Pki {
    ca: CertifiedIssuer<'static, KeyPair>,
}

impl Pki {
    pub fn new() -> Pki {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test-ca");
        let key = KeyPair::generate().expect("key");
        Pki { ca: CertifiedIssuer::self_signed(params, key).expect("CA") }
    }

    pub fn material(&self) -> TlsMaterial {
        let (cert, key) = self.issue("localhost");
        TlsMaterial {
            cert_chain_pem: cert.pem().into_bytes(),
            key_pem: key.serialize_pem().into_bytes(),
            client_ca_pem: Some(self.ca.pem().into_bytes()),
            unread_client_key: Some(|certificate| certificate.strip_prefix(OLD).map(<[u8]>::to_vec)),
            ..TlsMaterial::default()
        }
    }

    /// A client's configuration, with session resumption, that trusts this authority.
    pub fn client(&self, http2: bool, identity: Option<Identity>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.ca.der().clone()).expect("root");
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let foreign = Pki::new();
        let issued = identity.map(|identity| match identity {
            Identity::Signed => self.issue("client"),
            Identity::Foreign | Identity::Old => foreign.issue("client"),
        });
        let mut config = match issued {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let public_key = key.subject_public_key_info();
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("key");
                let old = || CertificateDer::from([OLD, &public_key].concat());
                let chain = vec![if matches!(identity, Some(Identity::Old)) { old() } else { cert.der().clone() }];
                let key = builder.crypto_provider().key_provider.load_private_key(key).expect("identity");
                let identity = SingleCertAndKey::from(CertifiedKey::new(chain, key));
                builder.with_client_cert_resolver(Arc::new(identity))
            }
        };
        let protocol: &[u8] = if http2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }

    /// A client's configuration that speaks one version only.
    pub fn client_of(&self, version: &'static rustls::SupportedProtocolVersion) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.ca.der().clone()).expect("root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        Arc::new(builder.expect("a version").with_root_certificates(roots).with_no_client_auth())
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("key");
        (params.signed_by(&key, &self.ca).expect("signed"), key)
    }
}
