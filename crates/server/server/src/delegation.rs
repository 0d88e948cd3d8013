//! Delegated authentication and authorization: an extension server uses those of the aggregating server. Guarantees that users
//! come from the front proxy, from client certificates and from tokens that the other server has reviewed, and that the CAs
//! follow its ConfigMap. Must never allow a request because the other server does not respond.

use arc_swap::ArcSwapOption;
use pintle_auth::authentication::{
    AuthenticationError, AuthenticationRequest, Authenticator, ClientCa, FrontProxy, FrontProxyHeaders, Identity,
    TokenCache, TokenCacheTimes, is_front_proxy_header,
};
use pintle_auth::authorization::{Reason, UserRules};
use pintle_auth::{Attributes, Authorizer, Decision, NamedAuthorizer, UserInfo};
use pintle_codec::{Strictness, json};
use pintle_http::TlsConfig;
use pintle_resource::MaybeReady;
use pintle_reviews::{
    AccessReviewConfig, AccessReviews, CacheTimes, OnFailure, ReviewClient, ReviewVersion, TokenReviews,
};
use pintle_schema::Value;
use pintle_webhook::{Address, Client, Clients, Kubeconfig, Settings};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tracing::warn;

/// The ConfigMap that an API server publishes for the servers that extend it.
const PUBLISHED: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// How long one call may take, as in kube-apiserver's library.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long reviews are cached, as in kube-apiserver's library.
const KEPT: Duration = Duration::from_secs(10);
/// How often the ConfigMap is read again.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// An object in etcd has less.
const MAX_PUBLISHED_BYTES: usize = 2 << 20;
const USER_AGENT: &str = "pintle-extension";

/// How a server delegates.
#[derive(Clone, Debug, Default)]
pub struct Delegation {
    /// Names the server that reviews tokens and publishes the authorities.
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Names the server that reviews requests.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Whether the published authorities are not read.
    pub skip_lookup: bool,
    /// Whether the server starts without them if they cannot be read.
    pub tolerate_lookup_failure: bool,
    /// Paths that everybody may read; a trailing `*` matches any suffix.
    pub always_allow_paths: Option<Vec<String>>,
}

/// Why a server cannot delegate.
#[derive(Debug, thiserror::Error)]
pub enum DelegationError {
    #[error("{}: {why}", path.display())]
    Kubeconfig { path: PathBuf, why: String },
    #[error("unable to load configmap based request-header-client-ca-file: {0}")]
    Lookup(String),
    #[error("the published authorities cannot be used: {0}")]
    Published(String),
}

/// The authenticator with the published CAs of another server: those of its front proxy and its clients.
#[derive(Default)]
pub struct PublishedAuthorities(ArcSwapOption<Authorities>);

/// The last published CAs.
struct Authorities {
    data: Data,
    proxy: Option<FrontProxy>,
    clients: Option<ClientCa>,
}

/// The entries of the ConfigMap that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Data {
    client_ca: String,
    proxy_ca: String,
    allowed_names: Vec<String>,
    headers: FrontProxyHeaders,
}

impl Data {
    /// # Errors
    /// The response is no ConfigMap, or an entry is no list of names.
    fn of(body: &[u8]) -> Result<Data, DelegationError> {
        let published = |why: String| DelegationError::Published(why);
        let decoded = json::parse(body, Strictness::Ignore);
        let object = decoded.map_err(|error| published(error.text().to_owned()))?.value;
        let list = |key: &str| {
            let text = object.str_at(&["data", key]);
            if text.is_empty() {
                return Ok(Vec::new());
            }
            let list = json::parse(text.as_bytes(), Strictness::Ignore).ok();
            let texts = |value: Value| match value {
                Value::List(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
                _ => None,
            };
            let found: Option<Vec<String>> = list.and_then(|decoded| texts(decoded.value));
            found.ok_or_else(|| published(format!("{key}: {text:?} is no list of names")))
        };
        let text = |key: &str| object.str_at(&["data", key]).to_owned();
        Ok(Data {
            client_ca: text("client-ca-file"),
            proxy_ca: text("requestheader-client-ca-file"),
            allowed_names: list("requestheader-allowed-names")?,
            headers: FrontProxyHeaders {
                username: list("requestheader-username-headers")?,
                uid: list("requestheader-uid-headers")?,
                group: list("requestheader-group-headers")?,
                extra_prefixes: list("requestheader-extra-headers-prefix")?,
            },
        })
    }
}

impl PublishedAuthorities {
    /// Trusts new CAs; returns the client CAs in PEM if they have changed.
    fn publish(&self, data: Data) -> Result<Option<Vec<u8>>, DelegationError> {
        if self.0.load().as_ref().is_some_and(|known| known.data == data) {
            return Ok(None);
        }
        let authority = |pem: &str| match pem.trim().is_empty() {
            true => Ok(None),
            false => {
                ClientCa::from_pem(pem.as_bytes()).map(Some).map_err(|it| DelegationError::Published(it.to_string()))
            }
        };
        let (proxy, clients) = (authority(&data.proxy_ca)?, authority(&data.client_ca)?);
        let proxy = proxy.map(|ca| FrontProxy {
            ca: Arc::new(ca),
            allowed_names: data.allowed_names.clone(),
            headers: data.headers.clone(),
        });
        let pem = format!("{}\n{}", data.client_ca, data.proxy_ca).into_bytes();
        self.0.store(Some(Arc::new(Authorities { data, proxy, clients })));
        Ok(Some(pem))
    }
}

impl Authenticator for PublishedAuthorities {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let known = self.0.load();
        let Some(known) = known.as_deref() else { return MaybeReady::Ready(Ok(None)) };
        let members = [
            known.proxy.as_ref().map(|proxy| proxy as &dyn Authenticator),
            known.clients.as_ref().map(|clients| clients as &dyn Authenticator),
        ];
        for member in members.into_iter().flatten() {
            // Neither of them waits.
            match member.authenticate(request).now() {
                Ok(Ok(None)) | Err(_) => {}
                Ok(outcome) => return MaybeReady::Ready(outcome),
            }
        }
        MaybeReady::Ready(Ok(None))
    }

    fn consumes_header(&self, name: &str) -> bool {
        let known = self.0.load();
        let proxy = known.as_ref().and_then(|known| known.proxy.as_ref());
        is_front_proxy_header(name) || proxy.is_some_and(|proxy| proxy.consumes_header(name))
    }
}

/// Allows everybody to read some paths.
struct OpenPaths(Vec<String>);

impl Authorizer for OpenPaths {
    fn authorize<'a>(&'a self, request: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        let is_open = |open: &String| match open.strip_suffix('*') {
            Some(beginning) => request.path.starts_with(beginning),
            None => request.path == open,
        };
        let decision = match !request.is_resource && self.0.iter().any(is_open) {
            true => Decision::Allow(Reason::None),
            false => Decision::no_opinion(""),
        };
        MaybeReady::Ready(decision)
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> MaybeReady<'a, UserRules> {
        MaybeReady::Ready(UserRules::default())
    }
}

impl Delegation {
    /// The authenticators of a delegating server, none if it does not delegate. The client CAs are read now and followed as
    /// long as the server uses them; the server's TLS requests client certificates.
    ///
    /// # Errors
    /// The kubeconfig is unusable, or the CAs cannot be read.
    pub async fn authenticators(&self, tls: &Arc<TlsConfig>) -> Result<Vec<Arc<dyn Authenticator>>, DelegationError> {
        let Some(path) = &self.authentication_kubeconfig else { return Ok(Vec::new()) };
        let (clients, settings) = (Clients::default(), settings(path)?);
        let client = client_of(&clients, path, &settings, TOKEN_REVIEWS)?;
        let posted = ReviewClient::new(client, ReviewVersion::V1, TIMEOUT);
        let times = TokenCacheTimes { success: KEPT, failure: Duration::ZERO };
        let tokens = TokenCache::new(Arc::new(TokenReviews::new(posted, Vec::new())), times);
        let tokens: Arc<dyn Authenticator> = Arc::new(tokens);
        if self.skip_lookup {
            return Ok(vec![tokens]);
        }
        let authorities = Arc::new(PublishedAuthorities::default());
        let lookup =
            Lookup { client: client_of(&clients, path, &settings, PUBLISHED)?, url: url(&settings, PUBLISHED) };
        match lookup.look(&authorities, tls).await {
            Err(error) if self.tolerate_lookup_failure => {
                let err = error.to_string();
                warn!(err, "client certificates and the front proxy are not trusted yet");
            }
            outcome => outcome?,
        }
        tokio::spawn(lookup.follow(Arc::downgrade(&authorities), tls.clone()));
        Ok(vec![authorities, tokens])
    }

    /// The authorizers of a delegating server, none if it does not delegate.
    ///
    /// # Errors
    /// The kubeconfig is unusable.
    pub fn authorizers(&self) -> Result<Vec<NamedAuthorizer>, DelegationError> {
        let Some(path) = &self.authorization_kubeconfig else { return Ok(Vec::new()) };
        let client = client_of(&Clients::default(), path, &settings(path)?, ACCESS_REVIEWS)?;
        let reviews = AccessReviews::new(AccessReviewConfig {
            posted: ReviewClient::new(client, ReviewVersion::V1, TIMEOUT),
            times: CacheTimes { allowed: KEPT, others: KEPT },
            on_failure: OnFailure::NoOpinion,
            conditions: Vec::new(),
        });
        let open = self.always_allow_paths.clone();
        let open = open.unwrap_or_else(|| ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec());
        let (open, reviews): (Arc<dyn Authorizer>, Arc<dyn Authorizer>) =
            (Arc::new(OpenPaths(open)), Arc::new(reviews));
        Ok(vec![NamedAuthorizer::new("Path", "path", open), NamedAuthorizer::new("Webhook", "delegated", reviews)])
    }
}

fn settings(path: &Path) -> Result<Settings, DelegationError> {
    let failed =
        |error: &dyn std::fmt::Display| DelegationError::Kubeconfig { path: path.into(), why: error.to_string() };
    Kubeconfig::read(path).and_then(|file| file.current(USER_AGENT)).map_err(|error| failed(&error))
}

/// The URL of a path of the server that a kubeconfig names.
fn url(settings: &Settings, path: &str) -> String {
    match &settings.address {
        Address::Url(url) => format!("{}{path}", url.trim_end_matches('/')),
        Address::Service(_) => path.to_owned(),
    }
}

fn client_of(clients: &Clients, path: &Path, settings: &Settings, of: &str) -> Result<Client, DelegationError> {
    let settings = Settings { address: Address::Url(url(settings, of)), ..settings.clone() };
    let failed = |why: String| DelegationError::Kubeconfig { path: path.into(), why };
    clients.client(settings).map_err(|error| failed(error.to_string()))
}

/// Where the authorities are published.
struct Lookup {
    client: Client,
    url: String,
}

impl Lookup {
    /// Reads the published CAs, and trusts them.
    async fn look(&self, authorities: &PublishedAuthorities, tls: &TlsConfig) -> Result<(), DelegationError> {
        let answer = self.client.get(&self.url, None, TIMEOUT, MAX_PUBLISHED_BYTES).await;
        let answer = answer.map_err(|error| DelegationError::Lookup(error.to_string()))?;
        if answer.code != 200 {
            let status = json::parse(&answer.body, Strictness::Ignore).map(|decoded| decoded.value);
            let message = status.map(|status| status.str_at(&["message"]).to_owned()).unwrap_or_default();
            return Err(DelegationError::Lookup(format!("status {}: {message}", answer.code)));
        }
        if let Some(pem) = authorities.publish(Data::of(&answer.body)?)? {
            let asked = Some(pem).filter(|pem| !pem.trim_ascii().is_empty());
            let changed = tls.change(|material| material.client_ca_pem = asked);
            changed.map_err(|error| DelegationError::Published(error.to_string()))?;
        }
        Ok(())
    }

    /// Polls while the server uses the CAs. A failed read changes nothing.
    async fn follow(self, authorities: Weak<PublishedAuthorities>, tls: Arc<TlsConfig>) {
        let mut reported = String::new();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let Some(authorities) = authorities.upgrade() else { return };
            let err = self.look(&authorities, &tls).await.err().map(|error| error.to_string()).unwrap_or_default();
            if err != reported && !err.is_empty() {
                warn!(err, "the published authorities were not read again");
            }
            reported = err;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_entries_are_read() {
        let body = br#"{"data": {"client-ca-file": "A", "requestheader-allowed-names": "[\"p\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]"}}"#;
        let data = Data::of(body).expect("a ConfigMap");
        assert_eq!((data.client_ca.as_str(), data.proxy_ca.as_str()), ("A", ""));
        assert_eq!(
            (data.allowed_names, data.headers.username),
            (vec!["p".to_owned()], vec!["X-Remote-User".to_owned()])
        );
        for wrong in ["[1]", "x", "{}"] {
            let body = format!(r#"{{"data": {{"requestheader-uid-headers": {wrong:?}}}}}"#);
            assert!(Data::of(body.as_bytes()).is_err(), "{wrong}");
        }
        let authorities = PublishedAuthorities::default();
        assert!(authorities.publish(Data { client_ca: "A".to_owned(), ..Data::default() }).is_err());
        assert_eq!(authorities.publish(Data::default()).expect("nothing to trust"), Some(b"\n".to_vec()));
        assert_eq!(authorities.publish(Data::default()).expect("the same"), None);
    }

    #[test]
    fn open_paths_are_open_to_everybody() {
        let (anonymous, open) = (UserInfo::anonymous(), OpenPaths(vec!["/healthz".to_owned(), "/a/*".to_owned()]));
        for (path, is_open) in [("/healthz", true), ("/healthz/x", false), ("/a/b", true), ("/metrics", false)] {
            let attributes = Attributes::non_resource(&anonymous, "get", path);
            let decision = open.authorize(&attributes).now().ok();
            assert_eq!(matches!(decision, Some(Decision::Allow(_))), is_open, "{path}");
        }
        let resource = Attributes { path: "/healthz", ..Attributes::resource(&anonymous, "get", "", "pods") };
        assert!(!matches!(open.authorize(&resource).now().ok(), Some(Decision::Allow(_))));
    }
}
