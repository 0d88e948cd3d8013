//! TLS of the server: certificates from PEM, client certificates on request, resumption, reloading. Guarantees that a client
//! with a certificate holds its key, and that a failed reload keeps the old configuration. Must never treat a client
//! certificate's chain as verified, nor let an untrusted one break the handshake (kube-apiserver answers 401).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};
use webpki::EndEntityCert;

/// The material of a TLS configuration, all in PEM.
#[derive(Clone, Default)]
pub struct TlsMaterial {
    /// The serving certificate, followed by its intermediates.
    pub cert_chain_pem: Vec<u8>,
    /// The serving certificate's private key.
    pub key_pem: Vec<u8>,
    /// Certificates by SNI name. If several have a name, the first is used.
    pub named: Vec<NamedCertificate>,
    /// The CAs named in the request for a client certificate; without them none is requested.
    pub client_ca_pem: Option<Vec<u8>>,
    /// Reads the public key of client certificates that rustls does not read: old ones, and those with unknown extensions.
    pub unread_client_key: Option<KeyOfCertificate>,
    /// Whether HTTP/2 is kept from being negotiated.
    pub disable_http2: bool,
    /// The least version that is spoken.
    pub min_version: TlsVersion,
    /// Cipher suites of TLS 1.2 by their IANA names; all if empty. Those of TLS 1.3 are always enabled.
    pub cipher_suites: Vec<String>,
    /// Curves of the key exchange by their numbers; none named, all are on.
    pub curves: Vec<u16>,
}

/// A certificate for some SNI names, in PEM.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NamedCertificate {
    /// The certificate, followed by its intermediates.
    pub cert_chain_pem: Vec<u8>,
    pub key_pem: Vec<u8>,
    /// Names, or wildcards in place of the first label. They precede those of certificates without names here.
    pub names: Vec<String>,
}

/// From a certificate to its public key, both in DER.
pub type KeyOfCertificate = fn(&[u8]) -> Option<Vec<u8>>;

/// Versions of TLS that can be the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersion {
    #[default]
    Tls12,
    Tls13,
}

/// The IANA names of the cipher suites of TLS 1.2 that can be spoken.
pub fn cipher_suites() -> impl Iterator<Item = &'static str> {
    ring::ALL_CIPHER_SUITES.iter().filter(|suite| suite.tls13().is_none()).filter_map(|suite| suite.suite().as_str())
}

/// The numbers of the curves that keys can be exchanged with.
pub fn curves() -> impl Iterator<Item = u16> {
    ring::ALL_KX_GROUPS.iter().map(|group| group.name().into())
}

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(pub(crate) String);

/// The TLS configuration that new connections use; it can be replaced while the server runs.
pub struct TlsConfig {
    material: Mutex<TlsMaterial>,
    current: RwLock<Arc<ServerConfig>>,
}

impl TlsConfig {
    /// Builds the configuration, or returns which part of the material is unusable.
    pub fn new(material: &TlsMaterial) -> Result<TlsConfig, TlsError> {
        let current = RwLock::new(Arc::new(server_config(material)?));
        Ok(TlsConfig { material: Mutex::new(material.clone()), current })
    }

    /// Changes the material for connections from now on. On an error all stays as it was.
    pub fn change(&self, change: impl FnOnce(&mut TlsMaterial)) -> Result<(), TlsError> {
        let mut material = self.material.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = material.clone();
        change(&mut changed);
        let config = Arc::new(server_config(&changed)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        *material = changed;
        Ok(())
    }

    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn server_config(material: &TlsMaterial) -> Result<ServerConfig, TlsError> {
    let failed = |what: &str, error: &dyn fmt::Display| TlsError(format!("{what}: {error}"));
    let mut provider = ring::default_provider();
    let named = |suite: &str| material.cipher_suites.iter().any(|name| name == suite);
    if !material.cipher_suites.is_empty() {
        provider.cipher_suites.retain(|suite| suite.tls13().is_some() || suite.suite().as_str().is_some_and(named));
    }
    if !material.curves.is_empty() {
        provider.kx_groups.retain(|group| material.curves.contains(&group.name().into()));
    }
    // The server chooses, as Go's do: of ciphers that all are good the one that costs least.
    provider.cipher_suites.sort_by_key(|suite| suite.suite().as_str().is_none_or(|name| !name.contains("AES_128")));
    let provider = Arc::new(provider);
    let versions: &[&rustls::SupportedProtocolVersion] = match material.min_version {
        TlsVersion::Tls12 => &[&TLS13, &TLS12],
        TlsVersion::Tls13 => &[&TLS13],
    };
    let certified = |chain: &[u8], key: &[u8]| {
        let chain = certificates(chain).map_err(|error| failed("serving certificate", &error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| failed("serving key", &error))?;
        let certified = CertifiedKey::from_der(chain, key, &provider);
        certified.map(Arc::new).map_err(|error| failed("serving certificate", &error))
    };
    let resolver = ByName {
        names: names(&material.named, &certified)?,
        default: certified(&material.cert_chain_pem, &material.key_pem)?,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| failed("TLS versions", &error))?;
    let builder = match &material.client_ca_pem {
        Some(pem) => builder.with_client_cert_verifier(Arc::new(
            RequestClientCert::new(pem, Arc::clone(&provider), material.unread_client_key)
                .map_err(|error| failed("client CA", &error))?,
        )),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = match material.disable_http2 {
        true => vec![b"http/1.1".to_vec()],
        false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    // Tickets keep no memory here; one is enough, a client that resumes gets a new one.
    config.ticketer = ring::Ticketer::new().map_err(|error| failed("session tickets", &error))?;
    config.send_tls13_tickets = 1;
    config.ignore_client_order = true;
    Ok(config)
}

/// Chooses the certificate by the SNI name.
#[derive(Debug)]
struct ByName {
    names: HashMap<String, Arc<CertifiedKey>>,
    default: Arc<CertifiedKey>,
}

impl ByName {
    fn of(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        let wildcard = || name.split_once('.').map(|(_, rest)| format!("*.{rest}"));
        self.names.get(&name).or_else(|| self.names.get(&wildcard()?))
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.of(name));
        Some(Arc::clone(named.unwrap_or(&self.default)))
    }
}

/// Makes a certificate with its key from two files in PEM.
type MakeKey<'a> = dyn Fn(&[u8], &[u8]) -> Result<Arc<CertifiedKey>, TlsError> + 'a;

/// The certificates by name: explicit names first, then the names in certificates without explicit ones.
fn names(named: &[NamedCertificate], certified: &MakeKey<'_>) -> Result<HashMap<String, Arc<CertifiedKey>>, TlsError> {
    let mut found = HashMap::new();
    let (with_names, others): (Vec<_>, Vec<_>) = named.iter().partition(|certificate| !certificate.names.is_empty());
    for certificate in with_names.into_iter().chain(others) {
        let key = certified(&certificate.cert_chain_pem, &certificate.key_pem)?;
        let names = match &certificate.names[..] {
            [] => dns_names(&key),
            names => names.to_vec(),
        };
        for name in names {
            found.entry(name.to_ascii_lowercase()).or_insert_with(|| Arc::clone(&key));
        }
    }
    Ok(found)
}

fn dns_names(key: &CertifiedKey) -> Vec<String> {
    let leaf = key.cert.first().and_then(|leaf| EndEntityCert::try_from(leaf).ok());
    leaf.map(|leaf| leaf.valid_dns_names().map(str::to_owned).collect()).unwrap_or_default()
}

pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certs = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError(error.to_string()))?;
    match certs.is_empty() {
        true => Err(TlsError("no certificate found".to_owned())),
        false => Ok(certs),
    }
}

/// Requests a client certificate and checks only that the client holds its key, as kube-apiserver does: an untrusted client
/// gets a 401 and not a failed handshake.
#[derive(Debug)]
struct RequestClientCert {
    /// Subjects of the authorities, so that clients know which of their certificates to send.
    hints: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
    unread_key: Option<KeyOfCertificate>,
}

impl RequestClientCert {
    fn new(
        ca_pem: &[u8],
        provider: Arc<CryptoProvider>,
        unread_key: Option<KeyOfCertificate>,
    ) -> Result<RequestClientCert, TlsError> {
        let mut roots = RootCertStore::empty();
        for cert in certificates(ca_pem)? {
            roots.add(cert).map_err(|error| TlsError(error.to_string()))?;
        }
        Ok(RequestClientCert { hints: roots.subjects(), provider, unread_key })
    }
}

impl ClientCertVerifier for RequestClientCert {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // The authenticator verifies the chain, request by request: see `Connection::client_certs`.
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let outcome = verify_tls13_signature(message, cert, signature, algorithms);
        let unread_key = || self.unread_key.and_then(|unread_key| unread_key(cert));
        match outcome.is_err().then(unread_key).flatten() {
            Some(key) => {
                let key = SubjectPublicKeyInfoDer::from(key);
                verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
            }
            None => outcome,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
