//! The flags about servers before and behind this one, and about nodes that are new: who is believed to say who somebody is.
//! Guarantees that headers are believed only where the authority of those who send them is known.
//! Must never read a file: that comes when all flags are known to be good.

use super::FlagError;
use super::config::KeyPair;
use super::setting::InputFile;
use super::table::Flag;
use pintle_auth::authentication::FrontProxyHeaders;

/// The flags that begin with `--requestheader-` and `--proxy-client-`.
#[derive(Clone, Debug, Default)]
pub struct FrontProxyFlags {
    pub client_ca_file: Option<InputFile>,
    pub allowed_names: Vec<String>,
    pub headers: FrontProxyHeaders,
    /// What this server would show to those behind it.
    pub identity: KeyPair,
}

impl FrontProxyFlags {
    /// What is to be said of flags that have no effect.
    ///
    /// # Errors
    /// They make no sense together.
    pub fn check(&self, warnings: &mut Vec<String>) -> Result<(), FlagError> {
        let is_told = !self.allowed_names.is_empty() || self.headers != FrontProxyHeaders::default();
        if self.client_ca_file.is_none() && is_told {
            warnings.push("--requestheader- flags have no effect without --requestheader-client-ca-file".to_owned());
        }
        if self.client_ca_file.is_some() && self.headers.username.is_empty() {
            let sentence = "--requestheader-username-headers must be given with --requestheader-client-ca-file";
            return Err(FlagError::Combination(sentence.to_owned()));
        }
        if self.identity.certificate.is_some() {
            warnings.push("--proxy-client-cert-file has no effect: no extension servers are asked".to_owned());
        }
        Ok(())
    }
}

pub static FRONT_PROXY_FLAGS: &[Flag] = &[
    Flag::new(
        "enable-bootstrap-token-auth",
        |c| &mut c.bootstrap_tokens,
        "Whether secrets of type bootstrap.kubernetes.io/token in kube-system let new nodes in.",
    ),
    Flag::new(
        "requestheader-client-ca-file",
        |c| &mut c.front_proxy.client_ca_file,
        "Authorities of the certificates by which front proxies are known.",
    ),
    Flag::new(
        "requestheader-allowed-names",
        |c| &mut c.front_proxy.allowed_names,
        "Common names that these certificates may have (any).",
    ),
    Flag::new(
        "requestheader-username-headers",
        |c| &mut c.front_proxy.headers.username,
        "Headers in which front proxies say who a request comes from.",
    ),
    Flag::new(
        "requestheader-uid-headers",
        |c| &mut c.front_proxy.headers.uid,
        "Headers in which they say the user's uid.",
    ),
    Flag::new(
        "requestheader-group-headers",
        |c| &mut c.front_proxy.headers.group,
        "Headers in which they say the user's groups.",
    ),
    Flag::new(
        "requestheader-extra-headers-prefix",
        |c| &mut c.front_proxy.headers.extra_prefixes,
        "What begins the headers in which they say what else there is to know of the user.",
    ),
    Flag::new(
        "proxy-client-cert-file",
        |c| &mut c.front_proxy.identity.certificate,
        "Certificate in PEM that is shown to extension servers; none are asked yet.",
    ),
    Flag::new("proxy-client-key-file", |c| &mut c.front_proxy.identity.key, "Private key of that certificate."),
];
