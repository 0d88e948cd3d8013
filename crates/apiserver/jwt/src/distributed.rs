//! Distributed claims: a token names an endpoint that returns a second token with the groups claim. Guarantees that the second
//! token is verified like the first one. Must never call an endpoint before the token that names it is verified.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use pintle_auth::Str;
use pintle_schema::{Map, Value};

use crate::fetch::Fetch;
use crate::jose::CompactToken;
use crate::verifier::{Checks, Verifier};

/// Issuers of second tokens that are kept; there are very few.
const MAX_ISSUERS: usize = 64;

/// Resolves a distributed claim.
pub(crate) struct Distributed {
    claim: Str,
    fetch: Arc<dyn Fetch>,
    checks: Checks,
    verifiers: Mutex<HashMap<Str, Arc<Verifier>>>,
}

impl Distributed {
    /// Fetches this claim; `checks` are those of the first token.
    pub fn new(claim: &str, fetch: Arc<dyn Fetch>, checks: Checks) -> Distributed {
        Distributed { claim: claim.into(), fetch, checks, verifiers: Mutex::default() }
    }

    /// Adds the claim to a token's claims, if it is distributed.
    ///
    /// # Errors
    /// The reference is malformed, or the second token cannot be fetched or verified.
    pub async fn expand(&self, payload: &mut Value, now: SystemTime) -> Result<(), String> {
        let Some(claims) = payload.as_map_mut() else { return Ok(()) };
        let Some((endpoint, access_token)) = self.source(claims)? else { return Ok(()) };
        let claim = self.resolve(&endpoint, access_token.as_deref(), now).await?;
        claims.set(self.claim.clone(), claim);
        Ok(())
    }

    /// The endpoint of the claim and its access token; `None` if the claim is not distributed.
    fn source(&self, claims: &Map) -> Result<Option<(String, Option<String>)>, String> {
        let (None, Some(names)) = (claims.get(&self.claim), claims.get("_claim_names")) else { return Ok(None) };
        let Some(sources) = claims.get("_claim_sources") else { return Err("oidc: no claim sources".to_owned()) };
        let Some(name) = names.get(&self.claim).and_then(Value::as_str) else { return Ok(None) };
        let source = sources.get(name);
        let source = source
            .ok_or_else(|| format!("id token _claim_names contained a source {name} missing in _claims_sources"))?;
        let text = |field: &str| Some(source.str_at(&[field])).filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(text("endpoint").map(|endpoint| (endpoint, text("access_token"))))
    }

    async fn resolve(&self, endpoint: &str, access_token: Option<&str>, now: SystemTime) -> Result<Value, String> {
        let claim = &self.claim;
        let getting = |why: String| format!("while getting distributed claim \"{claim}\": {why}");
        let document = self.fetch.get(endpoint, access_token).await.map_err(getting)?;
        if !(200..=226).contains(&document.code) {
            let status = http::StatusCode::from_u16(document.code).ok();
            let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("");
            return Err(getting(format!("error while getting distributed claim JWT: {} {reason}", document.code)));
        }
        let token = String::from_utf8_lossy(&document.body);
        let token = token.trim();
        let issuer = CompactToken::untrusted_claims(token);
        let issuer = issuer.as_ref().and_then(|claims| claims.get("iss")).and_then(Value::as_str).ok_or_else(|| {
            format!("getting untrusted issuer from endpoint {endpoint} failed for claim \"{claim}\": malformed token")
        })?;
        let verifier = self.verifier(issuer).await;
        let verifier = verifier.map_err(|error| format!("verifying untrusted issuer {issuer} failed: {error}"))?;
        let payload = verifier.verify(token, &self.checks, now).await;
        let payload = payload.map_err(|error| format!("verify distributed claim token: {error}"))?;
        payload.get(claim).cloned().ok_or_else(|| {
            format!("jwt returned by distributed claim endpoint \"{endpoint}\" did not contain claim: {claim}")
        })
    }

    async fn verifier(&self, issuer: &str) -> Result<Arc<Verifier>, String> {
        let known = || self.verifiers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verifier) = known().get(issuer) {
            return Ok(verifier.clone());
        }
        let verifier = Verifier::discover(issuer, None, &self.fetch).await;
        let verifier =
            Arc::new(verifier.map_err(|why| format!("verifier not initialized for issuer: \"{issuer}\": {why}"))?);
        let mut known = known();
        if known.len() >= MAX_ISSUERS {
            known.clear();
        }
        known.insert(issuer.into(), verifier.clone());
        Ok(verifier)
    }
}
