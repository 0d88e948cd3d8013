//! Reads the apiVersion and kind of an object before its type is known.
//! Guarantees kube-apiserver's behaviour: it reads these two fields first, in any case, and checks the syntax of the
//! whole input, with error messages of its own.

use super::scan::{Scanner, Start, as_text};
use crate::error::DecodeError;
use pintle_schema::Str;

/// The apiVersion and kind of an object; empty if absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    pub api_version: Str,
    pub kind: Str,
}

/// Reads apiVersion and kind and checks the syntax of the rest.
///
/// # Errors
/// The input is not JSON, not an object, or one of the two is not a string. kube-apiserver puts `couldn't get
/// version/kind; json parse error: ` before the message.
pub fn type_meta(bytes: &[u8]) -> Result<TypeMeta, DecodeError> {
    let text = as_text(bytes);
    let mut scanner = Scanner::of(&text, bytes);
    let mut found = TypeMeta::default();
    let mut refused = None;
    match scanner.start()? {
        Start::Object => {
            scanner.open(crate::limits::JSON_DEPTH)?;
            let mut next = scanner.first_key()?;
            while let Some(key) = next {
                let field = if key.eq_ignore_ascii_case("kind") {
                    Some((&mut found.kind, "kind"))
                } else if key.eq_ignore_ascii_case("apiVersion") {
                    Some((&mut found.api_version, "apiVersion"))
                } else {
                    None
                };
                match (field, scanner.start()?) {
                    (Some((slot, _)), Start::String) => *slot = Str::from(scanner.string()?),
                    (None, _) | (_, Start::Null) => scanner.skip()?,
                    (Some((_, name)), start) => {
                        scanner.skip()?;
                        let word = start.word();
                        refused.get_or_insert(format!(
                            "json: cannot unmarshal {word} into Go struct field .{name} of type string"
                        ));
                    }
                }
                next = scanner.next_key()?;
            }
        }
        Start::Null => scanner.skip()?,
        start => {
            scanner.skip()?;
            refused = Some(format!(
                "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                start.word()
            ));
        }
    }
    scanner.end()?;
    match refused {
        Some(text) => Err(DecodeError::WrongType(text)),
        None => Ok(found),
    }
}
