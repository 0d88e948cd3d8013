//! The union and the request authenticator: order, errors, anonymous requests, audiences, and authenticators that wait.

use super::*;
use crate::authentication::TokenFile;
use futures_util::FutureExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the same result for every request, and counts them.
struct Fixed {
    outcome: Outcome,
    waits: bool,
    asked: AtomicUsize,
}

impl Fixed {
    fn new(outcome: Result<Option<&str>, &'static str>, waits: bool) -> Arc<Fixed> {
        let user = |name: &str| Identity::of(Arc::new(UserInfo { name: name.into(), ..UserInfo::default() }));
        let outcome = outcome.map(|name| name.map(user)).map_err(AuthenticationError::refused);
        Arc::new(Fixed { outcome, waits, asked: AtomicUsize::new(0) })
    }
}

impl Authenticator for Fixed {
    fn authenticate<'a>(&'a self, _: &'a AuthenticationRequest<'a>) -> MaybeReady<'a, Outcome> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let outcome = self.outcome.clone();
        if self.waits { MaybeReady::wait(async move { outcome }) } else { MaybeReady::Ready(outcome) }
    }
}

fn authenticate(
    authenticator: &RequestAuthenticator,
    bearer_token: Option<&[u8]>,
) -> Result<Identity, AuthenticationError> {
    let headers = HeaderMap::new();
    let request =
        AuthenticationRequest { bearer_token, ..AuthenticationRequest::new(&headers, SystemTime::UNIX_EPOCH) };
    authenticator.authenticate(&request).now_or_never().expect("nothing waits for long")
}

#[test]
fn the_first_identity_wins_and_errors_count_only_without_one() {
    // (the results of the authenticators, the user or the error, the number of calls)
    type Row<'a> = (&'a [Result<Option<&'a str>, &'static str>], Result<&'a str, &'a str>, usize);
    let rows: [Row<'_>; 6] = [
        (&[], Ok("system:anonymous"), 0),
        (&[Ok(None), Ok(Some("alice")), Ok(Some("bob"))], Ok("alice"), 2),
        (&[Err("expired"), Ok(Some("bob"))], Ok("bob"), 2),
        (&[Ok(None), Ok(None)], Ok("system:anonymous"), 2),
        (&[Err("expired"), Ok(None)], Err("expired"), 2),
        (&[Err("expired"), Ok(None), Err("revoked")], Err("[expired, revoked]"), 3),
    ];
    for (outcomes, expected, asked) in rows {
        // Whether each one waits, as bits.
        for waits in 0..1 << outcomes.len() {
            let members = (0..).zip(outcomes).map(|(at, outcome)| Fixed::new(*outcome, waits >> at & 1 == 1));
            let members: Vec<_> = members.collect();
            let mut list: Vec<Arc<dyn Authenticator>> = Vec::new();
            for member in &members {
                list.push(member.clone());
            }
            let anonymous = CurrentAnonymousAccess::new(AnonymousAccess::everywhere(true));
            let authenticators = AuthenticatorUnion::new(list);
            let authenticator = RequestAuthenticator { authenticators, anonymous, ..RequestAuthenticator::default() };
            let outcome = authenticate(&authenticator, None);
            let found = outcome.map(|identity| identity.user.name.to_string()).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{outcomes:?}, waits {waits:b}");
            assert_eq!(members.iter().map(|member| member.asked.load(Ordering::Relaxed)).sum::<usize>(), asked);
        }
    }
}

#[test]
fn ready_results_are_not_boxed() {
    let headers = HeaderMap::new();
    let request = AuthenticationRequest::new(&headers, SystemTime::UNIX_EPOCH);
    for (waits, is_ready) in [([false, false], true), ([false, true], false), ([true, false], false)] {
        let members = waits.map(|waits| -> Arc<dyn Authenticator> { Fixed::new(Ok(None), waits) });
        let union = AuthenticatorUnion::new(members.to_vec());
        assert_eq!(matches!(union.authenticate(&request), MaybeReady::Ready(_)), is_ready, "{waits:?}");
    }
}

fn with_tokens(anonymous: bool) -> RequestAuthenticator {
    let file = TokenFile::parse("admin-token,admin,1,system:masters").expect("valid");
    RequestAuthenticator {
        authenticators: AuthenticatorUnion::new(vec![Arc::new(file)]),
        anonymous: CurrentAnonymousAccess::new(AnonymousAccess::everywhere(anonymous)),
        audiences: vec!["api".into()],
    }
}

#[test]
fn headers_and_anonymous_requests() {
    // (header, user with anonymous requests allowed, user without)
    let rows: [(Option<&str>, Option<&str>, Option<&str>); 12] = [
        (None, Some("system:anonymous"), None),
        (Some(""), Some("system:anonymous"), None),
        (Some("Bearer admin-token"), Some("admin"), Some("admin")),
        (Some("bearer admin-token"), Some("admin"), Some("admin")),
        (Some("  BEARER admin-token x y "), Some("admin"), Some("admin")),
        (Some("Bearer wrong"), None, None),
        (Some("Bearer a.b.c"), None, None),
        (Some("Bearer "), Some("system:anonymous"), None),
        (Some("Bearer  admin-token"), Some("system:anonymous"), None),
        (Some("Basic YWRtaW46YWRtaW4="), Some("system:anonymous"), None),
        (Some("Token admin-token"), Some("system:anonymous"), None),
        (Some("Bearer \u{e9}"), None, None),
    ];
    for (header, lenient, strict) in rows {
        for (anonymous, expected) in [(true, lenient), (false, strict)] {
            let token = header.and_then(|header| bearer_token(header.as_bytes()));
            let identity = authenticate(&with_tokens(anonymous), token);
            let name = identity.as_ref().map(|identity| identity.user.name.as_str()).ok();
            assert_eq!(name, expected, "{header:?}, anonymous {anonymous}");
        }
    }
}

#[test]
fn a_token_without_an_audience_is_valid_for_the_servers_own() {
    let strs = |texts: &[&str]| -> Vec<Str> { texts.iter().map(Str::new).collect() };
    // (token, requested audiences, user and audiences)
    type Row<'a> = (&'a str, &'a [&'a str], Result<(&'a str, &'a [&'a str]), &'a str>);
    let rows: [Row<'_>; 6] = [
        ("admin-token", &[], Ok(("admin", &["api"]))),
        ("admin-token", &["other", "api"], Ok(("admin", &["api"]))),
        ("admin-token", &["other"], Err("invalid bearer token")),
        ("wrong", &[], Err("invalid bearer token")),
        (" admin-token", &[], Ok(("system:anonymous", &["api"]))),
        (" admin-token", &["other"], Ok(("system:anonymous", &["other"]))),
    ];
    for (token, audiences, expected) in rows {
        let (authenticator, audiences) = (with_tokens(true), strs(audiences));
        let outcome = authenticator.review(token, &audiences, SystemTime::UNIX_EPOCH).now_or_never().expect("ready");
        let found = outcome.map(|identity| (identity.user.name.clone(), identity.audiences.clone()));
        let expected = expected.map(|(name, audiences)| (Str::new(name), strs(audiences))).map_err(str::to_owned);
        assert_eq!(found.map_err(|error| error.to_string()), expected, "{token:?} {audiences:?}");
    }
}

#[test]
fn common_audiences_are_in_the_order_of_the_request() {
    let strs = |texts: &[&str]| -> Vec<Str> { texts.iter().map(Str::new).collect() };
    let have = strs(&["a", "b", "c"]);
    for (requested, expected) in
        [(&["c", "a"][..], &["c", "a"][..]), (&["d", "b", "b"], &["b", "b"]), (&["d"], &[]), (&[], &[])]
    {
        assert_eq!(common_audiences(&have, &strs(requested)), strs(expected), "{requested:?}");
    }
}
