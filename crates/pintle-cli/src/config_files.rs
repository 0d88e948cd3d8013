//! Configuration files, such as those of the group `apiserver.config.k8s.io`: read and decoded strictly, with the
//! defaults of their types. Guarantees that an unknown field is an error. Must never depend on a file's purpose.

pub mod admission;
pub mod authentication;
pub mod authorization;
pub mod egress;
pub mod encryption;
pub mod tracing;

use pintle_codec::{Strictness, yaml};
use pintle_groups::config::apply_defaults;
use pintle_schema::ApiType;
use std::path::Path;

/// Reads a file.
///
/// # Errors
/// The file cannot be read; the message has its name.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Decodes a file of a kind in one of these versions, which share a type.
///
/// # Errors
/// The file is of another kind, or has a field that the type has not.
pub fn decode<T: ApiType>(text: &[u8], versions: &[&str], kind: &str) -> Result<T, String> {
    let head = yaml::parse(text, Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let (version, found) = (head.str_at(&["apiVersion"]), head.str_at(&["kind"]));
    if found != kind || !versions.contains(&version) {
        return Err(format!("no kind {found:?} is registered for version {version:?}"));
    }
    let mut decoded = yaml::decode(T::schema(), text, Strictness::Collect).map_err(|error| error.to_string())?;
    if !decoded.problems.is_empty() {
        let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        return Err(format!("strict decoding error: {}", problems.join(", ")));
    }
    apply_defaults(T::schema(), &mut decoded.value);
    T::from_value(&decoded.value).map_err(|error| error.to_string())
}
