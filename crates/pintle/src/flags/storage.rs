//! The flags about where and how objects are kept: one row each, as in the other table.
//! Guarantees that a flag without effect here says why, and is refused where that would be a lie.
//! Must never hold defaults: those are the configuration's.

use super::config::Config;
use super::table::{Flag, must};
use super::values;

/// What built-in kinds are written as in etcd.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

/// The sizes of caches, such as `pods#100,deployments.apps#50`: as in the reference only 0 would count.
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

fn check_servers(config: &Config) -> Result<(), String> {
    let is_good = |url: &String| {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or(url);
        !rest.is_empty() && !rest.contains("://") && !rest.contains(char::is_whitespace)
    };
    must(config.etcd.servers.iter().all(is_good), "must be URLs, such as https://10.0.0.1:2379")
}

/// The flags, in the order of the help.
pub static STORAGE_FLAGS: &[Flag] = &[
    Flag::only("storage-backend", "etcd3", "What the reference calls the kind of etcd."),
    Flag::new(
        "encryption-provider-config",
        |c| &mut c.encryption_config,
        "How resources are encrypted where they are kept: an EncryptionConfiguration.",
    ),
    Flag::new(
        "encryption-provider-config-automatic-reload",
        |c| &mut c.encryption_reload,
        "Whether that file is read again when it changes.",
    ),
    Flag::new(
        "etcd-servers",
        |c| &mut c.etcd.servers,
        "URLs of etcd servers, separated by commas: objects are kept there, as kube-apiserver keeps them.",
    )
    .checked(check_servers),
    Flag::new("etcd-prefix", |c| &mut c.etcd.prefix, "What all keys in etcd begin with.")
        .checked(|c| must(!c.etcd.prefix.trim_matches('/').is_empty(), "must be a path")),
    Flag::new("etcd-cafile", |c| &mut c.etcd.ca_file, "Certificates of the authorities of etcd's servers."),
    Flag::new(
        "etcd-certfile",
        |c| &mut c.etcd.identity.certificate,
        "The certificate by which etcd knows this server.",
    ),
    Flag::new("etcd-keyfile", |c| &mut c.etcd.identity.key, "The key of that certificate."),
    Flag::new(
        "etcd-compaction-interval",
        |c| &mut c.etcd.compaction_interval,
        "How often the store is compacted, etcd by one of all servers: what had been superseded at the compaction before is given \
         up, so that continue tokens and old resource versions last for one to two of these; 0 is never.",
    ),
    Flag::new(
        "etcd-healthcheck-timeout",
        |c| &mut c.etcd.health_timeout,
        "How long etcd may take to answer before /livez says that it is gone.",
    ),
    Flag::new(
        "etcd-readycheck-timeout",
        |c| &mut c.etcd.ready_timeout,
        "How long etcd may take to answer before /readyz says that it is gone.",
    ),
    Flag::read(
        "etcd-count-metric-poll-period",
        "DURATION",
        "How often stored objects are counted for metrics. They are counted as they are written and told as they are when \
         somebody asks, so there is nothing to poll (1m).",
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
        "How much longer than an object that expires its lease may live, so that many objects share one.",
    ),
    Flag::read(
        "storage-media-type",
        "TYPE",
        "What built-in kinds are written as in etcd: application/vnd.kubernetes.protobuf or application/json. What is \
         there already is read whatever it is (application/vnd.kubernetes.protobuf).",
        |c, value| {
            c.etcd.json = match value {
                "" | PROTOBUF => false,
                JSON => true,
                "application/yaml" => return Err(format!("is not written; {PROTOBUF} and {JSON} are")),
                _ => return Err(format!("must be {PROTOBUF} or {JSON}")),
            };
            Ok(())
        },
    ),
    Flag::new(
        "delete-collection-workers",
        |c| &mut c.settings.delete_collection_workers,
        "How many objects of a collection are deleted at a time.",
    ),
    Flag::new("watch-cache", |c| &mut c.watch_cache, "Whether reads are made from memory; they always are."),
    Flag::read(
        "watch-cache-sizes",
        "RESOURCE#SIZE,...",
        "Sizes of caches. As in the reference they are found by themselves, and what is given here has no effect.",
        |_, value| cache_sizes(value),
    ),
];
