//! Servers whose store fails, or cannot be written for a while: what is reported, and what continues to work.
//! Guarantees that the failure of an essential part is never silent, whatever the store. Must never fill the disk of the
//! machine: a limit on the size of files has the same effect, and a small file system of its own is mounted where it may be.

use crate::common::etcd::{Etcd, program};
use crate::common::http::Answered;
use crate::common::http::{Client, Endpoint};
use crate::common::process::{Installation, start};
use crate::common::{Scratch, name, wait_for};
use pintle::Builder;
use pintle_etcd::{EtcdOptions, EtcdStore};
use pintle_registry::EtcdCodec;
use pintle_storage::{
    CommitFuture, CompactFuture, EmbeddedOptions, EmbeddedStore, MemoryStore, Observer, Record, Revision, Started,
    Store, StoreError, Transaction, TranscodingStore,
};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio::net::TcpListener;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A store whose observer panics over one object.
struct Failing(Arc<dyn Store>);

impl Store for Failing {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.0.start(Box::new(Fails(observer)))
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.0.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.0.compact(revision)
    }

    fn close(&self) {
        self.0.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.0.as_ref())
    }
}

struct Fails(Box<dyn Observer>);

impl Observer for Fails {
    fn replay(&mut self, record: Record, history: bool) {
        self.0.replay(record, history);
    }

    fn replayed(&mut self, started: Started) {
        self.0.replayed(started);
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        assert!(records.iter().all(|record| !record.key.ends_with("/bad")), "as it is meant to");
        self.0.publish(records, revision);
    }
}

/// The names of all that is there.
fn names(client: &mut Client) -> Vec<String> {
    let list = client.get(CONFIG_MAPS).expect_status(200);
    list["items"].as_array().expect("items").iter().map(|it| name(it).to_owned()).collect()
}

#[test]
fn a_full_disk_is_reported_and_written_again_when_it_has_space() {
    let installation = Installation::own();
    let command = |port| {
        let server = installation.command(port);
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
        command.arg(server.get_program()).args(server.get_args());
        command
    };
    let mut process = start(command, &installation.path("certs"));
    let server = Pid::from_raw(process.id().try_into().expect("a number"));
    let limit = |bytes| prlimit(server, Resource::Fsize, Rlimit { current: bytes, maximum: None }).expect("a limit");
    limit(Some(8 << 20));
    let mut client = process.endpoint().client();
    let (mut kept, bulk) = (names(&mut client), "0123456789abcdef".repeat(20_000));
    let mut create = |name: &str, value: &str| {
        let map = json!({"metadata": {"name": name}, "data": {"value": value}});
        let answer = client.post(CONFIG_MAPS, &map).answer();
        (answer.status != 201).then_some(answer)
    };
    let refused = (0..1_000).find_map(|number| {
        let name = format!("n{number:03}");
        let refused = create(&name, &bulk);
        kept.extend(refused.is_none().then_some(name));
        refused
    });
    let status = refused.expect("there is a limit").expect(500);
    assert_eq!(status["message"], "etcdserver: mvcc: database space exceeded", "{status}");
    assert_eq!(names(&mut process.endpoint().client()), kept, "what is there is shown");

    limit(None);
    wait_for("room", || create("small", "").is_none().then_some(()));
    kept.push("small".to_owned());
    kept.sort();
    let told = process.errors();
    let lines: Vec<_> = told.lines().filter(|line| line.contains("the store has ")).collect();
    let (first, last) = (lines.first().expect("a line"), lines.last().expect("a line"));
    let full = "warning: the store has no space, and accepts only what does not grow: File too large (os error 27)";
    assert_eq!((*first, *last), (full, "warning: the store has space again"), "{told}");
    process.kill();
    assert_eq!(names(&mut installation.start().endpoint().client()), kept);
}

/// A small file system, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// `None` if this process may not mount.
    fn at(path: &Path, bytes: u64) -> Option<Mounted> {
        std::fs::create_dir_all(path).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=0700"), "tmpfs"]).arg(path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| Mounted(path.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What cannot be unmounted now is when nothing uses it any more.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_can_be_emptied() {
    let installation = Installation::own();
    let store = installation.path("data/store");
    let Some(_mounted) = Mounted::at(&store, 24 << 20) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let mut process = installation.start();
    let mut client = process.endpoint().client();
    let files = || std::fs::read_dir(store.join("log")).expect("the log").count();
    let (mut kept, bulk) = (names(&mut client), "0123456789abcdef".repeat(6_000));
    let map = |name: &str, value: &str| json!({"metadata": {"name": name}, "data": {"value": value}});
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/held"]}, "data": {"value": bulk}});
    client.post(CONFIG_MAPS, &held).expect_status(201);
    let refused = (0..1_000).find_map(|number| {
        let name = format!("n{number:03}");
        let answer = client.post(CONFIG_MAPS, &map(&name, &bulk)).answer();
        kept.extend((answer.status == 201).then_some(name));
        (answer.status != 201).then_some(answer)
    });
    let status = refused.expect("there is a limit").expect(500);
    assert_eq!(status["message"], "etcdserver: mvcc: database space exceeded", "{status}");
    kept.push("held".to_owned());
    kept.sort();
    assert!(kept.len() > 50, "{}", kept.len());
    let before = files();
    for _ in 0..30 {
        client.post(CONFIG_MAPS, &map("more", &bulk)).expect_status(500);
    }
    assert_eq!(files(), before, "attempts leave no files");

    // It starts, and shows what is there and that it is full.
    for _ in 0..3 {
        process.kill();
        process = installation.start();
    }
    client = process.endpoint().client();
    assert_eq!(names(&mut client), kept);
    wait_for("its being told", || (client.get("/readyz").answer().status == 500).then_some(()));
    let text = client.get("/readyz/etcd-readiness").answer().text();
    assert!(text.contains("the store is full"), "{text}");
    assert_eq!(client.get("/livez").answer().status, 200);
    let metrics = client.get("/metrics").answer().text();
    assert!(metrics.contains("\npintle_store_full 1\n"), "{metrics}");
    assert!(files() <= before + 1, "{} files, {before} before", files());
    client.post(CONFIG_MAPS, &map("more", &bulk)).expect_status(500);

    // What does not grow is written: an update, the mark of a deletion, the end of a finalizer, and deletions.
    let path = |name: &str| format!("{CONFIG_MAPS}/{name}");
    client.put(&path(&kept[3]), &map(&kept[3], &bulk.replace('0', "x"))).expect_status(200);
    let marked = client.delete(&path("held")).expect_status(200);
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    client.put(&path("held"), &map("held", &bulk)).expect_status(200);
    kept.retain(|name| name != "held");
    let deleted: Vec<_> = kept.iter().filter(|name| name.starts_with('n')).skip(8).cloned().collect();
    for name in &deleted {
        client.delete(&path(name)).expect_status(200);
    }
    kept.retain(|name| !deleted.contains(name));
    wait_for("space", || (client.get("/readyz").answer().status == 200).then_some(()));
    client.post(CONFIG_MAPS, &map("more", &bulk)).expect_status(201);
    kept.push("more".to_owned());
    kept.sort();
    assert!(files() <= before + 4, "{} files, {before} before", files());
    process.kill();
    assert_eq!(names(&mut installation.start().endpoint().client()), kept);
}

#[test]
fn a_server_whose_store_has_failed_says_so_and_ends() {
    let (folder, etcd) = (Scratch::new(), program("3.5").map(|program| Etcd::start(program, 1)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _context = runtime.enter();
    let embedded = EmbeddedStore::open(folder.path(), EmbeddedOptions::default()).expect("a store");
    let mut stores: Vec<(_, Arc<dyn Store>)> =
        vec![("the store", Arc::new(MemoryStore::new())), ("the store's writer", Arc::new(embedded))];
    if let Some(etcd) = &etcd {
        let options = EtcdOptions { endpoints: vec![etcd.urls()], ..EtcdOptions::default() };
        let store = EtcdStore::new(options).expect("a store");
        stores.push((
            "what follows etcd",
            Arc::new(TranscodingStore::new(Arc::new(store), Arc::new(EtcdCodec::new(pintle_groups::resources())))),
        ));
    }
    for (what, store) in stores {
        let server = runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
            Builder::new(Arc::new(Failing(store))).start(listener).await.expect("a server")
        });
        let ended = server.ended();
        let endpoint = Endpoint { address: server.address(), tls: None, token: None };
        let mut client = endpoint.client();
        client.post(CONFIG_MAPS, &json!({"metadata": {"name": "good"}})).expect_status(201);
        assert_eq!(client.get("/readyz").answer().status, 200, "{what}");
        let other = endpoint.clone();
        let bad = std::thread::spawn(move || other.client().post(CONFIG_MAPS, &json!({"metadata": {"name": "bad"}})));
        assert_eq!(*runtime.block_on(ended), format!("{what} has failed"));
        wait_for("its being told", || (client.get("/readyz").answer().status == 500).then_some(()));
        assert_eq!(client.get("/livez").answer().status, 500, "{what}");
        let answer = client.post(CONFIG_MAPS, &json!({"metadata": {"name": "late"}})).answer();
        assert_eq!(answer.status, 503, "{what}: {}", answer.text());
        runtime.block_on(server.stop()).expect("an end");
        // No response reports success, nor that nothing was written: it may have been.
        let answer = bad.join().expect("no panic");
        let is_unknown = answer.as_ref().map_or(true, |answer| answer.status >= 500 && what != "the store's writer");
        assert!(is_unknown, "{what}: {:?}", answer.map(|answer| answer.text()));
    }
}
