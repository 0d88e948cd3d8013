//! `Tls`: by what members are known, and this side to them.
//! Guarantees that a certificate which has been replaced is shown from the next connection on; one that cannot be used is
//! not, and the last one stays.
//! Must never know where certificates lie.

use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};
use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A certificate and its key, both in PEM.
pub type Identity = (Vec<u8>, Vec<u8>);

/// The certificates of a cluster's clients.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// The authorities of the members' certificates; those that the system trusts where none are named.
    pub ca_pem: Option<Vec<u8>>,
    /// What to be known by.
    pub identity: Option<Identity>,
    /// The same as it is now, asked for at every connection.
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

/// # Errors
/// A certificate cannot be used.
pub fn config(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(text)?.with_root_certificates(authorities(tls.ca_pem.as_deref())?);
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let last = Mutex::new(Arc::new(certified(identity, &provider)?));
            let shown = Shown { last, renewal: tls.renewal.clone(), provider };
            builder.with_client_cert_resolver(Arc::new(shown))
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
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
