//! Metrics of requests to webhooks and issuers, under the names of client-go. Must never change what is counted.

use pintle_metrics::{Exposition, Family};
use pintle_webhook::Clients;

const REQUESTS: Family =
    Family::counter("rest_client_requests_total", "Requests to other servers, by status code, method, and host.");
const DURATIONS: Family = Family::histogram(
    "rest_client_request_duration_seconds",
    "Duration of requests to other servers, by verb, and host.",
);
const REQUEST_SIZES: Family =
    Family::histogram("rest_client_request_size_bytes", "Size of requests to other servers, by verb and host.");
const RESPONSE_SIZES: Family =
    Family::histogram("rest_client_response_size_bytes", "Size of answers of other servers, by verb and host.");
const TRANSPORTS: Family =
    Family::gauge("rest_client_transport_cache_entries", "Servers that connections are kept to.");

pub fn render(clients: &Clients, out: &mut Exposition) {
    let stats = clients.stats();
    out.family(&REQUESTS);
    for ((code, host, method), count) in stats.requests.sorted() {
        out.sample(REQUESTS.name, &[("code", &code), ("host", &host), ("method", method)], count.get());
    }
    for (family, histograms) in
        [(DURATIONS, &stats.durations), (REQUEST_SIZES, &stats.request_sizes), (RESPONSE_SIZES, &stats.response_sizes)]
    {
        out.family(&family);
        for ((host, verb), histogram) in histograms.sorted() {
            out.histogram(family.name, &[("host", &host), ("verb", verb)], &histogram);
        }
    }
    out.single(&TRANSPORTS, clients.transports());
}
