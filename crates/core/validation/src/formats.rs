//! The formats of the tag `format`: one table of names, functions and documentation.

use pintle_schema::{Value, names};
use std::borrow::Cow;

/// The messages for a value that does not have the format.
type Messages = Vec<String>;

/// A format of strings or numbers.
pub struct Format {
    pub name: &'static str,
    /// The origin of errors.
    pub origin: &'static str,
    pub doc: &'static str,
    pub validate: fn(&Value) -> Messages,
    /// What is validated of a text, and shown.
    pub part: fn(&str) -> Cow<'_, str>,
}

fn all(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn without_last_dot(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(name.strip_suffix('.').unwrap_or(name))
}

fn in_lower_case(name: &str) -> Cow<'_, str> {
    Cow::Owned(name.to_lowercase())
}

macro_rules! texts {
    ($name:literal, $doc:literal, $validate:expr) => {
        texts!($name, $doc, $validate, all)
    };
    ($name:literal, $doc:literal, $validate:expr, $part:expr) => {
        Format {
            name: $name,
            origin: concat!("format=", $name),
            doc: $doc,
            validate: |value| IntoMessages::into_messages($validate(value.as_str().unwrap_or_default())),
            part: $part,
        }
    };
}

/// Results of functions that validate a text. An empty list allocates nothing.
trait IntoMessages {
    fn into_messages(self) -> Messages;
}

impl IntoMessages for Messages {
    fn into_messages(self) -> Messages {
        self
    }
}

impl IntoMessages for Vec<&str> {
    fn into_messages(self) -> Messages {
        self.into_iter().map(str::to_owned).collect()
    }
}

impl<T: Into<String>> IntoMessages for Option<T> {
    fn into_messages(self) -> Messages {
        self.map_or_else(Messages::new, |message| vec![message.into()])
    }
}

/// A number in a range, with kube-apiserver's message; allocates nothing for a valid one.
fn in_range(value: &Value, low: i64, high: i64) -> Messages {
    match value.as_i64().unwrap_or_default() {
        number if (low..=high).contains(&number) => Vec::new(),
        _ => vec![format!("must be between {low} and {high}, inclusive")],
    }
}

fn path_no_backsteps(path: &str) -> Option<&'static str> {
    path.split('/').any(|part| part == "..").then_some("must not contain '..'")
}

fn relative_path(path: &str) -> Vec<&'static str> {
    let absolute = path.starts_with('/').then_some("must be a relative path");
    absolute.into_iter().chain(path_no_backsteps(path)).collect()
}

fn unreserved_path(path: &str) -> Vec<&'static str> {
    let mut messages = relative_path(path);
    // A first element that is exactly two dots is reported already.
    if path.starts_with("..") && !path.starts_with("../") {
        messages.push("must not start with '..'");
    }
    messages
}

const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";

fn not_an_address(host: &str) -> Option<String> {
    names::ip::parse_ip_sloppy(host).is_some().then(|| NOT_AN_ADDRESS.to_owned())
}

fn subdomain_or_wildcard(host: &str) -> Messages {
    if host.contains('*') { names::wildcard_dns1123_subdomain(host) } else { names::dns1123_subdomain(host) }
}

/// Sequences and endings of a URL path that can be interpreted in several ways.
fn plain_url_path(path: &str) -> Messages {
    let inside = ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.contains(part));
    let at_end = ["/..", "/."].into_iter().filter(|end| path.ends_with(end));
    let inside = inside.map(|part| format!("must not contain '{part}'"));
    inside.chain(at_end.map(|end| format!("cannot end with '{end}'"))).collect()
}

fn unreserved_option(key: &str) -> Option<&'static str> {
    let domain = key.split('/').next().unwrap_or_default().to_lowercase();
    let is_below = |owner: &str| domain.strip_suffix(owner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    (is_below("kubernetes.io") || is_below("k8s.io")).then_some("kubernetes.io and k8s.io namespaces are reserved")
}

const NOT_A_SYSCTL: &str = "must have at most 253 characters and match regex \
                            ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// All formats.
pub static FORMATS: &[Format] = &[
    texts!("k8s-short-name", "A DNS label in lower case; messages state the limit in bytes.", names::short_name),
    texts!("k8s-long-name", "A DNS name in lower case; messages state the limit in bytes.", names::long_name),
    texts!("k8s-long-name-caseless", "A DNS name in either case.", names::dns1123_subdomain_caseless),
    texts!("k8s-label-key", "The key of a label, with or without a prefix.", names::label_key),
    texts!("k8s-prefixed-label-key", "The key of a label, with a prefix.", names::prefixed_label_key),
    texts!("k8s-label-value", "The value of a label.", names::label_value),
    texts!("k8s-label-value-at-once", "The value of a label, with a single message.", |text: &str| {
        let messages = names::label_value(text);
        (!messages.is_empty()).then(|| messages.join(";"))
    }),
    texts!("k8s-path-segment-name", "A path segment.", names::path_segment_name),
    texts!("k8s-uuid", "A UUID in lower case.", names::uuid),
    texts!("dns1123-label", "A DNS label in lower case.", names::dns1123_label),
    texts!("dns1123-subdomain", "A DNS name in lower case.", names::dns1123_subdomain),
    texts!("dns1035-label", "A DNS label that begins with a letter.", names::dns1035_label),
    texts!("c-identifier", "A C identifier.", names::c_identifier),
    texts!("config-map-key", "The key of a ConfigMap's or Secret's data.", names::config_map_key),
    texts!("env-var-name", "The name of an environment variable.", names::env_var_name),
    texts!("http-header-name", "The name of an HTTP header.", names::http_header_name),
    texts!("port-name", "The name of a port.", names::port_name),
    texts!("ip", "An IP address in canonical form.", names::ip::ip),
    texts!("cidr", "A range of IP addresses in canonical form.", names::ip::cidr),
    Format {
        name: "port",
        origin: "format=port",
        doc: "The number of a port.",
        validate: |value| in_range(value, 1, 65535),
        part: all,
    },
    Format {
        name: "port-or-name",
        origin: "format=port-or-name",
        doc: "The number or the name of a port.",
        validate: |value| match value.as_str() {
            Some(name) => names::port_name(name),
            None => in_range(value, 1, 65535),
        },
        part: all,
    },
    Format {
        name: "user-id",
        origin: "format=user-id",
        doc: "The number of a user or group.",
        validate: |value| in_range(value, 0, i32::MAX.into()),
        part: all,
    },
    Format {
        name: "file-mode",
        origin: "format=file-mode",
        doc: "Permission bits of a file.",
        validate: |value| match value.as_i64().unwrap_or_default() {
            0..=0o777 => Vec::new(),
            _ => vec!["must be a number between 0 and 0777 (octal), both inclusive".to_owned()],
        },
        part: all,
    },
    texts!(
        "relaxed-env-var-name",
        "The name of an environment variable, printable ASCII.",
        names::relaxed_env_var_name
    ),
    texts!("path-no-backsteps", "A path without `..`.", path_no_backsteps),
    texts!("legacy-ip", "An IP address, leading zeros allowed.", |text| names::ip::ip_legacy(text, false)),
    texts!("strict-legacy-ip", "An IP address without leading zeros.", |text| names::ip::ip_legacy(text, true)),
    Format {
        name: "positive",
        origin: "minimum",
        doc: "A number greater than zero.",
        validate: |value| match value.as_i64().unwrap_or_default() {
            1.. => Vec::new(),
            _ => vec!["must be greater than zero".to_owned()],
        },
        part: all,
    },
    Format {
        name: "positive-int32",
        origin: "format=positive-int32",
        doc: "A positive 32-bit number.",
        validate: |value| in_range(value, 1, i32::MAX.into()),
        part: all,
    },
    Format {
        name: "weight",
        origin: "format=weight",
        doc: "A weight from 1 to 100.",
        validate: |value| match value.as_i64().unwrap_or_default() {
            1..=100 => Vec::new(),
            _ => vec!["must be in the range 1-100".to_owned()],
        },
        part: all,
    },
    Format {
        name: "int-or-percent",
        origin: "",
        doc: "A number that is not negative, or a percentage.",
        validate: |value| match value {
            Value::String(text) => names::percent(text),
            _ if value.as_i64().unwrap_or_default() < 0 => vec!["must be greater than or equal to 0".to_owned()],
            _ => Vec::new(),
        },
        part: all,
    },
    Format {
        name: "at-most-100-percent",
        origin: "",
        doc: "A number, or a percentage of at most 100.",
        validate: |value| match value.as_str().and_then(percentage) {
            Some(101..) => vec!["must not be greater than 100%".to_owned()],
            _ => Vec::new(),
        },
        part: all,
    },
    Format {
        name: "zero-or-more",
        origin: "minimum",
        doc: "A number that is not negative; the message is in words.",
        validate: |value| match value.as_i64().unwrap_or_default() {
            0.. => Vec::new(),
            _ => vec!["must be greater than or equal to zero".to_owned()],
        },
        part: all,
    },
    Format {
        name: "byte",
        origin: "format=byte",
        doc: "A number from 0 to 255.",
        validate: |value| in_range(value, 0, 255),
        part: all,
    },
    Format {
        name: "disk-partition",
        origin: "format=disk-partition",
        doc: "The number of a partition of a disk; 0 stands for the whole disk.",
        validate: |value| match value.as_i64().unwrap_or_default() {
            0..=255 => Vec::new(),
            _ => vec!["must be between 1 and 255, inclusive".to_owned()],
        },
        part: all,
    },
    texts!("relative-path", "A relative path without `..`.", relative_path),
    texts!("unreserved-path", "A relative path whose first element does not begin with two dots.", unreserved_path),
    texts!("absolute-path", "An absolute path.", |path: &str| {
        (!path.starts_with('/')).then_some("must be an absolute path")
    }),
    texts!("plain-url-path", "A URL path in canonical form.", plain_url_path),
    texts!("dns-name-of-host", "A DNS name that is not an IP address.", |host: &str| {
        names::dns1123_subdomain(host).into_iter().chain(not_an_address(host)).collect::<Messages>()
    }),
    texts!("dns1123-subdomain-or-wildcard", "A DNS name, whose first label may be `*`.", subdomain_or_wildcard),
    texts!("ingress-host", "A DNS name that is not an IP address, whose first label may be `*`.", |host: &str| {
        not_an_address(host).into_iter().chain(subdomain_or_wildcard(host)).collect::<Messages>()
    }),
    texts!("endpoint-ip", "An IP address that other nodes can send packets to.", |text: &str| {
        let unreadable = names::ip::parse_ip_sloppy(text).is_none().then(|| "must be a valid IP address".to_owned());
        unreadable.into_iter().chain(names::ip::endpoint_ip(text)).collect::<Messages>()
    }),
    texts!(
        "rooted-dns1123-subdomain",
        "A DNS name, which may end with a dot.",
        |text: &str| match text {
            "." => Vec::new(),
            text => names::dns1123_subdomain(&without_last_dot(text)),
        },
        without_last_dot
    ),
    texts!("dns1123-subdomain-prefix", "The beginning of a DNS name in lower case.", |text: &str| {
        names::dns1123_subdomain(&names::masked_prefix(text))
    }),
    texts!("cron-schedule", "A cron schedule.", |text: &str| names::cron::check(text).err()),
    texts!("time-zone", "The name of a time zone, other than the server's own.", |name: &str| match name {
        "" => vec!["timeZone must be nil or non-empty string".to_owned()],
        name if name.eq_ignore_ascii_case("local") => {
            let form = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            let unknown = (name != "Local").then(|| format!("unknown time zone {name}"));
            std::iter::once(form.to_owned()).chain(unknown).collect()
        }
        // Go does not look for a file whose name contains two dots.
        name if name.contains("..") && names::has_time_zone_form(name) => {
            vec!["time: invalid location name".to_owned()]
        }
        name if names::time_zone::exists(name) => Vec::new(),
        name if name.ends_with('/') => vec![format!("unknown time zone {name}")],
        name => vec![names::time_zone::why_unknown(name)],
    }),
    texts!("semantic-version", "A version such as `1.2.3-rc.1+build`.", |text: &str| {
        names::version::Version::parse(text).is_none().then_some("must be a valid semantic version")
    }),
    texts!("trimmed", "A text without whitespace at its ends.", |text: &str| {
        (text.trim() != text).then_some("must not have leading or trailing whitespace")
    }),
    texts!("csi-driver-name", "The name of a CSI driver, in either case.", |text: &str| {
        names::dns1123_subdomain(&text.to_lowercase())
    }),
    texts!(
        "qualified-name-caseless",
        "A name with or without a prefix, in either case; messages show it in lower case.",
        |text: &str| names::label_key(&in_lower_case(text)),
        in_lower_case
    ),
    texts!("unreserved-option", "A key outside the domains that Kubernetes reserves.", unreserved_option),
    texts!("sysctl-name", "The name of a kernel parameter, with dots or slashes.", |text: &str| {
        (!names::is_sysctl_name(text)).then_some(NOT_A_SYSCTL)
    }),
    texts!("iscsi-name", "The name of an iSCSI node.", |text: &str| {
        (!names::iscsi::is_name(text)).then_some("must be valid format")
    }),
    texts!(
        "iscsi-name-of-known-kind",
        "The name of an iSCSI node; the message lists the known kinds.",
        |text: &str| {
            match names::iscsi::is_of_known_kind(text) {
                true => (!names::iscsi::is_name(text)).then_some("must be valid format"),
                false => Some("must be valid format starting with iqn, eui, or naa"),
            }
        }
    ),
    texts!("decimal-integer", "A decimal integer in canonical form.", names::decimal_integer),
];

/// The number of a percentage.
pub fn percentage(text: &str) -> Option<i64> {
    text.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The format with a name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
