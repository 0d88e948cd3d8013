//! The flags about where and how objects are kept: one row each, as in the other table.
//! Guarantees that a flag without effect here says why, and is refused where that would be a lie.
//! Must never hold defaults: those are filled in once all flags are read.

use super::table::{Flag, path};
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

/// The flags, in the order of the help.
pub static STORAGE_FLAGS: &[Flag] = &[
    Flag {
        name: "storage-backend",
        value: "KIND",
        help: "What the reference calls the kind of etcd: etcd3.",
        apply: |_, value| match value {
            "" | "etcd3" => Ok(()),
            _ => Err("must be etcd3; --storage names the stores of this program's own".to_owned()),
        },
    },
    Flag {
        name: "encryption-provider-config",
        value: "FILE",
        help: "How resources are encrypted where they are kept: an EncryptionConfiguration.",
        apply: |draft, value| path(&mut draft.encryption_config, value),
    },
    Flag {
        name: "encryption-provider-config-automatic-reload",
        value: "",
        help: "Whether that file is read again when it changes (false).",
        apply: |draft, value| values::boolean(value).map(|on| draft.encryption_reload = on),
    },
    Flag {
        name: "etcd-servers",
        value: "URLS",
        help: "URLs of etcd servers, separated by commas: objects are kept there, as kube-apiserver keeps them.",
        apply: |draft, value| draft.etcd.add_servers(value),
    },
    Flag {
        name: "etcd-prefix",
        value: "PATH",
        help: "What all keys in etcd begin with (/registry).",
        apply: |draft, value| draft.etcd.set_prefix(value),
    },
    Flag {
        name: "etcd-cafile",
        value: "FILE",
        help: "Certificates of the authorities of etcd's servers.",
        apply: |draft, value| path(&mut draft.etcd.ca_file, value),
    },
    Flag {
        name: "etcd-certfile",
        value: "FILE",
        help: "The certificate by which etcd knows this server.",
        apply: |draft, value| path(&mut draft.etcd.cert_file, value),
    },
    Flag {
        name: "etcd-keyfile",
        value: "FILE",
        help: "The key of that certificate.",
        apply: |draft, value| path(&mut draft.etcd.key_file, value),
    },
    Flag {
        name: "etcd-compaction-interval",
        value: "DURATION",
        help: "How often etcd is compacted, by one of all servers; 0 is never (5m).",
        apply: |draft, value| values::duration(value).map(|interval| draft.etcd.compaction_interval = interval),
    },
    Flag {
        name: "etcd-healthcheck-timeout",
        value: "DURATION",
        help: "How long etcd may take to answer before /livez says that it is gone (2s).",
        apply: |draft, value| values::duration(value).map(|timeout| draft.etcd.health_timeout = timeout),
    },
    Flag {
        name: "etcd-readycheck-timeout",
        value: "DURATION",
        help: "How long etcd may take to answer before /readyz says that it is gone (2s).",
        apply: |draft, value| values::duration(value).map(|timeout| draft.etcd.ready_timeout = timeout),
    },
    Flag {
        name: "etcd-count-metric-poll-period",
        value: "DURATION",
        help: "How often stored objects are counted for metrics. They are counted as they are written and told as they are \
               when somebody asks, so there is nothing to poll (1m).",
        apply: |_, value| values::duration(value).map(drop),
    },
    Flag {
        name: "etcd-db-metric-poll-interval",
        value: "DURATION",
        help: "How often etcd is asked for the size of its database, for metrics; 0 is never (30s).",
        apply: |draft, value| values::duration(value).map(|interval| draft.etcd.size_interval = interval),
    },
    Flag {
        name: "lease-reuse-duration-seconds",
        value: "SECONDS",
        help: "How much longer than an object that expires its lease may live, so that many objects share one (60).",
        apply: |draft, value| values::number(value, 1).map(|seconds| draft.etcd.lease_reuse_seconds = seconds),
    },
    Flag {
        name: "storage-media-type",
        value: "TYPE",
        help: "What built-in kinds are written as in etcd: application/vnd.kubernetes.protobuf or application/json. What is \
               there already is read whatever it is (application/vnd.kubernetes.protobuf).",
        apply: |draft, value| {
            draft.etcd.json = match value {
                "" | PROTOBUF => false,
                JSON => true,
                "application/yaml" => return Err(format!("is not written; {PROTOBUF} and {JSON} are")),
                _ => return Err(format!("must be {PROTOBUF} or {JSON}")),
            };
            Ok(())
        },
    },
    Flag {
        name: "delete-collection-workers",
        value: "N",
        help: "How many objects of a collection are deleted at a time (1).",
        apply: |draft, value| values::number(value, 0).map(|workers| draft.delete_collection_workers = workers.max(1)),
    },
    Flag {
        name: "watch-cache",
        value: "",
        help: "Whether reads are made from memory: always (true).",
        apply: |_, value| match values::boolean(value)? {
            true => Ok(()),
            false => Err("reads are made from memory alone".to_owned()),
        },
    },
    Flag {
        name: "watch-cache-sizes",
        value: "RESOURCE#SIZE,...",
        help: "Sizes of caches. As in the reference they are found by themselves, and what is given here has no effect.",
        apply: |_, value| cache_sizes(value),
    },
];
