//! The flags of connections to kubelets. Must never read a file: files are read after all flags have been checked.

use super::config::{KeyPair, with_defaults};
use super::setting::InputFile;
use super::table::{Flag, must, must_last};
use std::time::Duration;

with_defaults! {
    /// How kubelets are reached.
    pub struct Kubelet {
        pub certificate_authority: Option<InputFile>,
        pub identity: KeyPair,
        /// Empty for the default ones.
        pub address_types: Vec<String>,
        pub timeout: Duration = pintle::KUBELET_TIMEOUT,
    }
}

/// The flags, in the order of the help.
pub static KUBELET_FLAGS: &[Flag] = &[
    Flag::new(
        "kubelet-certificate-authority",
        |c| &mut c.kubelet.certificate_authority,
        "PEM file with the CA certificates of kubelets; without it, kubelets' certificates are not verified.",
    ),
    Flag::new(
        "kubelet-client-certificate",
        |c| &mut c.kubelet.identity.certificate,
        "PEM file with the client certificate for kubelets.",
    ),
    Flag::new(
        "kubelet-client-key",
        |c| &mut c.kubelet.identity.key,
        "PEM file with the private key of the client certificate for kubelets.",
    ),
    Flag::new(
        "kubelet-preferred-address-types",
        |c| &mut c.kubelet.address_types,
        "Types of node addresses to connect to kubelets by, in order of preference. Default: \
         Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP.",
    )
    .checked(|c| must(!c.kubelet.address_types.is_empty(), "must name a type of address")),
    Flag::new("kubelet-timeout", |c| &mut c.kubelet.timeout, "Timeout of connecting to a kubelet.")
        .checked(|c| must_last(c.kubelet.timeout)),
];
