//! Regular expressions: what kube-apiserver accepts and refuses, and what it matches.
//!
//! Matching takes time that is linear in the text and in the compiled pattern, compiling time that is linear in the
//! pattern with its repetitions written out. Neither recurses deeper than patterns may nest.

mod backtrack;
mod cache;
mod class;
mod program;
mod syntax;
mod tree;

use backtrack::Backtracker;
use program::{Machine, Program};
use std::sync::Arc;

/// How often the work of one search may be done to find all matches.
const PASSES: u64 = 16;

/// Steps that any search for all matches may take.
const FREE_STEPS: u64 = 1 << 20;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Program>);

impl Pattern {
    /// Compiles a pattern, or finds it compiled; the error is kube-apiserver's.
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

    /// How many instructions it was compiled to: a match takes at most so many steps for each byte of the text.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.search().first(text, 0, true).is_some()
    }

    /// The first match, or nothing.
    pub fn find<'t>(&self, text: &'t str) -> &'t str {
        let found = self.search().first(text, 0, false);
        found.and_then(|(start, end)| text.get(start..end)).unwrap_or("")
    }

    /// At most so many matches, which do not overlap; all of them if the number is negative. An empty match right behind
    /// another one is none. `None` if every match looks at the text to its end, again and again.
    pub fn find_all<'t>(&self, text: &'t str, most: i64) -> Option<Vec<&'t str>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut search = self.search();
        let once = (text.len() as u64 + 1).saturating_mul(self.0.len() as u64);
        let most_steps = once.saturating_mul(PASSES).saturating_add(FREE_STEPS);
        let mut all = Vec::new();
        let (mut from, mut last_end) = (0, None);
        while all.len() < most && from <= text.len() {
            let Some((start, end)) = search.first(text, from, false) else { break };
            if search.steps > most_steps {
                return None;
            }
            if start < end || last_end != Some(start) {
                all.extend(text.get(start..end));
            }
            last_end = Some(end);
            // Behind an empty match the next begins a character later.
            let skipped = text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            from = if start < end { end } else { end + skipped };
        }
        Some(all)
    }

    fn search(&self) -> Search<'_> {
        Search { program: &self.0, machine: None, steps: 0 }
    }
}

/// A search for one match after the other.
struct Search<'p> {
    program: &'p Program,
    /// Made once it is needed, and kept: it is as large as the program.
    machine: Option<Machine<'p>>,
    /// The work done so far.
    steps: u64,
}

impl Search<'_> {
    /// The first match from a place on. With `any`, the end may be that of a worse match.
    fn first(&mut self, text: &str, from: usize, any: bool) -> Option<(usize, usize)> {
        if let Some(mut search) = Backtracker::new(self.program, text, from) {
            let found = search.find();
            self.steps = self.steps.saturating_add(search.steps);
            return found;
        }
        let machine = self.machine.get_or_insert_with(|| Machine::new(self.program));
        machine.steps = 0;
        let found = machine.find(text, from, any);
        self.steps = self.steps.saturating_add(machine.steps);
        found
    }
}

/// Whether a pattern is one; the error is kube-apiserver's.
pub fn check(pattern: &str) -> Result<(), String> {
    syntax::parse(pattern).map(drop)
}

#[cfg(test)]
mod tests;
