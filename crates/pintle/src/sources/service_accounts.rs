//! Metrics of service account tokens. Guarantees that they are the authenticator's counters. Must never contain data of
//! a single token.

use pintle_auth::authentication::{TokenCache, TokenCacheStats};
use pintle_kubernetes_auth::service_account::TokenStats;
use pintle_metrics::{Exposition, Family};

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
const CACHE_CALLS: Family = Family::gauge(
    "authentication_token_cache_active_fetch_count",
    "Calls about tokens that are under way, to webhooks and issuers.",
);
const CACHE_DURATIONS: Family = Family::histogram(
    "authentication_token_cache_request_duration_seconds",
    "Duration of the calls about tokens that were not found among those already verified.",
);
const CACHE_FETCHES: Family =
    Family::counter("authentication_token_cache_fetch_total", "Tokens that were verified, by whether they were good.");

/// `cache` is that of tokens that other parties issue or review.
pub fn render(stats: &TokenStats, cache: Option<&TokenCache>, out: &mut Exposition) {
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
    type Count = fn(&TokenCacheStats) -> u64;
    let [hits, misses, fetched, failed]: [Count; 4] =
        [|it| it.hits.get(), |it| it.misses.get(), |it| it.fetched.get(), |it| it.failed.get()];
    for (family, counts) in [
        (CACHE_REQUESTS, [("hit", &stats.hits, hits), ("miss", &stats.misses, misses)]),
        (CACHE_FETCHES, [("error", &stats.refused, failed), ("ok", &stats.verified, fetched)]),
    ] {
        out.family(&family);
        for (status, own, of_cache) in counts {
            let others = cache.map_or(0, |cache| of_cache(&cache.stats));
            out.sample(family.name, &[("status", status)], own.get() + others);
        }
    }
    out.family(&CACHE_CALLS);
    let under_way = cache.map_or(0, TokenCache::under_way);
    out.sample(CACHE_CALLS.name, &[("status", "in_flight")], under_way);
    out.family(&CACHE_DURATIONS);
    if let Some(cache) = cache {
        out.histogram(CACHE_DURATIONS.name, &[("status", "miss")], &cache.stats.durations);
    }
}
