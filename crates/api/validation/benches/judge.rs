//! How long judging takes: `cargo bench -p pintle-api-validation`. Nothing here decides a test.

#[path = "../tests/objects/mod.rs"]
mod objects;

use pintle_api_validation::rulebook;
use pintle_validation::Operation;
use std::hint::black_box;
use std::time::Instant;

/// Fewer under an emulator that counts instructions.
fn rounds() -> u32 {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2000)
}

/// The best of some rounds, in nanoseconds per run.
fn time(mut run: impl FnMut()) -> f64 {
    let mut round = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        start.elapsed().as_nanos() as f64 / f64::from(runs)
    };
    // Short rounds: one of them is not disturbed.
    (0..rounds()).map(|_| round(50)).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("{:<12} {:>12} {:>12} {:>8}", "", "create", "relabel", "share");
    for (schema, object) in [objects::pod(), objects::config_map()] {
        let new = objects::relabelled(&object);
        let (create, update) = (objects::request(Operation::Create), objects::request(Operation::Update));
        let created = time(|| drop(black_box(rulebook().judge(schema, black_box(&object), None, &create))));
        let updated = time(|| drop(black_box(rulebook().judge(schema, black_box(&new), Some(&object), &update))));
        let share = updated / created;
        println!("{:<12} {created:>9.0} ns {updated:>9.0} ns {:>7.0}%", schema.name.as_str(), share * 100.0);
    }
}
