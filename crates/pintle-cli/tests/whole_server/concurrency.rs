//! Many concurrent clients of one server: writers, watchers and readers. Guarantees that no update is lost, that watchers see
//! each revision once and in order, and that lists are snapshots. Must never depend on timing: the invariants hold for any
//! order.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::in_process::InProcess;
use crate::common::{DEADLINE, name, resource_version};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create(client: &mut Client, name: &str, number: u64) -> Value {
    let object = json!({"metadata": {"name": name}, "data": {"number": number.to_string()}});
    client.post(CONFIG_MAPS, &object).expect_status(201)
}

fn number(object: &Value) -> u64 {
    let number = object["data"]["number"].as_str().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("no number in {object}"))
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().map(name).collect()
}

/// Reads, adds one and writes with the resource version that was read, until there is no conflict.
fn increment(client: &mut Client, path: &str) {
    loop {
        let mut object = client.get(path).expect_status(200);
        object["data"]["number"] = (number(&object) + 1).to_string().into();
        let answer = client.put(path, &object).answer();
        match answer.status {
            200 => return,
            409 => assert_eq!(answer.json()["reason"], "Conflict"),
            _ => panic!("{}", answer.text()),
        }
    }
}

#[test]
fn writes_without_a_resource_version_always_succeed() {
    const WRITERS: usize = 24;
    const EACH: usize = 8;
    let server = InProcess::start();
    create(&mut server.client(), "busy", 0);
    let path = format!("{CONFIG_MAPS}/busy");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (path, server) = (&path, &server);
            scope.spawn(move || {
                let mut client = server.client();
                for turn in 0..EACH {
                    let patch = json!({"data": {format!("writer-{writer}"): turn.to_string()}}).to_string();
                    let answer = client.send("PATCH", path, "application/merge-patch+json", patch.as_bytes());
                    answer.expect_status(200);
                }
            });
        }
    });
    let busy = server.client().get(&path).expect_status(200);
    let last = (EACH - 1).to_string();
    assert!((0..WRITERS).all(|writer| busy["data"][format!("writer-{writer}")] == last.as_str()), "{busy}");
}

#[test]
fn a_read_waits_for_a_version_that_is_about_to_come() {
    let server = InProcess::start();
    let mut client = server.client();
    let mut seen = 0;
    for round in 0..10 {
        let name = format!("awaited-{round}");
        let next = resource_version(&client.get(CONFIG_MAPS).expect_status(200)) + 1;
        std::thread::scope(|scope| {
            let asked = ["", "&resourceVersionMatch=Exact"].map(|how| {
                let path = format!("{CONFIG_MAPS}?resourceVersion={next}{how}");
                let mut client = server.client();
                scope.spawn(move || client.get(&path).expect_status(200))
            });
            let came = resource_version(&create(&mut client, &name, 0));
            let lists = asked.map(|reader| reader.join().expect("a list"));
            // The server writes, too: the version that came next may be of something else.
            if came == next {
                seen += 1;
                lists.iter().for_each(|list| assert!(names(list).contains(&name.as_str()), "{list}"));
            }
        });
    }
    assert!(seen > 0, "no version was the awaited object's");
}

#[test]
fn one_of_many_creates_what_all_apply() {
    const WRITERS: usize = 8;
    const OBJECTS: usize = 12;
    let server = InProcess::start();
    let (created, start) = (AtomicUsize::new(0), Barrier::new(WRITERS));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, created, start) = (&server, &created, &start);
            scope.spawn(move || {
                let mut client = server.client();
                for object in 0..OBJECTS {
                    start.wait();
                    let path = format!("{CONFIG_MAPS}/new-{object}?fieldManager=writer-{writer}");
                    let data = json!({format!("writer-{writer}"): "x"});
                    let metadata = json!({"name": format!("new-{object}")});
                    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
                    let config = config.to_string();
                    let answer = client.send("PATCH", &path, "application/apply-patch+yaml", config.as_bytes());
                    let answer = answer.answer();
                    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
                    created.fetch_add(usize::from(answer.status == 201), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(created.into_inner(), OBJECTS);
    let list = server.client().get(CONFIG_MAPS).expect_status(200);
    let new = list["items"].as_array().expect("items").iter().filter(|object| name(object).starts_with("new-"));
    assert!(new.map(|object| object["data"].as_object().map_or(0, |data| data.len())).eq([WRITERS; OBJECTS]));
}

#[test]
fn no_update_is_lost_and_watchers_see_each_one_once() {
    const WRITERS: u64 = 6;
    const EACH: u64 = 25;
    let server = InProcess::start();
    let counter = create(&mut server.client(), "counter", 0);
    let path = format!("{CONFIG_MAPS}/counter");
    let from = resource_version(&counter);
    let timeout = DEADLINE.as_secs();
    std::thread::scope(|scope| {
        let watches = [
            format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}&timeoutSeconds={timeout}"),
            format!(
                "{CONFIG_MAPS}?watch=true&resourceVersion={from}&fieldSelector=metadata.name%3Dcounter&timeoutSeconds={timeout}"
            ),
            format!("/api/v1/configmaps?watch=true&resourceVersion={from}&timeoutSeconds={timeout}"),
            format!(
                "/api/v1/watch/namespaces/default/configmaps/counter?resourceVersion={from}&timeoutSeconds={timeout}"
            ),
        ];
        for watch in watches {
            let mut client = server.client();
            scope.spawn(move || {
                let mut watch = client.watch(&watch).expect("a watch");
                let mut last = from;
                for expected in 1..=WRITERS * EACH {
                    let (kind, object) = watch.event();
                    assert_eq!((kind.as_str(), number(&object)), ("MODIFIED", expected));
                    assert!(resource_version(&object) > last, "resource versions rise");
                    last = resource_version(&object);
                }
            });
        }
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut client = server.client();
                (0..EACH).for_each(|_| increment(&mut client, &path));
            });
        }
    });
    let end = server.client().get(&path).expect_status(200);
    assert_eq!(number(&end), WRITERS * EACH);
}

#[test]
fn one_of_many_creates_and_one_of_many_deletes_wins() {
    let server = InProcess::start();
    for round in 0..20 {
        let name = format!("one-{round}");
        let path = format!("{CONFIG_MAPS}/{name}");
        for (method, good, bad) in [("POST", 201, 409), ("DELETE", 200, 404)] {
            let mut statuses: Vec<u16> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut client = server.client();
                            let answer = match method {
                                "POST" => client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}})),
                                _ => client.delete(&path),
                            };
                            answer.answer().status
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("a client")).collect()
            });
            statuses.sort_unstable();
            let mut expected = vec![good, bad, bad, bad];
            expected.sort_unstable();
            assert_eq!(statuses, expected, "{method}");
        }
    }
}

#[test]
fn patches_of_many_are_all_there() {
    let server = InProcess::start();
    create(&mut server.client(), "shared", 0);
    let path = format!("{CONFIG_MAPS}/shared");
    // Patches without a resource version never conflict: the server tries again by itself.
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (server, path) = (&server, &path);
            scope.spawn(move || {
                let mut client = server.client();
                for number in 0..20 {
                    let patch = json!({"data": {format!("w{writer}-{number}"): "x"}}).to_string();
                    let answer = client.send("PATCH", path, crate::common::http::MERGE_PATCH, patch.as_bytes());
                    answer.expect_status(200);
                }
            });
        }
    });
    let end = server.client().get(&path).expect_status(200);
    assert_eq!(end["data"].as_object().expect("data").len(), 1 + 4 * 20);
}

#[test]
fn lists_during_writes_are_snapshots() {
    const ROUNDS: u64 = 150;
    let server = InProcess::start();
    let mut client = server.client();
    // One writer goes from the last name to the first: a list that read object by object would find a number that is
    // higher behind than in front by more than one round.
    let all: Vec<String> = (0..10).map(|index| format!("item-{index}")).collect();
    all.iter().for_each(|name| drop(create(&mut client, name, 0)));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (server, all, done) = (&server, &all, &done);
        scope.spawn(move || {
            let mut client = server.client();
            for round in 1..=ROUNDS {
                for name in all.iter().rev() {
                    let object = json!({"metadata": {"name": name}, "data": {"number": round.to_string()}});
                    client.put(&format!("{CONFIG_MAPS}/{name}"), &object).expect_status(200);
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        for limit in [0, 1, 3, 10] {
            scope.spawn(move || {
                let mut client = server.client();
                let mut last = 0;
                while !done.load(Ordering::SeqCst) {
                    let (version, items) = pages(&mut client, limit);
                    assert!(version >= last, "reads never go back: {version} after {last}");
                    last = version;
                    let found: Vec<&str> = items.iter().map(name).collect();
                    assert_eq!(found, *all, "limit {limit}");
                    let numbers: Vec<u64> = items.iter().map(number).collect();
                    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
                    assert!(numbers.is_sorted() && last - first <= 1, "limit {limit} at {version}: {numbers:?}");
                    assert!(items.iter().all(|item| resource_version(item) <= version), "limit {limit} at {version}");
                }
            });
        }
    });
}

/// A whole list, page by page, and its resource version.
fn pages(client: &mut Client, limit: u64) -> (u64, Vec<Value>) {
    let mut items = Vec::new();
    let mut token = String::new();
    let mut version = None;
    loop {
        let page = client.get(&format!("{CONFIG_MAPS}?limit={limit}&continue={token}")).expect_status(200);
        let this = resource_version(&page);
        assert_eq!(*version.get_or_insert(this), this, "all pages are of one snapshot");
        items.extend(page["items"].as_array().expect("items").iter().cloned());
        match page["metadata"]["continue"].as_str().unwrap_or_default() {
            "" => return (this, items),
            next => token = next.to_owned(),
        }
    }
}

#[test]
fn pages_do_not_see_deletes_and_creates_in_between() {
    let server = InProcess::start();
    let mut client = server.client();
    let before: Vec<String> = (0..20).map(|index| format!("page-{index:02}")).collect();
    before.iter().for_each(|name| drop(create(&mut client, name, 0)));
    let first = client.get(&format!("{CONFIG_MAPS}?limit=7")).expect_status(200);
    assert_eq!(names(&first), before[..7]);
    assert_eq!(first["metadata"]["remainingItemCount"], 13);
    let token = first["metadata"]["continue"].as_str().expect("a token").to_owned();

    // Behind and in front of the token, what is there goes and something else comes.
    for name in before.iter().step_by(2) {
        client.delete(&format!("{CONFIG_MAPS}/{name}")).expect_status(200);
    }
    for name in ["page-00-new", "page-08-new", "page-99"] {
        create(&mut client, name, 1);
    }
    let changed = json!({"metadata": {"name": "page-09"}, "data": {"number": "2"}});
    client.put(&format!("{CONFIG_MAPS}/page-09"), &changed).expect_status(200);

    let path = format!("{CONFIG_MAPS}?limit=7&continue={token}");
    let second = client.get(&path).expect_status(200);
    assert_eq!(names(&second), before[7..14]);
    assert_eq!(resource_version(&second), resource_version(&first));
    assert_eq!(number(&second["items"][2]), 0, "page-09 as it was");
    // A token may be used again, and tells the same.
    assert_eq!(client.get(&path).expect_status(200), second);
    let token = second["metadata"]["continue"].as_str().expect("a token");
    let third = client.get(&format!("{CONFIG_MAPS}?limit=7&continue={token}")).expect_status(200);
    assert_eq!(names(&third), before[14..]);
    assert!(third["metadata"]["continue"].is_null() && third["metadata"]["remainingItemCount"].is_null());

    // A list of now, and one of then.
    let exact = format!("{CONFIG_MAPS}?resourceVersion={}&resourceVersionMatch=Exact", resource_version(&first));
    assert_eq!(names(&client.get(&exact).expect_status(200)), before);
    let now = client.get(CONFIG_MAPS).expect_status(200);
    let mut expected: Vec<&str> = before.iter().skip(1).step_by(2).map(String::as_str).collect();
    expected.extend(["page-00-new", "page-08-new", "page-99"]);
    expected.sort_unstable();
    assert_eq!(names(&now), expected);
}

#[test]
fn a_watch_from_a_list_continues_where_the_list_ends() {
    let server = InProcess::start();
    std::thread::scope(|scope| {
        let server = &server;
        for writer in 0..3 {
            scope.spawn(move || {
                let mut client = server.client();
                let name = format!("writer-{writer}");
                for number in 0..60 {
                    let object = json!({"metadata": {"name": name}, "data": {"number": number.to_string()}});
                    if number % 3 == 0 {
                        client.post(CONFIG_MAPS, &object).expect_status(201);
                    } else if number % 3 == 1 {
                        client.put(&format!("{CONFIG_MAPS}/{name}"), &object).expect_status(200);
                    } else {
                        client.delete(&format!("{CONFIG_MAPS}/{name}")).expect_status(200);
                    }
                }
                // The watchers end with this.
                create(&mut client, &format!("end-{writer}"), 0);
            });
        }
        for _ in 0..3 {
            scope.spawn(move || {
                let mut client = server.client();
                let list = client.get(CONFIG_MAPS).expect_status(200);
                let items = list["items"].as_array().expect("items").iter();
                let mut state: BTreeMap<String, u64> =
                    items.map(|item| (name(item).to_owned(), number(item))).collect();
                let from = resource_version(&list);
                let timeout = DEADLINE.as_secs();
                let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}&timeoutSeconds={timeout}");
                let mut watch = client.watch(&path).expect("a watch");
                while state.keys().filter(|name| name.starts_with("end-")).count() < 3 {
                    let (kind, object) = watch.event();
                    let name = name(&object).to_owned();
                    // What a client remembers fits every event: nothing was missed, nothing came twice.
                    let was = match kind.as_str() {
                        "DELETED" => state.remove(&name).is_some(),
                        _ => state.insert(name.clone(), number(&object)).is_some(),
                    };
                    assert_eq!(was, kind != "ADDED", "{kind} {name}");
                }
                let now = client.get(CONFIG_MAPS).expect_status(200);
                assert_eq!(names(&now), state.keys().map(String::as_str).collect::<Vec<_>>());
            });
        }
    });
}
