//! A serving certificate that is replaced while the server runs.
//! Guarantees that new connections see the new one, that a broken pair is told and changes nothing, and that open
//! connections stay.
//! Must never be decided by time: what is waited for is what a client or an operator sees.

mod common;

use common::credentials::Credentials;
use common::http::Endpoint;
use common::process::{ADMIN_TOKEN, Installation, start};
use common::wait_for;
use std::net::{Ipv4Addr, SocketAddr};

#[test]
fn a_serving_certificate_is_read_anew_when_its_files_change() {
    let (first, second) = (Credentials::new(), Credentials::new());
    let installation = Installation::own();
    let put = |from: &Credentials, what: &str| {
        std::fs::copy(from.file(&format!("server.{what}")), installation.path(&format!("tls.{what}"))).expect("copied");
    };
    ["crt", "key"].iter().for_each(|what| put(&first, what));
    let command = |port| {
        let mut command = installation.command(port);
        command.arg("--tls-cert-file").arg(installation.path("tls.crt"));
        command.arg("--tls-private-key-file").arg(installation.path("tls.key"));
        command
    };
    let process = start(command, &installation.path("certs"));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, process.port));
    // Who believes one authority does not believe the other.
    let believing = |credentials: &Credentials| {
        let tls = Some(credentials.client_config());
        Endpoint { address, tls, token: Some(ADMIN_TOKEN.to_owned()) }.client()
    };
    let version = |credentials: &Credentials| believing(credentials).get("/version").ok();
    let mut open = believing(&first);
    open.get("/version").expect("an answer").expect(200);
    assert!(version(&second).is_none());

    put(&second, "key");
    wait_for("what is wrong to be told", || process.errors().contains("serving certificate").then_some(()));
    version(&first).expect("the old pair still serves").expect(200);
    put(&second, "crt");
    wait_for("the new pair", || version(&second)).expect(200);
    assert!(version(&first).is_none());
    open.get("/version").expect("an open connection stays").expect(200);
    assert_eq!(process.errors().lines().count(), 1, "told once: {}", process.errors());
}
