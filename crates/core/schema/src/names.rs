//! Checks of names, keys and other short texts.
//! Guarantees kube-apiserver's messages, byte for byte and in its order; a valid text has none.
//! Must never stop at the first error if kube-apiserver continues.

pub mod cron;
pub mod ip;
pub mod iscsi;
pub mod time_zone;
pub mod version;

#[cfg(test)]
mod tests;

pub use crate::compat::quote::{is_printable, quoted};
use std::borrow::Cow;

/// The messages for a text; empty if it is valid.
pub type Messages = Vec<String>;

/// The longest DNS label, and the longest name or value of a label.
pub const LABEL_MAX: usize = 63;

/// The longest DNS name.
pub const SUBDOMAIN_MAX: usize = 253;

/// Reserved words of CEL.
pub const CEL_RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SUBDOMAIN_CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SUBDOMAIN_WITH_UNDERSCORE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const HTTP_HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const ENV_VAR: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
const RELAXED_ENV_VAR: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const CONFIG_MAP_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const HTTP_PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
const UUID: &str = "must be a lowercase UUID in 8-4-4-4-12 format";

/// The wording of a length limit: checks of declarative rules and of keys say bytes, the others characters.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Characters,
}

fn check(length: usize, max: usize, unit: Unit, matches: bool, message: &str) -> Messages {
    let mut messages = Messages::new();
    if length > max {
        messages.push(too_long(max, unit));
    }
    if !matches {
        messages.push(message.to_string());
    }
    messages
}

fn too_long(max: usize, unit: Unit) -> String {
    let unit = match unit {
        Unit::Bytes => "bytes",
        Unit::Characters => "characters",
    };
    format!("must be no more than {max} {unit}")
}

fn matching(matches: bool, message: &str) -> Messages {
    check(0, 0, Unit::Bytes, matches, message)
}

fn in_range(value: i64, low: i64, high: i64) -> Messages {
    match (low..=high).contains(&value) {
        true => Messages::new(),
        false => vec![format!("must be between {low} and {high}, inclusive")],
    }
}

#[inline]
fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether a text is not empty, begins and ends with `edge` bytes, and contains only `inner` ones.
fn is_framed(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|first| edge(*first))
        && bytes.last().is_some_and(|last| edge(*last))
        && bytes.iter().all(|byte| edge(*byte) || inner(*byte))
}

fn has_label_form(text: &str) -> bool {
    is_framed(text, is_lower_alphanumeric, |byte| byte == b'-')
}

/// Labels separated by dots, checked in one pass.
fn has_subdomain_form(text: &str) -> bool {
    let mut before = b'.';
    for byte in text.bytes() {
        let fits = match byte {
            b'-' => before != b'.',
            b'.' => before != b'.' && before != b'-',
            _ => is_lower_alphanumeric(byte),
        };
        if !fits {
            return false;
        }
        before = byte;
    }
    before != b'.' && before != b'-'
}

fn has_key_form(text: &str) -> bool {
    is_framed(text, |byte| byte.is_ascii_alphanumeric(), |byte| matches!(byte, b'-' | b'_' | b'.'))
}

fn is_config_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn label_in(text: &str, unit: Unit) -> Messages {
    let is_label = has_label_form(text);
    let message = if !is_label && has_subdomain_form(text) { "must not contain dots" } else { LABEL };
    check(text.len(), LABEL_MAX, unit, is_label, message)
}

fn subdomain_in(text: &str, unit: Unit) -> Messages {
    check(text.len(), SUBDOMAIN_MAX, unit, has_subdomain_form(text), SUBDOMAIN)
}

/// A DNS label (RFC 1123) in lower case.
pub fn dns1123_label(text: &str) -> Messages {
    label_in(text, Unit::Characters)
}

/// A DNS name (RFC 1123) in lower case.
pub fn dns1123_subdomain(text: &str) -> Messages {
    subdomain_in(text, Unit::Characters)
}

/// The declarative format of short names: a DNS label, with its limit in bytes.
pub fn short_name(text: &str) -> Messages {
    label_in(text, Unit::Bytes)
}

/// The declarative format of long names: a DNS name, with its limit in bytes.
pub fn long_name(text: &str) -> Messages {
    subdomain_in(text, Unit::Bytes)
}

/// A DNS name in upper or lower case.
pub fn dns1123_subdomain_caseless(text: &str) -> Messages {
    let matches =
        text.split('.').all(|label| is_framed(label, |byte| byte.is_ascii_alphanumeric(), |byte| byte == b'-'));
    check(text.len(), SUBDOMAIN_MAX, Unit::Bytes, matches, SUBDOMAIN_CASELESS)
}

/// A DNS name whose labels may have underscores.
pub fn dns1123_subdomain_with_underscore(text: &str) -> Messages {
    let matches = text.split('.').all(|label| {
        let label = label.strip_prefix('_').unwrap_or(label);
        is_framed(label, is_lower_alphanumeric, |byte| matches!(byte, b'-' | b'_'))
    });
    check(text.len(), SUBDOMAIN_MAX, Unit::Characters, matches, SUBDOMAIN_WITH_UNDERSCORE)
}

/// A DNS label (RFC 1035): it begins with a letter.
pub fn dns1035_label(text: &str) -> Messages {
    let matches = has_label_form(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    check(text.len(), LABEL_MAX, Unit::Characters, matches, DNS1035_LABEL)
}

/// `*.` and a DNS name.
pub fn wildcard_dns1123_subdomain(text: &str) -> Messages {
    let matches = text.strip_prefix("*.").is_some_and(has_subdomain_form);
    check(text.len(), SUBDOMAIN_MAX, Unit::Characters, matches, WILDCARD)
}

fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| prefix.len() <= SUBDOMAIN_MAX && has_subdomain_form(prefix);
    name.len() <= LABEL_MAX && has_key_form(name) && prefix.is_none_or(is_prefix)
}

/// The key of a label: a name, optionally with a DNS name and a slash before it. Also called qualified name.
pub fn label_key(text: &str) -> Messages {
    if is_label_key(text) {
        return Messages::new();
    }
    let mut messages = Messages::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            let prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY_NAME} {prefixed}")];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                messages.push("prefix part must be non-empty".to_string());
            } else {
                messages.extend(long_name(prefix).iter().map(|message| format!("prefix part {message}")));
            }
            name
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_string());
    }
    let of_name = check(name.len(), LABEL_MAX, Unit::Bytes, has_key_form(name), KEY_NAME);
    messages.extend(of_name.iter().map(|message| format!("name part {message}")));
    messages
}

/// The key of a label that must have a prefix.
pub fn prefixed_label_key(text: &str) -> Messages {
    let messages = label_key(text);
    if !messages.is_empty() || text.contains('/') {
        return messages;
    }
    vec!["must include a prefix (e.g. 'example.com/key')".to_string()]
}

/// The value of a label.
pub fn label_value(text: &str) -> Messages {
    check(text.len(), LABEL_MAX, Unit::Bytes, text.is_empty() || has_key_form(text), LABEL_VALUE)
}

/// An identifier of the C language.
pub fn c_identifier(text: &str) -> Messages {
    let matches = !text.starts_with(|c: char| c.is_ascii_digit())
        && is_framed(text, |byte| byte.is_ascii_alphanumeric() || byte == b'_', |_| false);
    matching(matches, C_IDENTIFIER)
}

/// The number of a port.
pub fn port_number(port: i64) -> Messages {
    in_range(port, 1, 65_535)
}

/// The name of a port.
pub fn port_name(text: &str) -> Messages {
    let is_inner = |byte| is_lower_alphanumeric(byte) || byte == b'-';
    let mut messages = Messages::new();
    if text.len() > 15 {
        messages.push(too_long(15, Unit::Characters));
    }
    let rules = [
        (is_framed(text, is_inner, is_inner), "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (text.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (!text.as_bytes().windows(2).any(|pair| pair == b"--"), "must not contain consecutive hyphens"),
        (!text.starts_with('-') && !text.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    messages.extend(rules.into_iter().filter(|(holds, _)| !holds).map(|(_, message)| message.to_owned()));
    messages
}

/// A percentage: digits and `%`.
pub fn percent(text: &str) -> Messages {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    matching(text.strip_suffix('%').is_some_and(|number| is_framed(number, is_digit, is_digit)), PERCENT)
}

/// The name of an HTTP header.
pub fn http_header_name(text: &str) -> Messages {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    matching(is_framed(text, is_inner, is_inner), HTTP_HEADER)
}

/// Whether a text can be part of a URL path; it has no message of its own.
pub fn is_http_path(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    is_framed(text, is_inner, is_inner)
}

fn climbs(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".to_string()),
        ".." => Some("must not be '..'".to_string()),
        _ => text.starts_with("..").then(|| "must not start with '..'".to_string()),
    }
}

/// The name of an environment variable.
pub fn env_var_name(text: &str) -> Messages {
    let matches = is_framed(text, is_config_byte, is_config_byte) && !text.starts_with(|c: char| c.is_ascii_digit());
    let mut messages = matching(matches, ENV_VAR);
    messages.extend(climbs(text));
    messages
}

/// The name of an environment variable by the relaxed rule.
pub fn relaxed_env_var_name(text: &str) -> Messages {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_string()];
    }
    matching(text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'='), RELAXED_ENV_VAR)
}

/// The key of data in a ConfigMap or Secret.
pub fn config_map_key(text: &str) -> Messages {
    let matches = is_framed(text, is_config_byte, is_config_byte);
    let mut messages = check(text.len(), SUBDOMAIN_MAX, Unit::Characters, matches, CONFIG_MAP_KEY);
    messages.extend(climbs(text));
    messages
}

/// A name that is one path segment.
pub fn path_segment_name(text: &str) -> Messages {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// The beginning of a DNS name as it is validated: one letter takes the place of a dash at its end, as a name goes on there, and of the
/// character before the dash. That this character may be any is kube-apiserver's.
pub fn masked_prefix(prefix: &str) -> Cow<'_, str> {
    let start = prefix.strip_suffix('-').and_then(|_| prefix.get(..prefix.len().checked_sub(2)?));
    start.map_or(Cow::Borrowed(prefix), |start| Cow::Owned(format!("{start}a")))
}

/// The beginning of a name that is one path segment.
pub fn path_segment_prefix(text: &str) -> Messages {
    let found = ["/", "%"].into_iter().filter(|part| text.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

/// A UUID in lower case.
pub fn uuid(text: &str) -> Messages {
    let fits = |(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    matching(text.len() == 36 && text.bytes().enumerate().all(fits), UUID)
}

/// A decimal integer without redundant signs or zeros.
pub fn decimal_integer(text: &str) -> Messages {
    if text.is_empty() {
        return vec!["must be non-empty".to_string()];
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let matches = text == "0" || (is_framed(digits, is_digit, is_digit) && !digits.starts_with('0'));
    matching(matches, "must be a valid decimal integer in canonical form")
}

/// The name of a kernel parameter (sysctl); it has no message of its own.
pub fn is_sysctl_name(text: &str) -> bool {
    let is_segment = |segment: &str| is_framed(segment, is_lower_alphanumeric, |byte| matches!(byte, b'-' | b'_'));
    text.len() <= SUBDOMAIN_MAX && text.split(['.', '/']).all(is_segment)
}

/// The reason of a condition; it has no message of its own.
pub fn is_condition_reason(text: &str) -> bool {
    let is_edge = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && is_framed(text, is_edge, |byte| matches!(byte, b',' | b':'))
}

/// The syntax of a time zone's name; the zone database decides whether it exists.
pub fn has_time_zone_form(text: &str) -> bool {
    let is_inner = |byte: u8| is_config_byte(byte) || byte == b'+';
    text.split('/').all(|part| {
        !matches!(part, "." | "..") && !part.starts_with('-') && part.len() <= 14 && is_framed(part, is_inner, is_inner)
    })
}

/// An error of a check that may refer to a part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is empty.
    Required,
    /// The whole text or a part of it is invalid.
    Invalid {
        /// The reported invalid value.
        value: String,
        /// The message.
        detail: String,
    },
}

fn invalid(value: &str, detail: impl Into<String>) -> Fault {
    Fault::Invalid { value: value.to_string(), detail: detail.into() }
}

/// A DNS name of at least two labels, optionally with a final dot.
pub fn fully_qualified_domain_name(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(Fault::Required);
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let messages = dns1123_subdomain(text);
    if !messages.is_empty() {
        return Err(invalid(text, messages.join(",")));
    }
    if !text.contains('.') {
        return Err(invalid(text, "should be a domain with at least two segments separated by dots"));
    }
    for label in text.split('.') {
        let messages = dns1123_label(label);
        if !messages.is_empty() {
            return Err(invalid(label, messages.join(",")));
        }
    }
    Ok(())
}

/// A DNS name, a slash and a path.
pub fn domain_prefixed_path(text: &str) -> Vec<Fault> {
    if text.is_empty() {
        return vec![Fault::Required];
    }
    let Some((host, path)) = text.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty()) else {
        return vec![invalid(text, "must be a domain-prefixed path (such as \"acme.io/foo\")")];
    };
    let mut faults: Vec<Fault> = dns1123_subdomain(host).into_iter().map(|message| invalid(host, message)).collect();
    if !is_http_path(path) {
        faults.push(invalid(path, HTTP_PATH));
    }
    faults
}
