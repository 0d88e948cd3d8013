//! Copying a store: read, seal for the other side, fill, read back, compare.
//! Guarantees that a target is either whole and compared, or told to be neither. Must never overwrite anything.

use super::Outcome;
use super::location::{Content, Location, Options};
use bytes::Bytes;
use pintle_cache::Image;
use pintle_registry::KubernetesForm;
use pintle_storage::{Key, Record, Revision, StoredForm, Transformer};
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
    let records = sealed(&content, to, options)?;
    to.fill(options, &records, content.current)?;
    let copy = to.read(options, options.encryption(Some("to")))?;
    let differences = differences(&content, &copy);
    if differences.is_empty() {
        let summary = content.summary();
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

/// The values as the target keeps them, in the order of their revisions.
fn sealed(content: &Content, to: &Location, options: &Options) -> Result<Vec<Record>, String> {
    let sealing = to.sealing(options, options.encryption(Some("to")))?;
    let form = KubernetesForm::default();
    let seal = |record: &Record| {
        let plain = record.value.clone().unwrap_or_default();
        let plain: Bytes = match to {
            Location::Directory(_) => plain,
            Location::Etcd(_) => {
                form.to_stored(&record.key, &plain).map_err(|error| format!("{}: {}", record.key, error.0))?
            }
        };
        let sealed = sealing.seal(&record.key, &plain).map_err(|error| format!("{}: {error}", record.key))?;
        Ok(Record { value: Some(sealed), ..record.clone() })
    };
    let mut records: Vec<Record> = content.records.values().map(seal).collect::<Result<_, String>>()?;
    records.sort_by_key(|record| record.revision);
    Ok(records)
}

/// Where two stores do not hold the same objects at the same revisions.
fn differences<'a>(source: &'a Content, copy: &'a Content) -> Vec<(&'a Key, String)> {
    let mut found = Vec::new();
    for unreadable in &copy.unreadable {
        found.push((&unreadable.key, format!("cannot be read back: {}", unreadable.reason)));
    }
    for (key, record) in &source.records {
        match copy.records.get(key) {
            Some(copied) if copied.revision != record.revision => {
                found.push((key, format!("has revision {}, not {}", copied.revision, record.revision)));
            }
            Some(copied) if object(copied) != object(record) => found.push((key, "is another object".to_owned())),
            Some(_) => {}
            None if copy.unreadable.iter().any(|unreadable| unreadable.key == *key) => {}
            None => found.push((key, "is missing".to_owned())),
        }
    }
    let surplus = copy.records.keys().filter(|key| !source.records.contains_key(*key));
    found.extend(surplus.map(|key| (key, "is not in the source".to_owned())));
    found
}

/// What a server would show.
fn object(record: &Record) -> Option<Bytes> {
    let image = Image::from_record(record.value.as_ref()?, Revision(0)).ok()?;
    Some(image.json().clone())
}
