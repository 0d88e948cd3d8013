//! The formats of strings in schemas of custom resources. Unknown formats are accepted and have no effect.
//!
//! Names are known with and without dashes. Every check is linear in the text.

use pintle_schema::{Duration, Str, names};
use regex::Regex;
use std::sync::LazyLock;

/// A format of strings.
#[derive(Debug)]
pub struct Format {
    /// Without dashes.
    name: &'static str,
    pub is: fn(&str) -> bool,
}

const fn format(name: &'static str, is: fn(&str) -> bool) -> Format {
    Format { name, is }
}

static FORMATS: &[Format] = &[
    format("bsonobjectid", |text| text.len() == 24 && text.bytes().all(|digit| digit.is_ascii_hexdigit())),
    format("byte", |text| BASE64.is_match(text)),
    format("cidr", |text| names::ip::parse_cidr_sloppy(text).is_some()),
    format("creditcard", is_credit_card),
    format("date", is_date),
    format("datetime", is_date_time),
    format("duration", is_duration),
    format("email", is_email),
    format("hexcolor", |text| HEX_COLOR.is_match(text)),
    format("hostname", |text| {
        HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
    }),
    format("ipv4", |text| text.contains('.') && names::ip::parse_ip_sloppy(text).is_some()),
    format("ipv6", |text| text.contains(':') && text.parse::<std::net::Ipv6Addr>().is_ok()),
    format("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    format("isbn10", is_isbn10),
    format("isbn13", is_isbn13),
    format("k8slongname", |text| names::dns1123_subdomain(text).is_empty()),
    format("k8sshortname", |text| names::dns1123_label(text).is_empty()),
    format("mac", is_mac),
    format("password", |_| true),
    format("rgbcolor", |text| RGB_COLOR.is_match(text)),
    format("ssn", |text| text.len() == 11 && SSN.is_match(text)),
    format("uri", is_request_uri),
    format("uuid", |text| is_uuid(text, None)),
    format("uuid3", |text| is_uuid(text, Some('3'))),
    format("uuid4", |text| is_uuid(text, Some('4'))),
    format("uuid5", |text| is_uuid(text, Some('5'))),
];

/// The string format of a name.
pub(super) fn find(name: &str) -> Option<&'static Format> {
    if name.is_empty() {
        return None;
    }
    let name = name.replace('-', "");
    FORMATS.iter().find(|format| format.name == name)
}

/// Whether a format holds for values of some types.
pub(super) fn is_known(types: &[Str], format: &str) -> bool {
    match types {
        [] => find(format).is_some(),
        [only] => match only.as_str() {
            "string" => find(format).is_some(),
            "integer" => matches!(format, "int32" | "int64"),
            "number" => matches!(format, "float" | "double"),
            _ => false,
        },
        _ => find(format).is_some(),
    }
}

/// Whether a format applies to values of a type; "" for any.
pub fn is_known_format(kind: &str, format: &str) -> bool {
    if kind.is_empty() { is_known(&[], format) } else { is_known(&[Str::new(kind)], format) }
}

macro_rules! pattern {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).unwrap_or_else(|error| unreachable!("a constant pattern: {error}")));
    };
}

pattern!(BASE64, "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$");
pattern!(HEX_COLOR, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(SSN, "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
pattern!(
    RGB_COLOR,
    r"^rgb\([\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*,[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*,[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*\)$"
);
pattern!(
    CREDIT_CARD,
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$"
);
pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(DURATION_PART, "([0-9]+)[\\t\\n\\f\\r ]*([A-Za-zµ]+)");

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !CREDIT_CARD.is_match(&digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| match u32::from(digit - b'0') {
            digit if at % 2 == 0 => digit,
            digit if digit >= 5 => digit * 2 - 9,
            digit => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The digits of a book's number, blanks and hyphens left out.
fn isbn_digits(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    let [body @ .., last] = digits.as_slice() else { return false };
    if body.len() != 9 || !body.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X') {
        return false;
    }
    let sum: u32 = body.iter().zip(1..).map(|(digit, factor)| factor * u32::from(digit - b'0')).sum();
    let last = if *last == b'X' { 10 } else { u32::from(last - b'0') };
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let factors = [1, 3].into_iter().cycle();
    let sum: u32 = digits.iter().zip(factors).map(|(digit, factor)| factor * u32::from(digit - b'0')).sum();
    sum.is_multiple_of(10)
}

/// Groups of hexadecimal digits, with or without the dashes between them.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else { return false };
        let variant = matches!(version, Some('4' | '5')) && at == 3;
        let fits = group.bytes().all(|digit| digit.is_ascii_hexdigit())
            && (at != 2 || version.is_none_or(|version| group.starts_with(version)))
            && (!variant || group.starts_with(['8', '9', 'a', 'b', 'A', 'B']));
        if !fits {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// 6, 8 or 20 octets, separated by colons or dashes, by dots after every second one, or not at all.
fn is_mac(text: &str) -> bool {
    if matches!(text.len(), 12 | 16 | 40) && text.bytes().all(|c| c.is_ascii_hexdigit()) {
        return true;
    }
    let is_group = |group: &str, length: usize| group.len() == length && group.bytes().all(|c| c.is_ascii_hexdigit());
    [(':', 2, [6, 8, 20]), ('-', 2, [6, 8, 20]), ('.', 4, [3, 4, 10])].into_iter().any(|(separator, length, counts)| {
        counts.contains(&text.split(separator).count()) && text.split(separator).all(|group| is_group(group, length))
    })
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else { return false };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    if text.len() < 4 || !is_date(date) {
        return false;
    }
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_digit());
    let Some((clock, rest)) = time.split_at_checked(8) else { return false };
    let mut fields = clock.split(':');
    let (Some(hour), Some(minute), Some(second), None) = (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    if ![hour, minute, second].into_iter().all(digits) || hour > "23" || minute > "59" || second > "59" {
        return false;
    }
    let is_zone = |zone: &str| {
        zone == "z"
            || zone
                .strip_prefix(['+', '-'])
                .and_then(|zone| zone.split_once(':'))
                .is_some_and(|(hours, minutes)| digits(hours) && digits(minutes))
    };
    // Any character may precede the fraction.
    let fraction = || {
        let mut letters = rest.chars();
        letters.next();
        let after = letters.as_str();
        let zone = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        zone.len() < after.len() && is_zone(zone)
    };
    is_zone(rest) || fraction()
}

/// Go's durations, and numbers with units in words.
fn is_duration(text: &str) -> bool {
    if Duration::parse(text).is_ok() {
        return true;
    }
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let mut known = false;
    for part in DURATION_PART.captures_iter(text) {
        if part[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = part[2].to_lowercase();
        known |= UNITS.iter().any(|(exact, prefix)| exact.contains(&unit.as_str()) || unit.starts_with(prefix));
    }
    known
}

/// An address, alone or in angle brackets after a name.
fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((name, address)) => is_phrase(name.trim_matches([' ', '\t'])) && is_address(address),
        None => is_address(text),
    }
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')).is_some_and(|address| {
        let address = address.strip_prefix("IPv6:").unwrap_or(address);
        address.parse::<std::net::IpAddr>().is_ok()
    });
    (is_dot_atom(local) || is_quoted(local)) && (is_dot_atom(domain) || is_literal)
}

fn is_atom_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(letter) || !letter.is_ascii()
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_letter))
}

fn is_quoted(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return false };
    let mut escaped = false;
    let fits = !inside.is_empty()
        && inside.chars().all(|letter| match (std::mem::take(&mut escaped), letter) {
            (true, letter) => !letter.is_control(),
            (false, '\\') => {
                escaped = true;
                true
            }
            (false, letter) => letter != '"' && (letter == '\t' || !letter.is_control()),
        });
    fits && !escaped
}

fn is_phrase(text: &str) -> bool {
    let is_word = |word: &str| word.chars().all(|letter| is_atom_letter(letter) || letter == '.');
    is_quoted(text) || text.split([' ', '\t']).all(is_word)
}

/// A request target as accepted by Go: an absolute URI, or an absolute path.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    if text.starts_with(':') {
        return false;
    }
    let rest = scheme.map_or(text, |scheme| &text[scheme.len() + 1..]);
    let (rest, _) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        // With a scheme all else is opaque.
        return scheme.is_some();
    }
    let authority = rest.strip_prefix("//").filter(|_| scheme.is_some() || !rest.starts_with("///"));
    match authority {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            is_authority(&after[..end]) && is_escaped(&after[end..])
        }
        None => is_escaped(rest),
    }
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let in_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(in_user) || !is_escaped(user) {
        return false;
    }
    let is_port = |port: &str| {
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|c| c.is_ascii_digit()))
    };
    if let Some(inside) = host.strip_prefix('[') {
        return inside.rsplit_once(']').is_some_and(|(_, port)| is_port(port));
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    let in_host = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"%".contains(c) || !c.is_ascii();
    name.chars().all(in_host) && !name.contains('%') && is_port(port)
}

/// Whether each percent sign begins an escape.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|after| after.get(..2).is_some_and(|hex| hex.bytes().all(|c| c.is_ascii_hexdigit())))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn formats() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f", "zz7f1f77bcf86cd799439011"]),
            (
                "uri",
                &["https://a/b?c", "/a", "mailto:x", "http://[::1]:80/", "*"],
                &["", "a", "http://a b/", "http://a:x/", "/%zz"],
            ),
            ("email", &["a@b", "\"a b\"@c.d", "N <a@b.c>", "a.b+c@d.e"], &["a", "@b", "a@", "a b@c", "a..b@c"]),
            ("hostname", &["a.example.com", "a", "1a.example"], &["-a", "a_b", "", "a..b"]),
            ("ipv4", &["1.2.3.4", "01.2.3.4"], &["::1", "1.2.3"]),
            ("ipv6", &["fe80::1", "::ffff:1.2.3.4"], &["1.2.3.4", "fe80::1%eth0"]),
            ("cidr", &["10.0.0.0/8", "fe80::/10"], &["10.0.0.0", "10.0.0.0/33"]),
            (
                "mac",
                &["01:02:03:04:05:06", "01-02-03-04-05-06-07-08", "0102.0304.0506", "00005e005301"],
                &["01:02", "01:02:03:04:05:0g", "00005e00530", "00005e00530g"],
            ),
            ("uuid", &["00000000-0000-0000-0000-00000000000A", "00000000000000000000000000000000"], &["0", "x"]),
            ("uuid4", &["00000000-0000-4000-8000-000000000000"], &["00000000-0000-3000-8000-000000000000"]),
            ("isbn", &["0321751043", "978-0321751041"], &["1"]),
            ("isbn10", &["0321751043"], &["978-0321751041"]),
            ("isbn13", &["978-0321751041"], &["0321751043"]),
            ("creditcard", &["4111-1111-1111-1111"], &["123", "4111-1111-1111-1112"]),
            ("ssn", &["111-11-1111"], &["11", "111111111"]),
            ("hexcolor", &["#FFFFFF", "abc"], &["#ab", "xyz"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2)", "rgb(1,2,256)"]),
            ("byte", &["YQ=="], &["YQ", ""]),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-29", "2024-13-01"]),
            (
                "date-time",
                &["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00"],
                &["2014-12-15", "2014-12-15T25:00:00Z"],
            ),
            ("duration", &["1h30m", "22 ns", "3 days", "0"], &["x", "", "3 fortnights"]),
            ("k8s-short-name", &["abc-1"], &["Abc", "a.b", "-a"]),
            ("k8s-long-name", &["a.b-c.d"], &["A.b", "a..b"]),
        ];
        for (name, right, wrong) in rows {
            let format = find(name).unwrap_or_else(|| panic!("{name} is a format"));
            right.iter().for_each(|text| assert!((format.is)(text), "{text:?} is {name}"));
            wrong.iter().for_each(|text| assert!(!(format.is)(text), "{text:?} is no {name}"));
        }
        assert!(find("madeup").is_none());
    }
}
