//! A pattern as instructions, and the machine that runs them on texts of any length.
//!
//! All ways to match are followed at once, one character after the other, so that a match takes time that is linear in
//! the text and in the instructions. Of all matches that begin first, the one counts that the pattern prefers.

use super::class::Class;
use super::tree::{Assertion, Node};
use std::sync::Arc;

/// An instruction. Places are numbers of instructions.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    Char(char),
    Class(Arc<Class>),
    Any,
    AnyButNewline,
    Assertion(Assertion),
    /// Goes on at both places; what comes of the first is better.
    Split(u32, u32),
    Jump(u32),
    Never,
    Match,
}

impl Instruction {
    /// Whether it goes on behind a character.
    pub(super) fn takes(&self, character: char) -> bool {
        match self {
            Instruction::Char(literal) => *literal == character,
            Instruction::Class(class) => class.contains(character),
            Instruction::Any => true,
            Instruction::AnyButNewline => character != '\n',
            _ => false,
        }
    }
}

/// A compiled pattern.
pub(super) struct Program {
    instructions: Vec<Instruction>,
    /// Whether a match can only begin where the text does.
    is_anchored: bool,
    /// The character that every match begins with.
    first: Option<char>,
}

impl Program {
    /// Compiles a pattern.
    pub(super) fn new(node: &Node) -> Program {
        let mut compiler = Compiler { instructions: Vec::new() };
        compiler.add(node);
        compiler.push(Instruction::Match);
        let instructions = compiler.instructions;
        let is_anchored = matches!(instructions.first(), Some(Instruction::Assertion(Assertion::Start)));
        let first = match instructions.first() {
            Some(Instruction::Char(first)) => Some(*first),
            _ => None,
        };
        Program { instructions, is_anchored, first }
    }

    /// The instruction at a place.
    pub(super) fn instruction(&self, place: u32) -> Option<&Instruction> {
        self.instructions.get(place as usize)
    }

    /// Whether a match can only begin where the text does.
    pub(super) fn is_anchored(&self) -> bool {
        self.is_anchored
    }

    /// The character that every match begins with, if it is known.
    pub(super) fn first(&self) -> Option<char> {
        self.first
    }

    /// The number of instructions.
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }
}

/// The instructions may be many, so only their number is shown.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({} instructions)", self.len())
    }
}

/// Whether a part can match without taking a character.
fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Assertion(_) => true,
        Node::Never | Node::Char(_) | Node::Class(_) | Node::Any | Node::AnyButNewline => false,
        Node::Concat(nodes) => nodes.iter().all(may_be_empty),
        Node::Alternate(nodes) => nodes.iter().any(may_be_empty),
        Node::Repeat { node, least, .. } => *least == 0 || may_be_empty(node),
    }
}

struct Compiler {
    instructions: Vec<Instruction>,
}

impl Compiler {
    fn next(&self) -> u32 {
        u32::try_from(self.instructions.len()).unwrap_or(u32::MAX)
    }

    fn push(&mut self, instruction: Instruction) -> u32 {
        let place = self.next();
        self.instructions.push(instruction);
        place
    }

    fn set(&mut self, place: u32, instruction: Instruction) {
        if let Some(slot) = self.instructions.get_mut(place as usize) {
            *slot = instruction;
        }
    }

    fn add(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Never => drop(self.push(Instruction::Never)),
            Node::Char(literal) => drop(self.push(Instruction::Char(*literal))),
            Node::Class(class) => drop(self.push(Instruction::Class(class.clone()))),
            Node::Any => drop(self.push(Instruction::Any)),
            Node::AnyButNewline => drop(self.push(Instruction::AnyButNewline)),
            Node::Assertion(assertion) => drop(self.push(Instruction::Assertion(*assertion))),
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.add(node)),
            Node::Alternate(nodes) => self.add_alternatives(nodes),
            Node::Repeat { node, least, most, lazy } => self.add_repetition(node, *least, *most, *lazy),
        }
    }

    fn add_alternatives(&mut self, nodes: &[Node]) {
        let mut ends = Vec::with_capacity(nodes.len());
        let mut rest = nodes.iter().peekable();
        while let Some(node) = rest.next() {
            if rest.peek().is_none() {
                self.add(node);
                break;
            }
            let split = self.push(Instruction::Never);
            self.add(node);
            ends.push(self.push(Instruction::Never));
            let other = self.next();
            self.set(split, Instruction::Split(split + 1, other));
        }
        let end = self.next();
        ends.into_iter().for_each(|place| self.set(place, Instruction::Jump(end)));
    }

    fn add_repetition(&mut self, node: &Node, least: u32, most: Option<u32>, lazy: bool) {
        // The last of the copies that must be there is the one that repeats.
        let copies = if most.is_none() { least.saturating_sub(1) } else { least };
        (0..copies).for_each(|_| self.add(node));
        match most {
            None if least > 0 => self.add_loop(node, lazy),
            // What may be empty is tried once before the loop is left out, so that its own order of preference counts.
            None if may_be_empty(node) => self.add_optional(lazy, |compiler| compiler.add_loop(node, lazy)),
            None => {
                let split = self.push(Instruction::Never);
                self.add(node);
                self.push(Instruction::Jump(split));
                self.set_split(split, split + 1, lazy);
            }
            Some(most) => {
                let splits: Vec<u32> = (least..most)
                    .map(|_| {
                        let split = self.push(Instruction::Never);
                        self.add(node);
                        split
                    })
                    .collect();
                splits.into_iter().for_each(|split| self.set_split(split, split + 1, lazy));
            }
        }
    }

    /// Once or more.
    fn add_loop(&mut self, node: &Node, lazy: bool) {
        let begin = self.next();
        self.add(node);
        let split = self.push(Instruction::Never);
        self.set_split(split, begin, lazy);
    }

    fn add_optional(&mut self, lazy: bool, add: impl FnOnce(&mut Self)) {
        let split = self.push(Instruction::Never);
        add(self);
        self.set_split(split, split + 1, lazy);
    }

    /// A choice between a place and what comes next to be added.
    fn set_split(&mut self, split: u32, more: u32, lazy: bool) {
        let end = self.next();
        self.set(split, if lazy { Instruction::Split(end, more) } else { Instruction::Split(more, end) });
    }
}

/// Ways through a pattern, the best first: where each is, and where its match began. Each place is there once.
struct Ways {
    list: Vec<(u32, usize)>,
    /// For each place where it stands in the list, if it does.
    index: Vec<u32>,
}

impl Ways {
    fn new(length: usize) -> Ways {
        Ways { list: Vec::new(), index: vec![0; length] }
    }

    /// Adds a place; gives whether it was not there.
    fn insert(&mut self, place: u32, start: usize) -> bool {
        let Some(at) = self.index.get_mut(place as usize) else { return false };
        if self.list.get(*at as usize).is_some_and(|(other, _)| *other == place) {
            return false;
        }
        *at = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push((place, start));
        true
    }
}

/// A run of a program over a text.
pub(super) struct Machine<'p> {
    program: &'p Program,
    current: Ways,
    next: Ways,
    /// Places still to be followed.
    open: Vec<u32>,
    /// How many ways were followed.
    pub(super) steps: u64,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program) -> Machine<'p> {
        let length = program.len();
        Machine { program, current: Ways::new(length), next: Ways::new(length), open: Vec::new(), steps: 0 }
    }

    /// The first match from a place on: where it begins and ends. With `any`, the end may be that of a worse match.
    pub(super) fn find(&mut self, text: &str, from: usize, any: bool) -> Option<(usize, usize)> {
        let mut found = None;
        let mut before = text.get(..from)?.chars().next_back();
        let mut rest = text.get(from..)?;
        self.current.list.clear();
        loop {
            if self.current.list.is_empty() {
                if found.is_some() || self.program.is_anchored && before.is_some() {
                    return found;
                }
                // Nothing before its first character can begin a match.
                if let Some(first) = self.program.first
                    && let (skipped, begin) = rest.split_at_checked(rest.find(first)?)?
                    && !skipped.is_empty()
                {
                    before = skipped.chars().next_back();
                    rest = begin;
                }
            }
            let at = text.len() - rest.len();
            let mut following = rest.chars();
            let character = following.next();
            if found.is_none() {
                // A match that begins here is worse than all that began before.
                follow(self.program, &mut self.current, &mut self.open, (0, at), before, character);
            }
            if let Some(start) = self.step(character, following.clone().next()) {
                found = Some((start, at));
                if any {
                    return found;
                }
            }
            if character.is_none() {
                return found;
            }
            before = character;
            rest = following.as_str();
        }
    }

    /// Takes a character in all ways that are better than one that ends here; gives where that one began.
    fn step(&mut self, character: Option<char>, following: Option<char>) -> Option<usize> {
        self.next.list.clear();
        self.steps = self.steps.saturating_add(self.current.list.len() as u64);
        let mut matched = None;
        for (place, start) in self.current.list.iter().copied() {
            let instruction = self.program.instruction(place);
            if matches!(instruction, Some(Instruction::Match)) {
                matched = Some(start);
                break;
            }
            let takes = character.zip(instruction).is_some_and(|(character, instruction)| instruction.takes(character));
            if takes {
                follow(self.program, &mut self.next, &mut self.open, (place + 1, start), character, following);
            }
        }
        std::mem::swap(&mut self.current, &mut self.next);
        matched
    }
}

/// Adds all places that are reached from one without a character, the best first.
fn follow(
    program: &Program,
    ways: &mut Ways,
    open: &mut Vec<u32>,
    (place, start): (u32, usize),
    before: Option<char>,
    after: Option<char>,
) {
    open.push(place);
    while let Some(place) = open.pop() {
        if !ways.insert(place, start) {
            continue;
        }
        match program.instruction(place) {
            Some(Instruction::Jump(to)) => open.push(*to),
            Some(Instruction::Split(better, worse)) => open.extend([*worse, *better]),
            Some(Instruction::Assertion(assertion)) if assertion.holds(before, after) => open.push(place + 1),
            _ => {}
        }
    }
}
