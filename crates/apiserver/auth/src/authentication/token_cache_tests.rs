use super::*;
use crate::{Str, UserInfo};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Knows users whose token is their name in upper case; every result waits.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
}

impl Authenticator for Slow {
    fn authenticate<'a>(&'a self, request: &'a AuthenticationRequest<'a>) -> MaybeReady<'a, Outcome> {
        MaybeReady::wait(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            // Once more round the executor.
            let mut first = true;
            futures_util::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::take(&mut first) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
            })
            .await;
            let token = String::from_utf8_lossy(request.bearer_token.unwrap_or_default()).into_owned();
            match token.as_str() {
                "BAD" => Err(AuthenticationError::refused("bad")),
                token if token == token.to_ascii_uppercase() => {
                    let name = token.to_ascii_lowercase().into();
                    Ok(Some(Identity::of(Arc::new(UserInfo { name, ..UserInfo::default() }))))
                }
                _ => Ok(None),
            }
        })
    }
}

const TIMES: TokenCacheTimes = TokenCacheTimes { success: Duration::from_secs(10), failure: Duration::from_secs(2) };

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The user of a token at a time, and whether it was known at once.
fn ask(
    cache: &Arc<TokenCache>,
    token: &str,
    audiences: &[Str],
    seconds: u64,
) -> (Result<Option<String>, String>, bool) {
    let headers = HeaderMap::new();
    let request = AuthenticationRequest {
        bearer_token: Some(token.as_bytes()),
        audiences,
        ..AuthenticationRequest::new(&headers, at(seconds))
    };
    let answer = cache.authenticate(&request);
    let known = matches!(answer, MaybeReady::Ready(_));
    let outcome = futures_executor_block_on(answer.get());
    let named = |identity: Identity| identity.user.name.to_string();
    (outcome.map(|identity| identity.map(named)).map_err(|error| error.to_string()), known)
}

fn futures_executor_block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Some(value) = future.as_mut().now_or_never() {
            return value;
        }
    }
}

#[test]
fn answers_are_kept_for_their_time() {
    let slow = Arc::new(Slow::default());
    let cache = TokenCache::new(slow.clone(), TIMES);
    let found = |name: &str| Ok(Some(name.to_owned()));
    let own = [Str::from("a")];
    for (token, audiences, seconds, outcome, known) in [
        ("JANE", &own[..], 100, found("jane"), false),
        ("JANE", &own, 109, found("jane"), true),
        ("JANE", &own, 121, found("jane"), false),
        ("JANE", &[], 121, found("jane"), false),
        ("who", &own, 100, Ok(None), false),
        ("who", &own, 101, Ok(None), true),
        ("who", &own, 103, Ok(None), false),
        ("BAD", &own, 100, Err("bad".to_owned()), false),
        ("BAD", &own, 100, Err("bad".to_owned()), false),
    ] {
        assert_eq!(ask(&cache, token, audiences, seconds), (outcome, known), "{token} at {seconds}");
    }
    let stats = [&cache.stats.hits, &cache.stats.misses, &cache.stats.fetched, &cache.stats.failed];
    assert_eq!(stats.map(Counter::get), [2, 7, 5, 2]);
    assert_eq!(ask(&cache, "", &[], 100), (Ok(None), true));
}

#[test]
fn requests_that_come_together_make_one_call() {
    let slow = Arc::new(Slow::default());
    let cache = TokenCache::new(slow.clone(), TIMES);
    let headers = HeaderMap::new();
    let request = AuthenticationRequest { bearer_token: Some(b"JANE"), ..AuthenticationRequest::new(&headers, at(1)) };
    let answers: Vec<_> = (0..5).map(|_| cache.authenticate(&request).get()).collect();
    let identities = futures_executor_block_on(futures_util::future::join_all(answers));
    assert!(identities.iter().all(|identity| matches!(identity, Ok(Some(_)))));
    assert_eq!(slow.asked.load(Ordering::Relaxed), 1);
    // An abandoned call is dropped, and the next request makes its own.
    drop(cache.authenticate(&AuthenticationRequest { bearer_token: Some(b"JOE"), ..request }));
    assert_eq!(ask(&cache, "JOE", &[], 1).0, Ok(Some("joe".to_owned())));
}

#[test]
fn the_bytes_of_entries_have_a_bound() {
    let cache = TokenCache::new(Arc::new(Slow::default()), TIMES);
    let bytes = || cache.kept.bytes();
    let found = |audiences: usize| {
        let audiences = (0..audiences).map(|number| Str::from(number.to_string())).collect();
        Ok(Some(Identity { audiences, ..Identity::of(Arc::new(UserInfo::default())) }))
    };
    let key = |number: u32| crate::kept::key_of(&number.to_le_bytes());
    // More than any token may have: such entries are too large to be kept.
    for number in 0..100 {
        cache.keep(key(number), &found(50_000), at(1));
    }
    assert_eq!(bytes(), 0);
    for number in 0..50_000 {
        cache.keep(key(number), &found(30), at(1));
    }
    assert!((MAX_BYTES / 3..=MAX_BYTES).contains(&bytes()), "{}", bytes());
}
