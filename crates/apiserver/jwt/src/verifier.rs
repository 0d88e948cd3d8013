//! Verifies the tokens of one issuer: its discovery document, the signature, and the claims that every token has. Guarantees
//! that no token is accepted whose `iss` differs from the configured text. Must never decide what a user is called.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_auth::Str;
use pintle_codec::{Strictness, json};
use pintle_schema::compat::quote::quoted_list;
use pintle_schema::names::quoted;
use pintle_schema::{Time, Value};

use crate::claims::{NO_TIME, Registered};
use crate::fetch::Fetch;
use crate::jose::{Algorithm, CompactToken};
use crate::keys::RemoteKeys;

/// How much before its `nbf` a token is accepted, for clock skew.
const LEEWAY_SECONDS: i64 = 60;

pub(crate) const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// Google's tokens may lack the scheme.
pub(crate) const GOOGLE: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// The checks of a token besides its signature.
#[derive(Clone, Debug)]
pub(crate) struct Checks {
    pub audiences: Vec<Str>,
    pub algorithms: Vec<Algorithm>,
}

/// Verifies the tokens of one issuer.
pub(crate) struct Verifier {
    issuer: Str,
    pub keys: Arc<RemoteKeys>,
}

impl Verifier {
    /// Reads the discovery document of an issuer.
    pub async fn discover(
        issuer: &str,
        discovery_url: Option<&str>,
        fetch: &Arc<dyn Fetch>,
    ) -> Result<Verifier, String> {
        let own = format!("{}{WELL_KNOWN}", issuer.strip_suffix('/').unwrap_or(issuer));
        let document = fetch.get(discovery_url.unwrap_or(&own), None).await?;
        if document.code != 200 {
            return Err(document.failure());
        }
        let provider = json::parse(&document.body, Strictness::Ignore).map_err(|error| {
            format!("oidc: failed to decode provider discovery object: {}", document.not_json(error.text()))
        })?;
        let named = provider.value.str_at(&["issuer"]);
        if named != issuer {
            let (expected, got) = (quoted(issuer), quoted(named));
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {expected} got {got}"
            ));
        }
        match provider.value.str_at(&["jwks_uri"]) {
            "" => Err("provider did not return JWKS URL".to_owned()),
            url => Ok(Verifier { issuer: issuer.into(), keys: RemoteKeys::new(url.to_owned(), fetch.clone()) }),
        }
    }

    /// The claims of a token that this issuer signed and that is valid now.
    ///
    /// # Errors
    /// It is malformed, for others, not valid now, or not signed by a key of the issuer.
    pub async fn verify(&self, token: &str, checks: &Checks, now: SystemTime) -> Result<Value, String> {
        let token = CompactToken::parse(token).map_err(|error| error.to_string())?;
        if !checks.algorithms.iter().any(|algorithm| algorithm.name() == token.header.algorithm) {
            let expected: Vec<&str> = checks.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let (expected, got) = (quoted_list(&expected), quoted(&token.header.algorithm));
            return Err(format!("oidc: id token signed with unsupported algorithm, expected {expected} got {got}"));
        }
        self.keys.verify(&token, now).await.map_err(|why| format!("failed to verify signature: {why}"))?;
        let failed = |why| format!("oidc: failed to unmarshal claims: {why}");
        let payload = token.claims().map_err(failed)?;
        let registered = Registered::of(&payload).map_err(failed)?;
        check_claim_sources(&payload)?;
        let named = payload.str_at(&["iss"]);
        if named != self.issuer && (named, &*self.issuer) != GOOGLE {
            let (expected, got) = (quoted(&self.issuer), quoted(named));
            return Err(format!("oidc: id token issued by a different provider, expected {expected} got {got}"));
        }
        let for_us = checks.audiences.iter().any(|own| registered.audiences.contains(own));
        let got = || quoted_list(&registered.audiences);
        if let ([only], false) = (&checks.audiences[..], for_us) {
            return Err(format!("oidc: expected audience {} got {}", quoted(only), got()));
        }
        check_times(&registered, now)?;
        if !for_us {
            let mut expected = checks.audiences.clone();
            expected.sort();
            return Err(format!("oidc: expected audience in {} got {}", quoted_list(&expected), got()));
        }
        Ok(payload)
    }
}

/// Every distributed claim must have a source.
fn check_claim_sources(payload: &Value) -> Result<(), String> {
    let names = payload.get("_claim_names").and_then(Value::as_map);
    let sources = names.into_iter().flat_map(|names| names.iter()).filter_map(|(_, source)| source.as_str());
    for source in sources {
        if source.is_empty() {
            return Err("oidc: failed to obtain source from claim name".to_owned());
        }
        if payload.at(&["_claim_sources", source]).is_none() {
            return Err("oidc: source does not exist".to_owned());
        }
    }
    Ok(())
}

fn check_times(claims: &Registered, now: SystemTime) -> Result<(), String> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let has_passed = |time: i64| time < seconds || time == seconds && since.subsec_nanos() > 0;
    match claims.expires {
        Some(end) if !has_passed(end) => {}
        end => {
            // Go's zero time.
            let end = end.map_or("0001-01-01 00:00:00 +0000 UTC".to_owned(), go_time);
            return Err(format!("oidc: token is expired (Token Expiry: {end})"));
        }
    }
    match claims.not_before {
        Some(start) if seconds.saturating_add(LEEWAY_SECONDS) < start => {
            let (now, start) = (go_time(seconds), go_time(start));
            Err(format!("oidc: current time {now} before the nbf (not before) time: {start}"))
        }
        _ => Ok(()),
    }
}

/// A time as Go prints it, whose calendar overflows at the lowest one.
fn go_time(seconds: i64) -> String {
    if seconds == NO_TIME {
        return "292277026596-12-04 15:30:08 +0000 UTC".to_owned();
    }
    Time::from_seconds(seconds).to_string().replacen('T', " ", 1).replacen('Z', " +0000 UTC", 1)
}
