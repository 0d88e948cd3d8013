//! The linter: what is wrong with rules themselves, wherever they stand.
//!
//! It reads schemas and plans alone; no object is looked at.

use pintle_api_validation::rulebook;
use pintle_kinds::resource::Resource;
use pintle_schema::rules::Rule;
use pintle_schema::{Field, Struct, Type};
use pintle_validation::docs::show;
use std::collections::BTreeSet;

/// Every problem of every kind, each once, in order.
pub fn problems() -> BTreeSet<String> {
    let mut lint = Lint::default();
    for resource in pintle_kinds::all() {
        let plan = rulebook().plan((resource.schema)());
        lint.problems.extend(plan.problems.iter().map(|(place, problem)| format!("{place}: {}", problem.0)));
        lint.alone((resource.schema)());
        lint.in_step(resource);
    }
    lint.problems
}

#[derive(Default)]
struct Lint {
    problems: BTreeSet<String>,
    seen: BTreeSet<(usize, usize)>,
}

impl Lint {
    /// What can be told of one type: lists whose items have keys say so, and unions are told to readers.
    fn alone(&mut self, schema: &Struct) {
        if !self.seen.insert((address(schema), 0)) {
            return;
        }
        for field in schema.fields.iter() {
            let place = format!("{}.{}", schema.name.as_str(), field.name.as_str());
            let judged = field.rules.iter().any(|rule| matches!(rule, Rule::Unique(_) | Rule::Item(..)));
            if let Type::List(list) = &field.ty
                && judged
                && !list.declared
            {
                self.problems.insert(format!("{place}: a list whose items are told apart has no list_type"));
            }
            if field.doc.is_empty()
                && field.rules.iter().any(|rule| matches!(rule, Rule::UnionMember(_) | Rule::ZeroOrOneOf(_)))
            {
                self.problems.insert(format!("{place}: the member of a union is not documented"));
            }
            let weaker = weaker_inside(field);
            self.problems.extend(weaker.map(|tag| format!("{place}: {tag} says less than the type itself says")));
            if let Some(inside) = innermost(&field.ty) {
                self.alone(inside);
            }
        }
    }

    /// Versions of a kind judge their common fields alike.
    fn in_step(&mut self, resource: &'static Resource) {
        let Some(storage) = resource.storage.as_ref().filter(|storage| storage.convert.is_none()) else { return };
        self.compare((resource.schema)(), (storage.schema)());
    }

    fn compare(&mut self, served: &Struct, stored: &Struct) {
        if std::ptr::eq(served, stored) || !self.seen.insert((address(served), address(stored))) {
            return;
        }
        for field in served.fields.iter() {
            let Some(other) = stored.fields.iter().find(|other| other.name == field.name) else { continue };
            let (here, there) = (shown(field), shown(other));
            if here != there {
                self.problems.insert(format!(
                    "{}.{}: rules differ from the storage version's: [{here}] and [{there}]",
                    served.module.as_str().rsplit("::").next().unwrap_or_default().to_owned() + "." + &served.name,
                    field.name.as_str()
                ));
            }
            if let (Some(here), Some(there)) = (innermost(&field.ty), innermost(&other.ty)) {
                self.compare(here, there);
            }
        }
    }
}

fn address(schema: &Struct) -> usize {
    std::ptr::from_ref(schema).addr()
}

fn innermost(ty: &Type) -> Option<&Struct> {
    match ty {
        Type::List(list) => innermost(&list.elem),
        Type::Map(map) => innermost(&map.elem),
        ty => ty.as_struct(),
    }
}

fn shown(field: &Field) -> String {
    field.rules.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// Bounds that a context sets for a field of a struct and that the field's own bounds make idle.
fn weaker_inside(field: &Field) -> impl Iterator<Item = String> {
    let inside = field.ty.as_struct();
    field.rules.iter().filter_map(move |rule| {
        let Rule::Subfield(name, outer) = rule else { return None };
        let own = inside?.field(name)?.rules;
        let idle = outer.iter().any(|outer| own.iter().any(|own| weaker(outer, own)));
        idle.then(|| show(rule))
    })
}

fn weaker(outer: &Rule, own: &Rule) -> bool {
    match (outer, own) {
        (Rule::Minimum(outer), Rule::Minimum(own)) => outer <= own,
        (Rule::Maximum(outer), Rule::Maximum(own)) => outer >= own,
        (Rule::MaxLength(outer), Rule::MaxLength(own)) | (Rule::MaxItems(outer), Rule::MaxItems(own)) => outer >= own,
        (Rule::Required(_), Rule::Required(_)) => true,
        _ => false,
    }
}
