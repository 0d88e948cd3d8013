//! Copies a store: reads it, encrypts its values for the target, fills the target, reads it back and compares.
//! Guarantees that the command succeeds only if the target is complete and equal. Must never overwrite anything.

use super::Outcome;
use super::location::{Content, Location, Options, report};
use crate::progress::{Progress, Total};
use bytes::Bytes;
use pintle_cache::EncodedObject;
use pintle_registry::EtcdCodec;
use pintle_storage::{Key, Record, Revision, Transformer, ValueCodec};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Copies everything from one store to another.
pub fn run(from: &Location, to: &Location, options: &Options) -> Result<Outcome, String> {
    let content = from.read(options, options.encryption(Some("from")))?;
    if !content.unreadable.is_empty() {
        let mut text = String::new();
        for unreadable in &content.unreadable {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}: cannot be read: {}", unreadable.key, unreadable.reason);
        }
        let _ = writeln!(text, "nothing was copied: {} objects would be lost", content.unreadable.len());
        return Ok(Outcome::Wrong(text));
    }
    let (summary, current) = (content.summary(), content.current);
    let (records, source) = encrypted(content, to, options)?;
    to.fill(options, &records, current)?;
    // Limits memory: only the encrypted values or those read back are held at a time.
    drop(records);
    let copy = to.read(options, options.encryption(Some("to")))?;
    let differences = differences(&source, &copy);
    if differences.is_empty() {
        return Ok(Outcome::Fine(format!(
            "copied {summary} from {from} to {to}; every one was read back and compared\n"
        )));
    }
    let mut text = String::new();
    for (key, difference) in &differences {
        let _ = writeln!(text, "{key}: {difference}");
    }
    let _ = writeln!(text, "the copy is not to be used: {} objects differ", differences.len());
    Ok(Outcome::Wrong(text))
}

/// The expected content: the revision of each key, and the digest of its decoded object.
type Source = BTreeMap<Key, (Revision, Option<Digest>)>;
type Digest = [u8; 32];

/// The encrypted values for the target, in the order of their revisions, and the expected content.
fn encrypted(content: Content, to: &Location, options: &Options) -> Result<(Vec<Record>, Source), String> {
    let encryption = to.encryption(options, options.encryption(Some("to")))?;
    let form = EtcdCodec::new(pintle_groups::resources());
    let (mut records, mut source) = (Vec::with_capacity(content.records.len()), Source::new());
    let mut progress = Progress::new("encoding", Total::Objects(content.records.len() as u64), report);
    for (key, record) in content.records {
        progress.object(0);
        source.insert(key, (record.revision, digest(&record)));
        let plain = record.value.unwrap_or_default();
        let plain: Bytes = match to {
            Location::Directory(_) => plain,
            Location::Etcd(_) => {
                form.encode_stored(&record.key, &plain).map_err(|error| format!("{}: {error}", record.key))?
            }
        };
        let ciphertext = encryption.encrypt(&record.key, &plain).map_err(|error| format!("{}: {error}", record.key))?;
        records.push(Record { value: Some(ciphertext), ..record });
    }
    records.sort_by_key(|record| record.revision);
    Ok((records, source))
}

/// The keys whose objects or revisions differ.
fn differences<'a>(source: &'a Source, copy: &'a Content) -> Vec<(&'a Key, String)> {
    let mut found = Vec::new();
    for unreadable in &copy.unreadable {
        found.push((&unreadable.key, format!("cannot be read back: {}", unreadable.reason)));
    }
    for (key, (revision, digest)) in source {
        match copy.records.get(key) {
            Some(copied) if copied.revision != *revision => {
                found.push((key, format!("has revision {}, not {revision}", copied.revision)));
            }
            Some(copied) if self::digest(copied) != *digest => {
                found.push((key, "is another object".to_owned()));
            }
            Some(_) => {}
            None if copy.unreadable.iter().any(|unreadable| unreadable.key == *key) => {}
            None => found.push((key, "is missing".to_owned())),
        }
    }
    let surplus = copy.records.keys().filter(|key| !source.contains_key(*key));
    found.extend(surplus.map(|key| (key, "is not in the source".to_owned())));
    found
}

/// The digest of an object as a server would return it; `None` if it cannot be decoded.
fn digest(record: &Record) -> Option<Digest> {
    let encoded = EncodedObject::from_record(record.value.as_ref()?, Revision(0)).ok()?;
    ring::digest::digest(&ring::digest::SHA256, encoded.json()).as_ref().try_into().ok()
}
