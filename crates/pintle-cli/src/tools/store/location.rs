//! Opens a store by name, reads all of it and closes it. Guarantees that reading does not create a store. Must never
//! change a store that it reads.

use crate::config_files::encryption::{self, EncryptionSource};
use crate::progress::{DirectoryProgress, ReportingStore, Total, directory_bytes};
use bytes::Bytes;
use pintle_encryption::Encryption;
use pintle_etcd::{EtcdOptions, EtcdStore, Tls};
use pintle_registry::EtcdCodec;
use pintle_resource::{Resource, ResourceTable, Verbs};
use pintle_storage::{EmbeddedStore, EncryptedStore, Key, Observer, Record, Revision, Started, Store, Unreadable};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The directory of an embedded store.
    Directory(PathBuf),
    /// The endpoints of an etcd cluster.
    Etcd(Vec<String>),
}

/// The flags of the command line, by name.
#[derive(Debug, Default)]
pub struct Options(HashMap<String, String>);

/// Flags with a value; the location of a store to check is no flag.
const FLAGS: [&str; 9] = [
    "from",
    "to",
    "encryption-provider-config",
    "from-encryption-provider-config",
    "to-encryption-provider-config",
    "etcd-prefix",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
];

impl Options {
    pub fn parse(arguments: &[&str]) -> Result<Options, String> {
        let mut options = HashMap::new();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let (name, value) = match word.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
                None => ("", (*word).to_owned()),
                Some((name, _)) if !FLAGS.contains(&name) => return Err(format!("unknown flag: {word}")),
                Some((name, value)) if word.contains('=') => (name, value.to_owned()),
                Some((name, _)) => {
                    (name, rest.next().ok_or_else(|| format!("flag needs an argument: {word}"))?.to_string())
                }
            };
            if options.insert(name.to_owned(), value).is_some() {
                return Err(format!("{word} is one too many"));
            }
        }
        Ok(Options(options))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The positional store, the source and the target.
    pub fn places(&self) -> Result<[Option<Location>; 3], String> {
        let place = |name| self.get(name).map(Location::parse).transpose();
        Ok([place("")?, place("from")?, place("to")?])
    }

    /// The encryption configuration of the source or the target.
    pub fn encryption(&self, side: Option<&str>) -> Option<PathBuf> {
        let own = side.and_then(|side| self.get(&format!("{side}-encryption-provider-config")));
        own.or_else(|| self.get("encryption-provider-config")).map(PathBuf::from)
    }

    fn prefix(&self) -> &str {
        self.get("etcd-prefix").unwrap_or("/registry")
    }

    fn etcd(&self, endpoints: &[String]) -> Result<EtcdOptions, String> {
        let read = |name| {
            let read = |path: &str| std::fs::read(path).map_err(|error| format!("{path}: {error}"));
            self.get(name).map(read).transpose()
        };
        let identity = match (read("etcd-certfile")?, read("etcd-keyfile")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err("--etcd-certfile and --etcd-keyfile must be given together".to_owned()),
        };
        Ok(EtcdOptions {
            endpoints: endpoints.to_vec(),
            tls: Tls { ca_pem: read("etcd-cafile")?, identity, ..Tls::default() },
            prefix: self.prefix().to_owned(),
            compaction_interval: None,
            lifetimes: pintle::etcd::lifetimes(None),
            ..EtcdOptions::default()
        })
    }
}

impl Location {
    pub fn parse(text: &str) -> Result<Location, String> {
        if text.contains("://") {
            return Ok(Location::Etcd(text.split(',').map(str::to_owned).collect()));
        }
        if text.is_empty() {
            return Err("a store has no name".to_owned());
        }
        // A data directory of a server, or the store in it.
        let path = Path::new(text);
        let is_store = path.join("format").exists() || path.file_name().is_some_and(|name| name == crate::store::STORE);
        Ok(Location::Directory(if is_store { path.to_owned() } else { path.join(crate::store::STORE) }))
    }

    /// The encryption of the store's values.
    pub fn encryption(&self, options: &Options, config: Option<PathBuf>) -> Result<Arc<Encryption>, String> {
        let mut names = encryption::names();
        if matches!(self, Location::Etcd(_)) {
            names = names.kept_under(&format!("/{}/", options.prefix().trim_matches('/')));
        }
        match config {
            Some(path) => encryption::load(&EncryptionSource { path, ..EncryptionSource::default() }, names),
            None => Ok(Arc::new(Encryption::none(names))),
        }
    }

    /// Reads everything in it.
    pub fn read(&self, options: &Options, config: Option<PathBuf>) -> Result<Content, String> {
        let encryption = self.encryption(options, config)?;
        match self {
            Location::Directory(path) => {
                if !path.join("format").exists() {
                    return Err(format!("there is no store in {}", path.display()));
                }
                let store = EmbeddedStore::open_read_only(path).map_err(|error| error.to_string())?;
                let total = Total::BytesAtMost(directory_bytes(path));
                self.content(Arc::new(EncryptedStore::new(Arc::new(store), encryption)), total)
            }
            Location::Etcd(endpoints) => within_runtime(|| {
                let store = pintle::etcd::store(
                    options.etcd(endpoints)?,
                    [],
                    EtcdCodec::new(pintle_groups::resources()),
                    Some(encryption),
                );
                store.map(|(store, _)| store).map_err(|error| error.to_string())
            })
            .and_then(|(store, _runtime)| self.content(store, Total::Unknown)),
        }
    }

    fn content(&self, store: Arc<dyn Store>, total: Total) -> Result<Content, String> {
        Content::of(&ReportingStore::new(store, format!("reading {self}"), total, report))
    }

    /// Fills the store, which must be empty, with encrypted values.
    pub fn fill(&self, options: &Options, records: &[Record], current: Revision) -> Result<(), String> {
        let size = |record: &Record| (record.key.len() + record.value.as_ref().map_or(0, Bytes::len)) as u64;
        let bytes = records.iter().map(size).sum();
        let directory = match self {
            Location::Directory(path) => Some(path.clone()),
            Location::Etcd(_) => None,
        };
        let what = format!("writing {} objects to {self}", records.len());
        let _telling = DirectoryProgress::new(what, directory, bytes, report);
        match self {
            Location::Directory(path) => {
                pintle_storage::import(path, records, current).map_err(|error| error.to_string())
            }
            Location::Etcd(endpoints) => {
                let open = || EtcdStore::new(options.etcd(endpoints)?).map_err(|error| error.to_string());
                let (store, _runtime) = within_runtime(open)?;
                store.import(records, current).map_err(|error| error.to_string())
            }
        }
    }
}

/// Tells progress.
pub fn report(line: &str) {
    eprintln!("{line}");
}

/// Runs a constructor within a runtime, and leaks the runtime.
fn within_runtime<T>(make: impl FnOnce() -> Result<T, String>) -> Result<(T, tokio::runtime::Runtime), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let made = {
        let _context = runtime.enter();
        make()?
    };
    Ok((made, runtime))
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Directory(path) => path.display().fmt(f),
            Location::Etcd(endpoints) => f.write_str(&endpoints.join(",")),
        }
    }
}

/// The content of a store, decrypted.
#[derive(Default)]
pub struct Content {
    /// The newest values of resources that this program knows.
    pub records: BTreeMap<Key, Record>,
    pub unreadable: Vec<Unreadable>,
    /// Keys of no resource: leases of servers, tables of addresses, resources of other programs.
    pub others: BTreeSet<Key>,
    pub current: Revision,
}

impl Content {
    fn of(store: &dyn Store) -> Result<Content, String> {
        let reading = ContentObserver::default();
        let started = store.start(Box::new(reading.clone())).map_err(|error| error.to_string())?;
        store.close();
        let mut content = std::mem::take(&mut *reading.content());
        content.current = content.current.max(started.current);
        Ok(content)
    }

    pub fn summary(&self) -> String {
        let others = match self.others.len() {
            0 => String::new(),
            count => format!(", {count} keys of no resource left out"),
        };
        format!("{} objects at revision {}{others}", self.records.len(), self.current)
    }
}

/// The storage version of the resource that is kept under a key.
pub fn resource_of(key: &str) -> Option<Arc<Resource>> {
    static TABLE: LazyLock<ResourceTable> = LazyLock::new(|| pintle_groups::table(|_| true));
    let ends = key.match_indices('/').map(|(at, _)| at).skip(2).take(2);
    let found = ends.filter_map(|end| TABLE.stored(key.get(..=end)?)).last()?;
    // Data that servers store for each other is no resource.
    Some(found.hub.clone()).filter(|hub| hub.verbs != Verbs::NONE)
}

/// Observes the records that a store publishes at its start.
#[derive(Clone, Default)]
struct ContentObserver(Arc<Mutex<Content>>);

impl ContentObserver {
    fn content(&self) -> std::sync::MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for ContentObserver {
    fn replay(&mut self, record: Record, _: bool) {
        let mut content = self.content();
        content.unreadable.retain(|known| known.key != record.key);
        match (&record.value, resource_of(&record.key)) {
            (None, Some(_)) => drop(content.records.remove(&record.key)),
            (None, None) => _ = content.others.remove(&record.key),
            (Some(_), None) => _ = content.others.insert(record.key),
            (Some(_), Some(_)) => drop(content.records.insert(record.key.clone(), record)),
        }
    }

    fn replayed(&mut self, _: Started) {}

    /// The store publishes the history up to its start, and maybe more.
    fn publish(&mut self, records: &[Record], revision: Revision) {
        records.iter().for_each(|record| self.replay(record.clone(), true));
        self.content().current = revision;
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        let mut content = self.content();
        content.records.remove(&unreadable.key);
        content.unreadable.retain(|known| known.key != unreadable.key);
        match resource_of(&unreadable.key) {
            Some(_) => content.unreadable.push(unreadable),
            None => _ = content.others.insert(unreadable.key),
        }
    }
}
