//! A server in this process over plain HTTP, for tests that are written without async.
//! Guarantees that it is stopped when it is dropped, also by a failed assertion.
//! Must never be used where a test needs TLS, files or signals: that is the real binary's part.

use super::http::{Client, Endpoint};
use super::stores::Server;
use crate::common::http::Answered;
use tokio::runtime::Runtime;

pub struct InProcess {
    /// Dropped before its runtime.
    server: Option<Server>,
    runtime: Runtime,
    pub endpoint: Endpoint,
}

impl InProcess {
    pub fn start() -> InProcess {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let server = runtime.block_on(Server::start()).expect("a server");
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        InProcess { server: Some(server), runtime, endpoint }
    }

    pub fn client(&self) -> Client {
        self.endpoint.client()
    }

    /// A server with the service account that pods in the namespace `default` need.
    pub fn for_pods() -> (InProcess, Client) {
        let server = InProcess::start();
        let mut client = server.client();
        let account = serde_json::json!({"metadata": {"name": "default"}});
        client.post("/api/v1/namespaces/default/serviceaccounts", &account).expect_status(201);
        (server, client)
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // A test that failed has said why already.
            let _ = self.runtime.block_on(server.stop());
        }
    }
}
