//! The derive's output, from outside: schemas, canonical form, typed access.

use pintle_schema::{
    ApiType, ApiValue, FieldDefault, Literal, Presence, Type, Value, View, ViewMut, canonicalize, string_type, value,
};
use std::collections::BTreeMap;

string_type! {
    /// What happens when a thing ends.
    #[closed]
    pub Policy {
        /// Start it again.
        ALWAYS = "Always",
        /// Leave it.
        NEVER = "Never",
    }
}

/// A thing.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Thing {
    /// Where the thing
    /// stands.
    #[k8s(proto = 1)]
    pub spec: ThingSpec,
    #[k8s(proto = 2, always)]
    pub ready: i32,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 4, name = "gone"))]
pub struct ThingSpec {
    #[k8s(proto = 1, optional, default = 1)]
    pub replicas: Option<i32>,
    #[k8s(proto = 2, optional)]
    pub policy: Policy,
    #[k8s(proto = 3, optional, list_type = map, list_map_keys("name"))]
    pub parts: Vec<Part>,
    #[k8s(proto = 5, name = "clusterIP")]
    pub cluster_ip: String,
    #[k8s(inline, proto = 6)]
    pub source: Source,
    #[k8s(proto = 7)]
    pub labels: BTreeMap<String, String>,
    /// A type may contain itself.
    #[k8s(proto = 8)]
    pub inner: Option<Box<ThingSpec>>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Part {
    #[k8s(proto = 1, always)]
    pub name: String,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Source {
    #[k8s(proto = 1)]
    pub disk: Option<Part>,
}

#[test]
fn the_schema_says_what_the_tags_say() {
    let schema = ThingSpec::schema();
    let replicas = schema.field("replicas").expect("declared");
    assert_eq!((replicas.proto, replicas.presence), (1, Presence::Pointer));
    assert_eq!(replicas.default, Some(FieldDefault::Literal(Literal::Int(1))));
    assert_eq!(schema.field("clusterIP").map(|field| field.proto), Some(5));
    assert!(schema.field("disk").is_some(), "fields of inlined structs stand among the owner's");
    assert!(schema.field("source").is_none());
    let Some(Type::Enum(policy)) = schema.field("policy").map(|field| &field.ty) else { panic!("policy is an enum") };
    assert!(policy.closed);
    assert_eq!(policy.values[1].value.as_str(), "Never");
    assert_eq!(Thing::schema().field("spec").map(|field| field.doc.as_str()), Some("Where the thing stands."));
    assert!(Thing::schema().type_at(&["spec", "parts", "name"]).is_some());
}

#[test]
fn canonical_form_is_what_go_prints() {
    let mut object = value!({"ready": null, "spec": {
        "labels": {"b": "2", "a": "1"}, "clusterIP": "", "replicas": 0, "parts": [{}], "policy": "Never", "disk": {}, "unknown": 1
    }});
    canonicalize(Thing::schema(), &mut object);
    let wanted = value!({"spec": {
        "replicas": 0, "policy": "Never", "parts": [{"name": ""}], "disk": {"name": ""}, "labels": {"a": "1", "b": "2"}
    }, "ready": 0});
    assert_eq!(object, wanted);
    let again = object.clone();
    canonicalize(Thing::schema(), &mut object);
    assert_eq!(object, again);
}

#[test]
fn structs_go_to_values_and_back() {
    let thing = Thing {
        spec: ThingSpec {
            replicas: Some(3),
            source: Source { disk: Some(Part { name: "d".into() }) },
            inner: Some(Box::default()),
            ..ThingSpec::default()
        },
        ready: 2,
    };
    assert_eq!(Thing::from_value(&thing.to_value()), Ok(thing));
    assert!(Thing::from_value(&value!({"spec": {"replicas": "three"}})).is_err());
}

#[test]
fn views_read_and_write_by_typed_names() {
    let mut object = value!({"spec": {"parts": [{"name": "a"}, {"name": "b"}]}});
    let names: Vec<String> = View::<Thing>::new(&object)
        .field(Thing::SPEC)
        .field(ThingSpec::PARTS)
        .iter()
        .map(|part| part.field(Part::NAME).get())
        .collect();
    assert_eq!(names, ["a", "b"]);
    ViewMut::<Thing>::new(&mut object).field(Thing::SPEC).field(ThingSpec::REPLICAS).set(Some(2));
    ViewMut::<Thing>::new(&mut object)
        .field(Thing::SPEC)
        .field(ThingSpec::SOURCE)
        .field(Source::DISK)
        .set(Part { name: "d".into() });
    assert_eq!(object.at(&["spec", "disk", "name"]), Some(&Value::from("d")));
    assert_eq!(View::<Thing>::new(&object).field(Thing::SPEC).field(ThingSpec::REPLICAS).get(), Some(2));
}
