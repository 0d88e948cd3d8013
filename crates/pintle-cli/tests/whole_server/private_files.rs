//! Files and trust: what the server writes, who can read it, and whose certificates it trusts. Guarantees that files are
//! private whatever the process's umask, that less private ones are reported at start, and that client CAs configured by an
//! operator are the only ones. Must never look into the store's own files: those are tested where they are written.

#![cfg(unix)]

use crate::common::Scratch;
use crate::common::credentials::{Credentials, client_config};
use crate::common::http::Answered;
use crate::common::http::Endpoint;
use crate::common::process::{Installation, Process, pintle, start};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

/// Everything below a folder but what the store keeps, with its permissions.
fn modes(folder: &Path, found: &mut Vec<(PathBuf, u32)>) {
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        found.push((path.clone(), mode(&path)));
        if path.is_dir() && !path.ends_with("store") {
            modes(&path, found);
        }
    }
}

#[test]
fn files_are_private_regardless_of_the_umask() {
    let scratch = Scratch::new();
    // StrategyEnvironment of the folder that is looked at.
    let certs = scratch.path().join("made/certificates/deep");
    let command = |port: u16| {
        let server = pintle(scratch.path());
        let mut command = Command::new("sh");
        command.current_dir(scratch.path()).args(["-c", "umask 0 && exec \"$0\" \"$@\""]).arg(server.get_program());
        command.args(["serve", "--bind-address", "127.0.0.1", "--secure-port", &port.to_string()]);
        command
            .args(["--data-dir", "made/data", "--write-kubeconfig", "made/kube/config"])
            .arg("--cert-dir")
            .arg(&certs);
        command
    };
    let mut process = start(command, &certs);
    process.kill();
    // A second start finds everything there.
    let process = start(command, &certs);
    let mut found = Vec::new();
    modes(scratch.path(), &mut found);
    let names =
        ["data", "data/store", "kube/config", "certificates/deep/ca.key", "certificates/deep/service-account.key"];
    for name in names {
        assert!(found.iter().any(|(path, _)| path.ends_with(name)), "{name} in {found:?}");
    }
    for (path, mode) in &found {
        // The store's folder is made by the store.
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert!(*mode == expected || path.ends_with("store"), "{} has mode {mode:04o}", path.display());
    }
    let certs = certs.to_str().expect("a path");
    assert!(!process.errors().lines().any(|line| line.contains(certs)), "{}", process.errors());
}

#[test]
fn files_open_to_others_are_warned_of_at_the_start() {
    let installation = Installation::own();
    let key = Credentials::new();
    let tight = installation.start();
    assert!(!tight.errors().contains("tokens.csv") && !tight.errors().contains("certs"), "{}", tight.errors());
    drop(tight);
    let encryption = r#"{"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [
        {"resources": ["secrets"], "providers": [{"identity": {}}]}]}"#;
    let loose = [
        (installation.path("data"), 0o755),
        (installation.path("data/kubeconfig"), 0o640),
        (installation.path("certs"), 0o711),
        (installation.path("certs/ca.key"), 0o644),
        (installation.path("tokens.csv"), 0o604),
        (key.file("server.key"), 0o644),
        (key.file("client.key"), 0o640),
        (installation.scratch.write("encryption.json", encryption), 0o644),
    ];
    loose.iter().for_each(|(path, mode)| set_mode(path, *mode));
    let path = |name: &str| key.file(name).to_str().expect("a path").to_owned();
    let process = installation.start_with(
        &[
            ("--tls-cert-file", path("server.crt")),
            ("--tls-private-key-file", path("server.key")),
            ("--kubelet-client-certificate", path("client.crt")),
            ("--kubelet-client-key", path("client.key")),
            ("--encryption-provider-config", "encryption.json".to_owned()),
        ]
        .map(|(flag, value)| format!("{flag}={value}")),
    );
    let told = process.errors();
    for (path, mode) in &loose {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let lines =
            told.lines().filter(|line| line.starts_with("warning: ") && line.contains(&format!("{name} has mode")));
        let lines: Vec<_> = lines.collect();
        assert!(lines.len() == 1 && lines[0].contains(&format!(" {mode:04o}:")), "{name} in {told}");
    }
    // They are reported and not changed; new files are private.
    assert_eq!((mode(&installation.path("data")), mode(&installation.path("certs/ca.key"))), (0o755, 0o644));
    assert_eq!(mode(&installation.path("data/kubeconfig")), 0o600);
}

/// Who a client is taken for; `None` where it is refused.
fn user(process: &Process, tls: Arc<rustls::ClientConfig>, token: Option<&str>) -> Option<(String, Vec<String>)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, process.port));
    let endpoint = Endpoint { address, tls: Some(tls), token: token.map(str::to_owned) };
    let answer = endpoint.client().post(REVIEWS, &json!({})).answer();
    if answer.status == 401 || answer.status == 403 {
        return None;
    }
    let user = &answer.expect(201)["status"]["userInfo"];
    let groups =
        user["groups"].as_array().expect("groups").iter().map(|group| group.as_str().expect("a name").to_owned());
    Some((user["username"].as_str().expect("a name").to_owned(), groups.collect()))
}

#[test]
fn a_file_of_clients_authorities_decides_alone() {
    let installation = Installation::own();
    let (clients, strangers) = (Credentials::new(), Credentials::new());
    let [authority, admin, admin_key] =
        ["ca.crt", "admin.crt", "admin.key"].map(|file| installation.path("certs").join(file));
    let kubeconfig = || std::fs::read_to_string(installation.kubeconfig()).expect("a kubeconfig");
    let process = installation.start();
    let administrator = || client_config(&admin, &admin_key, &authority);
    let known = user(&process, administrator(), None).expect("the administrator");
    assert_eq!(known.0, "pintle-admin");
    assert!(kubeconfig().contains("client-key-data: ") && !kubeconfig().contains("token: "));
    assert_eq!(user(&process, clients.client_config_for(&authority), None), None);
    drop(process);

    std::fs::copy(clients.file("ca.crt"), installation.path("clients.crt")).expect("copied");
    let serve = || installation.start_with(&["--client-ca-file", "clients.crt"]);
    let process = serve();
    assert_eq!(user(&process, administrator(), None), None, "the own authority's certificates are worth nothing now");
    assert_eq!(user(&process, strangers.client_config_for(&authority), None), None);
    let client = user(&process, clients.client_config_for(&authority), None).expect("a client");
    assert_eq!(client.0, "client");
    // The administrator has a token instead, in the kubeconfig alone.
    let token = || {
        let text = kubeconfig();
        assert!(!text.contains("client-"), "{text}");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("token: ").map(str::to_owned));
        line.expect("a token")
    };
    let first = token();
    let anybody = || strangers.client_config_for(&authority);
    // Without a certificate that is refused, as kubectl comes.
    let plain = || process.endpoint().tls.expect("TLS");
    assert_eq!(user(&process, plain(), Some(&first)), Some(known.clone()));
    assert_eq!(user(&process, anybody(), Some(&first)), Some(known.clone()), "a good token makes up for it");
    drop(process);

    let process = serve();
    assert_ne!(token(), first, "it is good for one process");
    let plain = || process.endpoint().tls.expect("TLS");
    assert_eq!(user(&process, plain(), Some(&first)), None);
    assert_eq!(user(&process, plain(), Some(&token())), Some(known));
    drop(process);
    // Only the authorities of the file are published, if no others were published before.
    let installation = Installation::own();
    std::fs::copy(clients.file("ca.crt"), installation.path("clients.crt")).expect("copied");
    let process = installation.start_with(&["--client-ca-file", "clients.crt"]);
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let told = process.endpoint().client().get(path).expect_status(200);
    let file = std::fs::read_to_string(clients.file("ca.crt")).expect("read");
    assert_eq!(told["data"]["client-ca-file"], file);
}

#[test]
fn the_node_mode_without_its_plugin_is_warned_of() {
    let installation = Installation::own();
    let lines = |flags: &[&str]| {
        let process = installation.start_with(flags);
        process.errors().lines().filter(|line| line.contains("NodeRestriction")).count()
    };
    const REACHABLE: &str = "--bind-address=0.0.0.0";
    assert_eq!(lines(&[REACHABLE]), 1);
    assert_eq!(lines(&[REACHABLE, "--enable-admission-plugins=NodeRestriction"]), 0);
    assert_eq!(lines(&[]), 0, "no kubelet can connect to the loopback interface from elsewhere");
    let scratch = Scratch::new();
    let command = |port: u16| {
        let mut command = pintle(scratch.path());
        command.args(["serve", "--bind-address=127.0.0.1", "--authorization-mode=RBAC", "--storage=memory"]);
        command.arg(format!("--secure-port={port}"));
        command
    };
    let process = start(command, &scratch.path().join("pintle-data/certs"));
    assert_eq!(process.errors().lines().filter(|line| line.contains("NodeRestriction")).count(), 0);
}
