//! `AddressRange`: the addresses that can be allocated, and the order in which they are tried.
//!
//! Dynamic allocation uses the upper part first, so that the lower one stays free for static allocation. The network
//! address and an IPv4 broadcast address are never allocated.

use pintle_schema::names::ip::{Cidr, parse_cidr_sloppy};
use pintle_types::core::v1::IPFamily;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// The bounds of the lower part, which is a sixteenth of the range. A range no larger than the first bound has none.
const LOWER_PART: Range<u128> = 16..256;
const LOWER_PART_SHARE: u128 = 16;

/// Addresses of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRange {
    text: String,
    cidr: Cidr,
    first: u128,
    /// The end, exclusive.
    end: u128,
    /// The first address of the upper part.
    upper: u128,
}

impl AddressRange {
    /// Reads a range such as `10.0.0.0/24`.
    pub fn parse(text: &str) -> Option<Self> {
        let cidr = parse_cidr_sloppy(text)?;
        let network = cidr.network();
        let (base, bits) = match network {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32_u32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let host_bits = bits.saturating_sub(cidr.prefix.into());
        let last = base | 1_u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
        let first = base.saturating_add(1);
        // IPv6 has no broadcast address. The last address of the whole address space is left out, because the end would
        // overflow.
        let end = if network.is_ipv4() { last } else { last.saturating_add(1) }.max(first);
        let size = end - first;
        let lower = match size {
            size if size <= LOWER_PART.start => 0,
            size => (size / LOWER_PART_SHARE).clamp(LOWER_PART.start, LOWER_PART.end),
        };
        let text = format!("{network}/{}", cidr.prefix);
        Some(AddressRange { text, cidr, first, end, upper: first.saturating_add(lower) })
    }

    /// In canonical notation.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn family(&self) -> IPFamily {
        family(self.cidr.address)
    }

    /// The network address: never allocated, but returned by dry runs.
    pub fn network(&self) -> IpAddr {
        self.cidr.network()
    }

    /// Whether the network contains the address, even if it cannot be allocated.
    pub fn covers(&self, address: IpAddr) -> bool {
        self.cidr.contains(address)
    }

    /// Whether the address can be allocated.
    pub fn contains(&self, address: IpAddr) -> bool {
        let number = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        self.cidr.contains(address) && (self.first..self.end).contains(&number)
    }

    /// The number of addresses that can be allocated.
    pub fn size(&self) -> u64 {
        u64::try_from(self.end - self.first).unwrap_or(u64::MAX)
    }

    /// Every address once: the upper part from a random position, then the lower one likewise.
    pub fn candidates(&self, random: u64) -> impl Iterator<Item = IpAddr> {
        let parts = [self.upper..self.end, self.first..self.upper];
        parts.into_iter().flat_map(move |part| from_somewhere(part, random)).map(|number| self.address(number))
    }

    fn address(&self, number: u128) -> IpAddr {
        match self.cidr.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX))),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        }
    }
}

/// The family of an address; an IPv4-mapped IPv6 address is IPv4.
pub fn family(address: IpAddr) -> IPFamily {
    if address.to_canonical().is_ipv4() { IPFamily::IPV4 } else { IPFamily::IPV6 }
}

/// All numbers of a range, from a random one, wrapping around.
fn from_somewhere(range: Range<u128>, random: u64) -> impl Iterator<Item = u128> {
    let size = range.end.saturating_sub(range.start);
    let offset = u128::from(random).checked_rem(size).unwrap_or(0);
    let start = range.start + offset;
    (start..range.end).chain(range.start..start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_out_what_no_service_can_have() {
        // text, canonical text, first, last, first of the upper part, number of addresses
        let rows = [
            ("10.0.0.0/24", "10.0.0.0/24", "10.0.0.1", "10.0.0.254", "10.0.0.17", 254),
            ("10.0.3.9/22", "10.0.0.0/22", "10.0.0.1", "10.0.3.254", "10.0.0.64", 1022),
            ("10.0.0.0/16", "10.0.0.0/16", "10.0.0.1", "10.0.255.254", "10.0.1.1", 65534),
            ("10.0.0.0/28", "10.0.0.0/28", "10.0.0.1", "10.0.0.14", "10.0.0.1", 14),
            ("10.0.0.4/30", "10.0.0.4/30", "10.0.0.5", "10.0.0.6", "10.0.0.5", 2),
            ("255.255.255.0/24", "255.255.255.0/24", "255.255.255.1", "255.255.255.254", "255.255.255.17", 254),
            ("fd00::/124", "fd00::/124", "fd00::1", "fd00::f", "fd00::1", 15),
            ("fd00::/120", "fd00::/120", "fd00::1", "fd00::ff", "fd00::11", 255),
        ];
        for (text, canonical, first, last, upper, count) in rows {
            let range = AddressRange::parse(text).unwrap();
            assert_eq!(range.text(), canonical);
            let all: Vec<IpAddr> = range.candidates(0).collect();
            assert_eq!(all.first(), Some(&upper.parse().unwrap()), "{text}");
            assert_eq!(all.iter().min(), Some(&first.parse().unwrap()), "{text}");
            assert_eq!(all.iter().max(), Some(&last.parse().unwrap()), "{text}");
            assert_eq!(all.len(), count, "{text}");
            assert!(all.iter().all(|address| range.contains(*address)), "{text}");
            assert!(!range.contains(range.network()), "{text}");
        }
    }

    #[test]
    fn whatever_is_drawn_every_address_comes_once() {
        let range = AddressRange::parse("10.0.0.0/24").unwrap();
        for random in [0, 1, 237, 238, 239, u64::MAX] {
            let mut all: Vec<IpAddr> = range.candidates(random).collect();
            assert!(all.iter().take(238).all(|address| *address > "10.0.0.16".parse::<IpAddr>().unwrap()));
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 254, "{random}");
        }
        let large = AddressRange::parse("fd00::/64").unwrap();
        assert_eq!(large.candidates(u64::MAX).take(1000).filter(|address| large.contains(*address)).count(), 1000);
    }

    #[test]
    fn ranges_without_addresses_give_none() {
        for text in ["10.0.0.0/32", "10.0.0.0/31", "255.255.255.255/32"] {
            let range = AddressRange::parse(text).unwrap();
            assert_eq!(range.candidates(7).count(), 0, "{text}");
        }
        assert_eq!(
            AddressRange::parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128").unwrap().candidates(7).count(),
            0
        );
        for text in ["", "10.0.0.0", "10.0.0.0/33", "nope/8"] {
            assert_eq!(AddressRange::parse(text), None, "{text}");
        }
    }
}
