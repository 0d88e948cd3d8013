//! Finds out who a request comes from: front proxy, client certificate, static, bootstrap or service account token, or
//! nobody.
//! Guarantees that a credential that was shown and is wrong is refused, even where anonymous requests are allowed.
//! Must never trust a certificate without verifying its chain, nor say in an answer why a credential was refused.

pub mod bootstrap_token;
mod der;
mod front_proxy;
pub mod service_account;
mod token_file;
mod version_1;
mod x509;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use rustls_pki_types::CertificateDer;

use crate::{Str, UserInfo};

use bootstrap_token::TokenSecrets;
pub use der::{Attribute, not_after, subject_of_request};
pub use front_proxy::{FrontProxy, FrontProxyHeaders, is_of_front_proxies, unescaped_key};
pub use service_account::UsedSecret;
use service_account::{ServiceAccountTokens, common};
pub use token_file::{TokenFile, TokenFileError};
pub use version_1::version_1_key;
pub use x509::{COMMON_NAME, CertCache, ClientCa, ClientCaError, ORGANIZATION};

/// What a request and its connection show for themselves.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The first `Authorization` header.
    pub authorization: Option<&'a [u8]>,
    /// The client's certificate chain, leaf first. The connection proved that the client holds the leaf's key.
    pub client_certs: &'a [CertificateDer<'a>],
    /// Where the connection remembers who its certificate speaks for; without it every request verifies anew.
    pub cert_cache: Option<&'a CertCache>,
}

/// The request has no valid credential: 401. Says no more, as the answer must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unauthenticated;

impl Unauthenticated {
    /// The message (and the reason) of the Status that answers it.
    pub const MESSAGE: &str = "Unauthorized";
}

impl fmt::Display for Unauthenticated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Unauthenticated::MESSAGE)
    }
}

impl std::error::Error for Unauthenticated {}

/// What authentication finds out besides the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Warnings for the client.
    pub warnings: Vec<&'static str>,
    /// A legacy token's secret whose label is to show this use. A refused token may have one, too.
    pub used_secret: Option<UsedSecret>,
}

/// All ways in which a server recognizes its users, in kube-apiserver's order.
#[derive(Default)]
pub struct Authenticator {
    /// The authorities whose client certificates count.
    pub client_ca: Option<Arc<ClientCa>>,
    /// The static tokens.
    pub token_file: Option<TokenFile>,
    /// The tokens of service accounts.
    pub service_accounts: Option<ServiceAccountTokens>,
    /// The secrets of bootstrap tokens.
    pub bootstrap_tokens: Option<Box<dyn TokenSecrets>>,
    /// A server before this one that says who its requests come from. It is asked by who has the headers, before all others.
    pub front_proxy: Option<FrontProxy>,
    /// Who requests without a credential come from; `None` refuses them.
    pub anonymous: Option<Arc<UserInfo>>,
}

impl Authenticator {
    /// An authenticator that knows nobody, and lets in anonymous requests if told so.
    pub fn new(anonymous_auth: bool) -> Authenticator {
        Authenticator { anonymous: anonymous_auth.then(|| Arc::new(UserInfo::anonymous())), ..Authenticator::default() }
    }

    /// Who the request comes from. Budget: a hash lookup for a token, a cached answer for a certificate; no allocation.
    ///
    /// The first credential that proves an identity wins, so a good token makes up for an unknown certificate.
    pub fn authenticate(
        &self,
        credentials: Credentials<'_>,
        now: SystemTime,
        findings: &mut Findings,
    ) -> Result<Arc<UserInfo>, Unauthenticated> {
        let mut refused = false;
        if let Some(ca) = &self.client_ca {
            let memory = credentials.cert_cache.map(|cache| &cache.client);
            match ca.authenticate(credentials.client_certs, memory, now) {
                Ok(Some(user)) => return Ok(user),
                Ok(None) => {}
                Err(Unauthenticated) => refused = true,
            }
        }
        if let Some(token) = credentials.authorization.and_then(bearer_token) {
            if let Some(user) = self.token_file.as_ref().and_then(|file| file.user(token)) {
                return Ok(Arc::clone(user));
            }
            match self.service_account(token, self.audiences(), now, findings) {
                Ok(Some((user, _))) => return Ok(user),
                Ok(None) | Err(_) => refused = true,
            }
            if let Some(user) = self.bootstrap_token(token, now) {
                return Ok(user);
            }
        }
        match (&self.anonymous, refused) {
            (Some(anonymous), false) => Ok(Arc::clone(anonymous)),
            _ => Err(Unauthenticated),
        }
    }
}

impl Authenticator {
    /// The server's own audiences, which every credential that names none is good for.
    pub fn audiences(&self) -> &[Str] {
        self.service_accounts.as_ref().map_or(&[], |tokens| &tokens.config().audiences)
    }

    fn service_account(
        &self,
        token: &[u8],
        audiences: &[Str],
        now: SystemTime,
        findings: &mut Findings,
    ) -> Result<Option<Known>, String> {
        let tokens = self.service_accounts.as_ref();
        tokens.map_or(Ok(None), |tokens| tokens.authenticate(token, audiences, now, findings))
    }

    fn bootstrap_token(&self, token: &[u8], now: SystemTime) -> Option<Arc<UserInfo>> {
        bootstrap_token::user(self.bootstrap_tokens.as_deref()?, token, now)
    }

    /// Whom a token speaks for, and for which of the audiences asked for (the server's own when there are none).
    ///
    /// The token is taken as a header would bring it: one that begins with a space is no credential at all.
    ///
    /// # Errors
    /// Why it is not good, for the eyes of those who may review tokens.
    pub fn review(
        &self,
        token: &str,
        audiences: &[Str],
        now: SystemTime,
        findings: &mut Findings,
    ) -> Result<Known, String> {
        const INVALID: &str = "invalid bearer token";
        let own = self.audiences();
        let asked = if audiences.is_empty() { own } else { audiences };
        let header = format!("Bearer {token}");
        let Some(token) = bearer_token(header.as_bytes()) else {
            let anonymous = self.anonymous.as_ref().ok_or(INVALID)?;
            return Ok((Arc::clone(anonymous), asked.to_vec()));
        };
        let common = common(own, asked);
        let of_file = self.token_file.as_ref().and_then(|file| file.user(token)).map(Arc::clone);
        if let Some(user) = of_file.or_else(|| self.bootstrap_token(token, now))
            && common.is_empty() == own.is_empty()
        {
            return Ok((user, common));
        }
        match self.service_account(token, asked, now, findings) {
            Ok(found) => found.ok_or_else(|| INVALID.to_owned()),
            Err(why) => Err(format!("[{INVALID}, {why}]")),
        }
    }
}

/// A user, and the audiences that the credential is good for.
pub type Known = (Arc<UserInfo>, Vec<Str>);

/// The token of a `Bearer` header; a header of another scheme, or without a token, is no credential at all.
fn bearer_token(header: &[u8]) -> Option<&[u8]> {
    let mut parts = header.trim_ascii().splitn(3, |byte| *byte == b' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let mut authenticator = Authenticator::new(anonymous);
                let csv = "admin-token,admin,1,system:masters";
                authenticator.token_file = Some(TokenFile::parse(csv).expect("valid"));
                let credentials = Credentials { authorization: header.map(str::as_bytes), ..Credentials::default() };
                let user = authenticator.authenticate(credentials, SystemTime::UNIX_EPOCH, &mut Findings::default());
                let name = user.as_ref().map(|user| user.name.as_str()).ok();
                assert_eq!(name, expected, "{header:?}, anonymous {anonymous}");
            }
        }
    }
}
