//! A range of service addresses, read from its CIDR notation.
//!
//! The text is kept as given. A range that has no room for the `kubernetes` service is not one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of service addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRange {
    cidr: String,
    first: IpAddr,
}

/// A text that is no range of service addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a range of service addresses")]
pub struct RangeError(String);

impl ServiceRange {
    /// Parses a range such as `10.0.0.0/24`; bits after the prefix are ignored.
    ///
    /// # Errors
    /// The text is not in CIDR notation, or the range has no address between its first and last ones.
    pub fn parse(cidr: &str) -> Result<ServiceRange, RangeError> {
        let refused = || RangeError(cidr.to_owned());
        let (address, prefix) = cidr.split_once('/').ok_or_else(refused)?;
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        let prefix: u32 = prefix.parse().map_err(|_| refused())?;
        let first = match address {
            // At least two host bits: network, broadcast and an address between them.
            IpAddr::V4(address) if prefix <= 30 => {
                let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from((u32::from(address) & mask) | 1))
            }
            IpAddr::V6(address) if prefix <= 126 => {
                let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from((u128::from(address) & mask) | 1))
            }
            _ => return Err(refused()),
        };
        Ok(ServiceRange { cidr: cidr.to_owned(), first })
    }

    /// The range as it was given.
    pub fn cidr(&self) -> &str {
        &self.cidr
    }

    /// The first address that a service can have.
    pub fn first(&self) -> IpAddr {
        self.first
    }
}
