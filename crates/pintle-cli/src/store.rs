//! The store that flags name: embedded, in memory or an etcd cluster, with encryption at rest. Guarantees that a start
//! which reads for long reports its progress. Must never keep a store open that the server does not use.

use crate::config_files::encryption;
use crate::flags::{Config, KeyPair, Storage};
use crate::progress::{ReportingStore, Total, directory_bytes};
use pintle::{Builder, ENCRYPTION_RELOAD, StoreOptions, private_files};
use pintle_encryption::Encryption;
use pintle_etcd::{CaRenewal, EtcdOptions, Identity, OwnKeys, Renewal, Tls};
use pintle_gates as gates;
use pintle_metrics::Source;
use pintle_registry::EtcdCodec;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, EncryptedStore, MemoryStore, Store};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tracing::info;

/// The directory of the embedded store in the data directory.
pub const STORE: &str = "store";

/// A server over the store that the flags name, with the store's metrics and health checks.
///
/// # Errors
/// The store cannot be opened, or a file of its configuration is invalid.
pub fn builder(config: &Config) -> Result<Builder, Box<dyn Error>> {
    let encryption = encryption(config)?;
    let mut metrics: Vec<Source> = Vec::new();
    let store: Arc<dyn Store> = match config.storage() {
        Storage::Memory => {
            let store = match compaction_interval(config) {
                Some(interval) => MemoryStore::compacting(interval)?,
                None => MemoryStore::new(),
            };
            Arc::new(EncryptedStore::new(Arc::new(store), encryption.clone()))
        }
        Storage::Embedded => {
            let data = &config.storage.data_dir;
            private_files::create_directory(data).map_err(|error| format!("{}: {error}", data.display()))?;
            let directory = config.storage.data_dir.join(STORE);
            let options = EmbeddedOptions { retention: compaction_interval(config), ..EmbeddedOptions::default() };
            let store = EmbeddedStore::open(&directory, options)?;
            let total = Total::BytesAtMost(directory_bytes(&directory));
            let what = format!("reading {}", directory.display());
            metrics.push(Box::new(move |out| pintle::storage_size(&directory, out)));
            let store = Arc::new(EncryptedStore::new(Arc::new(store), encryption.clone()));
            Arc::new(ReportingStore::new(store, what, total, |line| info!("{line}")))
        }
        Storage::Etcd => {
            let mut form = EtcdCodec::new(pintle_groups::resources());
            form.json = config.etcd.json;
            form.custom_as_cbor = config.feature_gates.is_on(&gates::CBOR_SERVING_AND_STORAGE);
            let apart = config.etcd.own_clusters().into_iter().map(|cluster| (cluster.servers, cluster.prefixes));
            let (store, stats) = pintle::etcd::store(etcd_options(config)?, apart, form, Some(encryption.clone()))?;
            metrics.push(Box::new(move |out| pintle::etcd_metrics(&stats, out)));
            store
        }
    };
    let stats = encryption.clone();
    metrics.push(Box::new(move |out| pintle::encryption_metrics(&stats, out)));
    let mut builder = Builder::new(store);
    if config.storage() == Storage::Memory {
        builder.count_objects_as_store();
    }
    metrics.into_iter().for_each(|source| builder.generic().metrics().add_source(source));
    *builder.generic().store_options() = StoreOptions {
        timeouts: (config.etcd.health_timeout, config.etcd.ready_timeout),
        compaction_interval: compaction_interval(config),
        watch_cache: config.storage.watch_cache,
    };
    // A reloaded file may add key services.
    let reloads = config.storage.encryption_reload;
    if reloads {
        builder.add_post_start_hook(ENCRYPTION_RELOAD);
    }
    if encryption.uses_kms() || reloads {
        builder.generic().health().watch("kms-providers", Box::new(move || encryption.health()));
    }
    Ok(builder)
}

/// How often the store is compacted, if at all.
fn compaction_interval(config: &Config) -> Option<Duration> {
    Some(config.etcd.compaction_interval).filter(|interval| !interval.is_zero())
}

/// The encryption at rest.
fn encryption(config: &Config) -> Result<Arc<Encryption>, String> {
    let mut names = encryption::names();
    if config.storage() == Storage::Etcd {
        names = names.kept_under(&format!("{}/", config.etcd.prefix.trim_end_matches('/')));
    }
    match config.encryption() {
        Some(source) => encryption::load(&source, names),
        None => Ok(Arc::new(Encryption::none(names))),
    }
}

/// The etcd cluster, with the certificates that the flags name.
fn etcd_options(config: &Config) -> Result<EtcdOptions, Box<dyn Error>> {
    let etcd = &config.etcd;
    let ca_pem = etcd.ca_file.as_deref().map(read).transpose()?;
    let ca_renewal = etcd.ca_file.as_deref().map(|path| {
        let path = path.to_owned();
        CaRenewal(Arc::new(move || std::fs::read(&path)))
    });
    Ok(EtcdOptions {
        endpoints: etcd.servers.clone(),
        tls: Tls { ca_pem, ca_renewal, identity: identity(&etcd.identity)?, renewal: renewal(&etcd.identity) },
        prefix: etcd.prefix.clone(),
        keys: OwnKeys::All,
        compaction_interval: compaction_interval(config),
        lifetimes: pintle::etcd::lifetimes(config.controllers.event_ttl),
        lease_reuse_seconds: etcd.lease_reuse_seconds,
        health_timeout: etcd.health_timeout.max(etcd.ready_timeout),
        size_interval: Some(etcd.size_interval),
    })
}

/// The certificate and key of the files, if flags name them.
fn identity(pair: &KeyPair) -> Result<Option<Identity>, Box<dyn Error>> {
    pair.files().map(|(certificate, key)| Ok((read(certificate)?, read(key)?))).transpose()
}

/// Reads the files again when they change: they are replaced before the certificate expires.
fn renewal(pair: &KeyPair) -> Option<Renewal> {
    let (certificate, key) = pair.files().map(|(certificate, key)| (certificate.to_owned(), key.to_owned()))?;
    Some(Renewal(Arc::new(move || Ok((std::fs::read(&certificate)?, std::fs::read(&key)?)))))
}

/// Reads a file; the error names it.
pub fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
