//! How long validation takes: `cargo bench -p pintle-groups`. Nothing here decides a test.

#[path = "../tests/objects/mod.rs"]
mod objects;

use pintle_schema::Struct;
use pintle_validation::{Comparison, Operation, Validator};
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

/// The rules of a kind.
fn rules_of(schema: &'static Struct) -> &'static Validator {
    let resource = pintle_groups::all().find(|resource| std::ptr::eq(resource.stored_schema(), schema));
    &resource.expect("a built-in kind").rules
}

fn main() {
    // `-- Pod compared`: that object and that operation alone, for an emulator.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |at: usize, name: &str| asked.get(at).is_none_or(|asked| asked == name);
    println!("{:<12} {:>12} {:>12} {:>12} {:>8}", "", "create", "relabel", "compared", "share");
    for (schema, object) in [objects::pod(), objects::config_map()] {
        let name = schema.name.as_str();
        if !is_asked(0, name) {
            continue;
        }
        let validator = rules_of(schema);
        let new = objects::relabelled(schema, &object);
        let (create, update) = (objects::request(Operation::Create), objects::request(Operation::Update));
        let when = |operation: &str, run: &mut dyn FnMut()| if is_asked(1, operation) { time(run) } else { f64::NAN };
        let created =
            when("create", &mut || drop(black_box(validator.validate(schema, black_box(&object), None, &create))));
        let updated = when("relabel", &mut || {
            drop(black_box(validator.validate(schema, black_box(&new), Some(&object), &update)))
        });
        // As the server does it: what is as it was has been found out when the object came into its canonical form.
        let mut stored_anew = new.clone();
        let known = Comparison::canonical(schema, &mut stored_anew, &object);
        let compared = when("compared", &mut || {
            drop(black_box(validator.validate_update(schema, &black_box(&known).clone(), &update)));
        });
        let share = compared / created * 100.0;
        println!("{name:<12} {created:>9.0} ns {updated:>9.0} ns {compared:>9.0} ns {share:>7.1}%");
    }
}
