//! The type checker: resolves names and overloads, infers types, reports what does not fit.
//!
//! Texts and positions are kube-apiserver's. Types can grow faster than the expression, so that work on them is bounded;
//! beyond the bound the expression is refused.

mod unify;

use crate::ast::{Ast, Comprehension, Expr, ExprId, Kind, Literal, MapEntry, StructField};
use crate::environment::Environment;
use crate::function::{Function, Style};
use crate::issue::{Issues, Position};
use crate::types::Type;
use pintle_schema::Str;
use std::collections::HashMap;
use unify::Unifier;

/// The longest message.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// What a node refers to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// A variable, or a type's name.
    Ident(Str),
    /// The overloads of a function that may take the arguments.
    Overloads(Vec<&'static str>),
}

/// What the checker found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub types: HashMap<ExprId, Type>,
    pub references: HashMap<ExprId, Reference>,
}

/// Checks an expression, whose names it replaces by what they are resolved to.
pub(crate) fn check(ast: &mut Ast, environment: &Environment, issues: &mut Issues) -> Checks {
    let mut checker = Checker {
        environment,
        issues,
        offsets: &ast.offsets,
        scopes: Vec::new(),
        checks: Checks::default(),
        unifier: Unifier::default(),
    };
    checker.check(&mut ast.root);
    if checker.unifier.is_exhausted() {
        let position = checker.position(ast.root.id);
        checker.issues.report(ast.root.id, position, "types of the expression are too complex".to_string());
    }
    let Checker { mut checks, mut unifier, .. } = checker;
    for ty in checks.types.values_mut() {
        *ty = unifier.substitute(ty, true);
    }
    checks
}

struct Checker<'e> {
    environment: &'e Environment,
    issues: &'e mut Issues,
    offsets: &'e HashMap<ExprId, u32>,
    /// Variables of comprehensions, innermost last.
    scopes: Vec<(Str, Type)>,
    checks: Checks,
    unifier: Unifier,
}

impl Checker<'_> {
    fn position(&self, id: ExprId) -> Position {
        self.offsets.get(&id).map_or(Position(None), |offset| self.issues.source().position(*offset))
    }

    fn report(&mut self, id: ExprId, mut message: String) {
        // Types may be much longer than the expression.
        if message.len() > MAX_MESSAGE_BYTES {
            let end = (0..=MAX_MESSAGE_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(end);
            message.push_str("...");
        }
        let position = self.position(id);
        self.issues.report(id, position, message);
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.checks.types.get(&expr.id).cloned().unwrap_or(Type::Error)
    }

    fn set_type(&mut self, id: ExprId, ty: Type) {
        self.checks.types.insert(id, ty);
    }

    fn mismatch(&mut self, id: ExprId, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn undeclared(&mut self, id: ExprId, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
        self.set_type(id, Type::Error);
    }

    /// The type of a variable or the type that a name is, and the name without a leading dot.
    fn look_up(&self, name: &str) -> Option<(Str, Type)> {
        let is_global = name.starts_with('.');
        let name = name.strip_prefix('.').unwrap_or(name);
        if !is_global && let Some((name, ty)) = self.scopes.iter().rev().find(|(other, _)| other == name) {
            return Some((name.clone(), ty.clone()));
        }
        let ty = self.environment.identifier(name)?;
        Some((Str::new(name), ty))
    }

    fn check(&mut self, expr: &mut Expr) {
        if self.unifier.is_exhausted() {
            self.set_type(expr.id, Type::Error);
            return;
        }
        match &mut expr.kind {
            Kind::Unspecified => {}
            Kind::Literal(literal) => {
                let ty = match literal {
                    Literal::Null => Type::Null,
                    Literal::Bool(_) => Type::Bool,
                    Literal::Int(_) => Type::Int,
                    Literal::Uint(_) => Type::Uint,
                    Literal::Double(_) => Type::Double,
                    Literal::String(_) => Type::String,
                    Literal::Bytes(_) => Type::Bytes,
                };
                self.set_type(expr.id, ty);
            }
            Kind::Ident(name) => match self.look_up(name) {
                Some((resolved, ty)) => {
                    self.checks.references.insert(expr.id, Reference::Ident(resolved.clone()));
                    *name = resolved;
                    self.set_type(expr.id, ty);
                }
                None => {
                    let name = name.clone();
                    self.undeclared(expr.id, &name);
                }
            },
            Kind::Select { .. } => self.check_select(expr),
            Kind::Call { .. } => self.check_call(expr),
            Kind::List { elements, optional } => self.check_list(expr.id, elements, optional),
            Kind::Map(entries) => self.check_map(expr.id, entries),
            Kind::Struct { name, fields } => self.check_struct(expr.id, name, fields),
            Kind::Comprehension(inner) => self.check_comprehension(expr.id, inner),
        }
    }

    fn check_select(&mut self, expr: &mut Expr) {
        if let Some(name) = qualified_name(expr)
            && let Some((resolved, ty)) = self.look_up(&name)
        {
            self.checks.references.insert(expr.id, Reference::Ident(resolved.clone()));
            self.set_type(expr.id, ty);
            expr.kind = Kind::Ident(resolved);
            return;
        }
        let id = expr.id;
        let Kind::Select { operand, field, test_only } = &mut expr.kind else { return };
        let found = self.check_field(id, operand, field, false);
        let ty = if *test_only { Type::Bool } else { self.unifier.substitute(&found, false) };
        self.set_type(id, ty);
    }

    /// The type of a field of an operand, which is checked first.
    fn check_field(&mut self, id: ExprId, operand: &mut Expr, field: &str, is_optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.type_of(operand);
        let operand_type = self.unifier.substitute(&operand_type, false);
        let (target, was_optional) = match operand_type.as_optional() {
            Some(inner) => (inner.clone(), true),
            None => (operand_type.clone(), false),
        };
        let found = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Struct(name) => self.field_type(id, name, field).unwrap_or(Type::Error),
            Type::Param(_) => {
                self.unifier.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Any | Type::Error => Type::Dyn,
            other => {
                self.report(id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || is_optional { Type::optional(found) } else { found }
    }

    fn field_type(&mut self, id: ExprId, name: &str, field: &str) -> Option<Type> {
        if !self.environment.has_struct(name) {
            self.report(id, format!("unexpected failed resolution of '{name}'"));
            return None;
        }
        let found = self.environment.field_type(name, field);
        if found.is_none() {
            self.report(id, format!("undefined field '{field}'"));
        }
        found
    }

    fn check_optional_select(&mut self, id: ExprId, args: &mut [Expr]) {
        let [operand, field] = args else { return };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return };
        let name = name.clone();
        let found = self.check_field(id, operand, &name, true);
        let found = self.unifier.substitute(&found, false);
        self.set_type(id, found);
        self.checks.references.insert(id, Reference::Overloads(vec!["select_optional_field"]));
    }

    fn check_call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Call { function, target, args } = &mut expr.kind else { return };
        if function == "_?._" {
            return self.check_optional_select(id, args);
        }
        args.iter_mut().for_each(|arg| self.check(arg));
        let Some(inner) = target else {
            let name = Str::new(function.strip_prefix('.').unwrap_or(function));
            match self.environment.function(&name) {
                Some(found) => {
                    *function = name;
                    let args: Vec<&Expr> = args.iter().collect();
                    self.resolve(id, found, false, &args);
                }
                None => {
                    let function = function.clone();
                    self.undeclared(id, &function);
                }
            }
            return;
        };
        // `a.b.c()` may call a function whose name has dots.
        if let Some(prefix) = qualified_name(inner) {
            let name = format!("{prefix}.{function}");
            let name = name.strip_prefix('.').unwrap_or(&name);
            if let Some(found) = self.environment.function(name) {
                *function = Str::new(name);
                *target = None;
                let args: Vec<&Expr> = args.iter().collect();
                self.resolve(id, found, false, &args);
                return;
            }
        }
        self.check(inner);
        match self.environment.function(function) {
            Some(found) => {
                let args: Vec<&Expr> = std::iter::once(&**inner).chain(args.iter()).collect();
                self.resolve(id, found, true, &args);
            }
            None => {
                let function = function.clone();
                self.undeclared(id, &function);
            }
        }
    }

    /// Finds the overloads that take the arguments, the target first, and the type of the call.
    fn resolve(&mut self, id: ExprId, function: &Function, is_member: bool, args: &[&Expr]) {
        let arg_types: Vec<Type> = args.iter().map(|arg| self.type_of(arg)).collect();
        if !is_member && matches!(function.name, "_&&_" | "_||_") {
            let mut is_bool = true;
            for (arg, ty) in args.iter().zip(&arg_types) {
                if !self.unifier.assign(ty, &Type::Bool) {
                    self.mismatch(arg.id, &Type::Bool, ty);
                    is_bool = false;
                }
            }
            let overloads = function.overloads.iter().map(|overload| overload.id).collect();
            self.set_type(id, if is_bool { Type::Bool } else { Type::Error });
            if is_bool {
                self.checks.references.insert(id, Reference::Overloads(overloads));
            }
            return;
        }
        let mut overloads = Vec::new();
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if (overload.style == Style::Member) != is_member {
                continue;
            }
            let (declared, declared_result) = self.unifier.instantiate(&overload.args, &overload.result);
            if !self.unifier.assign_all(&arg_types, &declared) {
                continue;
            }
            overloads.push(overload.id);
            let found = self.unifier.substitute(&declared_result, false);
            result = Some(match result {
                None => found,
                Some(before) if !before.is_dyn() && !unify::is_exact(&found, &before) => Type::Dyn,
                Some(before) => before,
            });
        }
        match result {
            Some(ty) => {
                self.set_type(id, ty);
                self.checks.references.insert(id, Reference::Overloads(overloads));
            }
            None => {
                let shown: Vec<String> =
                    arg_types.iter().map(|ty| self.unifier.substitute(ty, true).to_string()).collect();
                let signature = match shown.split_first() {
                    Some((target, rest)) if is_member => format!("{target}.({})", rest.join(", ")),
                    _ => format!("({})", shown.join(", ")),
                };
                let name = function.name;
                self.report(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
                self.set_type(id, Type::Error);
            }
        }
    }

    /// What an optional element, entry or field holds; anything but an optional is reported.
    fn unwrap_optional(&mut self, id: ExprId, ty: Type) -> Type {
        if let Some(inner) = ty.as_optional() {
            return inner.clone();
        }
        if !ty.is_dyn() {
            self.mismatch(id, &Type::optional(ty.clone()), &ty);
        }
        ty
    }

    /// The more general of two types that elements have; validation refuses those that have none.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.unifier.assign(&previous, &current) {
            return self.unifier.most_general(previous, current);
        }
        Type::Dyn
    }

    fn check_list(&mut self, id: ExprId, elements: &mut [Expr], optional: &[usize]) {
        let mut joined = None;
        for (at, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let mut ty = self.type_of(element);
            if optional.contains(&at) {
                ty = self.unwrap_optional(element.id, ty);
            }
            joined = Some(self.join(joined, ty));
        }
        let element = joined.unwrap_or_else(|| self.unifier.fresh());
        self.set_type(id, Type::list(element));
    }

    fn check_map(&mut self, id: ExprId, entries: &mut [MapEntry]) {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let key = self.type_of(&entry.key);
            keys = Some(self.join(keys, key));
            self.check(&mut entry.value);
            let mut value = self.type_of(&entry.value);
            if entry.optional {
                value = self.unwrap_optional(entry.value.id, value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.unifier.fresh());
        let value = values.unwrap_or_else(|| self.unifier.fresh());
        self.set_type(id, Type::map(key, value));
    }

    fn check_struct(&mut self, id: ExprId, name: &mut Str, fields: &mut [StructField]) {
        let Some((resolved, ty)) = self.look_up(name) else {
            let name = name.clone();
            return self.undeclared(id, &name);
        };
        *name = resolved.clone();
        self.checks.references.insert(id, Reference::Ident(resolved.clone()));
        let mut type_name = resolved;
        let made = match ty {
            Type::Error => Type::Error,
            Type::Type(Some(inner)) => match self.environment.message_name(&inner) {
                Some(message) => {
                    type_name = message;
                    (*inner).clone()
                }
                None => {
                    self.report(id, format!("'{inner}' is not a message type"));
                    Type::Error
                }
            },
            other => {
                self.report(id, format!("'{}' is not a type", declared_name(&other)));
                Type::Error
            }
        };
        self.set_type(id, made);
        for field in fields {
            self.check(&mut field.value);
            let declared = self.field_type(field.id, &type_name, &field.name).unwrap_or(Type::Error);
            let mut given = self.type_of(&field.value);
            if field.optional {
                given = self.unwrap_optional(field.value.id, given);
            }
            if !self.unifier.assign(&declared, &given) {
                let name = &field.name;
                let message = format!("expected type of field '{name}' is '{declared}' but provided type is '{given}'");
                self.report(field.id, message);
            }
        }
    }

    fn check_comprehension(&mut self, id: ExprId, inner: &mut Comprehension) {
        self.check(&mut inner.range);
        self.check(&mut inner.init);
        let range = self.type_of(&inner.range);
        let range = self.unifier.substitute(&range, false);
        let accumulated = self.type_of(&inner.init);
        self.scopes.push((inner.accumulator.clone(), accumulated.clone()));
        let (var, var2) = match &range {
            Type::List(element) if inner.var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.unifier.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(inner.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((inner.var.clone(), var));
        if let Some(name) = &inner.var2 {
            self.scopes.push((name.clone(), var2));
        }
        self.check(&mut inner.condition);
        self.assert_type(&inner.condition, &Type::Bool);
        self.check(&mut inner.step);
        self.assert_type(&inner.step, &accumulated);
        self.scopes.pop();
        if inner.var2.is_some() {
            self.scopes.pop();
        }
        self.check(&mut inner.result);
        self.scopes.pop();
        let result = self.type_of(&inner.result);
        let result = self.unifier.substitute(&result, false);
        self.set_type(id, result);
    }

    fn assert_type(&mut self, expr: &Expr, expected: &Type) {
        let found = self.type_of(expr);
        if !self.unifier.assign(expected, &found) {
            self.mismatch(expr.id, expected, &found);
        }
    }
}

/// The name of a type as kube-apiserver declares it, where it is not formatted.
fn declared_name(ty: &Type) -> String {
    match ty {
        Type::Wrapper(_) => ty.to_string(),
        other => other.runtime_name().to_string(),
    }
}

/// `a.b.c` as one name.
fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.to_string()),
        Kind::Select { operand, field, test_only: false } => Some(format!("{}.{field}", qualified_name(operand)?)),
        _ => None,
    }
}
