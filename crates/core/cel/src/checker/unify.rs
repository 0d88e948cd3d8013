//! Which types can stand for which, and what that says of type variables.
//!
//! An attempt that fails leaves no trace. The work done is counted, since types may be exponentially large.

use crate::types::Type;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::Arc;

/// The most types looked at for one expression.
const MAX_STEPS: u64 = 500_000;

#[derive(Default)]
pub(super) struct Unifier {
    bound: HashMap<Str, Type>,
    /// What an attempt has changed, to be taken back if it fails.
    journal: Vec<(Str, Option<Type>)>,
    next: u64,
    steps: u64,
}

/// Whether two types are the same but for nullness.
pub(super) fn is_exact(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Wrapper(a), b) => is_exact(a, b),
        (a, Type::Wrapper(b)) => is_exact(a, b),
        (Type::List(a), Type::List(b)) => Arc::ptr_eq(a, b) || is_exact(a, b),
        (Type::Map(a), Type::Map(b)) => Arc::ptr_eq(a, b) || (is_exact(&a.0, &b.0) && is_exact(&a.1, &b.1)),
        (Type::Type(Some(a)), Type::Type(Some(b))) => is_exact(a, b),
        (Type::Opaque(a, x), Type::Opaque(b, y)) => {
            a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| is_exact(x, y))
        }
        _ => a == b,
    }
}

/// The type without its nullness.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Wrapper(inner) => inner,
        other => other,
    }
}

fn is_dyn_or_error(ty: &Type) -> bool {
    ty.is_dyn() || *ty == Type::Error
}

impl Unifier {
    /// Whether the bound on work was reached.
    pub fn is_exhausted(&self) -> bool {
        self.steps > MAX_STEPS
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }

    /// A new type variable.
    pub fn fresh(&mut self) -> Type {
        let name = format!("_var{}", self.next);
        self.next += 1;
        Type::Param(name.into())
    }

    /// The types of an overload with variables of their own.
    pub fn instantiate(&mut self, args: &[Type], result: &Type) -> (Vec<Type>, Type) {
        let mut names = Vec::new();
        args.iter().for_each(|arg| arg.collect_params(&mut names));
        result.collect_params(&mut names);
        if names.is_empty() {
            return (args.to_vec(), result.clone());
        }
        let fresh: HashMap<Str, Type> = names.into_iter().map(|name| (name, self.fresh())).collect();
        (args.iter().map(|arg| replace(arg, &fresh)).collect(), replace(result, &fresh))
    }

    /// Whether `a` can stand for `b`.
    pub fn assign(&mut self, a: &Type, b: &Type) -> bool {
        self.assign_all(std::slice::from_ref(a), std::slice::from_ref(b))
    }

    /// Whether all of `a` can stand for those of `b`.
    pub fn assign_all(&mut self, a: &[Type], b: &[Type]) -> bool {
        self.journal.clear();
        if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.assignable(a, b)) {
            return true;
        }
        while let Some((name, before)) = self.journal.pop() {
            match before {
                Some(ty) => self.bound.insert(name, ty),
                None => self.bound.remove(&name),
            };
        }
        false
    }

    fn bind(&mut self, name: &Str, ty: Type) {
        let before = self.bound.insert(name.clone(), ty);
        self.journal.push((name.clone(), before));
    }

    fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        if !self.step() {
            return false;
        }
        if let Type::Param(name) = b {
            let (valid, is_bound) = self.can_substitute(a, name);
            if valid {
                return true;
            }
            if is_bound {
                return false;
            }
        }
        if let Type::Param(name) = a {
            return self.can_substitute(b, name).0;
        }
        if is_dyn_or_error(a) || is_dyn_or_error(b) {
            return true;
        }
        if *a == Type::Null {
            return is_nullable(b);
        }
        if *b == Type::Null {
            return is_nullable(a);
        }
        match (plain(a), plain(b)) {
            (Type::Type(_), other) => matches!(other, Type::Type(_)),
            (Type::List(a), Type::List(b)) => self.assignable(a, b),
            (Type::Map(a), Type::Map(b)) => self.assignable(&a.0, &b.0) && self.assignable(&a.1, &b.1),
            (Type::Opaque(a, x), Type::Opaque(b, y)) => {
                a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| self.assignable(x, y))
            }
            (a, b) => a == b,
        }
    }

    /// Whether a variable may stand for `ty`, and whether it already stands for something.
    fn can_substitute(&mut self, ty: &Type, name: &Str) -> (bool, bool) {
        if matches!(ty, Type::Param(other) if other == name) {
            return (true, true);
        }
        let Some(bound) = self.bound.get(name).cloned() else {
            if !self.occurs(name, ty) {
                self.bind(name, ty.clone());
                return (true, false);
            }
            return (false, false);
        };
        if is_exact(ty, &bound) {
            return (true, true);
        }
        if !self.assignable(ty, &bound) {
            return (false, true);
        }
        let general = self.most_general(ty.clone(), bound);
        if !self.occurs(name, &general) {
            self.bind(name, general);
        }
        (true, true)
    }

    /// Whether a variable occurs in a type.
    fn occurs(&mut self, name: &Str, ty: &Type) -> bool {
        if !self.step() {
            return true;
        }
        match ty {
            Type::Param(other) if other == name => true,
            Type::Param(other) => match self.bound.get(other).cloned() {
                Some(bound) => self.occurs(name, &bound),
                None => false,
            },
            other => other.parameters().into_iter().any(|inner| self.occurs(name, inner)),
        }
    }

    /// The one of two types that go together which says less.
    pub fn most_general(&mut self, a: Type, b: Type) -> Type {
        if self.says_no_more(&a, &b) { a } else { b }
    }

    fn says_no_more(&mut self, a: &Type, b: &Type) -> bool {
        if !self.step() || a.is_dyn() || matches!(a, Type::Param(_)) {
            return true;
        }
        if b.is_dyn() || matches!(b, Type::Param(_)) {
            return false;
        }
        match (plain(a), plain(b)) {
            (Type::Opaque(a, x), Type::Opaque(b, y)) => {
                a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| self.says_no_more(x, y))
            }
            (Type::List(a), Type::List(b)) => self.says_no_more(a, b),
            (Type::Map(a), Type::Map(b)) => self.says_no_more(&a.0, &b.0) && self.says_no_more(&a.1, &b.1),
            (Type::Type(_), Type::Type(_)) => true,
            (a, b) => a == b,
        }
    }

    /// The type with its bound variables replaced, and unbound ones by `dyn` if so asked.
    pub fn substitute(&mut self, ty: &Type, unbound_to_dyn: bool) -> Type {
        if !self.step() {
            return Type::Error;
        }
        match ty {
            Type::Param(name) => match self.bound.get(name).cloned() {
                Some(bound) => self.substitute(&bound, unbound_to_dyn),
                None if unbound_to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(element) => Type::list(self.substitute(element, unbound_to_dyn)),
            Type::Map(entry) => {
                Type::map(self.substitute(&entry.0, unbound_to_dyn), self.substitute(&entry.1, unbound_to_dyn))
            }
            Type::Type(Some(inner)) => Type::type_of(self.substitute(inner, unbound_to_dyn)),
            Type::Opaque(name, params) if !params.is_empty() => {
                let params = params.iter().map(|param| self.substitute(param, unbound_to_dyn)).collect();
                Type::Opaque(name.clone(), params)
            }
            other => other.clone(),
        }
    }
}

fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Opaque(..)
            | Type::Struct(_)
            | Type::Any
            | Type::Duration
            | Type::Timestamp
            | Type::Null
            | Type::Wrapper(_)
    )
}

/// The type with parameters replaced.
fn replace(ty: &Type, params: &HashMap<Str, Type>) -> Type {
    match ty {
        Type::Param(name) => params.get(name).cloned().unwrap_or_else(|| ty.clone()),
        Type::List(element) => Type::list(replace(element, params)),
        Type::Map(entry) => Type::map(replace(&entry.0, params), replace(&entry.1, params)),
        Type::Type(Some(inner)) => Type::type_of(replace(inner, params)),
        Type::Opaque(name, inner) => {
            Type::Opaque(name.clone(), inner.iter().map(|inner| replace(inner, params)).collect())
        }
        other => other.clone(),
    }
}
