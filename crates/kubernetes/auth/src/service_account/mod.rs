//! Service account tokens: JSON web tokens that the server signs, valid as long as the objects that they name exist.
//! Guarantees that no claim is used before the signature is verified, except the issuer, which selects this authenticator.
//! Must never read objects itself: `BoundObjects` gives the current account, pod, secret and node.

mod claims;
mod key_set;
mod keys;
mod legacy;

use pintle_schema::compat::quote::quoted_list;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use pintle_codec::{StrictProblem, Strictness, json};
use pintle_metrics::Counter;
use pintle_schema::names::{self, path_segment_name};
use pintle_schema::{Value, value};

use futures_util::future::BoxFuture;
use pintle_auth::authentication::{
    AuthenticationError, AuthenticationRequest, Authenticator, Identity, TokenHeader, common_audiences,
};
use pintle_auth::kept::{Kept, key_of};
use pintle_auth::{CREDENTIAL_ID_KEY, NODE_NAME_KEY, Str, UserInfo, groups, users};
use pintle_resource::MaybeReady;

pub use claims::{Claims, ObjectRef};
pub use key_set::{ExternalSigner, KeySet, TokenKeys};
pub use keys::{KeyError, SigningKey, VerifyingKey};
use legacy::LegacyClaims;
pub use legacy::{INVALID_SINCE_LABEL, LAST_USED_LABEL, TokenSecret, UsedSecret};

/// How far clocks may be apart, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// A longer token is not one of this server's. Headers have a bound of their own, the bodies of reviews have a wider one.
const MAX_TOKEN: usize = 64 * 1024;
/// Bytes of verified tokens: those of a large cluster's clients, 8192, at a kilobyte each.
const VERIFIED_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the hashes of tokens of other issuers.
const FOREIGN_BYTES: usize = 1024 * 1024;

/// The lifetime of tokens for clients that may not reload them: a year.
pub const EXTENDED_EXPIRATION_SECONDS: i64 = 365 * 24 * 3600;

/// How long clients may cache the keys of files.
const KEYS_FRESH_SECONDS: u64 = 3600;

/// The path under which the keys are published.
pub const JWKS_PATH: &str = "/openid/v1/jwks";

/// Kinds of objects that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    ServiceAccount,
    Pod,
    Secret,
    Node,
}

/// An object that a token names, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundObject {
    pub uid: Str,
    /// Its deletion timestamp, in seconds since 1970.
    pub deleted: Option<i64>,
}

/// Gives the objects that tokens name, and keeps the uses of legacy tokens.
pub trait BoundObjects: Send + Sync {
    /// The object, if it exists.
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject>;

    /// A secret with what a legacy token is checked against, if it exists.
    fn token_secret(&self, namespace: &str, name: &str) -> Option<TokenSecret>;

    /// The names of the secrets that a service account lists.
    fn account_secrets(&self, namespace: &str, name: &str) -> Vec<Str>;

    /// Writes the use of a legacy token to its secret. The request waits for it; a failure is logged, and ignored.
    fn record_use(&self, used: UsedSecret) -> BoxFuture<'_, ()>;
}

/// The keys, issuers and audiences of tokens.
#[derive(Debug)]
pub struct TokenConfig {
    /// New tokens name the first one; tokens of all are accepted.
    pub issuers: Vec<Str>,
    /// The server's own audiences; the issuers when none are given.
    pub audiences: Vec<Str>,
    /// The keys that sign and verify.
    pub keys: Arc<TokenKeys>,
    /// Signs in place of a key of the server.
    pub external_signer: Option<Arc<dyn ExternalSigner>>,
    /// The longest lifetime of a token in seconds; longer requests are shortened. 0 is no bound.
    pub max_expiration_seconds: i64,
    /// Whether tokens that kubelets request for pods live longer than requested, for clients that do not reload them.
    pub extend_expiration: bool,
    /// The lifetime of such tokens in seconds.
    pub extended_expiration_seconds: i64,
    /// The address of the keys in the discovery document, if not at this server.
    pub jwks_uri: Option<String>,
    pub content: TokenContent,
}

/// What tokens say, and what of it counts: an earlier release that is emulated may know less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenContent {
    /// They have an ID (`jti`), which the user's extra shows.
    pub id: bool,
    /// Those of pods name the pod's node.
    pub node_of_pod: bool,
    /// They can be bound to a node.
    pub bound_to_nodes: bool,
    /// Those that are bound to a node are valid, as long as the node is there.
    pub valid_with_node: bool,
}

impl Default for TokenContent {
    fn default() -> Self {
        TokenContent { id: true, node_of_pod: true, bound_to_nodes: true, valid_with_node: true }
    }
}

impl TokenContent {
    /// The claims that count.
    fn of(self, mut claims: Claims) -> Claims {
        if !self.id {
            claims.id = Str::default();
        }
        if !self.node_of_pod && claims.pod.is_some() {
            claims.node = None;
        }
        claims
    }
}

impl TokenConfig {
    /// The defaults of a server with one key.
    pub fn new(issuer: &str, signing_key: SigningKey) -> TokenConfig {
        TokenConfig::with_keys(issuer, TokenKeys::new(KeySet::signing_with(signing_key, Vec::new())))
    }

    /// The defaults of a server with these keys.
    pub fn with_keys(issuer: &str, keys: Arc<TokenKeys>) -> TokenConfig {
        TokenConfig {
            issuers: vec![issuer.into()],
            audiences: Vec::new(),
            keys,
            external_signer: None,
            max_expiration_seconds: 0,
            extend_expiration: true,
            extended_expiration_seconds: EXTENDED_EXPIRATION_SECONDS,
            jwks_uri: None,
            content: TokenContent::default(),
        }
    }
}

/// Counts of used tokens.
#[derive(Debug, Default)]
pub struct TokenStats {
    /// Tokens that name no audience, as legacy tokens.
    pub legacy: Counter,
    /// Legacy tokens of secrets that their account lists, and of others.
    pub auto_generated: Counter,
    pub manually_created: Counter,
    /// Legacy tokens of secrets that are marked as invalid.
    pub invalidated: Counter,
    /// Used before the time after which they should have been replaced.
    pub valid: Counter,
    /// Used after it.
    pub stale: Counter,
    /// Tokens that were found in the cache, or were not.
    pub hits: Counter,
    pub misses: Counter,
    /// Verifications that succeeded, or failed.
    pub verified: Counter,
    pub refused: Counter,
}

/// Issues and authenticates service account tokens.
pub struct ServiceAccountTokens {
    /// Counts of what was authenticated.
    pub stats: TokenStats,
    config: TokenConfig,
    objects: Box<dyn BoundObjects>,
    /// By the token's hash. Signatures do not change, so they are verified once.
    verified: Kept<Arc<Verified>>,
    /// The hashes of tokens of other issuers, which are not decoded for each request.
    foreign: Kept<()>,
}

/// A token with a valid signature.
struct Verified {
    claims: TokenClaims,
    user: Arc<UserInfo>,
    /// The keys that it was verified with.
    keys: Arc<KeySet>,
}

impl Verified {
    /// The bytes that the token takes on the heap, at most: nearly all are audiences, or the user's.
    fn heap_bytes(&self) -> usize {
        let claims = match &self.claims {
            TokenClaims::Bound(claims) => claims.heap_bytes(),
            TokenClaims::Legacy(claims) => claims.heap_bytes(),
        };
        size_of_val(self) + claims + self.user.heap_bytes()
    }
}

/// The claims of a token, by the kind of token.
enum TokenClaims {
    Bound(Box<Claims>),
    Legacy(LegacyClaims),
}

impl TokenClaims {
    fn audiences(&self) -> &[Str] {
        match self {
            TokenClaims::Bound(claims) => &claims.audiences,
            TokenClaims::Legacy(claims) => &claims.audiences,
        }
    }

    fn user(&self) -> UserInfo {
        match self {
            TokenClaims::Bound(claims) => user(claims),
            TokenClaims::Legacy(claims) => account_user(&claims.namespace, &claims.account, Vec::new()),
        }
    }
}

impl ServiceAccountTokens {
    pub fn new(mut config: TokenConfig, objects: Box<dyn BoundObjects>) -> ServiceAccountTokens {
        if config.audiences.is_empty() {
            config.audiences.clone_from(&config.issuers);
        }
        let (verified, foreign) = (Kept::with_bound(VERIFIED_BYTES), Kept::with_bound(FOREIGN_BYTES));
        ServiceAccountTokens { stats: TokenStats::default(), config, objects, verified, foreign }
    }

    pub fn config(&self) -> &TokenConfig {
        &self.config
    }

    /// Signs a token; the issuer is filled in.
    ///
    /// # Errors
    /// The signer failed, or the system has no random numbers.
    pub fn issue(&self, mut claims: Claims) -> MaybeReady<'_, Result<String, String>> {
        claims.issuer = self.config.issuers.first().cloned().unwrap_or_default();
        let payload = BASE64URL_NOPAD.encode(&json::to_vec(&claims.to_value()));
        if let Some(signer) = &self.config.external_signer {
            return MaybeReady::Wait(signer.sign(payload));
        }
        let keys = self.config.keys.current();
        let Some(key) = &keys.signing else { return Err("there is no key to sign with".to_owned()).into() };
        let header = value!({"alg": (key.public().algorithm()), "kid": (key.public().id())});
        let mut token = BASE64URL_NOPAD.encode(&json::to_vec(&header));
        token.push('.');
        token.push_str(&payload);
        let Some(signature) = key.sign(token.as_bytes()) else { return Err("no random numbers".to_owned()).into() };
        token.push('.');
        BASE64URL_NOPAD.encode_append(&signature, &mut token);
        Ok(token).into()
    }

    /// Whether a token of this server names a key that is not known, and may be known to a signer outside.
    fn needs_new_keys(&self, token: &[u8]) -> bool {
        self.config.external_signer.is_some()
            && token.len() <= MAX_TOKEN
            && Token::parse(token)
                .is_some_and(|token| self.is_ours(&token) && !self.config.keys.current().has(&token.header.key_id))
    }

    /// The identity of a token; `None` for a token of another issuer.
    fn identity(
        &self,
        token: &[u8],
        audiences: &[Str],
        now: SystemTime,
        used: &mut Option<UsedSecret>,
    ) -> Result<Option<Identity>, String> {
        let Some(verified) = self.verify(token)? else { return Ok(None) };
        let own = &self.config.audiences[..];
        let of_token = match verified.claims.audiences() {
            [] => {
                self.stats.legacy.increment();
                own
            }
            named => named,
        };
        let common = common_audiences(of_token, audiences);
        if common.is_empty() && !own.is_empty() {
            let (have, want) = (quoted_list(of_token), quoted_list(audiences));
            return Err(format!("token audiences {have} is invalid for the target audiences {want}"));
        }
        let mut identity = Identity { audiences: common, ..Identity::of(verified.user.clone()) };
        let claims = match &verified.claims {
            TokenClaims::Bound(claims) => claims,
            TokenClaims::Legacy(claims) => {
                let warnings = &mut identity.warnings;
                claims.validate(self.objects.as_ref(), token, now, &self.stats, warnings, used)?;
                return Ok(Some(identity));
            }
        };
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        self.validate(claims, now)?;
        if let Some(time) = claims.warn_after {
            let counter = if now > time { &self.stats.stale } else { &self.stats.valid };
            counter.increment();
        }
        Ok(Some(identity))
    }

    /// The token, if one of the keys signed it; `None` for a token of another issuer.
    fn verify(&self, token: &[u8]) -> Result<Option<Arc<Verified>>, String> {
        if token.len() > MAX_TOKEN {
            return Ok(None);
        }
        let hash = key_of(token);
        let keys = self.config.keys.current();
        let known = self.verified.get(&hash);
        // A key that is gone does not verify any more.
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.keys, &keys)) {
            self.stats.hits.increment();
            return Ok(Some(known));
        }
        if self.foreign.get(&hash).is_some() {
            return Ok(None);
        }
        let Some(token) = Token::parse(token).filter(|token| self.is_ours(token)) else {
            self.foreign.set(hash, (), 0);
            return Ok(None);
        };
        self.stats.misses.increment();
        let claims = self.claims(&token, &keys);
        let counter = if claims.is_ok() { &self.stats.verified } else { &self.stats.refused };
        counter.increment();
        let claims = claims?;
        let verified = Arc::new(Verified { user: Arc::new(claims.user()), claims, keys });
        self.verified.set(hash, verified.clone(), verified.heap_bytes());
        Ok(Some(verified))
    }

    /// The claims of a token whose signature is verified here.
    fn claims(&self, token: &Token<'_>, keys: &KeySet) -> Result<TokenClaims, String> {
        let mut candidates = keys.candidates(&token.header.key_id).peekable();
        if candidates.peek().is_none() {
            return Err("invalid signature, no keys found".to_owned());
        }
        let signed = token.header.signed(token.encoded, &token.decoded)?;
        if !candidates.any(|key| key.verifies(&token.header.algorithm, &signed, &token.signature)) {
            return Err("go-jose/go-jose: error in cryptographic primitive".to_owned());
        }
        if let Some(StrictProblem::DuplicateField(key)) = &token.duplicate {
            return Err(format!("json: duplicate key '{key}' in object"));
        }
        match self.is_legacy(token) {
            true => LegacyClaims::from_value(&token.payload).map(TokenClaims::Legacy),
            false => {
                let claims = Claims::from_value(&token.payload)?;
                Ok(TokenClaims::Bound(Box::new(self.config.content.of(claims))))
            }
        }
    }

    fn is_ours(&self, token: &Token<'_>) -> bool {
        let issuer = token.payload.str_at(&["iss"]);
        issuer == legacy::ISSUER || self.config.issuers.iter().any(|own| own == issuer)
    }

    /// A server may be configured to issue bound tokens under the name that legacy tokens have.
    fn is_legacy(&self, token: &Token<'_>) -> bool {
        let issues = || self.config.issuers.iter().any(|own| own == legacy::ISSUER);
        token.payload.str_at(&["iss"]) == legacy::ISSUER && !(claims::is_bound(&token.payload) && issues())
    }

    /// Whether the token is valid at this time and everything that it names still exists.
    fn validate(&self, claims: &Claims, now: i64) -> Result<(), String> {
        let (early, late) = (now.saturating_add(LEEWAY_SECONDS), now.saturating_sub(LEEWAY_SECONDS));
        if claims.not_before.is_some_and(|time| early < time) {
            return Err("service account token is not valid yet".to_owned());
        }
        if claims.expires.is_some_and(|time| late > time) {
            return Err("service account token has expired".to_owned());
        }
        if claims.issued.is_some_and(|time| early < time) {
            return Err("service account token is issued in the future".to_owned());
        }
        let is_gone = |object: &BoundObject| object.deleted.is_some_and(|time| time < late);
        let account = &claims.service_account;
        let found = self.objects.find(BoundKind::ServiceAccount, &claims.namespace, &account.name);
        let found = found.ok_or_else(|| no_account(&claims.namespace, &account.name))?;
        if found.uid != account.uid {
            return Err(format!("service account UID ({}) does not match claim ({})", found.uid, account.uid));
        }
        if is_gone(&found) {
            return Err("service account has been deleted".to_owned());
        }
        // The node of a pod may be deleted before the pod is.
        let node = claims.node.as_ref().filter(|_| claims.pod.is_none());
        if node.is_some() && !self.config.content.valid_with_node {
            return Err(
                "token is bound to a Node object but the \"ServiceAccountTokenNodeBindingValidation\" feature gate is \
                        disabled"
                    .to_owned(),
            );
        }
        let bound = [
            (BoundKind::Secret, "secret", claims.namespace.as_str(), claims.secret.as_ref()),
            (BoundKind::Pod, "pod", claims.namespace.as_str(), claims.pod.as_ref()),
            (BoundKind::Node, "node", "", node),
        ];
        for (kind, word, namespace, object) in bound {
            let Some(object) = object else { continue };
            let found = self.objects.find(kind, namespace, &object.name).filter(|found| !is_gone(found));
            let found = found.ok_or("service account token has been invalidated")?;
            if found.uid != object.uid {
                let (is, was) = (&found.uid, &object.uid);
                return Err(format!("{word} UID ({is}) does not match service account {word} ref claim ({was})"));
            }
        }
        Ok(())
    }

    /// The OpenID discovery document; `None` unless the issuer is a URL under which clients can find it.
    pub fn discovery(&self, server_address: &str) -> Option<Value> {
        let issuer = self.config.issuers.first().filter(|issuer| issuer.starts_with("https://"))?;
        let at_server = || format!("https://{server_address}{JWKS_PATH}");
        let keys = self.config.keys.current();
        let published = keys.verifying.iter().filter(|key| key.is_published());
        let mut algorithms: Vec<&str> = published.map(VerifyingKey::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let algorithms = algorithms.into_iter().map(Value::from).collect();
        Some(value!({
            "issuer": (issuer.clone()), "jwks_uri": (self.config.jwks_uri.clone().unwrap_or_else(at_server)),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": (Value::List(algorithms))
        }))
    }

    /// The keys that tokens are verified with; `None` as for [`ServiceAccountTokens::discovery`].
    pub fn key_set(&self) -> Option<Value> {
        self.discovery("")?;
        let keys = self.config.keys.current();
        let published = keys.verifying.iter().filter(|key| key.is_published());
        Some(value!({"keys": (Value::List(published.map(VerifyingKey::to_jwk).collect()))}))
    }

    /// How long clients may cache the keys at this time.
    pub fn keys_fresh_seconds(&self, now: SystemTime) -> u64 {
        let until = self.config.keys.fresh_until();
        until.map_or(KEYS_FRESH_SECONDS, |until| until.duration_since(now).map_or(0, |rest| rest.as_secs()))
    }
}

impl Authenticator for ServiceAccountTokens {
    /// Waits only for the use of a legacy token to be written, once a day for each token, and for the keys of a signer
    /// outside the server when a token names an unknown one.
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let Some(token) = request.bearer_token else { return MaybeReady::Ready(Ok(None)) };
        if self.needs_new_keys(token)
            && let Some(signer) = &self.config.external_signer
        {
            return MaybeReady::wait(async move {
                signer.refresh().await;
                self.authenticate_now(token, request).get().await
            });
        }
        self.authenticate_now(token, request)
    }
}

impl ServiceAccountTokens {
    /// Authenticates with the keys of now.
    fn authenticate_now<'a>(
        &'a self,
        token: &'a [u8],
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let mut used = None;
        let audiences = if request.audiences.is_empty() { &self.config.audiences } else { request.audiences };
        let outcome = self.identity(token, audiences, request.now, &mut used).map_err(AuthenticationError::refused);
        match used {
            None => MaybeReady::Ready(outcome),
            Some(used) => MaybeReady::wait(async move {
                self.objects.record_use(used).await;
                outcome
            }),
        }
    }
}

/// Why there is no such account: it may be that no request can ask for it.
fn no_account(namespace: &str, name: &str) -> String {
    let invalid = |what: &str, text: &str| {
        let faults = path_segment_name(text);
        (!faults.is_empty()).then(|| format!("invalid {what} {}: [{}]", names::quoted(text), faults.join(" ")))
    };
    if name.is_empty() {
        return "resource name may not be empty".to_owned();
    }
    if let Some(why) = invalid("namespace", namespace).or_else(|| invalid("resource name", name)) {
        return why;
    }
    match namespace {
        "" => "the server could not find the requested resource".to_owned(),
        _ => format!("serviceaccounts {} not found", names::quoted(name)),
    }
}

/// The user behind a token.
fn user(claims: &Claims) -> UserInfo {
    let mut extra = Vec::new();
    let mut add = |key: &str, value: String| {
        if !value.is_empty() {
            extra.push((Str::new(key), vec![Str::from(value)]));
        }
    };
    if !claims.id.is_empty() {
        add(CREDENTIAL_ID_KEY, format!("JTI={}", claims.id));
    }
    if let Some(node) = &claims.node {
        add(NODE_NAME_KEY, node.name.to_string());
        add("authentication.kubernetes.io/node-uid", node.uid.to_string());
    }
    if let Some(pod) = &claims.pod {
        add("authentication.kubernetes.io/pod-name", pod.name.to_string());
        add("authentication.kubernetes.io/pod-uid", pod.uid.to_string());
    }
    account_user(&claims.namespace, &claims.service_account, extra)
}

fn account_user(namespace: &str, account: &ObjectRef, extra: Vec<(Str, Vec<Str>)>) -> UserInfo {
    let (name, uid) = (users::service_account(namespace, &account.name), account.uid.clone());
    UserInfo { name, uid, groups: groups::of_service_accounts(namespace), extra }.authenticated()
}

/// A parsed token whose signature is not verified.
struct Token<'a> {
    header: TokenHeader,
    payload: Value,
    /// A field that the payload has twice.
    duplicate: Option<StrictProblem>,
    /// Header and payload as written.
    encoded: &'a [u8],
    /// The text of the payload.
    decoded: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// `None` for a text that is no JSON web token in compact form.
    fn parse(token: &'a [u8]) -> Option<Token<'a>> {
        let end = token.iter().rposition(|byte| *byte == b'.')?;
        let (encoded, signature) = (token.get(..end)?, token.get(end + 1..)?);
        let dot = encoded.iter().position(|byte| *byte == b'.')?;
        let part = |bytes: &[u8]| BASE64URL_NOPAD.decode(bytes).ok();
        let decoded = part(encoded.get(dot + 1..)?)?;
        let payload = json::parse(&decoded, Strictness::Collect).ok()?;
        Some(Token {
            header: TokenHeader::parse(&part(encoded.get(..dot)?)?).ok()?,
            payload: payload.value,
            duplicate: payload.problems.into_iter().next(),
            encoded,
            decoded,
            signature: part(signature)?,
        })
    }
}

#[cfg(test)]
mod tests;
