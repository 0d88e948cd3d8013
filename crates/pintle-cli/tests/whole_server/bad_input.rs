//! Malformed requests: each gets its status and message, and the server continues. Guarantees kube-apiserver's responses where
//! it has one, a clear 400, 413, 414 or 431 where it has none. Must never count a closed connection as a response, except where
//! HTTP itself is malformed.

mod bodies;
mod patches;
mod paths;

use crate::common::http::Answered;
use crate::common::in_process::InProcess;
use serde_json::json;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The expected message of a response.
enum Says {
    Exactly(&'static str),
    /// With parts that differ between implementations.
    Parts(&'static [&'static str]),
}
use Says::{Exactly, Parts};

struct Row {
    what: &'static str,
    request: (&'static str, String),
    body: (&'static str, Vec<u8>),
    status: u16,
    says: Says,
}

fn row(
    what: &'static str,
    request: (&'static str, &str),
    body: (&'static str, impl Into<Vec<u8>>),
    status: u16,
    says: Says,
) -> Row {
    Row { what, request: (request.0, request.1.to_owned()), body: (body.0, body.1.into()), status, says }
}

fn check(rows: Vec<Row>) {
    let server = InProcess::start();
    let mut setup = server.client();
    let object = json!({"metadata": {"name": "there"}, "data": {"k": "v"}});
    setup.post(CONFIG_MAPS, &object).expect_status(201);
    let mut wrong = Vec::new();
    for row in rows {
        let (method, path) = (row.request.0, row.request.1.as_str());
        match server.client().send(method, path, row.body.0, &row.body.1) {
            Err(error) => wrong.push(format!("{}: no answer: {error}", row.what)),
            Ok(answer) => {
                let status = serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap_or_default();
                let text = answer.text();
                let message = status["message"].as_str().unwrap_or(text.as_str());
                let good = answer.status == row.status
                    && match row.says {
                        Exactly(text) => message == text,
                        Parts(parts) => parts.iter().all(|part| message.contains(part)),
                    };
                if !good {
                    let message: String = message.chars().take(400).collect();
                    wrong.push(format!("{}: expected {}, got {}: {message}", row.what, row.status, answer.status));
                }
                if (200..300).contains(&answer.status) && method == "POST" {
                    let name = status["metadata"]["name"].as_str().unwrap_or_default();
                    server.client().delete(&format!("{path}/{name}")).expect_status(200);
                }
            }
        }
        // It goes on, and nothing has changed.
        let list = server.client().get(CONFIG_MAPS).expect_status(200);
        let items = list["items"].as_array().expect("items");
        assert!(items.len() == 1 && items[0]["data"] == json!({"k": "v"}), "after {}: {list}", row.what);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `depth` arrays, one in the other.
fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}
