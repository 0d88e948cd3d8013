//! kubectl from PATH against the real binary. Guarantees that its cache, its editor and its kubeconfig are the test's own. Must
//! never be skipped silently: without kubectl a message is printed, and on CI it fails.

use super::DEADLINE;
use super::process::{Installation, Process};
use std::env;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command line, its exit code, and the texts that its output (both streams) contains and does not contain.
pub type Step = (&'static str, i32, &'static [&'static str], &'static [&'static str]);

/// Whether kubectl is on PATH; prints a message if it is not.
///
/// # Panics
/// It is not, on CI.
pub fn is_there() -> bool {
    let version = Command::new("kubectl").args(["version", "--client"]).output();
    let there = version.is_ok_and(|output| output.status.success());
    if !there {
        assert!(env::var_os("CI").is_none(), "no kubectl on PATH");
        println!("SKIPPED: no kubectl on PATH");
    }
    there
}

/// A server, and kubectl with its kubeconfig.
pub struct Kubectl {
    pub installation: Installation,
    pub process: Process,
    /// Where it is run.
    folder: PathBuf,
}

impl Kubectl {
    /// A new server, and kubectl with its own directory; `None` without kubectl.
    pub fn start() -> Option<Kubectl> {
        if !is_there() {
            return None;
        }
        let installation = Installation::new();
        let process = installation.start();
        let folder = installation.scratch.path().to_owned();
        Some(Kubectl { installation, process, folder })
    }

    /// The same, run in another folder.
    pub fn within(self, folder: PathBuf) -> Kubectl {
        Kubectl { folder, ..self }
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new("kubectl");
        command.args(split(line)).current_dir(&self.folder);
        command.env("KUBECONFIG", self.installation.kubeconfig());
        // Its cache of discovery is this test's own, and so is its editor.
        command.env("HOME", self.installation.scratch.path());
        command.env("KUBE_EDITOR", "sed -i s/blue/green/");
        command
    }

    /// Runs a command to its end, within the deadline.
    pub fn output(&self, line: &str) -> Output {
        let mut command = self.command(line);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("kubectl runs");
        let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().expect("its state") {
                Some(status) => break status,
                None if start.elapsed() < DEADLINE => std::thread::sleep(Duration::from_millis(5)),
                None => {
                    child.kill().expect("killed");
                    break child.wait().expect("gone");
                }
            }
        };
        Output { status, stdout: stdout.join().expect("read"), stderr: stderr.join().expect("read") }
    }

    /// The output of a command that must succeed.
    pub fn run(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "kubectl {line}: {}{}", said(&output), self.process.errors());
        said(&output)
    }

    /// Runs a table from top to bottom. `{folder}` in a line is the test's own folder.
    pub fn table(&self, steps: &[Step]) {
        let mut wrong = Vec::new();
        for (line, code, has, has_not) in steps {
            let line = line.replace("{folder}", &self.installation.scratch.path().display().to_string());
            let output = self.output(&line);
            let said = said(&output);
            let missing: Vec<_> = has.iter().filter(|part| !said.contains(**part)).collect();
            let unwanted: Vec<_> = has_not.iter().filter(|part| said.contains(**part)).collect();
            if output.status.code() != Some(*code) || !missing.is_empty() || !unwanted.is_empty() {
                let code = output.status.code();
                wrong.push(format!("kubectl {line}\n{code:?}, missing {missing:?}, unwanted {unwanted:?} in:\n{said}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}\n{}", wrong.join("\n\n"), self.process.errors());
    }
}

/// Reads a stream to its end on a thread of its own: a full pipe would stop the command.
fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    let mut stream = stream.expect("a pipe");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is what there is.
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// The output of a command, both streams.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Words between spaces; single quotes keep spaces together, as in a shell.
fn split(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = false;
    let mut fresh = true;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                fresh = true;
                continue;
            }
            _ => {}
        }
        if fresh {
            words.push(String::new());
            fresh = false;
        }
        if character != '\'' {
            words.last_mut().expect("just pushed").push(character);
        }
    }
    words
}
