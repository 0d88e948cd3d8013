//! The real binary as a child process: its files, its start, its end. Guarantees that a started server serves (it has printed
//! its last line), and that it is killed when dropped. Must never use a fixed port: a port that another process took meanwhile
//! is replaced.

use super::etcd::Etcd;
use super::http::Endpoint;
use super::{DEADLINE, Scratch, stores};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// The administrator's token in every installation.
pub const ADMIN_TOKEN: &str = "admin-token";
/// The token of a user without permissions.
pub const NOBODY_TOKEN: &str = "nobody-token";

/// The persistent files of a server: data, certificates, tokens.
pub struct Installation {
    pub scratch: Scratch,
    etcd: Option<Etcd>,
}

impl Installation {
    /// Keeps objects wherever tests are to keep them.
    pub fn new() -> Installation {
        Installation { etcd: stores::etcd(), ..Installation::own() }
    }

    /// Keeps objects in its own directory, unless the test chooses another store.
    pub fn own() -> Installation {
        let scratch = Scratch::new();
        let tokens = format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n{NOBODY_TOKEN},nobody,2\n");
        private(&scratch.write("tokens.csv", &tokens));
        Installation { scratch, etcd: None }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.path("data/kubeconfig")
    }

    /// The command line of a usual start.
    pub fn command(&self, port: u16) -> Command {
        let mut command = pintle(self.scratch.path());
        command.args(["serve", "--bind-address", "127.0.0.1"]);
        self.with_files(command, port)
    }

    /// The same without a command: a server that is all there is of a control plane.
    pub fn command_alone(&self, port: u16) -> Command {
        self.with_files(pintle(self.scratch.path()), port)
    }

    fn with_files(&self, mut command: Command, port: u16) -> Command {
        command.args(["--secure-port", &port.to_string()]);
        command.arg("--data-dir").arg(self.path("data"));
        command.arg("--cert-dir").arg(self.path("certs"));
        command.arg("--token-auth-file").arg(self.path("tokens.csv"));
        command.args(["--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.0.0.0/24"]);
        if let Some(etcd) = &self.etcd {
            command.args(["--etcd-servers", &etcd.urls()]);
        }
        command
    }

    pub fn start(&self) -> Process {
        self.start_changed(|_| {})
    }

    /// A start without a command, with these flags.
    pub fn start_alone(&self, flags: &[impl AsRef<OsStr>]) -> Process {
        let command = |port| {
            let mut command = self.command_alone(port);
            command.args(flags);
            command
        };
        start(command, &self.path("certs"))
    }

    /// A start with more flags than usual.
    pub fn start_with(&self, flags: &[impl AsRef<OsStr>]) -> Process {
        self.start_changed(|command| _ = command.args(flags))
    }

    /// A start by a command line that is changed in other ways, too.
    pub fn start_changed(&self, change: impl Fn(&mut Command)) -> Process {
        let command = |port| {
            let mut command = self.command(port);
            change(&mut command);
            command
        };
        start(command, &self.path("certs"))
    }
}

/// Restricts a file to its owner: the server warns of others when it starts.
fn private(path: &Path) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its permissions set");
}

/// The binary, to be started in a folder, without output. `PINTLE_TEST_PROGRAM` names another build of it.
pub fn pintle(folder: &Path) -> Command {
    let other = std::env::var_os("PINTLE_TEST_PROGRAM");
    let mut command = Command::new(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_pintle").into()));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Starts the binary on a free port and waits until it serves. Its certificates are in `certs`.
pub fn start(command: impl Fn(u16) -> Command, certs: &Path) -> Process {
    for _ in 0..10 {
        let port = free_port();
        match try_start(command(port), port, certs) {
            Ok(process) => return process,
            Err(text) if text.contains("Address already in use") => {}
            Err(text) => panic!("the server did not start: {text}"),
        }
    }
    panic!("no port stayed free");
}

fn try_start(mut command: Command, port: u16, certs: &Path) -> Result<Process, String> {
    let folder = Scratch::new();
    let errors = File::create(folder.path().join("stderr")).expect("a file for what it says");
    let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("the binary starts");
    let stdout = child.stdout.take().expect("its output");
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut process = Process { child, output: Vec::new(), port, certs: certs.to_owned(), folder, said_at_start: 0 };
    let start = Instant::now();
    while let Ok(line) = lines.recv_timeout(DEADLINE.saturating_sub(start.elapsed())) {
        let last = line.starts_with("export KUBECONFIG=");
        process.output.push(line);
        if last {
            process.said_at_start = process.errors().len();
            return Ok(process);
        }
    }
    Err(process.errors())
}

/// A running server, killed when dropped.
pub struct Process {
    child: Child,
    /// The output until it served.
    pub output: Vec<String>,
    pub port: u16,
    certs: PathBuf,
    folder: Scratch,
    /// Bytes of its stderr when it began to serve.
    said_at_start: usize,
}

impl Process {
    /// Where it serves, with the administrator's token.
    pub fn endpoint(&self) -> Endpoint {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(self.certs.join("ca.crt")).expect("the authority");
        roots.add(authority).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
        Endpoint {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)),
            tls: Some(Arc::new(config)),
            token: Some(ADMIN_TOKEN.to_owned()),
        }
    }

    /// Its stderr.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    /// Its stderr since it serves.
    pub fn news(&self) -> String {
        self.errors().split_off(self.said_at_start)
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal {name}");
    }

    /// SIGKILL: it has no time for anything.
    pub fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, or `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("its state")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
