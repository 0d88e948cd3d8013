//! Certificates that are replaced while the server runs: its own, and the client CA bundle. Guarantees that new
//! connections use the new ones, that invalid ones are reported and change nothing, and that open connections stay, but
//! do not authenticate users whose authority was removed. Must never depend on timing: it waits for effects that a
//! client or an operator sees.

use crate::common::credentials::Credentials;
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{ADMIN_TOKEN, Installation};
use crate::common::{DEADLINE, wait_for};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

#[test]
fn a_serving_certificate_is_reloaded_when_its_files_change() {
    let (first, second) = (Credentials::new(), Credentials::new());
    let installation = Installation::own();
    let put = |from: &Credentials, what: &str| {
        std::fs::copy(from.file(&format!("server.{what}")), installation.path(&format!("tls.{what}"))).expect("copied");
    };
    ["crt", "key"].iter().for_each(|what| put(&first, what));
    let process = installation.start_with(&["--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, process.port));
    // Who believes one authority does not believe the other.
    let believing = |credentials: &Credentials| {
        let tls = Some(credentials.client_config());
        Endpoint { address, tls, token: Some(ADMIN_TOKEN.to_owned()) }.client()
    };
    let version = |credentials: &Credentials| believing(credentials).get("/version").ok();
    let mut open = believing(&first);
    open.get("/version").expect_status(200);
    assert!(version(&second).is_none());

    put(&second, "key");
    wait_for("what is wrong to be told", || process.errors().contains("serving certificate").then_some(()));
    version(&first).expect("the old pair still serves").expect(200);
    put(&second, "crt");
    wait_for("the new pair", || version(&second)).expect(200);
    assert!(version(&first).is_none());
    open.get("/version").expect("an open connection stays").expect(200);
    assert_eq!(process.news().lines().count(), 1, "told once: {}", process.news());
}

#[test]
fn authorities_of_clients_and_of_the_front_proxy_are_reloaded_when_their_files_change() {
    let (first, second) = (Credentials::new(), Credentials::new());
    let installation = Installation::own();
    let put = |from: &Credentials, file: &str| {
        std::fs::copy(from.file("ca.crt"), installation.path(file)).expect("copied");
    };
    ["clients.crt", "proxy.crt"].iter().for_each(|file| put(&first, file));
    let flags = ["--client-ca-file=clients.crt", "--requestheader-client-ca-file=proxy.crt"];
    let process = installation.start_with(&[&flags[..], &["--requestheader-username-headers=X-Remote-User"]].concat());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, process.port));
    let client = |credentials: &Credentials| {
        let tls = Some(credentials.client_config_for(&installation.path("certs/ca.crt")));
        Endpoint { address, tls, token: None }.client()
    };
    // The name by which a client is known, if it is known at all.
    let name = |client: &mut Client| {
        let answer = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).answer();
        (answer.status == 201).then(|| answer.expect(201)["status"]["userInfo"]["username"].clone())
    };
    let proxy = |credentials: &Credentials| client(credentials).with_header("X-Remote-User", "bob");
    let mut open = client(&first);
    assert_eq!([name(&mut open), name(&mut proxy(&first))], [Some(json!("client")), Some(json!("bob"))]);
    assert_eq!([name(&mut client(&second)), name(&mut proxy(&second))], [None, None]);

    put(&second, "clients.crt");
    wait_for("the new authority of clients", || name(&mut client(&second)).filter(|name| name == "client"));
    assert_eq!(name(&mut open), None, "an open connection is no better than a new one");
    assert_eq!([name(&mut proxy(&first)), name(&mut proxy(&second))], [Some(json!("bob")), Some(json!("client"))]);
    installation.scratch.write("clients.crt", "nothing");
    put(&second, "proxy.crt");
    wait_for("the new authority of the proxy", || name(&mut proxy(&second)).filter(|name| name == "bob"));
    wait_for("what is wrong to be told", || process.errors().contains("clients.crt: no certificate").then_some(()));
    assert_eq!([name(&mut client(&second)), name(&mut proxy(&first))], [Some(json!("client")), None]);
    assert_eq!(process.news().lines().count(), 1, "told once: {}", process.news());
}

/// Whether a server presents a certificate that is valid for this name.
fn shows(port: u16, name: &'static str, certificate: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(name).expect("a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("connected");
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    connection.complete_io(&mut stream).is_ok()
}

#[test]
fn clients_are_shown_the_certificate_of_the_name_that_they_ask_for() {
    let installation = Installation::own();
    let make = |file: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        installation.scratch.write(&format!("{file}.crt"), &made.cert.pem());
        installation.scratch.write(&format!("{file}.key"), &made.signing_key.serialize_pem());
        made.cert.der().clone()
    };
    let default = make("default", &["other.example.com", "b.a.example.com"]);
    let told = make("told", &["a.example.com", "*.a.example.com", "n.example.com"]);
    let own = make("own", &["a.example.com", "n.example.com"]);
    let flags = [
        "--tls-cert-file=default.crt",
        "--tls-private-key-file=default.key",
        "--tls-sni-cert-key=own.crt,own.key",
        "--tls-sni-cert-key=told.crt,told.key: *.a.example.com, A.example.com",
    ];
    let process = installation.start_with(&flags);
    for (name, expected) in [
        ("a.example.com", [false, true, false]),
        ("b.a.example.com", [false, true, false]),
        ("n.example.com", [false, false, true]),
        ("other.example.com", [true, false, false]),
    ] {
        let shown = [&default, &told, &own].map(|certificate| shows(process.port, name, certificate));
        assert_eq!(shown, expected, "{name}");
    }
    // They are reloaded when they change, as the other one.
    let newer = make("own", &["n.example.com"]);
    wait_for("the new certificate", || shows(process.port, "n.example.com", &newer).then_some(()));
    assert!(!shows(process.port, "n.example.com", &own) && shows(process.port, "a.example.com", &told));
}
