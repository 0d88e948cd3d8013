//! Calls against a small server on the other end of a pipe: answers, refusals, streams, and connections that end.

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request, Response, StatusCode};
use pintle_grpc::{Code, Connection, Settings, Status, framed};
use std::future::poll_fn;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::DuplexStream;

fn settings(keep_alive: Option<(Duration, Duration)>) -> Settings {
    let (scheme, authority) = (Scheme::HTTP, Authority::from_static("localhost"));
    Settings { scheme, authority, window: 1 << 20, message_max: 1 << 16, keep_alive }
}

fn message(text: &str) -> Bytes {
    framed(text.len(), |buffer| buffer.extend_from_slice(text.as_bytes()))
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).unwrap();
    fields.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

fn begin(respond: &mut SendResponse<Bytes>, status: StatusCode) -> SendStream<Bytes> {
    let response = Response::builder().status(status).body(()).unwrap();
    respond.send_response(response, false).unwrap()
}

/// How many calls were given up by their callers.
static FORGOTTEN: Mutex<usize> = Mutex::new(0);

/// Answers by what the path says.
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
            // Until the caller has gone.
            let reason = poll_fn(|context| send.poll_reset(context)).await;
            assert_eq!(reason.ok(), Some(h2::Reason::CANCEL));
            *FORGOTTEN.lock().unwrap() += 1;
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
    Connection::open(here, &settings(None)).await.unwrap()
}

#[tokio::test]
async fn a_call_is_answered_or_refused_in_the_words_of_the_service() {
    let connection = connected().await;
    assert_eq!(connection.unary("/echo", message("hello")).await, Ok(Bytes::from_static(b"hello")));
    assert_eq!(connection.unary("/refused", message("")).await, Err(Status::new(Code::OutOfRange, "gone!")));
    assert_eq!(connection.unary("/late", message("")).await, Err(Status::new(Code::ResourceExhausted, "full")));
    assert_eq!(connection.unary("/half", message("")).await.map_err(|it| it.code), Err(Code::Internal));
    assert_eq!(connection.unary("/busy", message("")).await.map_err(|it| it.code), Err(Code::Unavailable));
    assert_eq!(connection.unary("/reset", message("")).await.map_err(|it| it.code), Err(Code::Unavailable));
    let long = "x".repeat((1 << 16) + 1);
    assert_eq!(connection.unary("/echo", message(&long)).await.map_err(|it| it.code), Err(Code::ResourceExhausted));
    assert!(connection.is_usable(), "what a call comes to is no matter of the connection");
}

#[tokio::test]
async fn messages_of_a_stream_come_in_order() {
    let connection = connected().await;
    let header = (HeaderName::from_static("hasleader"), HeaderValue::from_static("true"));
    let mut call = connection.streaming("/echo", message("0"), header).await.unwrap();
    for number in 1..100 {
        call.send(message(&number.to_string())).unwrap();
        assert_eq!(call.message().await, Ok(Some(Bytes::from((number - 1).to_string()))));
    }
}

#[tokio::test]
async fn a_stream_without_messages_ends_well() {
    let connection = connected().await;
    let header = (HeaderName::from_static("hasleader"), HeaderValue::from_static("true"));
    let mut call = connection.streaming("/nothing", message(""), header).await.unwrap();
    assert_eq!(call.message().await, Ok(None));
}

#[tokio::test]
async fn calls_wait_for_room_and_for_each_other() {
    let connection = connected().await;
    let calls = (0..20).map(|number| {
        let (connection, text) = (connection.clone(), format!("{number:04}").repeat(16_000));
        tokio::spawn(async move {
            let answer = connection.unary("/echo", message(&text)).await.unwrap();
            assert_eq!(answer, text);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn who_leaves_answers_what_has_begun() {
    let connection = connected().await;
    assert_eq!(connection.unary("/leave", message("hello")).await, Ok(Bytes::from_static(b"hello")));
    assert!(!connection.is_usable());
    let told = connection.unary("/echo", message("hello")).await.map_err(|status| status.code);
    assert_eq!(told, Err(Code::Unavailable));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_told_to_the_service() {
    let connection = connected().await;
    let header = (HeaderName::from_static("hasleader"), HeaderValue::from_static("true"));
    let mut call = connection.streaming("/forgotten", message("hello"), header).await.unwrap();
    assert_eq!(call.message().await, Ok(Some(Bytes::from_static(b"one"))));
    drop(call);
    while *FORGOTTEN.lock().unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(connection.is_usable());
}

#[tokio::test]
async fn the_end_of_a_connection_is_told_to_its_calls() {
    let connection = connected().await;
    let told = connection.unary("/end", message("")).await.map_err(|status| status.code);
    assert_eq!(told, Err(Code::Unavailable));
    assert!(!connection.is_usable());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_answer_is_given_up() {
    let (here, _there) = tokio::io::duplex(1 << 14);
    let keep_alive = Some((Duration::from_secs(5), Duration::from_secs(3)));
    let connection = Connection::open(here, &settings(keep_alive)).await.unwrap();
    let told = connection.unary("/echo", message("hello")).await.map_err(|status| status.code);
    assert_eq!(told, Err(Code::Unavailable));
}
