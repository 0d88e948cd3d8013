//! Metrics of client certificates and impersonation, rendered from the counts of authentication. Must never show a single
//! credential: only sums.

use pintle_auth::authentication::ClientCa;
use pintle_auth::impersonation::ImpersonationStats;
use pintle_metrics::{Exposition, Family};

const EXPIRATIONS: Family = Family::histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Time that the certificates of requests are still good for.",
);
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

pub(super) fn render_impersonation(stats: &ImpersonationStats, out: &mut Exposition) {
    for ([total, duration], series) in [(ATTEMPTS, &stats.attempts), (CHECKS, &stats.checks)] {
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

/// The remaining validity of client certificates.
pub fn client_certificates(ca: &ClientCa, out: &mut Exposition) {
    out.family(&EXPIRATIONS);
    out.histogram(EXPIRATIONS.name, &[], &ca.expirations);
}
