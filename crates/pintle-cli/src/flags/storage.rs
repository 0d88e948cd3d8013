//! The flags about storage: one row each.
//! Guarantees that the help of a flag without effect says so, and that a value which would need an effect is rejected.
//! Must never read a file: files are read after all flags have been checked.

use super::config::{Config, KeyPair, with_defaults};
use super::overrides::{self, OwnCluster, ServersOverride};
use super::setting::InputFile;
use super::table::{Flag, must};
use super::values;
use std::path::PathBuf;
use std::time::Duration;

/// Where objects are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// On disk, in the data directory.
    Embedded,
    /// In memory: gone when the process ends.
    Memory,
    /// In an etcd cluster.
    Etcd,
}

with_defaults! {
    /// Where objects are stored, and how.
    pub struct StorageFlags {
        pub data_dir: PathBuf = PathBuf::from("pintle-data"),
        /// The value of `--storage`; [`Config::storage`] also considers the flags of etcd.
        pub own: Option<Storage>,
        pub encryption_config: Option<InputFile>,
        pub encryption_reload: bool,
        /// Without effect: reads are always served from memory.
        pub watch_cache: bool = true,
    }
}

with_defaults! {
    /// Connection and use of etcd.
    pub struct Etcd {
        pub servers: Vec<String>,
        /// Resources in other clusters.
        pub overrides: Vec<ServersOverride>,
        pub prefix: String = "/registry".to_owned(),
        pub ca_file: Option<InputFile>,
        pub identity: KeyPair,
        /// Applies to every store; 0 is never.
        pub compaction_interval: Duration = Duration::from_secs(5 * 60),
        pub health_timeout: Duration = Duration::from_secs(2),
        pub ready_timeout: Duration = Duration::from_secs(2),
        /// 0 is never.
        pub size_interval: Duration = Duration::from_secs(30),
        pub lease_reuse_seconds: u32 = 60,
        /// Whether objects are written as JSON, not as protobuf.
        pub json: bool,
    }
}

impl Etcd {
    /// The other clusters, with their resources.
    pub fn own_clusters(&self) -> Vec<OwnCluster> {
        // The overrides were checked when they were parsed.
        overrides::clusters(&self.overrides).unwrap_or_default()
    }
}

/// The encodings of built-in kinds in etcd.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

/// Checks sizes of caches, such as `pods#100,deployments.apps#50`. As in kube-apiserver, only 0 would have an effect.
fn cache_sizes(value: &str) -> Result<(), String> {
    for item in values::list(value) {
        let (resource, size) = item.split_once('#').ok_or("must be a list of resource#size")?;
        if resource.is_empty() || values::number(size, 0).is_err() {
            return Err("must be a list of resource#size".to_owned());
        }
        if values::number(size, 0) == Ok(0) {
            return Err(format!("the cache of {resource} cannot be turned off: all reads are made from memory"));
        }
    }
    Ok(())
}

/// Whether a text may be the URL of a server, or its address.
pub fn is_server_url(url: &str) -> bool {
    if let Some((_, path)) = pintle_etcd::local_url(url) {
        return !path.is_empty();
    }
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or(url);
    !rest.is_empty() && !rest.contains("://") && !rest.contains(char::is_whitespace)
}

fn check_servers(config: &Config) -> Result<(), String> {
    let are_good = config.etcd.servers.iter().all(|url| is_server_url(url));
    must(are_good, "must be URLs, such as https://10.0.0.1:2379")
}

/// Where objects are stored.
pub static PLACE_FLAGS: &[Flag] = &[
    Flag::new("data-dir", |c| &mut c.storage.data_dir, "Directory of the embedded store."),
    Flag::read(
        "storage",
        "KIND",
        "Where objects are stored: embedded (on disk) or memory. Default: embedded.",
        |c, value| {
            c.storage.own = Some(match value {
                "embedded" => Storage::Embedded,
                "memory" => Storage::Memory,
                _ => return Err("must be embedded or memory".to_owned()),
            });
            Ok(())
        },
    ),
];

/// The flags, in the order of the help.
pub static STORAGE_FLAGS: &[Flag] = &[
    Flag::only("storage-backend", "etcd3", "Storage API of etcd."),
    Flag::new(
        "encryption-provider-config",
        |c| &mut c.storage.encryption_config,
        "File with the EncryptionConfiguration for encryption at rest.",
    ),
    Flag::new(
        "encryption-provider-config-automatic-reload",
        |c| &mut c.storage.encryption_reload,
        "Whether the encryption configuration is reloaded when its file changes.",
    ),
    Flag::new(
        "etcd-servers",
        |c| &mut c.etcd.servers,
        "URLs of etcd servers. Objects are stored there, in kube-apiserver's format, instead of in the data \
         directory.",
    )
    .checked(check_servers),
    Flag::new(
        "etcd-servers-overrides",
        |c| &mut c.etcd.overrides,
        "Resources of built-in groups that are stored in other etcd clusters, such as /events#http://e1:2379;http://e2:2379. \
         Existing objects are not moved. Namespaces, quotas, services, their addresses and definitions cannot be stored \
         elsewhere.",
    )
    .checked(|c| overrides::clusters(&c.etcd.overrides).map(drop)),
    Flag::new("etcd-prefix", |c| &mut c.etcd.prefix, "Prefix of all keys in etcd.")
        .checked(|c| must(!c.etcd.prefix.trim_matches('/').is_empty(), "must be a path")),
    Flag::new("etcd-cafile", |c| &mut c.etcd.ca_file, "PEM file with the CA certificates of etcd."),
    Flag::new("etcd-certfile", |c| &mut c.etcd.identity.certificate, "PEM file with the client certificate for etcd."),
    Flag::new(
        "etcd-keyfile",
        |c| &mut c.etcd.identity.key,
        "PEM file with the private key of the client certificate for etcd.",
    ),
    Flag::new(
        "etcd-compaction-interval",
        |c| &mut c.etcd.compaction_interval,
        "How often the store is compacted; 0 is never. Continue tokens and old resource versions expire after \
         one to two intervals. Servers that share an etcd cluster take turns.",
    ),
    Flag::new("etcd-healthcheck-timeout", |c| &mut c.etcd.health_timeout, "Timeout of etcd in /livez."),
    Flag::new("etcd-readycheck-timeout", |c| &mut c.etcd.ready_timeout, "Timeout of etcd in /readyz."),
    Flag::read(
        "etcd-count-metric-poll-period",
        "DURATION",
        "How often stored objects are counted for metrics. It has no effect, because they are counted as they \
         are written. Default: 1m.",
        |_, value| values::duration(value).map(drop),
    ),
    Flag::new(
        "etcd-db-metric-poll-interval",
        |c| &mut c.etcd.size_interval,
        "How often etcd is asked for the size of its database, for metrics; 0 is never.",
    ),
    Flag::new(
        "lease-reuse-duration-seconds",
        |c| &mut c.etcd.lease_reuse_seconds,
        "How long an etcd lease is shared by new objects that expire.",
    ),
    Flag::read(
        "storage-media-type",
        "TYPE",
        "Encoding of built-in kinds in etcd: application/vnd.kubernetes.protobuf or application/json. \
         Existing objects are read in either. Default: application/vnd.kubernetes.protobuf.",
        |c, value| {
            c.etcd.json = match value {
                "" | PROTOBUF => false,
                JSON => true,
                "application/yaml" => return Err(format!("is not supported; must be {PROTOBUF} or {JSON}")),
                _ => return Err(format!("must be {PROTOBUF} or {JSON}")),
            };
            Ok(())
        },
    ),
    Flag::new(
        "delete-collection-workers",
        |c| &mut c.settings.delete_collection_workers,
        "Number of objects that a deletecollection request deletes at the same time.",
    ),
    Flag::new(
        "watch-cache",
        |c| &mut c.storage.watch_cache,
        "Whether lists are as from a cache: with false, one at resourceVersion=0 is limited, too. Reads are served from memory \
         either way.",
    ),
    Flag::read(
        "watch-cache-sizes",
        "RESOURCE#SIZE,...",
        "Sizes of watch caches. It has no effect, as in kube-apiserver: caches are sized automatically.",
        |_, value| cache_sizes(value),
    ),
];
