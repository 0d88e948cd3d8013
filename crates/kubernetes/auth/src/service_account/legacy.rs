//! Legacy service account tokens: tokens without an expiration that are kept in secrets.
//! Guarantees that such a token is valid only while its secret holds it, its account is the same, and the secret is not marked
//! as invalid. Must never write: that a token was used is reported to the caller.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pintle_schema::{Time, Value};
use ring::digest::{SHA256, digest};

use super::claims::{audiences, text};
use super::{BoundKind, BoundObjects, ObjectRef, TokenStats};
use pintle_auth::{Str, users};

/// The issuer of legacy tokens.
pub const ISSUER: &str = "kubernetes/serviceaccount";
/// The label of a secret whose token is refused, since the date that is its value.
pub const INVALID_SINCE_LABEL: &str = "kubernetes.io/legacy-token-invalid-since";
/// The label with the date of the last use.
pub const LAST_USED_LABEL: &str = "kubernetes.io/legacy-token-last-used";

const AUTO_GENERATED_WARNING: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of \
                                      auto-generated secret-based tokens.";
const INVALIDATED: &str = "Token has been invalidated";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A secret that holds a legacy token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSecret {
    pub uid: Str,
    pub is_terminating: bool,
    pub token: Vec<u8>,
    /// The values of the labels; empty without them.
    pub invalid_since: Str,
    pub last_used: Str,
}

/// A use of a legacy token that its secret's label does not have yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedSecret {
    pub namespace: Str,
    pub name: Str,
    pub uid: Str,
    /// The date to write, in UTC.
    pub date: String,
}

/// The claims of a legacy token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LegacyClaims {
    pub audiences: Vec<Str>,
    pub subject: Str,
    pub namespace: Str,
    pub secret: Str,
    pub account: ObjectRef,
}

impl LegacyClaims {
    /// The bytes that the claims take on the heap, at most.
    pub(super) fn heap_bytes(&self) -> usize {
        let texts = [&self.subject, &self.namespace, &self.secret];
        texts.iter().map(|text| text.len()).sum::<usize>()
            + self.account.heap_bytes()
            + pintle_auth::heap_bytes(&self.audiences)
    }

    /// # Errors
    /// A claim has the wrong form.
    pub(super) fn from_value(payload: &Value) -> Result<LegacyClaims, String> {
        let private = |name: &str| text(payload.get(&format!("kubernetes.io/serviceaccount/{name}")));
        Ok(LegacyClaims {
            audiences: audiences(payload)?,
            subject: text(payload.get("sub"))?,
            namespace: private("namespace")?,
            secret: private("secret.name")?,
            account: ObjectRef { name: private("service-account.name")?, uid: private("service-account.uid")? },
        })
    }

    /// Whether everything that the token names still exists. `used` is set for refused tokens, too.
    pub(super) fn validate(
        &self,
        objects: &dyn BoundObjects,
        token: &[u8],
        now: SystemTime,
        stats: &TokenStats,
        warnings: &mut Vec<&'static str>,
        used: &mut Option<UsedSecret>,
    ) -> Result<(), String> {
        let LegacyClaims { subject, namespace, secret: name, account, .. } = self;
        let required = [
            ("sub", subject),
            ("namespace", namespace),
            ("secretName", name),
            ("serviceAccountName", &account.name),
            ("serviceAccountUID", &account.uid),
        ];
        if let Some((claim, _)) = required.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("{claim} claim is missing"));
        }
        if users::as_service_account(subject) != Some((namespace.as_str(), account.name.as_str())) {
            return Err("sub claim is invalid".to_owned());
        }
        let secret = objects.token_secret(namespace, name).filter(|secret| !secret.is_terminating);
        let secret = secret.ok_or(INVALIDATED)?;
        // Comparing digests takes the same time wherever the texts differ.
        if digest(&SHA256, &secret.token).as_ref() != digest(&SHA256, token).as_ref() {
            return Err("Token does not match server's copy".to_owned());
        }
        let found = objects.find(BoundKind::ServiceAccount, namespace, &account.name);
        let found = found.ok_or_else(|| format!("serviceaccounts \"{}\" not found", account.name))?;
        if found.deleted.is_some() {
            return Err(format!("ServiceAccount {namespace}/{} has been deleted", account.name));
        }
        if found.uid != account.uid {
            return Err(format!("ServiceAccount UID ({}) does not match claim ({})", found.uid, account.uid));
        }
        *used = self.used(&secret, now);
        if !secret.invalid_since.is_empty() {
            stats.invalidated.increment();
            return Err(format!(
                "the token in secret {namespace}/{name} for service account {namespace}/{} has been marked invalid. Use tokens \
                 from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE_LABEL}' label \
                 from the secret to temporarily allow use of this token",
                account.name
            ));
        }
        // Controllers list the secrets that they make in the account.
        if objects.account_secrets(namespace, &account.name).contains(name) {
            warnings.push(AUTO_GENERATED_WARNING);
            stats.auto_generated.increment();
        } else {
            stats.manually_created.increment();
        }
        Ok(())
    }

    /// The use, unless the label has it. The clock of another server may be a day ahead.
    fn used(&self, secret: &TokenSecret, now: SystemTime) -> Option<UsedSecret> {
        let (today, tomorrow) = (date(now), date(now + DAY));
        let is_shown = secret.last_used == today || secret.last_used == tomorrow;
        let (namespace, name, uid) = (self.namespace.clone(), self.secret.clone(), secret.uid.clone());
        (!is_shown).then_some(UsedSecret { namespace, name, uid, date: today })
    }
}

/// A day in UTC.
fn date(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut text = Time::from_seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX)).to_rfc3339();
    text.truncate(text.find('T').unwrap_or(text.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_account::BoundObject;
    use futures_util::future::BoxFuture;
    use pintle_schema::value;

    /// A secret `t` of an account `s`, whose uid is `u`; a secret `d` and an account `d` that are going away.
    #[derive(Default)]
    struct Objects {
        invalid_since: &'static str,
        last_used: &'static str,
        is_listed: bool,
    }

    impl BoundObjects for Objects {
        fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject> {
            let is_there = kind == BoundKind::ServiceAccount && namespace == "n" && matches!(name, "s" | "d");
            is_there.then(|| BoundObject { uid: "u".into(), deleted: (name == "d").then_some(1) })
        }

        fn token_secret(&self, namespace: &str, name: &str) -> Option<TokenSecret> {
            (namespace == "n" && matches!(name, "t" | "d")).then(|| TokenSecret {
                uid: "v".into(),
                is_terminating: name == "d",
                token: b"a.b.c".to_vec(),
                invalid_since: self.invalid_since.into(),
                last_used: self.last_used.into(),
            })
        }

        fn account_secrets(&self, _: &str, _: &str) -> Vec<Str> {
            if self.is_listed { vec!["t".into()] } else { vec!["other".into()] }
        }

        fn record_use(&self, _: UsedSecret) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    /// The claims of the good token, with one of them replaced.
    fn claims(replaced: &str, by: &str) -> LegacyClaims {
        let mut payload = value!({"iss": ISSUER, "sub": "system:serviceaccount:n:s"});
        for (name, value) in
            [("namespace", "n"), ("secret.name", "t"), ("service-account.name", "s"), ("service-account.uid", "u")]
        {
            payload.set_at(&[&format!("kubernetes.io/serviceaccount/{name}")], value);
        }
        if replaced == "sub" {
            payload.set_at(&["sub"], by);
        } else if !replaced.is_empty() {
            payload.set_at(&[&format!("kubernetes.io/serviceaccount/{replaced}")], by);
        }
        LegacyClaims::from_value(&payload).expect("claims")
    }

    /// 2026-11-23, an hour before midnight.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_795_474_800)
    }

    type Found = (Vec<&'static str>, Option<UsedSecret>);

    fn validate(claims: &LegacyClaims, objects: &Objects) -> (Result<(), String>, Found, [u64; 3]) {
        let (stats, mut warnings, mut used) = (TokenStats::default(), Vec::new(), None);
        let outcome = claims.validate(objects, b"a.b.c", now(), &stats, &mut warnings, &mut used);
        let TokenStats { auto_generated, manually_created, invalidated, .. } = &stats;
        (outcome, (warnings, used), [auto_generated.get(), manually_created.get(), invalidated.get()])
    }

    #[test]
    fn objects_of_a_token_must_exist() {
        let mut account_gone = claims("service-account.name", "d");
        account_gone.subject = "system:serviceaccount:n:d".into();
        let mut no_account = claims("service-account.name", "x");
        no_account.subject = "system:serviceaccount:n:x".into();
        let rows = [
            (claims("", ""), ""),
            (claims("sub", ""), "sub claim is missing"),
            (claims("namespace", ""), "namespace claim is missing"),
            (claims("secret.name", ""), "secretName claim is missing"),
            (claims("service-account.name", ""), "serviceAccountName claim is missing"),
            (claims("service-account.uid", ""), "serviceAccountUID claim is missing"),
            (claims("sub", "alice"), "sub claim is invalid"),
            (claims("sub", "system:serviceaccount:n:other"), "sub claim is invalid"),
            (claims("secret.name", "x"), INVALIDATED),
            (claims("secret.name", "d"), INVALIDATED),
            (no_account, "serviceaccounts \"x\" not found"),
            (account_gone, "ServiceAccount n/d has been deleted"),
            (claims("service-account.uid", "w"), "ServiceAccount UID (u) does not match claim (w)"),
        ];
        for (claims, error) in rows {
            let (outcome, (_, used), _) = validate(&claims, &Objects::default());
            assert_eq!(outcome, if error.is_empty() { Ok(()) } else { Err(error.to_owned()) });
            assert_eq!(used.is_some(), error.is_empty(), "{error}");
        }
        let (stats, mut warnings, mut used) = (TokenStats::default(), Vec::new(), None);
        let objects = Objects::default();
        let other = claims("", "").validate(&objects, b"a.b.d", now(), &stats, &mut warnings, &mut used);
        assert_eq!(other, Err("Token does not match server's copy".to_owned()));
        assert!(warnings.is_empty() && used.is_none());
    }

    #[test]
    fn uses_are_counted_and_written_once_a_day() {
        let rows = [
            (Objects::default(), true, false, [0, 1, 0], true),
            (Objects { is_listed: true, ..Objects::default() }, true, true, [1, 0, 0], true),
            (Objects { last_used: "2026-11-22", ..Objects::default() }, true, false, [0, 1, 0], true),
            (Objects { last_used: "2026-11-23", ..Objects::default() }, true, false, [0, 1, 0], false),
            (Objects { last_used: "2026-11-24", ..Objects::default() }, true, false, [0, 1, 0], false),
            (Objects { last_used: "2026-11-25", ..Objects::default() }, true, false, [0, 1, 0], true),
            (
                Objects { invalid_since: "2026-01-01", is_listed: true, ..Objects::default() },
                false,
                false,
                [0, 0, 1],
                true,
            ),
        ];
        for (objects, is_good, warns, counts, is_written) in rows {
            let (outcome, (warnings, found), counted) = validate(&claims("", ""), &objects);
            assert_eq!((outcome.is_ok(), counted), (is_good, counts), "{outcome:?}");
            assert_eq!(warnings, if warns { vec![AUTO_GENERATED_WARNING] } else { Vec::new() });
            let used =
                UsedSecret { namespace: "n".into(), name: "t".into(), uid: "v".into(), date: "2026-11-23".to_owned() };
            assert_eq!(found, is_written.then_some(used), "{}", objects.last_used);
        }
    }
}
