//! How long rules of a custom resource take to compile and to evaluate: `cargo bench -p pintle-cel`. Nothing here decides a test.

use pintle_cel::{Decl, Environment, Program, Value};
use pintle_schema::value;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Rules as definitions in use have them.
const RULES: [&str; 8] = [
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
fn time(mut run: impl FnMut()) -> f64 {
    let mut round = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        start.elapsed().as_nanos() as f64 / f64::from(runs) / 1000.0
    };
    (0..200).map(|_| round(20)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let schema = value!({
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
    });
    let object = value!({
        "name": "web", "kind": "B", "memory": "2Gi", "minReplicas": 1, "maxReplicas": 9, "replicas": 3,
        "labels": {"app": "web", "tier": "front", "team": "a"},
        "ports": [{"name": "http", "number": 80}, {"name": "https", "number": 443}, {"name": "metrics", "number": 9090}]
    });
    let declare = || Arc::new(Decl::of_openapi(&schema, false, "selfType"));
    println!("{:<50} {:>9.1} us", "declare", time(|| drop(black_box(declare()))));
    let decl = declare();
    let environment = || Environment::for_stored_expressions().with_declared("self", &decl);
    println!("{:<50} {:>9.1} us", "make an environment", time(|| drop(black_box(environment()))));
    let environment = environment();
    println!("{:<50} {:>12} {:>12} {:>8}", "", "compile", "evaluate", "cost");
    for rule in RULES {
        let compile = || -> Program { environment.compile(rule).expect("it compiles") };
        let compiling = time(|| drop(black_box(compile())));
        let program = compile();
        let variables = |name: &str| (name == "self").then(|| Value::of_data(&object, &decl));
        let cost = program.evaluate(&variables, 1_000_000).cost;
        let evaluating = time(|| drop(black_box(program.evaluate(&variables, 1_000_000))));
        let shown: String = rule.chars().take(50).collect();
        println!("{shown:<50} {compiling:>9.1} us {evaluating:>9.2} us {cost:>8}");
    }
}
