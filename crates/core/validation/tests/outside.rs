//! Crates outside the workspace, as users and contributors write them, built and tested by cargo.
//! Guarantees that `examples/own-validator` works, and that a field can be added as CONTRIBUTING.md says.
//! Must never write into the source tree: all output is below the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const MANIFEST: &str = r#"
[package]
name = "followed"
version = "0.1.0"
edition = "2024"

[dependencies]
pintle-codec = { path = "../../crates/core/codec" }
pintle-schema = { path = "../../crates/core/schema" }
pintle-types = { path = "../../crates/kubernetes/types" }
pintle-validation = { path = "../../crates/core/validation" }
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the repository")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A workspace with both crates, so that their dependencies are built once.
fn workspace() -> &'static Path {
    static WORKSPACE: OnceLock<PathBuf> = OnceLock::new();
    WORKSPACE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            // Unchanged files are not written, so that nothing is built again.
            if fs::read_to_string(&path).ok().as_deref() != Some(text) {
                fs::write(path, text).expect("written");
            }
        };
        let inner = |manifest: &str| {
            let there = root().join("crates").display().to_string();
            manifest.replace("../../crates", &there).replace("[workspace]", "")
        };
        write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"own-validator\", \"followed\"]\n[profile.dev]\ndebug = false\n");
        // The repository's lock file, so that no versions have to be resolved.
        write("Cargo.lock", &read("Cargo.lock"));
        write("own-validator/Cargo.toml", &inner(&read("examples/own-validator/Cargo.toml")));
        write("own-validator/src/lib.rs", &read("examples/own-validator/src/lib.rs"));
        write("followed/Cargo.toml", &inner(MANIFEST));
        write("followed/src/lib.rs", include_str!("outside/followed.rs"));
        write("followed/src/replication_controller.rs", &with_field());
        folder
    })
}

/// The first block of Rust below a heading of CONTRIBUTING.md.
fn block(heading: &str) -> String {
    let text = read("CONTRIBUTING.md");
    let section = text.split_once(heading).expect("the heading").1;
    let block = section.split_once("```rust\n").expect("a block").1.split_once("```").expect("its end").0;
    block.lines().map(|line| format!("    {}\n", line.trim_start())).collect()
}

/// The types of a kind, with the field of CONTRIBUTING.md added to a struct.
fn with_field() -> String {
    let file = read("crates/kubernetes/types/src/core/v1/replication_controller.rs");
    let start = "pub struct ReplicationControllerSpec {\n";
    assert!(file.contains(start), "the struct has moved");
    let file = file.replace(start, &format!("{start}{}", block("\n## Add a field\n")));
    file.replace("super::", "pintle_types::core::v1::").replace("crate::", "pintle_types::")
}

/// Runs the tests of a package, and checks their number.
fn test(package: &str, count: usize) {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--package", package, "--target-dir"])
        .arg(workspace().join("target"))
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains(&format!("test result: ok. {count} passed")), "{text}");
}

#[test]
fn a_validator_of_ones_own() {
    test("own-validator", 2);
}

#[test]
fn a_field_with_two_rules_is_one_edit() {
    test("followed", 2);
}
