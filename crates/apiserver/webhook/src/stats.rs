//! Counts of requests to other servers, by host. Guarantees that the number of hosts has a bound, although users configure
//! webhooks. Must never count the parts of a request's path.

use http::{Method, StatusCode, Uri};
use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Hosts with counts of their own.
const MAX_HOSTS: usize = 256;
/// What the requests to all other hosts are counted under.
const OTHER_HOSTS: &str = "other";

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0]);
static SIZES: Layout = Layout::bytes(&[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
]);

/// A host and a method.
pub type HostMethod = (String, &'static str);

/// The counts.
#[derive(Default)]
pub struct ClientStats {
    hosts: RwLock<BTreeSet<String>>,
    /// By code, host and method; the code of a request without an answer is `<error>`.
    pub requests: Keyed<(String, String, &'static str), Counter>,
    pub durations: Keyed<HostMethod, Histogram>,
    pub request_sizes: Keyed<HostMethod, Histogram>,
    pub response_sizes: Keyed<HostMethod, Histogram>,
}

impl ClientStats {
    /// Counts a request with its answer: the code and the size of the body, or neither.
    pub(crate) fn sent(
        &self,
        uri: &Uri,
        method: &Method,
        took: Duration,
        request_bytes: usize,
        answer: Option<(StatusCode, usize)>,
    ) {
        let method = if *method == Method::POST { "POST" } else { "GET" };
        let host = self.host(uri.authority().map_or("", |authority| authority.as_str()));
        let code = answer.map_or("<error>".to_owned(), |(code, _)| code.as_u16().to_string());
        self.requests.get(&(code, host.clone(), method), Counter::new).increment();
        let key = (host, method);
        self.durations.get(&key, || Histogram::new(&DURATIONS)).observe_duration(took);
        self.request_sizes.get(&key, || Histogram::new(&SIZES)).observe(request_bytes as f64);
        if let Some((_, bytes)) = answer {
            self.response_sizes.get(&key, || Histogram::new(&SIZES)).observe(bytes as f64);
        }
    }

    /// What requests to a host are counted under.
    fn host(&self, host: &str) -> String {
        let is_known = self.hosts.read().unwrap_or_else(PoisonError::into_inner).contains(host);
        if is_known {
            return host.to_owned();
        }
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_HOSTS {
            return OTHER_HOSTS.to_owned();
        }
        hosts.insert(host.to_owned());
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_host_as_long_as_there_are_few() {
        let stats = ClientStats::default();
        for at in 0..2 * MAX_HOSTS {
            let uri = Uri::try_from(format!("https://h{at}:1/secret")).expect("an address");
            stats.sent(&uri, &Method::POST, Duration::from_millis(1), 10, Some((StatusCode::OK, 5)));
            stats.sent(&uri, &Method::POST, Duration::from_millis(1), 10, None);
        }
        let counted = stats.requests.sorted();
        assert_eq!(counted.len(), 2 * (MAX_HOSTS + 1));
        let of = |code: &str, host: &str| {
            let key = (code.to_owned(), host.to_owned(), "POST");
            counted.iter().find(|(found, _)| *found == key).map(|(_, count)| count.get())
        };
        assert_eq!((of("200", "h0:1"), of("<error>", "h0:1")), (Some(1), Some(1)));
        assert_eq!(of("200", OTHER_HOSTS), Some(MAX_HOSTS as u64));
    }
}
