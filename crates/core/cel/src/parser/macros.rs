//! Macros: calls that the parser replaces.
//!
//! Nodes get their ids in kube-apiserver's order, at the position of the call that they replace.

use super::Syntax;
use super::build::{Builder, call};
use crate::ast::{Comprehension, Expr, ExprId, Kind, Literal, MapEntry, StructField};
use pintle_schema::Str;

/// The accumulator of comprehensions, which no source can name.
pub(crate) const ACCUMULATOR: &str = "@result";
/// The variable of comprehensions that have none.
const UNUSED: &str = "#unused";

/// The id at which an error stands, and its text.
type Wrong = (ExprId, String);

pub(super) type Expand = fn(&mut Maker<'_, '_>, Option<Expr>, Vec<Expr>) -> Result<Expr, Wrong>;

/// The macro of a call, if it is one.
pub(super) fn find(syntax: Syntax, function: &str, args: usize, target: Option<&Expr>) -> Option<Expand> {
    let Some(target) = target else {
        return match (function, args) {
            ("has", 1) => Some(has),
            _ => None,
        };
    };
    let expand: Expand = match (function, args) {
        ("all", 2) => |m, target, args| quantifier(m, Quantifier::All, target, args),
        ("exists", 2) => |m, target, args| quantifier(m, Quantifier::Exists, target, args),
        ("exists_one", 2) => |m, target, args| quantifier(m, Quantifier::ExistsOne, target, args),
        ("map", 2 | 3) => map,
        ("filter", 2) => filter,
        ("optMap", 2) if syntax.optionals => |m, target, args| opt_map(m, "optMap", target, args),
        ("optFlatMap", 2) if syntax.optionals => |m, target, args| opt_map(m, "optFlatMap", target, args),
        ("all", 3) if syntax.two_variables => |m, target, args| quantifier(m, Quantifier::All, target, args),
        ("exists", 3) if syntax.two_variables => |m, target, args| quantifier(m, Quantifier::Exists, target, args),
        ("exists_one" | "existsOne", 3) if syntax.two_variables => {
            |m, target, args| quantifier(m, Quantifier::ExistsOne, target, args)
        }
        ("transformList", 3 | 4) if syntax.two_variables => |m, t, args| transform(m, Transform::List, t, args),
        ("transformMap", 3 | 4) if syntax.two_variables => |m, t, args| transform(m, Transform::Map, t, args),
        ("transformMapEntry", 3 | 4) if syntax.two_variables => |m, t, args| transform(m, Transform::Entry, t, args),
        ("sortBy", 2) if syntax.sort_by => sort_by,
        ("bind", 3) if syntax.bind && matches!(&target.kind, Kind::Ident(name) if name == "cel") => bind,
        _ => return None,
    };
    Some(expand)
}

/// Makes nodes at the position of the call that is replaced.
pub(super) struct Maker<'b, 's> {
    pub builder: &'b mut Builder<'s>,
    pub offset: Option<u32>,
}

impl Maker<'_, '_> {
    fn id(&mut self) -> ExprId {
        self.builder.id_at(self.offset)
    }

    fn make(&mut self, kind: Kind) -> Expr {
        Expr { id: self.id(), kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.make(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.make(Kind::Ident(name.into()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.make(Kind::List { elements, optional: Vec::new() })
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        let id = self.id();
        call(id, function, args)
    }

    fn member_call(&mut self, function: &str, target: Expr) -> Expr {
        self.make(Kind::Call { function: function.into(), target: Some(Box::new(target)), args: Vec::new() })
    }

    fn comprehension(&mut self, comprehension: Comprehension) -> Expr {
        self.make(Kind::Comprehension(Box::new(comprehension)))
    }

    /// A copy with new ids, each where the original stands.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let offset = self.builder.offset(expr.id);
        let id = self.builder.id_at(offset);
        let kind = match &expr.kind {
            Kind::Unspecified => Kind::Unspecified,
            Kind::Literal(literal) => Kind::Literal(literal.clone()),
            Kind::Ident(name) => Kind::Ident(name.clone()),
            Kind::Select { operand, field, test_only } => {
                Kind::Select { operand: Box::new(self.copy(operand)), field: field.clone(), test_only: *test_only }
            }
            Kind::Call { function, target, args } => {
                let args = args.iter().map(|arg| self.copy(arg)).collect();
                let target = target.as_ref().map(|target| Box::new(self.copy(target)));
                Kind::Call { function: function.clone(), target, args }
            }
            Kind::List { elements, optional } => Kind::List {
                elements: elements.iter().map(|element| self.copy(element)).collect(),
                optional: optional.clone(),
            },
            Kind::Map(entries) => Kind::Map(
                entries
                    .iter()
                    .map(|entry| MapEntry {
                        id: self.id(),
                        key: self.copy(&entry.key),
                        value: self.copy(&entry.value),
                        optional: entry.optional,
                    })
                    .collect(),
            ),
            Kind::Struct { name, fields } => Kind::Struct {
                name: name.clone(),
                fields: fields
                    .iter()
                    .map(|field| StructField {
                        id: self.id(),
                        name: field.name.clone(),
                        value: self.copy(&field.value),
                        optional: field.optional,
                    })
                    .collect(),
            },
            Kind::Comprehension(inner) => Kind::Comprehension(Box::new(Comprehension {
                range: self.copy(&inner.range),
                var: inner.var.clone(),
                var2: inner.var2.clone(),
                accumulator: inner.accumulator.clone(),
                init: self.copy(&inner.init),
                condition: self.copy(&inner.condition),
                step: self.copy(&inner.step),
                result: self.copy(&inner.result),
            })),
        };
        Expr { id, kind }
    }
}

fn wrong<R>(at: &Expr, message: impl Into<String>) -> Result<R, Wrong> {
    Err((at.id, message.into()))
}

fn name_of(expr: &Expr) -> Option<&Str> {
    match &expr.kind {
        Kind::Ident(name) => Some(name),
        _ => None,
    }
}

fn is_accumulator(name: &str) -> bool {
    name == ACCUMULATOR || name == "__result__"
}

/// The two parts of the arguments: the variables and the rest.
fn split(mut args: Vec<Expr>, count: usize) -> (Vec<Expr>, std::vec::IntoIter<Expr>) {
    let rest = args.split_off(count.min(args.len()));
    (args, rest.into_iter())
}

/// The names of one or two variables.
fn variables(vars: &[Expr], not_simple: &str) -> Result<(Str, Option<Str>), Wrong> {
    const OVERWRITES: &str = "iteration variable overwrites accumulator variable";
    let Some(first) = vars.first() else { return Err((0, not_simple.to_string())) };
    let Some(var) = name_of(first) else { return wrong(first, not_simple) };
    let Some(second) = vars.get(1) else {
        return if is_accumulator(var) { wrong(first, OVERWRITES) } else { Ok((var.clone(), None)) };
    };
    let Some(var2) = name_of(second) else { return wrong(second, not_simple) };
    if var == var2 {
        return wrong(second, format!("duplicate variable name: {var}"));
    }
    if is_accumulator(var) {
        return wrong(first, OVERWRITES);
    }
    if is_accumulator(var2) {
        return wrong(second, OVERWRITES);
    }
    Ok((var.clone(), Some(var2.clone())))
}

fn has(m: &mut Maker<'_, '_>, _: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    match args.into_iter().next() {
        Some(Expr { kind: Kind::Select { operand, field, .. }, .. }) => {
            Ok(m.make(Kind::Select { operand, field, test_only: true }))
        }
        Some(other) => wrong(&other, "invalid argument to has() macro"),
        None => Err((0, String::new())),
    }
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

fn missing() -> Expr {
    Expr { id: -1, kind: Kind::Unspecified }
}

fn quantifier(m: &mut Maker<'_, '_>, which: Quantifier, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let count = args.len().saturating_sub(1);
    let (vars, mut rest) = split(args, count);
    let (var, var2) = variables(&vars, "argument must be a simple name")?;
    let predicate = rest.next().unwrap_or_else(missing);
    let (init, condition, step, result) = match which {
        Quantifier::All => {
            let init = m.literal(Literal::Bool(true));
            let accumulator = m.accumulator();
            let condition = m.call("@not_strictly_false", vec![accumulator]);
            let accumulator = m.accumulator();
            let step = m.call("_&&_", vec![accumulator, predicate]);
            (init, condition, step, m.accumulator())
        }
        Quantifier::Exists => {
            let init = m.literal(Literal::Bool(false));
            let accumulator = m.accumulator();
            let not = m.call("!_", vec![accumulator]);
            let condition = m.call("@not_strictly_false", vec![not]);
            let accumulator = m.accumulator();
            let step = m.call("_||_", vec![accumulator, predicate]);
            (init, condition, step, m.accumulator())
        }
        Quantifier::ExistsOne => {
            let init = m.literal(Literal::Int(0));
            let condition = m.literal(Literal::Bool(true));
            let (accumulator, one) = (m.accumulator(), m.literal(Literal::Int(1)));
            let more = m.call("_+_", vec![accumulator, one]);
            let same = m.accumulator();
            let step = m.call("_?_:_", vec![predicate, more, same]);
            let (accumulator, one) = (m.accumulator(), m.literal(Literal::Int(1)));
            (init, condition, step, m.call("_==_", vec![accumulator, one]))
        }
    };
    let range = target.unwrap_or_else(missing);
    let accumulator = Str::new_static(ACCUMULATOR);
    Ok(m.comprehension(Comprehension { range, var, var2, accumulator, init, condition, step, result }))
}

fn map(m: &mut Maker<'_, '_>, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let (vars, mut rest) = split(args, 1);
    let (var, _) = variables(&vars, "argument is not an identifier")?;
    let first = rest.next().unwrap_or_else(missing);
    let (predicate, transformed) = match rest.next() {
        Some(second) => (Some(first), second),
        None => (None, first),
    };
    let init = m.list(Vec::new());
    let condition = m.literal(Literal::Bool(true));
    let step = append(m, transformed);
    let step = only_if(m, predicate, step);
    let result = m.accumulator();
    let range = target.unwrap_or_else(missing);
    let accumulator = Str::new_static(ACCUMULATOR);
    Ok(m.comprehension(Comprehension { range, var, var2: None, accumulator, init, condition, step, result }))
}

/// `accumulator + [element]`.
fn append(m: &mut Maker<'_, '_>, element: Expr) -> Expr {
    let accumulator = m.accumulator();
    let list = m.list(vec![element]);
    m.call("_+_", vec![accumulator, list])
}

/// `predicate ? step : accumulator`.
fn only_if(m: &mut Maker<'_, '_>, predicate: Option<Expr>, step: Expr) -> Expr {
    match predicate {
        Some(predicate) => {
            let same = m.accumulator();
            m.call("_?_:_", vec![predicate, step, same])
        }
        None => step,
    }
}

fn filter(m: &mut Maker<'_, '_>, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let (mut vars, mut rest) = split(args, 1);
    let (var, _) = variables(&vars, "argument is not an identifier")?;
    let predicate = rest.next().unwrap_or_else(missing);
    let init = m.list(Vec::new());
    let condition = m.literal(Literal::Bool(true));
    let step = append(m, vars.pop().unwrap_or_else(missing));
    let step = only_if(m, Some(predicate), step);
    let result = m.accumulator();
    let range = target.unwrap_or_else(missing);
    let accumulator = Str::new_static(ACCUMULATOR);
    Ok(m.comprehension(Comprehension { range, var, var2: None, accumulator, init, condition, step, result }))
}

#[derive(Clone, Copy, PartialEq)]
enum Transform {
    List,
    Map,
    Entry,
}

fn transform(m: &mut Maker<'_, '_>, which: Transform, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let (vars, mut rest) = split(args, 2);
    let (var, var2) = variables(&vars, "argument must be a simple name")?;
    let first = rest.next().unwrap_or_else(missing);
    let (predicate, transformed) = match rest.next() {
        Some(second) => (Some(first), second),
        None => (None, first),
    };
    let step = match which {
        Transform::List => append(m, transformed),
        Transform::Map => {
            let (accumulator, key) = (m.accumulator(), m.ident(&var));
            m.call("cel.@mapInsert", vec![accumulator, key, transformed])
        }
        Transform::Entry => {
            let accumulator = m.accumulator();
            m.call("cel.@mapInsert", vec![accumulator, transformed])
        }
    };
    let step = only_if(m, predicate, step);
    let init = if which == Transform::List { m.list(Vec::new()) } else { m.make(Kind::Map(Vec::new())) };
    let condition = m.literal(Literal::Bool(true));
    let result = m.accumulator();
    let range = target.unwrap_or_else(missing);
    let accumulator = Str::new_static(ACCUMULATOR);
    Ok(m.comprehension(Comprehension { range, var, var2, accumulator, init, condition, step, result }))
}

/// A comprehension over nothing, whose result sees its accumulator as a variable.
fn binding(m: &mut Maker<'_, '_>, range: Expr, name: Str, init: Expr, result: Expr) -> Expr {
    let condition = m.literal(Literal::Bool(false));
    let step = m.ident(&name);
    let var = Str::new_static(UNUSED);
    m.comprehension(Comprehension { range, var, var2: None, accumulator: name, init, condition, step, result })
}

fn opt_map(m: &mut Maker<'_, '_>, macro_name: &str, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let mut args = args.into_iter();
    let (var, result) = (args.next().unwrap_or_else(missing), args.next().unwrap_or_else(missing));
    let Some(name) = name_of(&var) else {
        return wrong(&var, format!("{macro_name}() variable name must be a simple identifier"));
    };
    let target = target.unwrap_or_else(missing);
    let again = target.clone();
    let has_value = m.member_call("hasValue", target);
    let range = m.list(Vec::new());
    let copied = m.copy(&again);
    let init = m.member_call("value", copied);
    let mapped = binding(m, range, name.clone(), init, result);
    let mapped = if macro_name == "optMap" { m.call("optional.of", vec![mapped]) } else { mapped };
    let none = m.call("optional.none", Vec::new());
    Ok(m.call("_?_:_", vec![has_value, mapped, none]))
}

fn bind(m: &mut Maker<'_, '_>, _: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or_else(missing);
    let (var, init, result) = (next(), next(), next());
    let Some(name) = name_of(&var) else {
        return wrong(&var, "cel.bind() variable names must be simple identifiers");
    };
    let name = name.clone();
    let range = m.list(Vec::new());
    Ok(binding(m, range, name, init, result))
}

/// Sorts by keys that are computed once for each element.
fn sort_by(m: &mut Maker<'_, '_>, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Wrong> {
    const INPUT: &str = "@__sortBy_input__";
    let target = target.unwrap_or_else(missing);
    let input = m.ident(INPUT);
    if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Struct { .. } | Kind::Unspecified) {
        let can = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return wrong(&target, can);
    }
    let mapped = m.copy(&input);
    let keys = map(m, Some(mapped), args)?;
    let list = m.copy(&input);
    let sorted = m.make(Kind::Call {
        function: Str::new_static("@sortByAssociatedKeys"),
        target: Some(Box::new(list)),
        args: vec![keys],
    });
    let range = m.list(Vec::new());
    let condition = m.literal(Literal::Bool(false));
    Ok(m.comprehension(Comprehension {
        range,
        var: Str::new_static(UNUSED),
        var2: None,
        accumulator: Str::new_static(INPUT),
        init: target,
        condition,
        step: input,
        result: sorted,
    }))
}
