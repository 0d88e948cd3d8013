//! A schema built at run time, compared with a tagged struct of the same shape: decoding, pruning, defaulting and validation
//! are equal. Guarantees that dropping a schema frees its memory, with everything compiled from it.

use pintle_codec::Strictness;
use pintle_codec::json;
use pintle_resource::{DefaultFunctions, UNDATED};
use pintle_schema::rules::Rule;
use pintle_schema::{
    ApiType, Enum, EnumValue, Field, FieldDefault, Form, Keys, List, ListKind, MapType, Presence, Ref, Slice, Struct,
    Text, Type, Value, canonicalize, string_type, value,
};
use pintle_validation::{FieldError, Operation, Request, Validator};
use std::collections::BTreeMap;
use std::sync::Arc;

string_type! {
    /// How it is painted.
    #[closed]
    pub Color {
        /// Red.
        RED = "Red",
        /// Blue.
        BLUE = "Blue",
    }
}

/// A widget.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Widget {
    /// The description.
    #[k8s(proto = 1, optional)]
    pub kind: String,
    /// Its parts.
    #[k8s(proto = 2, optional)]
    pub spec: Option<WidgetSpec>,
}

/// The parts of a widget.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WidgetSpec {
    /// The color.
    #[k8s(proto = 1, optional, enum)]
    pub color: Option<Color>,
    /// The size.
    #[k8s(proto = 2, optional, default = 3, minimum = 1)]
    pub size: Option<i64>,
    /// The code.
    #[k8s(proto = 3, optional, pattern = "[a-z]+-[0-9]{2}")]
    pub code: Option<String>,
    /// The host.
    #[k8s(proto = 4, optional, format = "dns1123-label")]
    pub host: Option<String>,
    /// Each part once.
    #[k8s(proto = 5, optional, list_type = set, unique, max_items = 3, each_val(min_length = 2))]
    pub parts: Vec<String>,
    /// The ports.
    #[k8s(proto = 6, optional, list_type = map, list_map_keys("name"), unique)]
    pub ports: Vec<Port>,
    /// Marks by name.
    #[k8s(proto = 7, optional, each_key(max_length = 4), each_val(maximum = 9))]
    pub marks: BTreeMap<String, i64>,
}

/// A port.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Port {
    /// Its name.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Its number.
    #[k8s(proto = 2, optional, default = 80)]
    pub number: Option<i64>,
}

fn shared<T>(value: T) -> Ref<T> {
    Ref::Shared(Arc::new(value))
}

fn text(text: &str) -> Text {
    // Not known at compile time.
    Text::Shared(text.chars().collect::<String>().into())
}

fn rules<const N: usize>(rules: [Rule; N]) -> Slice<Rule> {
    Slice::Shared(Arc::new(rules))
}

fn field(name: &str, ty: Type, presence: Presence, rules: Slice<Rule>) -> Field {
    Field {
        name: text(name),
        proto: 0,
        ty,
        presence,
        inline: false,
        optional: true,
        required: false,
        nullable: false,
        default: None,
        doc: text(""),
        patch_strategy: "",
        patch_merge_key: "",
        atomic: None,
        gates: &[],
        rules,
    }
}

fn with_default(field: Field, default: Value) -> Field {
    Field { default: Some(FieldDefault::Value(Arc::new(default))), ..field }
}

fn object(name: &str, fields: Vec<Field>) -> Struct {
    let mut by_name: Vec<u16> = (0..fields.len() as u16).collect();
    by_name.sort_by_key(|at| fields[usize::from(*at)].name.to_string());
    Struct {
        name: text(name),
        module: text(""),
        doc: text(""),
        by_name: Slice::Shared(by_name.into()),
        fields: Slice::Shared(fields.into()),
        atomic: false,
        form: Form::Plain,
        rules: Slice::Static(&[]),
        union: None,
        preserve_unknown: false,
        compiled: Default::default(),
    }
}

/// The schema of `Widget` as a definition would give it.
fn widget() -> Struct {
    use Presence::{Always, OmitEmpty, Pointer};
    let value = |name: &str| EnumValue { value: text(name), doc: text("") };
    let color = Enum {
        name: text("Color"),
        module: text(""),
        doc: text(""),
        closed: true,
        values: Slice::Shared(Arc::new([value("Red"), value("Blue")])),
    };
    let list = |elem: Type, kind: ListKind| Type::List(shared(List { elem, kind, declared: true }));
    let port = object(
        "Port",
        vec![
            Field { optional: false, ..field("name", Type::String, Always, rules([])) },
            with_default(field("number", Type::Int64, Pointer, rules([])), value!(80)),
        ],
    );
    let keys = Keys::Shared(Arc::new(["name".into()]));
    let spec = object(
        "WidgetSpec",
        vec![
            field("color", Type::Enum(shared(color)), Pointer, rules([Rule::Optional, Rule::Enum(&[])])),
            with_default(field("size", Type::Int64, Pointer, rules([Rule::Optional, Rule::Minimum(1)])), value!(3)),
            field("code", Type::String, Pointer, rules([Rule::Optional, Rule::Pattern(text("[a-z]+-[0-9]{2}"))])),
            field("host", Type::String, Pointer, rules([Rule::Optional, Rule::Format("dns1123-label")])),
            field(
                "parts",
                list(Type::String, ListKind::Set),
                OmitEmpty,
                rules([
                    Rule::Optional,
                    Rule::Unique(&[]),
                    Rule::MaxItems(3),
                    Rule::EachVal(rules([Rule::MinLength(2)])),
                ]),
            ),
            field(
                "ports",
                list(Type::Struct(shared(port)), ListKind::Map(keys)),
                OmitEmpty,
                rules([Rule::Optional, Rule::Unique(&[])]),
            ),
            field(
                "marks",
                Type::Map(shared(MapType { elem: Type::Int64 })),
                OmitEmpty,
                rules([
                    Rule::Optional,
                    Rule::EachKey(rules([Rule::MaxLength(4)])),
                    Rule::EachVal(rules([Rule::Maximum(9)])),
                ]),
            ),
        ],
    );
    object(
        "Widget",
        vec![
            field("kind", Type::String, OmitEmpty, rules([])),
            field("spec", Type::Struct(shared(spec)), Pointer, rules([])),
        ],
    )
}

/// The result of decoding a body: the object, the dropped fields, and the errors.
fn taken(schema: &Struct, body: &str) -> (Value, Vec<String>, Vec<String>) {
    let decoded = json::decode(schema, body.as_bytes(), Strictness::Collect).expect("JSON of the schema's types");
    let dropped = decoded.problems.iter().map(ToString::to_string).collect();
    let mut object = decoded.value;
    DefaultFunctions::new([]).apply(schema, &mut object, UNDATED);
    canonicalize(schema, &mut object);
    let found = Validator::new(&[]).validate(schema, &object, None, &Request::new(Operation::Create));
    // Neither has metadata, which has the same errors in both.
    let lines = found.errors.0.iter().map(FieldError::line).filter(|line| !line.starts_with("metadata")).collect();
    (object, dropped, lines)
}

const BODIES: [(&str, usize); 8] = [
    (r#"{"kind":"Widget","spec":{}}"#, 0),
    (r#"{"spec":{"color":"Red","size":1,"code":"ab-12","host":"a","parts":["aa","bb"],"marks":{"a":9}}}"#, 0),
    (r#"{"spec":{"color":"Green","size":0,"code":"ab-123","host":"A"}}"#, 4),
    (r#"{"spec":{"parts":["a","a"]}}"#, 3),
    (r#"{"spec":{"parts":["aa","bb","cc","dd"]}}"#, 1),
    (r#"{"spec":{"ports":[{"name":"a"},{"name":"b","number":1},{"name":"a","number":2,"other":{}}],"more":1}}"#, 1),
    (r#"{"spec":{"marks":{"a":10,"bbbbb":1}}, "status":{"a":1}}"#, 2),
    (r#"{"spec":{"size":null,"parts":null,"color":null}}"#, 0),
];

#[test]
fn a_schema_of_run_time_does_what_a_tagged_struct_does() {
    let runtime = widget();
    for (body, wrong) in BODIES {
        let of_struct = taken(Widget::schema(), body);
        let of_runtime = taken(&runtime, body);
        assert_eq!(of_runtime, of_struct, "{body}");
        assert_eq!(of_struct.2.len(), wrong, "{body}: {:?}", of_struct.2);
    }
}

#[test]
fn any_value_may_be_a_default() {
    let sizes = Type::List(shared(List { elem: Type::Int64, kind: ListKind::Atomic, declared: true }));
    let labels = Type::Map(shared(MapType { elem: Type::String }));
    let any = Type::Any;
    let inner = object("Inner", vec![with_default(field("a", Type::Int64, Presence::Pointer, rules([])), value!(7))]);
    let fields = vec![
        with_default(field("sizes", sizes, Presence::Pointer, rules([])), value!([1, 2])),
        with_default(field("labels", labels, Presence::Pointer, rules([])), value!({"a": "b"})),
        with_default(field("any", any, Presence::Pointer, rules([])), value!({"a": [1, "x", null]})),
        with_default(field("inner", Type::Struct(shared(inner)), Presence::Pointer, rules([])), Value::map()),
    ];
    let (object, ..) = taken(&object("Object", fields), "{}");
    let full = value!({"sizes": [1, 2], "labels": {"a": "b"}, "any": {"a": [1, "x", null]}, "inner": {"a": 7}});
    assert_eq!(object, full);
}

#[test]
fn dropping_a_schema_frees_it() {
    let pattern: Arc<str> = "[a-z]+".into();
    let name: Arc<str> = "name".into();
    let values: Arc<[EnumValue]> = Arc::new([EnumValue { value: Text::Shared(name.clone()), doc: text("") }]);
    let default = Arc::new(value!("a"));
    let named =
        Enum { name: text("E"), module: text(""), doc: text(""), closed: true, values: Slice::Shared(values.clone()) };
    let own: Arc<[Rule]> = Arc::new([Rule::Optional, Rule::Pattern(Text::Shared(pattern.clone()))]);
    let each: Arc<[Rule]> = Arc::new([Rule::EachVal(Slice::Shared(own.clone()))]);
    let of_named = Type::Enum(shared(named));
    let list = Type::List(shared(List { elem: Type::String, kind: ListKind::Atomic, declared: true }));
    let schema = object(
        "Object",
        vec![
            Field {
                default: Some(FieldDefault::Value(default.clone())),
                ..field("e", of_named, Presence::Pointer, rules([Rule::Optional, Rule::Enum(&[])]))
            },
            field("l", list, Presence::OmitEmpty, Slice::Shared(each.clone())),
        ],
    );
    // Plans of defaulting and validation are compiled and kept with it.
    assert_eq!(taken(&schema, r#"{"l":["A"]}"#).2.len(), 2);
    let shares = || {
        [
            Arc::strong_count(&pattern),
            Arc::strong_count(&name),
            Arc::strong_count(&values),
            Arc::strong_count(&default),
            Arc::strong_count(&each),
        ]
    };
    assert!(shares().iter().all(|count| *count > 1), "{:?}", shares());
    drop(schema);
    drop(own);
    assert_eq!(shares()[2..], [1, 1, 1]);
    drop((values, each));
    assert_eq!([Arc::strong_count(&pattern), Arc::strong_count(&name)], [1, 1]);
}
