//! The flags of TLS: the certificates of the server, and how TLS is spoken. Guarantees that unknown cipher suites and
//! curves are rejected. Must never read a file: files are read after all flags have been checked.

use super::config::{Config, KeyPair, with_defaults};
use super::setting::{NamedPair, Repeated};
use super::table::Flag;
use pintle_http::TlsVersion;
use std::path::PathBuf;

with_defaults! {
    /// The certificates of the server, and how TLS is spoken.
    pub struct TlsFlags {
        pub pair: KeyPair,
        /// Certificates that are selected by SNI.
        pub named: Repeated<NamedPair>,
        /// The directory of generated certificates; see [`Config::cert_dir`].
        pub cert_dir: Option<PathBuf>,
        /// The administrator's kubeconfig; see [`Config::kubeconfig`].
        pub kubeconfig: Option<PathBuf>,
        pub min_version: TlsVersion,
        /// Empty for all.
        pub cipher_suites: Vec<String>,
        /// By their numbers in TLS; empty for all.
        pub curves: Vec<u16>,
        pub disable_http2: bool,
    }
}

fn check_cipher_suites(config: &Config) -> Result<(), String> {
    let known = || pintle_http::cipher_suites();
    match config.tls.cipher_suites.iter().find(|suite| !known().any(|known| known == **suite)) {
        Some(suite) => Err(format!("{suite} is not one of {}", known().collect::<Vec<_>>().join(", "))),
        None => Ok(()),
    }
}

/// The files of certificates.
pub static CERTIFICATE_FLAGS: &[Flag] = &[
    Flag::new(
        "write-kubeconfig",
        |c| &mut c.tls.kubeconfig,
        "Where to write the administrator's kubeconfig. Default: kubeconfig in the data directory.",
    ),
    Flag::new(
        "cert-dir",
        |c| &mut c.tls.cert_dir,
        "Directory of generated certificates, or of apiserver.crt and apiserver.key. Default: certs in the \
         data directory.",
    ),
    Flag::new(
        "tls-cert-file",
        |c| &mut c.tls.pair.certificate,
        "PEM file with the serving certificate, followed by its intermediate certificates. Default: a \
         generated certificate.",
    ),
    Flag::new(
        "tls-private-key-file",
        |c| &mut c.tls.pair.key,
        "PEM file with the private key of the serving certificate.",
    ),
    Flag::new(
        "tls-sni-cert-key",
        |c| &mut c.tls.named,
        "PEM files with another serving certificate and its key. It is used for clients that request one of \
         the names (*.example.com matches all subdomains); without names, for the names in the certificate. \
         May be repeated.",
    ),
];

/// How TLS is spoken.
pub static TLS_FLAGS: &[Flag] = &[
    Flag::new("tls-min-version", |c| &mut c.tls.min_version, "Minimum TLS version: VersionTLS12 or VersionTLS13. Earlier ones are not spoken."),
    Flag::new(
        "tls-cipher-suites",
        |c| &mut c.tls.cipher_suites,
        "Cipher suites of TLS 1.2, by IANA name. Those of TLS 1.3 are always enabled. Default: all secure \
         suites.",
    )
    .checked(check_cipher_suites),
    Flag::new(
        "tls-curve-preferences",
        |c| &mut c.tls.curves,
        "Curves of the key exchange, by their numbers in TLS: 29 (X25519), 23 (P-256), 24 (P-384). The server prefers them \
         in this order whatever the flag's is. Default: all.",
    )
    .checked(|c| match c.tls.curves.iter().find(|curve| !pintle_http::curves().any(|known| known == **curve)) {
        Some(curve) => Err(format!("curve {curve} is not supported: the TLS library knows 29, 23 and 24")),
        None => Ok(()),
    }),
    Flag::new("disable-http2-serving", |c| &mut c.tls.disable_http2, "Whether to serve HTTP/1.1 only."),
];
