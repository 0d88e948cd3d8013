//! Label selectors: requirements on the labels of an object, all of which must hold.
//! Guarantees kube-apiserver's parsing of texts and selector fields, its errors and its canonical text.
//! Must never panic on any text; matching allocates nothing.

mod packed;
mod parser;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::names;
use crate::value::Str;
use packed::Packed;
pub use packed::RequirementRef;

/// The operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label exists with one of the values.
    In,
    /// The label does not exist or has none of the values.
    NotIn,
    /// `=`: as `In` with one value.
    Equals,
    /// `==`: as `Equals`, but kept for the canonical text.
    DoubleEquals,
    /// As `NotIn` with one value.
    NotEquals,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The label exists with a larger integer.
    GreaterThan,
    /// The label exists with a smaller integer.
    LessThan,
}

/// One requirement on a label, from which selectors are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: Str,
    operator: Operator,
    values: Vec<Str>,
}

impl Requirement {
    /// A requirement with valid key and values. The errors name fields relative to the requirement: `key`, `values[0][{key}]`.
    pub fn new(key: &str, operator: Operator, values: Vec<Str>) -> Result<Requirement, LabelSelectorError> {
        let mut errors = Vec::new();
        errors.extend(key_error("key", key));
        check_values(operator, &values, &mut errors);
        for (at, value) in values.iter().enumerate() {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                errors.push(invalid(&format!("values[{at}][{key}]"), &names::quoted(value), &messages.join("; ")));
            }
        }
        if errors.is_empty() {
            return Ok(Requirement { key: Str::new(key), operator, values });
        }
        Err(LabelSelectorError(aggregate(errors)))
    }
}

/// Requirements on labels, sorted by key. Without requirements it selects everything, unless it is created to select
/// nothing. Copies share the requirements, which take about as many bytes as their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// `None` if there are none.
    requirements: Option<Arc<Packed>>,
    selects_nothing: bool,
}

/// An entry of `matchExpressions`.
#[derive(Clone, Copy, Debug)]
pub struct Expression<'a> {
    /// The key of the label.
    pub key: &'a str,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; others are rejected.
    pub operator: &'a str,
    /// The values to compare with.
    pub values: &'a [Str],
}

impl LabelSelector {
    /// Selects everything.
    pub const fn everything() -> LabelSelector {
        LabelSelector { requirements: None, selects_nothing: false }
    }

    /// Selects nothing, as an unset selector field does.
    pub const fn nothing() -> LabelSelector {
        LabelSelector { requirements: None, selects_nothing: true }
    }

    /// Requirements in any order.
    pub fn new(mut requirements: Vec<Requirement>) -> LabelSelector {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        let packed = requirements.iter().map(|it| (&*it.key, it.operator, it.values.iter().map(Str::as_str)));
        LabelSelector { requirements: Packed::new(packed), selects_nothing: false }
    }

    /// The requirements of several selectors together.
    pub fn all<'a>(selectors: impl IntoIterator<Item = &'a LabelSelector>) -> LabelSelector {
        let selectors: Vec<_> = selectors.into_iter().collect();
        let mut requirements: Vec<_> = selectors.iter().flat_map(|selector| selector.requirements()).collect();
        requirements.sort_by_key(|requirement| requirement.key());
        let packed = requirements.iter().map(|it| (it.key(), it.operator(), it.values()));
        let selects_nothing = selectors.iter().any(|selector| selector.selects_nothing);
        LabelSelector { requirements: Packed::new(packed), selects_nothing }
    }

    /// Parses `a=b,c!=d,e in (x,y),!f,g notin (z),h>1,i<2`.
    pub fn parse(text: &str) -> Result<LabelSelector, LabelSelectorError> {
        parser::parse(text).map(LabelSelector::new)
    }

    /// The selector of a selector field: labels that must be equal, and expressions.
    pub fn from_parts<'a>(
        match_labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        match_expressions: impl IntoIterator<Item = Expression<'a>>,
    ) -> Result<LabelSelector, LabelSelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in match_labels {
            requirements.push(Requirement::new(key, Operator::Equals, vec![Str::new(value)])?);
        }
        for expression in match_expressions {
            let operator = match expression.operator {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(LabelSelectorError(format!(
                        "{} is not a valid label selector operator",
                        names::quoted(other)
                    )));
                }
            };
            requirements.push(Requirement::new(expression.key, operator, expression.values.to_vec())?);
        }
        Ok(LabelSelector::new(requirements))
    }

    /// The selector of a plain map of labels, as in services and replication controllers. The labels are not
    /// validated.
    pub fn from_map<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> LabelSelector {
        let equal = |(key, value)| Requirement {
            key: Str::new(key),
            operator: Operator::Equals,
            values: vec![Str::new(value)],
        };
        LabelSelector::new(labels.into_iter().map(equal).collect())
    }

    /// The requirements, sorted by key.
    pub fn requirements(&self) -> impl Iterator<Item = RequirementRef<'_>> + Clone {
        self.requirements.iter().flat_map(|packed| packed.iter())
    }

    /// How many bytes of memory the requirements take.
    pub fn held_bytes(&self) -> usize {
        self.requirements.as_ref().map_or(0, |packed| packed.held_bytes())
    }

    /// Whether it selects every object.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_none() && !self.selects_nothing
    }

    /// Whether all requirements hold. `get` returns the value of a label.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.selects_nothing && self.requirements().all(|requirement| requirement.holds(get(requirement.key())))
    }

    /// The labels that every selected object has, as keys and values.
    pub fn exact_matches(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requirements().filter_map(|requirement| Some((requirement.key(), requirement.exact_value()?)))
    }

    /// The value that a label must have, if the first requirement on it requires one.
    pub fn exact_match(&self, key: &str) -> Option<&str> {
        self.requirements().find(|requirement| requirement.key() == key)?.exact_value()
    }
}

/// The canonical text; empty for a selector of nothing too.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// Why a text or field is not a selector, with kube-apiserver's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabelSelectorError(String);

fn invalid(path: &str, value: &str, detail: &str) -> String {
    format!("{path}: Invalid value: {value}: {detail}")
}

fn key_error(path: &str, key: &str) -> Option<String> {
    let messages = names::label_key(key);
    (!messages.is_empty()).then(|| invalid(path, &names::quoted(key), &messages.join("; ")))
}

fn check_values(operator: Operator, values: &[Str], errors: &mut Vec<String>) {
    let (count_is_right, detail) = match operator {
        Operator::In | Operator::NotIn => {
            (!values.is_empty(), "for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
            (values.len() == 1, "exact-match compatibility requires one single value")
        }
        Operator::Exists | Operator::DoesNotExist => {
            (values.is_empty(), "values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan => {
            (values.len() == 1, "for 'Gt', 'Lt' operators, exactly one value is required")
        }
    };
    if !count_is_right {
        // The list is printed as JSON, an empty one as null.
        let shown = if values.is_empty() { "null".to_string() } else { format!("[{}]", quoted(values).join(",")) };
        errors.push(invalid("values", &shown, detail));
    }
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (at, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(invalid(&format!("values[{at}]"), &names::quoted(value), detail));
            }
        }
    }
}

fn quoted(values: &[Str]) -> Vec<String> {
    values.iter().map(|value| names::quoted(value)).collect()
}

/// One error is printed as it is; several as a list without repetitions.
fn aggregate(errors: Vec<String>) -> String {
    let mut seen = HashSet::with_capacity(errors.len());
    let distinct: Vec<&str> = errors.iter().map(String::as_str).filter(|error| seen.insert(*error)).collect();
    match distinct.as_slice() {
        [error] => (*error).to_owned(),
        errors => format!("[{}]", errors.join(", ")),
    }
}
