//! Client certificates: the common name is the user, the organizations are the groups.
//! Guarantees that only chains that lead to the client CA, are valid now and may authenticate clients give an identity.
//! Must never keep a verdict longer than `RECHECK`, than the certificate lasts, or than the authorities stay, so that one that
//! is good no more stops working on open connections too.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use pintle_metrics::{Histogram, Layout};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use super::{Unauthenticated, der, version_1};
use crate::user::CREDENTIAL_ID_KEY;
use crate::{Str, UserInfo};

/// How long a connection's verdict is used before the chain is verified again (some 100 µs of CPU).
const RECHECK: Duration = Duration::from_secs(10);

/// 2.5.4.3, the attribute of a subject that names the user.
pub const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.4.10, the attribute of a subject that names a group.
pub const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
/// 1.3.6.1.4.1.57683.2, the attribute that Kubernetes takes a user's uid from.
const USER_UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

/// Who a certificate speaks for: nobody when it has no common name.
type Verdict = Result<Option<Arc<UserInfo>>, Unauthenticated>;

/// How long certificates live on that clients come with: from none at all over hours and days to a year.
static LIVES: Layout = Layout::seconds(&[
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

/// Where a connection remembers who its certificate speaks for: as a client's, and as a front proxy's, which other
/// authorities vouch for.
#[derive(Default)]
pub struct CertCache {
    pub(super) client: Memory,
    pub(super) front_proxy: Memory,
}

/// The last judgement of one set of authorities.
#[derive(Default)]
pub(super) struct Memory(RwLock<Option<Judged>>);

/// What was found out about a certificate.
#[derive(Clone)]
struct Judged {
    by: Anchors,
    at: SystemTime,
    verdict: Verdict,
    expires: Option<SystemTime>,
}

impl Memory {
    fn get(&self, by: &Anchors, now: SystemTime) -> Option<Judged> {
        let last = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let judged = last.as_ref().filter(|judged| Arc::ptr_eq(&judged.by, by))?;
        // A clock that went backwards makes the verdict worthless too.
        let age = now.duration_since(judged.at).ok()?;
        let has_expired = judged.verdict.is_ok() && judged.expires.is_some_and(|expires| expires < now);
        (age < RECHECK && !has_expired).then(|| judged.clone())
    }

    fn put(&self, judged: &Judged) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(judged.clone());
    }
}

/// What is wrong with a file of certificate authorities.
#[derive(Debug)]
pub struct ClientCaError(String);

impl fmt::Display for ClientCaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ClientCaError {}

type Anchors = Arc<Vec<TrustAnchor<'static>>>;

/// The authorities whose client certificates are trusted.
pub struct ClientCa {
    anchors: RwLock<Anchors>,
    /// How long the certificates of requests live on.
    pub expirations: Histogram,
}

impl ClientCa {
    /// Reads the authorities from PEM; there must be at least one.
    pub fn from_pem(pem: &[u8]) -> Result<ClientCa, ClientCaError> {
        Ok(ClientCa { anchors: RwLock::new(anchors(pem)?), expirations: Histogram::new(&LIVES) })
    }

    /// Trusts the authorities of this PEM from now on, and no others. On an error all stays as it was.
    pub fn replace(&self, pem: &[u8]) -> Result<(), ClientCaError> {
        let anchors = anchors(pem)?;
        *self.anchors.write().unwrap_or_else(PoisonError::into_inner) = anchors;
        Ok(())
    }

    fn anchors(&self) -> Anchors {
        Arc::clone(&self.anchors.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who the chain speaks for: nobody when it is empty, an error when it is not to be trusted.
    pub(super) fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        memory: Option<&Memory>,
        now: SystemTime,
    ) -> Verdict {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return Ok(None);
        };
        let anchors = self.anchors();
        let known = memory.and_then(|memory| memory.get(&anchors, now));
        let judged = known.unwrap_or_else(|| {
            let verdict = match verify(&anchors, leaf, intermediates, now) {
                Ok(()) => user(leaf),
                Err(webpki::Error::UnsupportedCertVersion) if version_1::is_trusted(leaf, &anchors, now) => user(leaf),
                Err(_) => Err(Unauthenticated),
            };
            let judged = Judged { by: anchors, at: now, verdict, expires: der::not_after(leaf) };
            memory.into_iter().for_each(|memory| memory.put(&judged));
            judged
        });
        if let Some(expires) = judged.expires {
            self.expirations.observe_duration(expires.duration_since(now).unwrap_or_default());
        }
        judged.verdict
    }
}

/// The authorities in PEM; there must be at least one.
fn anchors(pem: &[u8]) -> Result<Anchors, ClientCaError> {
    let mut anchors = Vec::new();
    for cert in CertificateDer::pem_slice_iter(pem) {
        let cert = cert.map_err(|error| ClientCaError(error.to_string()))?;
        let anchor = webpki::anchor_from_trusted_cert(&cert).map_err(|error| ClientCaError(error.to_string()))?;
        anchors.push(anchor.to_owned());
    }
    match anchors.is_empty() {
        true => Err(ClientCaError("no certificate found".to_owned())),
        false => Ok(Arc::new(anchors)),
    }
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

/// The user that a verified certificate names.
fn user(leaf: &CertificateDer<'_>) -> Verdict {
    let subject = der::subject(leaf).map_err(|_| Unauthenticated)?;
    let mut user = UserInfo::default();
    let mut uids = 0;
    for attribute in subject {
        match attribute.oid {
            // Of several common names the last counts.
            COMMON_NAME => user.name = attribute.value.into(),
            ORGANIZATION => user.groups.push(attribute.value.into()),
            USER_UID if attribute.value.is_empty() => return Err(Unauthenticated),
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
        return Err(Unauthenticated);
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, leaf);
    let id = format!("X509SHA256={}", data_encoding::HEXLOWER.encode(digest.as_ref()));
    user.extra = vec![(Str::new_static(CREDENTIAL_ID_KEY), vec![id.into()])];
    Ok(Some(Arc::new(user.authenticated())))
}

#[cfg(test)]
#[path = "x509_tests.rs"]
mod tests;
