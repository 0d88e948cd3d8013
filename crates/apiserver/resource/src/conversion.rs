//! `Conversion`: how objects of a resource pass between its versions.
//! Guarantees that many objects can be converted by one call, which may wait for the network and may fail.
//! Must never decide which version is stored or served: that is the `Resource`'s.

use crate::MaybeReady;
use pintle_schema::{Str, Value};

/// Converts objects of one resource between two of its versions.
pub trait Conversion: Send + Sync {
    /// Converts objects from version `from` to version `to` (both as in `apiVersion`). Returns as many objects, in the same
    /// order. The caller sets their kind and `apiVersion`, and brings them to canonical form.
    ///
    /// # Errors
    /// An object cannot be converted; then none is.
    fn convert<'a>(&'a self, objects: Vec<Value>, from: &'a str, to: &'a str) -> MaybeReady<'a, Converted>;

    /// The same, but objects keep fields that the new version does not know. Used to find the owners of fields.
    ///
    /// # Errors
    /// An object cannot be converted; then none is.
    fn convert_unpruned<'a>(&'a self, objects: Vec<Value>, from: &'a str, to: &'a str) -> MaybeReady<'a, Converted> {
        self.convert(objects, from, to)
    }

    /// Whether every call returns at once. Code that cannot wait uses only such conversions.
    fn is_immediate(&self) -> bool {
        false
    }
}

/// Converted objects, or an error.
pub type Converted = Result<Vec<Value>, ConversionError>;

/// A failed conversion, with the message of the response's `Status`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConversionError(pub String);

/// Conversion between a version and the storage version by two functions, each of which changes an object in place.
#[derive(Clone)]
pub struct ConversionFunctions {
    /// The storage version, as in `apiVersion`. Every other requested version is the resource's own.
    pub storage_version: Str,
    pub to_storage: fn(&mut Value),
    pub from_storage: fn(&mut Value),
}

impl Conversion for ConversionFunctions {
    fn convert<'a>(&'a self, mut objects: Vec<Value>, _: &'a str, to: &'a str) -> MaybeReady<'a, Converted> {
        let convert = if to == self.storage_version { self.to_storage } else { self.from_storage };
        objects.iter_mut().for_each(convert);
        MaybeReady::Ready(Ok(objects))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

/// Converts one object in place.
///
/// # Errors
/// It cannot be converted; the object is empty then.
pub async fn convert_one(
    conversion: &dyn Conversion,
    object: &mut Value,
    from: &str,
    to: &str,
) -> Result<(), ConversionError> {
    let converted = conversion.convert(vec![std::mem::take(object)], from, to).get().await?;
    *object = only(converted)?;
    Ok(())
}

/// Converts one object in place by a conversion that is immediate.
///
/// # Errors
/// It cannot be converted, or not without waiting; the object is empty then.
pub fn convert_now(
    conversion: &dyn Conversion,
    object: &mut Value,
    from: &str,
    to: &str,
) -> Result<(), ConversionError> {
    let answer = conversion.convert(vec![std::mem::take(object)], from, to).now();
    let converted = answer.map_err(|_| ConversionError(format!("conversion from {from} to {to} has to wait")))?;
    *object = only(converted?)?;
    Ok(())
}

/// The one object that a conversion of one object gives.
fn only(mut converted: Vec<Value>) -> Result<Value, ConversionError> {
    match (converted.pop(), converted.is_empty()) {
        (Some(object), true) => Ok(object),
        _ => Err(ConversionError("a conversion of one object gave another number of them".to_owned())),
    }
}
