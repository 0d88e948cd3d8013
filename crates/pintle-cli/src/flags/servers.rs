//! The flags of several servers over one store: how they reach each other, and which of them elects leaders of components.
//! Guarantees that times of an election fit each other. Must never read a file: files are read after all flags have been checked.

use super::FlagError;
use super::config::{Config, with_defaults};
use super::setting::InputFile;
use super::table::Flag;
use pintle_gates as gates;
use std::net::IpAddr;
use std::time::Duration;

with_defaults! {
    /// How other servers of the cluster are reached, and reach this one.
    pub struct PeerFlags {
        /// Where other servers reach this one; the advertised address by default.
        pub advertise_ip: Option<IpAddr>,
        pub advertise_port: Option<u16>,
        /// The authorities of their serving certificates. Without them no request is passed on.
        pub ca_file: Option<InputFile>,
    }
}

/// The flags.
pub static SERVER_FLAGS: &[Flag] = &[
    Flag::new(
        "peer-ca-file",
        |c: &mut Config| &mut c.peers.ca_file,
        "CA certificates of the other servers over the same store. With it, requests for resources that only another \
         server has are passed on to that server. Needs --proxy-client-cert-file.",
    ),
    Flag::new(
        "peer-advertise-ip",
        |c: &mut Config| &mut c.peers.advertise_ip,
        "IP address at which other servers reach this one. Default: the advertised address.",
    ),
    Flag::new(
        "peer-advertise-port",
        |c: &mut Config| &mut c.peers.advertise_port,
        "Port at which other servers reach this one. Default: the port of --secure-port.",
    ),
    Flag::new(
        "coordinated-leadership-lease-duration",
        |c: &mut Config| &mut c.controllers.leadership.lease_duration,
        "How long other servers wait after the last renewal before one of them elects leaders of components.",
    ),
    Flag::new(
        "coordinated-leadership-renew-deadline",
        |c: &mut Config| &mut c.controllers.leadership.renew_deadline,
        "How long the server that elects tries to renew its lease before it stops.",
    ),
    Flag::new(
        "coordinated-leadership-retry-period",
        |c: &mut Config| &mut c.controllers.leadership.retry_period,
        "Time between two attempts to take or renew that lease.",
    ),
];

/// # Errors
/// Flags do not fit each other.
pub fn check(config: &Config) -> Result<(), FlagError> {
    let refused = |sentence: &str| Err(FlagError::Combination(sentence.to_owned()));
    let times = config.controllers.leadership;
    if [times.lease_duration, times.renew_deadline, times.retry_period].contains(&Duration::ZERO) {
        return refused("--coordinated-leadership- durations must be more than 0");
    }
    if times.lease_duration <= times.renew_deadline {
        return refused(
            "--coordinated-leadership-lease-duration must be greater than --coordinated-leadership-renew-deadline",
        );
    }
    if times.renew_deadline <= times.retry_period {
        return refused(
            "--coordinated-leadership-renew-deadline must be greater than --coordinated-leadership-retry-period",
        );
    }
    let peers = &config.peers;
    let gate = &gates::UNKNOWN_VERSION_INTEROPERABILITY_PROXY;
    if !config.feature_gates.is_on(gate) {
        for (flag, is_given) in [
            ("peer-ca-file", peers.ca_file.is_some()),
            ("peer-advertise-ip", peers.advertise_ip.is_some()),
            ("peer-advertise-port", peers.advertise_port.is_some()),
        ] {
            if is_given {
                return refused(&format!("--{flag} requires {} feature to be turned on", gate.name()));
            }
        }
    }
    if peers.ca_file.is_some() && config.front_proxy.identity.certificate.is_none() {
        return refused("error building peer proxy handler, proxy-cert-file not specified");
    }
    Ok(())
}
