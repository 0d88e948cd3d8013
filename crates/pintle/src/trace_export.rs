//! Sends spans to an OpenTelemetry collector: OTLP over gRPC, without TLS, in batches.
//! Guarantees that a collector that is away or slow costs spans, which are counted, and nothing else. Must never send a
//! batch twice.

use crate::USER_AGENT;
use crate::certs::host_name;
use http::Uri;
use pintle_grpc::{Connection, Executor, Settings, Status};
use pintle_metrics::{Counter, Exposition, Family};
use pintle_spans::{Attribute, Span, SpanKind, Tracer};
use prost::Message;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tracing::warn;

/// The batches of the OpenTelemetry SDKs.
const BATCH: usize = 512;
const INTERVAL: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
/// An answer is not larger.
const ANSWER_BYTES: usize = 64 << 10;

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// Where spans are sent, and which requests are sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// Host and port of the collector.
    pub endpoint: String,
    pub rate_per_million: u32,
}

/// Counts of spans.
#[derive(Debug, Default)]
pub struct ExportStats {
    /// Spans that the collector took.
    sent: Counter,
    /// Spans that could not be sent.
    lost: Counter,
}

const SENT: Family = Family::counter("pintle_trace_spans_sent_total", "Spans that the collector took.");
const LOST: Family = Family::counter(
    "pintle_trace_spans_lost_total",
    "Spans that were lost, because too many waited or the collector did not take them.",
);

/// Starts to send the spans of a new tracer. Needs a runtime.
pub fn start(config: &TraceConfig) -> (Arc<Tracer>, impl Fn(&mut Exposition) + Send + Sync + 'static) {
    let (tracer, spans) = Tracer::new(config.rate_per_million);
    let (tracer, stats) = (Arc::new(tracer), Arc::new(ExportStats::default()));
    let exporter = Exporter { endpoint: config.endpoint.clone(), connection: None, stats: stats.clone() };
    tokio::spawn(exporter.run(spans));
    let counted = tracer.clone();
    let render = move |out: &mut Exposition| {
        out.single(&SENT, stats.sent.get());
        out.single(&LOST, stats.lost.get() + counted.dropped.get());
    };
    (tracer, render)
}

struct Exporter {
    endpoint: String,
    connection: Option<Connection>,
    stats: Arc<ExportStats>,
}

impl Exporter {
    /// Sends batches that are full or due, until the tracer is dropped.
    async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        let mut last_failure = String::new();
        loop {
            let mut batch = Vec::new();
            if spans.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let due = tokio::time::Instant::now() + INTERVAL;
            while batch.len() < BATCH {
                let room = BATCH - batch.len();
                match tokio::time::timeout_at(due, spans.recv_many(&mut batch, room)).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            let count = batch.len() as u64;
            let sent = tokio::time::timeout(TIMEOUT, self.send(&batch)).await;
            match sent.unwrap_or_else(|_| Err(Status::deadline_exceeded())) {
                Ok(rejected) => {
                    self.stats.sent.add(count.saturating_sub(rejected));
                    self.stats.lost.add(rejected.min(count));
                    last_failure.clear();
                }
                Err(status) => {
                    self.connection = None;
                    self.stats.lost.add(count);
                    let failure = status.to_string();
                    if failure != last_failure {
                        warn!(err = failure, "traces export: {count} spans were not sent");
                        last_failure = failure;
                    }
                }
            }
        }
    }

    /// Sends a batch. Returns how many spans of it the collector rejected.
    async fn send(&mut self, batch: &[Span]) -> Result<u64, Status> {
        if self.connection.as_ref().is_none_or(|connection| !connection.is_usable()) {
            let stream = TcpStream::connect(&self.endpoint).await.map_err(Status::unavailable)?;
            let origin = Uri::try_from(format!("http://{}/", self.endpoint)).map_err(Status::unavailable)?;
            let settings =
                Settings { origin, window: ANSWER_BYTES as u32, message_max: ANSWER_BYTES, keep_alive: None };
            self.connection = Some(Connection::open(stream, &settings, Executor::runtime()).await?);
        }
        let Some(connection) = &self.connection else { return Err(Status::unavailable("no connection")) };
        let response: messages::Response = connection.unary(EXPORT, messages::Request::of(batch)).await?;
        Ok(response.partial_success.map_or(0, |partial| partial.rejected_spans.unsigned_abs()))
    }
}

/// The messages of OTLP, as far as they are used, with the numbers of its definition.
mod messages {
    use super::{Attribute, Message, SpanKind, SystemTime, UNIX_EPOCH, USER_AGENT, host_name};
    use prost::Oneof;

    /// The code of a status that says that a span failed.
    const ERROR: i32 = 2;
    /// The flag of a sampled span.
    const SAMPLED: u32 = 1;
    /// The flag that says that it is known whether the parent is of another process, and that that is the case.
    const HAS_REMOTE_PARENT: u32 = 0x300;

    #[derive(Clone, PartialEq, Message)]
    pub struct Request {
        #[prost(message, repeated, tag = "1")]
        pub resource_spans: Vec<ResourceSpans>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Response {
        #[prost(message, optional, tag = "1")]
        pub partial_success: Option<PartialSuccess>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct PartialSuccess {
        #[prost(int64, tag = "1")]
        pub rejected_spans: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct ResourceSpans {
        #[prost(message, optional, tag = "1")]
        pub resource: Option<Resource>,
        #[prost(message, repeated, tag = "2")]
        pub scope_spans: Vec<ScopeSpans>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Resource {
        #[prost(message, repeated, tag = "1")]
        pub attributes: Vec<KeyValue>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct ScopeSpans {
        #[prost(message, optional, tag = "1")]
        pub scope: Option<Scope>,
        #[prost(message, repeated, tag = "2")]
        pub spans: Vec<Span>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Scope {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub version: String,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Span {
        #[prost(bytes = "vec", tag = "1")]
        pub trace_id: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub span_id: Vec<u8>,
        #[prost(bytes = "vec", tag = "4")]
        pub parent_span_id: Vec<u8>,
        #[prost(string, tag = "5")]
        pub name: String,
        #[prost(int32, tag = "6")]
        pub kind: i32,
        #[prost(fixed64, tag = "7")]
        pub start_time_unix_nano: u64,
        #[prost(fixed64, tag = "8")]
        pub end_time_unix_nano: u64,
        #[prost(message, repeated, tag = "9")]
        pub attributes: Vec<KeyValue>,
        #[prost(message, repeated, tag = "11")]
        pub events: Vec<Event>,
        #[prost(message, repeated, tag = "13")]
        pub links: Vec<Link>,
        #[prost(message, optional, tag = "15")]
        pub status: Option<SpanStatus>,
        #[prost(fixed32, tag = "16")]
        pub flags: u32,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Event {
        #[prost(fixed64, tag = "1")]
        pub time_unix_nano: u64,
        #[prost(string, tag = "2")]
        pub name: String,
        #[prost(message, repeated, tag = "3")]
        pub attributes: Vec<KeyValue>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Link {
        #[prost(bytes = "vec", tag = "1")]
        pub trace_id: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub span_id: Vec<u8>,
        #[prost(fixed32, tag = "6")]
        pub flags: u32,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct SpanStatus {
        #[prost(int32, tag = "3")]
        pub code: i32,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct KeyValue {
        #[prost(string, tag = "1")]
        pub key: String,
        #[prost(message, optional, tag = "2")]
        pub value: Option<AnyValue>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct AnyValue {
        #[prost(oneof = "Value", tags = "1, 3")]
        pub value: Option<Value>,
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub enum Value {
        #[prost(string, tag = "1")]
        Text(String),
        #[prost(int64, tag = "3")]
        Number(i64),
    }

    impl Request {
        pub fn of(spans: &[super::Span]) -> Request {
            let instance = host_name().unwrap_or_default();
            let resource = Resource {
                attributes: vec![
                    KeyValue::of("service.name", &Attribute::from("apiserver")),
                    KeyValue::of("service.instance.id", &Attribute::from(instance)),
                ],
            };
            let version = USER_AGENT.rsplit('/').next().unwrap_or_default().to_owned();
            let scope_spans = ScopeSpans {
                scope: Some(Scope { name: "pintle".to_owned(), version }),
                spans: spans.iter().map(Span::of).collect(),
            };
            Request { resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans: vec![scope_spans] }] }
        }
    }

    impl Span {
        fn of(span: &super::Span) -> Span {
            let is_server = span.kind == SpanKind::Server;
            let remote = if is_server && span.parent.is_some() { HAS_REMOTE_PARENT } else { 0 };
            Span {
                trace_id: span.context.trace_id.to_vec(),
                span_id: span.context.span_id.to_vec(),
                parent_span_id: span.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
                name: span.name.clone(),
                kind: if is_server { 2 } else { 1 },
                start_time_unix_nano: nanos(span.start),
                end_time_unix_nano: nanos(span.end),
                attributes: attributes(&span.attributes),
                events: span.events.iter().map(Event::of).collect(),
                links: span.link.iter().map(Link::of).collect(),
                status: span.is_error.then_some(SpanStatus { code: ERROR }),
                flags: SAMPLED | remote,
            }
        }
    }

    impl Event {
        fn of(event: &pintle_spans::Event) -> Event {
            let attributes = attributes(&event.attributes);
            Event { time_unix_nano: nanos(event.time), name: event.name.clone(), attributes }
        }
    }

    impl Link {
        fn of(to: &pintle_spans::SpanContext) -> Link {
            let flags = u32::from(to.is_sampled) | HAS_REMOTE_PARENT;
            Link { trace_id: to.trace_id.to_vec(), span_id: to.span_id.to_vec(), flags }
        }
    }

    impl KeyValue {
        fn of(key: &str, value: &Attribute) -> KeyValue {
            let value = match value {
                Attribute::Text(text) => Value::Text(text.clone()),
                Attribute::Number(number) => Value::Number(*number),
            };
            KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
        }
    }

    fn attributes(of: &[(&'static str, Attribute)]) -> Vec<KeyValue> {
        of.iter().map(|(key, value)| KeyValue::of(key, value)).collect()
    }

    fn nanos(time: SystemTime) -> u64 {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}
