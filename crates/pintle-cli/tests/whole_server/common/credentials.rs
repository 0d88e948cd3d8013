//! Certificates for a server and its clients, of an authority made for one test. Guarantees that the authority has
//! signed certificates for the loopback address and one client only. Must never outlive its test: the keys lie in the
//! test's own folder.

use super::Scratch;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Credentials {
    scratch: Scratch,
}

impl Credentials {
    /// The files `ca.crt`, and `.crt` and `.key` of `server` and `client`.
    pub fn new() -> Credentials {
        let scratch = Scratch::new();
        // Each has another name: two authorities with one name confuse clients.
        let mut params = named(&scratch.path().to_string_lossy());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
        let authority = authority.expect("an authority");
        scratch.write("ca.crt", &authority.pem());
        for name in ["server", "client"] {
            let (mut params, key) = (named(name), KeyPair::generate().expect("a key"));
            params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
            // etcd is a client of itself.
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let certificate = params.signed_by(&key, &authority).expect("a certificate");
            scratch.write(&format!("{name}.crt"), &certificate.pem());
            scratch.write(&format!("{name}.key"), &key.serialize_pem());
        }
        Credentials { scratch }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The client's TLS configuration: its certificate and its trusted CA.
    pub fn client_config(&self) -> Arc<ClientConfig> {
        self.client_config_for(&self.file("ca.crt"))
    }

    /// The same for a server with a certificate of another authority.
    pub fn client_config_for(&self, authority: &Path) -> Arc<ClientConfig> {
        client_config(&self.file("client.crt"), &self.file("client.key"), authority)
    }
}

/// A client's TLS configuration: its certificate and its trusted CA.
pub fn client_config(certificate: &Path, key: &Path, authority: &Path) -> Arc<ClientConfig> {
    let read = |file: &Path| CertificateDer::from_pem_file(file).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(read(authority)).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(roots);
    Arc::new(config.with_client_auth_cert(vec![read(certificate)], key).expect("a pair"))
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
