//! Addresses and networks: parsing with kube-apiserver's error texts, and what they are asked.
//!
//! Zones and IPv4 addresses within IPv6 are refused. A text costs no more than its length.

use pintle_schema::names::quoted;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Parses an address as expressions accept it.
pub fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let (address, zone) = parse_address(text)
        .map_err(|why| format!("IP Address {} parse error during conversion from string: {why}", quoted(text)))?;
    if zone {
        return Err(format!("IP address {} with zone value is not allowed", quoted(text)));
    }
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
    }
    Ok(address)
}

/// A network: an address and how many of its bits are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub address: IpAddr,
    pub bits: u8,
}

impl Cidr {
    /// Parses a network as expressions accept it.
    pub fn parse(text: &str) -> Result<Cidr, String> {
        let cidr = parse_prefix(text).map_err(|why| {
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({}): {why}",
                quoted(text)
            )
        })?;
        if is_mapped(cidr.address) {
            return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
        }
        Ok(cidr)
    }

    /// The network with all bits of its address that are not fixed set to zero.
    pub fn masked(&self) -> Cidr {
        Cidr { address: mask(self.address, self.bits), bits: self.bits }
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && mask(self.address, self.bits) == mask(address, self.bits)
    }

    /// Whether all of another network lies in it.
    pub fn contains_network(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }

    /// The bytes that the fixed bits take.
    pub fn size(&self) -> u64 {
        u64::from(self.bits).div_ceil(8)
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// The bytes of an address.
pub fn size(address: IpAddr) -> u64 {
    if address.is_ipv4() { 4 } else { 16 }
}

/// 4 or 6.
pub fn family(address: IpAddr) -> i64 {
    if address.is_ipv4() { 4 } else { 6 }
}

/// Whether it is a multicast address that no router forwards.
pub fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

/// Whether it is a unicast address that no router forwards.
pub fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [169, 254, ..]),
        IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

/// Whether it may belong to one host; private addresses count.
pub fn is_global_unicast(address: IpAddr) -> bool {
    address != IpAddr::V4(Ipv4Addr::BROADCAST)
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn mask(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(bits))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(u32::from(bits))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}

fn parse_prefix(text: &str) -> Result<Cidr, String> {
    let (address, bits) = text.rsplit_once('/').ok_or("no '/'")?;
    let (address, zone) = parse_address(address)?;
    if zone {
        return Err("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let is_plain = bits.bytes().all(|byte| byte.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    // Numbers that no integer holds are as bad as letters.
    let number = bits.parse::<i64>().ok().filter(|_| is_plain);
    let number = number.ok_or_else(|| format!("bad bits after slash: {}", quoted(bits)))?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    match u8::try_from(number) {
        Ok(bits) if bits <= most => Ok(Cidr { address, bits }),
        _ => Err("prefix length out of range".to_owned()),
    }
}

/// An address, and whether a zone follows it; or why the text is none.
pub(crate) fn parse_address(text: &str) -> Result<(IpAddr, bool), String> {
    let fault = |message: &str, at: &str| {
        let at = if at.is_empty() { String::new() } else { format!(" (at {})", quoted(at)) };
        format!("ParseAddr({}): {message}{at}", quoted(text))
    };
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => parse_v4(text).map(|octets| (IpAddr::from(octets), false)),
        Some(b':') => parse_v6(text),
        Some(_) => Err(("missing IPv6 address", "")),
        None => Err(("unable to parse IP", "")),
    }
    .map_err(|(message, at)| fault(message, at))
}

/// What is wrong, and from where on.
type Fault<'a> = (&'static str, &'a str);

fn rest(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or("")
}

fn parse_v4(text: &str) -> Result<[u8; 4], Fault<'_>> {
    let mut fields = [0_u8; 4];
    let (mut value, mut place, mut digits) = (0_u16, 0, 0);
    let mut previous = b'.';
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if previous == b'.' || at + 1 == text.len() {
                    return Err(("IPv4 field must have at least one digit", rest(text, at)));
                }
                if place == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                if let Some(field) = fields.get_mut(place) {
                    *field = value as u8;
                }
                place += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest(text, at))),
        }
        previous = byte;
    }
    if place < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(fields)
}

fn parse_v6(text: &str) -> Result<(IpAddr, bool), Fault<'_>> {
    let (mut left, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let mut bytes: Vec<u8> = Vec::with_capacity(16);
    let mut ellipsis = None;
    if let Some(after) = left.strip_prefix("::") {
        ellipsis = Some(0);
        left = after;
        if left.is_empty() {
            return Ok((IpAddr::V6(Ipv6Addr::UNSPECIFIED), zone));
        }
    }
    while bytes.len() < 16 {
        let digits = left.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or fewer digits", left));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", left));
        }
        let (group, after) = left.split_at_checked(digits).unwrap_or((left, ""));
        if after.starts_with('.') {
            if ellipsis.is_none() && bytes.len() != 12 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", left));
            }
            if bytes.len() + 4 > 16 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", left));
            }
            bytes.extend(parse_v4(left)?);
            left = "";
            break;
        }
        bytes.extend(u16::from_str_radix(group, 16).unwrap_or(0).to_be_bytes());
        left = after;
        if left.is_empty() {
            break;
        }
        let Some(after) = left.strip_prefix(':') else {
            return Err(("unexpected character, want colon", left));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", left));
        }
        left = after;
        if let Some(after) = left.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(("multiple :: in address", left));
            }
            ellipsis = Some(bytes.len());
            left = after;
            if left.is_empty() {
                break;
            }
        }
    }
    if !left.is_empty() {
        return Err(("trailing garbage after address", left));
    }
    match ellipsis {
        None if bytes.len() < 16 => return Err(("address string too short", "")),
        Some(_) if bytes.len() == 16 => return Err(("the :: must expand to at least one field of zeros", "")),
        Some(at) => {
            let zeros = 16 - bytes.len();
            bytes.splice(at..at, std::iter::repeat_n(0, zeros));
        }
        None => {}
    }
    let octets: [u8; 16] = bytes.try_into().unwrap_or([0; 16]);
    Ok((IpAddr::from(octets), zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_none_say_where() {
        for (text, why) in [
            ("01.2.3.4", "IPv4 field has octet with leading zero"),
            ("1.2.3", "IPv4 address too short"),
            ("0x7f.1", "unexpected character (at \"x7f.1\")"),
            ("abc", "unable to parse IP"),
            ("256.1.1.1", "IPv4 field has value >255"),
            ("[::1]", "each colon-separated field must have at least one digit (at \"[::1]\")"),
            ("::1::", "multiple :: in address (at \":\")"),
            ("1.2.3.4.5", "IPv4 address too long"),
            ("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")"),
            ("1.2.3.4:80", "unexpected character (at \":80\")"),
            ("1:2", "address string too short"),
            ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
            ("12345::", "each group must have 4 or fewer digits (at \"12345::\")"),
            ("fe80::1%", "zone must be a non-empty string"),
        ] {
            let whole =
                format!("IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): {why}");
            assert_eq!(parse_ip(text).unwrap_err(), whole);
        }
        assert_eq!(parse_ip("fe80::1%eth0").unwrap_err(), "IP address \"fe80::1%eth0\" with zone value is not allowed");
        assert_eq!(
            parse_ip("::ffff:1.2.3.4").unwrap_err(),
            "IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"
        );
    }

    #[test]
    fn addresses_print_canonically() {
        for (text, canonical) in [("::1", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::1.2.3.4", "::102:304")] {
            assert_eq!(parse_ip(text).unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn networks_that_are_none_say_why() {
        for (text, why) in [
            ("1.2.3.4", "no '/'"),
            ("bad/1", "ParseAddr(\"bad\"): unable to parse IP"),
            ("1.2.3.4/-1", "bad bits after slash: \"-1\""),
            ("1.2.3.0/024", "bad bits after slash: \"024\""),
            ("1.2.3.4/", "bad bits after slash: \"\""),
            ("10.0.0.0/8 ", "bad bits after slash: \"8 \""),
            ("1.2.3.4/33", "prefix length out of range"),
            ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
        ] {
            let start = "network address parse error during conversion from string: netip.ParsePrefix";
            assert_eq!(Cidr::parse(text).unwrap_err(), format!("{start}({text:?}): {why}"));
        }
    }

    #[test]
    fn networks_contain_addresses_and_narrower_networks() {
        let net = Cidr::parse("10.1.2.3/8").unwrap();
        assert_eq!(net.masked().to_string(), "10.0.0.0/8");
        assert!(net.contains(parse_ip("10.255.0.1").unwrap()) && !net.contains(parse_ip("11.0.0.1").unwrap()));
        assert!(!Cidr::parse("::/0").unwrap().contains(parse_ip("10.0.0.1").unwrap()));
        assert!(net.contains_network(&Cidr::parse("10.9.0.0/16").unwrap()));
        assert!(!net.contains_network(&Cidr::parse("0.0.0.0/0").unwrap()));
        assert!(Cidr::parse("0.0.0.0/0").unwrap().contains_network(&net));
    }

    #[test]
    fn kinds_of_addresses() {
        let ip = |text: &str| parse_ip(text).unwrap();
        assert!(is_link_local_multicast(ip("224.0.0.1")) && is_link_local_multicast(ip("ff02::1")));
        assert!(is_link_local_unicast(ip("169.254.1.1")) && is_link_local_unicast(ip("fe80::1")));
        assert!(is_global_unicast(ip("10.0.0.1")) && is_global_unicast(ip("fd00::1")));
        assert!(!is_global_unicast(ip("255.255.255.255")) && !is_global_unicast(ip("::")));
    }
}
