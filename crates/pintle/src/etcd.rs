//! The store over an etcd cluster, or several, that is shared with other servers and with kube-apiserver.

use crate::identity_lease;
use pintle_etcd::stats::Stats;
use pintle_etcd::{EtcdOptions, EtcdStore, OwnKeys};
use pintle_groups::internal::SERVER_ADDRESSES;
use pintle_registry::EtcdCodec;
use pintle_storage::{EncryptedStore, Partition, PartitionedStore, Store, StoreError, TranscodingStore, Transformer};
use std::sync::Arc;
use std::time::Duration;

/// The counters of the calls to each cluster.
pub type ClusterStats = Vec<Arc<Stats>>;

/// A store that keeps objects in the cluster as kube-apiserver does, encrypted by the transformer if there is one. `apart`:
/// further clusters, by their endpoints, with the prefixes of the keys that are there. Call it within the runtime.
///
/// # Errors
/// An endpoint is not a URL, or a certificate is invalid.
pub fn store(
    options: EtcdOptions,
    apart: impl IntoIterator<Item = (Vec<String>, Vec<Box<str>>)>,
    form: EtcdCodec,
    transformer: Option<Arc<dyn Transformer>>,
) -> Result<(Arc<dyn Store>, ClusterStats), StoreError> {
    let form: Arc<EtcdCodec> = Arc::new(form);
    let mut stats = ClusterStats::new();
    let mut open = |options: EtcdOptions| -> Result<Arc<dyn Store>, StoreError> {
        let etcd = match stats.last() {
            None => EtcdStore::new(options)?,
            Some(last) => EtcdStore::beside(options, last)?,
        };
        stats.push(etcd.stats());
        let mut store: Arc<dyn Store> = Arc::new(etcd);
        if let Some(transformer) = &transformer {
            store = Arc::new(EncryptedStore::new(store, transformer.clone()));
        }
        Ok(Arc::new(TranscodingStore::new(store, form.clone())))
    };
    let apart: Vec<_> = apart.into_iter().collect();
    if apart.is_empty() {
        return Ok((open(options)?, stats));
    }
    let own_clusters = apart.iter().flat_map(|(_, prefixes)| prefixes.iter().cloned()).collect();
    let main = open(EtcdOptions { keys: OwnKeys::NotUnder(own_clusters), ..options.clone() })?;
    let mut partitions = Vec::with_capacity(apart.len());
    for (endpoints, prefixes) in apart {
        let store = open(EtcdOptions { endpoints, keys: OwnKeys::Under(prefixes.clone()), ..options.clone() })?;
        partitions.push(Partition { prefixes, store });
    }
    Ok((Arc::new(PartitionedStore::new(main, partitions)), stats))
}

/// The time to live in seconds, by key prefix: of each kind whose objects expire, unless a flag sets another, and of
/// the servers' leases.
pub fn lifetimes(event_ttl: Option<Duration>) -> Vec<(String, u32)> {
    let events = event_ttl.map(|lifetime| u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX));
    let expiring = pintle_groups::all().filter(|resource| resource.ttl_seconds > 0);
    let stored =
        expiring.filter_map(|resource| Some((resource.storage.as_ref()?.prefix.clone(), resource.ttl_seconds)));
    let mut lifetimes: Vec<_> = stored.map(|(prefix, own)| (prefix.to_string(), events.unwrap_or(own))).collect();
    let leases = SERVER_ADDRESSES.storage.as_ref();
    lifetimes.extend(leases.map(|leases| (leases.prefix.to_string(), identity_lease::LIFETIME_SECONDS)));
    lifetimes.sort();
    lifetimes.dedup();
    lifetimes
}
