//! Metrics of a cluster of etcd: calls, shared leases, and the size of its members' databases. Guarantees
//! that a scrape sends no request to a member: it reports the last known values. Must never name an endpoint: members
//! are identified by their position on the command line, as in kube-apiserver.

use pintle_etcd::stats::{Calls, Stats};
use pintle_metrics::{Exposition, Family};
use pintle_server::sources::STORAGE_SIZE;
use std::sync::Arc;

const STARTED: Family = Family::counter("grpc_client_started_total", "Calls that were begun.");
const HANDLED: Family = Family::counter("grpc_client_handled_total", "Calls that have ended, by code.");
const SENT: Family = Family::counter("grpc_client_msg_sent_total", "Messages that were sent.");
const RECEIVED: Family = Family::counter("grpc_client_msg_received_total", "Messages that came.");
const LEASE_KEYS: Family =
    Family::histogram("etcd_lease_object_counts", "Objects that shared a lease which was left for another.");

/// Metrics of clusters that are counted together.
pub fn render(clusters: &[Arc<Stats>], out: &mut Exposition) {
    let Some(stats) = clusters.first() else { return };
    let calls = stats.calls.sorted();
    let labels = |(path, streams): (&'static str, bool)| {
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let kind = if streams { "bidi_stream" } else { "unary" };
        [("grpc_method", method), ("grpc_service", service), ("grpc_type", kind)]
    };
    type Count = fn(&Calls) -> u64;
    let counts: [(_, Count); 3] =
        [(STARTED, |it| it.started.get()), (SENT, |it| it.sent.get()), (RECEIVED, |it| it.received.get())];
    for (family, count) in counts {
        out.family(&family);
        calls.iter().for_each(|(key, it)| out.sample(family.name, &labels(*key), count(it)));
    }
    out.family(&HANDLED);
    for (key, it) in &calls {
        let [method, service, kind] = labels(*key);
        for (code, count) in it.ended.sorted() {
            out.sample(HANDLED.name, &[("grpc_code", code), method, service, kind], count.get());
        }
    }
    out.family(&LEASE_KEYS);
    out.histogram(LEASE_KEYS.name, &[], &stats.lease_keys);
    out.family(&STORAGE_SIZE);
    for (member, bytes) in clusters.iter().flat_map(|stats| stats.sizes()) {
        out.sample(STORAGE_SIZE.name, &[("storage_cluster_id", &format!("etcd-{member}"))], bytes);
    }
}
