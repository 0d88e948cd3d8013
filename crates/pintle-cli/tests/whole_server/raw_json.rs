//! JSON in fields of raw extensions: stored with its whitespace, across a restart, and returned compact.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, JSON, MERGE_PATCH, STRATEGIC_PATCH};
use crate::common::process::Installation;

const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

fn revision(name: &str, data: &str, labels: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","labels":{{{labels}}}}},"revision":1,"data":{data}}}"#)
}

fn patch(client: &mut Client, kind: &str, name: &str) -> Answer {
    let body = br#"{"metadata":{"annotations":{"a":"b"}}}"#;
    client.send("PATCH", &format!("{REVISIONS}/{name}"), kind, body).answer()
}

#[test]
fn raw_json_is_kept_as_it_was_written() {
    let installation = Installation::new();
    let mut server = installation.start();
    let mut client = server.endpoint().client();
    let [blank, compact, sorted] = [
        "{ \"b\": 1.0,\n  \"a\": [1E3, 12345678901234567890], \"c\": \"<\" }",
        r#"{"b":1.0,"a":[1E3,12345678901234567890]}"#,
        r#"{"a":[1,2.5],"b":"\u003c"}"#,
    ];
    for (name, data) in [("blank", blank), ("compact", compact), ("sorted", sorted)] {
        let body = revision(name, data, "");
        assert_eq!(client.send("POST", REVISIONS, JSON, body.as_bytes()).answer().status, 201, "{body}");
    }
    server.kill();
    server = installation.start();
    client = server.endpoint().client();
    let shown = client.get(&format!("{REVISIONS}/blank")).answer().text();
    let wanted = r#""data":{"b":1.0,"a":[1E3,12345678901234567890],"c":"\u003c"},"revision":1}"#;
    assert!(shown.trim_end().ends_with(wanted), "{shown}");

    // The kind forbids every change of what it keeps, and the blanks are part of that.
    let same = revision("blank", blank, r#""l":"1""#);
    let kept = client.send("PUT", &format!("{REVISIONS}/blank"), JSON, same.as_bytes()).answer();
    assert_eq!(kept.status, 200, "{}", kept.text());
    // A patch reads what answers show.
    assert_eq!(patch(&mut client, MERGE_PATCH, "blank").status, 422);
    assert_eq!(patch(&mut client, MERGE_PATCH, "compact").status, 200);
    // A patch that knows types makes a tree of everything.
    assert_eq!(patch(&mut client, STRATEGIC_PATCH, "compact").status, 422);
    assert_eq!(patch(&mut client, STRATEGIC_PATCH, "sorted").status, 200);
}
