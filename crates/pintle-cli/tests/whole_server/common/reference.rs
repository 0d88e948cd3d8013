//! kube-apiserver as seen by etcd: transactions on mod revisions, by a plain client, with objects in kube-apiserver's form.
//! Guarantees that no code of the server under test takes part in these reads and writes. Must never retry: the outcome of a
//! failed call is unknown.

use super::etcd::Etcd;
use super::http::Client;
use pintle_schema::base64;
use serde_json::{Value, json};
use std::io;

/// A key's mod revision and value.
pub type Found = (u64, Vec<u8>);

pub struct Reference {
    members: Vec<Client>,
    turn: usize,
}

impl Reference {
    pub fn on(etcd: &Etcd) -> Reference {
        Reference { members: (0..etcd.len()).map(|index| etcd.client(index)).collect(), turn: 0 }
    }

    /// One that knows this member only.
    pub fn at(etcd: &Etcd, index: usize) -> Reference {
        Reference { members: vec![etcd.client(index)], turn: 0 }
    }

    fn call(&mut self, path: &str, body: &Value) -> io::Result<Value> {
        let turn = self.turn % self.members.len();
        let answer = self.members[turn].post(path, body)?;
        match answer.status {
            200 => Ok(answer.json()),
            status => Err(io::Error::other(format!("{status}: {}", answer.text()))),
        }
        .inspect_err(|_| self.turn += 1)
    }

    /// A consistent read.
    pub fn get(&mut self, key: &str) -> io::Result<Option<Found>> {
        let answer = self.call("/v3/kv/range", &json!({"key": encoded(key)}))?;
        Ok(answer["kvs"].get(0).map(found))
    }

    /// Writes a key at a revision, 0 to create it. Returns the new revision, or the current state if it differs. A lease of
    /// 0 is none.
    pub fn put(&mut self, key: &str, at: u64, value: &[u8], lease: i64) -> io::Result<Result<u64, Option<Found>>> {
        let put = json!({"key": encoded(key), "value": base64::encode(value), "lease": lease.to_string()});
        self.transact(key, at, json!({ "request_put": put }))
    }

    /// Removes a key that is at a revision still.
    pub fn delete(&mut self, key: &str, at: u64) -> io::Result<Result<u64, Option<Found>>> {
        self.transact(key, at, json!({"request_delete_range": {"key": encoded(key)}}))
    }

    fn transact(&mut self, key: &str, at: u64, change: Value) -> io::Result<Result<u64, Option<Found>>> {
        let compare = json!({"key": encoded(key), "target": "MOD", "result": "EQUAL", "mod_revision": at.to_string()});
        let look = json!({"request_range": {"key": encoded(key)}});
        let answer = self.call("/v3/kv/txn", &json!({"compare": [compare], "success": [change], "failure": [look]}))?;
        Ok(match answer["succeeded"] == true {
            true => Ok(number(&answer["header"]["revision"])),
            false => Err(answer["responses"][0]["response_range"]["kvs"].get(0).map(found)),
        })
    }

    /// A lease of so many seconds.
    pub fn lease(&mut self, seconds: u32) -> io::Result<i64> {
        let answer = self.call("/v3/lease/grant", &json!({"TTL": seconds}))?;
        Ok(number(&answer["ID"]).cast_signed())
    }

    /// Ends a lease, and all keys that have it.
    pub fn revoke(&mut self, lease: i64) -> io::Result<()> {
        self.call("/v3/lease/revoke", &json!({"ID": lease.to_string()})).map(drop)
    }

    /// One interval of kube-apiserver's compactor: it compacts up to `revision`, unless another server did since there were
    /// `count` compactions. Returns the new count and the current revision for the next interval.
    pub fn compact(&mut self, count: u64, revision: u64) -> io::Result<(u64, u64)> {
        let key = encoded("compact_rev_key");
        let compare = json!({"key": key, "target": "VERSION", "result": "EQUAL", "version": count.to_string()});
        let put = json!({"request_put": {"key": key, "value": base64::encode(revision.to_string().as_bytes())}});
        let look = json!({"request_range": {"key": key}});
        let answer = self.call("/v3/kv/txn", &json!({"compare": [compare], "success": [put], "failure": [look]}))?;
        let current = number(&answer["header"]["revision"]);
        if answer["succeeded"] != true {
            return Ok((number(&answer["responses"][0]["response_range"]["kvs"][0]["version"]), current));
        }
        if revision > 0 {
            self.call("/v3/kv/compaction", &json!({"revision": revision.to_string()}))?;
        }
        Ok((count + 1, current))
    }
}

fn encoded(key: &str) -> String {
    base64::encode(key.as_bytes())
}

/// The gateway writes 64 bits as text, and leaves 0 out.
fn number(value: &Value) -> u64 {
    value.as_str().map_or(0, |text| text.parse::<i64>().expect("a number").cast_unsigned())
}

fn found(kv: &Value) -> Found {
    let value = base64::decode(kv["value"].as_str().unwrap_or_default()).expect("base64");
    (number(&kv["mod_revision"]), value)
}

/// A config map of the namespace default with one entry, as kube-apiserver stores it: protobuf in its envelope.
pub fn config_map(name: &str, uid: &str, key: &str, value: &str) -> Vec<u8> {
    assert_eq!(uid.len(), 36);
    let metadata = [
        &field(1, name.as_bytes())[..],
        &field(2, b""),
        &field(3, b"default"),
        &field(4, b""),
        &field(5, uid.as_bytes()),
        &field(6, b""),
        b"\x38\0",
        // A second of 2026, without fractions.
        &field(8, b"\x08\x80\xe9\xfe\xca\x06\x10\0"),
    ]
    .concat();
    let entry = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let object = [field(1, &metadata), field(2, &entry)].concat();
    let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    [b"k8s\0", &field(1, &kind)[..], &field(2, &object), &field(3, b""), &field(4, b"")].concat()
}

/// The uid and the value of an entry of a config map, in either encoding.
pub fn uid_and_entry(stored: &[u8], key: &str) -> Option<(String, String)> {
    let after = |mark: &[u8]| Some(stored.windows(mark.len()).position(|found| found == mark)? + mark.len());
    let text =
        |from: usize, length: usize| Some(String::from_utf8_lossy(stored.get(from..from + length)?).into_owned());
    let uid = text(after(b"\x2a\x24")?, 36)?;
    let at = after(&[&field(1, key.as_bytes())[..], b"\x12"].concat())?;
    Some((uid, text(at + 1, usize::from(*stored.get(at)?))?))
}

/// A field of bytes, whose length is below 2^14.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    match bytes.len() {
        length @ 0..0x80 => field.push(length as u8),
        length => field.extend([length as u8 & 0x7f | 0x80, (length >> 7) as u8]),
    }
    field.extend_from_slice(bytes);
    field
}
