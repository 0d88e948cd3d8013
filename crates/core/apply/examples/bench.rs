//! How long the steps of server-side apply take for a deployment with three containers. Run it in release:
//! `cargo run --release -p pintle-apply --example bench`, with part of a row's name behind it to run only that.

use pintle_apply::FieldSet;
use pintle_apply::typed::{Duplicates, compare, fields_of, merge, remove_items, validate};
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::apps::v1::Deployment;
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
    if std::env::args().nth(1).is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    for _ in 0..ROUNDS / 10 {
        black_box(run());
    }
    let (start, cpu) = (Instant::now(), cpu_nanos());
    for _ in 0..ROUNDS {
        black_box(run());
    }
    // Time on the processor where the system tells it: what else runs there must not count.
    let nanos = match (cpu, cpu_nanos()) {
        (Some(before), Some(after)) => (after - before) as f64,
        _ => start.elapsed().as_secs_f64() * 1e9,
    };
    println!("{name:<28} {:>8.2} µs", nanos / 1e3 / f64::from(ROUNDS));
}

fn cpu_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn main() {
    let schema = Deployment::schema();
    let (old, new) = (deployment(3), deployment(4));
    let fields = match fields_of(schema, &old) {
        Ok(fields) => fields,
        Err(errors) => panic!("the deployment does not fit: {errors}"),
    };
    let mut text = Vec::new();
    fields.write_v1(&mut text);
    println!("deployment: {} fields, {} bytes of FieldsV1", fields.len(), text.len());
    time("validate", || validate(schema, &old, Duplicates::Refused));
    time("fields of object", || fields_of(schema, &old));
    time("compare equal", || compare(schema, &old, &old.clone()));
    time("compare changed", || compare(schema, &old, &new));
    time("compare with nothing", || compare(schema, &Value::map(), &new));
    time("merge", || merge(schema, &old, &new));
    time("remove (with clone)", || remove_items(schema, old.clone(), &fields));
    time("FieldsV1 read", || FieldSet::from_v1_bytes(&text));
    let mut out = Vec::with_capacity(text.len());
    time("FieldsV1 write", || {
        out.clear();
        fields.write_v1(&mut out);
    });
    time("union", || fields.union(&fields));
    time("difference", || fields.difference(&fields));
    time("clone object", || Value::clone(&old));
}
