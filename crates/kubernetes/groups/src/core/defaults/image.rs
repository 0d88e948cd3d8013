//! Reading the name of a container image as far as its tag is concerned.
//!
//! A name is valid exactly where the registries' own grammar has it so; an invalid one has no tag.

/// Whether an image has the tag `latest`, or neither a tag nor a digest.
pub fn is_latest(image: &str) -> bool {
    match parse(image) {
        Some(Name { tag: Some(tag), .. }) => tag == "latest",
        Some(Name { digest, .. }) => !digest,
        None => false,
    }
}

/// The tag and digest of an image.
struct Name<'a> {
    tag: Option<&'a str>,
    digest: bool,
}

/// Longest name of a repository.
const MOST_BYTES: usize = 255;

const DEFAULT_DOMAIN: &str = "docker.io";

fn parse(image: &str) -> Option<Name<'_>> {
    // A bare digest is an identifier, not a name.
    if image.len() == 64 && image.bytes().all(is_lower_hex) {
        return None;
    }
    let (domain, remainder) = split_domain(image);
    let (path, rest) = remainder.split_at(remainder.find([':', '@']).unwrap_or(remainder.len()));
    let (tag, digest) = match rest.split_once('@') {
        Some((tag, digest)) => (tag, Some(digest)),
        None => (rest, None),
    };
    let tag = match tag.strip_prefix(':') {
        Some(tag) => Some(Some(tag).filter(|tag| is_tag(tag))?),
        None if tag.is_empty() => None,
        None => return None,
    };
    if !digest.is_none_or(is_digest) || !path.split('/').all(is_path_component) {
        return None;
    }
    let in_library = domain == DEFAULT_DOMAIN && !path.contains('/');
    let path_bytes = path.len() + if in_library { "library/".len() } else { 0 };
    (path_bytes <= MOST_BYTES && (is_domain(domain) || is_path_component(domain)))
        .then_some(Name { tag, digest: digest.is_some() })
}

/// The registry and the rest; what comes before the first slash is a registry only when it looks like one.
fn split_domain(image: &str) -> (&str, &str) {
    match image.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':']) || first == "localhost" || first.bytes().any(|b| b.is_ascii_uppercase()) =>
        {
            (if first == "index.docker.io" { DEFAULT_DOMAIN } else { first }, rest)
        }
        _ => (DEFAULT_DOMAIN, image),
    }
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            if address.is_empty() || !address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') {
                return false;
            }
            ("", rest)
        }
        None => domain.split_at(domain.find(':').unwrap_or(domain.len())),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let bracketed = domain.starts_with('[');
    let port_ok = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    port_ok && (bracketed || host.split('.').all(is_label))
}

/// Lower case letters and digits, joined by a dot, one or two underscores, or dashes.
fn is_path_component(component: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = component.as_bytes();
    if !bytes.first().is_some_and(|b| is_word(*b)) || !bytes.last().is_some_and(|b| is_word(*b)) {
        return false;
    }
    bytes
        .split(|b| is_word(*b))
        .filter(|separator| !separator.is_empty())
        .all(|separator| matches!(separator, b"." | b"_" | b"__") || separator.iter().all(|b| *b == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|b| is_word(b) || b == b'.' || b == b'-')
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.bytes().all(is_lower_hex)
}

fn is_lower_hex(b: u8) -> bool {
    b.is_ascii_digit() || (b'a'..=b'f').contains(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_is_what_moves() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let rows = [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.25", false),
            ("library/nginx", true),
            ("registry.example.com/app", true),
            ("registry.example.com:5000/app", true),
            ("registry.example.com:5000/app:v1", false),
            ("localhost:5000", false),
            ("localhost/app", true),
            ("[fd00::1]:5000/app", true),
            ("Registry/app", true),
            ("", false),
            ("Nginx", false),
            ("app/Nginx", false),
            ("a//b", false),
            ("a/", false),
            ("a..b", false),
            ("a__b", true),
            ("a___b", false),
            ("a--b", true),
            ("a:", false),
            ("a:-x", false),
            ("a b", false),
            ("foo_bar.x/img", true),
            ("-x.y/img", false),
            ("a@sha256:0a", false),
        ];
        for (image, wanted) in rows {
            assert_eq!(is_latest(image), wanted, "{image}");
        }
        assert!(!is_latest(&format!("nginx@{digest}")));
        assert!(!is_latest(&format!("nginx:1@{digest}")));
        assert!(is_latest(&format!("nginx:latest@{digest}")));
        assert!(!is_latest(&"0a".repeat(32)));
        assert!(is_latest(&"a".repeat(247)));
        assert!(!is_latest(&"a".repeat(248)));
    }
}
