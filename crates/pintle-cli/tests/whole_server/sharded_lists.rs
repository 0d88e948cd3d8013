//! Lists and watches of a part of a collection, which the gate `ShardedListAndWatch` turns on.
//! Guarantees that the shards of a collection together have each object once, in lists, pages, watches and deletions.
//! Must never depend on the hash of an object: rows hold for any.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::name;
use crate::common::process::{Installation, Process};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CONFIG_MAPS: &str = "/api/v1/namespaces/shards/configmaps";
const COUNT: usize = 24;

/// The selectors of both halves, and their forms in a query.
fn halves() -> [(String, String); 2] {
    [("0x0000000000000000", "0x8000000000000000"), ("0x8000000000000000", "0x10000000000000000")].map(|(from, to)| {
        let selector = format!("shardRange(object.metadata.uid, '{from}', '{to}')");
        let escaped = selector.replace(' ', "%20").replace('\'', "%27");
        (selector, escaped)
    })
}

fn server(flags: &[&str]) -> (Process, Installation) {
    let installation = Installation::own();
    let process = installation.start_with(&[&["--storage=memory", "--controllers="], flags].concat());
    let mut client = process.endpoint().client();
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "shards"}})).expect_status(201);
    (process, installation)
}

fn create(client: &mut Client, from: usize) {
    for at in from..from + COUNT {
        let object = json!({"metadata": {"name": format!("c{at:03}")}});
        client.post(CONFIG_MAPS, &object).expect_status(201);
    }
}

fn names(list: &Value) -> BTreeSet<String> {
    list["items"].as_array().expect("items").iter().map(|item| name(item).to_owned()).collect()
}

#[test]
fn each_object_is_in_one_shard() {
    let (process, _installation) = server(&["--feature-gates=ShardedListAndWatch=true"]);
    let mut client = process.endpoint().client();
    create(&mut client, 0);
    let all = names(&client.get(CONFIG_MAPS).expect_status(200));
    assert_eq!(all.len(), COUNT);
    let whole = client.get(CONFIG_MAPS).expect_status(200);
    assert_eq!(whole["metadata"].get("shardInfo"), None);
    let shards = halves().map(|(selector, escaped)| {
        let path = format!("{CONFIG_MAPS}?shardSelector={escaped}");
        let list = client.get(&path).expect_status(200);
        assert_eq!(list["metadata"]["shardInfo"], json!({"selector": selector}));
        // Pages have the same objects, and `remainingItemCount` counts the collection.
        let (mut paged, mut token) = (BTreeSet::new(), String::new());
        loop {
            let page = format!("{path}&limit=3{token}");
            let page = client.get(&page).expect_status(200);
            paged.extend(names(&page));
            match page["metadata"]["continue"].as_str() {
                Some(next) => token = format!("&continue={next}"),
                None => break,
            }
            assert!(page["metadata"]["remainingItemCount"].as_u64() > Some(0), "{page}");
        }
        assert_eq!(paged, names(&list));
        let mut tables =
            process.endpoint().client().with_header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let table = tables.get(&path).expect_status(200);
        assert_eq!(table["metadata"].get("shardInfo"), None);
        assert_eq!(table["rows"].as_array().map(Vec::len), Some(paged.len()));
        paged
    });
    assert!(shards[0].is_disjoint(&shards[1]));
    assert_eq!(shards[0].union(&shards[1]).cloned().collect::<BTreeSet<_>>(), all);
    // All objects of a namespace are in the same shard of namespaces.
    let [first, second] = halves().map(|(_, escaped)| escaped.replace("uid", "namespace"));
    let of = |client: &mut Client, escaped: &str| {
        names(&client.get(&format!("{CONFIG_MAPS}?shardSelector={escaped}")).expect_status(200)).len()
    };
    let mut counts = [of(&mut client, &first), of(&mut client, &second)];
    counts.sort_unstable();
    assert_eq!(counts, [0, COUNT]);
    let [(_, first), _] = halves();
    client.delete(&format!("{CONFIG_MAPS}?shardSelector={first}")).expect_status(200);
    assert_eq!(names(&client.get(CONFIG_MAPS).expect_status(200)), shards[1]);
}

#[test]
fn a_watch_shows_its_shard() {
    let (process, _installation) = server(&["--feature-gates=ShardedListAndWatch=true"]);
    let mut client = process.endpoint().client();
    create(&mut client, 0);
    let [(_, first), _] = halves();
    let path = format!("{CONFIG_MAPS}?shardSelector={first}");
    let mut watch = process.endpoint().client().watch(&format!("{path}&watch=true")).expect("a watch");
    let listed = names(&client.get(&path).expect_status(200));
    let began: BTreeSet<String> = listed.iter().map(|_| name(&watch.event().1).to_owned()).collect();
    assert_eq!(began, listed);
    create(&mut client, COUNT);
    let added: BTreeSet<String> = &names(&client.get(&path).expect_status(200)) - &listed;
    let seen: BTreeSet<String> = added.iter().map(|_| name(&watch.event().1).to_owned()).collect();
    assert_eq!(seen, added);
    let metrics = client.get("/metrics").answer().text();
    let series = "apiserver_watch_shards_total{group=\"\",resource=\"configmaps\"} 1";
    assert!(metrics.contains(series), "{series}");
    assert!(
        added.len() == COUNT
            || metrics.contains("apiserver_watch_filtered_events_total{group=\"\",resource=\"configmaps\"}")
    );
}

#[test]
fn selectors_are_refused_or_without_the_gate_ignored() {
    let message = "invalid shard selector: unsupported function \"other\"; only shardRange() and || are allowed";
    for (flags, is_refused) in [(&["--feature-gates=ShardedListAndWatch=true"][..], true), (&[], false)] {
        let (process, _installation) = server(flags);
        let mut client = process.endpoint().client();
        create(&mut client, 0);
        let path = format!("{CONFIG_MAPS}?shardSelector=other%281%29");
        let answer = client.get(&path).answer();
        if is_refused {
            assert_eq!(answer.expect(500)["message"], message);
            assert_eq!(client.get(&format!("{path}&watch=true")).expect_status(500)["message"], message);
            for deep in ["a.".repeat(30_000), "%28".repeat(20_000), "a%3Fa:".repeat(10_000)] {
                let path = format!("{CONFIG_MAPS}?shardSelector=shardRange%28{deep}a,%27%27,%27%27%29");
                client.get(&path).expect_status(500);
            }
        } else {
            assert_eq!(names(&answer.expect(200)).len(), COUNT);
        }
    }
}
