//! What is wrong with an expression, and where: positions, texts and carets as kube-apiserver prints them.
//!
//! Issues are printed in the order of their positions. Their number and the length of lines shown are bounded.

use crate::ast::ExprId;
use std::fmt::{self, Write as _};

/// Issues that are kept; of more, only their number.
const MAX_ISSUES: usize = 100;
/// Lines longer than this are not shown.
const MAX_SNIPPET_BYTES: usize = 16_384;

/// The text of an expression and where its lines begin.
#[derive(Clone, Debug)]
pub struct Source {
    chars: Vec<char>,
    /// Offsets at which lines begin, of the second on.
    lines: Vec<u32>,
}

/// A line, from 1, and a column, from 0; `None` for what stands nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub Option<(u32, u32)>);

impl Source {
    /// An expression's text.
    pub fn new(text: &str) -> Source {
        let chars: Vec<char> = text.chars().collect();
        let lines = (1u32..).zip(&chars).filter(|(_, c)| **c == '\n').map(|(next, _)| next).collect();
        Source { chars, lines }
    }

    /// Its characters.
    pub fn chars(&self) -> &[char] {
        &self.chars
    }

    /// Where an offset in characters stands.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or(0);
        Position(Some((u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1), offset - start)))
    }

    /// A part of it.
    pub fn slice(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to.min(self.chars.len())).unwrap_or(&[]).iter().collect()
    }

    fn line(&self, line: u32) -> Option<String> {
        let line = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = match line.checked_sub(1) {
            None => 0,
            Some(at) => usize::try_from(*self.lines.get(at)?).ok()?,
        };
        let end = match self.lines.get(line) {
            Some(next) => usize::try_from(*next).ok()?.checked_sub(1)?,
            None => self.chars.len(),
        };
        if self.chars.is_empty() {
            return None;
        }
        Some(self.slice(start, end))
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub id: ExprId,
    pub position: Position,
    pub message: String,
}

/// All that is wrong with an expression.
#[derive(Clone, Debug)]
pub struct Issues {
    source: Source,
    list: Vec<Issue>,
    count: usize,
}

impl Issues {
    /// None yet.
    pub fn new(source: Source) -> Issues {
        Issues { source, list: Vec::new(), count: 0 }
    }

    /// Adds one.
    pub fn report(&mut self, id: ExprId, position: Position, message: String) {
        self.count += 1;
        if self.count <= MAX_ISSUES {
            self.list.push(Issue { id, position, message });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The source they are of.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Those that are kept, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.list.iter()
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Issue> = self.list.iter().collect();
        sorted.sort_by_key(|issue| issue.position);
        for (at, issue) in sorted.iter().enumerate() {
            if at > 0 {
                f.write_char('\n')?;
            }
            self.write_issue(f, issue)?;
        }
        if self.count > MAX_ISSUES {
            write!(f, "\n{} more errors were truncated", self.count - MAX_ISSUES)?;
        }
        Ok(())
    }
}

impl Issues {
    fn write_issue(&self, f: &mut fmt::Formatter<'_>, issue: &Issue) -> fmt::Result {
        let Some((line, column)) = issue.position.0 else {
            return write!(f, "ERROR: <input>:-1:0: {}", issue.message);
        };
        // The reference's parser puts the end of an empty text before its first column.
        let shown = if self.source.chars.is_empty() { column } else { column + 1 };
        write!(f, "ERROR: <input>:{line}:{shown}: {}", issue.message)?;
        let Some(snippet) = self.source.line(line).filter(|snippet| snippet.len() <= MAX_SNIPPET_BYTES) else {
            return Ok(());
        };
        let snippet = snippet.replace('\t', " ");
        write!(f, "\n | {snippet}\n | ")?;
        let mut chars = snippet.chars();
        for c in chars.by_ref().take(usize::try_from(column).unwrap_or(0)) {
            f.write_char(if c.is_ascii() { '.' } else { '\u{ff0e}' })?;
        }
        f.write_char(if chars.next().is_none_or(|c| c.is_ascii()) { '^' } else { '\u{ff3e}' })
    }
}

#[cfg(test)]
mod tests {
    use crate::parser::parse;

    #[test]
    fn the_end_of_an_empty_text_is_before_its_first_column() {
        for (text, position) in [("", "1:0"), (" ", "1:2"), ("(", "1:2")] {
            let issues = parse(text, Default::default()).expect_err("an error").to_string();
            assert!(issues.starts_with(&format!("ERROR: <input>:{position}: ")), "{text:?}: {issues}");
        }
    }
}
