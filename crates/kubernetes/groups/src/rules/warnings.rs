//! Warnings: valid values that should be written in another way.
//!
//! They are computed only for valid objects. They change nothing.

pub use pintle_resource::Written;
use pintle_schema::View;
use pintle_schema::names::{ip, quoted};
use pintle_validation::FieldPath;
use std::net::IpAddr;

/// Where a warning is about two items of a list, no more are made than this: no header has room for their texts.
pub const MOST: usize = 4096;

/// An address that is not written as addresses are shown.
pub fn address(text: &str, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some(parsed) = ip::parse_ip_sloppy(text) else { return };
    let canonical = quoted(&parsed.to_canonical().to_string());
    let strict = text.parse::<IpAddr>();
    let shown = quoted(text);
    if strict.is_err() || parsed.to_canonical() != parsed {
        let future = "will be considered invalid in a future Kubernetes release: use";
        warnings.push(format!("{path}: non-standard IP address {shown} {future} {canonical}"));
    } else if parsed.is_ipv6() && canonical != shown {
        warnings.push(format!("{path}: IPv6 address {shown} should be in RFC 5952 canonical format ({canonical})"));
    }
}

/// A block that is not written as blocks are shown, or that may mean one address.
pub fn block(text: &str, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some(cidr) = ip::parse_cidr_sloppy(text) else { return };
    let shown = quoted(text);
    let canonical = quoted(&format!("{}/{}", cidr.network(), cidr.prefix));
    let before = warnings.len();
    if cidr.network() != cidr.address {
        let bits = if cidr.address.is_ipv4() { 32 } else { 128 };
        let single = quoted(&format!("{}/{bits}", cidr.address));
        let what = "is ambiguous in this context";
        warnings.push(format!("{path}: CIDR value {shown} {what} (should be {canonical} or {single}?)"));
    }
    let strict = text.split_once('/').is_some_and(|(address, prefix)| {
        address.parse::<IpAddr>().is_ok() && (prefix.len() == 1 || !prefix.starts_with('0'))
    });
    if !strict || cidr.address.to_canonical() != cidr.address {
        let future = "will be considered invalid in a future Kubernetes release: use";
        warnings.push(format!("{path}: non-standard CIDR value {shown} {future} {canonical}"));
    }
    if warnings.len() == before && cidr.address.is_ipv6() && canonical != shown {
        warnings.push(format!("{path}: IPv6 CIDR value {shown} should be in RFC 5952 canonical format ({canonical})"));
    }
}

/// The same for all of a list.
pub fn each(
    list: View<'_, Vec<String>>,
    path: &FieldPath<'_>,
    warnings: &mut Vec<String>,
    of_one: fn(&str, &FieldPath<'_>, &mut Vec<String>),
) {
    for (at, text) in list.iter().enumerate() {
        of_one(text.as_str(), &path.index(at), warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::{address, block};
    use pintle_validation::FieldPath;

    fn of(text: &str, validate: fn(&str, &FieldPath<'_>, &mut Vec<String>)) -> Vec<String> {
        let mut warnings = Vec::new();
        validate(text, &FieldPath::new("f"), &mut warnings);
        warnings
    }

    #[test]
    fn addresses() {
        for right in ["10.1.2.3", "2001:db8::1", "x"] {
            assert!(of(right, address).is_empty(), "{right}");
        }
        let text = "f: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")";
        assert_eq!(of("2001:DB8::1", address), [text]);
        assert!(of("010.1.1.1", address)[0].ends_with("use \"10.1.1.1\""));
        assert!(of("::ffff:1.2.3.4", address)[0].ends_with("use \"1.2.3.4\""));
    }

    #[test]
    fn blocks() {
        for right in ["10.0.0.0/8", "2001:db8::/64", "x"] {
            assert!(of(right, block).is_empty(), "{right}");
        }
        assert!(of("10.0.0.1/8", block)[0].ends_with("(should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"));
        assert!(of("10.0.0.0/08", block)[0].contains("non-standard CIDR value"));
        assert!(of("2001:DB8::/64", block)[0].ends_with("(\"2001:db8::/64\")"));
    }
}
