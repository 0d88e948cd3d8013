//! What tables leave undecoded must not show: every kind's cells are the same with and without those fields. Nor what is
//! left open: with the ages put in later they are the same too.

use pintle_codec::json;
use pintle_resource::{Now, OPEN_AGE};
use pintle_schema::{Form, Map, Struct, Type, Value, canonicalize};

/// How deep an object is filled; types that contain themselves end here.
const DEPTH: usize = 7;

/// An object with something in every field.
fn filled(schema: &Struct, depth: usize) -> Value {
    let mut map = Map::new();
    schema.each_field(&mut |field| {
        if depth > 0 {
            map.set(field.name.to_key(), sample(&field.ty, depth - 1));
        }
    });
    Value::Map(map)
}

fn sample(ty: &Type, depth: usize) -> Value {
    match ty {
        Type::Bool => true.into(),
        Type::Int32 | Type::Int64 | Type::IntOrString => 3.into(),
        Type::Float64 => 1.5.into(),
        Type::Enum(values) => values.values.first().map_or("x", |first| first.value.as_str()).into(),
        Type::String => "x".into(),
        Type::Quantity => "2".into(),
        Type::Time => "2026-01-01T00:00:00Z".into(),
        Type::MicroTime => "2026-01-01T00:00:00.000000Z".into(),
        Type::Duration => "1s".into(),
        Type::Bytes => "eA==".into(),
        Type::Struct(inner) if inner.form == Form::Plain => filled(inner, depth),
        Type::List(list) => Value::List(vec![sample(&list.elem, depth)]),
        Type::Map(map) => Value::Map([("k".into(), sample(&map.elem, depth))].into_iter().collect()),
        _ => Value::Null,
    }
}

#[test]
fn cells_do_not_miss_what_is_passed_over() {
    let mut compared = 0;
    let mut shorter = 0;
    let mut aged = 0;
    for resource in pintle_groups::all() {
        let Some(storage) = &resource.storage else { continue };
        let schema = &storage.schema;
        let mut object = filled(schema, DEPTH);
        canonicalize(schema, &mut object);
        let text = json::to_vec(&object);
        let whole = json::decode_trusted(schema, &text).expect("just encoded");
        let part = json::decode_trusted_without(schema, &text, &resource.printer.unprinted()).expect("just encoded");
        let cells = |object: &Value, now: &Now| resource.printer.cells(object, now);
        let now = Now::At(1_800_000_000);
        let shown = cells(&whole, &now);
        assert_eq!(shown, cells(&part, &now), "{} {}", storage.api_version, storage.kind);
        let open = json::to_string(&Value::List(cells(&whole, &Now::Open)));
        let parts = open.split(OPEN_AGE).enumerate().map(|(at, part)| match at % 2 {
            0 => part.to_owned(),
            _ => now.since(part.parse().expect("seconds")),
        });
        assert_eq!(json::to_string(&Value::List(shown)), parts.collect::<String>());
        aged += usize::from(open.contains(OPEN_AGE));
        compared += 1;
        shorter += usize::from(whole != part);
    }
    assert!(compared > 60, "only {compared} kinds were compared");
    assert!(shorter > 5, "only {shorter} kinds had something to pass over");
    assert!(aged > 40, "only {aged} kinds show an age");
}
