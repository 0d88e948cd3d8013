//! Metrics of service account tokens. Guarantees that they are the authenticator's counters. Must never contain data of
//! a single token.

use pintle_endpoints::metrics::{Exposition, Family};
use pintle_kubernetes_auth::service_account::TokenStats;

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

pub fn render(stats: &TokenStats, out: &mut Exposition) {
    for (family, counter) in [
        (&LEGACY, &stats.legacy),
        (&LEGACY_AUTO_GENERATED, &stats.auto_generated),
        (&LEGACY_MANUALLY_CREATED, &stats.manually_created),
        (&LEGACY_INVALIDATED, &stats.invalidated),
        (&VALID, &stats.valid),
        (&STALE, &stats.stale),
    ] {
        out.single(family, counter.get());
    }
    for (family, counts) in [
        (CACHE_REQUESTS, [("hit", &stats.hits), ("miss", &stats.misses)]),
        (CACHE_FETCHES, [("error", &stats.refused), ("ok", &stats.verified)]),
    ] {
        out.family(&family);
        for (status, count) in counts {
            out.sample(family.name, &[("status", status)], count.get());
        }
    }
}
