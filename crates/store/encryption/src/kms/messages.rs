//! The messages of key services, and the form in which a sealed value is kept, in protobuf.
//! Guarantees that nothing is read beyond a message and that fields nobody knows are skipped.
//! Must never judge what a message says.

use std::collections::BTreeMap;

use bytes::Bytes;

/// What a seed in its encrypted form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SeedKind {
    /// A key that seals values itself.
    Key = 0,
    /// What keys are derived from.
    Seed = 1,
}

/// A seed as the service encrypted it, with all that the service needs to give it back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncryptedSeed {
    pub kind: SeedKind,
    pub source: Bytes,
    pub key_id: String,
    pub annotations: BTreeMap<String, Bytes>,
}

/// A sealed value as it is kept.
#[derive(Debug)]
pub(crate) struct EncryptedObject<'a> {
    pub data: &'a [u8],
    pub seed: EncryptedSeed,
}

/// How a service is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusResponse {
    pub version: String,
    pub healthz: String,
    pub key_id: String,
}

pub(crate) fn encode_object(data: &[u8], seed: &EncryptedSeed, out: &mut Vec<u8>) {
    put_bytes(1, data, out);
    put_bytes(2, seed.key_id.as_bytes(), out);
    put_bytes(3, &seed.source, out);
    put_annotations(4, &seed.annotations, out);
    if seed.kind != SeedKind::Key {
        put_varint(5 << 3, out);
        put_varint(seed.kind as u64, out);
    }
}

pub(crate) fn decode_object(bytes: &[u8]) -> Result<EncryptedObject<'_>, String> {
    let (mut data, mut kind, mut seed) = (&[][..], 0, empty_seed());
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => data = bytes,
            (2, Field::Bytes(bytes)) => seed.key_id = text(bytes)?,
            (3, Field::Bytes(bytes)) => seed.source = Bytes::copy_from_slice(bytes),
            (4, Field::Bytes(bytes)) => annotation(bytes, &mut seed.annotations)?,
            (5, Field::Number(number)) => kind = number,
            _ => {}
        }
        Some(())
    })
    .ok_or("proto: cannot parse invalid wire-format data")?;
    seed.kind = match kind {
        0 => SeedKind::Key,
        1 => SeedKind::Seed,
        other => return Err(format!("unknown encryptedDEKSourceType: {other}")),
    };
    Ok(EncryptedObject { data, seed })
}

pub(crate) fn decode_status(bytes: &[u8]) -> Option<StatusResponse> {
    let mut status = StatusResponse::default();
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => status.version = text(bytes)?,
            (2, Field::Bytes(bytes)) => status.healthz = text(bytes)?,
            (3, Field::Bytes(bytes)) => status.key_id = text(bytes)?,
            _ => {}
        }
        Some(())
    })?;
    Some(status)
}

pub(crate) fn encode_encrypt_request(plain: &[u8], uid: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(1, plain, &mut out);
    put_bytes(2, uid.as_bytes(), &mut out);
    out
}

/// The encrypted form of a seed.
pub(crate) fn decode_encrypt_response(bytes: &[u8]) -> Option<EncryptedSeed> {
    let mut seed = empty_seed();
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => seed.source = Bytes::copy_from_slice(bytes),
            (2, Field::Bytes(bytes)) => seed.key_id = text(bytes)?,
            (3, Field::Bytes(bytes)) => annotation(bytes, &mut seed.annotations)?,
            _ => {}
        }
        Some(())
    })?;
    Some(seed)
}

pub(crate) fn encode_decrypt_request(seed: &EncryptedSeed, uid: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(1, &seed.source, &mut out);
    put_bytes(2, uid.as_bytes(), &mut out);
    put_bytes(3, seed.key_id.as_bytes(), &mut out);
    put_annotations(4, &seed.annotations, &mut out);
    out
}

pub(crate) fn decode_decrypt_response(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    each_field(bytes, |number, field| {
        if let (1, Field::Bytes(bytes)) = (number, field) {
            plain = bytes.to_vec();
        }
        Some(())
    })?;
    Some(plain)
}

fn empty_seed() -> EncryptedSeed {
    EncryptedSeed { kind: SeedKind::Seed, source: Bytes::new(), key_id: String::new(), annotations: BTreeMap::new() }
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// An empty value is not written: it is what an absent one is read as.
fn put_bytes(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        put_varint(number << 3 | 2, out);
        put_varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }
}

fn put_annotations(number: u64, annotations: &BTreeMap<String, Bytes>, out: &mut Vec<u8>) {
    for (name, value) in annotations {
        let mut entry = Vec::new();
        put_bytes(1, name.as_bytes(), &mut entry);
        put_bytes(2, value, &mut entry);
        put_bytes(number, &entry, out);
    }
}

fn annotation(bytes: &[u8], annotations: &mut BTreeMap<String, Bytes>) -> Option<()> {
    let (mut name, mut value) = (String::new(), Bytes::new());
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => name = text(bytes)?,
            (2, Field::Bytes(bytes)) => value = Bytes::copy_from_slice(bytes),
            _ => {}
        }
        Some(())
    })?;
    annotations.insert(name, value);
    Some(())
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// Gives each field to `take`; `None` when the bytes are no message or `take` says so.
fn each_field<'a>(mut rest: &'a [u8], mut take: impl FnMut(u64, Field<'a>) -> Option<()>) -> Option<()> {
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut rest)?),
            1 => skip(&mut rest, 8)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let (bytes, after) = rest.split_at_checked(length)?;
                rest = after;
                Field::Bytes(bytes)
            }
            5 => skip(&mut rest, 4)?,
            _ => return None,
        };
        take(tag >> 3, field)?;
    }
    Some(())
}

fn skip<'a>(rest: &mut &[u8], length: usize) -> Option<Field<'a>> {
    *rest = rest.get(length..)?;
    Some(Field::Other)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..10 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f).checked_shl(7 * at)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> EncryptedSeed {
        EncryptedSeed {
            kind: SeedKind::Seed,
            source: Bytes::from_static(b"source"),
            key_id: "key-1".to_owned(),
            annotations: [("a.example.com".to_owned(), Bytes::from_static(b"x"))].into(),
        }
    }

    #[test]
    fn objects_come_back_and_cuts_are_refused() {
        let mut bytes = Vec::new();
        encode_object(b"data", &seed(), &mut bytes);
        let expected = b"\x0a\x04data\x12\x05key-1\x1a\x06source\x22\x12\x0a\x0da.example.com\x12\x01x\x28\x01";
        assert_eq!(bytes, expected, "these bytes are kept");
        let object = decode_object(&bytes).expect("whole");
        assert_eq!((object.data, object.seed), (&b"data"[..], seed()));
        // A cut between two fields leaves a message that lacks some; who checks it finds that.
        for length in [1, 3, 8, 12, 20, 35] {
            assert!(decode_object(&bytes[..length]).is_err(), "cut to {length}");
        }
        bytes.extend(b"\x28\x02");
        assert_eq!(decode_object(&bytes).expect_err("kind 2").as_str(), "unknown encryptedDEKSourceType: 2");
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let bytes = b"\x0a\x02v2\x48\x01\x51AAAAAAAA\x5dBBBB\x12\x02ok\x1a\x01k";
        let expected = StatusResponse { version: "v2".into(), healthz: "ok".into(), key_id: "k".into() };
        assert_eq!(decode_status(bytes), Some(expected));
        assert_eq!(decode_status(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), None);
        assert_eq!(decode_status(b"\x0b"), None);
    }

    #[test]
    fn no_bytes_are_trusted() {
        let mut state = 7u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            // Small numbers are tags and lengths that make sense.
            let bytes: Vec<u8> = (0..random() % 40).map(|_| (random() as u8) >> (random() % 8)).collect();
            let _ = (decode_object(&bytes), decode_status(&bytes), decode_decrypt_response(&bytes));
            let _ = decode_encrypt_response(&bytes);
        }
    }
}
