//! Regular expressions: what the reference accepts and refuses, matched by the `regex` crate.
//!
//! Matching takes time that is linear in text and pattern. A pattern is translated into one that means the same, so no
//! syntax of the crate's own gets through.

mod cache;
mod class;
mod syntax;

/// What a compiled pattern may take in memory; more than any pattern takes that is worth its cost.
const SIZE_LIMIT: usize = 16 << 20;

/// What the states that matching makes may take in memory.
const STATES_LIMIT: usize = 2 << 20;

/// Groups within groups that are compiled.
const DEPTH_LIMIT: u32 = 250;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern(regex::Regex);

impl Pattern {
    /// Compiles a pattern, or finds it compiled; the error is the reference's.
    pub fn compile(pattern: &str) -> Result<Pattern, String> {
        if let Some(compiled) = cache::get(pattern) {
            return Ok(compiled);
        }
        let translated = syntax::translate(pattern)?;
        let build = |limit| {
            regex::RegexBuilder::new(&translated)
                .size_limit(limit)
                .dfa_size_limit(STATES_LIMIT)
                .nest_limit(DEPTH_LIMIT)
                .build()
                .map(Pattern)
        };
        if let Ok(compiled) = build(cache::SMALL) {
            if pattern.len() <= cache::SMALL {
                cache::keep(pattern, &compiled);
            }
            return Ok(compiled);
        }
        build(SIZE_LIMIT).map_err(|_| syntax::Fault::TooLarge.about(pattern))
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match, or nothing.
    pub fn find<'t>(&self, text: &'t str) -> &'t str {
        self.0.find(text).map_or("", |found| found.as_str())
    }

    /// At most so many matches; all of them if the number is negative.
    pub fn find_all<'t>(&self, text: &'t str, most: i64) -> Vec<&'t str> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.0.find_iter(text).take(most).map(|found| found.as_str()).collect()
    }
}

/// Whether a pattern is one; the error is the reference's.
pub fn check(pattern: &str) -> Result<(), String> {
    syntax::translate(pattern).map(drop)
}

#[cfg(test)]
mod tests;
