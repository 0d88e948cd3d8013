//! Limits of connections to kubelets: memory, and connections of a user. Guarantees that memory is measured as the peak
//! of the real binary, while kubelets read nothing. Must never depend on timing: deadlines only end a hanging test.

use crate::common::fixture::{Fixture, populate};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{ADMIN_TOKEN, Installation, Process};
use crate::common::raw::{Tls, connect};
use crate::common::streams::{Backend, Head, Stream, upgrade_request};
use crate::common::wait_for;
use pintle_auth::authentication::TokenFile;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

const POD: &str = "/api/v1/namespaces/default/pods/p";
/// The largest message that is taken.
const MESSAGE: usize = 32 << 20;
/// How many send one at a time.
const CLIENTS: usize = 4;
/// Memory of a connection: buffers of both sides, and chunks in transit.
const CONNECTION_BYTES: u64 = 512 << 10;
/// Memory that a binary without optimization takes meanwhile for whatever else it does.
const SLACK_BYTES: u64 = 24 << 20;

/// Accepts SPDY, or any other requested protocol.
fn agree(head: &Head, stream: &mut dyn Stream) {
    let (protocol, streams) = (head.header("upgrade"), head.header("x-stream-protocol-version"));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\
         X-Stream-Protocol-Version: {streams}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).expect("sent");
    stream.flush().expect("sent");
}

/// A WebSocket of which the test writes every byte, at its greeting's end.
fn websocket(endpoint: &Endpoint, path: &str, protocol: &str) -> Tls {
    let mut stream = connect(endpoint, "http/1.1");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: {protocol}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the head of an answer");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// The head of the frame of one message of the largest size; its mask changes nothing.
fn frame_head() -> Vec<u8> {
    [&[0x82, 0x80 | 127], &(MESSAGE as u64).to_be_bytes()[..], &[0; 4]].concat()
}

/// A figure of a process, in bytes.
fn memory(process: &Process, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).expect("a number of kilobytes") << 10
}

/// Both ways in which a WebSocket ends here: a command's input, and a forwarded port.
const WAYS: [(&str, &str, &str); 2] = [
    ("exec?command=cat&stdin=1", "v5.channel.k8s.io", "/exec/default/p/c"),
    ("portforward", "SPDY/3.1+portforward.k8s.io", "/portForward/default/p"),
];

#[test]
fn a_stalled_kubelet_blocks_only_its_client_and_uses_no_memory() {
    let released = Arc::new(AtomicBool::new(false));
    let taken = Arc::new(AtomicUsize::new(0));
    let backend = {
        let (released, taken) = (Arc::clone(&released), Arc::clone(&taken));
        Backend::tls(move |head, stream| {
            if head.path().starts_with("/containerLogs/") {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").expect("sent");
                return;
            }
            agree(head, stream);
            while !released.load(Ordering::Acquire) {
                thread::park_timeout(std::time::Duration::from_millis(5));
            }
            let mut piece = vec![0; 64 << 10];
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                taken.fetch_add(read, Ordering::Relaxed);
            }
        })
    };
    let installation = Installation::own();
    let process = installation.start();
    let endpoint = process.endpoint();
    populate(&endpoint, backend.port());
    for (path, protocol, _) in WAYS {
        released.store(false, Ordering::Release);
        taken.store(0, Ordering::Relaxed);
        let sockets: Vec<Tls> =
            (0..CLIENTS).map(|_| websocket(&endpoint, &format!("{POD}/{path}"), protocol)).collect();
        std::fs::write(format!("/proc/{}/clear_refs", process.id()), "5").expect("the peak is counted anew");
        let before = memory(&process, "VmRSS");
        thread::scope(|scope| {
            for mut socket in sockets {
                let taken = &taken;
                scope.spawn(move || {
                    let piece = vec![0; 1 << 20];
                    socket.write_all(&frame_head()).expect("sent");
                    for _ in 0..MESSAGE >> 20 {
                        socket.write_all(&piece).expect("sent");
                    }
                    // The connection stays until everything has come.
                    wait_for("the kubelets to take it", || {
                        (taken.load(Ordering::Relaxed) >= CLIENTS * (MESSAGE - 1)).then_some(())
                    });
                });
            }
            for _ in 0..20 {
                assert_eq!(endpoint.client().get("/livez").answer().status, 200);
                endpoint.client().get(&format!("{POD}/log")).answer().expect_text("hi");
            }
            released.store(true, Ordering::Release);
        });
        let (peak, sent) = (memory(&process, "VmHWM").saturating_sub(before), (CLIENTS * MESSAGE) as u64);
        println!("{path}: {} MB sent, peak {} MB", sent >> 20, peak >> 20);
        assert!(peak <= CLIENTS as u64 * CONNECTION_BYTES + SLACK_BYTES, "{path}: memory grew by {} MB", peak >> 20);
    }
}

#[test]
fn a_message_goes_on_while_it_arrives() {
    let (arrived, arrivals) = mpsc::channel();
    let arrived = Mutex::new(arrived);
    let backend = Backend::tls(move |head, stream| {
        agree(head, stream);
        let arrived = arrived.lock().expect("one connection at a time");
        let (mut piece, mut total) = (vec![0; 64 << 10], 0);
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            total += read;
            arrived.send((head.path().to_owned(), total)).expect("somebody waits");
        }
    });
    let installation = Installation::own();
    let process = installation.start();
    let endpoint = process.endpoint();
    populate(&endpoint, backend.port());
    for (path, protocol, kubelets_path) in WAYS {
        let mut socket = websocket(&endpoint, &format!("{POD}/{path}"), protocol);
        let until = |bytes: usize| {
            let enough = |(path, total): (String, usize)| path == kubelets_path && total >= bytes;
            wait_for("more to arrive", || arrivals.try_iter().any(enough).then_some(()));
        };
        socket.write_all(&frame_head()).expect("sent");
        let quarter = vec![0; MESSAGE / 4];
        for nth in 1..=4 {
            socket.write_all(&quarter).expect("sent");
            // The first byte names a channel.
            until(nth * quarter.len() - 1);
        }
    }
}

#[test]
fn watches_with_large_selectors_have_a_budget_in_bytes() {
    let fixture = Fixture::empty(|builder| {
        let tokens = "greedy,greedy,1\nother,other,2";
        builder.generic().add_authenticator(Arc::new(TokenFile::parse(tokens).expect("tokens")));
        // A user has a quarter.
        builder.generic().settings().max_watch_bytes = 400_000;
    });
    // The connection of a watch that began, or the head of the answer that it was refused with.
    let open = |token: &str, selector: &str| {
        let mut stream = fixture.connect();
        let path = format!("/api/v1/configmaps?watch=true&labelSelector={selector}");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the head of an answer");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("text");
        if head.starts_with("HTTP/1.1 200") { Ok(stream) } else { Err(head) }
    };
    let values: Vec<_> = (0..12_000).map(|number: u32| number.to_string()).collect();
    let large = format!("a+in+({})", values.join(","));
    let first = open("greedy", &large).expect("room for the first");
    // It holds more than a share alone.
    for selector in [large.as_str(), "app=web"] {
        let refused = open("greedy", selector).err().unwrap_or_default();
        assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 1\r\n"), "{refused}");
        let _others = wait_for("others have their own", || open("other", selector).ok());
    }
    drop(first);
    let _next = wait_for("the room of what has ended", || open("greedy", "app=web").ok());
}

#[test]
fn no_user_has_more_than_a_share_of_connections_and_watches() {
    let backend = Backend::tls(|head, stream| {
        match head.path() {
            "/exec/default/p/c" | "/portForward/default/p" => agree(head, stream),
            _ => stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n").expect("sent"),
        }
        stream.flush().expect("sent");
        // Until the client goes.
        while let Ok(1..) = stream.read(&mut [0; 100]) {}
    });
    let fixture = Fixture::start_with(backend.port(), |builder| {
        let tokens = "greedy,greedy,1\nother,other,2";
        builder.generic().add_authenticator(Arc::new(TokenFile::parse(tokens).expect("tokens")));
        (builder.generic().settings().max_streams, builder.generic().settings().max_watches) = (8, 8);
    });
    let client =
        |token: &str| -> Client { Endpoint { token: Some(token.to_owned()), ..fixture.endpoint.clone() }.client() };
    // The connection of what is taken, or how it was refused.
    let open = |token: &str, path: &str, upgrade: bool| {
        let mut stream = fixture.connect();
        let request = match upgrade {
            true => upgrade_request(path, "SPDY/3.1").replace("Basic c2VjcmV0", &format!("Bearer {token}")),
            false => format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"),
        };
        stream.write_all(request.as_bytes()).expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the head of an answer");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("text");
        match head.starts_with("HTTP/1.1 429") {
            true => Err(head),
            false => Ok(stream),
        }
    };
    let (exec, log) = (format!("{POD}/exec?command=x&stdout=1"), format!("{POD}/log?follow=true"));
    let watch = "/api/v1/namespaces/default/configmaps?watch=true";
    let first = open("greedy", &exec, true).expect("a place");
    let _second = open("greedy", &log, false).expect("a place");
    let _watches = [(); 2].map(|()| open("greedy", watch, false).expect("a place"));
    let refused = [
        (exec.as_str(), true),
        (&format!("{POD}/attach?stdout=1"), true),
        (&format!("{POD}/portforward"), true),
        (&log, false),
        ("/api/v1/nodes/n/proxy/metrics", false),
        ("/api/v1/nodes/n/proxy/metrics", true),
        (watch, false),
    ];
    for (path, upgrade) in refused {
        let head = open("greedy", path, upgrade).expect_err(path);
        assert!(head.contains("retry-after: 1\r\n"), "{path}: {head}");
        open("other", path, upgrade).expect("others have places of their own");
    }
    client("greedy").get("/api/v1/namespaces/default/configmaps").expect_status(200);
    // A place is free when its connection has ended.
    drop(first);
    let _next = wait_for("the place of what has ended", || open("greedy", &exec, true).ok());
}
