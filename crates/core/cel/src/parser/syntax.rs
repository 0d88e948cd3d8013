//! The grammar: one function for each rule, deciding by the same tokens as kube-apiserver's generated parser.
//!
//! The tree is an arena, so that long chains of operators, which nest on the left, are freed without recursion. Numbers
//! of positions are the generated parser's; see `recovery`.

mod operators;
mod primary;
mod sets;

use super::recovery::{Machine, Step, Stop};
use super::token::{Set, T, Token};
use crate::issue::{Issues, Source};

pub(super) type Id = usize;

/// A part of the syntax tree. Parts that an error left out are `None`.
#[derive(Debug, Default)]
pub(super) enum Cst {
    #[default]
    Failed,
    Conditional {
        condition: Option<Id>,
        operator: Option<usize>,
        yes: Option<Id>,
        no: Option<Id>,
    },
    /// `||` or `&&`.
    Logic {
        is_or: bool,
        first: Option<Id>,
        operators: Vec<usize>,
        rest: Vec<Id>,
    },
    /// Operators of relations and calculations.
    Binary {
        left: Option<Id>,
        operator: Option<usize>,
        right: Option<Id>,
    },
    /// A rule that only holds another.
    Wrapped(Option<Id>),
    UnaryFailed,
    Not {
        operators: Vec<usize>,
        member: Option<Id>,
    },
    Negate {
        operators: Vec<usize>,
        member: Option<Id>,
    },
    Select {
        member: Option<Id>,
        dot: Option<usize>,
        question: Option<usize>,
        field: Option<Id>,
    },
    MemberCall {
        member: Option<Id>,
        name: Option<usize>,
        open: Option<usize>,
        args: Option<Id>,
    },
    Index {
        member: Option<Id>,
        open: Option<usize>,
        question: Option<usize>,
        index: Option<Id>,
    },
    Ident {
        dot: Option<usize>,
        name: Option<usize>,
    },
    GlobalCall {
        dot: Option<usize>,
        name: Option<usize>,
        open: Option<usize>,
        args: Option<Id>,
    },
    ListLiteral {
        open: Option<usize>,
        elements: Option<Id>,
    },
    MapLiteral {
        open: Option<usize>,
        entries: Option<Id>,
    },
    Message {
        dot: Option<usize>,
        names: Vec<usize>,
        open: Option<usize>,
        fields: Option<Id>,
    },
    /// Expressions, elements, or keys and fields with colons and values.
    Items {
        items: Vec<Id>,
        colons: Vec<usize>,
        values: Vec<Id>,
    },
    /// A field or element that may be marked `?`.
    Marked {
        question: Option<usize>,
        inner: Option<Id>,
    },
    FieldName {
        token: Option<usize>,
        is_quoted: bool,
    },
    Literal {
        sign: Option<usize>,
        token: Option<usize>,
    },
}

#[derive(Debug)]
pub(super) struct Node {
    /// The index of its first token.
    pub start: usize,
    pub cst: Cst,
}

#[derive(Debug)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub root: Option<Id>,
}

/// Parses all tokens; `None` when parsing had to end early, which is reported.
pub(super) fn parse(source: &Source, tokens: &[Token], issues: &mut Issues) -> Option<Tree> {
    let mut parser = Parser { m: Machine::new(source, tokens, issues), nodes: Vec::new() };
    let mut root = None;
    let end = parser.start(&mut root);
    match end {
        Ok(()) => Some(Tree { nodes: parser.nodes, root }),
        Err(_) => None,
    }
}

struct Parser<'s> {
    m: Machine<'s>,
    nodes: Vec<Node>,
}

impl<'s> Parser<'s> {
    fn add(&mut self, start: usize, cst: Cst) -> Id {
        self.nodes.push(Node { start, cst });
        self.nodes.len() - 1
    }

    /// Parses a rule into a node, which is there even if the rule fails.
    fn node(
        &mut self,
        rule: usize,
        follow: Set,
        body: impl FnOnce(&mut Self, &mut Cst) -> Step,
    ) -> Result<Option<Id>, Stop> {
        let start = self.m.token(1);
        let mut cst = Cst::default();
        // The machine and the arena are borrowed by turns.
        let outcome = self.run(rule, follow, |this| body(this, &mut cst));
        outcome?;
        Ok(Some(self.add(start, cst)))
    }

    fn run(&mut self, rule: usize, follow: Set, body: impl FnOnce(&mut Self) -> Step) -> Result<(), Stop> {
        let entered = self.m.enter(rule, follow)?;
        let outcome = body(self);
        self.m.leave(rule, entered, outcome)
    }

    fn start(&mut self, root: &mut Option<Id>) -> Result<(), Stop> {
        self.run(0, Set::NONE, |p| {
            p.m.at_state(34);
            *root = p.expr(Set::of(&[T::Eof]))?;
            p.m.take(35, T::Eof, Set::END)?;
            Ok(())
        })
    }
}
