//! What a server publishes about itself: its address is the configured one, or one at which other machines reach this
//! one.
//!
//! The default is never a loopback address, which in a pod is the pod itself. Finding the address sends no packet.

use pintle_schema::names::ip;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, RwLock};

/// How servers keep the endpoints of the `kubernetes` service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointReconciler {
    /// Each server has a lease; the endpoints are the addresses of unexpired leases.
    #[default]
    Lease,
    /// Each server adds itself; if there are more than this many addresses, it removes others.
    Count(usize),
    /// Servers do not change the endpoints.
    None,
}

/// What the server publishes about itself in the cluster.
#[derive(Default)]
pub struct AdvertisedServer {
    /// Where members of the cluster reach the server; the listener's address by default.
    pub address: Option<IpAddr>,
    /// How the addresses of servers are added to the endpoints of the `kubernetes` service.
    pub endpoint_reconciler: EndpointReconciler,
    /// Where other servers reach this one, if not at the advertised address and the port of the first listener.
    pub peer_address: (Option<IpAddr>, Option<u16>),
    /// The host name that identifies the server among those over the same store; by default that of this machine.
    pub host: Option<String>,
    /// The certificate authorities of clients and of the front proxy; they may change while the server runs.
    pub authorities: Arc<RwLock<BTreeMap<String, String>>>,
}

impl AdvertisedServer {
    /// The same with the addresses of a server that listens at `bound`.
    pub(crate) fn resolved(self, bound: SocketAddr) -> AdvertisedServer {
        let advertised = address(self.address, bound.ip());
        // Other servers may reach it where pods cannot.
        let (peer_ip, peer_port) = self.peer_address;
        // kube-apiserver has no endpoints in this case either.
        let endpoint = advertised.filter(|address| is_endpoint(*address));
        AdvertisedServer { address: endpoint, peer_address: (peer_ip.or(advertised), peer_port), ..self }
    }
}

/// Addresses reserved for documentation (RFC 5737, RFC 3849): the route to them is the default route.
const ELSEWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

/// The address to advertise, given the configured address and the listener's address; `None` on a machine without a
/// network.
pub fn address(wanted: Option<IpAddr>, bound: IpAddr) -> Option<IpAddr> {
    match wanted.filter(|address| !address.is_unspecified()) {
        Some(address) => Some(address),
        None if bound.is_loopback() || bound.is_unspecified() => host_address(bound.is_ipv4()),
        None => Some(bound),
    }
}

/// Whether an address may be an endpoint of the `kubernetes` service. Other addresses may be advertised too, for
/// clients on this machine.
pub fn is_endpoint(address: IpAddr) -> bool {
    ip::endpoint_ip(&address.to_string()).is_empty()
}

/// The advertised host with its port, or with `port` when it has none.
pub fn with_port(host: &str, port: u16) -> String {
    let is_one = |host: &str| !host.contains(':') || host.starts_with('[') && host.ends_with(']');
    match host.rsplit_once(':') {
        Some((name, _)) if is_one(name) => host.to_owned(),
        Some(_) => format!("[{host}]:{port}"),
        None => format!("{host}:{port}"),
    }
}

/// The address of the interface of the default route.
fn host_address(ipv4: bool) -> Option<IpAddr> {
    let (any, elsewhere): (IpAddr, _) =
        if ipv4 { (Ipv4Addr::UNSPECIFIED.into(), ELSEWHERE[0]) } else { (Ipv6Addr::UNSPECIFIED.into(), ELSEWHERE[1]) };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(elsewhere, 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_or_listening_address_is_advertised() {
        let (wanted, bound): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        assert_eq!(address(Some(wanted), bound), Some(wanted));
        assert_eq!(address(None, bound), Some(bound));
        assert_eq!(address(Some(Ipv4Addr::UNSPECIFIED.into()), bound), Some(bound));
    }

    #[test]
    fn a_host_has_one_port() {
        for (host, expected) in
            [("a", "a:1"), ("a:2", "a:2"), ("fd00::1", "[fd00::1]:1"), ("[fd00::1]:2", "[fd00::1]:2")]
        {
            assert_eq!(with_port(host, 1), expected);
        }
    }

    #[test]
    fn loopback_is_advertised_only_if_configured() {
        for bound in [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into()] {
            assert!(address(None, bound).is_none_or(|found| !found.is_loopback() && !found.is_unspecified()));
        }
    }
}
