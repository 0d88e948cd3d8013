//! No bytes of a peer make the readers of SPDY frames and of WebSockets panic, or hold more than they were sent.
#![no_main]

use futures_util::{FutureExt, StreamExt};
use http::header::{HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION};
use libfuzzer_sys::fuzz_target;
use pintle_endpoints::connect::spdy::{Frame, Frames, PIECE_BYTES};
use pintle_endpoints::{Body, websocket};
use tokio::io::{join, sink};

fuzz_target!(|input: Vec<u8>| {
    let mut frames = Frames::new(&input[..]);
    let mut held = 0;
    while let Some(Ok(frame)) = frames.next().now_or_never() {
        if let Frame::Data { bytes, .. } = frame {
            assert!(bytes.len() <= PIECE_BYTES);
            held += bytes.len();
        }
    }
    assert!(held <= input.len());

    let headers = [
        (SEC_WEBSOCKET_KEY, HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
    ];
    let headers = headers.into_iter().collect();
    let quiet = futures_util::stream::pending().boxed();
    let answer = websocket::watch(&headers, quiet, websocket::Framing::Lines).expect("a handshake");
    let Body::Upgrade(takeover) = answer.body else { panic!("no upgrade") };
    // The end of what a client sends ends all of it.
    let connection = join(std::io::Cursor::new(input), sink());
    assert!(takeover(Box::new(connection)).now_or_never().is_some());
});
