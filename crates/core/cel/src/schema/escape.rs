//! How names of properties are written in expressions.
//!
//! Escaping and its reverse agree for every name that can be escaped.

use std::borrow::Cow;

/// Words that no identifier may be.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is a reserved word.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The identifier of a property; `None` when it cannot be written.
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.contains("__") && name.chars().all(plain) {
        return Some(Cow::Borrowed(name));
    }
    let mut escaped = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let (piece, taken) = match next {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            _ if plain(next) => (rest.get(..1)?, 1),
            _ => return None,
        };
        escaped.push_str(piece);
        rest = rest.get(taken..)?;
    }
    Some(Cow::Owned(escaped))
}

/// The property of an identifier; `None` when it holds an unknown escape.
pub fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(Cow::Borrowed(identifier));
    }
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(at) = rest.find("__") {
        name.push_str(rest.get(..at)?);
        let inner = rest.get(at + 2..)?;
        // An escape is two underscores, no underscore, two underscores; else the first underscore is literal.
        let end =
            inner.find('_').filter(|end| *end > 0 && inner.get(*end..).is_some_and(|tail| tail.starts_with("__")));
        let Some(end) = end else {
            name.push('_');
            rest = rest.get(at + 1..)?;
            continue;
        };
        let word = inner.get(..end)?;
        match word {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if is_reserved(word) && word.len() + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = inner.get(end + 2..)?;
    }
    name.push_str(rest);
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_back() {
        for (name, escaped) in [
            ("a", Some("a")),
            ("a_b", Some("a_b")),
            ("a.b", Some("a__dot__b")),
            ("a-b/c", Some("a__dash__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("if", Some("__if__")),
            ("int", Some("int")),
            ("1a", None),
            ("a b", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
            }
        }
        assert_eq!(unescape("a__nothing__b"), None);
        assert_eq!(unescape("a__if__"), None);
    }
}
