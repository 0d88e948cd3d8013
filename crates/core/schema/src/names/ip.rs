//! Checks of IP addresses and CIDR blocks, in the legacy and the strict form.
//! Guarantees kube-apiserver's messages and canonical texts.
//! Must never resolve names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Messages;

/// An address and a prefix length, as written: host bits may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address.
    pub address: IpAddr,
    /// The prefix length in the family of `address`.
    pub prefix: u8,
}

impl Cidr {
    /// The address without the bits past the prefix.
    pub fn network(&self) -> IpAddr {
        let prefix = u32::from(self.prefix);
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        }
    }

    /// Whether an address is in the block. IPv4-mapped ones count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let network = self.network();
        let unmapped = Cidr { address: network.to_canonical(), prefix: self.prefix_at(network) };
        let address = address.to_canonical();
        address.is_ipv4() == unmapped.address.is_ipv4()
            && Cidr { address, prefix: unmapped.prefix }.network() == unmapped.address
    }

    /// The prefix length in the family of the address; that of a mapped one loses the bits of the mapping.
    fn prefix_at(&self, address: IpAddr) -> u8 {
        match (address, address.to_canonical()) {
            (IpAddr::V6(_), IpAddr::V4(_)) => self.prefix.saturating_sub(96),
            _ => self.prefix,
        }
    }

    fn canonical(&self, address: IpAddr) -> String {
        format!("{}/{}", address.to_canonical(), self.prefix_at(address))
    }
}

/// Parses an address in the legacy form: leading zeros are ignored. A mapped address remains IPv6 here.
pub fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    if !text.contains(':') {
        return parse_v4_sloppy(text).map(IpAddr::V4);
    }
    let Some((head, tail)) = text.rsplit_once(':').filter(|(_, tail)| tail.contains('.')) else {
        return text.parse().ok().map(IpAddr::V6);
    };
    let tail = parse_v4_sloppy(tail)?;
    format!("{head}:{tail}").parse().ok().map(IpAddr::V6)
}

fn parse_v4_sloppy(text: &str) -> Option<Ipv4Addr> {
    let mut octets = text.split('.').map(parse_number);
    let mut next = || u8::try_from(octets.next()??).ok();
    let address = Ipv4Addr::new(next()?, next()?, next()?, next()?);
    octets.next().is_none().then_some(address)
}

fn parse_number(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = text.trim_start_matches('0');
    if significant.is_empty() { Some(0) } else { significant.parse().ok() }
}

/// Parses a CIDR block in the legacy form: leading zeros are ignored and host bits may be set.
pub fn parse_cidr_sloppy(text: &str) -> Option<Cidr> {
    let (address, prefix) = text.split_once('/')?;
    let address = parse_ip_sloppy(address)?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = parse_number(prefix).filter(|prefix| *prefix <= most)?;
    Some(Cidr { address, prefix: u8::try_from(prefix).ok()? })
}

fn is_mapped(address: IpAddr) -> bool {
    address.is_ipv6() && address.to_canonical().is_ipv4()
}

/// An address in a legacy field; `strict` with the gate for strict ones.
pub fn ip_legacy(text: &str, strict: bool) -> Messages {
    let Some(address) = parse_ip_sloppy(text) else {
        return vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_string()];
    };
    if strict && text.parse::<IpAddr>().is_err() {
        return vec!["must not have leading 0s".to_string()];
    }
    if strict && is_mapped(address) {
        return vec!["must not be an IPv4-mapped IPv6 address".to_string()];
    }
    Messages::new()
}

/// An address in canonical form.
pub fn ip(text: &str) -> Messages {
    let messages = ip_legacy(text, true);
    match parse_ip_sloppy(text) {
        Some(address) if messages.is_empty() => not_canonical(text, &address.to_canonical().to_string()),
        _ => messages,
    }
}

/// A CIDR block in a legacy field; `strict` with the gate for strict ones.
pub fn cidr_legacy(text: &str, strict: bool) -> Messages {
    let Some(cidr) = parse_cidr_sloppy(text) else {
        return vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_string()];
    };
    if !strict {
        return Messages::new();
    }
    let has_zeros = text.split_once('/').is_none_or(|(address, prefix)| {
        address.parse::<IpAddr>().is_err() || (prefix.len() > 1 && prefix.starts_with('0'))
    });
    let message = if has_zeros {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(cidr.address) {
        "must not have an IPv4-mapped IPv6 address"
    } else if cidr.network() != cidr.address {
        "must not have bits set beyond the prefix length"
    } else {
        return Messages::new();
    };
    vec![message.to_string()]
}

/// A CIDR block in canonical form.
pub fn cidr(text: &str) -> Messages {
    let messages = cidr_legacy(text, true);
    match parse_cidr_sloppy(text) {
        Some(cidr) if messages.is_empty() => not_canonical(text, &cidr.canonical(cidr.network())),
        _ => messages,
    }
}

/// An address with a prefix length, in canonical form.
pub fn interface_address(text: &str) -> Messages {
    match parse_cidr_sloppy(text) {
        Some(cidr) => not_canonical(text, &cidr.canonical(cidr.address)),
        None => vec!["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)".to_string()],
    }
}

fn not_canonical(text: &str, canonical: &str) -> Messages {
    super::matching(text == canonical, &format!("must be in canonical form (\"{canonical}\")"))
}

/// An address that other nodes can send packets to.
pub fn endpoint_ip(text: &str) -> Messages {
    let Some(address) = parse_ip_sloppy(text) else { return Messages::new() };
    let (link_local, link_local_multicast) = match address.to_canonical() {
        IpAddr::V4(address) => (address.is_link_local(), matches!(address.octets(), [224, 0, 0, _])),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    let address = address.to_canonical();
    let rules = [
        (address.is_unspecified(), format!("may not be unspecified ({text})")),
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_string()),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_string()),
        (link_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_string()),
    ];
    rules.into_iter().filter(|(applies, _)| *applies).map(|(_, message)| message).collect()
}
