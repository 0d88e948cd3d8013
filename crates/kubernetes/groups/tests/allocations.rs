//! What validation of a valid object allocates, and how many rules an update runs. Counts, not times: they decide the same everywhere.
//! Guarantees the bounds that docs/validation.md states.

mod objects;

use allocation_counter::measure;
use pintle_schema::{Struct, Value};
use pintle_validation::{Operation, ValidationResult, Validator};

/// The rules of a kind.
fn validator(schema: &'static Struct) -> &'static Validator {
    let resource = pintle_groups::all().find(|resource| std::ptr::eq(resource.stored_schema(), schema));
    &resource.expect("a built-in kind").rules
}

fn validate(schema: &'static Struct, new: &Value, old: Option<&Value>) -> ValidationResult {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    validator(schema).validate(schema, new, old, &objects::request(operation))
}

/// What validation may allocate: a new pod with three containers, and a new ConfigMap. An update that changes a label allocates nothing.
const OF_POD: u64 = 8;
const OF_CONFIG_MAP: u64 = 0;

#[test]
fn valid_objects_allocate_next_to_nothing() {
    for ((schema, object), bound) in [(objects::pod(), OF_POD), (objects::config_map(), OF_CONFIG_MAP)] {
        let name = schema.name.as_str();
        // The first time, plans are compiled.
        assert_eq!(validate(schema, &object, None).errors.0, [], "{name}");
        let created = measure(|| drop(validate(schema, &object, None))).count_total;
        assert!(created <= bound, "{name}: {created}");
        let new = objects::relabelled(schema, &object);
        assert_eq!(validate(schema, &new, Some(&object)).errors.0, [], "{name}");
        let updated = measure(|| drop(validate(schema, &new, Some(&object)))).count_total;
        assert_eq!(updated, 0, "{name}");
    }
}

#[test]
fn what_is_wrong_does_allocate() {
    // The counter counts: or the bounds above would hold for anything.
    let (schema, mut object) = objects::pod();
    object.set_at(&["spec", "restartPolicy"], "Sometimes");
    let verdict = validate(schema, &object, None);
    assert_eq!(verdict.errors.0.len(), 1);
    assert!(measure(|| drop(validate(schema, &object, None))).count_total > OF_POD);
}

#[test]
fn a_label_costs_a_tenth_of_a_new_object() {
    let (schema, object) = objects::pod();
    let created = validate(schema, &object, None).steps;
    let updated = validate(schema, &objects::relabelled(schema, &object), Some(&object)).steps;
    assert!(created > 100 && updated * 10 <= created, "{updated} of {created} rules");
}
