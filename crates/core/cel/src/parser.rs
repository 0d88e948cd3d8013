//! From text to a tree: tokens, syntax with the recovery and texts of kube-apiserver's generated parser, macros.
//!
//! Depths of nesting, sizes and numbers of errors are bounded as there; nothing recurses deeper than those bounds.

mod build;
mod lexer;
mod macros;
mod recovery;
mod syntax;
mod token;
mod unescape;

pub(crate) use macros::ACCUMULATOR;

use crate::ast::Ast;
use crate::issue::{Issues, Position, Source};

/// The most characters of an expression.
const MAX_CHARS: usize = 100_000;

/// The syntax that an environment enables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Syntax {
    /// `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`, `optMap` and `optFlatMap`.
    pub optionals: bool,
    /// Macros with two variables, `transformList` and its like.
    pub two_variables: bool,
    /// `sortBy`.
    pub sort_by: bool,
    /// `cel.bind`.
    pub bind: bool,
}

/// Parses an expression.
pub fn parse(text: &str, syntax: Syntax) -> Result<Ast, Issues> {
    let source = Source::new(text);
    let count = source.chars().len();
    let mut issues = Issues::new(source.clone());
    if count > MAX_CHARS {
        let message = format!("expression code point size exceeds limit: size: {count}, limit {MAX_CHARS}");
        issues.report(1, Position(None), message);
        return Err(issues);
    }
    let tokens = lexer::tokens(&source, &mut issues);
    let tree = syntax::parse(&source, &tokens, &mut issues);
    let Some(tree) = tree else { return Err(issues) };
    let ast = build::build(&source, &tokens, &tree, syntax, &mut issues);
    match ast {
        Some(ast) if issues.is_empty() => Ok(ast),
        _ => Err(issues),
    }
}
