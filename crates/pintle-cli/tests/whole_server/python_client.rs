//! The Python `kubernetes` client against the real binary: TLS, a client certificate, the generated kubeconfig. Guarantees that
//! `tests/python/client.py` runs to its end. Must never be skipped silently: without Python or the package a message is
//! printed, and on CI it fails.

use crate::common::process::Installation;
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// A Python that has the package: `PINTLE_TEST_PYTHON`, or the usual one.
fn python() -> Result<PathBuf, String> {
    let python = PathBuf::from(env::var_os("PINTLE_TEST_PYTHON").unwrap_or_else(|| "python3".into()));
    let found = Command::new(&python).args(["-c", "import kubernetes, yaml"]).output();
    match found {
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{}: {}", python.display(), errors.lines().last().unwrap_or_default()))
        }
        Err(error) => Err(format!("{}: {error}", python.display())),
    }
}

#[test]
fn create_list_watch_and_delete() {
    let python = match python() {
        Ok(python) => python,
        Err(error) if env::var_os("CI").is_none() => {
            println!("SKIPPED: {error} (pip install kubernetes PyYAML; PINTLE_TEST_PYTHON names the Python to use)");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let installation = Installation::new();
    let process = installation.start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/whole_server/python/client.py");
    let output = Command::new(python).arg(script).env("KUBECONFIG", installation.kubeconfig()).output();
    let output = output.expect("an end");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.ends_with("ok\n"), "{said}{errors}{}", process.errors());
}
