//! What is refused although it type-checks: literals that cannot be converted, mixed lists and maps, formats.

use super::plan;
use crate::ast::{Ast, Expr, ExprId, Kind};
use crate::checker::Checks;
use crate::environment::Environment;
use crate::function::Checked;
use crate::issue::{Issues, Position};
use crate::library::regex;
use crate::types::Type;

/// Looks at all calls, lists and maps.
pub(super) fn validate(ast: &Ast, checks: &Checks, environment: &Environment, issues: &mut Issues) {
    let mut validator = Validator { ast, checks, environment, found: Vec::new() };
    validator.visit(&ast.root, false);
    for (id, message) in validator.found {
        let position = ast.offsets.get(&id).map_or(Position(None), |offset| issues.source().position(*offset));
        issues.report(id, position, message);
    }
}

struct Validator<'v> {
    ast: &'v Ast,
    checks: &'v Checks,
    environment: &'v Environment,
    found: Vec<(ExprId, String)>,
}

/// Whether two types are the same but for nullness and the names of variables.
fn is_equivalent(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Wrapper(a), b) => is_equivalent(a, b),
        (a, Type::Wrapper(b)) => is_equivalent(a, b),
        (Type::Param(_), Type::Param(_)) => true,
        (Type::List(a), Type::List(b)) => is_equivalent(a, b),
        (Type::Map(a), Type::Map(b)) => is_equivalent(&a.0, &b.0) && is_equivalent(&a.1, &b.1),
        (Type::Type(Some(a)), Type::Type(Some(b))) => is_equivalent(a, b),
        (Type::Opaque(a, x), Type::Opaque(b, y)) => {
            a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| is_equivalent(x, y))
        }
        _ => a == b,
    }
}

impl Validator<'_> {
    fn type_of(&self, expr: &Expr, is_optional: bool) -> Type {
        let ty = self.checks.types.get(&expr.id).cloned().unwrap_or(Type::Dyn);
        match ty.as_optional() {
            Some(inner) if is_optional => inner.clone(),
            _ => ty,
        }
    }

    fn visit(&mut self, expr: &Expr, is_exempt: bool) {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => self.visit(operand, is_exempt),
            Kind::Call { function, target, args } => {
                self.check_call(expr, function, args);
                // Arguments of a format may be of any types.
                let is_exempt = is_exempt || function == "format";
                target.iter().for_each(|target| self.visit(target, is_exempt));
                args.iter().for_each(|arg| self.visit(arg, is_exempt));
            }
            Kind::List { elements, optional } => {
                if !is_exempt {
                    let types = elements
                        .iter()
                        .enumerate()
                        .map(|(at, element)| (element.id, self.type_of(element, optional.contains(&at))))
                        .collect();
                    self.check_same(types, true);
                }
                elements.iter().for_each(|element| self.visit(element, is_exempt));
            }
            Kind::Map(entries) => {
                if !is_exempt {
                    let keys = entries.iter().map(|entry| (entry.key.id, self.type_of(&entry.key, false))).collect();
                    self.check_same(keys, false);
                    let values =
                        entries.iter().map(|entry| (entry.value.id, self.type_of(&entry.value, entry.optional)));
                    self.check_same(values.collect(), false);
                }
                for entry in entries {
                    self.visit(&entry.key, is_exempt);
                    self.visit(&entry.value, is_exempt);
                }
            }
            Kind::Struct { fields, .. } => fields.iter().for_each(|field| self.visit(&field.value, is_exempt)),
            Kind::Comprehension(inner) => {
                for part in [&inner.range, &inner.init, &inner.condition, &inner.step, &inner.result] {
                    self.visit(part, is_exempt);
                }
            }
        }
    }

    /// Reports types that differ from the first: only the first of them, or all.
    fn check_same(&mut self, types: Vec<(ExprId, Type)>, only_first: bool) {
        let mut types = types.into_iter();
        let Some((_, expected)) = types.next() else { return };
        for (id, ty) in types {
            if !is_equivalent(&expected, &ty) {
                self.found.push((id, format!("expected type '{expected}' but found '{ty}'")));
                if only_first {
                    return;
                }
            }
        }
    }

    fn check_call(&mut self, expr: &Expr, function: &str, args: &[Expr]) {
        if let Some(first @ Expr { kind: Kind::Literal(literal), .. }) = args.first() {
            let is_wrong = match (function, literal) {
                ("duration" | "timestamp", _) => plan::plan_alone(expr, self.checks, self.environment).is_err(),
                ("matches", crate::ast::Literal::String(pattern)) => regex::check(pattern).is_err(),
                _ => false,
            };
            if is_wrong {
                self.found.push((first.id, format!("invalid {function} argument")));
            }
        }
        if let Some(validate) = self.environment.function(function).and_then(|function| function.validate) {
            let context = Checked { ast: self.ast, types: &self.checks.types };
            validate(expr, &context, &mut |id, message| self.found.push((id, message)));
        }
    }
}
