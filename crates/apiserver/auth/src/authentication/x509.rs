//! Client certificates: the common name is the user, the organizations are the groups.
//! Guarantees that only chains that lead to the client CA, are valid now and may authenticate clients give an identity.
//! Must never keep a result longer than `RECHECK`, than the certificate is valid, or than the authorities are trusted, so that
//! a certificate that is no longer valid stops working on open connections too.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use pintle_metrics::{Histogram, Layout};
use pintle_resource::MaybeReady;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::{AuthenticationError, AuthenticationRequest, Authenticator, Identity, der, version_1};
use crate::user::CREDENTIAL_ID_KEY;
use crate::{Str, UserInfo};

/// How long a connection uses a result before it verifies the chain again (some 100 µs of CPU).
const RECHECK: Duration = Duration::from_secs(10);

/// 2.5.4.3, the attribute of a subject that names the user.
pub const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.4.10, the attribute of a subject that names a group.
pub const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
/// 1.3.6.1.4.1.57683.2, the attribute that Kubernetes takes a user's uid from.
const USER_UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

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

/// What a connection keeps of verifying its certificate: one result for each set of authorities that was asked.
#[derive(Default)]
pub struct CertCache(RwLock<Vec<Verified>>);

/// More sets of authorities than a server has at a time. Results of replaced authorities are dropped first.
const CACHED_RESULTS: usize = 4;

/// The identity of a certificate: none when it has no common name.
type Outcome = Result<Option<Identity>, AuthenticationError>;

/// The result of verifying a certificate.
#[derive(Clone)]
struct Verified {
    anchors: Anchors,
    at: SystemTime,
    outcome: Outcome,
    expires: Option<SystemTime>,
}

impl CertCache {
    fn get(&self, anchors: &Anchors, now: SystemTime) -> Option<Verified> {
        let results = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let verified = results.iter().find(|verified| Arc::ptr_eq(&verified.anchors, anchors))?;
        // A clock that went backwards makes the result worthless too.
        let age = now.duration_since(verified.at).ok()?;
        let has_expired = verified.outcome.is_ok() && verified.expires.is_some_and(|expires| expires < now);
        (age < RECHECK && !has_expired).then(|| verified.clone())
    }

    fn put(&self, verified: &Verified) {
        let mut results = self.0.write().unwrap_or_else(PoisonError::into_inner);
        results.retain(|before| !Arc::ptr_eq(&before.anchors, &verified.anchors));
        if results.len() >= CACHED_RESULTS {
            results.remove(0);
        }
        results.push(verified.clone());
    }
}

/// Why a file of certificate authorities is refused.
#[derive(Debug, thiserror::Error)]
pub enum ClientCaError {
    #[error("no certificate found")]
    Empty,
    #[error("{0}")]
    Pem(#[from] rustls_pki_types::pem::Error),
    #[error("{0}")]
    Certificate(#[from] webpki::Error),
}

type Anchors = Arc<Vec<TrustAnchor<'static>>>;

/// The authorities whose client certificates are trusted.
pub struct ClientCa {
    anchors: RwLock<Anchors>,
    /// The remaining validity of the certificates of requests.
    pub expirations: Histogram,
}

impl ClientCa {
    /// Reads the authorities from PEM; there must be at least one.
    pub fn from_pem(pem: &[u8]) -> Result<ClientCa, ClientCaError> {
        Ok(ClientCa { anchors: RwLock::new(anchors(pem)?), expirations: Histogram::new(&REMAINING) })
    }

    /// Trusts the authorities of this PEM from now on, and no others. An error changes nothing.
    pub fn replace(&self, pem: &[u8]) -> Result<(), ClientCaError> {
        let anchors = anchors(pem)?;
        *self.anchors.write().unwrap_or_else(PoisonError::into_inner) = anchors;
        Ok(())
    }

    fn anchors(&self) -> Anchors {
        Arc::clone(&self.anchors.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The identity of the request's certificate: none without a certificate, an error when it is not trusted.
    pub(super) fn identity(&self, request: &AuthenticationRequest<'_>) -> Outcome {
        let Some((leaf, intermediates)) = request.client_certs.split_first() else {
            return Ok(None);
        };
        let (anchors, now) = (self.anchors(), request.now);
        let cached = request.cert_cache.and_then(|cache| cache.get(&anchors, now));
        let verified = cached.unwrap_or_else(|| {
            let outcome = match verify(&anchors, leaf, intermediates, now) {
                Ok(()) => identity(leaf),
                Err(webpki::Error::UnsupportedCertVersion) if version_1::is_trusted(leaf, &anchors, now) => {
                    identity(leaf)
                }
                Err(error) => Err(AuthenticationError::refused(format!("x509: {error}"))),
            };
            let verified = Verified { anchors, at: now, outcome, expires: der::not_after(leaf) };
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
fn anchors(pem: &[u8]) -> Result<Anchors, ClientCaError> {
    let mut anchors = Vec::new();
    for cert in CertificateDer::pem_slice_iter(pem) {
        anchors.push(webpki::anchor_from_trusted_cert(&cert?)?.to_owned());
    }
    if anchors.is_empty() { Err(ClientCaError::Empty) } else { Ok(Arc::new(anchors)) }
}

fn verify(
    anchors: &[TrustAnchor<'static>],
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: SystemTime,
) -> Result<(), webpki::Error> {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH);
    let now = UnixTime::since_unix_epoch(since_epoch.map_err(|_| webpki::Error::CertNotValidYet {
        time: UnixTime::since_unix_epoch(Duration::ZERO),
        not_before: UnixTime::since_unix_epoch(Duration::ZERO),
    })?);
    EndEntityCert::try_from(leaf)?.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        anchors,
        intermediates,
        now,
        KeyUsage::client_auth(),
        None,
        None,
    )?;
    Ok(())
}

/// The identity that a verified certificate names.
fn identity(leaf: &CertificateDer<'_>) -> Outcome {
    let refused = AuthenticationError::refused;
    let subject = der::subject(leaf).map_err(|_| refused("x509: malformed subject"))?;
    let mut user = UserInfo::default();
    let mut uids = 0;
    for attribute in subject {
        match attribute.oid {
            // Of several common names the last counts.
            COMMON_NAME => user.name = attribute.value.into(),
            ORGANIZATION => user.groups.push(attribute.value.into()),
            USER_UID if attribute.value.is_empty() => return Err(refused("x509: empty user id")),
            USER_UID => {
                uids += 1;
                user.uid = attribute.value.into();
            }
            _ => {}
        }
    }
    if user.name.is_empty() {
        return Ok(None);
    }
    if uids > 1 {
        return Err(refused("x509: several user ids"));
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, leaf);
    let id = format!("X509SHA256={}", data_encoding::HEXLOWER.encode(digest.as_ref()));
    user.extra = vec![(Str::new_static(CREDENTIAL_ID_KEY), vec![id.into()])];
    Ok(Some(Identity::of(Arc::new(user.authenticated()))))
}

#[cfg(test)]
#[path = "x509_tests.rs"]
mod tests;
