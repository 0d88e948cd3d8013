//! The grammar: one function for each rule, deciding by the same tokens as the reference's generated parser.
//!
//! The tree is an arena, so that long chains of operators, which nest on the left, are freed without recursion. Numbers
//! of positions are the generated parser's; see `recovery`.

use super::recovery::{At, Machine, Step, Stop};
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

const E: Set = Set::of(&[
    T::LeftBracket,
    T::LeftBrace,
    T::LeftParen,
    T::Dot,
    T::Minus,
    T::Exclamation,
    T::True,
    T::False,
    T::Null,
    T::Float,
    T::Int,
    T::Uint,
    T::String,
    T::Bytes,
    T::Ident,
]);
const PRIMARY: Set = Set::of(&[
    T::LeftBracket,
    T::LeftBrace,
    T::LeftParen,
    T::Dot,
    T::Minus,
    T::True,
    T::False,
    T::Null,
    T::Float,
    T::Int,
    T::Uint,
    T::String,
    T::Bytes,
    T::Ident,
]);
const QUESTION: Set = Set::of(&[T::Question]);
const MARKED: Set = E.or(QUESTION);
const LITERAL: Set = Set::of(&[T::Minus, T::True, T::False, T::Null, T::Float, T::Int, T::Uint, T::String, T::Bytes]);
const COLON: Set = Set::of(&[T::Colon]);
const OR: Set = Set::of(&[T::Or]);
const AND: Set = Set::of(&[T::And]);
const RELATIONS: Set = Set::of(&[T::Less, T::LessEquals, T::GreaterEquals, T::Greater, T::Equals, T::NotEquals, T::In]);
const PRODUCTS: Set = Set::of(&[T::Star, T::Slash, T::Percent]);
const SUMS: Set = Set::of(&[T::Plus, T::Minus]);
const CALCULATIONS: Set = PRODUCTS.or(SUMS);
const ACCESS: Set = Set::of(&[T::Dot, T::LeftBracket]);
const COMMA: Set = Set::of(&[T::Comma]);
const IDENT: Set = Set::of(&[T::Ident]);
const FIELD: Set = Set::of(&[T::Ident, T::QuotedIdent]);
const MARKED_FIELD: Set = FIELD.or(QUESTION);
const CLOSE_PAREN: Set = Set::of(&[T::RightParen]);
const ARGS: Set = E.or(CLOSE_PAREN);
const OPEN_PAREN: Set = Set::of(&[T::LeftParen]);
const CLOSE_BRACKET: Set = Set::of(&[T::RightBracket]);
const CLOSE_BRACE: Set = Set::of(&[T::RightBrace]);
const DOTTED: Set = Set::of(&[T::Dot, T::Ident]);
const DOT_OR_BRACE: Set = Set::of(&[T::Dot, T::LeftBrace]);

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

    fn expr(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(1, follow, |p, cst| {
            let (mut condition, mut operator, mut yes, mut no) = (None, None, None, None);
            let mut body = || -> Step {
                p.m.at_state(37);
                condition = p.or(QUESTION.or_end())?;
                p.m.sync(43, At::Block, QUESTION.or_end())?;
                if p.m.la(1) == T::Question {
                    operator = Some(p.m.take(38, T::Question, E)?);
                    p.m.at_state(39);
                    yes = p.or(COLON)?;
                    p.m.take(40, T::Colon, E)?;
                    p.m.at_state(41);
                    no = p.expr(Set::END)?;
                }
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Conditional { condition, operator, yes, no };
            outcome
        })
    }

    fn or(&mut self, follow: Set) -> Step<Option<Id>> {
        self.logic(2, true, follow)
    }

    fn and(&mut self, follow: Set) -> Step<Option<Id>> {
        self.logic(3, false, follow)
    }

    fn logic(&mut self, rule: usize, is_or: bool, follow: Set) -> Step<Option<Id>> {
        let (kind, ahead, first_state) = if is_or { (T::Or, OR, 45) } else { (T::And, AND, 53) };
        let operand = |p: &mut Self| if is_or { p.and(ahead.or_end()) } else { p.relation(0, ahead.or_end()) };
        self.node(rule, follow, |p, cst| {
            let (mut first, mut operators, mut rest) = (None, Vec::new(), Vec::new());
            let mut body = || -> Step {
                p.m.at_state(first_state);
                first = operand(p)?;
                p.m.sync(first_state + 5, At::Block, ahead.or_end())?;
                while p.m.la(1) == kind {
                    operators.push(p.m.take(first_state + 1, kind, E)?);
                    p.m.at_state(first_state + 2);
                    rest.extend(operand(p)?);
                    p.m.sync(first_state + 7, At::LoopBack, ahead.or_end())?;
                }
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Logic { is_or, first, operators, rest };
            outcome
        })
    }

    /// A rule that recurses on its left: what was parsed becomes the left side of what follows.
    fn left_recursive(
        &mut self,
        rule: usize,
        follow: Set,
        first: impl FnOnce(&mut Self) -> Step<Option<Id>>,
        mut next: impl FnMut(&mut Self, Id, &mut Cst) -> Step<bool>,
    ) -> Step<Option<Id>> {
        let start = self.m.token(1);
        let mut current = None;
        self.run(rule, follow, |p| {
            let inner = first(p);
            let (inner, stopped) = match inner {
                Ok(inner) => (inner, None),
                Err(stop) => (None, Some(stop)),
            };
            let mut left = p.add(start, Cst::Wrapped(inner));
            current = Some(left);
            if let Some(stop) = stopped {
                return Err(stop);
            }
            loop {
                let mut cst = Cst::default();
                let more = next(p, left, &mut cst);
                if matches!(cst, Cst::Failed) {
                    return more.map(|_| ());
                }
                left = p.add(start, cst);
                current = Some(left);
                if !more? {
                    return Ok(());
                }
            }
        })?;
        Ok(current)
    }

    fn relation(&mut self, precedence: u8, follow: Set) -> Step<Option<Id>> {
        let ahead = RELATIONS.or_end();
        let mut state = 69;
        let first = |p: &mut Self| {
            p.m.at_state(62);
            p.calc(0, ahead)
        };
        self.left_recursive(4, follow, first, move |p, left, cst| {
            p.m.sync(state, if state == 69 { At::Block } else { At::LoopBack }, ahead)?;
            state = 71;
            if precedence > 1 || !RELATIONS.has(p.m.la(1)) {
                return Ok(false);
            }
            p.binary(left, cst, 65, RELATIONS, |p| p.relation(2, ahead))
        })
    }

    fn calc(&mut self, precedence: u8, follow: Set) -> Step<Option<Id>> {
        let ahead = CALCULATIONS.or_end();
        let mut state = 83;
        let first = |p: &mut Self| {
            p.m.at_state(73);
            p.unary(ahead)
        };
        self.left_recursive(5, follow, first, move |p, left, cst| {
            p.m.sync(state, if state == 83 { At::Block } else { At::LoopBack }, ahead)?;
            state = 85;
            let next = p.m.la(1);
            if PRODUCTS.has(next) && precedence <= 2 {
                p.m.sync(81, At::Block, CALCULATIONS)?;
                p.binary(left, cst, 76, PRODUCTS, |p| p.calc(3, ahead))
            } else if SUMS.has(next) && precedence <= 1 {
                p.m.sync(81, At::Block, CALCULATIONS)?;
                p.binary(left, cst, 79, SUMS, |p| p.calc(2, ahead))
            } else {
                Ok(false)
            }
        })
    }

    fn binary(
        &mut self,
        left: Id,
        cst: &mut Cst,
        state: u16,
        operators: Set,
        operand: impl FnOnce(&mut Self) -> Step<Option<Id>>,
    ) -> Step<bool> {
        let (mut operator, mut right) = (None, None);
        let body = || -> Step<bool> {
            operator = Some(self.m.take_any(state, operators, E)?);
            self.m.at_state(state + 1);
            right = operand(self)?;
            Ok(true)
        };
        let outcome = body();
        *cst = Cst::Binary { left: Some(left), operator, right };
        outcome
    }

    fn unary(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(6, follow, |p, cst| {
            *cst = Cst::UnaryFailed;
            p.m.sync(99, At::Block, E)?;
            match p.m.la(1) {
                T::Exclamation => p.signs(cst, true),
                T::Minus => match p.m.la(2) {
                    T::Int | T::Float => p.plain_member(cst),
                    next if PRIMARY.has(next) => p.signs(cst, false),
                    _ => p.m.no_alternative(2),
                },
                next if PRIMARY.has(next) => p.plain_member(cst),
                _ => p.m.no_alternative(1),
            }
        })
    }

    fn plain_member(&mut self, cst: &mut Cst) -> Step {
        *cst = Cst::Wrapped(None);
        self.m.at_state(86);
        *cst = Cst::Wrapped(self.member(Set::END)?);
        Ok(())
    }

    /// `!!member` or `--member`.
    fn signs(&mut self, cst: &mut Cst, is_not: bool) -> Step {
        let (mut operators, mut member) = (Vec::new(), None);
        let outcome = self.signs_and_member(is_not, &mut operators, &mut member);
        *cst = if is_not { Cst::Not { operators, member } } else { Cst::Negate { operators, member } };
        outcome
    }

    fn signs_and_member(&mut self, is_not: bool, operators: &mut Vec<usize>, member: &mut Option<Id>) -> Step {
        if is_not {
            let ahead = Set::of(&[T::Exclamation]);
            self.m.sync(88, At::Block, ahead)?;
            loop {
                operators.push(self.m.take(87, T::Exclamation, E)?);
                self.m.sync(90, At::LoopBack, E)?;
                if self.m.la(1) != T::Exclamation {
                    break;
                }
            }
            self.m.at_state(92);
        } else {
            self.m.sync(94, At::Block, Set::of(&[T::Minus]))?;
            loop {
                operators.push(self.m.take(93, T::Minus, PRIMARY)?);
                self.m.sync(96, At::LoopBack, PRIMARY)?;
                match self.m.la(1) {
                    T::Minus if PRIMARY.has(self.m.la(2)) => {}
                    T::Minus => return self.m.no_alternative(2),
                    next if PRIMARY.has(next) => break,
                    _ => return self.m.no_alternative(1),
                }
            }
            self.m.at_state(98);
        }
        *member = self.member(Set::END)?;
        Ok(())
    }

    fn member(&mut self, follow: Set) -> Step<Option<Id>> {
        let ahead = ACCESS.or_end();
        let mut state = 128;
        let first = |p: &mut Self| {
            p.m.at_state(102);
            p.primary(ahead)
        };
        self.left_recursive(7, follow, first, move |p, left, cst| {
            p.m.sync(state, if state == 128 { At::Block } else { At::LoopBack }, ahead)?;
            state = 130;
            if !ACCESS.has(p.m.la(1)) {
                return Ok(false);
            }
            p.m.sync(126, At::Block, ACCESS)?;
            match (p.m.la(1), p.m.la(2), p.m.la(3)) {
                (T::LeftBracket, _, _) => p.index(left, cst),
                (T::Dot, T::Ident, T::LeftParen) => p.member_call(left, cst),
                (T::Dot, T::Ident | T::QuotedIdent | T::Question, _) => p.select(left, cst),
                _ => p.m.no_alternative(2),
            }
        })
    }

    fn select(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
        let (mut dot, mut question, mut field) = (None, None, None);
        let mut body = || -> Step<bool> {
            dot = Some(self.m.take(105, T::Dot, MARKED_FIELD)?);
            self.m.sync(107, At::Block, MARKED_FIELD)?;
            if self.m.la(1) == T::Question {
                question = Some(self.m.take(106, T::Question, FIELD)?);
            }
            self.m.at_state(109);
            field = self.field_name(ACCESS.or_end())?;
            Ok(true)
        };
        let outcome = body();
        *cst = Cst::Select { member: Some(left), dot, question, field };
        outcome
    }

    fn member_call(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
        let (mut name, mut open, mut args) = (None, None, None);
        let mut body = || -> Step<bool> {
            self.m.take(111, T::Dot, IDENT)?;
            name = Some(self.m.take(112, T::Ident, OPEN_PAREN)?);
            open = Some(self.m.take(113, T::LeftParen, ARGS)?);
            self.m.sync(115, At::Block, ARGS)?;
            if E.has(self.m.la(1)) {
                self.m.at_state(114);
                args = self.expr_list(CLOSE_PAREN)?;
            }
            self.m.take(117, T::RightParen, ACCESS.or_end())?;
            Ok(true)
        };
        let outcome = body();
        *cst = Cst::MemberCall { member: Some(left), name, open, args };
        outcome
    }

    fn index(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
        let (mut open, mut question, mut index) = (None, None, None);
        let mut body = || -> Step<bool> {
            open = Some(self.m.take(119, T::LeftBracket, MARKED)?);
            self.m.sync(121, At::Block, MARKED)?;
            if self.m.la(1) == T::Question {
                question = Some(self.m.take(120, T::Question, E)?);
            }
            self.m.at_state(123);
            index = self.expr(CLOSE_BRACKET)?;
            self.m.take(124, T::RightBracket, ACCESS.or_end())?;
            Ok(true)
        };
        let outcome = body();
        *cst = Cst::Index { member: Some(left), open, question, index };
        outcome
    }

    fn primary(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(8, follow, |p, cst| {
            p.m.sync(184, At::Block, PRIMARY)?;
            match p.m.la(1) {
                T::LeftParen => {
                    *cst = Cst::Wrapped(None);
                    p.m.take(144, T::LeftParen, E)?;
                    p.m.at_state(145);
                    *cst = Cst::Wrapped(p.expr(CLOSE_PAREN)?);
                    p.m.take(146, T::RightParen, Set::END)?;
                    Ok(())
                }
                T::LeftBracket => p.list_literal(cst),
                T::LeftBrace => p.map_literal(cst),
                T::Ident => p.named(1, cst),
                T::Dot if p.m.la(2) == T::Ident => p.named(2, cst),
                T::Dot => p.m.no_alternative(2),
                next if LITERAL.has(next) => {
                    *cst = Cst::Wrapped(None);
                    p.m.at_state(183);
                    *cst = Cst::Wrapped(p.literal(Set::END)?);
                    Ok(())
                }
                _ => p.m.no_alternative(1),
            }
        })
    }

    /// An identifier, a call or an object literal, whose first identifier is `ahead`.
    fn named(&mut self, ahead: usize, cst: &mut Cst) -> Step {
        let mut next = ahead + 1;
        while self.m.la(next) == T::Dot && self.m.la(next + 1) == T::Ident {
            next += 2;
        }
        if self.m.la(ahead + 1) == T::LeftParen {
            self.global_call(cst)
        } else if self.m.la(next) == T::LeftBrace {
            self.message(cst)
        } else {
            let mut dot = None;
            *cst = Cst::Ident { dot, name: None };
            self.m.sync(132, At::Block, DOTTED)?;
            if self.m.la(1) == T::Dot {
                dot = Some(self.m.take(131, T::Dot, IDENT)?);
            }
            *cst = Cst::Ident { dot, name: Some(self.m.take(134, T::Ident, Set::END)?) };
            Ok(())
        }
    }

    fn global_call(&mut self, cst: &mut Cst) -> Step {
        let (mut dot, mut name, mut open, mut args) = (None, None, None, None);
        let mut body = || -> Step {
            self.m.sync(136, At::Block, DOTTED)?;
            if self.m.la(1) == T::Dot {
                dot = Some(self.m.take(135, T::Dot, IDENT)?);
            }
            name = Some(self.m.take(138, T::Ident, OPEN_PAREN)?);
            open = Some(self.m.take(139, T::LeftParen, ARGS)?);
            self.m.sync(141, At::Block, ARGS)?;
            if E.has(self.m.la(1)) {
                self.m.at_state(140);
                args = self.expr_list(CLOSE_PAREN)?;
            }
            self.m.take(143, T::RightParen, Set::END)?;
            Ok(())
        };
        let outcome = body();
        *cst = Cst::GlobalCall { dot, name, open, args };
        outcome
    }

    fn list_literal(&mut self, cst: &mut Cst) -> Step {
        let (mut open, mut elements) = (None, None);
        let mut body = || -> Step {
            let close = COMMA.or(CLOSE_BRACKET);
            open = Some(self.m.take(148, T::LeftBracket, MARKED.or(close))?);
            self.m.sync(150, At::Block, MARKED.or(close))?;
            if MARKED.has(self.m.la(1)) {
                self.m.at_state(149);
                elements = self.list_elements(close)?;
            }
            self.m.sync(153, At::Block, close)?;
            if self.m.la(1) == T::Comma {
                self.m.take(152, T::Comma, CLOSE_BRACKET)?;
            }
            self.m.take(155, T::RightBracket, Set::END)?;
            Ok(())
        };
        let outcome = body();
        *cst = Cst::ListLiteral { open, elements };
        outcome
    }

    fn map_literal(&mut self, cst: &mut Cst) -> Step {
        let (mut open, mut entries) = (None, None);
        let mut body = || -> Step {
            let close = COMMA.or(CLOSE_BRACE);
            open = Some(self.m.take(156, T::LeftBrace, MARKED.or(close))?);
            self.m.sync(158, At::Block, MARKED.or(close))?;
            if MARKED.has(self.m.la(1)) {
                self.m.at_state(157);
                entries = self.map_entries(close)?;
            }
            self.m.sync(161, At::Block, close)?;
            if self.m.la(1) == T::Comma {
                self.m.take(160, T::Comma, CLOSE_BRACE)?;
            }
            self.m.take(163, T::RightBrace, Set::END)?;
            Ok(())
        };
        let outcome = body();
        *cst = Cst::MapLiteral { open, entries };
        outcome
    }

    fn message(&mut self, cst: &mut Cst) -> Step {
        let (mut dot, mut names, mut open, mut fields) = (None, Vec::new(), None, None);
        let mut body = || -> Step {
            self.m.sync(165, At::Block, DOTTED)?;
            if self.m.la(1) == T::Dot {
                dot = Some(self.m.take(164, T::Dot, IDENT)?);
            }
            names.push(self.m.take(167, T::Ident, DOT_OR_BRACE)?);
            self.m.sync(172, At::Block, DOT_OR_BRACE)?;
            while self.m.la(1) == T::Dot {
                self.m.take(168, T::Dot, IDENT)?;
                names.push(self.m.take(169, T::Ident, DOT_OR_BRACE)?);
                self.m.sync(174, At::LoopBack, DOT_OR_BRACE)?;
            }
            let close = COMMA.or(CLOSE_BRACE);
            open = Some(self.m.take(175, T::LeftBrace, MARKED_FIELD.or(close))?);
            self.m.sync(177, At::Block, MARKED_FIELD.or(close))?;
            if MARKED_FIELD.has(self.m.la(1)) {
                self.m.at_state(176);
                fields = self.message_fields(close)?;
            }
            self.m.sync(180, At::Block, close)?;
            if self.m.la(1) == T::Comma {
                self.m.take(179, T::Comma, CLOSE_BRACE)?;
            }
            self.m.take(182, T::RightBrace, Set::END)?;
            Ok(())
        };
        let outcome = body();
        *cst = Cst::Message { dot, names, open, fields };
        outcome
    }

    fn expr_list(&mut self, follow: Set) -> Step<Option<Id>> {
        let ahead = COMMA.or_end();
        self.node(9, follow, |p, cst| {
            let mut items = Vec::new();
            let mut body = || -> Step {
                p.m.at_state(186);
                items.extend(p.expr(ahead)?);
                p.m.sync(191, At::Block, ahead)?;
                while p.m.la(1) == T::Comma {
                    p.m.take(187, T::Comma, E)?;
                    p.m.at_state(188);
                    items.extend(p.expr(ahead)?);
                    p.m.sync(193, At::LoopBack, ahead)?;
                }
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Items { items, colons: Vec::new(), values: Vec::new() };
            outcome
        })
    }

    fn list_elements(&mut self, follow: Set) -> Step<Option<Id>> {
        let ahead = COMMA.or_end();
        self.node(10, follow, |p, cst| {
            let mut items = Vec::new();
            let mut body = || -> Step {
                p.m.at_state(194);
                items.extend(p.marked_expr(ahead)?);
                p.m.sync(199, At::Block, ahead)?;
                while p.m.la(1) == T::Comma && MARKED.has(p.m.la(2)) {
                    p.m.take(195, T::Comma, MARKED)?;
                    p.m.at_state(196);
                    items.extend(p.marked_expr(ahead)?);
                    p.m.sync(201, At::LoopBack, ahead)?;
                }
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Items { items, colons: Vec::new(), values: Vec::new() };
            outcome
        })
    }

    fn message_fields(&mut self, follow: Set) -> Step<Option<Id>> {
        self.pairs(11, 202, MARKED_FIELD, follow, Self::marked_field)
    }

    fn map_entries(&mut self, follow: Set) -> Step<Option<Id>> {
        self.pairs(13, 220, MARKED, follow, Self::marked_expr)
    }

    /// Keys and values, from the rule's first state on.
    fn pairs(
        &mut self,
        rule: usize,
        state: u16,
        first: Set,
        follow: Set,
        key: fn(&mut Self, Set) -> Step<Option<Id>>,
    ) -> Step<Option<Id>> {
        let ahead = COMMA.or_end();
        self.node(rule, follow, |p, cst| {
            let (mut items, mut colons, mut values) = (Vec::new(), Vec::new(), Vec::new());
            let mut body = || -> Step {
                p.m.at_state(state);
                items.extend(key(p, COLON)?);
                colons.push(p.m.take(state + 1, T::Colon, E)?);
                p.m.at_state(state + 2);
                values.extend(p.expr(ahead)?);
                p.m.sync(state + 10, At::Block, ahead)?;
                while p.m.la(1) == T::Comma && first.has(p.m.la(2)) {
                    p.m.take(state + 3, T::Comma, first)?;
                    p.m.at_state(state + 4);
                    items.extend(key(p, COLON)?);
                    colons.push(p.m.take(state + 5, T::Colon, E)?);
                    p.m.at_state(state + 6);
                    values.extend(p.expr(ahead)?);
                    p.m.sync(state + 12, At::LoopBack, ahead)?;
                }
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Items { items, colons, values };
            outcome
        })
    }

    fn marked_field(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(12, follow, |p, cst| {
            let (mut question, mut inner) = (None, None);
            let mut body = || -> Step {
                p.m.sync(216, At::Block, MARKED_FIELD)?;
                if p.m.la(1) == T::Question {
                    question = Some(p.m.take(215, T::Question, FIELD)?);
                }
                p.m.at_state(218);
                inner = p.field_name(Set::END)?;
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Marked { question, inner };
            outcome
        })
    }

    fn marked_expr(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(15, follow, |p, cst| {
            let (mut question, mut inner) = (None, None);
            let mut body = || -> Step {
                p.m.sync(238, At::Block, MARKED)?;
                if p.m.la(1) == T::Question {
                    question = Some(p.m.take(237, T::Question, E)?);
                }
                p.m.at_state(240);
                inner = p.expr(Set::END)?;
                Ok(())
            };
            let outcome = body();
            *cst = Cst::Marked { question, inner };
            outcome
        })
    }

    fn field_name(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(14, follow, |p, cst| {
            p.m.sync(235, At::Block, FIELD)?;
            let (state, kind) = match p.m.la(1) {
                T::Ident => (233, T::Ident),
                T::QuotedIdent => (234, T::QuotedIdent),
                _ => return p.m.no_alternative(1),
            };
            let token = p.m.take(state, kind, Set::END)?;
            *cst = Cst::FieldName { token: Some(token), is_quoted: kind == T::QuotedIdent };
            Ok(())
        })
    }

    fn literal(&mut self, follow: Set) -> Step<Option<Id>> {
        self.node(16, follow, |p, cst| {
            p.m.sync(256, At::Block, LITERAL)?;
            let kind = match (p.m.la(1), p.m.la(2)) {
                (T::Minus, kind @ (T::Int | T::Float)) => kind,
                (T::Minus, _) => return p.m.no_alternative(2),
                (kind, _) if LITERAL.has(kind) => kind,
                _ => return p.m.no_alternative(1),
            };
            let mut sign = None;
            *cst = Cst::Literal { sign, token: None };
            let state = match kind {
                T::Int => 245,
                T::Uint => 246,
                T::Float => 250,
                T::String => 251,
                T::Bytes => 252,
                T::True => 253,
                T::False => 254,
                _ => 255,
            };
            if matches!(kind, T::Int | T::Float) {
                p.m.sync(state - 2, At::Block, Set::of(&[T::Minus, kind]))?;
                if p.m.la(1) == T::Minus {
                    sign = Some(p.m.take(state - 3, T::Minus, Set::of(&[kind]))?);
                }
            }
            *cst = Cst::Literal { sign, token: Some(p.m.take(state, kind, Set::END)?) };
            Ok(())
        })
    }
}
