//! Items as rows of bytes, and the error messages.

use super::*;
use pintle_schema::{ApiType, canonicalize, value};
use pintle_types::core::v1::{ConfigMap, Secret};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.bytes().filter_map(|byte| char::from(byte).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn items_read_as_their_json() {
    let rows = [
        ("00", "0"),
        ("1b7fffffffffffffff", "9223372036854775807"),
        ("3b7fffffffffffffff", "-9223372036854775808"),
        ("f93e00", "1.5"),
        ("fa47c35000", "100000"),
        ("fb3ff199999999999a", "1.1"),
        ("f4", "false"),
        ("f6", "null"),
        ("63616263", r#""abc""#),
        ("43616263", r#""abc""#),
        ("5f4161426263ff", r#""abc""#),
        ("d64401020304", r#""AQIDBA==""#),
        ("d544fbff0304", r#""-_8DBA""#),
        ("d743010aff", r#""010aff""#),
        ("d6 82 4101 4102", r#"["AQ==","Ag=="]"#),
        ("9f0102ff", "[1,2]"),
        ("bf41610141620eff", r#"{"a":1,"b":14}"#),
        ("d9d9f7a1416180", r#"{"a":[]}"#),
        ("c074323031332d30332d32315432303a30343a30305a", r#""2013-03-21T20:04:00Z""#),
        ("c11a514b67b0", r#""2013-03-21T20:04:00Z""#),
        ("c1fb41d452d9ec200000", r#""2013-03-21T20:04:00.500000Z""#),
        ("d8646161", r#""a""#),
    ];
    for (hex, expected) in rows {
        assert_eq!(parse(&bytes(hex)).map(|value| json::to_string(&value)), Ok(expected.to_owned()), "{hex}");
    }
}

#[test]
fn what_json_has_no_form_for_is_refused() {
    let deep = format!("{}00", "81".repeat(limits() + 1));
    let rows = [
        ("", "EOF"),
        ("8201", "unexpected EOF"),
        ("5a00ffffff61", "unexpected EOF"),
        ("0000", "cbor: 1 bytes of extraneous data starting at index 1"),
        ("1c", "cbor: invalid additional information 28 for type positive integer"),
        ("ff", "cbor: unexpected \"break\" code"),
        ("5f01ff", "cbor: wrong element type positive integer for indefinite-length byte string"),
        ("61ff", "cbor: invalid UTF-8 string"),
        (
            "1bffffffffffffffff",
            "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)",
        ),
        ("a2 4161 01 6161 02", "cbor: found duplicate map key \"a\" at map element index 1"),
        ("a10102", "cbor: cannot unmarshal positive integer into Go value of type string"),
        ("f97e00", "cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN"),
        ("f97c00", "cbor: data item of cbor type primitives is not accepted by protocol: floating-point infinity"),
        (
            "f7",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is not recognized",
        ),
        ("c24101", "cbor: data item of cbor type tag is not accepted by protocol: bignum"),
        ("9a00000401", "cbor: exceeded max number of elements 1024 for CBOR array"),
        ("b9ffff", "cbor: exceeded max number of key-value pairs 1024 for CBOR map"),
        (&deep, "cbor: exceeded max nested level 64"),
    ];
    for (hex, expected) in rows {
        let found = parse(&bytes(hex)).map_err(|error| error.to_string());
        assert_eq!(found, Err(expected.to_owned()), "{hex}");
    }
}

fn limits() -> usize {
    crate::limits::CBOR_DEPTH
}

#[test]
fn tags_cost_no_level() {
    let tags = 100_000;
    let wrapped = [[0xd9, 0xd9, 0xf7].repeat(tags), [0xd7, 0xd7, 0x41, 0xff].to_vec()].concat();
    assert_eq!(parse(&wrapped), Ok("ff".into()), "and the innermost says how bytes are shown");
    let times = [[0xc0].repeat(tags), [0x60].to_vec()].concat();
    assert!(parse(&times).is_err());
    // A tag applies to the next item only.
    assert_eq!(parse(&bytes("83 d5 82 41fb d7 41fb 4162 4161")), Ok(value!([["-w", "fb"], "b", "a"])));
}

#[test]
fn bytes_are_tagged_and_keys_sorted() {
    let mut secret =
        value!({"kind": "Secret", "apiVersion": "v1", "data": {"b": "aGVsbG8=", "a": ""}, "immutable": true});
    canonicalize(Secret::schema(), &mut secret);
    let mut out = Vec::new();
    encode(Secret::schema(), &secret, &mut out);
    let expected = [
        "d9d9f7 a5",
        "44 64617461 a2 4161 d6 40 4162 d6 45 68656c6c6f",
        "44 6b696e64 46 536563726574",
        "48 6d65746164617461 a0",
        "49 696d6d757461626c65 f5",
        "4a 61706956657273696f6e 42 7631",
    ];
    assert_eq!(out, bytes(&expected.concat()));
    let decoded = decode(Secret::schema(), &out, Strictness::Collect).expect("what was written is read");
    let mut again = decoded.value;
    canonicalize(Secret::schema(), &mut again);
    assert_eq!((again, decoded.problems), (secret, Vec::new()));
}

#[test]
fn mismatches_have_the_reference_messages() {
    let head = "4a 61706956657273696f6e 42 7631 44 6b696e64 49 436f6e6669674d6170";
    let rows = [
        ("44 64617461 a1 4161 05", "positive integer into Go struct field v1.ConfigMap.data of type string"),
        ("44 64617461 81 05", "array into Go struct field v1.ConfigMap.data of type map[string]string"),
        ("48 6d65746164617461 05", "positive integer into Go struct field v1.ConfigMap.metadata of type v1.ObjectMeta"),
        (
            "48 6d65746164617461 80",
            "array into Go struct field v1.ConfigMap.metadata of type v1.ObjectMeta (cannot decode CBOR array to struct \
             without toarray option)",
        ),
        (
            "48 6d65746164617461 a1 51 6372656174696f6e54696d657374616d70 f5",
            "primitives into Go struct field v1.ConfigMap.metadata of type string",
        ),
        (
            "48 6d65746164617461 a1 4a 67656e65726174696f6e f93c00",
            "primitives into Go struct field v1.ConfigMap.metadata of type int64",
        ),
        ("49 696d6d757461626c65 4161", "byte string into Go struct field v1.ConfigMap.immutable of type bool"),
    ];
    for (field, expected) in rows {
        let found = decode(ConfigMap::schema(), &bytes(&format!("a3 {head} {field}")), Strictness::Ignore);
        assert_eq!(
            found.map_err(|error| error.to_string()),
            Err(format!("cbor: cannot unmarshal {expected}")),
            "{field}"
        );
    }
    let unknown = bytes(&format!("a4 {head} 41 78 05 48 6d65746164617461 a1 41 79 05"));
    let found = decode(ConfigMap::schema(), &unknown, Strictness::Collect).expect("it can be read");
    let reported: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    assert_eq!(reported, ["cbor: found unknown field at map element index 2"]);
}

#[test]
fn a_body_says_what_it_is() {
    let mut out = Vec::new();
    let object = value!({"kind": "ConfigMap", "apiVersion": "v1"});
    encode(ConfigMap::schema(), &object, &mut out);
    let head = type_meta(&out).expect("an object");
    assert_eq!((head.api_version.as_str(), head.kind.as_str()), ("v1", "ConfigMap"));
    let wrong = type_meta(&bytes("a1446b696e6401")).map_err(|error| error.to_string());
    let text = "cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string";
    assert_eq!(wrong, Err(text.to_owned()));
}
