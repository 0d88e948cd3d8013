//! Metrics of WebSockets that are translated or tunneled for kubelets. Guarantees that a stream is counted once, under
//! its final code. Must never count streams that are forwarded unchanged.

use pintle_metrics::{Exposition, Family, Keyed};
use std::sync::atomic::{AtomicU64, Ordering};

const TRANSLATED: Family = Family::counter(
    "apiserver_stream_translator_requests_total",
    "Commands over WebSockets that were translated for a kubelet, by code.",
);
const TUNNELED: Family = Family::counter(
    "apiserver_stream_tunnel_requests_total",
    "Forwarded ports over WebSockets that were tunneled to a kubelet, by code.",
);

/// The counters, by code.
#[derive(Default)]
pub struct StreamMetrics {
    translated: Keyed<u16, AtomicU64>,
    tunneled: Keyed<u16, AtomicU64>,
}

impl StreamMetrics {
    /// Counts a command: 200 if it ran, whatever its exit code.
    pub fn translated(&self, code: u16) {
        self.translated.get(&code, AtomicU64::default).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a forwarded port by the kubelet's status code.
    pub fn tunneled(&self, code: u16) {
        self.tunneled.get(&code, AtomicU64::default).fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the metrics.
    pub fn render(&self, out: &mut Exposition) {
        for (family, counts) in [(TRANSLATED, &self.translated), (TUNNELED, &self.tunneled)] {
            out.family(&family);
            for (code, count) in counts.sorted() {
                out.sample(family.name, &[("code", &code.to_string())], count.load(Ordering::Relaxed));
            }
        }
    }
}
