//! Field paths of definitions, such as `.spec.items['a.b']`, resolved in their schema.

use crate::json_schema::JsonSchema;

/// The field that a path names.
pub struct Found<'a> {
    /// The names on the way.
    pub names: Vec<String>,
    /// The path as errors show it: `spec.map[key].field`.
    pub shown: String,
    pub schema: Option<&'a JsonSchema>,
}

/// Finds the field that a path names.
///
/// # Errors
/// The path is malformed or names no field; the text is kube-apiserver's.
pub fn find<'a>(path: &str, root: &'a JsonSchema, allow_brackets: bool) -> Result<Found<'a>, String> {
    let mut tokens = Tokens(path);
    let (mut names, mut shown) = (Vec::new(), String::new());
    let mut schema = Some(root);
    const END: &str = "unexpected end of JSON path";
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or(END)?.to_owned(),
            "[" if !allow_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or(END)?;
                let inside = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inside = inside.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                unescaped(inside)?
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        match schema.is_some_and(|schema| schema.properties.is_empty()) {
            true => shown.extend(["[", &name, "]"]),
            false if shown.is_empty() => shown.push_str(&name),
            false => shown.extend([".", &name]),
        }
        schema = child(schema, &name)?;
        names.push(name);
        if token == "[" {
            match tokens.next() {
                None => return Err(END.to_owned()),
                Some("]") => {}
                Some(other) => return Err(format!("expected ] but got {other}")),
            }
        }
    }
    Ok(Found { names, shown, schema })
}

fn child<'a>(schema: Option<&'a JsonSchema>, name: &str) -> Result<Option<&'a JsonSchema>, String> {
    const NONE: &str = "does not refer to a valid field";
    let schema = schema.ok_or(NONE)?;
    if !schema.properties.is_empty() {
        schema.property(name).map(Some).ok_or_else(|| NONE.to_owned())
    } else if schema.additional_properties.is_some() {
        Ok(schema.additional())
    } else {
        Err(NONE.to_owned())
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        out.push(match letters.next() {
            Some(escaped @ ('\'' | '\\' | '"')) => escaped,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            _ => return Err("invalid string literal: invalid syntax".to_owned()),
        });
    }
    Ok(out)
}

/// A tokenizer: delimiters one by one, quoted strings whole, and the text between delimiters.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0;
        let end = match text.chars().next()? {
            '\'' => {
                let bytes = text.as_bytes();
                let closes = |at: &usize| bytes[*at] == b'\'' && bytes[at - 1] != b'\\';
                (1..bytes.len()).find(closes).map_or(text.len(), |at| at + 1)
            }
            '.' | '[' | ']' => 1,
            _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn paths_name_fields() {
        let schema = JsonSchema::from_value(&value!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b.c": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}}}}));
        let of = |path: &str| {
            find(path, &schema, true).map(|found| (found.shown, found.schema.map(|of| of.kind.to_string())))
        };
        let found = |shown: &str, kind: &str| Ok((shown.to_owned(), Some(kind.to_owned())));
        assert_eq!(of(".a"), found("a", "object"));
        assert_eq!(of(".a['b.c']"), found("a.b.c", "string"));
        assert_eq!(of(".m.x"), found("m[x]", "integer"));
        assert_eq!(of(".x"), Err("does not refer to a valid field".to_owned()));
        assert_eq!(of("a"), Err("expected [ or . but got: a".to_owned()));
        assert_eq!(of("."), Err("unexpected end of JSON path".to_owned()));
        assert_eq!(of(".a[b]"), Err("expected single quoted string but got b".to_owned()));
        assert_eq!(find(".a['b']", &schema, false).map(|_| ()), Err("array notation is not allowed".to_owned()));
    }
}
