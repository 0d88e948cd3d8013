//! Verification of webhooks' certificates, with the errors of Go's `crypto/x509`. Guarantees what `webpki` guarantees, and
//! accepts a self-signed certificate that is itself among the CAs. Must never accept a certificate whose name or dates do not
//! match.

use std::net::IpAddr;
use std::sync::Arc;

use pintle_schema::time::Time;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A verifier of servers' certificates.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// None if there is no CA at all.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The authorities' certificates, sorted.
    authorities: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    /// Whether any certificate is accepted.
    insecure: bool,
}

/// Why verification of a certificate failed.
#[derive(Debug, thiserror::Error)]
#[error("tls: failed to verify certificate: x509: {0}")]
struct Rejected(String);

impl Verifier {
    pub(crate) fn new(
        roots: RootCertStore,
        mut authorities: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
        insecure: bool,
    ) -> Verifier {
        authorities.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().ok();
        Verifier { chain, authorities, provider, insecure }
    }

    fn is_authority(&self, cert: &CertificateDer<'_>) -> bool {
        self.authorities.binary_search_by(|known| known.as_ref().cmp(cert.as_ref())).is_ok()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = match &self.chain {
            Some(chain) => chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        let Err(error) = verified else { return Ok(ServerCertVerified::assertion()) };
        let why = match reason(end_entity, server_name, now) {
            Some(why) => why,
            None if self.is_authority(end_entity) => return Ok(ServerCertVerified::assertion()),
            None => of_chain(&error),
        };
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Rejected(why))))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The error of the certificate itself: its dates, then its names. Go checks these before the chain.
fn reason(cert: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> Option<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(cert) else { return Some("malformed certificate".to_owned()) };
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = parsed.validity();
    let rfc3339 = |seconds| Time::from_seconds(seconds).to_rfc3339();
    for (order, bound, wrong) in [
        ("before", validity.not_before.timestamp(), seconds < validity.not_before.timestamp()),
        ("after", validity.not_after.timestamp(), seconds > validity.not_after.timestamp()),
    ] {
        if wrong {
            let (now, bound) = (rfc3339(seconds), rfc3339(bound));
            return Some(format!("certificate has expired or is not yet valid: current time {now} is {order} {bound}"));
        }
    }
    let fits = ParsedCertificate::try_from(cert).and_then(|parsed| verify_server_name(&parsed, name)).is_ok();
    if fits { None } else { Some(of_name(&parsed, name)) }
}

/// Go's message for a certificate without the name.
fn of_name(cert: &X509Certificate<'_>, name: &ServerName<'_>) -> String {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    if let Ok(Some(extension)) = cert.subject_alternative_name() {
        for name in &extension.value.general_names {
            match name {
                GeneralName::DNSName(name) => names.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
                _ => {}
            }
        }
    }
    let (wanted, valid) = match name {
        ServerName::IpAddress(address) => {
            let address = IpAddr::from(*address);
            if addresses.is_empty() {
                return format!("cannot validate certificate for {address} because it doesn't contain any IP SANs");
            }
            (address.to_string(), addresses)
        }
        name => (name.to_str().into_owned(), names),
    };
    let common_name = cert.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or("");
    match valid.is_empty() {
        true if !common_name.is_empty() => {
            "certificate relies on legacy Common Name field, use SANs instead".to_owned()
        }
        true => format!("certificate is not valid for any names, but wanted to match {wanted}"),
        false => format!("certificate is valid for {}, not {wanted}", valid.join(", ")),
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| IpAddr::from(sixteen).to_string())
}

fn of_chain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnhandledCriticalExtension) => {
            "unhandled critical extension".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "certificate specifies an incompatible key usage".to_owned(),
        _ => "certificate signed by unknown authority".to_owned(),
    }
}
