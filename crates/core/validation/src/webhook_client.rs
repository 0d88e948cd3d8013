//! How a webhook may be reached: the URL or the service that a configuration names, checked in kube-apiserver's words.
//!
//! Called for admission webhooks and for conversion webhooks of custom resources. Must never resolve or dial anything.

use crate::error::ErrorList;
use crate::path::FieldPath;
use pintle_schema::{Value, names};

const FORM: &str = "; desired format: https://host[/path]";

/// A plain address of a host, by HTTPS. The outcome of parsing it says why it is no URL.
pub fn url(text: &str, parsed: Result<(), String>, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if let Err(why) = parsed {
        return errors.required(path, format!("url must be a valid URL: {why}{FORM}"));
    }
    let url = Url::of(text);
    if url.scheme != "https" {
        errors.invalid(path, &*url.scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        errors.invalid(path, "", format!("host must be specified{FORM}"));
    }
    let parts = [
        (url.user, "user information is not permitted in the URL"),
        (url.fragment, "fragments are not permitted in the URL"),
        (url.query, "query parameters are not permitted in the URL"),
    ];
    for (part, detail) in parts {
        if !part.is_empty() {
            errors.invalid(path, part, detail);
        }
    }
}

/// The parts of a URL that are looked at.
pub struct Url<'a> {
    pub scheme: String,
    pub user: &'a str,
    pub host: &'a str,
    pub query: &'a str,
    pub fragment: &'a str,
}

impl<'a> Url<'a> {
    pub fn of(text: &'a str) -> Url<'a> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let is_scheme = |scheme: &&str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        let (scheme, rest) = match text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => (String::new(), text),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Url { scheme, user, host, query, fragment }
    }
}

/// The service that a webhook is behind.
pub struct Service<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub port: i64,
    pub path: Option<&'a str>,
}

/// A service by its name and namespace, with a port and a path of plain segments.
pub fn service(service: &Service<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
    // kube-apiserver takes the one for the other.
    for (value, named) in [(service.namespace, "name"), (service.name, "namespace")] {
        if value.is_empty() {
            errors.required(path.child(named), "");
        }
    }
    if !(1..=65535).contains(&service.port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(path.child("port"), service.port, detail);
    }
    if let Some(text) = service.path {
        url_path(text, &path.child("path"), errors);
    }
}

/// Segments that are names.
fn url_path(text: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        return errors.invalid(path, text, "segment[0] may not be empty");
    }
    if !text.starts_with('/') {
        errors.invalid(path, text, "must start with a '/'");
    }
    let mut letters = text.chars();
    letters.next();
    let rest = letters.as_str();
    for (at, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            errors.invalid(path, text, format!("segment[{at}] may not be empty"));
            continue;
        }
        let messages = names::dns1123_subdomain(segment);
        errors.invalid_each(
            path,
            &Value::from(text),
            messages.into_iter().map(|message| format!("segment[{at}]: {message}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn parts() {
        let url = Url::of("HTTPS://u:p@h:1/p?q=1#f");
        assert_eq!(
            (url.scheme.as_str(), url.user, url.host, url.query, url.fragment),
            ("https", "u:p", "h:1", "q=1", "f")
        );
        let bare = Url::of("h/p");
        assert_eq!((bare.scheme.as_str(), bare.host), ("", ""));
    }
}
