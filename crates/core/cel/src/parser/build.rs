//! From syntax to the tree of expressions: ids in kube-apiserver's order, literals, macros.

use super::Syntax;
use super::macros;
use super::syntax::{Cst, Id, Tree};
use super::token::{T, Token};
use super::unescape::unescape;
use crate::ast::{Ast, Expr, ExprId, Kind, Literal, MapEntry, StructField};
use crate::issue::{Issues, Position, Source};
use crate::schema::is_reserved;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep operators and selections may nest.
const MAX_DEPTH: u32 = 250;

/// Nothing was built: the expression is too deep, which is reported.
pub(super) struct TooDeep;

type Built<R = Expr> = Result<R, TooDeep>;

/// Builds the tree; `None` when it is too deep. Other errors are among the issues.
pub(super) fn build(
    source: &Source,
    tokens: &[Token],
    tree: &Tree,
    syntax: Syntax,
    issues: &mut Issues,
) -> Option<Ast> {
    let mut builder = Builder { source, tokens, tree, syntax, issues, depth: 0, next_id: 1, offsets: HashMap::new() };
    let root = builder.visit(tree.root);
    let offsets = builder.offsets;
    match root {
        Ok(root) => Some(Ast { root, offsets }),
        Err(TooDeep) => {
            issues.report(0, Position(None), "max recursion depth exceeded".to_string());
            None
        }
    }
}

pub(super) struct Builder<'s> {
    source: &'s Source,
    tokens: &'s [Token],
    tree: &'s Tree,
    pub syntax: Syntax,
    issues: &'s mut Issues,
    depth: u32,
    next_id: ExprId,
    offsets: HashMap<ExprId, u32>,
}

impl Builder<'_> {
    /// A new id for what stands at an offset.
    pub fn id_at(&mut self, offset: Option<u32>) -> ExprId {
        let id = self.next_id;
        self.next_id += 1;
        if let Some(offset) = offset {
            self.offsets.insert(id, offset);
        }
        id
    }

    /// Where an id stands.
    pub fn offset(&self, id: ExprId) -> Option<u32> {
        self.offsets.get(&id).copied()
    }

    fn delete_id(&mut self, id: ExprId) {
        self.offsets.remove(&id);
        if id == self.next_id - 1 {
            self.next_id -= 1;
        }
    }

    fn token_id(&mut self, token: Option<usize>) -> ExprId {
        match token.and_then(|token| self.tokens.get(token)).map(|token| token.start) {
            Some(start) => self.id_at(Some(start)),
            None => -1,
        }
    }

    fn text(&self, token: Option<usize>) -> String {
        let Some(token) = token.and_then(|token| self.tokens.get(token)) else { return String::new() };
        let offset = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        self.source.slice(offset(token.start), offset(token.end))
    }

    fn start_of(&self, node: Id) -> Option<usize> {
        self.tree.nodes.get(node).map(|node| node.start)
    }

    fn unspecified(&mut self, token: Option<usize>) -> Expr {
        Expr { id: self.token_id(token), kind: Kind::Unspecified }
    }

    /// Reports what is wrong at a token.
    fn report(&mut self, token: Option<usize>, message: &str) -> Expr {
        let expr = self.unspecified(token);
        let position = self.offset(expr.id).map_or(Position(None), |offset| self.source.position(offset));
        self.issues.report(expr.id, position, message.to_string());
        expr
    }

    fn literal(&mut self, token: Option<usize>, literal: Literal) -> Expr {
        Expr { id: self.token_id(token), kind: Kind::Literal(literal) }
    }

    /// The node under those that only wrap another.
    fn unnest(&self, node: Option<Id>) -> Option<Id> {
        let mut current = node?;
        loop {
            current = match &self.tree.nodes.get(current)?.cst {
                Cst::Conditional { condition, operator: None, .. } => (*condition)?,
                Cst::Logic { first, operators, .. } if operators.is_empty() => (*first)?,
                Cst::Wrapped(inner) => (*inner)?,
                _ => return Some(current),
            };
        }
    }

    fn visit(&mut self, node: Option<Id>) -> Built {
        let tree = self.tree;
        let Some((id, node)) = self.unnest(node).and_then(|id| Some((id, tree.nodes.get(id)?))) else {
            return Ok(self.unknown());
        };
        let counts = matches!(
            node.cst,
            Cst::Conditional { .. }
                | Cst::Binary { .. }
                | Cst::Select { .. }
                | Cst::MemberCall { .. }
                | Cst::Index { .. }
        );
        if counts {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(TooDeep);
            }
        }
        let built = self.visit_node(id, &node.cst)?;
        if counts {
            self.depth -= 1;
        }
        Ok(built)
    }

    fn unknown(&mut self) -> Expr {
        if self.issues.is_empty() {
            let id = self.id_at(None);
            self.issues.report(id, Position(None), "unknown parse element encountered: <<nil>>".to_string());
            return Expr { id, kind: Kind::Unspecified };
        }
        Expr { id: self.id_at(None), kind: Kind::Unspecified }
    }

    fn visit_node(&mut self, id: Id, cst: &Cst) -> Built {
        let start = self.start_of(id);
        match cst {
            Cst::Conditional { condition, operator, yes, no } => {
                let condition = self.visit(*condition)?;
                let id = self.token_id(*operator);
                let args = vec![condition, self.visit(*yes)?, self.visit(*no)?];
                Ok(self.global_call_or_macro(id, "_?_:_", args))
            }
            Cst::Logic { is_or, first, operators, rest } => self.visit_logic(start, *is_or, *first, operators, rest),
            Cst::Binary { left, operator, right } => {
                let Some(function) =
                    operator.and_then(|token| self.tokens.get(token)).and_then(|t| operator_of(t.kind))
                else {
                    return Ok(self.report(start, "operator not found"));
                };
                let left = self.visit(*left)?;
                let id = self.token_id(*operator);
                let args = vec![left, self.visit(*right)?];
                Ok(self.global_call_or_macro(id, function, args))
            }
            Cst::UnaryFailed => Ok(self.literal(start, Literal::String(Str::new_static("<<error>>")))),
            Cst::Not { operators, member } => self.visit_signs("!_", operators, *member),
            Cst::Negate { operators, member } => self.visit_signs("-_", operators, *member),
            Cst::Select { member, dot, question, field } => self.visit_select(start, *member, *dot, *question, *field),
            Cst::MemberCall { member, name, open, args } => {
                let operand = self.visit(*member)?;
                if name.is_none() {
                    return Ok(self.unspecified(start));
                }
                let name = self.text(*name);
                let id = self.token_id(*open);
                let args = self.visit_args(*args)?;
                Ok(self.member_call_or_macro(id, &name, operand, args))
            }
            Cst::Index { member, open, question, index } => {
                let target = self.visit(*member)?;
                if open.is_none() {
                    return Ok(self.unspecified(start));
                }
                let id = self.token_id(*open);
                let index = self.visit(*index)?;
                if question.is_some() && !self.syntax.optionals {
                    return Ok(self.report(*open, "unsupported syntax '[?'"));
                }
                let function = if question.is_some() { "_[?_]" } else { "_[_]" };
                Ok(self.global_call_or_macro(id, function, vec![target, index]))
            }
            Cst::Ident { dot, name } => {
                if name.is_none() {
                    return Ok(self.unspecified(start));
                }
                let text = self.text(*name);
                if is_reserved(&text) {
                    return Ok(self.report(start, &format!("reserved identifier: {text}")));
                }
                let id = self.token_id(*name);
                Ok(Expr { id, kind: Kind::Ident(dotted(dot.is_some(), &text)) })
            }
            Cst::GlobalCall { dot, name, open, args } => {
                if name.is_none() {
                    return Ok(self.unspecified(start));
                }
                let text = self.text(*name);
                if is_reserved(&text) {
                    return Ok(self.report(start, &format!("reserved identifier: {text}")));
                }
                let id = self.token_id(*open);
                let args = self.visit_args(*args)?;
                Ok(self.global_call_or_macro(id, &dotted(dot.is_some(), &text), args))
            }
            Cst::ListLiteral { open, elements } => {
                let id = self.token_id(*open);
                let (elements, optional) = self.visit_elements(*elements)?;
                Ok(Expr { id, kind: Kind::List { elements, optional } })
            }
            Cst::MapLiteral { open, entries } => {
                let id = self.token_id(*open);
                let entries = self.visit_entries(*entries)?;
                Ok(Expr { id, kind: Kind::Map(entries) })
            }
            Cst::Message { dot, names, open, fields } => {
                let names: Vec<String> = names.iter().map(|name| self.text(Some(*name))).collect();
                let id = self.token_id(*open);
                let fields = self.visit_fields(*fields)?;
                Ok(Expr { id, kind: Kind::Struct { name: dotted(dot.is_some(), &names.join(".")), fields } })
            }
            Cst::Literal { sign, token } => Ok(self.visit_literal(start, sign.is_some(), *token)),
            _ => Ok(self.unknown()),
        }
    }

    fn visit_logic(
        &mut self,
        start: Option<usize>,
        is_or: bool,
        first: Option<Id>,
        operators: &[usize],
        rest: &[Id],
    ) -> Built {
        let (function, shown) = if is_or { ("_||_", "'||'") } else { ("_&&_", "'&&'") };
        let mut terms = vec![Some(self.visit(first)?)];
        let mut ids = Vec::new();
        for (at, operator) in operators.iter().enumerate() {
            let Some(term) = rest.get(at) else {
                return Ok(self.report(start, &format!("unexpected character, wanted {shown}")));
            };
            terms.push(Some(self.visit(Some(*term))?));
            ids.push(self.token_id(Some(*operator)));
        }
        Ok(balance(function, &mut terms, &ids))
    }

    fn visit_signs(&mut self, function: &str, operators: &[usize], member: Option<Id>) -> Built {
        if operators.len().is_multiple_of(2) {
            return self.visit(member);
        }
        let id = self.token_id(operators.first().copied());
        let target = self.visit(member)?;
        Ok(self.global_call_or_macro(id, function, vec![target]))
    }

    /// The name of a field, or what is wrong with it.
    fn field_name(&self, node: Id) -> Result<String, &'static str> {
        match self.tree.nodes.get(node).map(|node| &node.cst) {
            Some(Cst::FieldName { token, is_quoted: false }) => Ok(self.text(*token)),
            Some(Cst::FieldName { .. }) => Err("unsupported syntax: '`'"),
            _ => Err("unsupported ident kind"),
        }
    }

    fn visit_select(
        &mut self,
        start: Option<usize>,
        member: Option<Id>,
        dot: Option<usize>,
        question: Option<usize>,
        field: Option<Id>,
    ) -> Built {
        let operand = self.visit(member)?;
        let (Some(field), Some(_)) = (field, dot) else { return Ok(self.unspecified(start)) };
        let field_start = self.start_of(field);
        let name = self.field_name(field).unwrap_or_else(|wrong| {
            self.report(field_start, wrong);
            String::new()
        });
        if question.is_none() {
            let id = self.token_id(dot);
            let kind = Kind::Select { operand: Box::new(operand), field: name.into(), test_only: false };
            return Ok(Expr { id, kind });
        }
        if !self.syntax.optionals {
            return Ok(self.report(dot, "unsupported syntax '.?'"));
        }
        let name = self.literal(field_start, Literal::String(name.into()));
        let id = self.token_id(dot);
        Ok(call(id, "_?._", vec![operand, name]))
    }

    fn items(&self, node: Option<Id>) -> (&[Id], &[usize], &[Id]) {
        let tree: &Tree = self.tree;
        match node.and_then(|node| tree.nodes.get(node)).map(|node| &node.cst) {
            Some(Cst::Items { items, colons, values }) => (items, colons, values),
            _ => (&[], &[], &[]),
        }
    }

    fn marked(&self, node: Id) -> (Option<usize>, Option<Id>) {
        match self.tree.nodes.get(node).map(|node| &node.cst) {
            Some(Cst::Marked { question, inner }) => (*question, *inner),
            _ => (None, None),
        }
    }

    fn visit_args(&mut self, args: Option<Id>) -> Built<Vec<Expr>> {
        let args = self.items(args).0.to_vec();
        args.into_iter().map(|arg| self.visit(Some(arg))).collect()
    }

    fn visit_elements(&mut self, elements: Option<Id>) -> Built<(Vec<Expr>, Vec<usize>)> {
        let items = self.items(elements).0.to_vec();
        let (mut built, mut optional) = (Vec::with_capacity(items.len()), Vec::new());
        for (at, item) in items.into_iter().enumerate() {
            let (question, inner) = self.marked(item);
            built.push(self.visit(inner)?);
            if question.is_some() {
                if self.syntax.optionals {
                    optional.push(at);
                } else {
                    self.report(question, "unsupported syntax '?'");
                }
            }
        }
        Ok((built, optional))
    }

    fn visit_entries(&mut self, entries: Option<Id>) -> Built<Vec<MapEntry>> {
        let (keys, colons, values) = self.items(entries);
        let (keys, colons, values) = (keys.to_vec(), colons.to_vec(), values.to_vec());
        let mut built = Vec::with_capacity(colons.len());
        for (at, colon) in colons.into_iter().enumerate() {
            let id = self.token_id(Some(colon));
            let (Some(key), Some(value)) = (keys.get(at), values.get(at)) else { return Ok(Vec::new()) };
            let (question, inner) = self.marked(*key);
            if question.is_some() && !self.syntax.optionals {
                let start = self.start_of(*key);
                self.report(start, "unsupported syntax '?'");
                continue;
            }
            let key = self.visit(inner)?;
            let value = self.visit(Some(*value))?;
            built.push(MapEntry { id, key, value, optional: question.is_some() });
        }
        Ok(built)
    }

    fn visit_fields(&mut self, fields: Option<Id>) -> Built<Vec<StructField>> {
        let list_start = fields.and_then(|fields| self.start_of(fields));
        let (names, colons, values) = self.items(fields);
        let (names, colons, values) = (names.to_vec(), colons.to_vec(), values.to_vec());
        let mut built = Vec::with_capacity(names.len());
        for (at, field) in names.into_iter().enumerate() {
            let (Some(colon), Some(value)) = (colons.get(at), values.get(at)) else { return Ok(Vec::new()) };
            let id = self.token_id(Some(*colon));
            let (question, inner) = self.marked(field);
            if question.is_some() && !self.syntax.optionals {
                let start = self.start_of(field);
                self.report(start, "unsupported syntax '?'");
                continue;
            }
            let name = match inner.map_or(Err("unsupported ident kind"), |inner| self.field_name(inner)) {
                Ok(name) => name,
                Err(wrong) => {
                    self.report(list_start, wrong);
                    continue;
                }
            };
            let value = self.visit(Some(*value))?;
            built.push(StructField { id, name: name.into(), value, optional: question.is_some() });
        }
        Ok(built)
    }

    fn visit_literal(&mut self, start: Option<usize>, is_negative: bool, token: Option<usize>) -> Expr {
        let Some(kind) = token.and_then(|token| self.tokens.get(token)).map(|token| token.kind) else {
            return self.unknown();
        };
        let text = self.text(token);
        let signed = |digits: &str| if is_negative { format!("-{digits}") } else { digits.to_string() };
        let read = match kind {
            T::Int => match text.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(&signed(digits), 16),
                None => signed(&text).parse(),
            }
            .map(Literal::Int)
            .map_err(|_| "invalid int literal"),
            T::Uint => {
                let digits = text.trim_end_matches(['u', 'U']);
                match digits.strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16),
                    None => digits.parse(),
                }
                .map(Literal::Uint)
                .map_err(|_| "invalid uint literal")
            }
            T::Float => match signed(&text).parse::<f64>() {
                Ok(double) if double.is_finite() => Ok(Literal::Double(double)),
                _ => Err("invalid double literal"),
            },
            T::String => unescape(&text, false)
                .map(|bytes| Literal::String(Str::from(String::from_utf8_lossy(&bytes).into_owned()))),
            T::Bytes => unescape(text.get(1..).unwrap_or(""), true).map(|bytes| Literal::Bytes(Arc::from(bytes))),
            T::True => Ok(Literal::Bool(true)),
            T::False => Ok(Literal::Bool(false)),
            _ => Ok(Literal::Null),
        };
        match read {
            Ok(literal) => self.literal(start, literal),
            Err(wrong) => {
                let expr = self.report(start, wrong);
                match kind {
                    T::String | T::Bytes => self.literal(start, Literal::String(text.into())),
                    _ => expr,
                }
            }
        }
    }

    fn global_call_or_macro(&mut self, id: ExprId, function: &str, args: Vec<Expr>) -> Expr {
        match macros::find(self.syntax, function, args.len(), None) {
            Some(expand) => self.expand(id, expand, None, args),
            None => call(id, function, args),
        }
    }

    fn member_call_or_macro(&mut self, id: ExprId, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        match macros::find(self.syntax, function, args.len(), Some(&target)) {
            Some(expand) => self.expand(id, expand, Some(target), args),
            None => Expr { id, kind: Kind::Call { function: function.into(), target: Some(Box::new(target)), args } },
        }
    }

    fn expand(&mut self, id: ExprId, expand: macros::Expand, target: Option<Expr>, args: Vec<Expr>) -> Expr {
        let offset = self.offset(id);
        match expand(&mut macros::Maker { builder: self, offset }, target, args) {
            Ok(expr) => {
                self.delete_id(id);
                expr
            }
            Err((at, message)) => {
                let offset = self.offset(at);
                self.delete_id(id);
                let id = self.id_at(offset);
                let position = offset.map_or(Position(None), |offset| self.source.position(offset));
                self.issues.report(id, position, message);
                Expr { id, kind: Kind::Unspecified }
            }
        }
    }
}

fn dotted(has_dot: bool, name: &str) -> Str {
    if has_dot { Str::from(format!(".{name}")) } else { Str::new(name) }
}

pub(super) fn call(id: ExprId, function: &str, args: Vec<Expr>) -> Expr {
    Expr { id, kind: Kind::Call { function: function.into(), target: None, args } }
}

/// A tree of calls over all terms, as even as can be, so that long chains are not deep.
fn balance(function: &str, terms: &mut [Option<Expr>], ids: &[ExprId]) -> Expr {
    let take = |term: Option<&mut Option<Expr>>| {
        term.and_then(Option::take).unwrap_or(Expr { id: -1, kind: Kind::Unspecified })
    };
    if ids.is_empty() {
        return take(terms.first_mut());
    }
    let middle = ids.len() / 2;
    let id = ids.get(middle).copied().unwrap_or(-1);
    let (left_terms, right_terms) = terms.split_at_mut(middle + 1);
    let left = balance(function, left_terms, ids.get(..middle).unwrap_or(&[]));
    let right = balance(function, right_terms, ids.get(middle + 1..).unwrap_or(&[]));
    call(id, function, vec![left, right])
}

fn operator_of(kind: T) -> Option<&'static str> {
    Some(match kind {
        T::Equals => "_==_",
        T::NotEquals => "_!=_",
        T::In => "@in",
        T::Less => "_<_",
        T::LessEquals => "_<=_",
        T::GreaterEquals => "_>=_",
        T::Greater => "_>_",
        T::Plus => "_+_",
        T::Minus => "_-_",
        T::Star => "_*_",
        T::Slash => "_/_",
        T::Percent => "_%_",
        _ => return None,
    })
}
