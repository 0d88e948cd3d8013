//! Which tokens may begin or follow the parts of the grammar.

use crate::parser::token::{Set, T};

pub(super) const E: Set = Set::of(&[
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
pub(super) const PRIMARY: Set = Set::of(&[
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
pub(super) const QUESTION: Set = Set::of(&[T::Question]);
pub(super) const MARKED: Set = E.or(QUESTION);
pub(super) const LITERAL: Set =
    Set::of(&[T::Minus, T::True, T::False, T::Null, T::Float, T::Int, T::Uint, T::String, T::Bytes]);
pub(super) const COLON: Set = Set::of(&[T::Colon]);
pub(super) const OR: Set = Set::of(&[T::Or]);
pub(super) const AND: Set = Set::of(&[T::And]);
pub(super) const RELATIONS: Set =
    Set::of(&[T::Less, T::LessEquals, T::GreaterEquals, T::Greater, T::Equals, T::NotEquals, T::In]);
pub(super) const PRODUCTS: Set = Set::of(&[T::Star, T::Slash, T::Percent]);
pub(super) const SUMS: Set = Set::of(&[T::Plus, T::Minus]);
pub(super) const CALCULATIONS: Set = PRODUCTS.or(SUMS);
pub(super) const ACCESS: Set = Set::of(&[T::Dot, T::LeftBracket]);
pub(super) const COMMA: Set = Set::of(&[T::Comma]);
pub(super) const IDENT: Set = Set::of(&[T::Ident]);
pub(super) const FIELD: Set = Set::of(&[T::Ident, T::QuotedIdent]);
pub(super) const MARKED_FIELD: Set = FIELD.or(QUESTION);
pub(super) const CLOSE_PAREN: Set = Set::of(&[T::RightParen]);
pub(super) const ARGS: Set = E.or(CLOSE_PAREN);
pub(super) const OPEN_PAREN: Set = Set::of(&[T::LeftParen]);
pub(super) const CLOSE_BRACKET: Set = Set::of(&[T::RightBracket]);
pub(super) const CLOSE_BRACE: Set = Set::of(&[T::RightBrace]);
pub(super) const DOTTED: Set = Set::of(&[T::Dot, T::Ident]);
pub(super) const DOT_OR_BRACE: Set = Set::of(&[T::Dot, T::LeftBrace]);
