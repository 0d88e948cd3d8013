//! Rules of how a webhook is reached: by a URL, or through a service.

use crate::rules::invalid_each;
use pintle_schema::names;
use pintle_types::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use pintle_validation::{At, FieldPath, ValidationContext};

/// One of the two ways.
pub fn config(config: At<'_, WebhookClientConfig>, cx: &mut ValidationContext<'_>) {
    type Config = WebhookClientConfig;
    let (web, service) = (config.new.field(Config::URL).some(), config.new.field(Config::SERVICE).is_set());
    match (web, service) {
        (Some(address), false) => url(address.as_str(), &config.path.to(Config::URL), cx),
        (None, true) => config.field(Config::SERVICE, |service| {
            if let Some(service) = service.some() {
                reference(service, cx);
            }
        }),
        _ => cx.errors.required(config.path, "exactly one of url or service is required"),
    }
}

const FORM: &str = "; desired format: https://host[/path]";

/// A plain address of a host, by HTTPS.
fn url(text: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let url = Url::of(text);
    if url.scheme != "https" {
        cx.errors.invalid(path, &*url.scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        cx.errors.invalid(path, "", format!("host must be specified{FORM}"));
    }
    let parts = [
        (url.user, "user information is not permitted in the URL"),
        (url.fragment, "fragments are not permitted in the URL"),
        (url.query, "query parameters are not permitted in the URL"),
    ];
    for (part, detail) in parts {
        if !part.is_empty() {
            cx.errors.invalid(path, part, detail);
        }
    }
}

/// The parts of a URL that are looked at.
struct Url<'a> {
    scheme: String,
    user: &'a str,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Url<'a> {
    fn of(text: &'a str) -> Url<'a> {
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

fn reference(service: At<'_, ServiceReference>, cx: &mut ValidationContext<'_>) {
    // The reference takes the one for the other.
    let told =
        [(ServiceReference::NAMESPACE, ServiceReference::NAME), (ServiceReference::NAME, ServiceReference::NAMESPACE)];
    for (field, told) in told {
        if service.new.field(field).as_str().is_empty() {
            cx.errors.required(service.path.to(told), "");
        }
    }
    let port = service.new.field(ServiceReference::PORT).get().unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        cx.errors.invalid(service.path.to(ServiceReference::PORT), port, detail);
    }
    if let Some(path) = service.new.field(ServiceReference::PATH).some() {
        url_path(path.as_str(), &service.path.to(ServiceReference::PATH), cx);
    }
}

/// Segments that are names.
fn url_path(text: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        return cx.errors.invalid(path, text, "segment[0] may not be empty");
    }
    if !text.starts_with('/') {
        cx.errors.invalid(path, text, "must start with a '/'");
    }
    let mut letters = text.chars();
    letters.next();
    let rest = letters.as_str();
    for (at, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            cx.errors.invalid(path, text, format!("segment[{at}] may not be empty"));
            continue;
        }
        let messages = names::dns1123_subdomain(segment);
        let messages = messages.into_iter().map(|message| format!("segment[{at}]: {message}")).collect();
        invalid_each(text, messages, path, cx);
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
