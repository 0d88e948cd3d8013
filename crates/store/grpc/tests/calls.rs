//! Calls to a small server on the other end of a pipe: responses, errors, streams, and closed connections.

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use pintle_grpc::{Call, Code, Connection, Executor, Settings, Status};
use prost::Message;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::task::JoinSet;

fn settings(keep_alive: Option<(Duration, Duration)>) -> Settings {
    let origin = Uri::from_static("http://localhost/");
    Settings { origin, window: 1 << 20, message_max: 1 << 16, keep_alive }
}

/// A message as it is sent: that it is not compressed, its length, its bytes.
fn message(text: &str) -> Bytes {
    let text = text.to_owned().encode_to_vec();
    [&[0][..], &u32::try_from(text.len()).unwrap().to_be_bytes(), &text].concat().into()
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).unwrap();
    fields.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

fn begin(respond: &mut SendResponse<Bytes>, status: StatusCode) -> SendStream<Bytes> {
    let response = Response::builder().status(status).body(()).unwrap();
    respond.send_response(response, false).unwrap()
}

/// Number of calls cancelled by their callers.
static FORGOTTEN: Mutex<usize> = Mutex::new(0);

/// Responds according to the path.
async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let well = headers(&[("grpc-status", "0")]);
    match request.uri().path() {
        "/echo" | "/leave" => {
            let mut send = begin(&mut respond, StatusCode::OK);
            let mut body = request.into_body();
            while let Some(piece) = body.data().await {
                let piece = piece.unwrap();
                body.flow_control().release_capacity(piece.len()).unwrap();
                send.send_data(piece, false).unwrap();
            }
            send.send_trailers(well).unwrap();
        }
        "/refused" => {
            let mut response = Response::new(());
            *response.headers_mut() = headers(&[("grpc-status", "11"), ("grpc-message", "gone%21")]);
            respond.send_response(response, true).unwrap();
        }
        "/nothing" => {
            let mut response = Response::new(());
            *response.headers_mut() = well;
            respond.send_response(response, true).unwrap();
        }
        "/late" => {
            let mut send = begin(&mut respond, StatusCode::OK);
            send.send_data(message("one"), false).unwrap();
            send.send_trailers(headers(&[("grpc-status", "8"), ("grpc-message", "full")])).unwrap();
        }
        "/half" => {
            let mut send = begin(&mut respond, StatusCode::OK);
            send.send_data(message("one").slice(..7), false).unwrap();
            send.send_trailers(well).unwrap();
        }
        "/forgotten" => {
            let mut send = begin(&mut respond, StatusCode::OK);
            send.send_data(message("one"), false).unwrap();
            // Until the caller cancels.
            let reason = poll_fn(|context| send.poll_reset(context)).await;
            assert_eq!(reason.ok(), Some(h2::Reason::CANCEL));
            *FORGOTTEN.lock().unwrap() += 1;
        }
        "/details" => {
            let mut response = Response::new(());
            *response.headers_mut() = headers(&[("grpc-status", "8"), ("grpc-status-details-bin", "%")]);
            respond.send_response(response, true).unwrap();
        }
        "/late-details" => {
            let mut send = begin(&mut respond, StatusCode::OK);
            send.send_trailers(headers(&[("grpc-status", "8"), ("grpc-status-details-bin", "%")])).unwrap();
        }
        "/busy" => drop(begin(&mut respond, StatusCode::SERVICE_UNAVAILABLE)),
        _ => respond.send_reset(h2::Reason::INTERNAL_ERROR),
    }
}

async fn serve(stream: DuplexStream) {
    // Little room, so that both sides have to wait for it.
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(5_000).max_concurrent_streams(3);
    let mut connection = builder.handshake(stream).await.unwrap();
    while let Some(Ok((request, respond))) = connection.accept().await {
        match request.uri().path() {
            "/end" => return,
            "/leave" => connection.graceful_shutdown(),
            _ => {}
        }
        tokio::spawn(answer(request, respond));
    }
}

async fn connected() -> Connection {
    let (here, there) = tokio::io::duplex(1 << 14);
    tokio::spawn(serve(there));
    Connection::open(here, &settings(None), Executor::runtime()).await.unwrap()
}

/// The response of a call, or its error code.
async fn called(connection: &Connection, path: &'static str, text: &str) -> Result<String, Code> {
    connection.unary(path, text.to_owned()).await.map_err(|status| status.code)
}

async fn streaming(connection: &Connection, path: &'static str, text: &str) -> Call<String, String> {
    connection.streaming(path, text.to_owned(), ("hasleader", "true")).await.unwrap()
}

#[tokio::test]
async fn a_call_is_answered_or_refused_in_the_words_of_the_service() {
    let connection = connected().await;
    let unary = async |path| connection.unary::<_, String>(path, String::new()).await;
    assert_eq!(called(&connection, "/echo", "hello").await.as_deref(), Ok("hello"));
    assert_eq!(unary("/refused").await, Err(Status::new(Code::OutOfRange, "gone!")));
    assert_eq!(unary("/late").await, Err(Status::new(Code::ResourceExhausted, "full")));
    assert_eq!(called(&connection, "/half", "").await, Err(Code::Internal));
    assert_eq!(called(&connection, "/busy", "").await, Err(Code::Unavailable));
    assert_eq!(called(&connection, "/reset", "").await, Err(Code::Unavailable));
    let long = "x".repeat((1 << 16) + 1);
    assert_eq!(called(&connection, "/echo", &long).await, Err(Code::OutOfRange));
    assert!(connection.is_usable(), "what a call comes to is no matter of the connection");
}

#[tokio::test]
async fn details_that_are_no_base64_are_ignored() {
    let connection = connected().await;
    for path in ["/details", "/late-details"] {
        assert_eq!(called(&connection, path, "").await, Err(Code::ResourceExhausted), "{path}");
    }
}

#[tokio::test]
async fn messages_of_a_stream_come_in_order() {
    let connection = connected().await;
    let mut call = streaming(&connection, "/echo", "0").await;
    for number in 1..100 {
        call.send(number.to_string()).unwrap();
        assert_eq!(call.message().await, Ok(Some((number - 1).to_string())));
    }
}

#[tokio::test]
async fn a_stream_without_messages_ends_well() {
    let connection = connected().await;
    assert_eq!(streaming(&connection, "/nothing", "").await.message().await, Ok(None));
}

#[tokio::test]
async fn calls_wait_for_room_and_for_each_other() {
    let connection = connected().await;
    let calls = (0..20).map(|number| {
        let (connection, text) = (connection.clone(), format!("{number:04}").repeat(16_000));
        tokio::spawn(async move { assert_eq!(called(&connection, "/echo", &text).await, Ok(text)) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn a_leaving_service_answers_calls_in_progress() {
    let connection = connected().await;
    assert_eq!(called(&connection, "/leave", "hello").await.as_deref(), Ok("hello"));
    assert_eq!(called(&connection, "/echo", "hello").await, Err(Code::Unavailable));
    assert!(!connection.is_usable());
}

#[tokio::test]
async fn a_cancelled_call_is_reported_to_the_service() {
    let connection = connected().await;
    let mut call = streaming(&connection, "/forgotten", "hello").await;
    assert_eq!(call.message().await, Ok(Some("one".to_owned())));
    drop(call);
    while *FORGOTTEN.lock().unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(connection.is_usable());
}

#[tokio::test]
async fn closing_a_connection_fails_its_calls() {
    let connection = connected().await;
    assert_eq!(called(&connection, "/end", "").await, Err(Code::Unavailable));
    assert!(!connection.is_usable());
}

#[tokio::test]
async fn calls_fail_when_the_executor_ends_its_tasks() {
    let (here, there) = tokio::io::duplex(1 << 14);
    tokio::spawn(serve(there));
    let tasks = Arc::new(Mutex::new(JoinSet::new()));
    let running = tasks.clone();
    let executor = Executor::new(move |task| drop(running.lock().unwrap().spawn(task)));
    let connection = Connection::open(here, &settings(None), executor).await.unwrap();
    let mut call = streaming(&connection, "/echo", "0").await;
    assert_eq!(call.message().await, Ok(Some("0".to_owned())));
    tasks.lock().unwrap().abort_all();
    assert_eq!(call.message().await.map_err(|status| status.code), Err(Code::Unavailable));
    assert_eq!(called(&connection, "/echo", "").await, Err(Code::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_answer_is_given_up() {
    let (here, _there) = tokio::io::duplex(1 << 14);
    let keep_alive = Some((Duration::from_secs(5), Duration::from_secs(3)));
    let connection = Connection::open(here, &settings(keep_alive), Executor::runtime()).await.unwrap();
    assert_eq!(called(&connection, "/echo", "hello").await, Err(Code::Unavailable));
}
