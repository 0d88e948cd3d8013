//! The certificates that a server makes for itself: an authority, its serving certificate, the administrator's.
//! Guarantees that all files are readable by their owner only, that the next start continues after an interrupted one, and
//! that files that Pintle did not write are never replaced.
//! Must never replace a valid authority: existing kubeconfigs trust it.

use crate::private_files;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pintle_auth::authentication::not_after;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

/// How long an authority is valid.
const CA_LIFETIME: Duration = Duration::from_secs(10 * 365 * 86_400);
/// How long the certificates from it are valid.
const LEAF_LIFETIME: Duration = Duration::from_secs(365 * 86_400);
/// A certificate with less validity left than this is replaced at start.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 86_400);
/// Certificates are valid from an hour ago, for clients whose clocks are slow.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

const CA_NAME: &str = "pintle-ca";

/// Why the certificates could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// A file could not be read or written.
    #[error("{}: {error}", .0.display(), error = .1)]
    File(PathBuf, #[source] io::Error),
    /// A certificate and its key are not both there, or do not fit each other.
    #[error("{} and {}: {problem}", .0.display(), .1.display(), problem = .2)]
    Pair(PathBuf, PathBuf, &'static str),
    /// A certificate could not be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The system has no random numbers.
    #[error("making a token: {0}")]
    Random(String),
}

/// The names under which a server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServingNames {
    /// DNS names.
    pub dns: Vec<String>,
    /// Addresses.
    pub ips: Vec<IpAddr>,
}

impl ServingNames {
    /// The names of every server, this host's name and the given addresses (except unspecified ones).
    pub fn new(host_name: Option<&str>, addresses: impl IntoIterator<Item = IpAddr>) -> ServingNames {
        let fixed = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "localhost",
        ];
        let mut names = ServingNames {
            dns: fixed.map(str::to_owned).to_vec(),
            ips: vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])],
        };
        for address in addresses {
            if !address.is_unspecified() && !names.ips.contains(&address) {
                names.ips.push(address);
            }
        }
        if let Some(host) = host_name.map(str::to_ascii_lowercase)
            && matches!(ServerName::try_from(host.as_str()), Ok(ServerName::DnsName(_)))
            && !names.dns.contains(&host)
        {
            names.dns.push(host);
        }
        names
    }
}

/// The name of this host, if the system has one.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok())?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The certificates of a server, all in PEM.
pub struct Certs {
    /// The authority that client certificates are made by.
    pub ca_pem: String,
    /// The CA with which clients verify the server, or a given serving certificate.
    pub server_ca_pem: String,
    /// The serving certificate with its chain.
    pub serving_cert_pem: String,
    /// Its key.
    pub serving_key_pem: String,
    /// The administrator's credential.
    pub admin: Administrator,
}

/// The credential of the administrator, `pintle-admin` of `system:masters`.
pub enum Administrator {
    /// A client certificate of the own authority, and its key, in PEM.
    Certificate {
        /// The certificate.
        cert_pem: String,
        /// Its key.
        key_pem: String,
    },
    /// A token that is good for as long as the process lives.
    Token(String),
}

/// The administrator's name.
pub const ADMINISTRATOR: &str = "pintle-admin";
/// The administrator's group, which may do everything.
pub const ADMINISTRATORS: &str = "system:masters";

/// Random bytes in the administrator's token.
const TOKEN_BYTES: usize = 32;

/// The kind of the administrator's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdministratorBy {
    /// By a certificate of the own authority, which clients' certificates are verified by.
    Certificate,
    /// A token: client certificates are verified by other CAs only.
    Token,
}

impl Certs {
    /// When the serving certificate ends.
    pub fn serving_ends(&self) -> Option<SystemTime> {
        first_certificate(&self.serving_cert_pem).and_then(|cert| not_after(&cert))
    }
}

impl fmt::Debug for Certs {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certs").field("server_ca_pem", &self.server_ca_pem).finish_non_exhaustive()
    }
}

/// Prepares the certificates in `dir`: keeps valid ones, creates missing ones, renews those that expire soon.
///
/// The files are `ca`, `apiserver` and `admin`, each with `.crt` and `.key`; `apiserver.crt` ends with the CA. A serving
/// certificate given as `serving` (certificate and key) is used instead of `apiserver`. If the administrator has a token there
/// is no `admin`, and the token is not stored in this directory.
///
/// # Errors
/// A file cannot be read or written, or does not match the others.
pub fn ensure(
    dir: &Path,
    serving: Option<(&Path, &Path)>,
    administrator: AdministratorBy,
    names: &ServingNames,
    now: SystemTime,
) -> Result<Certs, CertsError> {
    private_files::create_directory(dir).map_err(|error| CertsError::File(dir.to_owned(), error))?;
    let ca = Authority::ensure(&Pair::of(dir, "ca"), now)?;
    let (serving_cert_pem, serving_key_pem) = match serving {
        Some((cert, key)) => (read(cert)?, read(key)?),
        None => ca.serving(&Pair::of(dir, "apiserver"), names, now)?,
    };
    let admin = match administrator {
        AdministratorBy::Certificate => {
            let (cert_pem, key_pem) = ca.admin(&Pair::of(dir, "admin"), now)?;
            Administrator::Certificate { cert_pem, key_pem }
        }
        AdministratorBy::Token => Administrator::Token(token()?),
    };
    let ours = first_certificate(&serving_cert_pem).is_some_and(|cert| ca.made(&cert, KeyUsage::server_auth()));
    Ok(Certs {
        server_ca_pem: if ours { ca.cert_pem.clone() } else { serving_cert_pem.clone() },
        ca_pem: ca.cert_pem,
        serving_cert_pem,
        serving_key_pem,
        admin,
    })
}

/// A new random token.
fn token() -> Result<String, CertsError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| CertsError::Random(error.to_string()))?;
    Ok(data_encoding::BASE64URL_NOPAD.encode(&bytes))
}

/// The file of the key that service account tokens are signed with: `service-account.key` in `dir`, made when it is
/// missing.
///
/// # Errors
/// The file cannot be written.
pub fn service_account_key_file(dir: &Path) -> Result<PathBuf, CertsError> {
    let path = dir.join("service-account.key");
    if !exists(&path)? {
        write_private(&path, &KeyPair::generate()?.serialize_pem())?;
    }
    Ok(path)
}

/// The files of a certificate and its key.
struct Pair {
    cert: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn of(dir: &Path, name: &str) -> Pair {
        Pair { cert: dir.join(format!("{name}.crt")), key: dir.join(format!("{name}.key")) }
    }

    /// The certificate and the key, if both exist. An interrupted start leaves a key alone.
    fn load(&self) -> Result<Option<(String, String)>, CertsError> {
        match (exists(&self.cert)?, exists(&self.key)?) {
            (true, true) => Ok(Some((read(&self.cert)?, read(&self.key)?))),
            (false, _) => Ok(None),
            (true, false) => Err(self.problem("one is there without the other")),
        }
    }

    /// The key of a certificate: the existing one, or a new one, which is on disk before its certificate. Since the key is
    /// kept when a certificate is renewed, only one file ever changes, and the two always match.
    fn ensure_key(&self) -> Result<KeyPair, CertsError> {
        if exists(&self.key)? {
            return KeyPair::from_pem(&read(&self.key)?).map_err(|_| self.problem("the key cannot be used"));
        }
        let key = KeyPair::generate()?;
        write_private(&self.key, &key.serialize_pem())?;
        Ok(key)
    }

    fn problem(&self, problem: &'static str) -> CertsError {
        CertsError::Pair(self.cert.clone(), self.key.clone(), problem)
    }
}

/// The authority, ready to sign.
struct Authority {
    cert_pem: String,
    cert: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn ensure(files: &Pair, now: SystemTime) -> Result<Authority, CertsError> {
        if let Some((cert_pem, key_pem)) = files.load()? {
            let key = KeyPair::from_pem(&key_pem).map_err(|_| files.problem("the key cannot be used"))?;
            let cert = first_certificate(&cert_pem).ok_or_else(|| files.problem("no certificate found"))?;
            let issuer = Issuer::new(ca_params(now), key);
            let authority = Authority { cert_pem, cert, issuer };
            // Signing and verifying proves that the files belong together and were created here.
            let trial = authority.sign(&admin_params(now), &KeyPair::generate()?)?;
            let trial = first_certificate(&trial).filter(|trial| authority.made(trial, KeyUsage::client_auth()));
            if trial.is_none() {
                return Err(files.problem("not an authority made by pintle, or not of one another"));
            }
            if not_after(&authority.cert).is_none_or(|end| end > now + RENEW_BEFORE) {
                return Ok(authority);
            }
        }
        let key = files.ensure_key()?;
        let params = ca_params(now);
        let cert = params.self_signed(&key)?;
        write_private(&files.cert, &cert.pem())?;
        Ok(Authority { cert_pem: cert.pem(), cert: cert.der().clone(), issuer: Issuer::new(params, key) })
    }

    /// The serving certificate followed by the CA. A given one is used unchanged, as in kube-apiserver.
    fn serving(&self, files: &Pair, names: &ServingNames, now: SystemTime) -> Result<(String, String), CertsError> {
        let usage = KeyUsage::server_auth;
        if let Some((cert_pem, key_pem)) = files.load()? {
            let cert = first_certificate(&cert_pem).ok_or_else(|| files.problem("no certificate found"))?;
            let is_good = || self.is_good(&cert, usage(), now) && has_names(&cert, names) && is_of(&cert, &key_pem);
            if !self.looks_made(&cert) || is_good() {
                return Ok((cert_pem, key_pem));
            }
        }
        let key = files.ensure_key()?;
        let chain = self.sign(&serving_params(names, now)?, &key)? + &self.cert_pem;
        write_private(&files.cert, &chain)?;
        Ok((chain, key.serialize_pem()))
    }

    fn admin(&self, files: &Pair, now: SystemTime) -> Result<(String, String), CertsError> {
        if let Some((cert_pem, key_pem)) = files.load()? {
            let cert = first_certificate(&cert_pem);
            let is_good = |cert| self.is_good(&cert, KeyUsage::client_auth(), now) && is_of(&cert, &key_pem);
            if cert.is_some_and(is_good) {
                return Ok((cert_pem, key_pem));
            }
        }
        let key = files.ensure_key()?;
        let cert_pem = self.sign(&admin_params(now), &key)?;
        write_private(&files.cert, &cert_pem)?;
        Ok((cert_pem, key.serialize_pem()))
    }

    /// A certificate from this authority.
    fn sign(&self, params: &CertificateParams, key: &KeyPair) -> Result<String, CertsError> {
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }

    /// Whether a certificate is from this CA, regardless of its age.
    fn made(&self, cert: &CertificateDer<'_>, usage: KeyUsage) -> bool {
        not_after(cert).is_some_and(|end| self.verifies(cert, usage, end))
    }

    /// Whether a certificate names an authority of ours as its issuer, also one that has been replaced since.
    fn looks_made(&self, cert: &CertificateDer<'_>) -> bool {
        let issuer = |cert: &CertificateDer<'_>| EndEntityCert::try_from(cert).ok().map(|cert| cert.issuer().to_vec());
        let subject = |cert: &CertificateDer<'_>| {
            let anchor = webpki::anchor_from_trusted_cert(cert).ok();
            anchor.map(|anchor| anchor.subject.as_ref().to_vec())
        };
        issuer(cert).is_some_and(|issuer| Some(issuer) == subject(&self.cert))
    }

    /// Whether a certificate is from this authority and valid for a while.
    fn is_good(&self, cert: &CertificateDer<'_>, usage: KeyUsage, now: SystemTime) -> bool {
        self.verifies(cert, usage, now + RENEW_BEFORE)
    }

    fn verifies(&self, cert: &CertificateDer<'_>, usage: KeyUsage, at: SystemTime) -> bool {
        let verify = || {
            let anchors = [webpki::anchor_from_trusted_cert(&self.cert).ok()?];
            let at = UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).ok()?);
            let cert = EndEntityCert::try_from(cert).ok()?;
            cert.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &[], at, usage, None, None).ok()?;
            Some(())
        };
        verify().is_some()
    }
}

/// Whether a certificate is of this key.
fn is_of(cert: &CertificateDer<'_>, key_pem: &str) -> bool {
    let certified = EndEntityCert::try_from(cert).map(|cert| cert.subject_public_key_info());
    let key = KeyPair::from_pem(key_pem).map(|key| key.subject_public_key_info());
    certified.is_ok_and(|certified| key.is_ok_and(|key| key == certified.as_ref()))
}

fn has_names(cert: &CertificateDer<'_>, names: &ServingNames) -> bool {
    let Ok(cert) = EndEntityCert::try_from(cert) else {
        return false;
    };
    let covers = |name: ServerName<'_>| cert.verify_is_valid_for_subject_name(&name).is_ok();
    let dns = |name: &String| ServerName::try_from(name.as_str()).is_ok_and(covers);
    names.dns.iter().all(dns) && names.ips.iter().all(|ip| covers(ServerName::from(*ip)))
}

fn ca_params(now: SystemTime) -> CertificateParams {
    let mut params = params(CA_NAME, now, CA_LIFETIME);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn serving_params(names: &ServingNames, now: SystemTime) -> Result<CertificateParams, CertsError> {
    let mut params = leaf_params("kube-apiserver", now, ExtendedKeyUsagePurpose::ServerAuth);
    for name in &names.dns {
        params.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
    }
    params.subject_alt_names.extend(names.ips.iter().copied().map(SanType::IpAddress));
    Ok(params)
}

fn admin_params(now: SystemTime) -> CertificateParams {
    let mut params = leaf_params(ADMINISTRATOR, now, ExtendedKeyUsagePurpose::ClientAuth);
    params.distinguished_name.push(DnType::OrganizationName, ADMINISTRATORS);
    params
}

fn leaf_params(name: &str, now: SystemTime, usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = params(name, now, LEAF_LIFETIME);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![usage];
    // Strict clients (Python) require it.
    params.use_authority_key_identifier_extension = true;
    params
}

fn params(name: &str, now: SystemTime, lifetime: Duration) -> CertificateParams {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let epoch = date_time_ymd(1970, 1, 1);
    let mut params = CertificateParams::default();
    params.not_before = epoch + since_epoch.saturating_sub(CLOCK_SKEW);
    params.not_after = epoch + since_epoch + lifetime;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn first_certificate(pem: &str) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).ok()
}

fn exists(path: &Path) -> Result<bool, CertsError> {
    path.try_exists().map_err(|error| CertsError::File(path.to_owned(), error))
}

fn read(path: &Path) -> Result<String, CertsError> {
    std::fs::read_to_string(path).map_err(|error| CertsError::File(path.to_owned(), error))
}

/// Writes a file that only its owner can read, whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write_private(path: &Path, contents: &str) -> Result<(), CertsError> {
    private_files::write(path, contents.as_bytes()).map_err(|error| CertsError::File(path.to_owned(), error))
}

#[cfg(test)]
mod tests;
