//! A server with one node, whose kubelet a test simulates, and a pod on it. Guarantees that the addresses of the kubelet and
//! the pod are where the test listens. Must never outlive its test: the server stops with it.

use super::http::{Client, Endpoint, MERGE_PATCH};
use super::streams::Redirected;
use crate::common::http::Answered;
use pintle::{Builder, Serving, SocketConnector};
use pintle_http::ClientTlsMaterial;
use pintle_storage::{MemoryStore, Store};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tungstenite::WebSocket;
use tungstenite::client::IntoClientRequest;

pub const POD_ADDRESS: &str = "10.1.2.3";

/// A server with a node, whose kubelet the backend simulates, and a pod on it with an address.
pub struct Fixture {
    server: Option<Serving>,
    runtime: Runtime,
    pub endpoint: Endpoint,
}

impl Fixture {
    pub fn start(port: u16) -> Fixture {
        Fixture::start_with(port, |_| {})
    }

    pub fn start_with(port: u16, prepare: impl FnOnce(&mut Builder)) -> Fixture {
        let fixture = Fixture::empty(|builder| {
            builder.generic().set_connector(Arc::new(Redirected { from: POD_ADDRESS, port, inner: connector(None) }));
            prepare(builder);
        });
        populate(&fixture.endpoint, port);
        fixture
    }

    /// A server without a node.
    pub fn empty(prepare: impl FnOnce(&mut Builder)) -> Fixture {
        Fixture::over(|| Arc::new(MemoryStore::new()), prepare)
    }

    /// The same over a store, which is made in the server's runtime.
    pub fn over(store: impl FnOnce() -> Arc<dyn Store>, prepare: impl FnOnce(&mut Builder)) -> Fixture {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut builder = {
            let _entered = runtime.enter();
            Builder::new(store())
        };
        prepare(&mut builder);
        let server = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
            builder.start(listener).await.expect("a server")
        });
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        Fixture { server: Some(server), runtime, endpoint }
    }

    /// Sets a part of the node's status.
    pub fn patch_node(&self, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        let patched = self.client().send("PATCH", "/api/v1/nodes/n/status", MERGE_PATCH, patch.as_bytes());
        patched.expect_status(200);
    }

    /// The API behind the socket.
    pub fn api(&self) -> &Arc<pintle_endpoints::Api> {
        self.server.as_ref().expect("it runs").api()
    }

    pub fn client(&self) -> Client {
        self.endpoint.client()
    }

    pub fn create(&self, path: &str, object: &Value) {
        create(&self.endpoint, path, object);
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.endpoint.address).expect("a connection");
        stream.set_read_timeout(Some(super::DEADLINE)).expect("a deadline");
        stream
    }

    /// A WebSocket on a path.
    pub fn websocket(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<WebSocket<TcpStream>, u16> {
        let mut request = format!("ws://{}{path}", self.endpoint.address).into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        match tungstenite::client(request, self.connect()) {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("no handshake: {error}"),
        }
    }

    pub fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop()).expect("an orderly end");
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let (Some(server), false) = (self.server.take(), std::thread::panicking()) {
            let _ = self.runtime.block_on(server.stop());
        }
    }
}

pub fn connector(ca_pem: Option<Vec<u8>>) -> SocketConnector {
    let material = ClientTlsMaterial { ca_pem, identity: None };
    SocketConnector::new(&material, super::DEADLINE).expect("a connector")
}

/// Creates a node, whose kubelet listens on a local port, and a pod on it with an address.
pub fn populate(endpoint: &Endpoint, port: u16) {
    create(
        endpoint,
        "/api/v1/nodes",
        &json!({
            "kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            },
        }),
    );
    create(endpoint, "/api/v1/namespaces/default/serviceaccounts", &json!({"metadata": {"name": "default"}}));
    create(
        endpoint,
        "/api/v1/namespaces/default/pods",
        &json!({
            "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
        }),
    );
    let status = json!({"status": {"phase": "Running", "podIP": POD_ADDRESS, "podIPs": [{"ip": POD_ADDRESS}]}});
    let path = "/api/v1/namespaces/default/pods/p/status";
    let patched = endpoint.client().send("PATCH", path, MERGE_PATCH, status.to_string().as_bytes());
    patched.expect_status(200);
}

fn create(endpoint: &Endpoint, path: &str, object: &Value) {
    let answer = endpoint.client().post(path, object).answer();
    assert!([201, 409].contains(&answer.status), "{path}: {}", answer.text());
}
