//! Metadata of an object that replaces another: validated as new and as changed, each cause reported by both.
//! Guarantees that errors of the first step are not skipped by the second.

use pintle_schema::{Value, value};
use pintle_validation::ErrorList;
use pintle_validation::metadata::{validate_anew, validate_anew_and_update, validate_update};

fn lines(validate: impl Fn(&mut ErrorList)) -> Vec<String> {
    let mut errors = ErrorList::default();
    validate(&mut errors);
    errors.0.iter().map(|error| error.line()).collect()
}

#[test]
fn both_tell_what_they_have_in_common() {
    let old = value!({ "name": "a", "namespace": "b", "uid": "u" });
    let right = [("labels", value!({ "app": "web" })), ("finalizers", value!(["example.com/a"]))];
    let wrong = [
        ("labels", value!({ "app": "-" })),
        ("annotations", value!({ "-": "" })),
        ("finalizers", value!(["-"])),
        ("managedFields", value!([{ "manager": "\n" }])),
        ("uid", value!("other")),
    ];
    let causes = |field: &str, value: &Value| {
        let mut new = old.clone();
        new.set_at(&[field], value.clone());
        let both = lines(|errors| validate_anew_and_update(&new, &old, true, &|_, _| Vec::new(), errors));
        let each = lines(|errors| {
            validate_anew(&new, &old, true, &|_, _| Vec::new(), errors);
            validate_update(&new, &old, errors);
        });
        assert_eq!(both, each, "{field}");
        both.len()
    };
    assert_eq!(right.map(|(field, value)| causes(field, &value)), [0, 0]);
    assert_eq!(wrong.map(|(field, value)| causes(field, &value)), [2, 2, 1, 2, 1]);
}
