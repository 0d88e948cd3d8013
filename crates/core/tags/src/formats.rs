//! The names that `format` takes, and the values that each can validate.
//!
//! Here so that the derive refuses others; what a format demands is the engine's table, and a test holds the two together.

use crate::Place;

/// A number, or the name of one.
const INT_OR_STRING: Place = Place(Place::INT.0 | Place::STRING.0);

/// The upper end of a range that has none.
pub const NO_END: i64 = i64::MAX;

/// A format by name.
pub struct Name {
    pub name: &'static str,
    pub places: Place,
    /// The numbers that have the format, when all between two do and no others.
    pub range: Option<(i64, i64)>,
}

const fn text(name: &'static str) -> Name {
    Name { name, places: Place::STRING, range: None }
}

const fn number(name: &'static str, low: i64, high: i64) -> Name {
    Name { name, places: Place::INT, range: Some((low, high)) }
}

const fn either(name: &'static str) -> Name {
    Name { name, places: INT_OR_STRING, range: None }
}

/// All formats, in the order of the documentation.
pub static FORMATS: &[Name] = &[
    text("k8s-short-name"),
    text("k8s-long-name"),
    text("k8s-long-name-caseless"),
    text("k8s-label-key"),
    text("k8s-prefixed-label-key"),
    text("k8s-label-value"),
    text("k8s-label-value-at-once"),
    text("k8s-path-segment-name"),
    text("k8s-uuid"),
    text("dns1123-label"),
    text("dns1123-subdomain"),
    text("dns1035-label"),
    text("c-identifier"),
    text("config-map-key"),
    text("env-var-name"),
    text("http-header-name"),
    text("port-name"),
    text("ip"),
    text("cidr"),
    number("port", 1, 65535),
    either("port-or-name"),
    number("user-id", 0, 0x7fff_ffff),
    number("file-mode", 0, 0o777),
    text("relaxed-env-var-name"),
    text("path-no-backsteps"),
    text("legacy-ip"),
    text("strict-legacy-ip"),
    number("positive", 1, NO_END),
    number("positive-int32", 1, 0x7fff_ffff),
    number("weight", 1, 100),
    either("int-or-percent"),
    either("at-most-100-percent"),
    number("zero-or-more", 0, NO_END),
    number("byte", 0, 255),
    number("disk-partition", 0, 255),
    text("relative-path"),
    text("unreserved-path"),
    text("absolute-path"),
    text("plain-url-path"),
    text("dns-name-of-host"),
    text("dns1123-subdomain-or-wildcard"),
    text("ingress-host"),
    text("endpoint-ip"),
    text("rooted-dns1123-subdomain"),
    text("dns1123-subdomain-prefix"),
    text("cron-schedule"),
    text("time-zone"),
    text("semantic-version"),
    text("trimmed"),
    text("csi-driver-name"),
    text("qualified-name-caseless"),
    text("unreserved-option"),
    text("sysctl-name"),
    text("iscsi-name"),
    text("iscsi-name-of-known-kind"),
    text("decimal-integer"),
];

/// The format of a name.
pub fn find(name: &str) -> Option<&'static Name> {
    FORMATS.iter().find(|format| format.name == name)
}
