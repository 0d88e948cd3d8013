//! EventRateLimit: rejects events above configured rates. Guarantees that every limit counts an event, even if another
//! one rejects it. Must never track more senders than configured.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::{Result, Status};
use pintle_schema::{Value, View};
use pintle_types::config_eventratelimit::v1alpha1::{Configuration, Limit, LimitType};
use pintle_types::core::v1::Event;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "events")]).validating(validate);

/// The default number of senders that a limit tracks.
const SENDERS: usize = 4096;

/// The limits, with their current use.
#[derive(Debug, Default)]
pub struct EventLimits(Vec<EventLimit>);

#[derive(Debug)]
struct EventLimit {
    limit: Limit,
    buckets: Mutex<HashMap<String, Bucket>>,
}

/// The token bucket of one sender.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl EventLimits {
    /// Whether there is no limit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// # Errors
    /// There is no limit, or an empty one.
    pub fn new(configuration: &Configuration) -> std::result::Result<Self, String> {
        if configuration.limits.is_empty() {
            return Err("limits: Invalid value: null: must not be empty".to_owned());
        }
        for (at, limit) in configuration.limits.iter().enumerate() {
            let known = [LimitType::SERVER, LimitType::NAMESPACE, LimitType::USER, LimitType::SOURCE_AND_OBJECT];
            let at = format!("limits[{at}]");
            if !known.contains(&limit.r#type) {
                let known = known.map(|known| format!("{:?}", known.as_str())).join(", ");
                return Err(format!(
                    "{at}.type: Unsupported value: \"{}\": supported values: {known}",
                    limit.r#type.as_str()
                ));
            }
            for (field, value) in [("burst", limit.burst), ("qps", limit.qps)] {
                if value <= 0 {
                    return Err(format!("{at}.{field}: Invalid value: {value}: must be positive"));
                }
            }
            if limit.cache_size < 0 {
                return Err(format!("{at}.cacheSize: Invalid value: {}: must not be negative", limit.cache_size));
            }
        }
        let limits = configuration.limits.iter();
        Ok(EventLimits(limits.map(|limit| EventLimit { limit: limit.clone(), buckets: Mutex::default() }).collect()))
    }
}

impl EventLimit {
    fn take(&self, key: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let burst = f64::from(self.limit.burst);
        let most = usize::try_from(self.limit.cache_size).ok().filter(|most| *most > 0).unwrap_or(SENDERS);
        let before = buckets.get(key).copied();
        if before.is_none() && buckets.len() >= most {
            let idle = buckets.iter().min_by_key(|(_, bucket)| bucket.at).map(|(key, _)| key.clone());
            idle.and_then(|key| buckets.remove(&key));
        }
        let Bucket { tokens, at } = before.unwrap_or(Bucket { tokens: burst, at: now });
        let gained = now.saturating_duration_since(at).as_secs_f64() * f64::from(self.limit.qps);
        let tokens = (tokens + gained).min(burst);
        let may = tokens >= 1.0;
        buckets.insert(key.to_owned(), Bucket { tokens: if may { tokens - 1.0 } else { tokens }, at: now });
        may
    }
}

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    if request.is_dry_run() {
        return Ok(());
    }
    let now = Instant::now();
    let limits = request.configuration.event_limits.0.iter();
    let refusals = limits.filter_map(|limit| {
        let key = key(&limit.limit.r#type, request, object);
        (!limit.take(&key, now)).then(|| format!("limit reached on type {} for key {key}", limit.limit.r#type.as_str()))
    });
    let refusals: Vec<String> = refusals.collect();
    let all = match &refusals[..] {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(Status::new(429, "TooManyRequests", format!("Too many requests: {all}")))
}

/// The key of the bucket that limits an event.
fn key(of: &LimitType, request: &Request<'_>, object: &Value) -> String {
    if *of == LimitType::NAMESPACE {
        return request.namespace().to_owned();
    }
    if *of == LimitType::USER {
        return request.requester().name.to_string();
    }
    if *of == LimitType::SERVER {
        return String::new();
    }
    let event = View::<Event>::new(object);
    let (source, about) = (event.field(Event::SOURCE).get(), event.field(Event::INVOLVED_OBJECT).get());
    [source.component, source.host, about.kind, about.namespace, about.name, about.uid, about.api_version].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration;
    use crate::testing::Cluster;
    use pintle_schema::value;
    use std::time::Duration;

    fn limits(limits: &[(LimitType, i32, i32)]) -> std::result::Result<EventLimits, String> {
        let limit = |(kind, qps, burst): &(LimitType, i32, i32)| Limit {
            r#type: kind.clone(),
            qps: *qps,
            burst: *burst,
            cache_size: 2,
        };
        let limits = limits.iter().map(limit).collect();
        EventLimits::new(&Configuration { limits, ..Configuration::default() })
    }

    #[test]
    fn buckets_empty_and_fill_again() {
        let EventLimits(limits) = limits(&[(LimitType::USER, 2, 2)]).expect("a limit");
        let limit = &limits[0];
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let rows =
            [("a", 0, true), ("a", 0, true), ("a", 400, false), ("a", 500, true), ("b", 500, true), ("a", 600, false)];
        for (key, when, taken) in rows {
            assert_eq!(limit.take(key, at(when)), taken, "{key} {when}");
        }
        // A third sender evicts the one that was idle longest, whose bucket then starts full.
        assert!(limit.take("c", at(601)));
        assert!(!limit.take("a", at(602)) && limit.take("b", at(603)) && limit.take("b", at(603)));
    }

    #[tokio::test]
    async fn every_limit_says_what_it_refuses() {
        let event_limits = limits(&[(LimitType::NAMESPACE, 1, 1), (LimitType::USER, 1, 1)]).expect("limits");
        let configuration = configuration::Configuration { event_limits, ..configuration::Configuration::default() };
        let cluster = Cluster::configured(&["EventRateLimit"], configuration);
        let event = || value!({"metadata": {"name": "e"}});
        assert!(cluster.create("", "events", event()).await.is_ok());
        let refused = cluster.create("", "events", event()).await.expect_err("one too many");
        assert_eq!((refused.code, refused.reason), (429, "TooManyRequests"));
        let why =
            "Too many requests: [limit reached on type Namespace for key ns, limit reached on type User for key alice]";
        assert_eq!(refused.message, why);
    }

    #[test]
    fn limits_without_sense() {
        assert!(limits(&[]).is_err());
        for row in [(LimitType::USER, 0, 1), (LimitType::USER, 1, 0), (LimitType::from("x"), 1, 1)] {
            assert!(limits(std::slice::from_ref(&row)).is_err(), "{row:?}");
        }
    }
}
