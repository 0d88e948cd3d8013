//! Bootstrap tokens: the credentials of a new node until it has a certificate. Each is kept in a secret named after its id.
//! Guarantees that a token that has no secret, is expired or is for another use authenticates nobody.
//! Must never reveal which part of a token was right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_schema::Time;
use ring::digest::{SHA256, digest};

use pintle_auth::authentication::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use pintle_auth::{Str, UserInfo};
use pintle_resource::MaybeReady;

/// The namespace that the secrets are in.
pub const NAMESPACE: &str = "kube-system";
/// The type of the secrets.
pub const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";

const NAME_PREFIX: &str = "bootstrap-token-";
const USER_PREFIX: &str = "system:bootstrap:";
const GROUP: &str = "system:bootstrappers";
const GROUP_PREFIX: &str = "system:bootstrappers:";
const MAX_GROUP: usize = 256;
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;

/// Gives the secrets of bootstrap tokens.
pub trait TokenSecrets: Send + Sync {
    /// The data of a secret of the namespace and type, unless it is being deleted.
    fn data(&self, name: &str) -> Option<BTreeMap<String, Vec<u8>>>;
}

/// Authenticates bootstrap tokens.
pub struct BootstrapTokens(pub Box<dyn TokenSecrets>);

impl Authenticator for BootstrapTokens {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let user = request.bearer_token.and_then(|token| user(&*self.0, token, request.now));
        MaybeReady::Ready(Ok(user.map(Identity::of)))
    }
}

/// The user of a token; `None` when it is no valid bootstrap token.
fn user(secrets: &dyn TokenSecrets, token: &[u8], now: SystemTime) -> Option<Arc<UserInfo>> {
    let (id, secret) = str::from_utf8(token).ok()?.split_once('.')?;
    let is_word = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !is_word(id, ID_LENGTH) || !is_word(secret, SECRET_LENGTH) {
        return None;
    }
    let data = secrets.data(&format!("{NAME_PREFIX}{id}"))?;
    // A value that is not UTF-8 must not be treated as missing.
    let text = |key: &str| data.get(key).map_or("", |value| str::from_utf8(value).unwrap_or("\u{fffd}"));
    // Comparing hashes reveals nothing through its duration.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    let is_valid = hash(text("token-secret")).as_ref() == hash(secret).as_ref()
        && text("token-id") == id
        && !is_expired(text("expiration"), now)
        && text("usage-bootstrap-authentication") == "true";
    if !is_valid {
        return None;
    }
    let mut groups = BTreeSet::from([GROUP]);
    let more = text("auth-extra-groups");
    for group in more.split(',').filter(|_| !more.is_empty()) {
        groups.insert(Some(group).filter(|group| is_bootstrap_group(group))?);
    }
    let groups = groups.into_iter().map(Str::new).collect();
    Some(Arc::new(
        UserInfo { name: format!("{USER_PREFIX}{id}").into(), groups, ..UserInfo::default() }.authenticated(),
    ))
}

/// A malformed time counts as expired.
fn is_expired(expiration: &str, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    !expiration.is_empty() && Time::parse(expiration).map_or(true, |until| until.seconds <= now)
}

/// Tokens cannot put a user into groups of other prefixes, which may have more rights.
fn is_bootstrap_group(group: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    group.strip_prefix(GROUP_PREFIX).is_some_and(|rest| {
        (1..=MAX_GROUP).contains(&rest.len())
            && rest.bytes().all(|byte| is_part(byte) || matches!(byte, b':' | b'-'))
            && rest.bytes().last().is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct One(BTreeMap<String, Vec<u8>>);

    impl TokenSecrets for One {
        fn data(&self, name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
            (name == "bootstrap-token-abcdef").then(|| self.0.clone())
        }
    }

    #[test]
    fn tokens_and_their_secrets() {
        let good =
            [("token-id", "abcdef"), ("token-secret", "0123456789abcdef"), ("usage-bootstrap-authentication", "true")];
        let token = "abcdef.0123456789abcdef";
        let extra = ("auth-extra-groups", "system:bootstrappers:kubeadm:x,system:bootstrappers:a");
        // (token, what else the secret says, the groups)
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a [&'a str]>);
        let rows: [Row<'_>; 16] = [
            (token, &[], Some(&["system:bootstrappers", "system:authenticated"])),
            (
                token,
                &[extra],
                Some(&[
                    "system:bootstrappers",
                    "system:bootstrappers:a",
                    "system:bootstrappers:kubeadm:x",
                    "system:authenticated",
                ]),
            ),
            (token, &[("expiration", "2001-01-01T00:00:01Z")], Some(&["system:bootstrappers", "system:authenticated"])),
            (token, &[("expiration", "2001-01-01T00:00:00Z")], None),
            (token, &[("expiration", "tomorrow")], None),
            (token, &[("usage-bootstrap-authentication", "yes")], None),
            (token, &[("token-id", "abcdeg")], None),
            (token, &[("auth-extra-groups", "system:masters")], None),
            (token, &[("auth-extra-groups", "system:bootstrappers:a-")], None),
            (token, &[("auth-extra-groups", "system:bootstrappers:a, system:bootstrappers:b")], None),
            (token, &[("auth-extra-groups", "system:bootstrappers:a,")], None),
            (token, &[("auth-extra-groups", "system:bootstrappers:a\nsystem:masters")], None),
            ("abcdef.0123456789abcdee", &[], None),
            ("abcdeg.0123456789abcdef", &[], None),
            ("ABCDEF.0123456789abcdef", &[], None),
            ("abcdef0123456789abcdef", &[], None),
        ];
        let now = UNIX_EPOCH + Duration::from_secs(978_307_200);
        for (token, more, groups) in rows {
            let data = good.iter().chain(more).map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
            let user = user(&One(data.collect()), token.as_bytes(), now);
            let found = user.as_ref().map(|user| user.groups.iter().map(Str::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), groups, "{token} {more:?}");
            assert!(user.is_none_or(|user| user.name == "system:bootstrap:abcdef"));
        }
        for key in ["expiration", "auth-extra-groups"] {
            let mut data: BTreeMap<_, _> = good.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into();
            data.insert(key.to_owned(), b"\xff".to_vec());
            assert_eq!(super::user(&One(data), token.as_bytes(), now), None, "{key}");
        }
    }
}
