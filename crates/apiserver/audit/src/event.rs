//! An audit event, and its two forms: JSON, and kube-apiserver's legacy line of text.
//! Guarantees the member order of kube-apiserver's encoder. Must never keep an event's encoded form: backends do if they want to.

use crate::kept::RecordedObject;
use crate::policy::{Level, Stage};
use bytes::Bytes;
use pintle_auth::UserInfo;
use pintle_codec::json;
use pintle_schema::names::quoted;
use pintle_schema::{MicroTime, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longer user agents are cut.
const USER_AGENT_BYTES: usize = 1024;
/// The suffix of a truncated user agent.
const CUT: &str = "...TRUNCATED";

/// The data of a request before it is processed.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// The `Audit-ID`.
    pub id: String,
    pub received: SystemTime,
    /// Path and query, as they came.
    pub uri: String,
    pub verb: String,
    /// The authenticated user; `None` if authentication failed.
    pub user: Option<Arc<UserInfo>>,
    /// The addresses of proxies that the client named, then that of the peer.
    pub source_ips: Vec<IpAddr>,
    pub user_agent: String,
}

/// The object that a request is about.
#[derive(Clone, Debug, Default)]
pub struct ObjectReference {
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub api_group: String,
    pub api_version: String,
    pub resource_version: String,
    pub subresource: String,
}

/// The outcome of a request.
#[derive(Clone, Debug, Default)]
pub struct ResponseStatus {
    pub status: String,
    pub message: String,
    pub reason: String,
    /// As JSON.
    pub details: Option<Bytes>,
    pub code: u16,
}

impl ResponseStatus {
    /// That of a response with this code only.
    pub fn of_code(code: u16) -> Self {
        ResponseStatus { code, ..ResponseStatus::default() }
    }

    /// That of a response which is a `Status`.
    pub fn of(status: &Value, code: u16) -> Self {
        let text = |key: &str| status.str_at(&[key]).to_owned();
        let details = status.get("details").map(|details| json::to_vec(details).into());
        ResponseStatus { status: text("status"), message: text("message"), reason: text("reason"), details, code }
    }
}

/// The data of a request that is collected while it is processed.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Shared by the events of a request until more is known of it.
    pub object: Option<Arc<ObjectReference>>,
    /// The impersonated user, if any.
    pub impersonated: Option<Arc<UserInfo>>,
    /// The kind of constrained impersonation that was allowed.
    pub impersonation_constraint: String,
    pub response: Option<ResponseStatus>,
    pub request_object: Option<RecordedObject>,
    pub response_object: Option<RecordedObject>,
    pub annotations: BTreeMap<Cow<'static, str>, String>,
}

/// A request at a stage.
#[derive(Clone, Debug)]
pub struct Event {
    pub level: Level,
    pub stage: Stage,
    pub time: SystemTime,
    pub request: Arc<RequestInfo>,
    pub details: Details,
}

/// A user agent as events have it.
pub fn truncated_user_agent(agent: &[u8]) -> String {
    let text = String::from_utf8_lossy(agent);
    if text.len() <= USER_AGENT_BYTES {
        return text.into_owned();
    }
    let end = (0..=USER_AGENT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{CUT}", &text[..end])
}

impl Event {
    /// Appends the event as JSON: with its kind and version if `alone`, without them in a list.
    pub fn write_json(&self, alone: bool, out: &mut Vec<u8>) {
        let request = &self.request;
        let mut object = Members::begin(out);
        if alone {
            object.text("kind", "Event");
            object.text("apiVersion", "audit.k8s.io/v1");
        }
        object.text("level", self.level.name());
        object.text("auditID", &request.id);
        object.text("stage", self.stage.name());
        object.text("requestURI", &request.uri);
        object.text("verb", &request.verb);
        match &request.user {
            Some(user) => write_user(user, object.name("user")),
            None => object.name("user").extend_from_slice(b"{}"),
        }
        if let Some(user) = &self.details.impersonated {
            write_user(user, object.name("impersonatedUser"));
        }
        if !self.details.impersonation_constraint.is_empty() {
            let mut metadata = Members::begin(object.name("authenticationMetadata"));
            metadata.text("impersonationConstraint", &self.details.impersonation_constraint);
            metadata.end();
        }
        if !request.source_ips.is_empty() {
            let addresses = request.source_ips.iter().map(IpAddr::to_string);
            write_texts(addresses, object.name("sourceIPs"));
        }
        object.present("userAgent", &request.user_agent);
        if let Some(of) = &self.details.object {
            let mut reference = Members::begin(object.name("objectRef"));
            reference.present("resource", &of.resource);
            reference.present("namespace", &of.namespace);
            reference.present("name", &of.name);
            reference.present("uid", &of.uid);
            reference.present("apiGroup", &of.api_group);
            reference.present("apiVersion", &of.api_version);
            reference.present("resourceVersion", &of.resource_version);
            reference.present("subresource", &of.subresource);
            reference.end();
        }
        if let Some(status) = &self.details.response {
            write_status(status, object.name("responseStatus"));
        }
        for (key, json) in
            [("requestObject", &self.details.request_object), ("responseObject", &self.details.response_object)]
        {
            if let Some(json) = json {
                object.name(key).extend_from_slice(json);
            }
        }
        object.text("requestReceivedTimestamp", &micro_time(request.received).to_rfc3339());
        object.text("stageTimestamp", &micro_time(self.time).to_rfc3339());
        if !self.details.annotations.is_empty() {
            let mut annotations = Members::begin(object.name("annotations"));
            self.details.annotations.iter().for_each(|(key, value)| json::encode_str(value, annotations.key(key)));
            annotations.end();
        }
        object.end();
    }

    /// The event as a line of the log, with its line end.
    pub fn json_line(&self) -> Vec<u8> {
        let objects = [&self.details.request_object, &self.details.response_object];
        let objects: usize = objects.into_iter().flatten().map(|object| object.len()).sum();
        let mut line = Vec::with_capacity(1024 + objects);
        self.write_json(true, &mut line);
        line.push(b'\n');
        line
    }

    /// The event as kube-apiserver's line of text, without a line end.
    pub fn text(&self) -> String {
        let request = &self.request;
        let named = request.user.as_ref().filter(|user| !user.name.is_empty());
        let (user, groups) = match named {
            Some(user) if user.groups.is_empty() => (user.name.as_str(), "<none>".to_owned()),
            Some(user) => (user.name.as_str(), joined(user)),
            None => ("<none>", "<none>".to_owned()),
        };
        let (as_user, as_groups) = match &self.details.impersonated {
            Some(user) if user.groups.is_empty() => (user.name.as_str(), "<lookup>".to_owned()),
            Some(user) => (user.name.as_str(), joined(user)),
            None => ("<self>", "<lookup>".to_owned()),
        };
        let namespace = self.details.object.as_ref().map_or("", |object| object.namespace.as_str());
        let namespace = if namespace.is_empty() { "<none>" } else { namespace };
        let response = match &self.details.response {
            Some(status) => status.code.to_string(),
            None => "<deferred>".to_owned(),
        };
        let address = request.source_ips.first().map_or("<unknown>".to_owned(), IpAddr::to_string);
        let mut line = format!("{} AUDIT:", nano_time(request.received));
        for (key, value) in [
            ("id", request.id.as_str()),
            ("stage", self.stage.name()),
            ("ip", &address),
            ("method", &request.verb),
            ("user", user),
            ("groups", &groups),
            ("as", as_user),
            ("asgroups", &as_groups),
            ("user-agent", &request.user_agent),
            ("namespace", namespace),
            ("uri", &request.uri),
        ] {
            let _ = write!(line, " {key}={}", quoted(value));
        }
        let _ = write!(line, " response=\"{response}\"");
        line
    }
}

fn joined(user: &UserInfo) -> String {
    user.groups.iter().map(|group| quoted(group)).collect::<Vec<_>>().join(",")
}

fn micro_time(time: SystemTime) -> MicroTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    MicroTime { seconds: i64::try_from(since.as_secs()).unwrap_or_default(), nanos: since.subsec_nanos() }
}

/// RFC 3339 with as many digits as are needed, up to the nanosecond.
fn nano_time(time: SystemTime) -> String {
    let time = micro_time(time);
    let text = time.to_rfc3339();
    let whole = text.split('.').next().unwrap_or(&text);
    let digits = format!("{:09}", time.nanos);
    match digits.trim_end_matches('0') {
        "" => format!("{whole}Z"),
        digits => format!("{whole}.{digits}Z"),
    }
}

fn write_user(user: &UserInfo, out: &mut Vec<u8>) {
    let mut object = Members::begin(out);
    object.present("username", &user.name);
    object.present("uid", &user.uid);
    if !user.groups.is_empty() {
        write_texts(user.groups.iter(), object.name("groups"));
    }
    if !user.extra.is_empty() {
        let mut extra = Members::begin(object.name("extra"));
        user.extra.iter().for_each(|(key, values)| write_texts(values.iter(), extra.key(key)));
        extra.end();
    }
    object.end();
}

fn write_status(status: &ResponseStatus, out: &mut Vec<u8>) {
    let mut object = Members::begin(out);
    object.name("metadata").extend_from_slice(b"{}");
    object.present("status", &status.status);
    object.present("message", &status.message);
    object.present("reason", &status.reason);
    if let Some(details) = &status.details {
        object.name("details").extend_from_slice(details);
    }
    if status.code > 0 {
        object.name("code").extend_from_slice(status.code.to_string().as_bytes());
    }
    object.end();
}

fn write_texts<T: AsRef<str>>(texts: impl Iterator<Item = T>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json::encode_str(text.as_ref(), out);
    }
    out.push(b']');
}

/// The members of a JSON object that is being written.
struct Members<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
}

impl<'a> Members<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Members { out, is_first: true }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        json::encode_str(key, self.out);
        self.out.push(b':');
        self.out
    }

    /// The key of a member that needs no escapes. Inlined, since the length of its name is then known.
    #[inline(always)]
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    #[inline(always)]
    fn text(&mut self, name: &'static str, value: &str) {
        json::encode_str(value, self.name(name));
    }

    /// A member that is left out if it is empty.
    #[inline(always)]
    fn present(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::time::Duration;

    pub(crate) fn event() -> Event {
        let user = UserInfo {
            name: "jane".into(),
            groups: vec!["a".into(), "b\"".into()],
            extra: vec![("k".into(), vec!["v".into()])],
            ..UserInfo::default()
        };
        let request = RequestInfo {
            id: "1".into(),
            received: UNIX_EPOCH + Duration::new(1, 1_500_000),
            uri: "/api?a<b".into(),
            verb: "get".into(),
            user: Some(Arc::new(user)),
            source_ips: vec![IpAddr::from([127, 0, 0, 1])],
            user_agent: "test".into(),
        };
        Event {
            level: Level::RequestResponse,
            stage: Stage::ResponseComplete,
            time: UNIX_EPOCH,
            request: Arc::new(request),
            details: Details {
                object: Some(Arc::new(ObjectReference { resource: "pods".into(), ..ObjectReference::default() })),
                response: Some(ResponseStatus::of_code(200)),
                request_object: Some(Bytes::from_static(b"{\"a\":1}").into()),
                annotations: [("k".into(), "v".to_owned())].into(),
                ..Details::default()
            },
        }
    }

    #[test]
    fn an_event_as_json() {
        let expected = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"1","stage":"ResponseComplete","requestURI":"/api?a\u003cb","verb":"get","user":{"username":"jane","groups":["a","b\""],"extra":{"k":["v"]}},"sourceIPs":["127.0.0.1"],"userAgent":"test","objectRef":{"resource":"pods"},"responseStatus":{"metadata":{},"code":200},"requestObject":{"a":1},"requestReceivedTimestamp":"1970-01-01T00:00:01.001500Z","stageTimestamp":"1970-01-01T00:00:00.000000Z","annotations":{"k":"v"}}"#;
        assert_eq!(String::from_utf8_lossy(&event().json_line()), format!("{expected}\n"));
    }

    #[test]
    fn an_event_as_a_line_of_text() {
        let expected = r#"1970-01-01T00:00:01.0015Z AUDIT: id="1" stage="ResponseComplete" ip="127.0.0.1" method="get" user="jane" groups="\"a\",\"b\\\"\"" as="<self>" asgroups="<lookup>" user-agent="test" namespace="<none>" uri="/api?a<b" response="200""#;
        assert_eq!(event().text(), expected);
    }

    #[test]
    fn long_user_agents_are_cut_at_a_character() {
        assert_eq!(truncated_user_agent(&[b'a'; 1024]).len(), 1024);
        let long = format!("a{}", "é".repeat(600));
        let cut = truncated_user_agent(long.as_bytes());
        assert_eq!(cut.len(), 1023 + CUT.len());
        assert!(cut.ends_with(CUT));
    }
}
