//! Names of drivers, pools, attributes and requests.

use crate::rules::invalid_each;
use pintle_schema::names;
use pintle_validation::{FieldPath, ValidationContext};

const MAX_DRIVER: usize = 63;
const MAX_POOL: usize = 253;
const MAX_IDENTIFIER: usize = 32;

/// The name of a driver: a domain in either case.
pub fn driver(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if name.is_empty() {
        cx.errors.required(path, "");
    }
    if name.len() > MAX_DRIVER {
        cx.errors.too_long(path, MAX_DRIVER);
    }
    if !name.is_empty() {
        invalid_each(name, names::dns1123_subdomain(&name.to_lowercase()), path, cx);
    }
}

/// The name of a pool: domains, one below the other.
pub fn pool(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if name.is_empty() {
        return cx.errors.required(path, "");
    }
    if name.len() > MAX_POOL {
        cx.errors.too_long(path, MAX_POOL);
    }
    for part in name.split('/') {
        invalid_each(part, names::dns1123_subdomain(part), path, cx);
    }
}

/// The same, reported for the segment.
pub fn pool_in_segments(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if name.len() > MAX_POOL {
        cx.errors.too_long(path, MAX_POOL);
    }
    for (at, part) in name.split('/').enumerate() {
        let messages = match part {
            "" => vec!["must not be empty".to_owned()],
            part => names::dns1123_subdomain(part),
        };
        let messages = messages.into_iter().map(|message| format!("segment {at}: {message}")).collect();
        invalid_each(name, messages, path, cx);
    }
}

fn identifier(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if name.len() > MAX_IDENTIFIER {
        cx.errors.too_long(path, MAX_IDENTIFIER);
    }
    invalid_each(name, names::c_identifier(name), path, cx);
}

/// An identifier, in a domain or not.
pub fn qualified(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    match name.split_once('/') {
        None => identifier(name, path, cx),
        Some((_, rest)) if rest.contains('/') => {}
        Some((domain, own)) => {
            match domain {
                "" => cx.errors.invalid(path, "", "the domain must not be empty"),
                domain => driver(domain, path, cx),
            }
            match own {
                "" => cx.errors.invalid(path, "", "the name must not be empty"),
                own => identifier(own, path, cx),
            }
        }
    }
}

/// An identifier in a domain.
pub fn fully_qualified(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    qualified(name, path, cx);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        cx.errors.invalid(path, name, detail);
    }
}

/// The name of a share: a UUID in its usual form.
pub fn share(id: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    // Other forms that kube-apiserver reads: in braces, as a URN, without dashes.
    if !matches!(id.len(), 32 | 36 | 38 | 45) {
        let detail = format!("error validating uid: invalid UUID length: {}", id.len());
        return cx.errors.invalid(path, id, detail);
    }
    if !names::uuid(&id.to_ascii_lowercase()).is_empty() && id.len() == 36 {
        return cx.errors.invalid(path, id, "error validating uid: invalid UUID format");
    }
    if id.len() != 36 || id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let detail = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase \
                      hexadecimal characters";
        cx.errors.invalid(path, id, detail);
    }
}
