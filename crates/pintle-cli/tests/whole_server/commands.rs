//! Commands in pods and forwarded ports, against a kubelet that speaks SPDY and one that takes WebSockets: kubectl over
//! both transports, and a WebSocket of the test's own.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::kubectl::is_there;
use crate::common::kubelet::{echo_ports, execute};
use crate::common::streams::{Backend, Head, Stream};
use crate::common::{DEADLINE, Scratch};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

const EXEC: &str = "/api/v1/namespaces/default/pods/p/exec";

fn kubelet(head: &Head, stream: &mut dyn Stream) {
    match head.path() {
        "/exec/default/p/c" | "/attach/default/p/c" => execute(head, stream),
        "/portForward/default/p" => echo_ports(head, stream),
        "/containerLogs/default/p/c" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n").expect("sent");
        }
        other => panic!("nobody asks for {other}"),
    }
}

/// The output and the exit status of a command.
#[derive(Debug, Default, PartialEq)]
struct Ended {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Value,
}

fn rest(mut socket: WebSocket<TcpStream>) -> Ended {
    let mut ended = Ended::default();
    while let Ok(message) = socket.read() {
        let Message::Binary(bytes) = message else { continue };
        match bytes.split_first().expect("a channel") {
            (1, bytes) => ended.stdout.extend(bytes),
            (2, bytes) => ended.stderr.extend(bytes),
            (3, bytes) => ended.status = serde_json::from_slice(bytes).expect("a status"),
            (channel, _) => panic!("channel {channel}"),
        }
    }
    ended
}

#[test]
fn a_websocket_is_translated_for_kubelets_that_speak_spdy() {
    let backend = Backend::tls(kubelet);
    let fixture = Fixture::start(backend.port());
    let protocols = [("sec-websocket-protocol", "v4.channel.k8s.io, v5.channel.k8s.io")];
    let open = |query: &str| fixture.websocket(&format!("{EXEC}?{query}"), &protocols).expect("a WebSocket");
    // More than a message, a frame and a piece hold.
    let text: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    let mut socket = open("command=cat&stdin=1&stdout=1&stderr=1");
    assert_eq!(socket.read().expect("a greeting").into_data(), [1][..], "an empty message says that it stands");
    socket.send(Message::binary([&[0], &text[..]].concat())).expect("sent");
    socket.send(Message::Ping("x".into())).expect("sent");
    socket.send(Message::binary(&b"\0end"[..])).expect("sent");
    socket.send(Message::binary(&[255, 0][..])).expect("sent");
    let ended = rest(socket);
    assert!(ended.stdout == [&text[..], b"end"].concat(), "{} bytes", ended.stdout.len());
    assert_eq!(ended.status, json!({"metadata": {}, "status": "Success"}));
    let ended =
        rest(open("command=sh&command=-c&command=echo%20out%3Becho%20no%20%3E%262%3Bexit%207&stdout=1&stderr=1"));
    let message = "command terminated with non-zero exit code: command terminated with exit code 7";
    let failed = Ended {
        stdout: b"out\n".to_vec(),
        stderr: b"no\n".to_vec(),
        status: json!({
            "metadata": {}, "status": "Failure", "message": message, "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
        }),
    };
    assert_eq!(ended, failed);
    let metrics = fixture.client().get("/metrics").answer().text();
    assert!(metrics.contains("apiserver_stream_translator_requests_total{code=\"200\"} 2\n"), "{metrics}");
    // Who breaks the protocol is left, and so is a kubelet whose client leaves.
    let mut socket = open("command=cat&stdin=1&stdout=1");
    socket.send(Message::binary(&[255][..])).expect("sent");
    assert_eq!(rest(socket), Ended::default());
}

#[test]
fn an_error_of_a_kubelet_is_sent_on_the_error_channel() {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no", "reason": "Forbidden", "code": 403});
    let said = status.to_string();
    let backend = Backend::tls(move |head, stream| {
        let body = if head.target.contains("words") { "in words\n" } else { &said };
        let answer = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).expect("sent");
    });
    let fixture = Fixture::start(backend.port());
    let protocols = [("sec-websocket-protocol", "v5.channel.k8s.io")];
    let reported = |command: &str| {
        let path = format!("{EXEC}?command={command}&stdout=1");
        rest(fixture.websocket(&path, &protocols).expect("a WebSocket")).status
    };
    let mut own = status.clone();
    own.as_object_mut().expect("an object").retain(|name, _| !matches!(name.as_str(), "kind" | "apiVersion"));
    assert_eq!(reported("status"), own);
    let words = reported("words");
    assert_eq!(words["message"], "Internal error occurred: unable to upgrade connection: in words");
    assert_eq!((&words["reason"], &words["code"]), (&json!("InternalError"), &json!(500)));
    fixture.patch_node(&json!({"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}));
    let nobody = reported("x");
    let message = nobody["message"].as_str().unwrap_or_default();
    let expected =
        "Internal error occurred: error sending request: Post \"https://127.0.0.1:1/exec/default/p/c?command=x";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_forwarded_port_is_tunneled() {
    let backend = Backend::tls(|head, stream| {
        assert_eq!(head.target, "/portForward/default/p");
        assert_eq!(head.header("upgrade"), "SPDY/3.1");
        assert_eq!(head.header("x-stream-protocol-version"), "portforward.k8s.io");
        assert_eq!((head.header("sec-websocket-key"), head.header("sec-websocket-protocol")), ("", ""));
        stream
            .write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
                  X-Stream-Protocol-Version: portforward.k8s.io\r\n\r\nhello",
            )
            .expect("sent");
        stream.flush().expect("sent");
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).expect("four bytes");
        bytes.reverse();
        stream.write_all(&bytes).expect("sent");
    });
    let fixture = Fixture::start(backend.port());
    let path = "/api/v1/namespaces/default/pods/p/portforward";
    let protocols = [("sec-websocket-protocol", "SPDY/3.1+portforward.k8s.io")];
    let mut socket = fixture.websocket(path, &protocols).expect("a WebSocket");
    for half in [&b"ab"[..], b"cd"] {
        socket.send(Message::binary(half)).expect("sent");
    }
    let mut read = Vec::new();
    while let Ok(message) = socket.read() {
        if let Message::Binary(bytes) = message {
            read.extend_from_slice(&bytes);
        }
    }
    assert_eq!(read, b"hellodcba");
    let metrics = fixture.client().get("/metrics").answer().text();
    assert!(metrics.contains("apiserver_stream_tunnel_requests_total{code=\"101\"} 1\n"), "{metrics}");
}

/// Runs kubectl against a world to its end.
struct Kubectl<'a> {
    fixture: &'a Fixture,
    home: Scratch,
    websockets: bool,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.arg(format!("--server=http://{}", self.fixture.endpoint.address)).args(arguments);
        command.env("HOME", self.home.path()).env("KUBECONFIG", self.home.path().join("none"));
        for transport in ["KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"] {
            command.env(transport, self.websockets.to_string());
        }
        command.current_dir(self.home.path());
        command
    }

    /// Exit code, output and errors of a command that reads `input`.
    fn run(&self, arguments: &[&str], input: &str) -> (i32, String, String) {
        let input = std::fs::File::open(self.home.write("input", input)).expect("the input");
        let output = self.command(arguments).stdin(input).output().expect("kubectl runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    fn forwards_a_port(&self) {
        let mut command = self.command(&["port-forward", "p", ":80"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("kubectl runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        let port = line.strip_prefix("Forwarding from 127.0.0.1:").and_then(|rest| rest.split(' ').next());
        let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        for text in ["first", "second"] {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
            stream.write_all(text.as_bytes()).expect("sent");
            let mut echo = vec![0; text.len()];
            stream.read_exact(&mut echo).expect("the echo");
            assert_eq!(echo, text.to_ascii_uppercase().as_bytes());
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
}

#[test]
fn kubectl_works_in_pods_over_both_transports() {
    if !is_there() {
        return;
    }
    let backend = Backend::tls(kubelet);
    let fixture = Fixture::start(backend.port());
    for websockets in [true, false] {
        let kubectl = Kubectl { fixture: &fixture, home: Scratch::new(), websockets };
        let ok = |output: &str| (0, output.to_owned(), String::new());
        assert_eq!(kubectl.run(&["logs", "p"], ""), ok("hello\n"));
        assert_eq!(kubectl.run(&["exec", "-i", "p", "--", "cat"], "copied\n"), ok("copied\n"), "{websockets}");
        assert_eq!(kubectl.run(&["attach", "-i", "-q", "p"], "attached\n"), ok("attached\n"), "{websockets}");
        let (code, output, errors) = kubectl.run(&["exec", "p", "--", "sh", "-c", "echo out; echo no >&2; exit 7"], "");
        assert_eq!((code, output.as_str()), (7, "out\n"), "{websockets}: {errors}");
        assert!(errors.starts_with("no\n") && errors.contains("command terminated with exit code 7"), "{errors}");
        let (here, there) = (kubectl.home.path().join("here"), kubectl.home.path().join("there"));
        let text = "a line of some length\n".repeat(20_000);
        std::fs::write(&here, &text).expect("written");
        std::fs::create_dir(&there).expect("a folder");
        let path = |path: &std::path::Path| format!("p:{}", path.display());
        assert_eq!(kubectl.run(&["cp", "here", &path(&there.join("copy"))], ""), ok(""), "{websockets}");
        assert!(std::fs::read_to_string(there.join("copy")).expect("a copy") == text);
        let (code, _, errors) = kubectl.run(&["cp", &path(&there.join("copy")), "back"], "");
        assert_eq!(code, 0, "{websockets}: {errors}");
        assert!(std::fs::read_to_string(kubectl.home.path().join("back")).expect("a copy") == text);
        kubectl.forwards_a_port();
    }
}

#[test]
fn a_kubelet_that_takes_websockets_gets_them_as_they_are() {
    let backend = Backend::tls(|head, stream| {
        assert_eq!(head.target, "/exec/default/p/c?command=cat&input=1&output=1");
        let mut socket = head.accept_websocket(stream, "v5.channel.k8s.io");
        while let Ok(Message::Binary(input)) = socket.read() {
            match &input[..] {
                [0, text @ ..] => socket.send(Message::binary([&[1], text].concat())).expect("sent"),
                _ => break,
            }
        }
        socket.send(Message::binary(&b"\x03{\"status\":\"Success\"}"[..])).expect("sent");
        let _ = socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }));
        while socket.read().is_ok() {}
    });
    let fixture = Fixture::start(backend.port());
    fixture.patch_node(&json!({"declaredFeatures": ["ExtendWebSocketsToKubelet"]}));
    let protocols = [("sec-websocket-protocol", "v5.channel.k8s.io")];
    let path = format!("{EXEC}?command=cat&stdin=1&stdout=1");
    let mut socket = fixture.websocket(&path, &protocols).expect("a WebSocket");
    for message in [&b"\0hello"[..], &[255, 0]] {
        socket.send(Message::binary(message)).expect("sent");
    }
    let ended = rest(socket);
    assert_eq!((&ended.stdout[..], &ended.status), (&b"hello"[..], &json!({"status": "Success"})));
}
