//! The headers with the user of a request to an extension server. Guarantees that none of these headers comes from the
//! client.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use pintle_auth::UserInfo;

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const EXTRA_PREFIX: &str = "x-remote-extra-";

/// A part of a user that a header cannot express. Without it the request would be that of another user.
#[derive(Debug, thiserror::Error)]
#[error("the {0} of the user cannot be sent in a header")]
pub struct InvalidIdentity(&'static str);

/// Replaces the headers of a front proxy by those of a user.
///
/// # Errors
/// The name, a group or another part of the user cannot be sent.
pub fn assert(headers: &mut HeaderMap, user: &UserInfo, with_uid: bool) -> Result<(), InvalidIdentity> {
    let asserts = |name: &HeaderName| [USER, UID, GROUP].contains(name) || name.as_str().starts_with(EXTRA_PREFIX);
    let old: Vec<HeaderName> = headers.keys().filter(|name| asserts(name)).cloned().collect();
    old.iter().for_each(|name| drop(headers.remove(name)));
    let mut append = |name: HeaderName, value: &str, what| {
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| InvalidIdentity(what))?;
        headers.append(name, value);
        Ok(())
    };
    append(USER, &user.name, "name")?;
    if with_uid && !user.uid.is_empty() {
        append(UID, &user.uid, "uid")?;
    }
    user.groups.iter().try_for_each(|group| append(GROUP, group, "group"))?;
    for (key, values) in &user.extra {
        let name = HeaderName::try_from(format!("{EXTRA_PREFIX}{}", escape(key)));
        let name = name.map_err(|_| InvalidIdentity("extra key"))?;
        values.iter().try_for_each(|value| append(name.clone(), value, "extra value"))?;
    }
    Ok(())
}

/// A key as part of a header's name: bytes that are invalid in a name are escaped, and so is `%`.
fn escape(key: &str) -> String {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        if is_legal(byte) {
            out.push(char::from(byte.to_ascii_lowercase()));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_clients_are_replaced() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-remote-user", "root"),
            ("x-remote-uid", "0"),
            ("x-remote-group", "system:masters"),
            ("x-remote-extra-scopes", "all"),
            ("x-remote-extra-other", "x"),
            ("x-other", "stays"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let extra = [("example.com/Key%", vec!["v"]), ("scopes", vec!["a", "b"])];
        let extra = extra.map(|(key, values)| (key.into(), values.into_iter().map(Into::into).collect()));
        let user = UserInfo {
            name: "jane".into(),
            uid: "u7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: extra.into_iter().collect(),
        };
        assert(&mut headers, &user, true).expect("valid");
        let all = |name: &str| headers.get_all(name).iter().map(|v| v.to_str().unwrap_or("")).collect::<Vec<_>>();
        assert_eq!(all("x-remote-user"), ["jane"]);
        assert_eq!(all("x-remote-uid"), ["u7"]);
        assert_eq!(all("x-remote-group"), ["a", "b"]);
        assert_eq!(all("x-remote-extra-example.com%2fkey%25"), ["v"]);
        assert_eq!(all("x-remote-extra-scopes"), ["a", "b"]);
        assert!(all("x-remote-extra-other").is_empty());
        assert_eq!(all("x-other"), ["stays"]);
        assert(&mut headers, &user, false).expect("valid");
        assert!(!headers.contains_key("x-remote-uid"));
        for invalid in [
            UserInfo { name: "jane\nroot".into(), ..UserInfo::default() },
            UserInfo { groups: vec!["a\0".into()], ..UserInfo::default() },
        ] {
            assert!(assert(&mut headers, &invalid, false).is_err());
        }
    }
}
