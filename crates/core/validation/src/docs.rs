//! The reference of tags and formats, and the effective rules of a kind as a tree, generated from the engine's data.

use crate::custom_rule::CustomRule;
use crate::formats::FORMATS;
use pintle_schema::rules::{Member, Payload, Rule};
use pintle_schema::{Literal, Struct, Type};
use pintle_tags::CATALOGUE;
use std::collections::HashMap;
use std::fmt::Write;

/// The reference of all tags, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Validation tags\n\nThe validation tags of `#[k8s(...)]`, on a field or, where noted, on a struct. Generated from the \
         catalogue that the derive and the validation engine use; `pintle rules` prints it.\n\n\
         - `pintle rules KIND` prints the rules of a kind; `pintle validate FILE...` validates manifests \
         without a server, with `--crd DIR_OR_FILE` those of custom resources too.\n\
         - `/openapi/v3/apis/apps/v1?rules=true` publishes the rules with the schemas, as OpenAPI keywords or as CEL.\n\
         - A value that an update does not change is not validated again.\n\
         - Errors are in the order of the fields and items; those of a value's own tags come before those of what is inside it, \
         those in `last` after them. Handwritten rules declare where theirs stand.\n\
         - Rules in a stage (`alpha`, `beta`) are compared with handwritten ones. The server logs each difference with \
         resource, name, user, field, type and origin, and counts it in `declarative_validation_mismatch_total`.\n",
    );
    for tag in CATALOGUE {
        let _ = write!(
            out,
            "\n## `{}`\n\n{}\n\n- Applies to: {}.\n- Syntax: `{}`\n",
            tag.name,
            tag.doc,
            tag.places.words(),
            tag.example
        );
        if tag.excludes.contains(&tag.name) {
            out.push_str("- At most once.\n");
        }
        let others = tag.excludes.iter().filter(|name| **name != tag.name);
        let others = others.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if !others.is_empty() {
            let _ = writeln!(out, "- Excludes: {others}.");
        }
        for (what, text) in
            [("Origin of errors", tag.origin), ("In OpenAPI", tag.published), ("In Kubernetes", tag.upstream)]
        {
            if !text.is_empty() {
                let _ = writeln!(out, "- {what}: `{text}`.");
            }
        }
    }
    out.push_str("\n## Formats\n\n");
    for format in FORMATS {
        let _ = writeln!(out, "- `{}`: {}", format.name, format.doc);
    }
    out
}

/// The maximum depth of a tree of rules: types may be recursive.
const DEPTH: usize = 12;

/// The rules of a kind as a tree: a line for each field with rules, handwritten rules by name.
pub fn tree(schema: &Struct, custom_rules: &HashMap<usize, Vec<&'static CustomRule>>) -> String {
    let mut tree = Tree { custom_rules, out: String::new(), above: Vec::new() };
    tree.line(0, &schema.name, &tree.of_struct(schema));
    tree.fields(schema, 1);
    tree.out
}

struct Tree<'a> {
    custom_rules: &'a HashMap<usize, Vec<&'static CustomRule>>,
    out: String,
    above: Vec<usize>,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, name: &str, rules: &[String]) {
        let _ = writeln!(
            self.out,
            "{:width$}{name}{}{}",
            "",
            if rules.is_empty() { "" } else { ": " },
            rules.join(", "),
            width = depth * 2
        );
    }

    fn custom_rules(&self, schema: &Struct, field: &str) -> impl Iterator<Item = String> {
        let all = self.custom_rules.get(&crate::plan::key(schema)).into_iter().flatten();
        all.filter(move |rule| rule.field == field).map(|rule| format!("<{}>", rule.name))
    }

    fn of_struct(&self, schema: &Struct) -> Vec<String> {
        schema.rules.iter().map(show).chain(self.custom_rules(schema, "")).collect()
    }

    /// Writes the fields that have rules, or contain something with rules.
    fn fields(&mut self, schema: &Struct, depth: usize) {
        let key = crate::plan::key(schema);
        if depth > DEPTH || self.above.contains(&key) {
            return;
        }
        self.above.push(key);
        for field in schema.fields.iter() {
            let (ty, marks) = innermost(&field.ty);
            let inside = ty.as_struct();
            if field.inline {
                inside.into_iter().for_each(|inside| self.fields(inside, depth));
                continue;
            }
            let mut rules: Vec<String> = field.rules.iter().map(show).collect();
            rules.extend(self.custom_rules(schema, &field.name));
            if let Some(inside) = inside {
                rules.extend(self.of_struct(inside));
            }
            let start = self.out.len();
            self.line(depth, &format!("{}{marks}", field.name.as_str()), &rules);
            let before = self.out.len();
            if let Some(inside) = inside.filter(|_| !field.rules.iter().any(|rule| matches!(rule, Rule::Opaque))) {
                self.fields(inside, depth + 1);
            }
            if self.out.len() == before && rules.iter().all(|rule| rule == "optional") {
                self.out.truncate(start);
            }
        }
        self.above.pop();
    }
}

fn innermost(ty: &Type) -> (&Type, String) {
    match ty {
        Type::List(list) => {
            let (ty, marks) = innermost(&list.elem);
            (ty, format!("[]{marks}"))
        }
        Type::Map(map) => {
            let (ty, marks) = innermost(&map.elem);
            (ty, format!("{{}}{marks}"))
        }
        ty => (ty, String::new()),
    }
}

/// A rule in the syntax of its tag.
pub fn show(rule: &Rule) -> String {
    let detail = |name: &str, text: &str| if text.is_empty() { name.to_owned() } else { format!("{name} = {text:?}") };
    let chain =
        |name: String, inner: &[Rule]| format!("{name}({})", inner.iter().map(show).collect::<Vec<_>>().join(", "));
    let texts = |name: &str, texts: &[&str]| match texts {
        [] => name.to_owned(),
        texts => format!("{name}({})", texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")),
    };
    match rule {
        Rule::Optional => "optional".to_owned(),
        Rule::Required(text) => detail("required", text),
        Rule::Forbidden(text) => detail("forbidden", text),
        Rule::Immutable => "immutable".to_owned(),
        Rule::Fixed(text) => detail("fixed", text),
        Rule::Monotonic(text) => detail("monotonic", text),
        Rule::Update(changes) => format!("update({changes:?})"),
        Rule::Minimum(number) => format!("minimum = {number}"),
        Rule::Maximum(number) => format!("maximum = {number}"),
        Rule::MinLength(number) => format!("min_length = {number}"),
        Rule::MaxLength(number) => format!("max_length = {number}"),
        Rule::MaxBytes(number) => format!("max_bytes = {number}"),
        Rule::MinItems(number) => format!("min_items = {number}"),
        Rule::MaxItems(number) => format!("max_items = {number}"),
        Rule::Format(name) => format!("format = {name:?}"),
        Rule::Pattern(pattern) => format!("pattern = {:?}", pattern.as_str()),
        Rule::Enum(values) => texts("enum", values),
        Rule::NotEqual(Literal::Bool(value)) => format!("neq = {value}"),
        Rule::NotEqual(Literal::Int(value)) => format!("neq = {value}"),
        Rule::NotEqual(Literal::String(value)) => format!("neq = {value:?}"),
        Rule::NotEqual(Literal::Empty) => "neq = {}".to_owned(),
        Rule::Unique(keys) => texts("unique", keys),
        Rule::Distinct(name) => format!("distinct({name})"),
        Rule::DistinctItems(name) => format!("distinct_items({name})"),
        Rule::DistinctWithAbsent(name) => format!("distinct_with_absent({name})"),
        Rule::Labels => "labels".to_owned(),
        Rule::NotAbove(bounds) => format!("not_above({})", pairs(bounds)),
        Rule::AtLeastOne(names) => texts("at_least_one", names),
        Rule::AtMostOne(names) => texts("at_most_one", names),
        Rule::UnionMember(member) => of_member("union_member", member),
        Rule::UnionDiscriminator(union) => detail("union_discriminator", union),
        Rule::ZeroOrOneOf(member) => of_member("zero_or_one_of", member),
        Rule::Discriminator(union) => detail("discriminator", union),
        Rule::Member(member, inner) => chain(of_member("member", member), inner),
        Rule::Item(keys, inner) => chain(format!("item({})", pairs(keys)), inner),
        Rule::When(values, inner) => chain(format!("when({})", pairs(values)), inner),
        Rule::Unless(values, inner) => chain(format!("unless({})", pairs(values)), inner),
        Rule::WhenSet(name, inner) => chain(format!("when_set({name})"), inner),
        Rule::WhenUnset(name, inner) => chain(format!("when_unset({name})"), inner),
        Rule::WhenSeveral(inner) => chain("when_several".to_owned(), inner),
        Rule::First(inner) => chain("first".to_owned(), inner),
        Rule::Last(inner) => chain("last".to_owned(), inner),
        Rule::Message(message, inner) => chain(format!("message({})", pairs(message)), inner),
        Rule::EachKey(inner) => chain("each_key".to_owned(), inner),
        Rule::EachEntryKey(inner) => chain("each_entry_key".to_owned(), inner),
        Rule::EachVal(inner) => chain("each_val".to_owned(), inner),
        Rule::Subfield(name, inner) => chain(format!("subfield({name})"), inner),
        Rule::IfEnabled(gate, inner) => chain(format!("if_enabled({})", gate.name()), inner),
        Rule::IfDisabled(gate, inner) => chain(format!("if_disabled({})", gate.name()), inner),
        Rule::Alpha(since, inner) => chain(format!("alpha({since:?})"), inner),
        Rule::Beta(since, inner) => chain(format!("beta({since:?})"), inner),
        Rule::Opaque => "opaque_type".to_owned(),
        Rule::Custom(_) => "custom".to_owned(),
        Rule::External(validator, payload) => match payload {
            Payload::None => validator.name.to_owned(),
            Payload::Int(number) => format!("{} = {number}", validator.name),
            Payload::Text(text) => format!("{} = {text:?}", validator.name),
            Payload::Texts(list) => texts(validator.name, list),
        },
    }
}

fn pairs(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(key, value)| format!("{key} = {value:?}")).collect::<Vec<_>>().join(", ")
}

fn of_member(name: &str, member: &Member) -> String {
    match (member.union, member.value) {
        ("", "") => name.to_owned(),
        ("", value) => format!("{name}(value = {value:?})"),
        (union, "") => format!("{name}(union = {union:?})"),
        (union, value) => format!("{name}(union = {union:?}, value = {value:?})"),
    }
}
