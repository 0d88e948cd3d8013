//! Measures the steps of server-side apply for a deployment with three containers. Run it with
//! `cargo bench -p pintle-apply`; add a part of a row's name to run only that row.

use pintle_apply::FieldSet;
use pintle_apply::managed_fields::{Error, Ignored, Managed, Versions, Write};
use pintle_apply::typed::{Duplicates, compare, examine, fields_of, merge, remove_items, validate};
use pintle_codec::{Strictness, json, yaml};
use pintle_schema::{ApiType, Struct, Value, canonicalize, value};
use pintle_types::apps::v1::Deployment;
use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

fn deployment(replicas: i64) -> Value {
    let container = |name: &str| {
        value!({
            "name": name, "image": (format!("registry.example.com/team/{name}:v1.27.3")), "args": ["--v=2"],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
            "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "REGION", "value": "west"}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10}
        })
    };
    let containers = vec![container("server"), container("proxy"), container("agent")];
    let mut object = value!({
        "kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "production", "labels": {"app": "web", "tier": "frontend"}},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": containers, "volumes": [{"name": "config", "configMap": {"name": "web"}}]}
            }
        }
    });
    canonicalize(Deployment::schema(), &mut object);
    object
}

fn time<T>(name: &str, mut run: impl FnMut() -> T) {
    const ROUNDS: u32 = 20_000;
    if std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"))
        .is_some_and(|wanted| !name.contains(&wanted))
    {
        return;
    }
    for _ in 0..ROUNDS / 10 {
        black_box(run());
    }
    let (start, cpu) = (Instant::now(), cpu_nanos());
    for _ in 0..ROUNDS {
        black_box(run());
    }
    // CPU time where the system provides it, so that other processes do not count.
    let nanos = match (cpu, cpu_nanos()) {
        (Some(before), Some(after)) => (after - before) as f64,
        _ => start.elapsed().as_secs_f64() * 1e9,
    };
    println!("{name:<28} {:>8.2} µs", nanos / 1e3 / f64::from(ROUNDS));
}

fn cpu_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

/// A kind of one version, with all fields tracked.
struct Deployments;

impl Versions for Deployments {
    fn schema(&self, _: &str) -> Option<&Struct> {
        Some(Deployment::schema())
    }

    fn convert<'v>(&self, object: &'v Value, _: &str, _: &str) -> Result<Cow<'v, Value>, Error> {
        Ok(Cow::Borrowed(object))
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

fn managers(object: &Value) -> Managed {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    Managed::decode(entries).unwrap_or_default()
}

fn main() {
    let schema = Deployment::schema();
    let (old, new) = (deployment(3), deployment(4));
    steps(schema, &old, &new);
    writes(schema, old, new);
}

/// Whole writes: the cost of managed fields besides decoding and encoding the object.
fn writes(schema: &'static Struct, mut live: Value, new: Value) {
    let write = Write {
        versions: &Deployments,
        api_version: "apps/v1",
        subresource: "",
        manager: "m",
        now: "2026-01-02T03:04:05Z",
    };
    let apply = |live: &Value, config: &Value, managed| {
        write.apply(live, config, &Value::map(), managed, true).unwrap_or_else(|error| panic!("{error}"))
    };
    let applied = apply(&Value::map(), &live, Managed::default());
    live.set_at(&["metadata", "managedFields"], applied.managed.encode().unwrap_or_default());
    canonicalize(schema, &mut live);
    let (stored, sent) = (json::to_vec(&live), json::to_vec(&new));
    println!("{} bytes as stored, {} as applied", stored.len(), sent.len());
    let Ok(same) = yaml::parse(&json::to_vec(&deployment(3)), Strictness::Collect).map(|read| read.value) else {
        return;
    };
    let Ok(changed) = yaml::parse(&sent, Strictness::Collect).map(|read| read.value) else { return };
    time("read what is applied", || yaml::parse(&sent, Strictness::Collect));
    time("read what is stored", || json::decode_trusted(schema, &stored));
    time("write what is stored", || json::to_vec(&live));
    time("canonical form", || canonicalize(schema, &mut live.clone()));
    time("managers from and to metadata", || managers(&live).encode());
    time("apply: the same", || apply(&live, &same, managers(&live)).managed.encode());
    time("apply: one field", || apply(&live, &changed, managers(&live)).managed.encode());
    time("apply: new", || apply(&Value::map(), &changed, Managed::default()).managed.encode());
    time("update: the same", || write.update(&live, &live, managers(&live), false).map(Managed::encode));
    time("update: one field", || write.update(&live, &new, managers(&live), false).map(Managed::encode));
    time("create", || write.update(&Value::map(), &new, Managed::default(), true).map(Managed::encode));
}

fn steps(schema: &'static Struct, old: &Value, new: &Value) {
    let fields = match fields_of(schema, old) {
        Ok(fields) => fields,
        Err(errors) => panic!("the deployment does not fit: {errors}"),
    };
    let mut text = Vec::new();
    fields.write_v1(&mut text);
    println!("deployment: {} fields, {} bytes of FieldsV1", fields.len(), text.len());
    time("validate", || validate(schema, old, Duplicates::Refused));
    time("fields of object", || fields_of(schema, old));
    time("compare equal", || compare(schema, old, &Value::clone(old)));
    time("compare changed", || compare(schema, old, new));
    time("compare with nothing", || compare(schema, &Value::map(), new));
    time("merge", || merge(schema, old, new));
    time("examine: all is there", || examine(schema, old, old));
    time("remove (with clone)", || remove_items(schema, Value::clone(old), &fields));
    time("FieldsV1 read", || FieldSet::from_v1_bytes(&text));
    let mut out = Vec::with_capacity(text.len());
    time("FieldsV1 write", || {
        out.clear();
        fields.write_v1(&mut out);
    });
    time("union", || fields.union(&fields));
    time("difference", || fields.difference(&fields));
    time("clone object", || Value::clone(old));
}
