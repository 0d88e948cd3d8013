//! `Tls`: by what members are known, and this side to them.
//! Guarantees that a certificate or an authority which has been replaced counts from the next connection on; one that
//! cannot be used does not, and the last one stays.
//! Must never know where certificates lie.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A certificate and its key, both in PEM.
pub type Identity = (Vec<u8>, Vec<u8>);

/// The certificates of a cluster's clients.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// The CA certificates that verify members; those of the system if absent.
    pub ca_pem: Option<Vec<u8>>,
    /// The same authorities as they are now, asked for at every connection.
    pub ca_renewal: Option<CaRenewal>,
    /// What to be known by.
    pub identity: Option<Identity>,
    /// Returns the current client certificate, called for every connection.
    pub renewal: Option<Renewal>,
}

/// Reads an identity.
#[derive(Clone)]
pub struct Renewal(pub Arc<dyn Fn() -> io::Result<Identity> + Send + Sync>);

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renewal")
    }
}

/// Reads the authorities.
#[derive(Clone)]
pub struct CaRenewal(pub Arc<dyn Fn() -> io::Result<Vec<u8>> + Send + Sync>);

impl fmt::Debug for CaRenewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CaRenewal")
    }
}

/// # Errors
/// A certificate cannot be used.
pub fn config(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(text)?;
    let builder = match (&tls.ca_pem, &tls.ca_renewal) {
        (Some(pem), Some(renewal)) => {
            let members = Members::new(pem.clone(), renewal.clone(), provider.clone())?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(members))
        }
        (pem, _) => builder.with_root_certificates(authorities(pem.as_deref())?),
    };
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let last = Mutex::new(Arc::new(certified(identity, &provider)?));
            let shown = Shown { last, renewal: tls.renewal.clone(), provider };
            builder.with_client_cert_resolver(Arc::new(shown))
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    // A resumed session would be that of certificates which may have been replaced since.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn authorities(pem: Option<&[u8]>) -> Result<RootCertStore, String> {
    let mut authorities = RootCertStore::empty();
    let Some(pem) = pem else {
        let trusted = rustls_native_certs::load_native_certs();
        // Among those of a system there are some that not every program can read.
        let (read, _) = authorities.add_parsable_certificates(trusted.certs);
        return match trusted.errors.first().filter(|_| read == 0) {
            Some(error) => Err(format!("the authorities that the system trusts: {error}")),
            None => Ok(authorities),
        };
    };
    for certificate in CertificateDer::pem_slice_iter(pem) {
        authorities.add(certificate.map_err(text)?).map_err(text)?;
    }
    if authorities.is_empty() {
        return Err("there is no certificate in the file of authorities".to_owned());
    }
    Ok(authorities)
}

fn certified((certificates, key): &Identity, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(text)?;
    CertifiedKey::from_der(chain.map_err(text)?, key, provider).map_err(text)
}

/// Verifies members against authorities that may be replaced.
#[derive(Debug)]
struct Members {
    /// The authorities that were read last and could be used.
    last: Mutex<(Vec<u8>, Arc<WebPkiServerVerifier>)>,
    renewal: CaRenewal,
    provider: Arc<CryptoProvider>,
}

impl Members {
    fn new(pem: Vec<u8>, renewal: CaRenewal, provider: Arc<CryptoProvider>) -> Result<Members, String> {
        let verifier = verifier(&pem, &provider)?;
        Ok(Members { last: Mutex::new((pem, verifier)), renewal, provider })
    }

    /// The verifier of the authorities as they are now. Where they cannot be used, the last ones are.
    fn renewed(&self) -> Arc<WebPkiServerVerifier> {
        let read = (self.renewal.0)().ok();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pem) = read.filter(|pem| *pem != last.0)
            && let Ok(renewed) = verifier(&pem, &self.provider)
        {
            *last = (pem, renewed);
        }
        last.1.clone()
    }

    fn last(&self) -> Arc<WebPkiServerVerifier> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

fn verifier(pem: &[u8], provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let authorities = Arc::new(authorities(Some(pem))?);
    WebPkiServerVerifier::builder_with_provider(authorities, provider.clone()).build().map_err(text)
}

impl ServerCertVerifier for Members {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.renewed().verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.last().verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.last().verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.last().supported_verify_schemes()
    }
}

/// What members are shown.
struct Shown {
    last: Mutex<Arc<CertifiedKey>>,
    renewal: Option<Renewal>,
    provider: Arc<CryptoProvider>,
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let read = self.renewal.as_ref().and_then(|renewal| renewal.0().ok());
        let renewed = read.and_then(|identity| certified(&identity, &self.provider).ok());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(renewed) = renewed {
            *last = Arc::new(renewed);
        }
        Some(last.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}
