//! etcd as child processes on loopback ports: one member or several, and the wire to them, which can be cut. Guarantees
//! that nothing outlives a test, and that what was paused or cut can be healed. Must never depend on timing: it waits
//! for a member's response.

use super::credentials::Credentials;
use super::http::{Client, Endpoint};
use super::process::free_port;
use super::{Scratch, wait_for};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The executable of a version, such as `3.5`; `None` where it is not installed, which is a failure on CI only.
pub fn program(version: &str) -> Option<PathBuf> {
    let variable = format!("PINTLE_TEST_ETCD_{}", version.replace('.', "_"));
    let found = std::env::var_os(&variable).map(PathBuf::from).filter(|path| path.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "{variable} names no etcd {version}");
    found
}

/// A member: its process, if it runs, and where it listens.
struct Member {
    child: Option<Child>,
    client_port: u16,
    peer_port: u16,
}

/// A cluster whose members keep their data across restarts.
pub struct Etcd {
    program: PathBuf,
    scratch: Scratch,
    members: Vec<Member>,
    flags: Vec<String>,
    tls: Option<Arc<rustls::ClientConfig>>,
    /// Where the first member listens, too.
    socket: Option<PathBuf>,
}

impl Etcd {
    /// Starts so many members, and waits until they can be written.
    pub fn start(program: PathBuf, members: usize) -> Etcd {
        Etcd::start_with(program, members, &[])
    }

    /// The same with further flags.
    pub fn start_with(program: PathBuf, members: usize, flags: &[&str]) -> Etcd {
        Etcd::launched(program, members, flags, None, None)
    }

    /// One member that also listens at a socket of this machine.
    pub fn start_at_socket(program: PathBuf, socket: PathBuf) -> Etcd {
        Etcd::launched(program, 1, &[], None, Some(socket))
    }

    /// One member that is reached over TLS only, and only with a certificate of the right authority.
    pub fn start_secured(program: PathBuf, credentials: &Credentials) -> Etcd {
        let files = ["server.crt", "server.key", "ca.crt"].map(|name| credentials.file(name));
        let [certificate, key, authority] = files.each_ref().map(|file| file.to_str().expect("a path"));
        let flags =
            ["--client-cert-auth", "--cert-file", certificate, "--key-file", key, "--trusted-ca-file", authority];
        Etcd::launched(program, 1, &flags, Some(credentials.client_config()), None)
    }

    fn launched(
        program: PathBuf,
        members: usize,
        flags: &[&str],
        tls: Option<Arc<rustls::ClientConfig>>,
        socket: Option<PathBuf>,
    ) -> Etcd {
        let member = |_| Member { child: None, client_port: free_port(), peer_port: free_port() };
        let members: Vec<Member> = (0..members).map(member).collect();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut etcd = Etcd { program, scratch: Scratch::new(), members, flags, tls, socket };
        (0..etcd.members.len()).for_each(|index| etcd.launch(index));
        etcd.wait_until_healthy();
        etcd
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn port(&self, index: usize) -> u16 {
        self.members[index].client_port
    }

    /// The value of `--etcd-servers`.
    pub fn urls(&self) -> String {
        (0..self.len()).map(|index| self.url(index)).collect::<Vec<_>>().join(",")
    }

    /// Where a member listens for clients.
    pub fn url(&self, index: usize) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port(index))
    }

    fn launch(&mut self, index: usize) {
        let peer = |member: &Member| format!("http://127.0.0.1:{}", member.peer_port);
        let cluster = self.members.iter().enumerate().map(|(at, member)| format!("m{at}={}", peer(member)));
        let cluster = cluster.collect::<Vec<_>>().join(",");
        let member = &self.members[index];
        let client = self.url(index);
        let log = std::fs::File::create(self.scratch.path().join(format!("m{index}.log"))).expect("a log");
        let mut command = Command::new(&self.program);
        command.arg("--data-dir").arg(self.scratch.path().join(format!("m{index}")));
        command.args(["--name", &format!("m{index}"), "--initial-cluster", &cluster]);
        let socket = self.socket.iter().filter(|_| index == 0).map(|socket| format!(",unix://{}", socket.display()));
        let listen = std::iter::once(client.clone()).chain(socket).collect::<String>();
        command.args(["--listen-client-urls", &listen, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer(member), "--initial-advertise-peer-urls", &peer(member)]);
        command.args(["--heartbeat-interval", "50", "--election-timeout", "500"]).args(&self.flags);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.members[index].child = Some(command.spawn().expect("etcd starts"));
    }

    pub fn wait_until_healthy(&self) {
        for index in 0..self.members.len() {
            wait_for("a healthy member", || {
                let answer = self.client(index).get("/health").ok()?;
                answer.text().contains("\"true\"").then_some(())
            });
        }
    }

    fn endpoint(&self, index: usize) -> Endpoint {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port(index)));
        Endpoint { address, tls: self.tls.clone(), token: None }
    }

    /// A plain client of a member's JSON gateway, which tries nothing again.
    pub fn client(&self, index: usize) -> Client {
        self.endpoint(index).client()
    }

    /// A call of the JSON gateway, by the first member that responds.
    pub fn call(&self, path: &str, body: &Value) -> Value {
        wait_for("an answer of etcd", || {
            let answers = (0..self.members.len()).map(|index| self.client(index).post(path, body));
            answers.flatten().find(|answer| answer.status == 200).map(|answer| answer.json())
        })
    }

    /// The first member's response to a call of the JSON gateway, success or error; `None`: it does not respond.
    pub fn try_call(&self, path: &str, body: &Value) -> Option<String> {
        Some(self.client(0).post(path, body).ok()?.text())
    }

    /// Forgets all history up to now.
    pub fn compact(&self) -> u64 {
        let answer = self.call("/v3/kv/range", &json!({"key": "YQ=="}));
        let revision = answer["header"]["revision"].as_str().and_then(|it| it.parse().ok()).expect("a revision");
        self.call("/v3/kv/compaction", &json!({"revision": revision, "physical": true}));
        revision
    }

    /// Which member leads.
    pub fn leader(&self) -> usize {
        wait_for("a leader", || {
            (0..self.members.len()).find(|index| {
                let answer = self.client(*index).post("/v3/maintenance/status", &json!({}));
                let Ok(answer) = answer.map(|answer| answer.text()) else { return false };
                let status: Value = serde_json::from_str(&answer).unwrap_or_default();
                status["leader"].is_string() && status["leader"] == status["header"]["member_id"]
            })
        })
    }

    /// SIGKILL.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.members[index].child.take() {
            child.kill().expect("killed");
            child.wait().expect("gone");
        }
    }

    pub fn restart(&mut self, index: usize) {
        self.launch(index);
    }

    /// Saves the data of the members, which are restarted for that.
    pub fn save(&mut self) {
        self.restart_after(|member| (member.to_owned(), format!("{member}.saved")));
    }

    /// Restores the saved data of the members.
    pub fn put_back(&mut self) {
        self.restart_after(|member| (format!("{member}.saved"), member.to_owned()));
    }

    fn restart_after(&mut self, copy: impl Fn(&str) -> (String, String)) {
        for index in 0..self.len() {
            self.kill(index);
            let (from, to) = copy(&format!("m{index}"));
            let (from, to) = (self.scratch.path().join(from), self.scratch.path().join(to));
            // It may not be there yet.
            let _ = std::fs::remove_dir_all(&to);
            let copied = Command::new("cp").arg("-r").arg(&from).arg(&to).status();
            assert!(copied.is_ok_and(|status| status.success()), "{} copied", from.display());
        }
        (0..self.len()).for_each(|index| self.launch(index));
        self.wait_until_healthy();
    }

    pub fn pause(&self, index: usize) {
        self.signal(index, "STOP");
    }

    pub fn resume(&self, index: usize) {
        self.signal(index, "CONT");
    }

    fn signal(&self, index: usize, name: &str) {
        let Some(child) = &self.members[index].child else { return };
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal {name}");
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(child) = &mut member.child {
                // It may have ended already.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// The wires from one server to all members.
pub struct Wires {
    ports: Vec<u16>,
    state: Arc<WireState>,
}

#[derive(Default)]
struct WireState {
    cut: AtomicBool,
    /// Connections made before this changed are closed.
    generation: AtomicU64,
    /// What has come while the wires were cut.
    blocked: Mutex<Vec<u8>>,
}

impl Wires {
    pub fn to(etcd: &Etcd) -> Wires {
        let state = Arc::new(WireState::default());
        let ports = (0..etcd.len()).map(|index| wire(etcd.port(index), state.clone())).collect();
        Wires { ports, state }
    }

    pub fn urls(&self) -> String {
        self.ports.iter().map(|port| format!("http://127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// Drops all bytes without closing the connections.
    pub fn cut(&self) {
        self.state.cut.store(true, Ordering::SeqCst);
    }

    /// Whether bytes are blocked that contain a text.
    pub fn block(&self, text: &str) -> bool {
        let blocked = self.state.blocked.lock().expect("no panic");
        blocked.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// Resumes blocked traffic.
    pub fn heal(&self) {
        self.state.cut.store(false, Ordering::SeqCst);
    }

    /// Drops blocked traffic, and allows new connections.
    pub fn replace(&self) {
        self.state.generation.fetch_add(1, Ordering::SeqCst);
        self.heal();
    }
}

impl WireState {
    /// Waits until something can get through; false: not through a connection of this generation.
    fn open(&self, generation: u64) -> bool {
        loop {
            if self.generation.load(Ordering::SeqCst) != generation {
                return false;
            }
            if !self.cut.load(Ordering::SeqCst) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn wire(target: u16, state: Arc<WireState>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let state = state.clone();
            std::thread::spawn(move || {
                let generation = state.generation.load(Ordering::SeqCst);
                if !state.open(generation) {
                    return;
                }
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { return };
                let (Ok(near_again), Ok(far_again)) = (near.try_clone(), far.try_clone()) else { return };
                let other_way = state.clone();
                std::thread::spawn(move || copy(near_again, far_again, &other_way, generation));
                copy(far, near, &state, generation);
            });
        }
    });
    port
}

fn copy(mut from: TcpStream, mut to: TcpStream, state: &WireState, generation: u64) {
    let (mut buffer, mut held, mut is_over) = (vec![0; 64 << 10], Vec::new(), false);
    // Otherwise a connection on which nothing comes would never see that it is lost.
    let _ = from.set_read_timeout(Some(Duration::from_millis(50)));
    while !is_over {
        match from.read(&mut buffer) {
            Ok(count) if count > 0 => held.extend(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => is_over = true,
        }
        let is_current = state.generation.load(Ordering::SeqCst) == generation;
        if is_current && !is_over && state.cut.load(Ordering::SeqCst) {
            state.blocked.lock().expect("no panic").extend(&held[..]);
            continue;
        }
        if !state.open(generation) || to.write_all(&held).is_err() {
            break;
        }
        held.clear();
    }
    let _ = (to.shutdown(std::net::Shutdown::Both), from.shutdown(std::net::Shutdown::Both));
}
