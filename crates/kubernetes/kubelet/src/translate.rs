//! Translates commands over a WebSocket for kubelets that speak SPDY: one message is one piece of a stream.
//!
//! Guarantees that a client always gets the outcome of its command on the protocol's error channel, and that each side
//! is read only as fast as the other side accepts data. Must never choose the kubelet.

use crate::locate::Location;
use crate::metrics::StreamMetrics;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::{self, FutureExt, select};
use futures_util::stream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use pintle_codec::{Strictness, json};
use pintle_endpoints::SharedApi;
use pintle_endpoints::context::Context;
use pintle_endpoints::response::{ApiResponse, handshake_refused};
use pintle_proxy::backend::{BackendResponse, ByteStream};
use pintle_proxy::spdy::{self, Frame, Frames, Opener};
use pintle_proxy::upgrade::{Upgraded, is_upgrade, is_websocket, tokens};
use pintle_proxy::websocket::frames::{Kind, Reader, Writer};
use pintle_proxy::websocket::{self, MAX_MESSAGE_BYTES};
use pintle_registry::{Result, Status};
use pintle_schema::{ApiType, ApiValue, Value, value};
use pintle_types::meta::v1::{self, StatusCause};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// The protocol of a client's WebSocket.
pub const PROTOCOL: &str = "v5.channel.k8s.io";

/// The protocols offered to a kubelet, the best first.
const KUBELET_PROTOCOLS: [&str; 5] =
    [PROTOCOL, "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];

pub const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");

/// Channels of the client's messages: the first byte of each.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Closes the channel that is named by the byte after it.
const CLOSE: u8 = 255;

/// The interval of keepalive pings to a kubelet.
const PING_PERIOD: Duration = Duration::from_secs(5);
/// The timeout of the closing handshake.
const LEAVING: Duration = Duration::from_secs(1);
/// The number of frames that are buffered for a slow kubelet; each has a piece of a message.
const FRAMES_AHEAD: usize = 4;
/// The maximum bytes of a command's outcome or of an error response.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// The streams that a client asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamOptions {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub tty: bool,
}

/// Whether a client speaks the protocol that is translated.
pub fn is_asked(headers: &HeaderMap) -> bool {
    is_websocket(headers) && tokens(headers, &header::SEC_WEBSOCKET_PROTOCOL).any(|protocol| protocol == PROTOCOL)
}

/// Accepts a client's WebSocket and connects it to the streams of a kubelet.
///
/// # Errors
/// The handshake is invalid. Later errors are sent on the error channel.
pub fn serve(
    context: &Context,
    streams: Arc<StreamMetrics>,
    location: Location,
    wanted: StreamOptions,
) -> Result<ApiResponse> {
    let api = context.api.clone();
    let run = move |from_client, to_client| run(api, streams, location, wanted, from_client, to_client).boxed();
    let accepted = websocket::accept(&context.headers, Some(PROTOCOL), Some(MAX_MESSAGE_BYTES), run);
    accepted.map(ApiResponse::from).map_err(handshake_refused)
}

async fn run(
    api: SharedApi,
    streams: Arc<StreamMetrics>,
    location: Location,
    wanted: StreamOptions,
    mut from_client: Reader,
    to_client: Writer,
) {
    let channel = [(wanted.stdout, STDOUT), (wanted.stderr, STDERR)].into_iter().find(|(wanted, _)| *wanted);
    // An empty message tells the client that the connection is established.
    let greeting = [channel.map_or(ERROR, |(_, channel)| channel)];
    if to_client.message(Kind::Binary, &[&greeting]).await.is_err() {
        return;
    }
    let report = match dial(&api, location).await {
        Ok(kubelet) => translate(kubelet, wanted, &mut from_client, &to_client).await,
        Err(status) => Some(status),
    };
    if let Some(mut report) = report {
        // A command with an exit code has run.
        let code = report.get("code").and_then(Value::as_i64).and_then(|code| u16::try_from(code).ok());
        streams.translated(code.unwrap_or(200));
        if let Value::Map(map) = &mut report {
            map.remove("kind");
            map.remove("apiVersion");
        }
        let mut message = Vec::new();
        json::encode(&report, &mut message);
        if to_client.message(Kind::Binary, &[&[ERROR], &message]).await.is_ok() && to_client.close().await.is_ok() {
            // Data from the client is read and dropped: otherwise the connection would be reset before the client has
            // read this.
            let leaving = async { while let Ok(Some(_)) = from_client.next().await {} };
            let _ = tokio::time::timeout(LEAVING, leaving).await;
        }
    }
}

/// A kubelet that has agreed to SPDY, and the protocol that it chose.
struct Kubelet {
    connection: Upgraded,
    protocol: String,
}

/// Requests an upgrade to SPDY; the error is the status to report.
async fn dial(api: &SharedApi, location: Location) -> std::result::Result<Kubelet, Value> {
    let url = format!("https://{}{}", location.to.authority(), location.target());
    let internal = |why: String| Status::internal(why).to_value();
    let body: ByteStream = stream::empty().boxed();
    let mut request = http::Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = location.target().parse().map_err(|error| internal(format!("{error}")))?;
    let host = location.to.authority().parse().map_err(|error| internal(format!("{error}")))?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, host);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    KUBELET_PROTOCOLS.iter().for_each(|protocol| {
        headers.append(STREAM_PROTOCOL, HeaderValue::from_static(protocol));
    });
    let exchange = api.connector.send(location.to, request).await;
    let exchange = exchange.map_err(|error| internal(format!("error sending request: Post {url:?}: {error}")))?;
    let head = &exchange.response;
    let upgrade = head.headers.get(header::UPGRADE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_spdy = is_upgrade(&head.headers) && upgrade.eq_ignore_ascii_case("SPDY/3.1");
    if head.status != StatusCode::SWITCHING_PROTOCOLS || !is_spdy {
        return Err(refusal(exchange).await);
    }
    let protocol = head.headers.get(STREAM_PROTOCOL).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let connection = exchange.upgraded.await.map_err(|error| internal(error.to_string()))?;
    Ok(Kubelet { connection, protocol })
}

/// The error of a kubelet that does not upgrade: its status, or its text.
async fn refusal(mut exchange: BackendResponse) -> Value {
    let mut said = Vec::new();
    while let Some(Ok(piece)) = exchange.body.next().await {
        said.extend_from_slice(&piece);
        if said.len() > MAX_REPORT_BYTES {
            break;
        }
    }
    match json::parse(&said, Strictness::Ignore) {
        Ok(decoded) if decoded.value.str_at(&["kind"]) == "Status" => decoded.value,
        _ => {
            let said = String::from_utf8_lossy(&said);
            Status::internal(format!("unable to upgrade connection: {}", said.trim())).to_value()
        }
    }
}

/// Forwards pieces in both directions until the command has ended, and returns its outcome; `None` if the client went
/// away.
async fn translate(
    kubelet: Kubelet,
    wanted: StreamOptions,
    from_client: &mut Reader,
    to_client: &Writer,
) -> Option<Value> {
    let (from_kubelet, to_kubelet) = split(kubelet.connection);
    let (frames, waiting) = mpsc::channel(FRAMES_AHEAD);
    let mut opening = BytesMut::new();
    let streams = Streams::open(wanted, &mut opening);
    // The channel has room: nothing has been sent yet.
    frames.try_send(opening.freeze()).ok()?;
    let up = pin!(up(from_client, &streams, frames.clone()));
    let sending = async {
        // A failure of the kubelet is noticed when its streams end.
        let _ = send(waiting, to_kubelet).await;
        future::pending::<()>().await;
    };
    let down = pin!(down(Frames::new(from_kubelet), &streams, &kubelet.protocol, frames, to_client));
    match select(select(up, pin!(sending)), down).await {
        future::Either::Left(_) => None,
        future::Either::Right((report, _)) => report,
    }
}

/// The kubelet's streams by their ids, in the order in which they are opened.
#[derive(Debug, Default, PartialEq, Eq)]
struct Streams {
    error: u32,
    stdin: Option<u32>,
    stdout: Option<u32>,
    stderr: Option<u32>,
    resize: Option<u32>,
}

impl Streams {
    fn open(wanted: StreamOptions, out: &mut BytesMut) -> Streams {
        let mut opener = Opener::default();
        let mut open = |name| opener.open(&[("streamtype", name)], out);
        Streams {
            error: open("error"),
            stdin: wanted.stdin.then(|| open("stdin")),
            stdout: wanted.stdout.then(|| open("stdout")),
            // A terminal has one output.
            stderr: (wanted.stderr && !wanted.tty).then(|| open("stderr")),
            resize: wanted.tty.then(|| open("resize")),
        }
    }
}

/// From the client to the kubelet, until the client goes away or breaks the protocol.
async fn up(from_client: &mut Reader, streams: &Streams, frames: mpsc::Sender<Bytes>) {
    let mut stdin = streams.stdin;
    let mut message = Incoming::default();
    while let Ok(Some(mut piece)) = from_client.next().await {
        if piece.first {
            message = Incoming::default();
        }
        if message.channel.is_none() && !piece.bytes.is_empty() {
            message.channel = Some(piece.bytes.get_u8());
        }
        let stream = match message.channel {
            Some(CLOSE) => {
                message.closes.extend(piece.bytes.iter().take(2));
                let channel = match message.closes[..] {
                    [channel] => channel,
                    [] if !piece.last => continue,
                    _ => return,
                };
                if !piece.last {
                    continue;
                }
                if let Some(stream) = stdin.take_if(|_| channel == STDIN) {
                    let mut out = BytesMut::new();
                    spdy::data(stream, &[], true, &mut out);
                    let _ = frames.send(out.freeze()).await;
                }
                continue;
            }
            Some(STDIN) => stdin,
            Some(RESIZE) => streams.resize,
            _ => None,
        };
        if let Some(stream) = stream.filter(|_| !piece.bytes.is_empty()) {
            let mut out = BytesMut::new();
            spdy::data(stream, &piece.bytes, false, &mut out);
            // A closed channel means that the other direction is about to end.
            let _ = frames.send(out.freeze()).await;
        }
    }
}

/// The state of a client's message that is being received.
#[derive(Default)]
struct Incoming {
    channel: Option<u8>,
    /// The bytes after [`CLOSE`].
    closes: Vec<u8>,
}

/// Writes the buffered frames, and pings while there are none.
async fn send(mut waiting: mpsc::Receiver<Bytes>, mut to_kubelet: impl AsyncWrite + Unpin) -> io::Result<()> {
    let (mut next_ping, mut id) = (Instant::now() + PING_PERIOD, 1);
    loop {
        match timeout_at(next_ping, waiting.recv()).await {
            Ok(Some(frames)) => to_kubelet.write_all(&frames).await?,
            Ok(None) => return Ok(()),
            Err(_) => {
                let mut out = BytesMut::new();
                spdy::ping(id, &mut out);
                to_kubelet.write_all(&out).await?;
                (next_ping, id) = (Instant::now() + PING_PERIOD, id.wrapping_add(2));
            }
        }
        to_kubelet.flush().await?;
    }
}

/// From the kubelet to the client, until all its streams have ended; `None` if the client accepts no more data.
async fn down(
    mut frames: Frames<impl AsyncRead + Unpin>,
    streams: &Streams,
    protocol: &str,
    answers: mpsc::Sender<Bytes>,
    to_client: &Writer,
) -> Option<Value> {
    let mut report = Vec::new();
    let mut open: Vec<u32> = [Some(streams.error), streams.stdout, streams.stderr].into_iter().flatten().collect();
    while !open.is_empty() {
        // A kubelet that is gone has ended all streams.
        let Ok(frame) = frames.next().await else { break };
        match frame {
            Frame::Data { stream, bytes, last } => {
                let channel = match Some(stream) {
                    it if it == streams.stdout => Some(STDOUT),
                    it if it == streams.stderr => Some(STDERR),
                    _ => None,
                };
                if stream == streams.error && report.len() + bytes.len() <= MAX_REPORT_BYTES {
                    report.extend_from_slice(&bytes);
                }
                if let Some(channel) = channel.filter(|_| !bytes.is_empty()) {
                    to_client.message(Kind::Binary, &[&[channel], &bytes]).await.ok()?;
                }
                if last {
                    open.retain(|id| *id != stream);
                }
            }
            Frame::Reset(stream) => open.retain(|id| *id != stream),
            // The kubelet's own pings have even ids; replies to ours have odd ones.
            Frame::Ping(id) if id % 2 == 0 => {
                let mut out = BytesMut::new();
                spdy::ping(id, &mut out);
                let _ = answers.send(out.freeze()).await;
            }
            Frame::Ping(_) | Frame::GoAway | Frame::Other => {}
        }
    }
    Some(outcome(protocol, &report))
}

/// The outcome for the client, from a kubelet's report.
fn outcome(protocol: &str, report: &[u8]) -> Value {
    if report.is_empty() {
        return value!({"metadata": {}, "status": "Success"});
    }
    if !matches!(protocol, PROTOCOL | "v4.channel.k8s.io") {
        let said = String::from_utf8_lossy(report);
        return Status::internal(format!("error executing remote command: {said}")).to_value();
    }
    let broken = |why: &str| Status::internal(format!("error stream protocol error: {why}")).to_value();
    let status = json::decode(v1::Status::schema(), report, Strictness::Ignore);
    let status = match status.map(|decoded| v1::Status::from_value(&decoded.value)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return broken(&format!("{error} in {:?}", String::from_utf8_lossy(report))),
        Err(error) => return broken(&format!("{error} in {:?}", String::from_utf8_lossy(report))),
    };
    match (status.status.as_str(), status.reason.as_str()) {
        ("Success", _) => value!({"metadata": {}, "status": "Success"}),
        ("Failure", "NonZeroExitCode") => {
            let Some(details) = status.details else { return broken("details must be set") };
            let is_code = |cause: &&StatusCause| cause.reason.as_str() == "ExitCode";
            let Some(cause) = details.causes.iter().find(is_code) else {
                return broken("no ExitCode cause given");
            };
            let Ok(code) = cause.message.parse::<u8>() else {
                return broken(&format!("invalid exit code value {:?}", cause.message));
            };
            let message =
                format!("command terminated with non-zero exit code: command terminated with exit code {code}");
            value!({
                "metadata": {},
                "status": "Failure",
                "message": message,
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": (code.to_string())}]},
            })
        }
        ("Failure", _) => Status::internal(status.message).to_value(),
        _ => broken("unknown error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_as_its_kubelet_reports() {
        let exit = |code: &str| {
            format!(
                r#"{{"status":"Failure","reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}}}"#
            )
        };
        let rows = [
            ("v4.channel.k8s.io", String::new(), "Success", ""),
            ("v4.channel.k8s.io", r#"{"metadata":{},"status":"Success"}"#.to_owned(), "Success", ""),
            (
                "v5.channel.k8s.io",
                exit("7"),
                "Failure",
                "command terminated with non-zero exit code: command terminated with exit code 7",
            ),
            (
                "v4.channel.k8s.io",
                exit("x"),
                "Failure",
                "Internal error occurred: error stream protocol error: invalid exit code value \"x\"",
            ),
            (
                "v4.channel.k8s.io",
                r#"{"status":"Failure","message":"no such container"}"#.to_owned(),
                "Failure",
                "Internal error occurred: no such container",
            ),
            ("", "gone".to_owned(), "Failure", "Internal error occurred: error executing remote command: gone"),
        ];
        for (protocol, report, status, message) in rows {
            let outcome = outcome(protocol, report.as_bytes());
            assert_eq!((outcome.str_at(&["status"]), outcome.str_at(&["message"])), (status, message), "{report}");
        }
    }

    #[test]
    fn streams_are_those_asked_for() {
        let all = StreamOptions { stdin: true, stdout: true, stderr: true, tty: false };
        let opened = |wanted| Streams::open(wanted, &mut BytesMut::new());
        let expected = Streams { error: 1, stdin: Some(3), stdout: Some(5), stderr: Some(7), resize: None };
        assert_eq!(opened(all), expected);
        let terminal = Streams { stderr: None, resize: Some(7), ..expected };
        assert_eq!(opened(StreamOptions { tty: true, ..all }), terminal, "a terminal has one output");
    }
}
