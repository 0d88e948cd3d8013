//! TLS of outgoing calls: the trusted CAs, and the client certificate. Guarantees that verification is skipped only where the
//! settings say so. Must never send a client certificate that was not configured for the purpose.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

#[cfg(doc)]
use crate::connect::Address;
use crate::error::SetupError;
use crate::verify::Verifier;

/// How TLS is spoken with a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TlsSettings {
    /// The CA certificates in PEM that verify the webhook; those of the system if empty.
    pub ca_pem: Vec<u8>,
    /// The certificate to show.
    pub identity: Option<Identity>,
    /// The name expected in the webhook's certificate, if it is not the host of the URL.
    pub server_name: Option<String>,
    /// Takes any certificate.
    pub insecure: bool,
    /// Whether HTTP/2 is offered, as it is to admission and conversion webhooks where [`Address::allows_http2`] says so. HTTP/1.1
    /// uses a connection for each concurrent call.
    pub http2: bool,
}

/// A client certificate with its intermediates and its key, in PEM.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The certificate and its intermediates.
    pub cert_pem: Vec<u8>,
    /// Its private key.
    pub key_pem: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl TlsSettings {
    /// Builds the configuration of the connections.
    pub(crate) fn config(&self) -> Result<ClientConfig, SetupError> {
        let provider = Arc::new(ring::default_provider());
        let authorities = match self.ca_pem.is_empty() {
            true => system_authorities().to_vec(),
            false => certificates(&self.ca_pem)?,
        };
        let mut roots = RootCertStore::empty();
        // An unreadable CA certificate is ignored, as in Go's pools.
        roots.add_parsable_certificates(authorities.iter().cloned());
        let verifier = Verifier::new(roots, authorities, Arc::clone(&provider), self.insecure);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SetupError::Identity(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.identity {
            Some(Identity { cert_pem, key_pem }) => {
                let wrong = |error: &dyn fmt::Display| SetupError::Identity(error.to_string());
                let chain = CertificateDer::pem_slice_iter(cert_pem).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(|error| wrong(&error))?;
                let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|error| wrong(&error))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| wrong(&error))?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = match self.http2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            false => vec![b"http/1.1".to_vec()],
        };
        Ok(config)
    }
}

/// Certificates of a bundle. Blocks of other types are skipped.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certs = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certs = certs.map_err(|error| SetupError::Authority(error.to_string()))?;
    match certs.as_slice() {
        [] => Err(SetupError::NoCertificate),
        certs if !certs.iter().any(|cert| is_der_sequence(cert)) => {
            let why = "failed to parse certificate: x509: malformed certificate";
            Err(SetupError::Authority(why.to_owned()))
        }
        _ => Ok(certs),
    }
}

/// Whether bytes are one sequence in DER, which is the outermost form of a certificate.
fn is_der_sequence(bytes: &[u8]) -> bool {
    let Some((0x30, rest)) = bytes.split_first().map(|(tag, rest)| (*tag, rest)) else { return false };
    let Some((&first, rest)) = rest.split_first() else { return false };
    if first < 0x80 {
        return rest.len() == usize::from(first);
    }
    let Some((length, content)) = rest.split_at_checked(usize::from(first & 0x7f)) else { return false };
    let length = length.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)));
    length == Some(content.len())
}

/// Checks a bundle of authorities, in PEM.
///
/// # Errors
/// It holds no certificate that can be used.
pub fn check_authorities(pem: &[u8]) -> Result<(), SetupError> {
    let authorities = certificates(pem).map_err(|_| SetupError::NoCertificate)?;
    match RootCertStore::empty().add_parsable_certificates(authorities) {
        (0, _) => Err(SetupError::Authority("failed to parse certificate".to_owned())),
        _ => Ok(()),
    }
}

/// The system's authorities, read once.
fn system_authorities() -> &'static [CertificateDer<'static>] {
    static AUTHORITIES: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    AUTHORITIES.get_or_init(|| rustls_native_certs::load_native_certs().certs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_without_a_whole_certificate() {
        for (pem, expected) in [
            ("", "unable to load root certificates: unable to parse bytes as PEM block"),
            (
                "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n",
                "unable to load root certificates: failed to parse certificate: x509: malformed certificate",
            ),
        ] {
            assert_eq!(certificates(pem.as_bytes()).expect_err("refused").to_string(), expected);
        }
        assert!(is_der_sequence(&[0x30, 1, 0]) && !is_der_sequence(&[0x30, 2, 0]) && !is_der_sequence(&[0x31, 0]));
        let long = [&[0x30, 0x81, 200][..], &[0; 200]].concat();
        assert!(is_der_sequence(&long) && !is_der_sequence(&long[..100]));
    }
}
