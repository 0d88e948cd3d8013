//! An encrypted store: what the inner store receives, what the observer sees, and what happens to undecryptable
//! values.

mod support;

use bytes::Bytes;
use pintle_storage::{
    Changed, DecryptedValue, EmbeddedOptions, EmbeddedStore, EncryptedStore, Expect, Key, KeyFingerprint, MemoryStore,
    Observer, Record, Revision, Started, Store, Transaction, TransformError, Transformer, Unreadable,
};
use std::sync::{Arc, Mutex};
use support::TempDir;

/// Writes the number of its key before the value, and decrypts values of the keys it knows.
struct Numbered {
    /// The first one writes.
    keys: Mutex<Vec<u8>>,
    listeners: Mutex<Vec<Changed>>,
}

impl Numbered {
    fn new(keys: &[u8]) -> Arc<Numbered> {
        Arc::new(Numbered { keys: Mutex::new(keys.to_vec()), listeners: Mutex::default() })
    }

    /// Returns what cannot be decrypted any more.
    fn change(&self, keys: &[u8]) -> Vec<Key> {
        *self.keys.lock().unwrap() = keys.to_vec();
        self.listeners.lock().unwrap().iter().flat_map(|listener| listener()).collect()
    }
}

impl Transformer for Numbered {
    fn encrypt(&self, _: &str, plain: &Bytes) -> Result<Bytes, TransformError> {
        let first = self.keys.lock().unwrap().first().copied().ok_or_else(|| TransformError::new("no key"))?;
        Ok([&[first], &plain[..]].concat().into())
    }

    fn decrypt(&self, _: &str, kept: &Bytes) -> Result<DecryptedValue, TransformError> {
        let known = self.keys.lock().unwrap().contains(&kept[0]);
        let opened = DecryptedValue { plain: kept.slice(1..), fingerprint: KeyFingerprint(kept[0].into()) };
        if known { Ok(opened) } else { Err(TransformError::new(format!("key {} is unknown", kept[0]))) }
    }

    fn current(&self, _: &str) -> Option<KeyFingerprint> {
        self.keys.lock().unwrap().first().map(|key| KeyFingerprint((*key).into()))
    }

    fn may_decrypt(&self, _: &str, fingerprint: KeyFingerprint) -> bool {
        self.keys.lock().unwrap().iter().any(|key| KeyFingerprint((*key).into()) == fingerprint)
    }

    fn subscribe(&self, changed: Changed) {
        self.listeners.lock().unwrap().push(changed);
    }
}

/// The calls of an observer, as lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

fn line(record: &Record) -> String {
    let value = record.value.as_deref().map_or("-", |value| std::str::from_utf8(value).unwrap());
    format!("{}@{}={value}", record.key, record.revision)
}

impl Observer for Lines {
    fn replay(&mut self, record: Record, _: bool) {
        self.push(format!("replay {}", line(&record)));
    }

    fn replayed(&mut self, started: Started) {
        self.push(format!("replayed {}", started.current));
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let records: Vec<String> = records.iter().map(line).collect();
        self.push(format!("publish {revision}: {}", records.join(" ")));
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        self.push(format!("unreadable {}@{}: {}", unreadable.key, unreadable.revision, unreadable.reason));
    }

    fn restored(&mut self, records: Vec<Record>) {
        let mut records: Vec<String> = records.iter().map(line).collect();
        records.sort();
        self.push(format!("restored {}", records.join(" ")));
    }
}

fn put(store: &dyn Store, key: &str, value: &'static str) -> Revision {
    let transaction = Transaction::one(Key::from(key), Expect::Any, Some(Bytes::from_static(value.as_bytes())));
    store.commit(transaction).wait().unwrap()
}

#[test]
fn the_observer_sees_plain_values_and_the_inner_store_encrypted_ones() {
    let directory = TempDir::new();
    let open = |keys: &[u8]| {
        let inner = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap();
        let keys = Numbered::new(keys);
        (EncryptedStore::new(Arc::new(inner), keys.clone()), keys, Lines::default())
    };
    let (store, _, lines) = open(&[1]);
    store.start(Box::new(lines.clone())).unwrap();
    put(&store, "/a", "one");
    put(&store, "/b", "two");
    assert_eq!(lines.take(), ["replayed 1", "publish 2: /a@2=one", "publish 3: /b@3=two"]);
    drop(store);

    let (store, _, lines) = open(&[2, 1]);
    store.start(Box::new(lines.clone())).unwrap();
    assert_eq!(lines.take(), ["replay /a@2=one", "replay /b@3=two", "replayed 3"]);
    assert!(store.is_stale("/a"));
    put(&store, "/a", "one");
    assert!(!store.is_stale("/a") && store.is_stale("/b"));
    assert_eq!(lines.take(), ["publish 4: /a@4=one"]);
    drop(store);

    let (store, keys, lines) = open(&[2]);
    store.start(Box::new(lines.clone())).unwrap();
    let told =
        ["unreadable /a@2: key 1 is unknown", "unreadable /b@3: key 1 is unknown", "replay /a@4=one", "replayed 4"];
    assert_eq!(lines.take(), told);
    keys.change(&[2, 1]);
    assert_eq!(lines.take(), ["restored /b@3=two"], "what was overwritten meanwhile does not come back");
    assert_eq!(keys.change(&[2]), ["/b".into()], "values that no key decrypts are reported");
    assert_eq!(lines.take(), Vec::<String>::new(), "what was read once is known");
    put(&store, "/b", "two");
    assert!(keys.change(&[3, 2]).is_empty());
}

#[test]
fn undecryptable_values_can_be_overwritten_and_deleted() {
    let keys = Numbered::new(&[1]);
    let (store, lines) = (EncryptedStore::new(Arc::new(MemoryStore::new()), keys.clone()), Lines::default());
    store.start(Box::new(lines.clone())).unwrap();
    keys.change(&[]);
    let refused = store.commit(Transaction::one("/a".into(), Expect::Absent, Some(Bytes::from_static(b"x")))).wait();
    assert_eq!(refused.unwrap_err().to_string(), "no key");
    assert_eq!(lines.take(), ["replayed 1"], "nothing was written");
    keys.change(&[1]);
    let (first, second) = (put(&store, "/a", "one"), put(&store, "/b", "two"));
    keys.change(&[2]);
    put(&store, "/a", "again");
    store.commit(Transaction::one("/b".into(), Expect::At(second), None)).wait().unwrap();
    keys.change(&[1, 2]);
    assert_eq!(lines.take().last().unwrap(), "publish 5: /b@5=-", "nothing is left to be restored after {first}");
}
