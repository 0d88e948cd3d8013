//! The headers by which a client impersonates another user.
//!
//! They are removed from the request once they are read: later steps must not depend on them.

use http::{HeaderMap, HeaderName};
use pintle_auth::authentication::unescaped_key;
use pintle_auth::{Str, UserInfo};
use pintle_registry::Status;
use pintle_schema::names::quoted;
use std::collections::BTreeMap;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// The user that the client impersonates, if any. `constrained` selects the wording of errors.
///
/// # Errors
/// 400 for a part of a user without a name, and for a value that is no text.
pub fn take(headers: &mut HeaderMap, constrained: bool) -> Result<Option<UserInfo>, Status> {
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let values = |name: &str| -> Result<Vec<Str>, Status> {
        let texts = headers.get_all(name).into_iter().map(|value| std::str::from_utf8(value.as_bytes()).map(Str::from));
        texts.collect::<Result<_, _>>().map_err(|_| Status::bad_request(format!("header {name} is not valid UTF-8")))
    };
    let first = |name: &str| values(name).map(|values| values.into_iter().next().unwrap_or_default());
    let mut extra: BTreeMap<Str, Vec<Str>> = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            extra.entry(unescaped_key(key).into()).or_default().extend(values(name.as_str())?);
        }
    }
    let wanted =
        UserInfo { name: first(USER)?, uid: first(UID)?, groups: values(GROUP)?, extra: extra.into_iter().collect() };
    if wanted.name.is_empty() {
        let nothing = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        return if nothing { Ok(None) } else { Err(Status::bad_request(nameless(&wanted, constrained))) };
    }
    let own = |name: &&HeaderName| [USER, UID, GROUP].contains(&name.as_str()) || name.as_str().starts_with(EXTRA);
    let own: Vec<HeaderName> = headers.keys().filter(own).cloned().collect();
    for name in own {
        headers.remove(name);
    }
    Ok(Some(wanted))
}

/// The requested user, formatted as Go does.
fn nameless(wanted: &UserInfo, constrained: bool) -> String {
    let references = |kind: &str, version: &str, names: &[Str], path: &str| -> Vec<String> {
        names.iter().map(|name| format!("{{{kind}  {name}  {version}  {path}}}")).collect()
    };
    if !constrained {
        let version = "authentication.k8s.io/v1";
        let mut asked = references("Group", "", &wanted.groups, "");
        wanted.extra.iter().for_each(|(key, values)| asked.extend(references("UserExtra", version, values, key)));
        if !wanted.uid.is_empty() {
            asked.extend(references("UID", version, std::slice::from_ref(&wanted.uid), ""));
        }
        return format!("requested [{}] without impersonating a user", asked.join(" "));
    }
    let list = |values: &[Str]| {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        format!("[]string{{{}}}", values.join(", "))
    };
    let groups = if wanted.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&wanted.groups) };
    let extra: Vec<String> =
        wanted.extra.iter().map(|(key, values)| format!("{}:{}", quoted(key), list(values))).collect();
    let extra = if extra.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", extra.join(", ")) };
    let uid = quoted(&wanted.uid);
    format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{uid}, Groups:{groups}, Extra:map[string][]string{extra}}} without \
         impersonating a user name"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (name.parse::<HeaderName>().expect("a name"), HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn the_user_is_read_and_the_headers_are_gone() {
        let mut headers = headers(&[
            ("Impersonate-User", "jörg"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Uid", "1"),
            ("Impersonate-Extra-Acme.com%2Fproject", "p"),
            ("Impersonate-Extra-50%", "v"),
            ("Accept", "*/*"),
        ]);
        let user = take(&mut headers, true).expect("well formed").expect("somebody");
        assert_eq!((&*user.name, &*user.uid), ("jörg", "1"));
        assert_eq!(user.groups, ["a", "b"]);
        let extra: Vec<_> = user.extra.iter().map(|(key, values)| (&**key, &*values[0])).collect();
        assert_eq!(extra, [("50%", "v"), ("acme.com/project", "p")]);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
        assert!(take(&mut headers, true).expect("well formed").is_none());
    }

    #[test]
    fn impersonation_without_a_user_is_rejected() {
        let rows = [
            (
                "Impersonate-Group",
                "g",
                "{Group  g    }",
                r#"UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}"#,
            ),
            (
                "Impersonate-Extra-A",
                "b",
                "{UserExtra  b  authentication.k8s.io/v1  a}",
                r#"UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"b"}}}"#,
            ),
        ];
        for (name, value, references, printed) in rows {
            let message = |constrained| take(&mut headers(&[(name, value)]), constrained).expect_err("no name").message;
            let printed =
                format!(r#"requested &user.DefaultInfo{{Name:"", {printed} without impersonating a user name"#);
            assert_eq!(message(true), printed);
            assert_eq!(message(false), format!("requested [{references}] without impersonating a user"));
        }
    }
}
