//! Clients that are slow or greedy, against the real server: whatever one user does, others get their answers, with priority and
//! fairness as by default.
//! Guarantees that every attack has a bounded number of connections, and that what is claimed of a request is seen from
//! outside: its answer, its stream's end, or the server's own metrics.
//! Must never let time decide: what ends is waited for, and others are asked while it lasts.

use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{ADMIN_TOKEN, Installation, Process};
use crate::common::raw::{Http2, Stream, Tls, connect, head};
use crate::common::wait_for;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FLOODED: &str = "/api/v1/namespaces/kube-public/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const GREEDY: [&str; 5] = ["greedy-0", "greedy-1", "greedy-2", "greedy-3", "greedy-4"];
const OTHER: &str = "other";
/// A kubelet's token. It may do what the others may, too.
const NODE: &str = "node";
/// Nearly as much as a body may be.
const BODY: usize = 11 << 18;

/// A server with 16 seats, of which some two are for users who may do everything but are no administrators, and some for
/// nodes. Their tokens are their names.
struct Small {
    process: Process,
    endpoint: Endpoint,
    _installation: Installation,
}

impl Small {
    fn start(flags: &[&str]) -> Small {
        let installation = Installation::own();
        let users: String =
            GREEDY.iter().chain([&OTHER]).map(|user| format!("{user},{user},{user},people\n")).collect();
        let nodes = format!("{NODE},system:node:n,n,\"people,system:nodes\"\n");
        let tokens = format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n{users}{nodes}");
        installation.scratch.write("tokens.csv", &tokens);
        let limits = ["--max-requests-inflight=8", "--max-mutating-requests-inflight=8"];
        let process = installation.start_with(&limits.iter().chain(flags).collect::<Vec<_>>());
        let endpoint = process.endpoint();
        let binding = json!({
            "metadata": {"name": "people"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "people"}],
        });
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        endpoint.client().post(path, &binding).expect_status(201);
        let small = Small { process, endpoint, _installation: installation };
        wait_for("the binding to count", || (small.read(OTHER) == 200).then_some(()));
        small
    }

    fn client(&self, token: &str) -> Client {
        Endpoint { token: Some(token.to_owned()), ..self.endpoint.clone() }.client()
    }

    /// The status code of a user's list.
    fn read(&self, token: &str) -> u16 {
        self.client(token).get(CONFIG_MAPS).answer().status
    }

    /// The status code of a user's create.
    fn write(&self, token: &str, name: &str) -> u16 {
        self.client(token).post(CONFIG_MAPS, &json!({"metadata": {"name": name}})).answer().status
    }

    fn http2(&self, token: &str, window: u32) -> Http2 {
        Http2::connect(&self.endpoint, token, window)
    }

    /// How many requests hold a slot.
    fn in_flight(&self, kind: &str) -> u64 {
        let metrics = self.endpoint.client().get("/metrics").answer().text();
        let name = format!("apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(name.as_str()));
        value.and_then(|value| value.parse().ok()).expect("a figure")
    }

    /// Waits until so many requests hold a slot, besides its own.
    fn wait_in_flight(&self, kind: &str, wanted: u64) {
        let asking = u64::from(kind == "readOnly");
        wait_for(&format!("{wanted} in flight"), || (self.in_flight(kind) == wanted + asking).then_some(()));
    }

    /// How many requests wait for seats.
    fn waiting(&self) -> u64 {
        let metrics = self.endpoint.client().get("/metrics").answer().text();
        let lines = metrics.lines().filter_map(|line| line.strip_prefix("apiserver_current_inqueue_requests{"));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
    }

    /// Memory of the server in bytes.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

/// A create that has sent a byte of its body.
fn begun(endpoint: &Endpoint, token: &str) -> Tls {
    let mut stream = connect(endpoint, "http/1.1");
    stream.write_all(head(token, "POST", CONFIG_MAPS, 100).as_bytes()).expect("sent");
    stream.write_all(b"{").expect("sent");
    stream
}

/// Text that gets little smaller by compression.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(state >> 58) as usize]
    });
    letters.take(length).map(char::from).collect()
}

fn answered(streams: &[u32]) -> impl Fn(&Http2) -> bool {
    let streams = streams.to_vec();
    move |client| streams.iter().all(|id| client.streams.get(id).is_some_and(|stream| !stream.head.is_empty()))
}

#[test]
fn stalled_bodies_do_not_block_other_writes() {
    let server = Small::start(&[]);
    let mut held: Vec<Tls> = (0..20).map(|_| begun(&server.endpoint, GREEDY[0])).collect();
    // Streams of one connection as well, some without a byte.
    let mut streams = server.http2(GREEDY[0], 65_535);
    for n in 0..40 {
        let id = streams.request("POST", CONFIG_MAPS, true);
        if n % 2 == 0 {
            streams.data(id, b"{", false);
        }
    }
    for n in 0..20 {
        assert_eq!(server.write(OTHER, &format!("o{n}")), 201, "{n}");
        assert_eq!(server.write(GREEDY[0], &format!("g{n}")), 201, "nor the user who sends them: {n}");
    }
    assert_eq!(server.in_flight("mutating"), 0);
    // They are still waited for: the rest of a body comes, and is taken.
    let rest = format!("{:<99}", "\"metadata\": {\"name\": \"late\"}}");
    held[0].write_all(rest.as_bytes()).expect("sent");
    let mut answer = [0; 12];
    held[0].read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 201");
}

#[test]
fn a_body_must_arrive_before_the_request_timeout() {
    let server = Small::start(&["--request-timeout=1s"]);
    let mut stream = begun(&server.endpoint, GREEDY[0]);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer, and the end");
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    let reported = "Timeout: request did not complete within the allotted timeout";
    assert!(answer.contains(reported) && answer.contains("\"reason\":\"Timeout\""), "{answer}");
}

#[test]
fn bodies_of_one_user_are_bounded_in_memory() {
    let server = Small::start(&[]);
    let before = server.memory();
    // 40 connections and 8 bodies on each, nearly whole: 880 MiB in all.
    let mut attack = Vec::new();
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..40 {
        let mut client = server.http2(GREEDY[0], 65_535);
        for _ in 0..8 {
            let id = client.request("POST", CONFIG_MAPS, true);
            match client.spaces(id, BODY) {
                true => taken += 1,
                false => refused += 1,
            }
        }
        attack.push(client);
    }
    for n in 0..5 {
        assert_eq!(server.write(OTHER, &format!("o{n}")), 201);
    }
    // A share is 64 MiB.
    let grown = server.memory().saturating_sub(before) >> 20;
    assert!((20..30).contains(&taken) && grown < 200, "{taken} taken, {refused} refused, {grown} MiB");
    drop(attack);
    assert_eq!(server.in_flight("mutating"), 0);
}

#[test]
fn reads_of_future_revisions_do_not_block_other_reads() {
    let server = Small::start(&[]);
    let path = format!("{CONFIG_MAPS}?resourceVersion=1000000&resourceVersionMatch=NotOlderThan");
    let mut waiting = server.http2(GREEDY[0], 65_535);
    let streams: Vec<u32> = (0..20).map(|_| waiting.request("GET", &path, false)).collect();
    // Others read while they wait; it is over when all are answered.
    let (done, is_done) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || {
        assert!(waiting.read_until(answered(&streams)));
        done.send(()).expect("somebody listens");
        streams.iter().map(|id| waiting.streams[id].status()).collect::<Vec<_>>()
    });
    let mut reads = 0;
    while is_done.try_recv().is_err() {
        assert_eq!((server.read(OTHER), server.read(GREEDY[0])), (200, 200), "after {reads} reads");
        reads += 1;
    }
    assert_eq!(waiter.join().expect("answers"), [504; 20]);
    assert!(reads > 0);
}

#[test]
fn unread_responses_hold_at_most_a_share_and_end() {
    let server = Small::start(&["--request-timeout=3s"]);
    // No byte of an answer goes out, though the heads do.
    let mut client = server.http2(GREEDY[0], 0);
    let streams: Vec<u32> = (0..60)
        .map(|_| {
            let stream = client.request("GET", CONFIG_MAPS, false);
            // One after the other, so that none waits for a seat.
            assert!(client.read_until(answered(&[stream])));
            stream
        })
        .collect();
    let (held, refused): (Vec<u32>, Vec<u32>) = streams.iter().partition(|id| client.streams[*id].status() == 200);
    // As many as there are seats, and as many again.
    assert_eq!((held.len(), refused.len()), (32, 28), "{:?}", client.streams);
    assert!(refused.iter().all(|id| client.streams[id].status() == 429));
    assert_eq!(server.read(OTHER), 200);
    // They are reset when their time is over, and the connection goes on.
    assert!(client.read_until(|client| held.iter().all(|id| client.streams[id].reset.is_some())));
    let next = client.request("GET", CONFIG_MAPS, false);
    assert!(client.read_until(answered(&[next])));
    assert_eq!(client.streams[&next].status(), 200);
}

#[test]
fn an_answer_that_is_not_read_ends_with_its_connection() {
    let server = Small::start(&["--request-timeout=3s"]);
    let mut writer = server.endpoint.client();
    for n in 0..20 {
        let object = json!({"metadata": {"name": format!("large-{n}")}, "data": {"a": noise(900_000)}});
        writer.post(CONFIG_MAPS, &object).expect_status(201);
    }
    for encoding in ["identity", "gzip"] {
        let mut streams: Vec<Tls> = (0..5).map(|_| connect(&server.endpoint, "http/1.1")).collect();
        for stream in &mut streams {
            let head = head(GREEDY[0], "GET", CONFIG_MAPS, 0);
            let head = head.replacen("\r\n", &format!("\r\nAccept-Encoding: {encoding}\r\nConnection: close\r\n"), 1);
            stream.write_all(head.as_bytes()).expect("sent");
        }
        assert_eq!(server.read(OTHER), 200);
        // This exceeds the network's buffers, so the server notices that the client does not read.
        server.wait_in_flight("readOnly", 5);
        server.wait_in_flight("readOnly", 0);
        for stream in &mut streams {
            let mut answer = Vec::new();
            // What was on its way comes, and then the end, without an error or with one.
            let _ = stream.read_to_end(&mut answer);
            assert!(answer.len() < 12_000_000, "{encoding}: {}", answer.len());
        }
    }
}

#[test]
fn a_flood_of_one_user_keeps_nobody_from_being_served() {
    let server = Small::start(&[]);
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}});
    server.client(OTHER).post(LEASES, &lease).expect_status(201);
    // Writes from many connections: more than have seats, and more than may wait.
    let is_over = Arc::new(AtomicBool::new(false));
    let flood: Vec<_> = (0..12)
        .map(|_| {
            let (endpoint, is_over) = (server.endpoint.clone(), is_over.clone());
            std::thread::spawn(move || flood(&endpoint, &is_over))
        })
        .collect();
    wait_for("requests to wait", || (server.waiting() > 10).then_some(()));
    let (mut reads, mut writes) = (0, 0);
    for round in 0..20 {
        // Others of the same level wait for their turn, and get it.
        assert_eq!(server.read(OTHER), 200, "{round}");
        assert_eq!(server.write(OTHER, &format!("o{round}")), 201, "{round}");
        (reads, writes) = (reads + 1, writes + 1);
        // Those of other levels do not.
        let mut client = server.client(NODE);
        let mut lease = client.get(&format!("{LEASES}/l")).expect_status(200);
        lease["spec"]["holderIdentity"] = json!(format!("{round}"));
        client.put(&format!("{LEASES}/l"), &lease).expect_status(200);
        assert_eq!((server.read(ADMIN_TOKEN), server.write(ADMIN_TOKEN, &format!("a{round}"))), (200, 201));
        server.client(OTHER).get("/livez").answer().expect_text("ok");
    }
    is_over.store(true, Ordering::Relaxed);
    let mut counts = [0; 2];
    for task in flood {
        let (served, rejected) = task.join().expect("its answers");
        counts = [counts[0] + served, counts[1] + rejected];
    }
    assert!(counts[0] > 0, "the flood is served, too: {counts:?} beside {reads} reads and {writes} writes");
    let dump = "/debug/api_priority_and_fairness/dump_priority_levels";
    let levels = server.endpoint.client().get(dump).answer().text();
    let row = levels.lines().find(|row| row.starts_with("global-default,")).expect("the level");
    let cells: Vec<_> = row.split(',').map(str::trim).collect();
    assert_eq!(cells[4..6], ["0", "0"], "nothing is left: {levels}");
    // Leases of nodes and administrators never waited: their levels rejected nothing.
    for level in ["node-high,", "exempt,"] {
        let row = levels.lines().find(|row| row.starts_with(level)).expect("the level");
        let cells: Vec<_> = row.split(',').map(str::trim).collect();
        assert_eq!(cells[7..], ["0"; 3], "{levels}");
    }
}

/// Writes until it is over, fifty objects at a time, and counts the writes that were done and those that were rejected.
fn flood(endpoint: &Endpoint, is_over: &AtomicBool) -> (u64, u64) {
    let mut counts = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let mut client = Http2::connect(endpoint, GREEDY[0], 1 << 20);
        let streams: Vec<u32> = (0..50).map(|_| client.request("POST", FLOODED, true)).collect();
        for id in &streams {
            client.data(*id, br#"{"metadata": {"generateName": "flood-"}}"#, true);
        }
        if !client.read_until(answered(&streams)) {
            continue;
        }
        for id in streams {
            match client.streams[&id].status() {
                201 => counts.0 += 1,
                429 => counts.1 += 1,
                status => panic!("{status}"),
            }
        }
    }
    counts
}

#[test]
fn idle_and_stalled_connections_do_not_block_others() {
    let server = Small::start(&[]);
    let half = [
        &b""[..],
        // A handshake record that is not whole.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ];
    let silent: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut stream = TcpStream::connect(server.endpoint.address).expect("a connection");
            stream.write_all(half[n % 2]).expect("sent");
            stream
        })
        .collect();
    let idle: Vec<Http2> = (0..100).map(|_| server.http2(GREEDY[0], 65_535)).collect();
    // Heads whose bytes drip, and streams that are cancelled as soon as they are begun.
    let mut dripping: Vec<Tls> = (0..50).map(|_| connect(&server.endpoint, "http/1.1")).collect();
    let mut cancelling = server.http2(GREEDY[0], 65_535);
    for n in 0..50 {
        dripping.iter_mut().for_each(|stream| stream.write_all(b"G").expect("sent"));
        let id = cancelling.request("GET", CONFIG_MAPS, false);
        cancelling.cancel(id);
        if n % 10 == 0 {
            assert_eq!((server.read(OTHER), server.write(OTHER, &format!("o{n}"))), (200, 201));
        }
    }
    server.wait_in_flight("readOnly", 0);
    drop((silent, idle));
}

#[test]
fn unauthenticated_clients_have_one_request_per_http2_connection() {
    let server = Small::start(&[]);
    for (token, code, leaves) in [("", 200, true), ("wrong", 401, true), (OTHER, 200, false)] {
        let mut client = server.http2(token, 65_535);
        for _ in 0..200 {
            let id = client.request("GET", "/livez", false);
            let is_open =
                client.read_until(|client| client.goes_away || client.streams.get(&id).is_some_and(Stream::is_over));
            assert!(is_open && client.streams.values().all(|stream| [0, code].contains(&stream.status())), "{token}");
            if client.goes_away {
                break;
            }
        }
        assert_eq!(client.goes_away, leaves, "{token}");
    }
}
