//! The linter: finds mistakes in the validation rules of all kinds.
//!
//! It reads only schemas and plans, no objects.

use pintle_resource::Resource;
use pintle_schema::rules::Rule;
use pintle_schema::{Field, Struct, Type};
use pintle_validation::docs::show;
use std::collections::BTreeSet;

/// All problems of all kinds, without duplicates, in order.
pub fn problems() -> BTreeSet<String> {
    let mut lint = Lint::default();
    for resource in pintle_groups::all() {
        let plan = resource.rules.plan(&resource.schema);
        lint.problems.extend(plan.problems.iter().map(|(place, problem)| format!("{place}: {}", problem.0)));
        lint.alone(&resource.schema);
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
    /// Checks of a single type: lists whose items have keys must be declared as maps, and unions must be published.
    fn alone(&mut self, schema: &Struct) {
        if !self.seen.insert((address(schema), 0)) {
            return;
        }
        for field in schema.fields.iter() {
            let place = format!("{}.{}", schema.name.as_str(), field.name.as_str());
            let validated = field.rules.iter().any(|rule| matches!(rule, Rule::Unique(_) | Rule::Item(..)));
            if let Type::List(list) = &field.ty
                && validated
                && !list.declared
            {
                self.problems.insert(format!("{place}: a list whose items have keys has no list_type"));
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

    /// Checks that the versions of a kind validate their common fields in the same way.
    fn in_step(&mut self, resource: &'static Resource) {
        let Some(storage) = resource.storage.as_ref().filter(|storage| storage.conversion.is_none()) else { return };
        self.compare(&resource.schema, &storage.schema);
    }

    fn compare(&mut self, served: &Struct, stored: &Struct) {
        if std::ptr::eq(served, stored) || !self.seen.insert((address(served), address(stored))) {
            return;
        }
        let (here, there) = (shown(&served.rules), shown(&stored.rules));
        self.differ(served, "", &here, &there);
        for field in served.fields.iter() {
            let Some(other) = stored.fields.iter().find(|other| other.name == field.name) else { continue };
            self.differ(served, &field.name, &shown(&field.rules), &shown(&other.rules));
            if let (Some(here), Some(there)) = (innermost(&field.ty), innermost(&other.ty)) {
                self.compare(here, there);
            }
        }
    }

    fn differ(&mut self, of: &Struct, field: &str, here: &str, there: &str) {
        if here != there {
            let ((group, version), dot) = (of.group_version(), if field.is_empty() { "" } else { "." });
            self.problems.insert(format!(
                "{group}/{version} {}{dot}{field}: rules differ from the storage version's: [{here}] and [{there}]",
                of.name.as_str()
            ));
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

fn shown(rules: &[Rule]) -> String {
    rules.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// Limits that a parent sets for a field and that the field's own limits make redundant.
fn weaker_inside(field: &Field) -> impl Iterator<Item = String> {
    let inside = field.ty.as_struct();
    field.rules.iter().filter_map(move |rule| {
        let Rule::Subfield(name, outer) = rule else { return None };
        let own = &inside?.field(name)?.rules;
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

#[cfg(test)]
mod tests {
    use super::Lint;
    use pintle_schema::ApiType;

    /// A part.
    #[derive(ApiType, Clone, Default, PartialEq)]
    struct Part {
        /// Its size.
        #[k8s(proto = 1, minimum = 5)]
        size: i32,
        #[k8s(proto = 2, zero_or_one_of)]
        undocumented: Option<i32>,
    }

    /// The whole.
    #[derive(ApiType, Clone, Default, PartialEq)]
    struct Whole {
        /// Parts.
        #[k8s(proto = 1, unique("size"))]
        parts: Vec<Part>,
        /// A part.
        #[k8s(proto = 2, subfield(size)(minimum = 3))]
        part: Part,
        /// A number.
        #[k8s(proto = 3, maximum = 3)]
        number: i32,
    }

    /// The whole as it was.
    #[derive(ApiType, Clone, Default, PartialEq)]
    #[k8s(at_least_one("number"))]
    struct Older {
        /// A number.
        #[k8s(proto = 3, maximum = 4)]
        number: i32,
    }

    #[test]
    fn mistakes_in_rules_are_reported() {
        let mut lint = Lint::default();
        lint.alone(Whole::schema());
        lint.compare(Older::schema(), Whole::schema());
        let problems: Vec<&str> = lint.problems.iter().map(String::as_str).collect();
        let expected = [
            "Part.undocumented: the member of a union is not documented",
            "Whole.part: subfield(size)(minimum = 3) says less than the type itself says",
            "Whole.parts: a list whose items have keys has no list_type",
            "Older.number: rules differ from the storage version's: [maximum = 4] and [maximum = 3]",
            "Older: rules differ from the storage version's: [at_least_one(\"number\")] and []",
        ];
        assert!(
            problems.len() == expected.len()
                && expected.iter().all(|end| problems.iter().any(|line| line.ends_with(end))),
            "{problems:#?}"
        );
    }
}
