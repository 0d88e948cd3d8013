//! Rules of names, calls and literals, and of the lists within them.

use super::sets::*;
use super::{Cst, Id, Parser};
use crate::parser::recovery::{At, Step};
use crate::parser::token::{Set, T};

impl Parser<'_> {
    pub(super) fn primary(&mut self, follow: Set) -> Step<Option<Id>> {
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
    pub(super) fn named(&mut self, ahead: usize, cst: &mut Cst) -> Step {
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

    pub(super) fn global_call(&mut self, cst: &mut Cst) -> Step {
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

    pub(super) fn list_literal(&mut self, cst: &mut Cst) -> Step {
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

    pub(super) fn map_literal(&mut self, cst: &mut Cst) -> Step {
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

    pub(super) fn message(&mut self, cst: &mut Cst) -> Step {
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

    pub(super) fn expr_list(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn list_elements(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn message_fields(&mut self, follow: Set) -> Step<Option<Id>> {
        self.pairs(11, 202, MARKED_FIELD, follow, Self::marked_field)
    }

    pub(super) fn map_entries(&mut self, follow: Set) -> Step<Option<Id>> {
        self.pairs(13, 220, MARKED, follow, Self::marked_expr)
    }

    /// Keys and values, from the rule's first state on.
    pub(super) fn pairs(
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

    pub(super) fn marked_field(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn marked_expr(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn field_name(&mut self, follow: Set) -> Step<Option<Id>> {
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

    pub(super) fn literal(&mut self, follow: Set) -> Step<Option<Id>> {
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
