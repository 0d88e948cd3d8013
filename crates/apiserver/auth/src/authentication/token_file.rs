//! The static token file: CSV rows of token, user name, user uid and, optionally, groups.
//! Guarantees that a file with a malformed row is refused whole, with the row's number.
//! Must never show a token in an error.

use std::collections::HashMap;
use std::sync::Arc;

use pintle_resource::MaybeReady;

use super::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use crate::{Str, UserInfo};

/// The users of a token file, by token.
#[derive(Default)]
pub struct TokenFile {
    users: HashMap<Vec<u8>, Arc<UserInfo>>,
}

/// Why a token file is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TokenFileError {
    /// The line, counted from 1.
    pub line: usize,
    problem: Problem,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("must have at least 3 columns (token, user name, user uid), found {0}")]
    Columns(usize),
    #[error("a double quote inside a field must be doubled")]
    Quote,
    #[error("a quoted field does not end")]
    UnclosedQuote,
}

impl Authenticator for TokenFile {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        let user = request.bearer_token.and_then(|token| self.user(token));
        MaybeReady::Ready(Ok(user.cloned().map(Identity::of)))
    }
}

impl TokenFile {
    /// Reads the text of a token file. The last of several rows with the same token counts; rows without a token are skipped.
    pub fn parse(text: &str) -> Result<TokenFile, TokenFileError> {
        let mut users = HashMap::new();
        for record in records(text) {
            let (line, fields) = record?;
            let [token, name, uid, rest @ ..] = fields.as_slice() else {
                let problem = Problem::Columns(fields.len());
                return Err(TokenFileError { line, problem });
            };
            if token.is_empty() {
                continue;
            }
            // An empty column is one group without a name.
            let groups = rest.first().into_iter().flat_map(|groups| groups.split(','));
            let user = UserInfo {
                name: name.into(),
                uid: uid.into(),
                groups: groups.map(Str::new).collect(),
                extra: Vec::new(),
            };
            users.insert(token.clone().into_bytes(), Arc::new(user.authenticated()));
        }
        Ok(TokenFile { users })
    }

    /// Adds a token that is in no file.
    pub fn insert(&mut self, token: &str, user: UserInfo) {
        self.users.insert(token.as_bytes().to_vec(), Arc::new(user.authenticated()));
    }

    /// The user of a token.
    pub fn user(&self, token: &[u8]) -> Option<&Arc<UserInfo>> {
        self.users.get(token)
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is no token at all.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

/// The rows of a CSV text that are not blank, each with the line it begins at.
fn records(text: &str) -> impl Iterator<Item = Result<(usize, Vec<String>), TokenFileError>> {
    let mut rest = text;
    let mut line = 1;
    std::iter::from_fn(move || {
        while let Some(after) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) {
            rest = after;
            line += 1;
        }
        if rest.is_empty() {
            return None;
        }
        let begin = line;
        let parsed = record(rest);
        Some(match parsed {
            Ok((fields, after)) => {
                line += rest
                    .len()
                    .checked_sub(after.len())
                    .map_or(0, |consumed| rest.bytes().take(consumed).filter(|b| *b == b'\n').count());
                rest = after;
                Ok((begin, fields))
            }
            Err(problem) => {
                rest = "";
                Err(TokenFileError { line: begin, problem })
            }
        })
    })
}

/// Parses one row. Returns the rest.
fn record(text: &str) -> Result<(Vec<String>, &str), Problem> {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => plain_field(rest)?,
        };
        fields.push(field);
        if let Some(next) = after.strip_prefix(',') {
            rest = next;
            continue;
        }
        let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
        return Ok((fields, after.unwrap_or("")));
    }
}

fn plain_field(text: &str) -> Result<(String, &str), Problem> {
    let end = text.find([',', '\n']).unwrap_or(text.len());
    let (field, after) = text.split_at(end);
    if field.contains('"') {
        return Err(Problem::Quote);
    }
    let ends_line = after.is_empty() || after.starts_with('\n');
    let trimmed = field.strip_suffix('\r').filter(|_| ends_line);
    Ok((trimmed.unwrap_or(field).to_owned(), after))
}

/// Parses a field after its opening quote.
fn quoted_field(text: &str) -> Result<(String, &str), Problem> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"').ok_or(Problem::UnclosedQuote)?;
        field.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None if after.is_empty() || after.starts_with([',', '\n']) => return Ok((field, after)),
            None if after.starts_with("\r\n") => return Ok((field, after)),
            None => return Err(Problem::Quote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        // (file, token, result: name, uid, groups before system:authenticated)
        type Given = Option<(&'static str, &'static str, &'static [&'static str])>;
        let rows: &[(&str, &str, Given)] = &[
            ("t,alice,1", "t", Some(("alice", "1", &[]))),
            ("t,alice,1,\n", "t", Some(("alice", "1", &[""]))),
            ("t,alice,1,\"dev,,ops\"", "t", Some(("alice", "1", &["dev", "", "ops"]))),
            ("t,alice,1,dev\r\n", "t", Some(("alice", "1", &["dev"]))),
            ("\n\na,b,c\nt,alice,1,\"dev,ops\",more\n", "t", Some(("alice", "1", &["dev", "ops"]))),
            ("t,\"al\"\"ice\",\"\"\r\n", "t", Some(("al\"ice", "", &[]))),
            ("t,one,1\nt,two,2", "t", Some(("two", "2", &[]))),
            (",nobody,1\nt,alice,1", "", None),
            ("t,alice,1", "T", None),
            ("", "t", None),
        ];
        for (file, token, given) in rows {
            let parsed = TokenFile::parse(file).expect("valid");
            let user = parsed.user(token.as_bytes());
            let found = user.map(|user| (user.name.as_str(), user.uid.as_str()));
            assert_eq!(found, given.map(|(name, uid, _)| (name, uid)), "{file:?}");
            if let (Some(user), Some((_, _, groups))) = (user, given) {
                let expected = [groups, &["system:authenticated"][..]].concat();
                assert_eq!(user.groups, expected, "{file:?}");
            }
        }
    }

    #[test]
    fn malformed_rows_are_refused_with_their_line() {
        let rows = [
            ("t,alice,1\n\nonly,two\n", 3, "found 2"),
            ("secret", 1, "found 1"),
            ("t,a\"b,1", 1, "must be doubled"),
            ("t,\"ab\"c,1", 1, "must be doubled"),
            ("t,\"a\nb\",1\nt,\"ab", 3, "does not end"),
        ];
        for (file, line, text) in rows {
            let error = TokenFile::parse(file).err().expect("refused");
            assert_eq!(error.line, line, "{file:?}");
            assert!(error.to_string().contains(text), "{error}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
