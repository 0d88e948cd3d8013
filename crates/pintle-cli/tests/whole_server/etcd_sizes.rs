//! How large an object may be on an etcd that takes more than etcd does by default.
//! Guarantees that the bound of etcd's clients holds whatever the server takes, and that no message beyond it is sent.
//! Must never depend on the version of etcd.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Answer, Client};
use crate::common::process::Installation;
use pintle_schema::base64;
use serde_json::{Value, json};

/// Objects without a bound of their own.
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
/// What clients of etcd send at most.
const MESSAGE_BYTES: usize = 2 << 20;
/// What etcd takes where nothing else is said.
const REQUEST_BYTES: usize = 3 << 19;

/// An object with one value of so many bytes.
fn revision(name: &str, bytes: usize, number: u64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "revision": number,
        "data": {"value": "v".repeat(bytes)},
    })
}

fn create(client: &mut Client, name: &str, bytes: usize) -> Answer {
    client.post(REVISIONS, &revision(name, bytes, 1)).answer()
}

/// The bytes that a refusal says the message would have had.
fn refused_bytes(answer: Answer) -> usize {
    let status = answer.expect(500);
    let text = status["message"].as_str().expect("a message");
    let found = text
        .strip_prefix("rpc error: code = ResourceExhausted desc = trying to send message larger than max (")
        .and_then(|rest| rest.strip_suffix(&format!(" vs. {MESSAGE_BYTES})")));
    found.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// The size of a field of so many bytes in a message.
fn field(bytes: usize) -> usize {
    let varint = (usize::BITS - (bytes | 1).leading_zeros()).div_ceil(7);
    1 + varint as usize + bytes
}

/// The size of the message by which clients in Go create a key: the key has no revision yet, and is put then.
fn transaction(key: usize, value: usize) -> usize {
    let (target, revision) = (2, 2);
    field(target + field(key) + revision) + field(field(field(key) + field(value)))
}

#[test]
fn the_clients_bound_holds_where_etcd_takes_more() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let etcd = Etcd::start_with(program, 1, &["--max-request-bytes=10485760"]);
        for prefix in ["/registry", "/a/much/longer/prefix/than/the/usual/one"] {
            let installation = Installation::own();
            let process = installation.start_with(&["--etcd-servers", &etcd.urls(), "--etcd-prefix", prefix]);
            let mut client = process.endpoint().client();
            let mut bytes = MESSAGE_BYTES;
            while let Some(excess) = Some(create(&mut client, "b", bytes)).filter(|answer| answer.status != 201) {
                bytes -= refused_bytes(excess) - MESSAGE_BYTES;
            }
            // Lengths that take a byte less make the first one that is taken a little smaller than it need be.
            let refused = loop {
                client.delete(&format!("{REVISIONS}/b")).expect_status(200);
                match create(&mut client, "b", bytes + 1) {
                    answer if answer.status == 201 => bytes += 1,
                    answer => break answer,
                }
            };
            assert_eq!(refused_bytes(refused), MESSAGE_BYTES + 1, "{prefix}");
            create(&mut client, "a", bytes).expect(201);
            let key = format!("{prefix}/controllerrevisions/default/a");
            let found = etcd.call("/v3/kv/range", &json!({"key": base64::encode(key.as_bytes())}));
            let value = base64::decode(found["kvs"][0]["value"].as_str().expect("a value")).expect("base64");
            assert_eq!(transaction(key.len(), value.len()), MESSAGE_BYTES, "{prefix}");
            // An update also requests the object, in case another client changed it.
            let body = revision("a", bytes, 2).to_string();
            let update = client.send("PUT", &format!("{REVISIONS}/a"), "application/json", body.as_bytes());
            assert!(refused_bytes(update.answer()) > MESSAGE_BYTES + prefix.len(), "{prefix}");
            client.delete(&format!("{REVISIONS}/a")).expect_status(200);
        }
    }
}

#[test]
fn etcds_own_bound_holds_below_the_clients() {
    for version in ["3.5", "3.4"] {
        let Some(program) = program(version) else { continue };
        let etcd = Etcd::start(program, 1);
        let installation = Installation::own();
        let process = installation.start_with(&["--etcd-servers", &etcd.urls()]);
        let mut client = process.endpoint().client();
        let refused = create(&mut client, "a", REQUEST_BYTES).expect(500);
        assert_eq!(refused["message"], "etcdserver: request is too large");
        assert!(refused_bytes(create(&mut client, "b", MESSAGE_BYTES)) > MESSAGE_BYTES);
        create(&mut client, "c", REQUEST_BYTES - 10_000).expect(201);
        // Where a quota counts the writes, one that is too large is refused as well, and holds up no other.
        let hard = json!({"count/controllerrevisions.apps": "9"});
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
        let quotas = "/api/v1/namespaces/default/resourcequotas";
        client.post(quotas, &quota).expect_status(201);
        let status = json!({"status": {"hard": hard, "used": {"count/controllerrevisions.apps": "1"}}}).to_string();
        let path = format!("{quotas}/q/status");
        client.send("PATCH", &path, "application/merge-patch+json", status.as_bytes()).expect_status(200);
        let refused = create(&mut client, "d", REQUEST_BYTES).expect(500);
        assert_eq!(refused["message"], "etcdserver: request is too large");
        create(&mut client, "e", 10).expect(201);
    }
}
