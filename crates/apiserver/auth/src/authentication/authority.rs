//! A certificate authority whose client certificates are trusted. Guarantees that it is what its own certificate says. Must
//! never verify a certificate of another.

use rustls_pki_types::{CertificateDer, TrustAnchor};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

/// A trusted certificate authority.
pub(super) struct Authority {
    pub anchor: TrustAnchor<'static>,
    pub certificate: CertificateDer<'static>,
}

impl Authority {
    /// Whether this is the authority's name.
    pub fn is_named(&self, name: &X509Name<'_>) -> bool {
        let parsed = X509Certificate::from_der(&self.certificate);
        parsed.is_ok_and(|(_, own)| own.subject().as_raw() == name.as_raw())
    }

    /// The authority's public key, as a subject public key info in DER.
    pub fn public_key(&self) -> Option<Vec<u8>> {
        let (_, own) = X509Certificate::from_der(&self.certificate).ok()?;
        Some(own.public_key().raw.to_vec())
    }
}
