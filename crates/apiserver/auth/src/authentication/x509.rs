//! Client certificates: the common name is the user, the organizations are the groups.
//! Guarantees that only chains that lead to the client CA, are valid now and may authenticate clients give an identity.
//! Must never go by a result that `cert_cache` would not keep, so that a certificate that is no longer valid stops working
//! on open connections too.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use pintle_metrics::{Histogram, Layout};
use pintle_resource::MaybeReady;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::authority::Authority;
use super::cert_cache::{Authorities, Outcome, Verified};
use super::{AuthenticationError, AuthenticationRequest, Authenticator, Identity, certificate, direct};
use crate::user::CREDENTIAL_ID_KEY;
use crate::{Str, UserInfo};

/// 2.5.29.37.0, the usage of keys that may be used for everything.
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// Remaining validity of client certificates: from none over hours and days to a year.
static REMAINING: Layout = Layout::seconds(&[
    0.0,
    1_800.0,
    3_600.0,
    7_200.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
]);

/// Why a CA file is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ClientCaError {
    #[error("no certificate found")]
    Empty,
    #[error("{0}")]
    Pem(#[from] rustls_pki_types::pem::Error),
    #[error("{0}")]
    Certificate(#[from] webpki::Error),
}

/// The CAs whose client certificates are trusted.
pub struct ClientCa {
    authorities: RwLock<Authorities>,
    /// Whether the user's uid in a certificate counts.
    reads_uids: bool,
    /// The remaining validity of the certificates of requests.
    pub expirations: Histogram,
}

impl ClientCa {
    /// Reads the authorities from PEM; there must be at least one.
    pub fn from_pem(pem: &[u8]) -> Result<ClientCa, ClientCaError> {
        let authorities = RwLock::new(authorities(pem)?);
        Ok(ClientCa { authorities, reads_uids: true, expirations: Histogram::new(&REMAINING) })
    }

    /// The same authorities; uids in certificates mean nothing, as in releases that do not know them.
    #[must_use]
    pub fn without_uids(self) -> ClientCa {
        ClientCa { reads_uids: false, ..self }
    }

    /// Trusts the authorities of this PEM from now on, and no others. An error changes nothing.
    pub fn replace(&self, pem: &[u8]) -> Result<(), ClientCaError> {
        let authorities = authorities(pem)?;
        *self.authorities.write().unwrap_or_else(PoisonError::into_inner) = authorities;
        Ok(())
    }

    fn authorities(&self) -> Authorities {
        Arc::clone(&self.authorities.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The identity of the request's certificate: none without a certificate, an error when it is not trusted.
    pub(super) fn identity(&self, request: &AuthenticationRequest<'_>) -> Outcome {
        let Some((leaf, intermediates)) = request.client_certs.split_first() else {
            return Ok(None);
        };
        let (authorities, now) = (self.authorities(), request.now);
        let cached = request.cert_cache.and_then(|cache| cache.get(&authorities, now));
        let verified = cached.unwrap_or_else(|| {
            let outcome = match verify(&authorities, leaf, intermediates, now) {
                Ok(()) => identity(leaf, self.reads_uids),
                Err(webpki::Error::UnsupportedCertVersion | webpki::Error::CaUsedAsEndEntity)
                    if direct::is_trusted(leaf, &authorities, now) =>
                {
                    identity(leaf, self.reads_uids)
                }
                Err(error) => Err(AuthenticationError::refused(format!("x509: {error}"))),
            };
            let verified = Verified { authorities, at: now, outcome, expires: certificate::not_after(leaf) };
            request.cert_cache.into_iter().for_each(|cache| cache.put(&verified));
            verified
        });
        if let Some(expires) = verified.expires {
            self.expirations.observe_duration(expires.duration_since(now).unwrap_or_default());
        }
        verified.outcome
    }
}

impl Authenticator for ClientCa {
    fn authenticate<'a>(&'a self, request: &'a AuthenticationRequest<'a>) -> MaybeReady<'a, Outcome> {
        MaybeReady::Ready(self.identity(request))
    }
}

/// The authorities in PEM; there must be at least one.
fn authorities(pem: &[u8]) -> Result<Authorities, ClientCaError> {
    let mut authorities = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate?;
        let anchor = webpki::anchor_from_trusted_cert(&certificate)?.to_owned();
        authorities.push(Authority { anchor, certificate });
    }
    if authorities.is_empty() { Err(ClientCaError::Empty) } else { Ok(Arc::new(authorities)) }
}

fn verify(
    authorities: &[Authority],
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: SystemTime,
) -> Result<(), webpki::Error> {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH);
    let now = UnixTime::since_unix_epoch(since_epoch.map_err(|_| webpki::Error::CertNotValidYet {
        time: UnixTime::since_unix_epoch(Duration::ZERO),
        not_before: UnixTime::since_unix_epoch(Duration::ZERO),
    })?);
    let anchors: Vec<_> = authorities.iter().map(|authority| authority.anchor.clone()).collect();
    let leaf = EndEntityCert::try_from(leaf)?;
    let verify = |usage: KeyUsage| {
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        leaf.verify_for_usage(algorithms, &anchors, intermediates, now, usage, None, None).map(drop)
    };
    match verify(KeyUsage::client_auth()) {
        Err(webpki::Error::RequiredEkuNotFoundContext(_)) => verify(KeyUsage::required_if_present(ANY_USAGE)),
        outcome => outcome,
    }
}

/// The identity that a verified certificate names.
fn identity(leaf: &CertificateDer<'_>, reads_uids: bool) -> Outcome {
    let refused = AuthenticationError::refused;
    let mut subject = certificate::subject(leaf).ok_or_else(|| refused("x509: malformed subject"))?;
    if !reads_uids {
        subject.uids.clear();
    }
    if subject.uids.iter().any(String::is_empty) {
        return Err(refused("x509: empty user id"));
    }
    if subject.common_name.is_empty() {
        return Ok(None);
    }
    let uid = match &subject.uids[..] {
        [] => Str::default(),
        [uid] => uid.into(),
        _ => return Err(refused("x509: several user ids")),
    };
    let digest = ring::digest::digest(&ring::digest::SHA256, leaf);
    let id = format!("X509SHA256={}", data_encoding::HEXLOWER.encode(digest.as_ref()));
    let user = UserInfo {
        name: subject.common_name.into(),
        uid,
        groups: subject.organizations.into_iter().map(Str::from).collect(),
        extra: vec![(Str::new_static(CREDENTIAL_ID_KEY), vec![id.into()])],
    };
    Ok(Some(Identity::of(Arc::new(user.authenticated()))))
}

#[cfg(test)]
#[path = "x509_tests.rs"]
mod tests;
