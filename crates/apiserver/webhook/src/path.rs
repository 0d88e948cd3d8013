//! Paths and texts of URLs in the format of Go's `path` and `net/url`. Guarantees that the URL of a call in errors is the one
//! that kube-apiserver prints. Must never affect where a request goes.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that Go escapes in a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// The characters that Go takes in a URL, but that no URL has.
const NEVER: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// The shortest path from the root that leads to the same place, without a slash at its end.
pub(crate) fn clean(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Escapes what no URL has, as a URL that was written by hand may have it in its path.
pub(crate) fn escape_invalid(url: &str) -> String {
    utf8_percent_encode(url, NEVER).to_string()
}

/// Escapes a decoded path.
pub(crate) fn escape(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// Decodes the path of a URL; bytes that are no text are replaced.
pub(crate) fn unescape(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, expected) in [("", "/"), ("/", "/"), ("/a/", "/a"), ("a//b/./c/../d", "/a/b/d"), ("/../..", "/")] {
            assert_eq!(clean(path), expected);
        }
        assert_eq!(escape_invalid("https://a:1/b c/ü%20?d=e"), "https://a:1/b%20c/%C3%BC%20?d=e");
        assert_eq!(escape(&unescape("/a%20b/c%2Fd/ü!")), "/a%20b/c/d/%C3%BC%21");
    }
}
