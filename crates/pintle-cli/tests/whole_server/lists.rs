//! Lists: combinations of resourceVersion, resourceVersionMatch, limit and continue; and updates that create. Guarantees that
//! each combination is served from the state that it names, or rejected with kube-apiserver's message. Must never depend on
//! particular revisions: rows name the one before a change and the one after it.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::in_process::InProcess;
use crate::common::process::Installation;
use crate::common::{name, resource_version, wait_for};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// The expected list: its state, its objects, and the number of remaining ones; or an error with its message.
enum Expected {
    List(State, &'static [&'static str], u64),
    Refusal(u16, &'static str),
}

#[derive(Clone, Copy)]
enum State {
    Old,
    New,
}

use Expected::{List, Refusal};
use State::{New, Old};

const ALL_OLD: Expected = List(Old, &["a", "b", "c"], 0);
const ALL_NEW: Expected = List(New, &["a", "c", "d"], 0);
const PAGE_OLD: Expected = List(Old, &["a"], 2);
const PAGE_NEW: Expected = List(New, &["a"], 2);
const NO_MATCH: Expected = Refusal(
    422,
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
);
const WITH_TOKEN: Expected =
    Refusal(422, "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided");

/// `OLD` and `NEW` are placeholders for versions, `TOKEN` for a continue token of the old state.
const ROWS: [(&str, Expected); 26] = [
    ("", ALL_NEW),
    ("limit=1", PAGE_NEW),
    ("limit=3", ALL_NEW),
    ("resourceVersion=0", ALL_NEW),
    // From the cache everything comes at once.
    ("resourceVersion=0&limit=1", ALL_NEW),
    ("resourceVersion=0&resourceVersionMatch=NotOlderThan", ALL_NEW),
    ("resourceVersion=OLD", ALL_NEW),
    // A page of a version is of that very version, unless it is said to be the least.
    ("resourceVersion=OLD&limit=1", PAGE_OLD),
    ("resourceVersion=OLD&resourceVersionMatch=NotOlderThan", ALL_NEW),
    ("resourceVersion=OLD&resourceVersionMatch=NotOlderThan&limit=1", PAGE_NEW),
    ("resourceVersion=OLD&resourceVersionMatch=Exact", ALL_OLD),
    ("resourceVersion=OLD&resourceVersionMatch=Exact&limit=1", PAGE_OLD),
    ("resourceVersion=NEW&resourceVersionMatch=Exact", ALL_NEW),
    ("continue=TOKEN", List(Old, &["b", "c"], 0)),
    ("continue=TOKEN&limit=1", List(Old, &["b"], 1)),
    ("continue=TOKEN&resourceVersion=0", List(Old, &["b", "c"], 0)),
    (
        "continue=TOKEN&resourceVersion=OLD",
        Refusal(400, "specifying resource version is not allowed when using continue"),
    ),
    ("continue=TOKEN&resourceVersion=OLD&resourceVersionMatch=Exact", WITH_TOKEN),
    ("continue=x", Refusal(400, "continue key is not valid")),
    ("resourceVersionMatch=Exact", NO_MATCH),
    ("resourceVersionMatch=NotOlderThan&limit=1", NO_MATCH),
    (
        "resourceVersion=0&resourceVersionMatch=Exact",
        Refusal(
            422,
            "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
    ),
    ("resourceVersion=NEW&resourceVersionMatch=Other", Refusal(422, "supported values: \"Exact\", \"NotOlderThan\"")),
    ("resourceVersion=x", Refusal(400, "invalid resource version")),
    ("resourceVersion=-1&limit=1", Refusal(400, "invalid resource version")),
    (
        "resourceVersion=999999999&resourceVersionMatch=Exact",
        Refusal(504, "Timeout: Too large resource version: 999999999, current: "),
    ),
];

fn create(client: &mut Client, name: &str) {
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}})).expect_status(201);
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().map(name).collect()
}

#[test]
fn each_combination_asks_for_a_state_of_its_own() {
    let server = InProcess::start();
    let mut client = server.client();
    ["a", "b", "c"].iter().for_each(|name| create(&mut client, name));
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).expect_status(200);
    client.delete(&format!("{CONFIG_MAPS}/b")).expect_status(200);
    create(&mut client, "d");
    let list = client.get(CONFIG_MAPS).expect_status(200);
    let [old, new] = [&page, &list].map(resource_version);
    let token = page["metadata"]["continue"].as_str().expect("a token");
    for (row, expected) in ROWS {
        let query = row.replace("OLD", &old.to_string()).replace("NEW", &new.to_string()).replace("TOKEN", token);
        let answer = client.get(&format!("{CONFIG_MAPS}?{query}")).answer();
        match expected {
            List(state, objects, more) => {
                let list = answer.expect(200);
                let version = if matches!(state, Old) { old } else { new };
                assert_eq!((resource_version(&list), names(&list)), (version, objects.to_vec()), "{row}");
                let metadata = &list["metadata"];
                assert_eq!(metadata["remainingItemCount"].as_u64().unwrap_or_default(), more, "{row}");
                assert_eq!(metadata["continue"].as_str().is_some_and(|token| !token.is_empty()), more > 0, "{row}");
            }
            Refusal(code, words) => {
                let status = answer.expect(code);
                let message = status["message"].as_str().unwrap_or_default();
                assert!(message.contains(words), "{row}: {message}");
            }
        }
    }
}

#[test]
fn an_update_creates_where_the_kind_allows_it() {
    let server = InProcess::start();
    let mut client = server.client();
    let lease = |metadata: Value| json!({"metadata": metadata, "spec": {"holderIdentity": "a"}});
    let x = format!("{LEASES}/x");
    let of_another = lease(json!({"name": "x", "uid": "1"}));
    let status = client.put(&x, &of_another).expect_status(409);
    assert!(status["message"].as_str().is_some_and(|message| message.contains("UID in precondition: 1")), "{status}");
    client.put(&format!("{x}?dryRun=All"), &lease(json!({"name": "x"}))).expect_status(201);
    client.get(&x).expect_status(404);
    let created = client.put(&x, &lease(json!({"name": "x"}))).expect_status(201);
    assert_eq!(client.get(&x).expect_status(200), created);
    let class = json!({"metadata": {"name": "x"}, "handler": "a"});
    client.put("/apis/node.k8s.io/v1/runtimeclasses/x", &class).expect_status(201);
    let absent = format!("{CONFIG_MAPS}/x");
    client.put(&absent, &json!({"metadata": {"name": "x"}})).expect_status(404);
}

/// Lists one object with a continue token.
fn first_page(client: &mut Client) -> (u64, String) {
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).expect_status(200);
    (resource_version(&page), page["metadata"]["continue"].as_str().expect("a token").to_owned())
}

#[test]
fn expired_continue_tokens_are_rejected_with_a_new_token() {
    const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a \
                           new list without the continue parameter, or use the continue token in this response to retrieve \
                           the remainder of the results. Continuing with the provided token results in an inconsistent list - \
                           objects that were created, modified, or deleted between the time the first chunk was returned and \
                           now may show up in the list.";
    let installation = Installation::own();
    for storage in ["--storage=memory", "--storage=embedded"] {
        // Whether another client writes meanwhile.
        for is_busy in [false, true] {
            let process = installation.start_with(&[storage, "--etcd-compaction-interval=1s"]);
            let mut client = process.endpoint().client();
            for name in ["a", "b", "c"] {
                let path = format!("{CONFIG_MAPS}/{name}");
                if client.get(&path).answer().status == 404 {
                    create(&mut client, name);
                }
            }
            let (version, token) = first_page(&mut client);
            let mut number = 0;
            let refused = wait_for("the token to expire", || {
                if is_busy {
                    number += 1;
                    let label = json!({"metadata": {"name": "c", "labels": {"number": number.to_string()}}});
                    client.put(&format!("{CONFIG_MAPS}/c"), &label).expect_status(200);
                }
                let answer = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).answer();
                (answer.status != 200).then_some(answer)
            });
            let refused = refused.expect(410);
            assert_eq!((&refused["message"], &refused["reason"]), (&json!(TOO_OLD), &json!("Expired")), "{storage}");
            let next = refused["metadata"]["continue"].as_str().expect("a token to go on with");
            let rest = client.get(&format!("{CONFIG_MAPS}?continue={next}")).expect_status(200);
            assert_eq!(names(&rest), ["b", "c"], "{storage}");
            let exact = format!("{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
            if is_busy {
                let refused = wait_for("the version to go", || {
                    let answer = client.get(&exact).answer();
                    (answer.status != 200).then_some(answer)
                });
                let message = "The resourceVersion for the provided list is too old.";
                assert_eq!(refused.expect(410)["message"], message, "{storage}");
                // What was current then can still be asked for as what it is not older than, and be watched from where
                // nothing has happened since.
                client.get(&format!("{CONFIG_MAPS}?resourceVersion={version}")).expect_status(200);
                let path = format!("/api/v1/namespaces/default/secrets?watch=true&resourceVersion={version}");
                let mut quiet = client.watch(&path).expect("a watch");
                let secret = json!({"metadata": {"name": format!("made-{number}")}});
                process.endpoint().client().post("/api/v1/namespaces/default/secrets", &secret).expect_status(201);
                assert_eq!(quiet.event().0, "ADDED", "{storage}");
            } else {
                // Nothing has changed: it is what there is now.
                client.get(&exact).expect_status(200);
            }
        }
    }
}

#[test]
fn without_compaction_a_list_can_be_continued_as_long_as_one_likes() {
    let installations = [Installation::own(), Installation::own()];
    let [short, never] = ["1s", "0"];
    let processes = [(&installations[0], short), (&installations[1], never)].map(|(installation, interval)| {
        installation.start_with(&["--storage=memory".to_owned(), format!("--etcd-compaction-interval={interval}")])
    });
    let mut clients = processes.each_ref().map(|process| process.endpoint().client());
    let tokens = clients.each_mut().map(|client| {
        ["a", "b"].iter().for_each(|name| create(client, name));
        let token = first_page(client).1;
        create(client, "c");
        token
    });
    let mut go_on = |at: usize| {
        let path = format!("{CONFIG_MAPS}?continue={}", tokens[at]);
        clients[at].get(&path).answer().status
    };
    // Its clock is the other's.
    wait_for("the token to expire", || (go_on(0) == 410).then_some(()));
    assert_eq!(go_on(1), 200);
}
