//! The size limit of objects in this server's own stores: that of etcd with its default settings. Guarantees that an object in
//! any store fits a request to etcd as kube-apiserver makes it, so that every cluster can be moved there, and that the error
//! has kube-apiserver's message. Must never encode an object that is small enough in any form.

use pintle_resource::Storage;
use pintle_schema::Value;
use pintle_storage::{CommitError, Expect};
use std::sync::Arc;

/// etcd's limit of a request to its members, unless its `--max-request-bytes` is set.
const REQUEST_BYTES_MAX: usize = 1_572_864;

/// The limit of messages of etcd clients, whatever the server accepts.
const MESSAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The bytes that etcd adds to a transaction for its members: a header with a request number of ten bytes, and lengths.
const REQUEST_OVERHEAD: usize = 18;

/// Records below this are not measured: no object is four times as large in protobuf as it is in JSON.
const UNMEASURED: usize = REQUEST_BYTES_MAX / 4;

/// Bytes of a lease's number.
const LEASE: usize = 10;

/// An object that etcd would not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooLarge {
    /// The request exceeds the server's limit.
    #[error("{REQUEST}")]
    Request,
    /// Its gRPC message, whose size in bytes is given, exceeds the client's limit.
    #[error("rpc error: code = ResourceExhausted desc = {MESSAGE} ({0} vs. {MESSAGE_BYTES_MAX})")]
    Message(usize),
}

const REQUEST: &str = "etcdserver: request is too large";
const MESSAGE: &str = "trying to send message larger than max";

impl From<TooLarge> for CommitError {
    fn from(error: TooLarge) -> Self {
        CommitError::Storage(Arc::new(error))
    }
}

/// Whether a store, local or remote, rejected a commit for its size.
pub(crate) fn is_too_large(error: &CommitError) -> bool {
    let CommitError::Storage(error) = error else { return false };
    let text = error.to_string();
    text == REQUEST || text.contains(MESSAGE)
}

/// The bytes of an object's stored form, unless that is far below the bounds; `record_bytes` are those of its record here.
pub(crate) fn measured(storage: &Storage, object: &Value, record_bytes: usize) -> Option<usize> {
    (record_bytes >= UNMEASURED).then(|| crate::etcd_codec::encode(storage, object, false).len())
}

/// Whether etcd would accept a request that writes a value of this many bytes.
///
/// # Errors
/// It would not.
pub(crate) fn check(key: &str, expect: Expect, bytes: usize, expires: bool) -> Result<(), TooLarge> {
    let message = transaction(key.len(), expect, bytes, expires);
    match message {
        MESSAGE_BYTES_MAX.. if message > MESSAGE_BYTES_MAX => Err(TooLarge::Message(message)),
        _ if message + REQUEST_OVERHEAD > REQUEST_BYTES_MAX => Err(TooLarge::Request),
        _ => Ok(()),
    }
}

/// The size of the transaction by which kube-apiserver writes a value: a comparison, a put and, but for new keys, a read for the
/// case that the comparison fails.
fn transaction(key: usize, expect: Expect, value: usize, expires: bool) -> usize {
    let (revision, is_new) = match expect {
        Expect::At(revision) => (revision.0, false),
        Expect::Absent | Expect::Any => (0, true),
    };
    let compare = 2 + field(key) + 1 + varint(revision);
    let put = field(key) + if value > 0 { field(value) } else { 0 } + if expires { LEASE } else { 0 };
    let get = if is_new { 0 } else { field(field(field(key))) };
    field(compare) + field(field(put)) + get
}

/// The encoded size of a field with this many bytes of content: tag, length and content.
fn field(bytes: usize) -> usize {
    1 + varint(bytes as u64) + bytes
}

/// The size of a number of seven bits a byte.
fn varint(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_storage::Revision;

    /// A field with its tag, as protobuf has it.
    fn put(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
        out.push(number << 3 | 2);
        put_varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }

    fn put_varint(mut number: u64, out: &mut Vec<u8>) {
        while number >= 128 {
            out.push(number as u8 | 128);
            number >>= 7;
        }
        out.push(number as u8);
    }

    fn nested(number: u8, inner: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        inner(&mut bytes);
        put(number, &bytes, out);
    }

    #[test]
    fn a_transaction_has_the_size_of_its_encoding() {
        let key = "/registry/configmaps/default/a-name-of-some-length";
        for revision in [None, Some(5), Some(300), Some(u64::from(u32::MAX))] {
            for bytes in [1, 100, 127, 128, 16_383, 16_384, 1_500_000, 3_000_000] {
                let mut message = Vec::new();
                nested(
                    1,
                    |compare| {
                        compare.extend_from_slice(&[2 << 3, 2]);
                        put(3, key.as_bytes(), compare);
                        compare.push(6 << 3);
                        put_varint(revision.unwrap_or(0), compare);
                    },
                    &mut message,
                );
                let value = vec![b'x'; bytes];
                let put_request = |request: &mut Vec<u8>| {
                    put(1, key.as_bytes(), request);
                    put(2, &value, request);
                };
                nested(2, |success| nested(2, put_request, success), &mut message);
                if revision.is_some() {
                    let range = |request: &mut Vec<u8>| put(1, key.as_bytes(), request);
                    nested(3, |failure| nested(1, range, failure), &mut message);
                }
                let expect = revision.map_or(Expect::Absent, |revision| Expect::At(Revision(revision)));
                assert_eq!(transaction(key.len(), expect, bytes, false), message.len(), "{revision:?} {bytes}");
            }
        }
    }

    #[test]
    fn the_bounds_are_etcds() {
        let key = "/registry/configmaps/default/a";
        let check = |bytes| check(key, Expect::Absent, bytes, false);
        let around = transaction(key.len(), Expect::Absent, 1_000_000, false) - 1_000_000;
        let largest = REQUEST_BYTES_MAX - REQUEST_OVERHEAD - around;
        assert_eq!([check(0), check(largest)], [Ok(()); 2]);
        assert_eq!([check(largest + 1), check(MESSAGE_BYTES_MAX - around - 2)], [Err(TooLarge::Request); 2]);
        let text = check(3_000_000).map_err(|error| error.to_string());
        let bytes = 3_000_000 + transaction(key.len(), Expect::Absent, 3_000_000, false) - 3_000_000;
        let expected = format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({bytes} vs. 2097152)"
        );
        assert_eq!(text, Err(expected));
        for (error, is) in [
            (CommitError::from(TooLarge::Request), true),
            (CommitError::from(TooLarge::Message(1)), true),
            (CommitError::Closed, false),
            (CommitError::Storage(Arc::new(std::io::Error::other("no space left"))), false),
        ] {
            assert_eq!(is_too_large(&error), is, "{error}");
        }
    }
}
