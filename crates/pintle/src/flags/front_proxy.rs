//! The flags about servers before and behind this one, and about nodes that are new: who is believed to say who somebody is.
//! Guarantees that headers are believed only where the authority of those who send them is known.
//! Must never hold defaults: those are filled in once all flags are read.

use super::table::{Flag, path};
use super::{Draft, FlagError, values};
use pintle_auth::authentication::FrontProxyHeaders;
use std::path::PathBuf;

/// The flags that begin with `--requestheader-` and `--proxy-client-`.
#[derive(Clone, Debug, Default)]
pub struct FrontProxyFlags {
    pub client_ca_file: Option<PathBuf>,
    pub allowed_names: Vec<String>,
    pub headers: FrontProxyHeaders,
    /// What this server would show to those behind it.
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
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
        if self.client_certificate.is_some() != self.client_key.is_some() {
            let sentence = "--proxy-client-cert-file and --proxy-client-key-file must be given together";
            return Err(FlagError::Combination(sentence.to_owned()));
        }
        if self.client_certificate.is_some() {
            warnings.push("--proxy-client-cert-file has no effect: no extension servers are asked".to_owned());
        }
        Ok(())
    }
}

fn names(slot: &mut Vec<String>, value: &str) -> Result<(), String> {
    slot.extend(values::items(value).map(str::to_owned));
    // An empty prefix would begin every header.
    match slot.iter().any(|name| name.trim().is_empty()) {
        true => Err("must not contain empty names".to_owned()),
        false => Ok(()),
    }
}

pub static FRONT_PROXY_FLAGS: &[Flag] = &[
    Flag {
        name: "enable-bootstrap-token-auth",
        value: "",
        help: "Whether secrets of type bootstrap.kubernetes.io/token in kube-system let new nodes in (false).",
        apply: |draft, value| values::boolean(value).map(|on| draft.bootstrap_tokens = on),
    },
    Flag {
        name: "requestheader-client-ca-file",
        value: "FILE",
        help: "Authorities of the certificates by which front proxies are known.",
        apply: |draft: &mut Draft, value| path(&mut draft.front_proxy.client_ca_file, value),
    },
    Flag {
        name: "requestheader-allowed-names",
        value: "NAME,...",
        help: "Common names that these certificates may have (any).",
        apply: |draft, value| names(&mut draft.front_proxy.allowed_names, value),
    },
    Flag {
        name: "requestheader-username-headers",
        value: "NAME,...",
        help: "Headers in which front proxies say who a request comes from.",
        apply: |draft, value| names(&mut draft.front_proxy.headers.username, value),
    },
    Flag {
        name: "requestheader-uid-headers",
        value: "NAME,...",
        help: "Headers in which they say the user's uid.",
        apply: |draft, value| names(&mut draft.front_proxy.headers.uid, value),
    },
    Flag {
        name: "requestheader-group-headers",
        value: "NAME,...",
        help: "Headers in which they say the user's groups.",
        apply: |draft, value| names(&mut draft.front_proxy.headers.group, value),
    },
    Flag {
        name: "requestheader-extra-headers-prefix",
        value: "PREFIX,...",
        help: "What begins the headers in which they say what else there is to know of the user.",
        apply: |draft, value| names(&mut draft.front_proxy.headers.extra_prefixes, value),
    },
    Flag {
        name: "proxy-client-cert-file",
        value: "FILE",
        help: "Certificate in PEM that is shown to extension servers; none are asked yet.",
        apply: |draft, value| path(&mut draft.front_proxy.client_certificate, value),
    },
    Flag {
        name: "proxy-client-key-file",
        value: "FILE",
        help: "Private key of that certificate.",
        apply: |draft, value| path(&mut draft.front_proxy.client_key, value),
    },
];
