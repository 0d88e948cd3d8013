//! Small requests that are expensive to serve: the real binary gets each, several at once where one is not enough. Guarantees a
//! clear response in kube-apiserver's form, a peak of memory that is a few times the request, responses to `/livez` meanwhile,
//! and a server that continues. Must never depend on timing: deadlines only end a hanging test.

mod rows;

use crate::common::DEADLINE;
use crate::common::http::Endpoint;
use crate::common::process::{Installation, Process};
use rows::{Row, Set};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Additional memory for any row: allocators keep freed memory, and a binary without optimization is large.
const SLACK_BYTES: u64 = 48 << 20;

struct Server {
    process: Process,
    endpoint: Endpoint,
    // Its files, which have to stay as long as it runs.
    _installation: Installation,
}

impl Server {
    fn start() -> Server {
        let installation = Installation::own();
        let process = installation.start();
        let endpoint = process.endpoint();
        Server { process, endpoint, _installation: installation }
    }

    /// A figure of the process, in bytes.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.expect("a number of kilobytes") << 10
    }

    /// Resets the system's peak of memory.
    fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").expect("the peak is counted anew");
    }
}

/// Sends a row's request as often as it specifies at once, while `/livez` is polled. Returns an error for a failed row.
fn run(server: &Server, row: &Row) -> Result<String, String> {
    let livez = || server.endpoint.client().get("/livez").map(|answer| answer.status);
    for (method, path, content_type, body) in &row.before {
        let answer = server.endpoint.client().send(method, path, content_type, body);
        let answer = answer.map_err(|error| format!("no answer to what comes before: {error}"))?;
        if answer.status >= 300 {
            return Err(format!("what comes before: {}: {}", answer.status, short(&answer.text())));
        }
    }
    server.forget_peak();
    let before = server.memory("VmRSS");
    let started = std::time::Instant::now();
    let done = AtomicBool::new(false);
    let (answers, alive) = thread::scope(|scope| {
        let send = || {
            let mut endpoint = server.endpoint.clone();
            if row.headers.iter().any(|(name, _)| name == "Authorization") {
                endpoint.token = None;
            }
            let mut client = endpoint.client();
            for (name, value) in &row.headers {
                client = client.with_header(name, value);
            }
            client.send(row.method, &row.path, row.content_type, &row.body)
        };
        let sending: Vec<_> = (0..row.at_once).map(|_| scope.spawn(send)).collect();
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !done.load(Ordering::Relaxed) {
                match livez() {
                    Ok(200) => asked += 1,
                    other => return Err(format!("/livez answered {other:?} after {asked} good answers")),
                }
                // Each has a connection of its own: without a pause they would take most of the processor.
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        });
        let answers: Vec<_> = sending.into_iter().map(|sent| sent.join().expect("no panic")).collect();
        done.store(true, Ordering::Relaxed);
        (answers, asking.join().expect("no panic"))
    });
    let took = started.elapsed();
    alive?;
    let sent = (row.body.len() + row.path.len()) as u64 * row.at_once as u64;
    let peak = server.memory("VmHWM").saturating_sub(before);
    let mut report = format!("{:>6.1} MB sent, peak {:>7.1} MB, {took:>6.1?}", megabytes(sent), megabytes(peak));
    for answer in answers {
        let answer = answer.map_err(|error| format!("no answer within {DEADLINE:?}: {error} ({report})"))?;
        let text = answer.text();
        if !row.statuses.contains(&answer.status) || !text.contains(&row.says) {
            return Err(format!(
                "expected {:?} with {:?}, got {}: {}",
                row.statuses,
                row.says,
                answer.status,
                short(&text)
            ));
        }
        if answer.status >= 400 && !row.plain {
            let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            if status["kind"] != "Status" || status["code"] != answer.status {
                return Err(format!("{} is no Status: {}", answer.status, short(&text)));
            }
        }
        report = format!("{report}, {}", answer.status);
    }
    match livez() {
        Ok(200) => {}
        other => return Err(format!("/livez answered {other:?} afterwards")),
    }
    let allowed = row.times * sent + SLACK_BYTES;
    if peak > allowed {
        return Err(format!("memory grew by more than {:.1} MB: {report}", megabytes(allowed)));
    }
    Ok(report)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}

fn check(set: Set) {
    let wanted = std::env::var("HOSTILE_ROW").unwrap_or_default();
    let mut server = Server::start();
    let mut wrong = Vec::new();
    for row in rows::rows(set).into_iter().filter(|row| row.what.contains(&wanted)) {
        match run(&server, &row) {
            Ok(report) => println!("{:<60} {report}", row.what),
            Err(why) => {
                println!("{:<60} WRONG {why}", row.what);
                wrong.push(format!("{}: {why}", row.what));
            }
        }
        // What one row left behind, or broke, is no concern of the next.
        if server.process.exit_status().is_some() {
            wrong.push(format!("{}: the server ended: {}", row.what, short(&server.process.errors())));
            server = Server::start();
        } else if wrong.last().is_some_and(|last| last.starts_with(row.what)) {
            server = Server::start();
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn yaml() {
    check(Set::Yaml);
}

#[test]
fn json() {
    check(Set::Json);
}

#[test]
fn binary_encodings() {
    check(Set::Binary);
}

#[test]
fn patches() {
    check(Set::Patches);
}

#[test]
fn queries_and_headers() {
    check(Set::Queries);
}
