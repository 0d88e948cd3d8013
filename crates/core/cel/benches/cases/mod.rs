//! What the benchmarks compile and evaluate: rules as definitions in use have them, their schema, and an object.

use std::time::Instant;

/// Rules as definitions in use have them.
pub const RULES: [&str; 8] = [
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    "has(self.name) && self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.ports.all(p, p.number > 0 && p.number < 65536)",
    "self.ports.all(p, self.ports.exists_one(q, q.name == p.name))",
    "!has(self.labels) || self.labels.all(k, k.size() < 64 && self.labels[k] != '')",
    "self.kind in ['A', 'B', 'C'] ? has(self.name) : self.replicas == 0",
    "quantity(self.memory).isLessThan(quantity('64Gi'))",
    "self.ports.map(p, p.number).sum() < 100000",
];

/// The best of some rounds, in microseconds per run.
pub fn time(mut run: impl FnMut()) -> f64 {
    let mut round = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        start.elapsed().as_nanos() as f64 / f64::from(runs) / 1000.0
    };
    (0..200).map(|_| round(20)).fold(f64::INFINITY, f64::min)
}

/// The schema of `self`, as JSON.
pub const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 63},
        "kind": {"type": "string", "enum": ["A", "B", "C"]},
        "memory": {"type": "string", "maxLength": 20},
        "minReplicas": {"type": "integer"},
        "maxReplicas": {"type": "integer"},
        "replicas": {"type": "integer"},
        "labels": {"type": "object", "maxProperties": 20, "additionalProperties": {"type": "string", "maxLength": 63}},
        "ports": {"type": "array", "maxItems": 16, "items": {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 15}, "number": {"type": "integer"}
        }}}
    }
}"#;

/// An object of that schema, as JSON.
pub const OBJECT: &str = r#"{
    "name": "web", "kind": "B", "memory": "2Gi", "minReplicas": 1, "maxReplicas": 9, "replicas": 3,
    "labels": {"app": "web", "tier": "front", "team": "a"},
    "ports": [{"name": "http", "number": 80}, {"name": "https", "number": 443}, {"name": "metrics", "number": 9090}]
}"#;
