//! What holds for every object and every input: there and back loses nothing, and no input panics.

mod common;

use common::{Chance, Thing};
use pintle_codec::{Strictness, json, protobuf, yaml};
use pintle_schema::{ApiType, Value, canonicalize};

fn things(count: u64) -> impl Iterator<Item = (u64, Value)> {
    (1..=count).map(|seed| {
        let mut value = Chance::new(seed).object(Thing::schema(), 4);
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
        // These two stand in the envelope.
        for key in ["kind", "apiVersion"] {
            if let Some(text) = value.get(key) {
                decoded.set_at(&[key], text.clone());
            }
        }
        assert_eq!(json::to_string(&again(decoded)), json::to_string(&value), "seed {seed}");
    }
}

#[test]
fn yaml_there_and_back_loses_nothing() {
    for (seed, value) in things(200) {
        let text = yaml::encode(&value);
        let decoded = yaml::decode(Thing::schema(), text.as_bytes(), Strictness::Collect)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(decoded.problems, [], "seed {seed}");
        // Keys come out sorted where there is no schema to order them.
        assert_eq!(sorted(again(decoded.value)), sorted(value), "seed {seed}\n{text}");
    }
}

fn again(mut value: Value) -> Value {
    canonicalize(Thing::schema(), &mut value);
    value
}

fn sorted(mut value: Value) -> Value {
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

/// Changes a few bytes: flips, cuts, repeats, and pieces that mean something.
fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>) {
    const PIECES: &[&[u8]] = &[
        b"{", b"}", b"[", b"]", b"\"", b"\\u", b"\\ud800", b",", b":", b"null", b"-", b"1e999", b"\xff", b"\xed\xa0\x80", b"&a ",
        b"*a", b"<<: ", b"\n", b"\n  ", b"- ", b"? ", b"|\n", b">-\n", b"%YAML", b"---", b"...", b"!!float ", b"\x80\x80\x80\x80\x80",
        b"\x0a\xff\xff\xff\xff\x0f", b"\x00", b"\t", b"'",
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
fn fuzz_yaml() {
    let seeds: Vec<Vec<u8>> = things(60).map(|(_, value)| yaml::encode(&value).into_bytes()).collect();
    let mut extra: Vec<Vec<u8>> = vec![b"a: &x {b: c}\nd: *x\ne:\n  <<: *x\n  f: [1, 2, {g: h}]\n".to_vec(), b"? - a\n: - b\n--- \n%TAG ! tag:x\n--- !foo bar\n".to_vec(), b"a: |2-\n    x\n  y: z\nb: >+\n  text\n\n  more\n# comment\nc: 'it''s'\n".to_vec(), b"\"a\\x41\\u0041\\U00000041\\N\": {? x : y, [a]: b}\n".to_vec(), b"{ \"a\": [ \"b\", c, 'd' ] }".to_vec()];
    extra.extend(seeds);
    let mut chance = Chance::new(std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(3));
    let mut seen = std::collections::BTreeMap::new();
    std::panic::set_hook(Box::new(|info| { std::fs::write("/tmp/codec_panic", format!("{}", info)).ok(); }));
    let start = std::time::Instant::now();
    while start.elapsed().as_secs() < 60 {
        let mut input = extra[chance.below(extra.len())].clone();
        for _ in 0..chance.below(3) { mutate(&mut chance, &mut input); }
        let t = std::time::Instant::now();
        if std::panic::catch_unwind(|| { let _ = yaml::parse(&input, Strictness::Collect); }).is_err() {
            let at = std::fs::read_to_string("/tmp/codec_panic").unwrap();
            seen.entry(at.lines().next().unwrap().to_owned()).or_insert(input);
        }
    }
    for (k, v) in seen { println!("{k}\n   {:?}", String::from_utf8_lossy(&v)); }
}
