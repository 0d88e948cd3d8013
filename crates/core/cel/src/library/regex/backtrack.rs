//! The machine for short texts: one way at a time, none of them twice.
//!
//! A bit for each instruction and each place in the text tells what was tried, so that a search takes time that is
//! linear in their product; and no more bits are taken than are cleared in no time.

use super::program::{Instruction, Program};

/// The most bits of a search.
const MAX_BITS: usize = 1 << 16;

/// A search that tries the better ways first.
pub(super) struct Backtracker<'s> {
    program: &'s Program,
    text: &'s str,
    /// Where the search began.
    from: usize,
    tried: Vec<u64>,
    /// Ways still to be tried, the best last.
    open: Vec<(u32, usize)>,
    /// How often an instruction was tried.
    pub(super) steps: u64,
}

impl<'s> Backtracker<'s> {
    /// A search from a place of the text on, if it is short enough.
    pub(super) fn new(program: &'s Program, text: &'s str, from: usize) -> Option<Backtracker<'s>> {
        let places = text.len().checked_sub(from)?.checked_add(1)?;
        let bits = places.checked_mul(program.len()).filter(|bits| *bits <= MAX_BITS)?;
        Some(Backtracker { program, text, from, tried: vec![0; bits.div_ceil(64)], open: Vec::new(), steps: 0 })
    }

    /// The first match: where it begins and ends.
    pub(super) fn find(&mut self) -> Option<(usize, usize)> {
        let mut start = self.from;
        loop {
            let rest = self.text.get(start..)?;
            if let Some(first) = self.program.first() {
                // Nothing before its first character can begin a match.
                start += rest.find(first)?;
            }
            if self.program.is_anchored() && start > 0 {
                return None;
            }
            if let Some(end) = self.match_at(start) {
                return Some((start, end));
            }
            start += self.text.get(start..)?.chars().next()?.len_utf8();
        }
    }

    /// Whether an instruction is tried at a place for the first time.
    fn is_new(&mut self, place: u32, at: usize) -> bool {
        let bit = place as usize * (self.text.len() - self.from + 1) + (at - self.from);
        let mask = 1 << (bit % 64);
        match self.tried.get_mut(bit / 64) {
            Some(word) if *word & mask == 0 => {
                *word |= mask;
                self.steps += 1;
                true
            }
            _ => false,
        }
    }

    /// The end of the best match that begins at a place. What led nowhere from another beginning does so again.
    fn match_at(&mut self, start: usize) -> Option<usize> {
        self.open.clear();
        self.open.push((0, start));
        while let Some((mut place, mut at)) = self.open.pop() {
            while self.is_new(place, at) {
                let program = self.program;
                let instruction = program.instruction(place)?;
                place = match instruction {
                    Instruction::Match => return Some(at),
                    Instruction::Jump(to) => *to,
                    Instruction::Split(better, worse) => {
                        self.open.push((*worse, at));
                        *better
                    }
                    Instruction::Assertion(assertion) => {
                        let (before, after) = self.text.split_at_checked(at)?;
                        if !assertion.holds(before.chars().next_back(), after.chars().next()) {
                            break;
                        }
                        place + 1
                    }
                    taking => {
                        let Some(character) = self.text.get(at..).and_then(|rest| rest.chars().next()) else { break };
                        if !taking.takes(character) {
                            break;
                        }
                        at += character.len_utf8();
                        place + 1
                    }
                };
            }
        }
        None
    }
}
