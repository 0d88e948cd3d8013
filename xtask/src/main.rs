//! The commands of contributors: `cargo xtask COMMAND`. Each runs other programs and shows what it runs.
//! Must never do what `.ci/run` does not do too: the gate stays the judge.

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check               format, lints, and the tests of everything but whole servers
  test MODULE         the tests of one module on real servers, such as kubectl
  etcd MODULE         the same with their objects in etcd (PINTLE_TEST_ETCD_3_5 names the program)
  docs                writes the reference of validation tags and the expected messages of the derive anew
  dependencies        licences, sources and duplicates of dependencies, by cargo-deny
  gate                everything that a change has to pass";

const CHECK: &[&[&str]] = &[
    &["cargo", "fmt", "--all", "--check"],
    &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    &["cargo", "test", "--workspace", "--lib"],
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let succeeded = match *arguments.as_slice() {
        ["check"] => CHECK.iter().all(|command| run(command, &[])),
        ["test", module] => whole_server(module, &[]),
        ["etcd", module] => whole_server(module, &[("PINTLE_TEST_STORE", "etcd")]),
        ["docs"] => {
            run(&["cargo", "test", "-p", "pintle-validation", "--test", "reference"], &[("PINTLE_UPDATE_DOCS", "1")])
                && run(&["cargo", "test", "-p", "pintle-derive", "--test", "messages"], &[("TRYBUILD", "overwrite")])
        }
        ["dependencies"] => run(&["cargo", "deny", "check"], &[]),
        ["gate"] => run(&[".ci/run"], &[]),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn whole_server(module: &str, environment: &[(&str, &str)]) -> bool {
    let filter = format!("{module}::");
    run(&["cargo", "test", "-p", "pintle-cli", "--test", "whole_server", &filter], environment)
}

/// Runs a command in the root of the workspace; says what it runs, and what failed.
fn run(command: &[&str], environment: &[(&str, &str)]) -> bool {
    let [program, arguments @ ..] = command else { return true };
    eprintln!("> {}", command.join(" "));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(program).args(arguments).envs(environment.iter().copied()).current_dir(root).status();
    match status {
        Ok(status) if status.success() => true,
        Ok(status) => {
            eprintln!("{program}: {status}");
            false
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            false
        }
    }
}
