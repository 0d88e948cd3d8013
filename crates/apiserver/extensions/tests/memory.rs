//! The memory of a definition's resources, in allocated bytes, which are the same on every machine. Guarantees that a
//! definition without objects holds little more than the text of its schemas.

use allocation_counter::measure;
use pintle_extensions::resource::resources;
use pintle_schema::{Map, Str, Value, value};
use std::sync::Arc;

/// Names that are too long to be stored in place, as most are.
fn properties(count: usize, property: &Value) -> Value {
    let entries = (0..count).map(|at| (Str::new(format!("aPropertyWithALongName{at:03}")), property.clone()));
    Value::Map(entries.collect::<Map>())
}

/// 400 fields on two levels.
fn schema() -> Value {
    let leaf =
        value!({"type": "string", "maxLength": 64, "description": "What a field of this name means to a controller."});
    let inner = value!({"type": "object", "properties": (properties(20, &leaf))});
    value!({"type": "object", "properties": {"spec": {"type": "object", "properties": (properties(20, &inner))}}})
}

fn definition(spec: Value) -> Value {
    let names = value!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    let mut definition = value!({
        "spec": {"group": "g.example.com", "scope": "Namespaced", "names": (names.clone())},
        "status": {"acceptedNames": (names)}
    });
    if let (Value::Map(more), Some(Value::Map(map))) = (spec, definition.get_mut("spec")) {
        for (name, value) in more.iter() {
            map.set(name.clone(), value.clone());
        }
    }
    definition
}

/// The memory of a version besides its schema: names, and tables of functions.
const OF_VERSION_BYTES: usize = 8 << 10;

#[test]
fn a_definition_without_objects_holds_the_text_of_its_schemas() {
    let schema = schema();
    let text = pintle_codec::json::to_vec(&schema).len();
    let shared = definition(value!({
        "validation": {"openAPIV3Schema": (schema.clone())},
        "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true}]
    }));
    let own = definition(value!({
        "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": (schema.clone())}},
            {"name": "v2", "served": true, "schema": {"openAPIV3Schema": (schema)}}
        ]
    }));
    let webhooks = Arc::default();
    for (definition, texts) in [(shared, 1), (own, 2)] {
        let mut made = Vec::new();
        let held = measure(|| made = resources(&definition, &webhooks)).bytes_current;
        assert_eq!(made.len(), 2);
        let allowed = texts * text + 2 * OF_VERSION_BYTES;
        assert!(usize::try_from(held).is_ok_and(|held| held <= allowed), "{held} bytes, {allowed} are allowed");
        // OpenAPI reads the schema and does not keep it.
        let custom = made[0].0.custom.clone().expect("a custom kind");
        let published = measure(|| drop(custom.openapi(pintle_resource::OpenApiVersion::V3, ""))).bytes_current;
        assert!(published < 4096, "{published} bytes are kept");
        // The schema is the one that was given.
        let field = ["spec", "aPropertyWithALongName003", "aPropertyWithALongName007"];
        let mut object =
            value!({"spec": {"aPropertyWithALongName003": {"aPropertyWithALongName007": "a", "other": 1}}});
        let unknown = custom.coerce(&mut object).expect("an object");
        assert_eq!((object.at(&field).and_then(Value::as_str), unknown.len()), (Some("a"), 1));
    }
}
