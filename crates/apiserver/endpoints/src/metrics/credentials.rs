//! Metrics of the credentials that clients come with: certificates, service accounts' tokens, and who they act as.
//! Guarantees nothing but that what authentication counts is told.
//! Must never tell of one credential: what is shown are sums.

use super::exposition::{Exposition, Family};
use pintle_auth::Authenticator;
use pintle_auth::impersonation::ImpersonationFigures;

const EXPIRATIONS: Family = Family::histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Time that the certificates of requests are still good for.",
);
const VALID: Family =
    Family::counter("serviceaccount_valid_tokens_total", "Cumulative valid projected service account tokens used");
const STALE: Family =
    Family::counter("serviceaccount_stale_tokens_total", "Cumulative stale projected service account tokens used");
const LEGACY: Family =
    Family::counter("serviceaccount_legacy_tokens_total", "Cumulative legacy service account tokens used");
const LEGACY_AUTO_GENERATED: Family =
    Family::counter("serviceaccount_legacy_auto_token_uses_total", "Cumulative auto-generated legacy tokens used");
const LEGACY_MANUALLY_CREATED: Family =
    Family::counter("serviceaccount_legacy_manual_token_uses_total", "Cumulative manually created legacy tokens used");
const LEGACY_INVALIDATED: Family = Family::counter(
    "serviceaccount_invalid_legacy_auto_token_uses_total",
    "Cumulative invalid auto-generated legacy tokens used",
);
const CACHE_REQUESTS: Family = Family::counter(
    "authentication_token_cache_request_total",
    "Tokens that were looked for among those already verified, by whether they were found.",
);
const CACHE_FETCHES: Family =
    Family::counter("authentication_token_cache_fetch_total", "Tokens that were verified, by whether they were good.");

const ATTEMPTS: [Family; 2] = [
    Family::counter(
        "apiserver_impersonation_attempts_total",
        "Attempts to act as somebody else, by mode and decision.",
    ),
    Family::histogram(
        "apiserver_impersonation_attempts_duration_seconds",
        "Time that attempts to act as somebody else took, by mode and decision.",
    ),
];
const CHECKS: [Family; 2] = [
    Family::counter(
        "apiserver_impersonation_authorization_attempts_total",
        "Questions that attempts to act as somebody else asked, by mode and decision.",
    ),
    Family::histogram(
        "apiserver_impersonation_authorization_attempts_duration_seconds",
        "Time that the questions of attempts to act as somebody else took, by mode and decision.",
    ),
];

pub(super) fn render_impersonation(figures: &ImpersonationFigures, out: &mut Exposition) {
    for ([total, duration], series) in [(ATTEMPTS, &figures.attempts), (CHECKS, &figures.checks)] {
        let series = series.sorted();
        let labels = |(mode, allowed): (&'static str, bool)| {
            [("decision", if allowed { "allowed" } else { "denied" }), ("mode", mode)]
        };
        out.family(&total);
        series.iter().for_each(|(key, durations)| out.sample(total.name, &labels(*key), durations.count()));
        out.family(&duration);
        series.iter().for_each(|(key, durations)| out.histogram(duration.name, &labels(*key), durations));
    }
}

pub(super) fn render(authenticator: &Authenticator, out: &mut Exposition) {
    if let Some(ca) = &authenticator.client_ca {
        out.family(&EXPIRATIONS);
        out.histogram(EXPIRATIONS.name, &[], &ca.expirations);
    }
    let Some(figures) = authenticator.service_accounts.as_ref().map(|tokens| &tokens.figures) else { return };
    for (family, counter) in [
        (&LEGACY, &figures.legacy),
        (&LEGACY_AUTO_GENERATED, &figures.auto_generated),
        (&LEGACY_MANUALLY_CREATED, &figures.manually_created),
        (&LEGACY_INVALIDATED, &figures.invalidated),
        (&VALID, &figures.valid),
        (&STALE, &figures.stale),
    ] {
        out.single(family, counter.get());
    }
    for (family, counts) in [
        (CACHE_REQUESTS, [("hit", &figures.hits), ("miss", &figures.misses)]),
        (CACHE_FETCHES, [("error", &figures.refused), ("ok", &figures.verified)]),
    ] {
        out.family(&family);
        for (status, count) in counts {
            out.sample(family.name, &[("status", status)], count.get());
        }
    }
}
