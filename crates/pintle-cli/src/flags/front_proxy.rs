//! The flags about front proxies, aggregated API servers and bootstrap tokens.
//! Guarantees that identity headers are trusted only with a client CA for front proxies.
//! Must never read a file: files are read after all flags have been checked.

use super::FlagError;
use super::config::{KeyPair, with_defaults};
use super::setting::InputFile;
use super::table::Flag;
use pintle_auth::authentication::FrontProxyHeaders;

with_defaults! {
    /// The flags that begin with `--requestheader-` and `--proxy-client-`.
    pub struct FrontProxyFlags {
        pub client_ca_file: Option<InputFile>,
        pub allowed_names: Vec<String>,
        pub headers: FrontProxyHeaders,
        /// The client certificate for aggregated API servers.
        pub identity: KeyPair,
        /// Whether aggregated API servers are called at the addresses of their pods.
        pub routes_to_pods: bool,
        /// Whether a redirection by one is answered with an error.
        pub rejects_redirects: bool = true,
        /// Whether bootstrap tokens authenticate nodes.
        pub bootstrap_tokens: bool,
    }
}

impl FrontProxyFlags {
    /// Adds a warning for each flag without effect.
    ///
    /// # Errors
    /// The flags contradict each other.
    pub fn check(&self, warnings: &mut Vec<String>) -> Result<(), FlagError> {
        let is_set = !self.allowed_names.is_empty() || self.headers != FrontProxyHeaders::default();
        if self.client_ca_file.is_none() && is_set {
            warnings.push("--requestheader- flags have no effect without --requestheader-client-ca-file".to_owned());
        }
        if self.client_ca_file.is_some() && self.headers.username.is_empty() {
            let sentence = "--requestheader-username-headers must be given with --requestheader-client-ca-file";
            return Err(FlagError::Combination(sentence.to_owned()));
        }
        Ok(())
    }
}

pub static FRONT_PROXY_FLAGS: &[Flag] = &[
    Flag::new(
        "enable-bootstrap-token-auth",
        |c| &mut c.front_proxy.bootstrap_tokens,
        "Whether secrets of type bootstrap.kubernetes.io/token in kube-system authenticate new nodes.",
    ),
    Flag::new(
        "requestheader-client-ca-file",
        |c| &mut c.front_proxy.client_ca_file,
        "PEM file with the CA certificates that issue client certificates of front proxies.",
    ),
    Flag::new(
        "requestheader-allowed-names",
        |c| &mut c.front_proxy.allowed_names,
        "Common names that client certificates of front proxies may have. Default: any.",
    ),
    Flag::new(
        "requestheader-username-headers",
        |c| &mut c.front_proxy.headers.username,
        "Request headers with the user name, set by a front proxy.",
    ),
    Flag::new(
        "requestheader-uid-headers",
        |c| &mut c.front_proxy.headers.uid,
        "Request headers with the user's UID, set by a front proxy.",
    ),
    Flag::new(
        "requestheader-group-headers",
        |c| &mut c.front_proxy.headers.group,
        "Request headers with the user's groups, set by a front proxy.",
    ),
    Flag::new(
        "requestheader-extra-headers-prefix",
        |c| &mut c.front_proxy.headers.extra_prefixes,
        "Prefixes of request headers with extra information about the user, set by a front proxy.",
    ),
    Flag::new(
        "aggregator-reject-forwarding-redirect",
        |c| &mut c.front_proxy.rejects_redirects,
        "Whether a redirection by an aggregated API server is answered with an error.",
    ),
    Flag::new(
        "proxy-client-cert-file",
        |c| &mut c.front_proxy.identity.certificate,
        "PEM file with the client certificate for aggregated API servers.",
    ),
    Flag::new(
        "proxy-client-key-file",
        |c| &mut c.front_proxy.identity.key,
        "PEM file with the private key of the client certificate for aggregated API servers.",
    ),
];

/// How aggregated API servers are reached.
pub static ROUTING_FLAGS: &[Flag] = &[Flag::new(
    "enable-aggregator-routing",
    |c| &mut c.front_proxy.routes_to_pods,
    "Whether aggregated API servers are called at the addresses of their pods.",
)];
