//! Regular expressions: what the reference accepts and refuses, and what it matches.
//!
//! Matching takes time that is linear in the text and in the compiled pattern, compiling time that is linear in the
//! pattern with its repetitions written out. Neither recurses deeper than patterns may nest.

mod cache;
mod class;
mod program;
mod syntax;
mod tree;

use program::{Machine, Program};
use std::sync::Arc;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Program>);

impl Pattern {
    /// Compiles a pattern, or finds it compiled; the error is the reference's.
    pub fn compile(pattern: &str) -> Result<Pattern, String> {
        if let Some(compiled) = cache::get(pattern) {
            return Ok(compiled);
        }
        let compiled = Pattern(Arc::new(Program::new(&syntax::parse(pattern)?)));
        if pattern.len() <= cache::MAX_SIZE && compiled.0.len() <= cache::MAX_SIZE {
            cache::keep(pattern, &compiled);
        }
        Ok(compiled)
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        Machine::new(&self.0).find(text, 0, true).is_some()
    }

    /// The first match, or nothing.
    pub fn find<'t>(&self, text: &'t str) -> &'t str {
        let found = Machine::new(&self.0).find(text, 0, false);
        found.and_then(|(start, end)| text.get(start..end)).unwrap_or("")
    }

    /// At most so many matches, which do not overlap; all of them if the number is negative. An empty match right behind
    /// another one is none.
    pub fn find_all<'t>(&self, text: &'t str, most: i64) -> Vec<&'t str> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut machine = Machine::new(&self.0);
        let mut all = Vec::new();
        let (mut from, mut last_end) = (0, None);
        while all.len() < most && from <= text.len() {
            let Some((start, end)) = machine.find(text, from, false) else { break };
            if start < end || last_end != Some(start) {
                all.extend(text.get(start..end));
            }
            last_end = Some(end);
            // Behind an empty match the next begins a character later.
            let skipped = text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            from = if start < end { end } else { end + skipped };
        }
        all
    }
}

/// Whether a pattern is one; the error is the reference's.
pub fn check(pattern: &str) -> Result<(), String> {
    syntax::parse(pattern).map(drop)
}

#[cfg(test)]
mod tests;
