//! Validation rules as CEL expressions, for clients and tools.
//!
//! A rule that CEL cannot express is left out, and a published rule is never stricter than the validation.

use pintle_schema::gates::{DECLARATIVE_VALIDATION_BETA, GateSet};
use pintle_schema::names::CEL_RESERVED;
use pintle_schema::rules::Rule;
use pintle_schema::{Keys, ListKind, Literal, Type};
use pintle_tags::formats;

/// Rules that are in force: those behind gates and of stages, as this server has them.
pub(super) struct EnabledRules<'a> {
    pub gates: &'a GateSet,
}

impl EnabledRules<'_> {
    /// The enabled rules, without their gates and stages.
    pub fn of<'r>(&self, rules: &'r [Rule]) -> Vec<&'r Rule> {
        let mut all = Vec::new();
        for rule in rules {
            match rule {
                Rule::IfEnabled(gate, inner) if self.gates.is_on(gate) => all.extend(self.of(inner)),
                Rule::IfDisabled(gate, inner) if !self.gates.is_on(gate) => all.extend(self.of(inner)),
                Rule::Beta(_, inner) if self.gates.is_on(&DECLARATIVE_VALIDATION_BETA) => all.extend(self.of(inner)),
                Rule::IfEnabled(..) | Rule::IfDisabled(..) | Rule::Alpha(..) | Rule::Beta(..) => {}
                Rule::Message(_, inner) | Rule::First(inner) | Rule::Last(inner) => {
                    all.extend(self.of(inner));
                }
                rule => all.push(rule),
            }
        }
        all
    }

    /// The conjunction of a value's rules; `None` if CEL can express none of them.
    pub fn all(&self, rules: &[Rule], value: &str, ty: &Type) -> Option<String> {
        let rules = self.of(rules);
        let said: Vec<String> = rules.iter().filter_map(|rule| self.says(rule, value, ty)).collect();
        if said.is_empty() {
            return None;
        }
        let joined = said.join(" && ");
        if !rules.iter().any(|rule| matches!(rule, Rule::Optional)) {
            return Some(joined);
        }
        // A zero value counts as absent.
        Some(format!("{value} == {} || {}", zero(ty)?, grouped(&joined)))
    }

    /// One rule.
    pub fn says(&self, rule: &Rule, value: &str, ty: &Type) -> Option<String> {
        Some(match rule {
            Rule::Minimum(least) => format!("{value} >= {least}"),
            Rule::Maximum(most) => format!("{value} <= {most}"),
            Rule::MinLength(least) => format!("size({value}) >= {least}"),
            Rule::MaxLength(most) => format!("size({value}) <= {most}"),
            Rule::MaxBytes(most) => format!("size(bytes({value})) <= {most}"),
            Rule::MinItems(least) => format!("size({value}) >= {least}"),
            Rule::MaxItems(most) => format!("size({value}) <= {most}"),
            Rule::Format(name) => format_says(name, value, ty)?,
            Rule::Pattern(pattern) => format!("{value}.matches({})", quoted(&anchored(pattern))),
            Rule::Enum(values) => {
                format!("{value} in [{}]", allowed(values, ty).map(quoted).collect::<Vec<_>>().join(", "))
            }
            Rule::NotEqual(other) => format!("{value} != {}", literal(other)?),
            Rule::Required(_) => format!("{value} != {}", zero(ty)?),
            Rule::Unique(keys) => unique(keys, value, ty)?,
            Rule::EachVal(inner) => {
                let item = variable(value);
                match ty {
                    Type::List(list) => format!("{value}.all({item}, {})", self.all(inner, &item, &list.elem)?),
                    Type::Map(map) => {
                        format!("{value}.all({item}, {})", self.all(inner, &format!("{value}[{item}]"), &map.elem)?)
                    }
                    _ => return None,
                }
            }
            Rule::EachKey(inner) => {
                let key = variable(value);
                format!("{value}.all({key}, {})", self.all(inner, &key, &Type::String)?)
            }
            Rule::Item(keys, inner) => {
                let Type::List(list) = ty else { return None };
                let item = variable(value);
                let others = keys.iter().map(|(key, is)| format!("{item}.{} != {}", escaped(key), quoted(is)));
                let inner = grouped(&self.all(inner, &item, &list.elem)?);
                format!("{value}.all({item}, {} || {inner})", others.collect::<Vec<_>>().join(" || "))
            }
            Rule::Subfield(name, inner) => {
                let field = ty.as_struct()?.field(name)?;
                self.of_field(value, name, inner, &field.ty)?
            }
            _ => return None,
        })
    }

    /// The rules of a struct's field, which may be absent.
    pub fn of_field(&self, owner: &str, name: &str, rules: &[Rule], ty: &Type) -> Option<String> {
        let field = format!("{owner}.{}", escaped(name));
        let rules_in_force = self.of(rules);
        if rules_in_force.iter().any(|rule| matches!(rule, Rule::Forbidden(_))) {
            return Some(format!("!has({field})"));
        }
        let required = rules_in_force.iter().any(|rule| matches!(rule, Rule::Required(_)));
        match (required, self.all(rules, &field, ty)) {
            (true, Some(inner)) => Some(format!("has({field}) && {}", grouped(&inner))),
            (true, None) => Some(format!("has({field})")),
            (false, inner) => Some(format!("!has({field}) || {}", grouped(&inner?))),
        }
    }
}

/// The values that an `enum` allows: those named, or the type's.
pub(super) fn allowed<'a>(values: &'a [&'static str], ty: &'a Type) -> impl Iterator<Item = &'a str> {
    let mut all: Vec<&'a str> = match ty {
        Type::Enum(named) if values.is_empty() => named.values.iter().map(|value| value.value.as_str()).collect(),
        _ => values.to_vec(),
    };
    all.sort_unstable();
    all.into_iter()
}

/// A pattern that matches the whole text, as the engine's do.
pub(super) fn anchored(pattern: &str) -> String {
    format!("^(?:{pattern})$")
}

/// The zero value that means absence for fields without a pointer.
fn zero(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::String | Type::Enum(_) => Some("\"\""),
        Type::Int32 | Type::Int64 => Some("0"),
        Type::Bool => Some("false"),
        Type::List(_) => Some("[]"),
        Type::Map(_) => Some("{}"),
        _ => None,
    }
}

fn format_says(name: &str, value: &str, ty: &Type) -> Option<String> {
    if let Some((low, high)) = formats::find(name).and_then(|format| format.range) {
        let end = if high == formats::NO_END { String::new() } else { format!(" && {value} <= {high}") };
        return matches!(ty, Type::Int32 | Type::Int64).then(|| format!("{value} >= {low}{end}"));
    }
    let known = match name {
        "k8s-short-name" | "dns1123-label" => "dns1123Label",
        "k8s-long-name" | "dns1123-subdomain" => "dns1123Subdomain",
        "dns1035-label" => "dns1035Label",
        "k8s-label-key" => "qualifiedName",
        "k8s-label-value" => "labelValue",
        "k8s-uuid" => "uuid",
        "ip" | "strict-legacy-ip" => return Some(format!("isIP({value})")),
        "cidr" => return Some(format!("isCIDR({value})")),
        _ => return None,
    };
    Some(format!("!format.{known}().validate({value}).hasValue()"))
}

fn unique(keys: &[&str], value: &str, ty: &Type) -> Option<String> {
    let Type::List(list) = ty else { return None };
    let keys: Vec<String> = match &list.kind {
        ListKind::Map(own) if keys.is_empty() => Keys::iter(own).map(escaped).collect(),
        _ => keys.iter().map(|key| escaped(key)).collect(),
    };
    let (one, other) = (variable(value), format!("{}2", variable(value)));
    let same = match keys.as_slice() {
        [] => format!("{other} == {one}"),
        keys => keys.iter().map(|key| format!("{other}.{key} == {one}.{key}")).collect::<Vec<_>>().join(" && "),
    };
    Some(format!("{value}.all({one}, {value}.exists_one({other}, {same}))"))
}

/// A variable that the value's own expression does not use.
fn variable(value: &str) -> String {
    let depth = value.strip_prefix('x').and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    match depth.map(|digits| digits.parse::<u32>()) {
        None => "x".to_owned(),
        Some(depth) => format!("x{}", depth.unwrap_or(0) + 1),
    }
}

fn grouped(expression: &str) -> String {
    if expression.contains(" || ") || expression.contains(" && ") {
        format!("({expression})")
    } else {
        expression.to_owned()
    }
}

fn literal(value: &Literal) -> Option<String> {
    match value {
        Literal::Bool(value) => Some(value.to_string()),
        Literal::Int(value) => Some(value.to_string()),
        Literal::String(text) => Some(quoted(text)),
        Literal::Empty => None,
    }
}

/// A text as CEL writes it.
pub(super) fn quoted(text: &str) -> String {
    pintle_codec::json::to_string(&text.into())
}

/// A field's name as CEL selects it.
pub(super) fn escaped(name: &str) -> String {
    if CEL_RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::Gate;
    use pintle_schema::Slice::Static;
    use pintle_schema::Text;
    use pintle_schema::gates::alpha;
    use pintle_schema::{ApiType, Type};

    #[derive(ApiType, Clone, Default, PartialEq)]
    struct Part {
        /// Its name.
        #[k8s(proto = 1)]
        name: String,
        /// Where.
        #[k8s(proto = 2)]
        namespace: String,
        /// Names.
        #[k8s(proto = 3, list_type = set)]
        names: Vec<String>,
    }

    const ON: Gate = Gate::new("On", &[alpha(36)]);

    #[test]
    fn rules_in_cel() {
        let gates = GateSet::only([&ON]);
        let in_force = EnabledRules { gates: &gates };
        let part = <Part as pintle_schema::ApiValue>::TYPE;
        let text = &Type::String;
        static CHAIN: Rule = Rule::Subfield(
            "names",
            Static(&[Rule::EachVal(Static(&[Rule::Format("dns1123-label"), Rule::MaxBytes(9)]))]),
        );
        static GATED: Rule =
            Rule::Subfield("namespace", Static(&[Rule::IfEnabled(&ON, Static(&[Rule::Required("")]))]));
        static OFF: Rule = Rule::Subfield("name", Static(&[Rule::IfDisabled(&ON, Static(&[Rule::Forbidden("")]))]));
        static LENIENT: Rule = Rule::Subfield("name", Static(&[Rule::Optional, Rule::Pattern(Text::Static("a|b"))]));
        static WORD: Rule = Rule::NotEqual(Literal::String("a\"b"));
        static UNKNOWN: Rule = Rule::Format("http-header-name");
        static PORT: Rule = Rule::Format("port");
        for (rule, ty, said) in [
            (
                &CHAIN,
                &part,
                Some(
                    "!has(self.names) || (self.names.all(x, !format.dns1123Label().validate(x).hasValue() && size(bytes(x)) <= 9))",
                ),
            ),
            (&GATED, &part, Some("has(self.__namespace__) && self.__namespace__ != \"\"")),
            (&OFF, &part, None),
            (&LENIENT, &part, Some("!has(self.name) || (self.name == \"\" || self.name.matches(\"^(?:a|b)$\"))")),
            (&WORD, text, Some("self != \"a\\\"b\"")),
            (&UNKNOWN, text, None),
            (&PORT, &Type::Int32, Some("self >= 1 && self <= 65535")),
            (&PORT, &Type::IntOrString, None),
        ] {
            assert_eq!(in_force.says(rule, "self", ty).as_deref(), said);
        }
    }
}
