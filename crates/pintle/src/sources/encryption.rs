//! Metrics of encryption at rest: values, seeds, key services, and the configuration when it is read again.
//! Guarantees that servers, keys and configurations are identified by digests only.
//! Must never ask a key service.

use crate::digest::text_digest;
use crate::{certs, identity_lease};
use pintle_encryption::Encryption;
use pintle_encryption::stats::{Direction, KeyUse, Occurrences, Stats};
use pintle_metrics::{Exposition, Family, Label, Number};

const TRANSFORMATIONS: Family = Family::counter(
    "apiserver_storage_transformation_operations_total",
    "Values that were sealed or opened, by resource, by provider and by its key, and by outcome.",
);
const TRANSFORMATION_DURATION: Family = Family::histogram(
    "apiserver_storage_transformation_duration_seconds",
    "Time that encryption or opening a value took, by provider.",
);
const CACHE_MISSES: Family = Family::counter(
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "Times that a key service had to be asked to open a seed.",
);
const DATA_KEYS: Family =
    Family::histogram("apiserver_storage_data_key_generation_duration_seconds", "Time that making a seed took.");
const DATA_KEY_FAILURES: Family =
    Family::counter("apiserver_storage_data_key_generation_failures_total", "Seeds that could not be made.");
const CALLS: Family = Family::histogram(
    "apiserver_envelope_encryption_kms_operations_latency_seconds",
    "Time that calls of key services took, by code.",
);
const SEEDS: Family = Family::gauge(
    "apiserver_envelope_encryption_dek_source_cache_size",
    "Seeds that are known in plain; about as many have to be asked for after a start.",
);
const KEY_USES: Family = Family::counter(
    "apiserver_envelope_encryption_key_id_hash_total",
    "Values that were sealed or opened with a key of a service.",
);
const KEY_LAST_USES: Family = Family::gauge(
    "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    "When a key of a service was last used.",
);
const KEY_STATUS: Family = Family::gauge(
    "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    "When a service last said that it uses a key.",
);
const INVALID_KEYS: Family = Family::counter(
    "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    "Times that a service named a key that cannot be used.",
);
const RELOADS: Family = Family::counter(
    "apiserver_encryption_config_controller_automatic_reloads_total",
    "Times that the configuration was read again, by whether it was taken over.",
);
const LAST_RELOAD: Family = Family::gauge(
    "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    "When the configuration was last read again, by whether it was taken over.",
);
const CONFIG: Family = Family::gauge(
    "apiserver_encryption_config_controller_last_config_info",
    "1, labelled with the digest of the configuration that is followed.",
);

/// What encryption counts.
pub fn render(encryption: &Encryption, out: &mut Exposition) {
    let stats = &encryption.stats;
    let server = text_digest(identity_lease::identity(&certs::host_name().unwrap_or_default()).as_bytes());
    values(stats, out);
    services(stats, out);
    out.family(&SEEDS);
    for (provider, seeds) in encryption.seeds() {
        out.sample(SEEDS.name, &[("provider_name", &provider)], seeds);
    }
    keys(stats, &server, out);
    reloads(stats, &server, out);
}

/// As metrics call it.
fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::FromStorage => "from_storage",
        Direction::ToStorage => "to_storage",
        Direction::Status => "status",
    }
}

fn values(stats: &Stats, out: &mut Exposition) {
    out.family(&TRANSFORMATIONS);
    for (it, count) in stats.transformations.sorted() {
        let resource = it.resource.to_string();
        let labels = [
            ("resource", resource.as_str()),
            ("status", it.code),
            ("transformation_type", name(it.direction)),
            ("transformer_prefix", &it.prefix),
        ];
        out.sample(TRANSFORMATIONS.name, &labels, count.get());
    }
    out.family(&TRANSFORMATION_DURATION);
    for ((direction, prefix), durations) in stats.durations.sorted() {
        let labels = [("transformation_type", name(direction)), ("transformer_prefix", prefix.as_str())];
        out.histogram(TRANSFORMATION_DURATION.name, &labels, &durations);
    }
    out.single(&CACHE_MISSES, stats.cache_misses.get());
    out.family(&DATA_KEYS);
    out.histogram(DATA_KEYS.name, &[], &stats.data_keys);
    out.single(&DATA_KEY_FAILURES, stats.data_key_failures.get());
}

fn services(stats: &Stats, out: &mut Exposition) {
    out.family(&CALLS);
    for ((provider, method, code), durations) in stats.calls.sorted() {
        let labels = [("grpc_status_code", code), ("method_name", method), ("provider_name", &provider)];
        out.histogram(CALLS.name, &labels, &durations);
    }
    out.family(&INVALID_KEYS);
    for ((provider, fault), count) in stats.invalid_key_ids.sorted() {
        out.sample(INVALID_KEYS.name, &[("error", fault), ("provider_name", &provider)], count.get());
    }
}

fn keys(stats: &Stats, server: &str, out: &mut Exposition) {
    let keys = stats.keys();
    let (named, used): (Vec<_>, Vec<_>) = keys.iter().partition(|key| key.direction == Direction::Status);
    type Value = fn(&Occurrences) -> f64;
    let values: [(_, Value); 2] = [(KEY_USES, |uses| uses.count() as f64), (KEY_LAST_USES, Occurrences::last_seconds)];
    for (family, value) in values {
        out.family(&family);
        for key in &used {
            let [server, hash, provider] = labels(server, key);
            let labels = [server, hash, provider, ("transformation_type", name(key.direction))];
            out.sample(family.name, &labels, Number(value(&key.uses)));
        }
    }
    out.family(&KEY_STATUS);
    for key in named {
        out.sample(KEY_STATUS.name, &labels(server, key), Number(key.uses.last_seconds()));
    }
}

fn labels<'a>(server: &'a str, key: &'a KeyUse) -> [Label<'a>; 3] {
    [("apiserver_id_hash", server), ("key_id_hash", &key.key_id_hash), ("provider_name", &key.provider)]
}

fn reloads(stats: &Stats, server: &str, out: &mut Exposition) {
    let made = [("failure", stats.reloads(false)), ("success", stats.reloads(true))];
    let made = made.map(|(status, reloads)| ([("apiserver_id_hash", server), ("status", status)], reloads));
    let made: Vec<_> = made.iter().filter(|(_, reloads)| reloads.count() > 0).collect();
    out.family(&RELOADS);
    made.iter().for_each(|(labels, reloads)| out.sample(RELOADS.name, labels, reloads.count()));
    out.family(&LAST_RELOAD);
    made.iter().for_each(|(labels, reloads)| out.sample(LAST_RELOAD.name, labels, Number(reloads.last_seconds())));
    out.family(&CONFIG);
    if let Some(hash) = stats.config_hash() {
        out.sample(CONFIG.name, &[("apiserver_id_hash", server), ("hash", &hash)], 1);
    }
}
