//! TLS as a client: the trusted CAs and the client certificate. Guarantees that verification is skipped only where the caller
//! says so explicitly. Must never send a client certificate that was not configured for the purpose.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::tls::{TlsError, certificates};

/// How the server connects to others, all in PEM.
#[derive(Clone, Default)]
pub struct ClientTlsMaterial {
    /// The CA certificates that verify peers; without them any certificate is accepted.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate to show, with its intermediates, and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Builds the configuration of outgoing connections.
///
/// # Errors
/// Part of the material is unusable; the error names it.
pub fn client_config(material: &ClientTlsMaterial) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError(format!("TLS versions: {error}")))?;
    let builder = match &material.ca_pem {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for cert in certificates(pem)? {
                roots.add(cert).map_err(|error| TlsError(format!("certificate authority: {error}")))?;
            }
            builder.with_root_certificates(roots)
        }
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))),
    };
    let config = match &material.identity {
        Some((cert, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError(format!("client key: {error}")))?;
            let config = builder.with_client_auth_cert(certificates(cert)?, key);
            config.map_err(|error| TlsError(format!("client certificate: {error}")))?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// Accepts any certificate whose key the peer holds.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
