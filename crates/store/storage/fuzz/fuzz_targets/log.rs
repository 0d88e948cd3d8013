//! Arbitrary bytes as one of the files of a store: the store starts or reports an error, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, Expect, Observer, Record, Revision, Store, Transaction};

struct Nobody;

impl Observer for Nobody {
    fn replay(&mut self, _: Record, _: bool) {}
    fn publish(&mut self, _: &[Record], _: Revision) {}
}

fuzz_target!(|data: &[u8]| {
    let Some((file, bytes)) = data.split_first() else { return };
    let directory = std::env::temp_dir().join(format!("pintle-fuzz-log-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let open = || EmbeddedStore::open(&directory, EmbeddedOptions::default());
    let store = open().expect("a new store");
    store.start(Box::new(Nobody)).expect("a new store");
    let put = Transaction::one("/a".into(), Expect::Any, Some(vec![7; 40].into()));
    store.commit(put).wait().expect("written");
    drop(store);
    let name = ["log/0000000000000001.log", "log/manifest", "log/head", "format"][usize::from(file % 4)];
    let path = directory.join(name);
    let mut content = std::fs::read(&path).expect("a file");
    // The second byte selects how much of the file remains.
    let keep = bytes.first().map_or(0, |keep| usize::from(*keep)).min(content.len());
    content.truncate(keep);
    content.extend_from_slice(bytes.get(1..).unwrap_or_default());
    std::fs::write(&path, content).expect("written");
    if let Ok(store) = open() {
        let _ = store.start(Box::new(Nobody));
    }
});
