//! A server inside a program, as in README.md. Guarantees that the code there compiles and works, line by line. Must never
//! differ from it: a line of README.md that is not here fails.

use crate::common::Scratch;
use crate::common::credentials::Credentials;
use crate::common::http::Endpoint;
use pintle::Mode;
use pintle::auth::TokenFile;
use pintle::store::{EmbeddedOptions, EmbeddedStore};
use pintle::tls::{TlsConfig, TlsMaterial};
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_has_a_server_of_its_own() -> Result<(), Box<dyn Error>> {
    let server = pintle::TestServer::start().await?;
    let config = kube::Config::new(server.url().parse()?);
    let client = kube::Client::try_from(config)?;
    assert_eq!(client.apiserver_version().await?.git_version, "v1.36.2");
    server.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_assembles_its_server() -> Result<(), Box<dyn Error>> {
    let (scratch, credentials) = (Scratch::new(), Credentials::new());
    let directory = scratch.path().join("store");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let tls = TlsConfig::new(&TlsMaterial {
        cert_chain_pem: std::fs::read(credentials.file("server.crt"))?,
        key_pem: std::fs::read(credentials.file("server.key"))?,
        ..TlsMaterial::default()
    })?;

    let store = EmbeddedStore::open(&directory, EmbeddedOptions::default())?;
    let mut builder = pintle::Builder::new(Arc::new(store));
    builder.generic().add_authenticator(Arc::new(TokenFile::parse("a,jane,1,system:masters")?));
    builder.authorize_by(&[Mode::Rbac]);
    builder.set_tls(Arc::new(tls));
    let server = builder.start(listener).await?;

    for (token, status) in [(Some("a"), 200), (Some("b"), 401), (None, 403)] {
        let tls = Some(credentials.client_config());
        let endpoint = Endpoint { address: server.address(), tls, token: token.map(str::to_owned) };
        let answer = endpoint.client().get("/api/v1/namespaces/default")?;
        assert_eq!(answer.status, status, "{token:?}: {}", answer.text());
    }
    server.stop().await?;
    Ok(())
}

#[test]
fn the_readme_shows_the_tested_code() {
    let (readme, tested) = (include_str!("../../../../README.md"), include_str!("embedding.rs"));
    let shown = readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).flat_map(str::lines);
    let code: Vec<&str> = shown.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    assert!(!code.is_empty(), "README.md shows how to embed it");
    for line in code {
        assert!(tested.lines().any(|found| found.trim() == line), "{line}");
    }
}
