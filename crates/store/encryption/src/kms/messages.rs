//! The messages of key services, version 2, and the stored form of an encrypted value. Guarantees the numbers and types
//! of kube-apiserver's fields, which other programs and stored values use. Must never check the content of a message.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::{Enumeration, Message};

/// The kind of an encrypted seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum SeedKind {
    /// A key that encrypts values itself.
    Key = 0,
    /// Keys are derived from it.
    Seed = 1,
}

/// An encrypted seed, with all that the service needs to decrypt it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncryptedSeed {
    pub kind: SeedKind,
    pub source: Bytes,
    pub key_id: String,
    pub annotations: BTreeMap<String, Vec<u8>>,
}

/// The stored form of an encrypted value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EncryptedObject {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
    #[prost(string, tag = "2")]
    key_id: String,
    #[prost(bytes = "bytes", tag = "3")]
    source: Bytes,
    #[prost(btree_map = "string, bytes", tag = "4")]
    annotations: BTreeMap<String, Vec<u8>>,
    #[prost(enumeration = "SeedKind", tag = "5")]
    kind: i32,
}

impl EncryptedObject {
    pub fn new(data: Vec<u8>, seed: EncryptedSeed) -> EncryptedObject {
        let EncryptedSeed { kind, source, key_id, annotations } = seed;
        EncryptedObject { data: data.into(), key_id, source, annotations, kind: kind.into() }
    }

    /// The encrypted data, and the seed that it was encrypted with.
    ///
    /// # Errors
    /// The bytes are not such a message, or of a later version.
    pub fn read(bytes: Bytes) -> Result<(Bytes, EncryptedSeed), String> {
        let object = EncryptedObject::decode(bytes);
        let object = object.map_err(|_| "proto: cannot parse invalid wire-format data".to_owned())?;
        let EncryptedObject { data, key_id, source, annotations, kind } = object;
        let kind = SeedKind::try_from(kind).map_err(|_| format!("unknown encryptedDEKSourceType: {kind}"))?;
        Ok((data, EncryptedSeed { kind, source, key_id, annotations }))
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusRequest {}

/// The status of a service.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusResponse {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(string, tag = "2")]
    pub healthz: String,
    #[prost(string, tag = "3")]
    pub key_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub plaintext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub uid: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EncryptResponse {
    #[prost(bytes = "bytes", tag = "1")]
    ciphertext: Bytes,
    #[prost(string, tag = "2")]
    key_id: String,
    #[prost(btree_map = "string, bytes", tag = "3")]
    annotations: BTreeMap<String, Vec<u8>>,
}

impl From<EncryptResponse> for EncryptedSeed {
    fn from(response: EncryptResponse) -> Self {
        let EncryptResponse { ciphertext, key_id, annotations } = response;
        EncryptedSeed { kind: SeedKind::Seed, source: ciphertext, key_id, annotations }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DecryptRequest {
    #[prost(bytes = "bytes", tag = "1")]
    ciphertext: Bytes,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    key_id: String,
    #[prost(btree_map = "string, bytes", tag = "4")]
    annotations: BTreeMap<String, Vec<u8>>,
}

impl DecryptRequest {
    pub fn new(seed: EncryptedSeed, uid: String) -> DecryptRequest {
        let EncryptedSeed { source, key_id, annotations, .. } = seed;
        DecryptRequest { ciphertext: source, uid, key_id, annotations }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub plaintext: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> EncryptedSeed {
        EncryptedSeed {
            kind: SeedKind::Seed,
            source: Bytes::from_static(b"source"),
            key_id: "key-1".to_owned(),
            annotations: [("a.example.com".to_owned(), b"x".to_vec())].into(),
        }
    }

    #[test]
    fn objects_round_trip_and_truncated_ones_are_rejected() {
        let mut bytes = EncryptedObject::new(b"data".to_vec(), seed()).encode_to_vec();
        let expected = b"\x0a\x04data\x12\x05key-1\x1a\x06source\x22\x12\x0a\x0da.example.com\x12\x01x\x28\x01";
        assert_eq!(bytes, expected, "these bytes are kept");
        assert_eq!(EncryptedObject::read(bytes.clone().into()), Ok((Bytes::from_static(b"data"), seed())));
        // A cut between two fields leaves a message that lacks some, which the checks of its seed find.
        for length in [1, 3, 8, 12, 20, 35] {
            assert!(EncryptedObject::read(Bytes::copy_from_slice(&bytes[..length])).is_err(), "cut to {length}");
        }
        bytes.extend(b"\x28\x02");
        let error = EncryptedObject::read(bytes.into()).expect_err("kind 2");
        assert_eq!(error, "unknown encryptedDEKSourceType: 2");
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let bytes = &b"\x0a\x02v2\x48\x01\x51AAAAAAAA\x5dBBBB\x12\x02ok\x1a\x01k"[..];
        let expected = StatusResponse { version: "v2".into(), healthz: "ok".into(), key_id: "k".into() };
        assert_eq!(StatusResponse::decode(bytes), Ok(expected));
        assert!(StatusResponse::decode(&b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..]).is_err());
        assert!(StatusResponse::decode(&b"\x0b"[..]).is_err());
    }
}
