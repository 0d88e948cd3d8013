//! Protobuf, byte by byte: the layout of each form, the envelope, and rejected input.

mod common;

use common::Thing;
use pintle_codec::protobuf;
use pintle_schema::{ApiType, Value, canonicalize, value};

fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    protobuf::encode(Thing::schema(), value, &mut out);
    out
}

#[test]
fn plain_fields_are_written_even_when_zero() {
    // metadata { name "", generation 0 }, spec { policy "", enabled false, source {} }
    let wanted = [0x0a, 4, 0x0a, 0, 0x18, 0, 0x12, 6, 0x1a, 0, 0x20, 0, 0x32, 0];
    assert_eq!(encode(&Value::map()), wanted);
    let mut decoded = protobuf::decode(Thing::schema(), &wanted).expect("valid");
    canonicalize(Thing::schema(), &mut decoded);
    assert_eq!(decoded, value!({"metadata": {}, "spec": {"enabled": false}}));
}

#[test]
fn each_form_has_its_bytes() {
    let zero = encode(&Value::map()).len();
    for (spec, wanted) in [
        (value!({"replicas": (-1)}), &b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..]),
        (value!({"ratio": (Value::Float(1.0))}), b"\x29\0\0\0\0\0\0\xf0\x3f"),
        (
            value!({"limits": {"b": "1", "a": "2"}}),
            b"\x3a\x08\x0a\x01a\x12\x03\x0a\x012\x3a\x08\x0a\x01b\x12\x03\x0a\x011",
        ),
        (value!({"numbers": [1, 300]}), b"\x48\x01\x48\xac\x02"),
        (value!({"data": {"a": "Zm9v"}}), b"\x52\x08\x0a\x01a\x12\x03foo"),
        (value!({"port": 80}), b"\x5a\x06\x08\0\x10\x50\x1a\0"),
        (value!({"port": "x"}), b"\x5a\x07\x08\x01\x10\0\x1a\x01x"),
        (value!({"renewed": "1970-01-01T00:00:01.000002Z"}), b"\x62\x05\x08\x01\x10\xd0\x0f"),
        (value!({"timeout": "2ns"}), b"\x6a\x02\x08\x02"),
        (value!({"raw": (Value::Raw("{ \"a\":1.0}".into()))}), b"\x72\x0c\x0a\x0a{ \"a\":1.0}"),
        (value!({"extra": {"k": ["v"]}}), b"\x8a\x01\x08\x0a\x01k\x12\x03\x0a\x01v"),
        (value!({"more": true}), b"\x92\x01\x02\x08\x01"),
    ] {
        let object = value!({"spec": (spec.clone())});
        let bytes = encode(&object);
        let found = bytes.windows(wanted.len()).any(|window| window == wanted);
        assert!(found && bytes.len() == zero + wanted.len(), "{spec:?}: {bytes:x?}");
        let mut decoded = protobuf::decode(Thing::schema(), &bytes).expect("valid");
        let mut object = object;
        canonicalize(Thing::schema(), &mut decoded);
        canonicalize(Thing::schema(), &mut object);
        assert_eq!(decoded, object);
    }
}

#[test]
fn long_messages_get_long_lengths() {
    let name = "n".repeat(20_000);
    let object = value!({"metadata": {"name": (name.as_str())}});
    let bytes = encode(&object);
    assert_eq!(bytes[..4], [0x0a, 0xa6, 0x9c, 0x01]);
    assert_eq!(protobuf::decode(Thing::schema(), &bytes).expect("valid").str_at(&["metadata", "name"]), name);
}

#[test]
fn the_envelope_holds_what_the_object_is() {
    let object = value!({"metadata": {"name": "a"}});
    let mut direct = Vec::new();
    protobuf::encode_object("v1", "Thing", Thing::schema(), &object, &mut direct);
    let mut wrapped = Vec::new();
    protobuf::encode_envelope("v1", "Thing", &encode(&object), &mut wrapped);
    assert_eq!(direct, wrapped);
    let raw = encode(&object);
    let mut spliced = Vec::new();
    let end = protobuf::open_envelope("v1", "Thing", raw.len(), &mut spliced);
    assert_eq!(direct, [&spliced, &raw, end].concat());
    assert_eq!(direct[..17], *b"k8s\0\x0a\x0b\x0a\x02v1\x12\x05Thing");
    let envelope = protobuf::decode_envelope(&direct).expect("valid");
    assert_eq!((envelope.api_version, envelope.kind, envelope.content_type), ("v1", "Thing", ""));
    assert_eq!(envelope.raw, encode(&object));
    assert!(protobuf::decode_envelope(b"{}").is_err());
    for (bytes, wanted) in [(b"".as_slice(), "empty data"), (b"k8s\0", "empty body")] {
        assert_eq!(protobuf::decode_envelope(bytes).map_err(|error| error.to_string()), Err(wanted.to_owned()));
    }
}

#[test]
fn broken_messages_are_refused_and_unknown_numbers_passed_over() {
    let schema = Thing::schema();
    for bytes in [
        &b"\x0a"[..],
        b"\x0a\x05a",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x08\x01",
        b"\x00",
        b"\x0b",
        b"\x12\x02\x0a\x00",
    ] {
        assert!(protobuf::decode(schema, bytes).is_err(), "{bytes:x?}");
    }
    let unknown = b"\xf8\x07\x05\xfd\x07\0\0\0\0\xfa\x07\x01x\xf9\x07\0\0\0\0\0\0\0\0";
    assert_eq!(protobuf::decode(schema, unknown), Ok(Value::map()));
    // spec { inner { inner { ... } } }
    let mut deep = Vec::new();
    for _ in 0..3_000 {
        let mut outer = Vec::new();
        outer.push(0x42);
        let mut length = deep.len();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(&deep);
        deep = outer;
    }
    let inner = schema.field("spec").and_then(|field| field.ty.as_struct()).expect("a struct");
    assert!(protobuf::decode(inner, &deep).is_err());
}

#[test]
fn sets_that_are_no_json_are_kept_for_who_reads_them() {
    for (json, wanted) in [
        ("{\"f:a\":{}}", Value::Raw("{\"f:a\":{}}".into())),
        ("{}{}", value!("{}{}")),
        ("{\"f:a\":", value!("{\"f:a\":")),
        ("", value!("")),
    ] {
        let length = json.len() as u8;
        let mut bytes = vec![0x12, length + 5, 0x82, 1, length + 2, 0x0a, length];
        bytes.extend_from_slice(json.as_bytes());
        let decoded = protobuf::decode(Thing::schema(), &bytes).expect("valid");
        assert_eq!(decoded.at(&["spec", "fields"]), Some(&wanted), "{json}");
    }
}

#[test]
fn entries_of_a_map_may_come_in_any_order_and_the_last_of_a_key_counts() {
    use pintle_types::core::v1::ConfigMap;
    let entry = |key: u8, value: u8| [0x12, 6, 0x0a, 1, key, 0x12, 1, value];
    let bytes = [entry(b'b', b'1'), entry(b'a', b'2'), entry(b'b', b'3')].concat();
    let decoded = protobuf::decode(ConfigMap::schema(), &bytes).expect("valid");
    assert_eq!(decoded.get("data"), Some(&value!({"b": "3", "a": "2"})));
}
