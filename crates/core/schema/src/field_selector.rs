//! Field selectors: comparisons of an object's fields with texts, all of which must hold.
//! Guarantees kube-apiserver's parsing and order of terms.
//! Must never know the fields of a resource: the caller renames, rejects and looks them up.

use std::fmt;

use crate::value::Str;

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field, such as `metadata.name`.
    pub field: Str,
    /// The text to compare with, unescaped.
    pub value: Str,
    /// Whether the field must differ from the text instead of being equal.
    pub negated: bool,
}

/// A list of comparisons; an empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

impl FieldSelector {
    /// Selects everything.
    pub const fn everything() -> FieldSelector {
        FieldSelector { terms: Vec::new() }
    }

    /// Selects objects whose field has this value.
    pub fn equal(field: &str, value: &str) -> FieldSelector {
        FieldSelector { terms: vec![FieldTerm { field: Str::new(field), value: Str::new(value), negated: false }] }
    }

    /// Parses `a=b,c!=d,e==f`. In values `\`, `,` and `=` are escaped with a backslash.
    pub fn parse(text: &str) -> Result<FieldSelector, FieldSelectorError> {
        let mut parts = split_parts(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts {
            if part.is_empty() {
                continue;
            }
            let (field, negated, value) = split_term(part)
                .ok_or_else(|| FieldSelectorError::NoOperator { selector: text.to_string(), part: part.to_string() })?;
            let value = unescape(value)?;
            // Nothing compared with nothing selects everything.
            if !(field.is_empty() && value.is_empty()) {
                terms.push(FieldTerm { field: Str::new(field), value, negated });
            }
        }
        Ok(FieldSelector { terms })
    }

    /// The comparisons, in the order of the canonical text.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Whether there are no comparisons.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The same selector with fields and values replaced, as for aliases. A term whose field and value become empty is dropped.
    pub fn transform<E>(
        &self,
        mut replace: impl FnMut(&str, &str) -> Result<(Str, Str), E>,
    ) -> Result<FieldSelector, E> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let (field, value) = replace(&term.field, &term.value)?;
            if !(field.is_empty() && value.is_empty()) {
                terms.push(FieldTerm { field, value, negated: term.negated });
            }
        }
        Ok(FieldSelector { terms })
    }

    /// Whether all comparisons hold. A missing field is empty.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.terms.iter().all(|term| (get(&term.field).unwrap_or("") == term.value) != term.negated)
    }

    /// The value that the field must have, if the selector requires one.
    pub fn exact_match(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| !term.negated && term.field == field).map(|term| term.value.as_str())
    }
}

impl FromIterator<FieldTerm> for FieldSelector {
    fn from_iter<I: IntoIterator<Item = FieldTerm>>(terms: I) -> FieldSelector {
        FieldSelector { terms: terms.into_iter().collect() }
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let operator = if term.negated { "!=" } else { "=" };
            write!(f, "{comma}{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

/// Why a text is not a field selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// A part has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{part}'")]
    NoOperator {
        /// The whole text.
        selector: String,
        /// The invalid part.
        part: String,
    },
    /// A backslash before a character that does not need it, or at the end.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// A character that needs a backslash and has none. kube-apiserver prints its number.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

fn split_parts(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let at_comma = |c: char| {
        let splits = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    };
    text.split(at_comma).collect()
}

fn split_term(part: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in part.char_indices() {
        let (field, rest) = part.split_at_checked(at)?;
        if let Some(value) = rest.strip_prefix("!=") {
            return Some((field, true, value));
        }
        if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            return Some((field, false, value));
        }
    }
    None
}

/// Escapes a value for a selector.
pub fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn unescape(value: &str) -> Result<Str, FieldSelectorError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(Str::new(value));
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => return Err(FieldSelectorError::Escape(std::iter::once('\\').chain(other).collect())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(character)),
            _ => plain.push(character),
        }
    }
    Ok(Str::new(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text() {
        let rows = [
            ("", ""),
            (",", ""),
            (",,a=b,", "a=b"),
            ("a=b", "a=b"),
            ("e==f,c!=d,a=b", "a=b,c!=d,e=f"),
            ("a=", "a="),
            ("a!=", "a!="),
            ("=b", "=b"),
            ("=", ""),
            ("!=,a=b,==", "a=b"),
            (" a = b ", " a = b "),
            (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
            ("a!b=c", "a!b=c"),
            ("é=ü", "é=ü"),
        ];
        for (text, expected) in rows {
            let selector = FieldSelector::parse(text);
            assert_eq!(selector.as_ref().map(ToString::to_string), Ok(expected.to_string()), "{text}");
            assert_eq!(FieldSelector::parse(expected), selector, "{text}");
        }
    }

    #[test]
    fn refusals() {
        let rows = [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
            ("a===b", "invalid field selector: unescaped character in value: 61"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
        ];
        for (text, expected) in rows {
            assert_eq!(FieldSelector::parse(text).map_err(|error| error.to_string()), Err(expected.to_string()));
        }
    }

    #[test]
    fn matching() {
        let get = |field: &str| match field {
            "metadata.name" => Some("a,b"),
            "status.phase" => Some("Running"),
            _ => None,
        };
        let rows = [
            ("", true),
            (r"metadata.name=a\,b", true),
            ("metadata.name!=x,status.phase==Running", true),
            ("status.phase!=Running", false),
            ("missing=", true),
            ("missing!=", false),
            ("missing!=x", true),
            ("missing=x", false),
        ];
        for (text, expected) in rows {
            assert_eq!(FieldSelector::parse(text).map(|selector| selector.matches(get)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn renaming() {
        let selector = FieldSelector::parse("spec.host!=n,drop=,metadata.name=a").unwrap_or_default();
        let renamed = selector.transform(|field, value| match field {
            "spec.host" => Ok((Str::new("spec.nodeName"), Str::new(value))),
            "drop" => Ok((Str::default(), Str::default())),
            "bad" => Err("refused"),
            _ => Ok((Str::new(field), Str::new(value))),
        });
        assert_eq!(renamed.as_ref().map(ToString::to_string), Ok("metadata.name=a,spec.nodeName!=n".to_string()));
        let renamed = renamed.unwrap_or_default();
        assert_eq!((renamed.exact_match("metadata.name"), renamed.exact_match("spec.nodeName")), (Some("a"), None));
        assert_eq!(FieldSelector::equal("bad", "x").transform(|_, _| Err("refused")), Err("refused"));
    }
}
