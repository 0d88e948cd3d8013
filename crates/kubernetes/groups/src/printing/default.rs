//! Kinds of `meta.k8s.io`, and what is printed for a kind without columns of its own.
//!
//! The default reads nothing but metadata, so that it fits any object.

use super::cells::*;
use super::{Column, Entry, NAME, Now, column, printers, string};
use pintle_schema::{Value, View};
use pintle_types::meta::v1::{ObjectMeta, PartialObjectMetadata, Status};

pub static PRINTERS: &[Entry] = printers! { "";
    Status |status, now| {
        string("Status", "Success or Failure.") => text(status.to(Status::STATUS)),
        string("Reason", "Why, in a word that programs can read.") => text(status.to(Status::REASON)),
        string("Message", "Why, for people to read.") => text(status.to(Status::MESSAGE)),
    }
};

pub static DEFAULT_COLUMNS: &[Column] =
    &[NAME, column("Created At", "date", "When the server created the object, in UTC.")];

pub fn default_cells(object: &Value, _: &Now) -> Vec<Value> {
    let object = View::<PartialObjectMetadata>::new(object);
    let created = metadata(object).to(ObjectMeta::CREATION_TIMESTAMP).get();
    vec![name(object), created.to_rfc3339().into()]
}
