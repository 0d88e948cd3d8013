//! Validation rules in schemas: as keywords where OpenAPI has one, otherwise as `x-kubernetes-validations` in CEL.
//!
//! Published only on request. Handwritten rules are not published, and a published rule is never stricter than the validation.

use super::cel::{EnabledRules, allowed, anchored, escaped, quoted};
use super::push;
use pintle_schema::rules::{Change, Member, Rule};
use pintle_schema::{Field, Literal, Map, Presence, Str, Struct, Type, Value, value};
use pintle_tags::formats;

const VALIDATIONS: &str = "x-kubernetes-validations";

impl EnabledRules<'_> {
    /// Adds the rules of a value to its schema.
    pub(super) fn publish(&self, out: &mut Map, rules: &[Rule], ty: &Type, pointer: bool) {
        let rules = self.of(rules);
        // A zero value without a pointer counts as absent, so a rule that it violates cannot be a keyword.
        let lenient = !pointer && rules.iter().any(|rule| matches!(rule, Rule::Optional));
        let mut said = Vec::new();
        for rule in rules {
            if !self.inside(out, rule, ty) && !keyword(out, rule, ty, lenient, pointer) {
                said.extend(self.in_words(rule, ty, lenient));
            }
        }
        if !said.is_empty() {
            push(out, VALIDATIONS, Value::List(said));
        }
    }

    /// Adds a rule for all items to the items' schema, if that is written here.
    fn inside(&self, out: &mut Map, rule: &Rule, ty: &Type) -> bool {
        let (Rule::EachVal(inner), (key, elem)) = (
            rule,
            match ty {
                Type::List(list) => ("items", &list.elem),
                Type::Map(map) => ("additionalProperties", &map.elem),
                _ => return false,
            },
        ) else {
            return false;
        };
        let items =
            out.entries_mut().iter_mut().find(|(known, _)| known == key).and_then(|(_, items)| items.as_map_mut());
        let Some(items) = items.filter(|items| !items.contains_key("$ref") && !items.contains_key("allOf")) else {
            return false;
        };
        self.publish(items, inner, elem, false);
        true
    }

    fn in_words(&self, rule: &Rule, ty: &Type, lenient: bool) -> Option<Value> {
        if matches!(rule, Rule::Immutable | Rule::Fixed(_)) {
            return Some(validation("self == oldSelf", "field is immutable"));
        }
        if let Rule::Update(changes) = rule {
            let modified = changes.contains(&Change::NoModify);
            return modified.then(|| validation("self == oldSelf", "field cannot be modified once set"));
        }
        let expression = self.says(rule, "self", ty)?;
        let zero = match ty {
            Type::String | Type::Enum(_) => "self == \"\"",
            Type::Int32 | Type::Int64 => "self == 0",
            _ if lenient => "size(self) == 0",
            _ => "",
        };
        match lenient {
            true => Some(validation(&format!("{zero} || ({expression})"), "")),
            false => Some(validation(&expression, "")),
        }
    }

    /// Adds the rules about several fields of a struct.
    pub(super) fn publish_struct(&self, out: &mut Map, schema: &Struct) {
        let mut said = Vec::new();
        let mut unions: Vec<(&str, Union<'_>)> = Vec::new();
        schema.each_field(&mut |field| {
            let name = format!("self.{}", escaped(&field.name));
            let old = format!("oldSelf.{}", escaped(&field.name));
            for rule in self.of(&field.rules) {
                match rule {
                    Rule::Forbidden(detail) => said.push(validation(&format!("!has({name})"), detail)),
                    Rule::Immutable | Rule::Fixed(_) if !field.is_always_included() => {
                        said.push(validation(&format!("has({name}) == has({old})"), "field is immutable"));
                    }
                    Rule::Update(changes) => {
                        if changes.contains(&Change::NoSet) {
                            let text = "field cannot be set once created";
                            said.push(validation(&format!("!has({name}) || has({old})"), text));
                        }
                        if changes.contains(&Change::NoUnset) {
                            let text = "field cannot be cleared once set";
                            said.push(validation(&format!("has({name}) || !has({old})"), text));
                        }
                    }
                    Rule::Member(member, inner) => said.extend(self.of_choice(schema, field, member, inner)),
                    Rule::When(pairs, inner) => {
                        let others = pairs.iter().map(|(other, values)| differs(schema, other, values));
                        said.extend(self.conditional(others.collect::<Vec<_>>(), field, inner));
                    }
                    Rule::Unless(pairs, inner) => {
                        let differ: Vec<_> =
                            pairs.iter().map(|(other, values)| differs(schema, other, values)).collect();
                        let is = format!("!({})", differ.join(" || "));
                        said.extend(self.conditional(vec![is], field, inner));
                    }
                    Rule::WhenSet(other, inner) => {
                        said.extend(self.conditional(vec![format!("!has(self.{})", escaped(other))], field, inner));
                    }
                    Rule::WhenUnset(other, inner) => {
                        said.extend(self.conditional(vec![format!("has(self.{})", escaped(other))], field, inner));
                    }
                    Rule::NotAbove(pairs) => said.extend(compared(&name, "<=", pairs)),
                    rule => collect(&mut unions, rule, field),
                }
            }
        });
        for rule in self.of(&schema.rules) {
            said.extend(match rule {
                Rule::AtLeastOne(fields) => Some(validation(&format!("{} >= 1", set(fields)), "")),
                Rule::AtMostOne(fields) => Some(validation(&format!("{} <= 1", set(fields)), "")),
                Rule::Subfield(name, inner) => schema
                    .field(name)
                    .and_then(|field| self.of_field("self", name, inner, &field.ty))
                    .map(|expression| validation(&expression, "")),
                _ => None,
            });
        }
        unions.iter().for_each(|(_, union)| union.publish(&mut said));
        if !said.is_empty() {
            push(out, VALIDATIONS, Value::List(said));
        }
    }

    /// Whether the rules demand a field that OpenAPI would not list as required.
    pub(super) fn demands(&self, field: &Field) -> bool {
        field.default.is_none() && self.of(&field.rules).iter().any(|rule| matches!(rule, Rule::Required(_)))
    }

    fn of_choice(&self, schema: &Struct, field: &Field, member: &Member, inner: &[Rule]) -> Option<Value> {
        let is_chooser = |rule: &&Rule| matches!(rule, Rule::Discriminator(union) if *union == member.union);
        let chooser =
            schema.fields.iter().find(|other| self.of(&other.rules).into_iter().any(|rule| is_chooser(&rule)))?;
        let value = member_value(member, field);
        self.conditional(vec![differs(schema, &chooser.name, &value)], field, inner)
    }

    /// The rules of a field that apply unless one of some conditions holds.
    fn conditional(&self, unless: Vec<String>, field: &Field, rules: &[Rule]) -> Option<Value> {
        let inner = self.of_field("self", &field.name, rules, &field.ty)?;
        Some(validation(&format!("{} || ({inner})", unless.join(" || ")), ""))
    }
}

/// Fields of which one, or at most one, is set.
struct Union<'a> {
    exactly_one: bool,
    discriminator: Option<&'a Field>,
    members: Vec<(&'a Field, String)>,
}

fn collect<'a>(unions: &mut Vec<(&'a str, Union<'a>)>, rule: &'a Rule, field: &'a Field) {
    let (name, exactly_one) = match rule {
        Rule::UnionMember(member) => (member.union, true),
        Rule::UnionDiscriminator(union) => (*union, true),
        Rule::ZeroOrOneOf(member) => (member.union, false),
        _ => return,
    };
    let known = unions.iter().position(|(known, union)| *known == name && union.exactly_one == exactly_one);
    let at = known.unwrap_or_else(|| {
        unions.push((name, Union { exactly_one, discriminator: None, members: Vec::new() }));
        unions.len() - 1
    });
    let Some((_, union)) = unions.get_mut(at) else { return };
    match rule {
        Rule::UnionMember(member) | Rule::ZeroOrOneOf(member) => {
            union.members.push((field, member_value(member, field)));
        }
        _ => union.discriminator = Some(field),
    }
}

impl Union<'_> {
    fn publish(&self, said: &mut Vec<Value>) {
        if let Some(discriminator) = self.discriminator {
            said.extend(self.members.iter().map(|(field, value)| {
                let chosen = format!("self.{} == {}", escaped(&discriminator.name), quoted(value));
                validation(&format!("has(self.{}) == ({chosen})", escaped(&field.name)), "")
            }));
            return;
        }
        let names: Vec<&str> = self.members.iter().map(|(field, _)| field.name.as_str()).collect();
        said.push(validation(&format!("{} {} 1", set(&names), if self.exactly_one { "==" } else { "<=" }), ""));
    }
}

/// The discriminator's value for a member: the one given, or the field's name with a capital.
fn member_value(member: &Member, field: &Field) -> String {
    match member.value {
        "" => super::names::capital(&field.name),
        value => value.to_owned(),
    }
}

/// How many of the fields are set.
fn set(fields: &[&str]) -> String {
    let has = fields.iter().map(|field| format!("has(self.{})", escaped(field))).collect::<Vec<_>>().join(", ");
    format!("[{has}].filter(x, x).size()")
}

/// Whether a field has none of the values, separated by `|`; nothing stands for an unset field.
fn differs(schema: &Struct, field: &str, values: &str) -> String {
    let name = format!("self.{}", escaped(field));
    let ty = schema.field(field).map(|field| &field.ty);
    let literals = values.split('|').filter(|value| !value.is_empty()).map(|value| match ty {
        Some(Type::Bool | Type::Int32 | Type::Int64) => value.to_owned(),
        _ => quoted(value),
    });
    let listed = format!("{name} in [{}]", literals.collect::<Vec<_>>().join(", "));
    match values.split('|').any(str::is_empty) {
        true => format!("has({name}) && !({listed})"),
        false => format!("!has({name}) || !({listed})"),
    }
}

fn compared<'a>(
    name: &'a str,
    sign: &'a str,
    pairs: &'a [(&'static str, &'static str)],
) -> impl Iterator<Item = Value> + 'a {
    pairs.iter().map(move |(other, detail)| {
        let other = format!("self.{}", escaped(other));
        validation(&format!("!has({name}) || !has({other}) || {name} {sign} {other}"), detail)
    })
}

fn validation(rule: &str, message: &str) -> Value {
    match message {
        "" => value!({ "rule": rule }),
        message => value!({ "rule": rule, "message": message }),
    }
}

/// Adds a rule as a keyword; false when no keyword is equivalent.
fn keyword(out: &mut Map, rule: &Rule, ty: &Type, lenient: bool, pointer: bool) -> bool {
    let counted = matches!(ty, Type::Map(_));
    match rule {
        Rule::Minimum(least) if !(lenient && *least > 0) => put(out, "minimum", *least),
        Rule::Maximum(most) if !(lenient && *most < 0) => put(out, "maximum", *most),
        Rule::MinLength(least) if !lenient => put(out, "minLength", i64::from(*least)),
        Rule::MaxLength(most) => put(out, "maxLength", i64::from(*most)),
        Rule::MinItems(least) if !lenient => {
            put(out, if counted { "minProperties" } else { "minItems" }, i64::from(*least));
        }
        Rule::MaxItems(most) => put(out, if counted { "maxProperties" } else { "maxItems" }, i64::from(*most)),
        Rule::Required(_) if !pointer => match ty {
            // A value without a pointer must not be empty either.
            Type::String => put(out, "minLength", 1),
            Type::List(_) => put(out, "minItems", 1),
            Type::Map(_) => put(out, "minProperties", 1),
            _ => {}
        },
        Rule::Pattern(pattern) if lenient => put(out, "pattern", format!("^$|{}", anchored(pattern))),
        Rule::Pattern(pattern) => put(out, "pattern", anchored(pattern)),
        Rule::Enum(values) => {
            let mut all: Vec<&str> = if lenient { vec![""] } else { Vec::new() };
            all.extend(allowed(values, ty));
            put(out, "enum", all);
        }
        Rule::Format(name) => return format_keyword(out, name, ty, lenient),
        Rule::NotEqual(Literal::Empty) | Rule::Optional | Rule::Required(_) => {}
        Rule::External(validator, payload) => {
            if let Some((key, value)) = (validator.published)(payload) {
                out.push(Str::new_static(key), value);
            }
        }
        _ => return false,
    }
    true
}

/// A range of numbers, or the name of a format of strings.
fn format_keyword(out: &mut Map, name: &'static str, ty: &Type, lenient: bool) -> bool {
    match (formats::find(name).and_then(|format| format.range), ty) {
        (Some((low, high)), Type::Int32 | Type::Int64) if !(lenient && low > 0) => {
            put(out, "minimum", low);
            if high != formats::NO_END {
                put(out, "maximum", high);
            }
        }
        (Some(_), _) => return false,
        (None, Type::String | Type::Enum(_)) if !lenient => put(out, "format", name),
        (None, _) => return false,
    }
    true
}

/// Sets a keyword; where there is one already, the stricter stays.
fn put(out: &mut Map, key: &'static str, value: impl Into<Value>) {
    let value = value.into();
    let entries = out.entries_mut();
    let Some((_, known)) = entries.iter_mut().find(|(known, _)| known == key) else {
        push(out, key, value);
        return;
    };
    let (Some(was), Some(is)) = (known.as_i64(), value.as_i64()) else {
        *known = value;
        return;
    };
    let keeps = if key.starts_with("min") { was >= is } else { was <= is };
    if !keeps {
        *known = value;
    }
}

/// Whether null and zero are two things for a field.
pub(super) fn is_pointer(field: &Field) -> bool {
    matches!(field.presence, Presence::Pointer | Presence::PointerAlways)
}
