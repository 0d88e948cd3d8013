//! Metrics of admission configurations in files, under the names that kube-apiserver gives them.
//! Guarantees that the server is identified by a digest only.
//! Must never read a file.

use crate::digest::text_digest;
use crate::static_manifests::ManifestStats;
use crate::{certs, identity_lease};
use pintle_metrics::{Exposition, Family, Number};
use std::sync::Arc;

const RELOADS: Family = Family::counter(
    "apiserver_manifest_admission_config_controller_automatic_reloads_total",
    "Times that the files of a plugin were read after a change, by whether they were applied.",
);
const LAST_RELOAD: Family = Family::gauge(
    "apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds",
    "When the files of a plugin were last read after a change, by whether they were applied.",
);
const CONFIG: Family = Family::gauge(
    "apiserver_manifest_admission_config_controller_last_config_info",
    "1, labelled with the digest of the files of a plugin that are applied.",
);

/// The reloads of all plugins that have a directory.
pub fn render(plugins: &[Arc<ManifestStats>], out: &mut Exposition) {
    let server = text_digest(identity_lease::identity(&certs::host_name().unwrap_or_default()).as_bytes());
    let made = |stats: &'static str, plugin: &'static str| {
        [("apiserver_id_hash", server.as_str()), ("plugin", plugin), ("status", stats)]
    };
    let outcomes = || {
        let of = |stats: &Arc<ManifestStats>| {
            let stats = stats.clone();
            [("failure", stats.clone()), ("success", stats)]
        };
        plugins.iter().flat_map(of)
    };
    let reloads = |status: &str, stats: &ManifestStats| match status {
        "failure" => (stats.failed.count(), stats.failed.last_seconds()),
        _ => (stats.applied.count(), stats.applied.last_seconds()),
    };
    out.family(&RELOADS);
    for (status, stats) in outcomes() {
        let (count, _) = reloads(status, &stats);
        if count > 0 {
            out.sample(RELOADS.name, &made(status, stats.plugin), count);
        }
    }
    out.family(&LAST_RELOAD);
    for (status, stats) in outcomes() {
        let (count, seconds) = reloads(status, &stats);
        if count > 0 {
            out.sample(LAST_RELOAD.name, &made(status, stats.plugin), Number(seconds));
        }
    }
    out.family(&CONFIG);
    for stats in plugins {
        let labels = [("apiserver_id_hash", server.as_str()), ("hash", &stats.hash()), ("plugin", stats.plugin)];
        out.sample(CONFIG.name, &labels, 1);
    }
}
