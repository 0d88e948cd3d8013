//! Parsers of flag values, in the formats of kube-apiserver's flags. Guarantees that each error is half a sentence that
//! can follow the flag's name. Must never touch the file system or the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Deref, RangeInclusive};
use std::path::PathBuf;
use std::time::Duration;

/// A boolean in any of the spellings that Go accepts.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

/// A number of at least `least`.
pub fn number(text: &str, least: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("must be a whole number of at least {least}"))
}

/// A port to listen on.
pub fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| "must be between 1 and 65535".to_owned())
}

/// An IP address.
pub fn ip(text: &str) -> Result<IpAddr, String> {
    text.trim().parse().map_err(|_| "must be an IP address".to_owned())
}

pub fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("must be a path".to_owned()) } else { Ok(text.into()) }
}

pub fn text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// The items of a list separated by commas; an empty text is an empty list.
pub fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The same including empty items, for lists that must have none.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|_| !text.is_empty())
}

/// Pairs of a key and a value: a single pair, or several separated by commas, of which those that contain commas are in
/// double quotes.
pub fn pairs(text: &str) -> Result<Vec<String>, String> {
    match text.matches('=').count() {
        0 => return Err(format!("{text} must be formatted as key=value")),
        1 => return Ok(vec![text.trim_matches('"').to_owned()]),
        _ => {}
    }
    let (mut items, mut item, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => item.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => items.push(std::mem::take(&mut item)),
            c => item.push(c),
        }
    }
    items.push(item);
    if is_quoted { Err("has a quote that is not closed".to_owned()) } else { Ok(items) }
}

/// A duration as Go writes it: `90s`, `1m30s`, `1h`, `250ms`, `1.5h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 7] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let invalid = || "must be a duration such as 30s, 1m30s or 1h".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(invalid)?;
        let (count, after) = rest.split_at(end);
        let count: f64 = count.parse().map_err(|_| invalid())?;
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?;
        seconds += count * unit.1;
        rest = after;
    }
    match text.is_empty() {
        true => Err(invalid()),
        false => Duration::try_from_secs_f64(seconds).map_err(|_| invalid()),
    }
}

/// Prints a duration of whole milliseconds so that it is parsed as the same value.
pub fn duration_text(duration: &Duration) -> String {
    match duration.as_millis() {
        ms if ms % 1000 != 0 => format!("{ms}ms"),
        ms if ms % 60_000 != 0 || ms == 0 => format!("{}s", ms / 1000),
        ms if ms % 3_600_000 != 0 => format!("{}m", ms / 60_000),
        ms => format!("{}h", ms / 3_600_000),
    }
}

/// The ports of services unless the flag says otherwise.
pub const NODE_PORTS: RangeInclusive<u16> = 30000..=32767;

/// A range of IP addresses in CIDR form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    network: IpAddr,
    prefix_bits: u8,
}

impl IpRange {
    /// Reads `10.0.0.0/24`; bits of the address beyond the prefix are dropped.
    pub fn parse(text: &str) -> Result<IpRange, String> {
        let invalid = || "must be IP ranges in CIDR form, such as 10.0.0.0/24".to_owned();
        let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let plain = bits == "0" || (!bits.starts_with('0') && bits.bytes().all(|b| b.is_ascii_digit()));
        let prefix_bits: u8 = bits.parse().ok().filter(|_| plain).ok_or_else(invalid)?;
        let network = match address {
            IpAddr::V4(v4) if prefix_bits <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) if prefix_bits <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
            _ => return Err(invalid()),
        };
        Ok(IpRange { network, prefix_bits })
    }

    /// The number of host bits.
    pub fn host_bits(&self) -> u8 {
        match self.network {
            IpAddr::V4(_) => 32 - self.prefix_bits,
            IpAddr::V6(_) => 128 - self.prefix_bits,
        }
    }

    pub fn is_ipv4(&self) -> bool {
        self.network.is_ipv4()
    }

    /// The first address that can be allocated, which is the `kubernetes` service's.
    pub fn first_address(&self) -> IpAddr {
        match self.network {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() | 1)),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() | 1)),
        }
    }
}

impl std::fmt::Display for IpRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix_bits)
    }
}

/// One or two ranges for services, of different families; the first is that of the primary family.
#[derive(Clone, Debug)]
pub struct ServiceRanges(Vec<IpRange>);

impl Default for ServiceRanges {
    fn default() -> Self {
        ServiceRanges(vec![IpRange { network: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), prefix_bits: 24 }])
    }
}

impl Deref for ServiceRanges {
    type Target = [IpRange];

    fn deref(&self) -> &[IpRange] {
        &self.0
    }
}

impl ServiceRanges {
    /// Reads ranges separated by commas; an empty text stands for the default.
    pub fn parse(text: &str) -> Result<ServiceRanges, String> {
        /// The least number of host bits of the first range: eight addresses.
        const MIN_HOST_BITS: u8 = 3;
        if text.is_empty() {
            return Ok(ServiceRanges::default());
        }
        let ranges = text.split(',').map(IpRange::parse).collect::<Result<Vec<_>, _>>()?;
        let families: Vec<bool> = ranges.iter().map(IpRange::is_ipv4).collect();
        if !matches!(families.as_slice(), [_] | [true, false] | [false, true]) {
            return Err("must be one range, or one for IPv4 and one for IPv6".to_owned());
        }
        match ranges.first().is_some_and(|range| range.host_bits() < MIN_HOST_BITS) {
            true => Err("the service cluster IP range must be at least 8 IP addresses".to_owned()),
            false => Ok(ServiceRanges(ranges)),
        }
    }

    /// Why a range is too large for releases that record its allocated addresses in one object.
    pub fn too_large(&self) -> Option<String> {
        /// The maximum number of host bits of such a range.
        const MAX_HOST_BITS: u8 = 20;
        let at = self.iter().position(|range| range.host_bits() > MAX_HOST_BITS)?;
        let range = self.get(at)?;
        let (flag, bits) = (["", "[1]"][usize::from(at > 0)], range.prefix_bits + range.host_bits());
        let least = bits - MAX_HOST_BITS;
        Some(format!(
            "specified --service-cluster-ip-range{flag} is too large; for {bits}-bit addresses, the mask must be >= {least}"
        ))
    }
}

impl std::fmt::Display for ServiceRanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.iter().map(IpRange::to_string).collect::<Vec<_>>().join(","))
    }
}

/// A range of ports, first and last: `30000-32767`, or `30000+100` for the size. An empty text stands for the default.
pub fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let invalid = || "must be a range of ports, such as 30000-32767".to_owned();
    if text.is_empty() {
        return Ok(NODE_PORTS);
    }
    let port = |text: &str| text.trim().parse::<u16>().map_err(|_| invalid());
    let (first, last) = match (text.split_once('-'), text.split_once('+')) {
        (Some((first, last)), _) => (port(first)?, port(last)?),
        (None, Some((first, size))) => {
            let first = port(first)?;
            (first, first.checked_add(port(size)?).ok_or_else(invalid)?)
        }
        (None, None) => (port(text)?, port(text)?),
    };
    match first <= last {
        true => Ok(first..=last),
        false => Err("must not end before it begins".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_with_commas_are_quoted() {
        for (text, expected) in [
            ("m,l=a,b", Ok(&["m,l=a,b"][..])),
            ("\"m,l=a\"", Ok(&["m,l=a"])),
            ("\"m,l=a,b\",\"n,l=\"", Ok(&["m,l=a,b", "n,l="])),
            ("\"m,l=\"\"=\"", Ok(&["m,l=\"="])),
            ("m", Err("m must be formatted as key=value")),
            ("\"m,l=a=b", Err("has a quote that is not closed")),
        ] {
            let expected = expected.map(|items| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>());
            assert_eq!(pairs(text), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn durations() {
        let rows = [
            ("0", Some(0)),
            ("60s", Some(60_000)),
            ("1m0s", Some(60_000)),
            ("1h30m", Some(5_400_000)),
            ("1.5s", Some(1_500)),
            ("250ms", Some(250)),
            ("", None),
            ("60", None),
            ("-1s", None),
            ("1x", None),
            ("s", None),
            ("1e9h", None),
            ("99999999999999999999h", None),
        ];
        for (text, expected_ms) in rows {
            let parsed = duration(text).ok().map(|d| d.as_millis());
            assert_eq!(parsed, expected_ms, "{text:?}");
        }
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        for text in ["0s", "1s", "90s", "5m", "1h", "36h", "250ms", "1500ms"] {
            assert_eq!(duration(text).as_ref().map(duration_text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn ranges_of_addresses() {
        // (text, as printed, first address)
        let rows = [
            ("10.0.0.0/24", Some(("10.0.0.0/24", "10.0.0.1"))),
            ("10.1.2.3/16", Some(("10.1.0.0/16", "10.1.0.1"))),
            ("fd00:1::7/112", Some(("fd00:1::/112", "fd00:1::1"))),
            ("0.0.0.0/0", Some(("0.0.0.0/0", "0.0.0.1"))),
            ("::/0", Some(("::/0", "::1"))),
            ("10.0.0.0/33", None),
            ("10.0.0.0", None),
            ("10.0.0/24", None),
            ("10.0.0.0/024", None),
            ("10.0.0.0/+4", None),
            ("a/24", None),
        ];
        for (text, expected) in rows {
            let range = IpRange::parse(text).ok();
            let found = range.map(|r| (r.to_string(), r.first_address().to_string()));
            let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn ranges_of_services() {
        let rows = [
            ("10.0.0.0/8", true),
            ("fd00::/64", true),
            ("10.0.0.0/29", true),
            ("10.0.0.0/30", false),
            ("fd00::/125", true),
            ("fd00::/126", false),
            ("10.0.0.0/24,fd00::/112", true),
            ("fd00::/112,10.0.0.0/24", true),
            ("fd00::/112, 10.0.0.0/24", false),
            ("10.0.0.0/24,", false),
            ("10.0.0.0/24,10.1.0.0/24", false),
            ("10.0.0.0/24,fd00::/112,10.1.0.0/24", false),
            ("", true),
        ];
        for (text, good) in rows {
            assert_eq!(ServiceRanges::parse(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn ranges_that_are_too_large_for_one_object() {
        let rows = [
            ("10.0.0.0/12,fd00::/108", None),
            (
                "10.0.0.0/11",
                Some("specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= 12"),
            ),
            (
                "10.0.0.0/24,fd00::/107",
                Some(
                    "specified --service-cluster-ip-range[1] is too large; for 128-bit addresses, the mask must be >= 108",
                ),
            ),
        ];
        for (text, expected) in rows {
            let ranges = ServiceRanges::parse(text).expect(text);
            assert_eq!(ranges.too_large().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ranges_of_ports() {
        let rows = [
            ("30000-32767", Some((30000, 32767))),
            ("30000+10", Some((30000, 30010))),
            ("80", Some((80, 80))),
            ("2-1", None),
            ("1-70000", None),
            ("65535+1", None),
            ("0-0", Some((0, 0))),
            ("", Some((30000, 32767))),
            ("-", None),
        ];
        for (text, expected) in rows {
            let ports = ports(text).ok();
            assert_eq!(ports.map(RangeInclusive::into_inner), expected, "{text}");
        }
    }
}
