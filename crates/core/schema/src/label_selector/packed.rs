//! The requirements of a selector in a compact form: all texts in one string, and their lengths in bytes of another.
//! Guarantees that a selector takes about as much memory as its text, since a watch keeps one for hours. Must never fail: what is
//! unpacked was packed here.

use super::Operator;
use std::fmt;
use std::sync::Arc;

/// The requirements of a selector.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// The key of each requirement, followed by its values.
    texts: Box<str>,
    /// For each requirement: the operator, the length of the key, the number of values, and the length of each.
    shape: Box<[u8]>,
}

/// The bytes of a selector besides its texts and their lengths: two pointers with lengths and two counts.
const BASE_BYTES: usize = 48;

impl Packed {
    /// Packs requirements, given as keys, operators and values. `None` if there are none.
    pub fn new<'a, V: Iterator<Item = &'a str>>(
        requirements: impl Iterator<Item = (&'a str, Operator, V)>,
    ) -> Option<Arc<Packed>> {
        let (mut texts, mut shape) = (String::new(), Vec::new());
        for (key, operator, values) in requirements {
            let values: Vec<&str> = values.collect();
            texts.push_str(key);
            shape.push(code(operator));
            push(&mut shape, key.len());
            push(&mut shape, values.len());
            for value in values {
                texts.push_str(value);
                push(&mut shape, value.len());
            }
        }
        (!shape.is_empty()).then(|| Arc::new(Packed { texts: texts.into(), shape: shape.into() }))
    }

    pub fn iter(&self) -> Requirements<'_> {
        Requirements { texts: &self.texts, shape: &self.shape }
    }

    pub fn held_bytes(&self) -> usize {
        self.texts.len() + self.shape.len() + BASE_BYTES
    }
}

/// The requirements that are left.
#[derive(Clone)]
pub(super) struct Requirements<'a> {
    texts: &'a str,
    shape: &'a [u8],
}

impl<'a> Iterator for Requirements<'a> {
    type Item = RequirementRef<'a>;

    fn next(&mut self) -> Option<RequirementRef<'a>> {
        let (operator, rest) = self.shape.split_first()?;
        self.shape = rest;
        let (key_length, count) = (take(&mut self.shape)?, take(&mut self.shape)?);
        let (key, texts) = self.texts.split_at_checked(key_length)?;
        let values = Values { texts, shape: self.shape, count };
        let mut rest = values.clone();
        rest.by_ref().for_each(drop);
        (self.texts, self.shape) = (rest.texts, rest.shape);
        Some(RequirementRef { key, operator: operator_of(*operator)?, values })
    }
}

/// One requirement of a selector.
#[derive(Clone)]
pub struct RequirementRef<'a> {
    key: &'a str,
    operator: Operator,
    values: Values<'a>,
}

impl<'a> RequirementRef<'a> {
    /// The key of the label.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// The operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values to compare with.
    pub fn values(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.values.clone()
    }

    /// Whether the requirement holds for a label's value, or its absence.
    pub fn holds(&self, label: Option<&str>) -> bool {
        let has = |label: &str| self.values().any(|value| value == label);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(has),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(has),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.numbers(label).is_some_and(|(label, value)| label > value),
            Operator::LessThan => self.numbers(label).is_some_and(|(label, value)| label < value),
        }
    }

    fn numbers(&self, label: Option<&str>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values().next()?.parse().ok()?))
    }

    /// The only value that the label may have, if there is one.
    pub(super) fn exact_value(&self) -> Option<&'a str> {
        let is_equality = matches!(self.operator, Operator::In | Operator::Equals | Operator::DoubleEquals);
        self.values().next().filter(|_| is_equality && self.values.count == 1)
    }
}

impl fmt::Display for RequirementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&str> = self.values().collect();
        sorted.sort_unstable();
        let (key, values) = (self.key, sorted.join(","));
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

/// The values of a requirement that are left.
#[derive(Clone)]
struct Values<'a> {
    texts: &'a str,
    shape: &'a [u8],
    count: usize,
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.count = self.count.checked_sub(1)?;
        let length = take(&mut self.shape)?;
        let (value, texts) = self.texts.split_at_checked(length)?;
        self.texts = texts;
        Some(value)
    }
}

/// Appends a number: seven bits a byte, the lowest first. Nearly all lengths take one byte.
fn push(shape: &mut Vec<u8>, number: usize) {
    let mut rest = number;
    while rest >= 0x80 {
        shape.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    shape.push(rest as u8);
}

fn take(shape: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = shape.split_first()?;
        *shape = rest;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

const OPERATORS: [Operator; 9] = [
    Operator::In,
    Operator::NotIn,
    Operator::Equals,
    Operator::DoubleEquals,
    Operator::NotEquals,
    Operator::Exists,
    Operator::DoesNotExist,
    Operator::GreaterThan,
    Operator::LessThan,
];

fn code(operator: Operator) -> u8 {
    OPERATORS.iter().zip(0..).find_map(|(known, code)| (*known == operator).then_some(code)).unwrap_or_default()
}

fn operator_of(code: u8) -> Option<Operator> {
    OPERATORS.get(usize::from(code)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::LabelSelector;

    #[test]
    fn a_selector_takes_about_as_many_bytes_as_its_text() {
        let repeated = |count: usize, of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<Vec<_>>().join(",");
        for text in [
            repeated(31_000, &|_| "a".to_owned()),
            repeated(16_000, &|_| "a=b".to_owned()),
            format!("a in ({})", repeated(12_000, &|at| at.to_string())),
            repeated(900, &|at| format!("example.com/{at}={}", "v".repeat(50))),
        ] {
            let selector = LabelSelector::parse(&text).expect("a selector");
            let (held, asked) = (selector.held_bytes(), text.len());
            assert!(held <= 2 * asked + 64, "{held} bytes for {asked}");
            // A copy takes nothing more.
            assert!(std::ptr::eq(
                selector.requirements.as_deref().expect("requirements"),
                selector.clone().requirements.as_deref().expect("requirements")
            ));
        }
        assert!(LabelSelector::parse("app=web").expect("a selector").held_bytes() < 64);
    }

    #[test]
    fn long_texts_are_unpacked_as_they_were() {
        let long = "x".repeat(300);
        let selector = LabelSelector::from_map([(long.as_str(), "1"), ("b", long.as_str()), ("c", "")]);
        let found: Vec<_> =
            selector.requirements().map(|it| (it.key().len(), it.values().map(str::len).collect::<Vec<_>>())).collect();
        assert_eq!(found, [(1, vec![300]), (1, vec![0]), (300, vec![1])]);
        assert!(selector.matches(|key| Some(match key {
            "b" => long.as_str(),
            "c" => "",
            _ => "1",
        })));
    }
}
