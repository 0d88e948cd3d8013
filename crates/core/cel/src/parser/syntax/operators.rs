//! Rules of operators, from conditionals to selections.

use super::sets::*;
use super::{Cst, Id, Parser};
use crate::parser::recovery::{At, Step};
use crate::parser::token::{Set, T};

impl Parser<'_> {
    pub(super) fn expr(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn or(&mut self, follow: Set) -> Step<Option<Id>> {
        self.logic(2, true, follow)
    }

    pub(super) fn and(&mut self, follow: Set) -> Step<Option<Id>> {
        self.logic(3, false, follow)
    }

    pub(super) fn logic(&mut self, rule: usize, is_or: bool, follow: Set) -> Step<Option<Id>> {
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
    pub(super) fn left_recursive(
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

    pub(super) fn relation(&mut self, precedence: u8, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn calc(&mut self, precedence: u8, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn binary(
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

    pub(super) fn unary(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn plain_member(&mut self, cst: &mut Cst) -> Step {
        *cst = Cst::Wrapped(None);
        self.m.at_state(86);
        *cst = Cst::Wrapped(self.member(Set::END)?);
        Ok(())
    }

    /// `!!member` or `--member`.
    pub(super) fn signs(&mut self, cst: &mut Cst, is_not: bool) -> Step {
        let (mut operators, mut member) = (Vec::new(), None);
        let outcome = self.signs_and_member(is_not, &mut operators, &mut member);
        *cst = if is_not { Cst::Not { operators, member } } else { Cst::Negate { operators, member } };
        outcome
    }

    pub(super) fn signs_and_member(
        &mut self,
        is_not: bool,
        operators: &mut Vec<usize>,
        member: &mut Option<Id>,
    ) -> Step {
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

    pub(super) fn member(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn select(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
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

    pub(super) fn member_call(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
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

    pub(super) fn index(&mut self, left: Id, cst: &mut Cst) -> Step<bool> {
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
}
