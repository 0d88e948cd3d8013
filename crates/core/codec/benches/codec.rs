//! Measures decoding and encoding of a pod. Run it with `cargo bench -p pintle-codec`;
//! add a part of a row's name to run only that row, for a profiler.

use pintle_codec::{Strictness, json, protobuf, yaml};
use pintle_schema::{ApiType, Value, canonicalize};
use std::hint::black_box;
use std::time::Instant;

/// A pod as a deployment creates it, about 3 KB as compact JSON.
fn pod() -> Vec<u8> {
    let container = |name: &str| {
        format!(
            r#"{{"name":"{name}","image":"registry.example.com/team/{name}:v1.27.3","command":["/usr/bin/{name}","--config=/etc/{name}/config.yaml"],"args":["--v=2"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}},{{"name":"metrics","containerPort":9090,"protocol":"TCP"}}],"env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"LOG_LEVEL","value":"info"}}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"config","readOnly":true,"mountPath":"/etc/{name}"}},{{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}"#
        )
    };
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"web-6d4cf56db6-x7k2p","generateName":"web-6d4cf56db6-","namespace":"production","uid":"0b1f6b1e-7d7e-4f0a-9f43-5d0a3a6c2f11","resourceVersion":"183746","creationTimestamp":"2024-03-05T14:12:09Z","labels":{{"app":"web","pod-template-hash":"6d4cf56db6","tier":"frontend"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4cf56db6","uid":"b42a1c36-0f5e-4f7b-8f1d-7f0f7c1f0a22","controller":true,"blockOwnerDeletion":true}}]}},"spec":{{"volumes":[{{"name":"config","configMap":{{"name":"web-config","defaultMode":420}}}}],"containers":[{},{}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node-17","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Pending","qosClass":"Burstable"}}}}"#,
        container("server"),
        container("sidecar")
    )
    .into_bytes()
}

fn time<T>(name: &str, bytes: usize, mut run: impl FnMut() -> T) {
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
    let micros = nanos / 1e3 / f64::from(ROUNDS);
    println!("{name:<28} {micros:>8.2} µs  {:>7.0} MB/s", bytes as f64 / micros);
}

fn cpu_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn main() {
    let schema = pintle_types::core::v1::Pod::schema();
    let text = pod();
    let mut value = match json::decode(schema, &text, Strictness::Collect) {
        Ok(decoded) if decoded.problems.is_empty() => decoded.value,
        other => panic!("the pod does not decode: {other:?}"),
    };
    canonicalize(schema, &mut value);
    let image = json::to_vec(&value);
    let mut message = Vec::new();
    protobuf::encode(schema, &value, &mut message);
    let document = yaml::encode(&value);
    println!("pod: {} bytes of JSON, {} of protobuf, {} of YAML", image.len(), message.len(), document.len());
    time("json decode strict", image.len(), || json::decode(schema, &image, Strictness::Collect));
    time("json decode trusted", image.len(), || json::decode_trusted(schema, &image));
    time("json parse", image.len(), || json::parse(&image, Strictness::Ignore));
    time("json type_meta", image.len(), || json::type_meta(&image));
    time("json conform (with clone)", image.len(), || json::conform(schema, value.clone(), Strictness::Collect));
    time("clone and drop", image.len(), || Value::clone(&value));
    time("canonicalize (with clone)", image.len(), || {
        let mut value = value.clone();
        canonicalize(schema, &mut value);
        value
    });
    let mut out = Vec::with_capacity(image.len() * 2);
    time("json encode", image.len(), || {
        out.clear();
        json::encode(&value, &mut out);
    });
    time("protobuf encode", message.len(), || {
        out.clear();
        protobuf::encode(schema, &value, &mut out);
    });
    time("protobuf decode", message.len(), || protobuf::decode(schema, &message));
}
