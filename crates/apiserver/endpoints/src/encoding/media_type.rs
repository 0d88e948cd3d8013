//! Media types of bodies, parsed as strictly as by kube-apiserver.
//!
//! A malformed media type is rejected; parameters are checked for syntax and otherwise ignored.

/// The type and subtype of a `Content-Type`, in lower case; `None` when type or parameters are malformed.
pub(crate) fn media_type(header: &str) -> Option<String> {
    let (media, mut rest) = header.find(';').map_or((header, ""), |at| header.split_at(at));
    let media = media.trim().to_ascii_lowercase();
    let (of, subtype) = media.split_once('/').unwrap_or((&media, "x"));
    if !is_token(of) || !is_token(subtype) {
        return None;
    }
    let mut known: Vec<(String, String)> = Vec::new();
    while !rest.trim().is_empty() {
        let Some((key, value, after)) = parameter(rest) else {
            // A semicolon that nothing follows is let pass.
            return (rest.trim() == ";").then_some(media);
        };
        if known.iter().any(|(name, other)| *name == key && *other != value) {
            return None;
        }
        known.push((key, value));
        rest = after;
    }
    Some(media)
}

/// Parses a parameter after its semicolon. Returns its name, its value and the rest.
fn parameter(text: &str) -> Option<(String, String, &str)> {
    let (key, rest) = token(text.trim_start().strip_prefix(';')?.trim_start())?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let (value, rest) = match rest.strip_prefix('"') {
        Some(quoted) => unquoted(quoted)?,
        None => token(rest).map(|(value, rest)| (value.to_owned(), rest))?,
    };
    Some((key.to_ascii_lowercase(), value, rest))
}

/// Splits a quoted string at its closing quotation mark.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..).unwrap_or(""))),
            // Only special characters can be escaped: other backslashes are part of file names.
            '\\' => value.push(chars.next_if(|(_, next)| is_special(*next)).map_or(c, |(_, escaped)| escaped)),
            '\r' | '\n' => return None,
            c => value.push(c),
        }
    }
    None
}

fn token(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c| !is_token_char(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !is_special(c)
}

fn is_special(c: char) -> bool {
    "()<>@,;:\\\"/[]?=".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_types_are_none() {
        let json = ["application/json", " Application/JSON ", "application/json;", "application/json ; charset=utf-8"];
        let quoted = ["application/json;a=\"b;c\\\"\";d=e", "application/json;a=b;A=b", "application/json;a=\"\"; "];
        for header in json.into_iter().chain(quoted) {
            assert_eq!(media_type(header).as_deref(), Some("application/json"), "{header}");
        }
        let malformed =
            ["", ";", "/", "application/", "application/json/x", "application/json=", "application/json, text/plain"];
        let parameters = ["charset", ";", "a=", "=b", "a=b c", "a=\"b", "a=b;a=c", "a=b;;"];
        let parameters = parameters.map(|parameter| format!("application/json;{parameter}"));
        for header in malformed.into_iter().chain(parameters.iter().map(String::as_str)) {
            assert_eq!(media_type(header), None, "{header}");
        }
    }
}
