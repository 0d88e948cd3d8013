//! Properties of all objects and inputs: round trips lose nothing, and no input causes a panic.

mod common;

use common::Thing;
use pintle_codec::{Strictness, cbor, json, protobuf, yaml};
use pintle_schema::random::Random;
use pintle_schema::{ApiType, Value, canonicalize};

fn things(count: u64) -> impl Iterator<Item = (u64, Value)> {
    made(count, true)
}

fn made(count: u64, separators: bool) -> impl Iterator<Item = (u64, Value)> {
    (1..=count).map(move |seed| {
        let mut chance = Random::new(seed);
        chance.separators = separators;
        let mut value = chance.object(Thing::schema(), 4);
        canonicalize(Thing::schema(), &mut value);
        (seed, value)
    })
}

#[test]
fn json_there_and_back_loses_nothing() {
    for (seed, value) in things(400) {
        let text = json::to_vec(&value);
        let decoded = json::decode(Thing::schema(), &text, Strictness::Collect).unwrap_or_else(|error| {
            panic!("seed {seed}: {error}\n{}", String::from_utf8_lossy(&text));
        });
        assert_eq!(decoded.problems, [], "seed {seed}");
        assert_eq!(again(decoded.value), value, "seed {seed}");
        assert_eq!(again(json::decode_trusted(Thing::schema(), &text).expect("valid")), value, "seed {seed}");
        let tree = json::parse(&text, Strictness::Collect).expect("valid");
        assert_eq!(tree.problems, [], "seed {seed}");
        assert_eq!(json::to_vec(&tree.value), text, "seed {seed}");
        let conformed = json::conform_json(Thing::schema(), tree.value, Strictness::Collect).expect("valid");
        assert_eq!(again(conformed.value), value, "seed {seed}");
    }
}

#[test]
fn protobuf_there_and_back_loses_nothing() {
    for (seed, value) in things(400) {
        let mut bytes = Vec::new();
        protobuf::encode(Thing::schema(), &value, &mut bytes);
        let mut decoded = protobuf::decode(Thing::schema(), &bytes).expect("valid");
        // These two are in the envelope.
        for key in ["kind", "apiVersion"] {
            if let Some(text) = value.get(key) {
                decoded.set_at(&[key], text.clone());
            }
        }
        assert_eq!(json::to_string(&again(decoded)), json::to_string(&value), "seed {seed}");
    }
}

#[test]
fn a_set_of_fields_is_text_that_has_no_escapes_in_protobuf() {
    for (text, expected) in [(r#"{"f:a<b":{}}"#, r#"{"f:a<b":{}}"#), (r#"{ "f:a" : { } }"#, r#"{"f:a":{}}"#)] {
        let json = format!("{{\"spec\":{{\"fields\":{text}}}}}");
        let decoded = json::decode(Thing::schema(), json.as_bytes(), Strictness::Collect).expect("valid").value;
        assert!(matches!(decoded.at(&["spec", "fields"]), Some(Value::Raw(_))));
        let mut bytes = Vec::new();
        protobuf::encode(Thing::schema(), &decoded, &mut bytes);
        assert!(String::from_utf8_lossy(&bytes).contains(expected), "{text}");
        let again = protobuf::decode(Thing::schema(), &bytes).expect("valid");
        assert_eq!(again.at(&["spec", "fields"]), decoded.at(&["spec", "fields"]));
    }
    let empty = json::decode(Thing::schema(), br#"{"spec":{"fields":{ }}}"#, Strictness::Collect).expect("valid").value;
    assert_eq!(empty.at(&["spec", "fields"]), Some(&Value::map()));
}

#[test]
fn cbor_there_and_back_loses_nothing() {
    for (seed, value) in things(400) {
        let mut bytes = Vec::new();
        cbor::encode(Thing::schema(), &value, &mut bytes);
        let decoded = cbor::decode(Thing::schema(), &bytes, Strictness::Collect)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(decoded.problems, [], "seed {seed}");
        // Keys are sorted where there is no schema to order them.
        assert_eq!(sorted(again(decoded.value)), sorted(value), "seed {seed}");
    }
}

#[test]
fn yaml_there_and_back_loses_nothing() {
    for (seed, value) in made(200, false) {
        let text = yaml::encode(&value);
        let decoded = yaml::decode(Thing::schema(), text.as_bytes(), Strictness::Collect)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(decoded.problems, [], "seed {seed}");
        // Keys are sorted where there is no schema to order them.
        assert_eq!(sorted(again(decoded.value)), sorted(value), "seed {seed}\n{text}");
    }
}

fn again(mut value: Value) -> Value {
    canonicalize(Thing::schema(), &mut value);
    value
}

fn sorted(mut value: Value) -> Value {
    json::open(&mut value);
    match &mut value {
        Value::List(items) => items.iter_mut().for_each(|item| *item = sorted(std::mem::take(item))),
        Value::Map(map) => {
            map.iter_mut().for_each(|(_, item)| *item = sorted(std::mem::take(item)));
            map.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        _ => {}
    }
    value
}

/// Changes a few bytes: flips, cuts, repeats, and meaningful pieces.
fn mutate(chance: &mut Random, bytes: &mut Vec<u8>) {
    const PIECES: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\u",
        b"\\ud800",
        b",",
        b":",
        b"null",
        b"-",
        b"1e999",
        b"\xff",
        b"\xed\xa0\x80",
        b"&a ",
        b"*a",
        b"<<: ",
        b"\n",
        b"\n  ",
        b"- ",
        b"? ",
        b"|\n",
        b">-\n",
        b"%YAML",
        b"---",
        b"...",
        b"!!float ",
        b"\x80\x80\x80\x80\x80",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x00",
        b"\t",
        b"'",
    ];
    for _ in 0..1 + chance.below(4) {
        let at = chance.below(bytes.len() + 1);
        match chance.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 => bytes.truncate(at),
            2 => {
                let to = (at + chance.below(20)).min(bytes.len());
                let part = bytes[at..to].to_vec();
                bytes.splice(at..at, part);
            }
            3 => {
                let to = (at + chance.below(10)).min(bytes.len());
                bytes.drain(at..to);
            }
            _ => {
                let piece = PIECES[chance.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
}

#[test]
fn no_input_panics() {
    let seeds: Vec<[Vec<u8>; 4]> = things(40)
        .map(|(_, value)| {
            let mut message = Vec::new();
            protobuf::encode_object("v1", "Thing", Thing::schema(), &value, &mut message);
            let mut items = Vec::new();
            cbor::encode(Thing::schema(), &value, &mut items);
            [json::to_vec(&value), yaml::encode(&value).into_bytes(), items, message]
        })
        .collect();
    let mut chance = Random::new(7);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..8000 {
        let mut input = seeds[chance.below(seeds.len())][round % 4].clone();
        mutate(&mut chance, &mut input);
        let read = match round % 4 {
            0 => {
                let _ = json::type_meta(&input);
                let _ = json::decode_trusted(Thing::schema(), &input);
                let tree = json::parse(&input, Strictness::Collect);
                let decoded = json::decode(Thing::schema(), &input, Strictness::Collect);
                // A schema rejects more than the syntax does, and nothing else.
                assert!(tree.is_ok() || decoded.is_err());
                if let Ok(tree) = tree {
                    let _ = json::conform_json(Thing::schema(), tree.value, Strictness::Collect);
                }
                decoded.is_ok()
            }
            1 => {
                let _ = yaml::parse(&input, Strictness::Ignore);
                yaml::decode(Thing::schema(), &input, Strictness::Collect).is_ok()
            }
            2 => {
                let _ = cbor::type_meta(&input);
                cbor::decode(Thing::schema(), &input, Strictness::Collect).is_ok()
            }
            _ => {
                let _ = protobuf::decode(Thing::schema(), &input);
                match protobuf::decode_envelope(&input) {
                    Ok(envelope) => protobuf::decode(Thing::schema(), envelope.raw).is_ok(),
                    Err(_) => false,
                }
            }
        };
        if read { taken += 1 } else { refused += 1 }
    }
    assert!(taken > 500 && refused > 500, "the inputs should be of both kinds: {taken} taken, {refused} refused");
}
