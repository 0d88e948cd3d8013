//! A signer of service account tokens outside of the server: gRPC over a Unix socket (`v1.ExternalJWTSigner`).
//! Guarantees that a token has a header which this server's own tokens could have, and that the keys which verify tokens
//! are those that the signer gave last. Must never sign by itself, nor wait for the signer beyond a time limit.

use data_encoding::BASE64URL_NOPAD;
use futures_util::future::BoxFuture;
use http::Uri;
use pintle_codec::{Strictness, json};
use pintle_grpc::{Code, Connection, Executor, Settings, Status, code_name, local_socket};
use pintle_kubernetes_auth::service_account::{ExternalSigner, KeySet, TokenKeys, VerifyingKey};
use pintle_metrics::{Counter, Exposition, Family, Histogram, Keyed, Layout};
use prost::Message;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;
use tracing::{error, warn};

/// How long the signer may take to give its keys, as in kube-apiserver.
const KEYS_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to sign a token.
const SIGN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to answer at the start how long tokens may live.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// When keys could not be fetched, they are fetched again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// A signer that is not there is connected to again after this time, as long as the call may last.
const RECONNECT_AFTER: Duration = Duration::from_millis(100);
/// A message of the signer is not larger: hundreds of keys.
const MESSAGE_BYTES: usize = 1 << 20;
/// An id of a key is not longer.
const KEY_ID_BYTES: usize = 1024;
/// Tokens live at least as long as a TokenRequest may ask for.
const MIN_EXPIRATION_SECONDS: i64 = 600;
/// The algorithms that this server verifies. kube-apiserver accepts ES512, too.
const ALGORITHMS: [&str; 3] = ["RS256", "ES256", "ES384"];

const SIGN: &str = "/v1.ExternalJWTSigner/Sign";
const FETCH_KEYS: &str = "/v1.ExternalJWTSigner/FetchKeys";
const METADATA: &str = "/v1.ExternalJWTSigner/Metadata";

#[derive(Clone, PartialEq, Message)]
struct SignRequest {
    #[prost(string, tag = "1")]
    claims: String,
}

#[derive(Clone, PartialEq, Message)]
struct SignResponse {
    #[prost(string, tag = "1")]
    header: String,
    #[prost(string, tag = "2")]
    signature: String,
}

#[derive(Clone, PartialEq, Message)]
struct Empty {}

#[derive(Clone, PartialEq, Message)]
struct FetchKeysResponse {
    #[prost(message, repeated, tag = "1")]
    keys: Vec<Key>,
    #[prost(message, optional, tag = "2")]
    data_timestamp: Option<Timestamp>,
    #[prost(int64, tag = "3")]
    refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Key {
    #[prost(string, tag = "1")]
    key_id: String,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bool, tag = "3")]
    exclude_from_oidc_discovery: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct MetadataResponse {
    #[prost(int64, tag = "1")]
    max_token_expiration_seconds: i64,
}

/// Counts of calls to the signer.
#[derive(Default)]
struct Stats {
    fetches: Keyed<&'static str, Counter>,
    signatures: Keyed<&'static str, Counter>,
    durations: Keyed<(&'static str, &'static str), Histogram>,
    /// When keys were fetched last, in milliseconds since 1970; 0 is never.
    fetched: AtomicU64,
    /// How old the keys are that were fetched last, likewise.
    data_from: AtomicU64,
}

const FETCHES: Family =
    Family::counter("apiserver_externaljwt_fetch_keys_request_total", "Calls for the keys of the signer, by outcome.");
const SIGNATURES: Family =
    Family::counter("apiserver_externaljwt_sign_request_total", "Tokens that the signer was to sign, by outcome.");
const FETCHED: Family = Family::gauge(
    "apiserver_externaljwt_fetch_keys_success_timestamp",
    "When the keys of the signer were fetched last, in seconds since 1970.",
);
const DATA_FROM: Family = Family::gauge(
    "apiserver_externaljwt_fetch_keys_data_timestamp",
    "Of which time the keys are that the signer gave last, in seconds since 1970.",
);
const DURATIONS: Family =
    Family::histogram("apiserver_externaljwt_request_duration_seconds", "Duration of calls to the signer.");

static LAYOUT: Layout =
    Layout::seconds(&[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]);

/// Why a call has no result: the signer's status, or what is wrong with its answer.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("{0}")]
    Status(&'static str, #[source] Status),
    #[error("{0}")]
    Answer(String),
}

impl CallError {
    /// The label of the outcome in metrics.
    fn code(&self) -> &'static str {
        match self {
            CallError::Status(_, status) => code_name(status.code),
            CallError::Answer(_) => "unknown-non-grpc",
        }
    }

    /// The text of the error and of its cause, as Go wraps them.
    fn text(&self) -> String {
        match self {
            CallError::Status(what, status) => format!("{what}: {status}"),
            CallError::Answer(what) => what.clone(),
        }
    }
}

/// The signer.
pub struct Signer {
    socket: PathBuf,
    connection: StdMutex<Option<Arc<Connection>>>,
    keys: Arc<TokenKeys>,
    /// The longest lifetime of a token that it signs, in seconds.
    max_expiration_seconds: i64,
    /// One fetch at a time; the number of fetches that were begun.
    fetching: Mutex<()>,
    fetches_begun: AtomicU64,
    /// The number of the last fetch that came to its end: one that is dropped with its request has fetched nothing.
    fetches_ended: AtomicU64,
    stats: Stats,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Signer {
    /// Asks the signer for its keys and its limit, and begins to ask for its keys as often as it says.
    ///
    /// # Errors
    /// It does not answer, or answers something invalid.
    pub async fn start(socket: &Path) -> Result<Arc<Signer>, String> {
        let keys = TokenKeys::new(KeySet::of_external(Vec::new()));
        let mut signer = Signer {
            socket: socket.to_owned(),
            connection: StdMutex::default(),
            keys,
            max_expiration_seconds: 0,
            fetching: Mutex::default(),
            fetches_begun: AtomicU64::new(0),
            fetches_ended: AtomicU64::new(0),
            stats: Stats::default(),
        };
        let pause = signer.fetch().await.map_err(|error| {
            format!("while initially filling key cache: while performing initial cache fill: {}", error.text())
        })?;
        let metadata: MetadataResponse = signer
            .call(METADATA, Empty {}, METADATA_TIMEOUT)
            .await
            .map_err(|error| format!("while setting up external-jwt-signer: {error}"))?;
        signer.max_expiration_seconds = metadata.max_token_expiration_seconds;
        if signer.max_expiration_seconds < MIN_EXPIRATION_SECONDS {
            return Err(format!(
                "max token life supported by external-jwt-signer ({}s) is less than acceptable (min \
                 {MIN_EXPIRATION_SECONDS}s)",
                signer.max_expiration_seconds
            ));
        }
        let signer = Arc::new(signer);
        tokio::spawn(keep_fetching(Arc::downgrade(&signer), pause));
        Ok(signer)
    }

    /// The keys that verify its tokens.
    pub fn keys(&self) -> &Arc<TokenKeys> {
        &self.keys
    }

    /// The longest lifetime of a token that it signs, in seconds.
    pub fn max_expiration_seconds(&self) -> i64 {
        self.max_expiration_seconds
    }

    /// Writes the metrics.
    pub fn render(&self, out: &mut Exposition) {
        for (family, counts) in [(FETCHES, &self.stats.fetches), (SIGNATURES, &self.stats.signatures)] {
            out.family(&family);
            for (code, count) in counts.sorted() {
                out.sample(family.name, &[("code", code)], count.get());
            }
        }
        for (family, time) in [(FETCHED, &self.stats.fetched), (DATA_FROM, &self.stats.data_from)] {
            out.single(&family, time.load(Ordering::Relaxed) as f64 / 1000.0);
        }
        out.family(&DURATIONS);
        for ((method, code), durations) in self.stats.durations.sorted() {
            out.histogram(DURATIONS.name, &[("code", code), ("method", method)], &durations);
        }
    }

    /// Replaces the keys by those that the signer has now. Returns after which time they are to be fetched again.
    async fn fetch(&self) -> Result<Duration, CallError> {
        let _one_at_a_time = self.fetching.lock().await;
        self.fetch_alone().await
    }

    async fn fetch_alone(&self) -> Result<Duration, CallError> {
        let number = self.fetches_begun.fetch_add(1, Ordering::SeqCst) + 1;
        let fetched = self.fetch_keys().await;
        self.fetches_ended.store(number, Ordering::SeqCst);
        let code = fetched.as_ref().err().map_or("OK", CallError::code);
        self.stats.fetches.get(&code, Counter::new).increment();
        fetched.map_err(|error| match error {
            CallError::Answer(why) => CallError::Answer(format!("while fetching token verification keys: {why}")),
            other => other,
        })
    }

    async fn fetch_keys(&self) -> Result<Duration, CallError> {
        const GETTING: &str =
            "while fetching token verification keys: while getting externally supported jwt signing keys";
        let answer: Result<FetchKeysResponse, Status> = self.call(FETCH_KEYS, Empty {}, KEYS_TIMEOUT).await;
        let answer = answer.map_err(|status| CallError::Status(GETTING, status))?;
        let (keys, from) = verified(&answer).map_err(CallError::Answer)?;
        let pause = Duration::from_secs(answer.refresh_hint_seconds.unsigned_abs());
        let now = SystemTime::now();
        let until = now.checked_add(pause).unwrap_or(now);
        if is_changed(self.keys.current().verifying(), &keys) {
            self.keys.replace(KeySet::of_external(keys));
        }
        self.keys.set_fresh_until(until);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.stats.fetched.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.stats.data_from.store(from, Ordering::Relaxed);
        Ok(pause)
    }

    async fn signed(&self, claims: String) -> Result<String, CallError> {
        let request = SignRequest { claims: claims.clone() };
        let answer: Result<SignResponse, Status> = self.call(SIGN, request, SIGN_TIMEOUT).await;
        let answer = answer.map_err(|status| CallError::Status("while signing jwt", status))?;
        let key_id = key_of_header(&answer.header)
            .map_err(|why| CallError::Answer(format!("while validating header: {why}")))?;
        if !self.keys.current().has(&key_id) {
            self.refresh().await;
        }
        let keys = self.keys.current();
        if !keys.has(&key_id) {
            return Err(CallError::Answer(format!("while validating header: key {key_id:?} is not known")));
        }
        if keys.verifying().iter().any(|key| key.id() == key_id && !key.is_published()) {
            let why = format!("key used for signing JWT (kid: {key_id}) is excluded from OIDC discovery docs");
            return Err(CallError::Answer(format!("while validating header: {why}")));
        }
        if answer.signature.is_empty() {
            return Err(CallError::Answer("empty signature returned".to_owned()));
        }
        Ok(format!("{}.{claims}.{}", answer.header, answer.signature))
    }

    /// Makes one call. A signer that is not there yet is waited for.
    async fn call<A: Message + Default + 'static>(
        &self,
        method: &'static str,
        request: impl Message + Clone + 'static,
        timeout: Duration,
    ) -> Result<A, Status> {
        let began = Instant::now();
        let answer = tokio::time::timeout(timeout, self.call_when_there(method, request)).await;
        let answer = answer.unwrap_or_else(|_| {
            self.hang_up();
            Err(Status::deadline_exceeded())
        });
        let code = answer.as_ref().err().map_or("OK", |status| code_name(status.code));
        self.stats.durations.get(&(method, code), || Histogram::new(&LAYOUT)).observe_duration(began.elapsed());
        answer
    }

    async fn call_when_there<A: Message + Default + 'static>(
        &self,
        method: &'static str,
        request: impl Message + Clone + 'static,
    ) -> Result<A, Status> {
        loop {
            let known = self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let is_new = known.is_none();
            let connection = match known {
                Some(connection) => connection,
                None => match self.connect().await {
                    Ok(connection) => connection,
                    Err(_) => {
                        tokio::time::sleep(RECONNECT_AFTER).await;
                        continue;
                    }
                },
            };
            match connection.unary(method, request.clone()).await {
                // The connection may have been closed since the last call.
                Err(status) if status.code == Code::Unavailable => {
                    self.hang_up();
                    if is_new {
                        return Err(status);
                    }
                }
                answer => return answer,
            }
        }
    }

    async fn connect(&self) -> Result<Arc<Connection>, Status> {
        let stream = local_socket::connect(&self.socket).await.map_err(Status::unavailable)?;
        let settings = Settings {
            origin: Uri::from_static("http://localhost/"),
            window: MESSAGE_BYTES as u32,
            message_max: MESSAGE_BYTES,
            keep_alive: None,
        };
        let connection = Arc::new(Connection::open(stream, &settings, Executor::runtime()).await?);
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
        Ok(connection)
    }

    fn hang_up(&self) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl ExternalSigner for Signer {
    fn sign(&self, claims: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let signed = self.signed(claims).await;
            let code = signed.as_ref().err().map_or("OK", CallError::code);
            self.stats.signatures.get(&code, Counter::new).increment();
            signed.map_err(|error| error.text())
        })
    }

    fn refresh(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Who waits while another request fetches takes the keys of a fetch that began after it came.
            let begun = self.fetches_begun.load(Ordering::SeqCst);
            let _one_at_a_time = self.fetching.lock().await;
            if self.fetches_ended.load(Ordering::SeqCst) > begun {
                return;
            }
            if let Err(error) = self.fetch_alone().await {
                error!(err = error.text(), "Error while syncing keys");
            }
        })
    }
}

/// Fetches the keys again as often as the signer says, as long as somebody uses it.
async fn keep_fetching(signer: Weak<Signer>, mut pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(signer) = signer.upgrade() else { return };
        pause = match signer.fetch().await {
            Ok(pause) => pause,
            Err(error) => {
                error!(err = error.text(), "when syncing supported public keys (stale set of keys will be supported)");
                RETRY_AFTER
            }
        };
    }
}

/// Whether keys differ, or their order, or which of them are published.
fn is_changed(old: &[VerifyingKey], new: &[VerifyingKey]) -> bool {
    old.len() != new.len()
        || old.iter().zip(new).any(|(a, b)| a.to_jwk() != b.to_jwk() || a.is_published() != b.is_published())
}

/// The keys of an answer, and of which time they are, in milliseconds since 1970.
fn verified(answer: &FetchKeysResponse) -> Result<(Vec<VerifyingKey>, u64), String> {
    if answer.refresh_hint_seconds <= 0 {
        return Err(format!("found invalid refresh hint ({}s)", answer.refresh_hint_seconds));
    }
    if answer.keys.is_empty() {
        return Err("found no keys".to_owned());
    }
    let Some(Timestamp { seconds, nanos }) = answer.data_timestamp else {
        return Err("invalid data timestamp: proto: invalid nil Timestamp".to_owned());
    };
    let mut keys = Vec::new();
    for key in &answer.keys {
        if key.key_id.is_empty() || key.key_id.len() > KEY_ID_BYTES {
            return Err(format!("found invalid public key id {:?}", key.key_id));
        }
        if key.key.is_empty() {
            return Err("found empty public key".to_owned());
        }
        match VerifyingKey::of_external(&key.key_id, &key.key, !key.exclude_from_oidc_discovery) {
            Ok(key) => keys.push(key),
            // A signer that also has keys of other kinds is of use for the tokens of those that are known.
            Err(error) => warn!(err = error.to_string(), "the key {:?} of the signer is not used", key.key_id),
        }
    }
    if keys.is_empty() {
        return Err("while parsing external public keys: no key is RSA or ECDSA (P-256, P-384)".to_owned());
    }
    let milliseconds = seconds.saturating_mul(1000).saturating_add(i64::from(nanos / 1_000_000));
    Ok((keys, u64::try_from(milliseconds).unwrap_or_default()))
}

/// The id of the key in the header of a token, which has an algorithm, a key and a type, and nothing else.
fn key_of_header(header: &str) -> Result<String, String> {
    let bytes =
        BASE64URL_NOPAD.decode(header.as_bytes()).map_err(|error| format!("while unwrapping header: {error}"))?;
    let parsed = json::parse(&bytes, Strictness::Ignore);
    let header = parsed.map_err(|error| format!("while parsing header JSON: {error}"))?.value;
    let Some(members) = header.as_map() else {
        return Err("while parsing header JSON: json: cannot unmarshal into an object".to_owned());
    };
    if let Some((unknown, _)) = members.iter().find(|(name, _)| !["alg", "kid", "typ"].contains(&name.as_ref())) {
        return Err(format!("while parsing header JSON: json: unknown field {unknown:?}"));
    }
    let key_id = header.str_at(&["kid"]);
    let algorithm = header.str_at(&["alg"]);
    if header.str_at(&["typ"]) != "JWT" {
        return Err("bad type".to_owned());
    }
    if key_id.is_empty() {
        return Err("key id missing".to_owned());
    }
    if key_id.len() > KEY_ID_BYTES {
        return Err("key id longer than 1 kb".to_owned());
    }
    if !ALGORITHMS.contains(&algorithm) {
        return Err(format!("bad signing algorithm {algorithm:?}"));
    }
    Ok(key_id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_type_a_key_and_an_algorithm_alone() {
        for (header, expected) in [
            (r#"{"alg":"ES256","kid":"k","typ":"JWT"}"#, Ok("k")),
            (r#"{"alg":"ES512","kid":"k","typ":"JWT"}"#, Err("bad signing algorithm \"ES512\"")),
            (r#"{"alg":"ES256","kid":"k"}"#, Err("bad type")),
            (r#"{"alg":"ES256","typ":"JWT"}"#, Err("key id missing")),
            (r#"{"alg":"none","kid":"k","typ":"JWT"}"#, Err("bad signing algorithm \"none\"")),
            (
                r#"{"alg":"ES256","kid":"k","typ":"JWT","jku":"x"}"#,
                Err("while parsing header JSON: json: unknown field \"jku\""),
            ),
        ] {
            let found = key_of_header(&BASE64URL_NOPAD.encode(header.as_bytes()));
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{header}");
        }
        assert!(key_of_header("%").is_err_and(|why| why.starts_with("while unwrapping header: ")));
        assert!(key_of_header("W10").is_err(), "a list");
    }

    #[test]
    fn answers_without_keys_a_time_or_a_hint_are_invalid() {
        let der = rcgen::PublicKeyData::subject_public_key_info(&rcgen::KeyPair::generate().expect("a key"));
        let key = |id: &str, der: &[u8]| Key { key_id: id.into(), key: der.into(), exclude_from_oidc_discovery: false };
        let good = FetchKeysResponse {
            keys: vec![key("a", &der)],
            data_timestamp: Some(Timestamp { seconds: 7, nanos: 5_000_000 }),
            refresh_hint_seconds: 5,
        };
        assert_eq!(verified(&good).map(|(keys, from)| (keys.len(), from)), Ok((1, 7005)));
        // The keys of kinds that are not known are left out, as long as there are others.
        let more = FetchKeysResponse { keys: vec![key("a", &der), key("b", b"x")], ..good.clone() };
        assert_eq!(verified(&more).map(|(keys, _)| keys.len()), Ok(1));
        for (bad, why) in [
            (FetchKeysResponse { refresh_hint_seconds: 0, ..good.clone() }, "found invalid refresh hint (0s)"),
            (FetchKeysResponse { keys: Vec::new(), ..good.clone() }, "found no keys"),
            (FetchKeysResponse { data_timestamp: None, ..good.clone() }, "invalid data timestamp"),
            (FetchKeysResponse { keys: vec![key("", &der)], ..good.clone() }, "found invalid public key id \"\""),
            (FetchKeysResponse { keys: vec![key("a", b"")], ..good.clone() }, "found empty public key"),
            (FetchKeysResponse { keys: vec![key("a", b"x")], ..good }, "while parsing external public keys"),
        ] {
            assert!(verified(&bad).is_err_and(|found| found.starts_with(why)), "{why}");
        }
    }
}
