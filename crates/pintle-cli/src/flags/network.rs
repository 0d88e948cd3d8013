//! The flags of addresses: where the server listens, where it is reached, and the addresses of services. Guarantees
//! that an address that others cannot connect to is rejected. Must never bind a port.

use super::config::with_defaults;
use super::setting::InputFile;
use super::table::{Flag, must, no_effect};
use super::values::{self, ServiceRanges};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

/// How servers keep the addresses of the `kubernetes` service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReconcilerType {
    #[default]
    Lease,
    MasterCount,
    None,
}

with_defaults! {
    /// Where the server listens and is reached.
    pub struct NetworkFlags {
        /// The address to listen on.
        pub bind_address: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST),
        pub secure_port: u16 = 6443,
        /// The address that is published to members of the cluster.
        pub advertise_address: Option<IpAddr>,
        pub permit_port_sharing: bool,
        pub egress_selector_file: Option<InputFile>,
        /// How the addresses of the `kubernetes` service are kept.
        pub endpoint_reconciler: ReconcilerType,
        /// The number of servers, for the reconciler `master-count`.
        pub apiserver_count: usize = 1,
        pub service_ranges: ServiceRanges,
        pub service_node_ports: RangeInclusive<u16> = values::NODE_PORTS,
    }
}

/// The addresses of the server.
pub static ADDRESS_FLAGS: &[Flag] = &[
    Flag::new("bind-address", |c| &mut c.network.bind_address, "Address to listen on; `serve` defaults to 0.0.0.0."),
    Flag::new("secure-port", |c| &mut c.network.secure_port, "Port to listen on."),
    Flag::new(
        "advertise-address",
        |c| &mut c.network.advertise_address,
        "Address at which members of the cluster reach this server. Default: the bind address.",
    )
    .checked(|c| {
        must(
            c.network.advertise_address.is_none_or(|ip| !ip.is_multicast()),
            "must be an address that others can connect to",
        )
    }),
];

/// The addresses and ports of services, and what their pods may.
pub static SERVICE_FLAGS: &[Flag] = &[
    Flag::new(
        "service-cluster-ip-range",
        |c| &mut c.network.service_ranges,
        "CIDR range of cluster IPs of services; one range, or one for each IP family.",
    ),
    Flag::new(
        "service-node-port-range",
        |c| &mut c.network.service_node_ports,
        "Port range of services of type NodePort.",
    ),
    Flag::only("allow-privileged", "true", "Whether pods may have privileged containers."),
];

/// How connections are accepted and made.
pub static CONNECTION_FLAGS: &[Flag] = &[
    Flag::new(
        "permit-port-sharing",
        |c| &mut c.network.permit_port_sharing,
        "Whether several servers may listen on the same port; the system spreads connections over them.",
    ),
    Flag::new(
        "egress-selector-config-file",
        |c| &mut c.network.egress_selector_file,
        "File with an EgressSelectorConfiguration. The server connects to nodes, webhooks, extension servers and etcd \
         directly: a file that names a proxy is rejected.",
    ),
    Flag::read(
        "send-retry-after-while-not-ready-once",
        "",
        "Whether requests are answered with 429 until the server is ready. It has no effect: they wait for it.",
        |c, value| {
            let is_on = values::boolean(value)?;
            let why = "early requests wait until the server is ready";
            if is_on { no_effect(c, Ok(()), "--send-retry-after-while-not-ready-once", why) } else { Ok(()) }
        },
    ),
];

/// The addresses of the `kubernetes` service.
pub static ENDPOINT_FLAGS: &[Flag] = &[
    Flag::read(
        "endpoint-reconciler-type",
        "TYPE",
        "How the addresses of the kubernetes service are maintained: lease, master-count (deprecated) or \
         none. Default: lease.",
        |c, value| {
            c.network.endpoint_reconciler = match value {
                "lease" => ReconcilerType::Lease,
                "master-count" => ReconcilerType::MasterCount,
                "none" => ReconcilerType::None,
                _ => return Err("must be lease, master-count or none".to_owned()),
            };
            Ok(())
        },
    ),
    Flag::new(
        "apiserver-count",
        |c| &mut c.network.apiserver_count,
        "Number of servers, for the endpoint reconciler master-count (deprecated).",
    )
    .checked(|c| must(c.network.apiserver_count > 0, "must be more than 0")),
    Flag::only("kubernetes-service-node-port", "0", "Node port of the kubernetes service; 0 is none."),
    Flag::only("max-connection-bytes-per-sec", "0", "Maximum throughput of a user's connection; 0 is no limit."),
];
