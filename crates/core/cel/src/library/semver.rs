//! Semantic versions: parsing with kube-apiserver's error texts, normalization, and order.
//!
//! Build metadata is checked and then of no weight. A text costs no more than its length.

use super::args::{Result as CallResult, failed, no_overload, one, reads_argument, track_one, track_read};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};
use pintle_schema::names::quoted;
use std::cmp::Ordering;

/// The name of the type.
const TYPE: &str = "kubernetes.Semver";

/// A version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
    prerelease: Vec<Identifier>,
}

/// A part of a prerelease. Numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    /// Parses `MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]`.
    pub fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let major = number(major, "major", "Major number")?;
        let minor = number(minor, "minor", "Minor number")?;
        let (rest, build) = split_at_sign(rest, '+');
        let (patch, prerelease) = split_at_sign(rest, '-');
        let patch = number(patch, "patch", "Patch number")?;
        let prerelease = match prerelease {
            Some(prerelease) => prerelease.split('.').map(identifier).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(is_word_byte) {
                return Err(format!("Invalid character(s) found in build meta data {}", quoted(part)));
            }
        }
        Ok(Semver { major, minor, patch, prerelease })
    }

    /// Parses a text after a leading `v` and leading zeros are cut off and missing numbers are added.
    pub fn parse_normalized(text: &str) -> Result<Semver, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Semver::parse(&parts.join("."))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Semver| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => self.prerelease.cmp(&other.prerelease),
            }
        })
    }
}

fn split_at_sign(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn number(text: &str, name: &str, title: &str) -> Result<u64, String> {
    if !is_number(text) {
        return Err(format!("Invalid character(s) found in {name} number {}", quoted(text)));
    }
    if has_leading_zero(text) {
        return Err(format!("{title} must not contain leading zeroes {}", quoted(text)));
    }
    parse_u64(text)
}

fn parse_u64(digits: &str) -> Result<u64, String> {
    digits.parse().map_err(|_| {
        let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {why}", quoted(digits))
    })
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_number(text) {
        if has_leading_zero(text) {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {}", quoted(text)));
        }
        return parse_u64(text).map(Identifier::Number);
    }
    if !text.bytes().all(is_word_byte) {
        return Err(format!("Invalid character(s) found in prerelease {}", quoted(text)));
    }
    Ok(Identifier::Word(text.to_owned()))
}

/// A number without leading zeros; one stays where no digit follows.
fn without_leading_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|first: char| first.is_ascii_digit()) { trimmed.to_owned() } else { format!("0{trimmed}") }
}

impl Opaque for Semver {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn type_of(&self) -> Type {
        Type::object(TYPE)
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let semver = || Type::object(TYPE);
    let text = |name, ids: [&'static str; 2], result: Type, call| {
        let overloads = vec![
            Overload::global(ids[0], vec![Type::String], result.clone(), call),
            Overload::global(ids[1], vec![Type::String, Type::Bool], result, call),
        ];
        Function::new(name, overloads).costing(reads_argument, track_read)
    };
    let number = |name, id, call| {
        Function::new(name, vec![Overload::member(id, vec![semver()], Type::Int, call)]).costing(one, track_one)
    };
    let two_arguments = |name, id, result, call| {
        let overload = Overload::member(id, vec![semver(), semver()], result, call);
        Function::new(name, vec![overload]).costing(one, track_one)
    };
    vec![
        text("semver", ["string_to_semver", "string_bool_to_semver"], semver(), parse),
        text("isSemver", ["is_semver_string", "is_semver_string_bool"], Type::Bool, is_semver),
        number("major", "semver_major", |args| of_one(args, |version| version.major)),
        number("minor", "semver_minor", |args| of_one(args, |version| version.minor)),
        number("patch", "semver_patch", |args| of_one(args, |version| version.patch)),
        two_arguments("isGreaterThan", "semver_is_greater_than", Type::Bool, is_greater_than),
        two_arguments("isLessThan", "semver_is_less_than", Type::Bool, is_less_than),
        two_arguments("compareTo", "semver_compare_to", Type::Int, compare_to),
    ]
}

/// The version of a text, normalized if the second argument says so; `None` for other arguments.
fn read(args: &[Value<'_>]) -> Option<Result<Semver, String>> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Some(Semver::parse(text)),
        [Value::String(text), Value::Bool(true)] => Some(Semver::parse_normalized(text)),
        _ => None,
    }
}

fn parse<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    read(args).map_or_else(no_overload, |read| read.map(Value::opaque).map_err(failed))
}

fn is_semver<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    read(args).map_or_else(no_overload, |read| Ok(Value::Bool(read.is_ok())))
}

fn of_one<'a>(args: &[Value<'a>], number: impl Fn(&Semver) -> u64) -> CallResult<'a> {
    match args {
        // Numbers beyond the largest integer wrap, as in kube-apiserver.
        [value] => value.as_opaque().map_or_else(no_overload, |version| Ok(Value::Int(number(version) as i64))),
        _ => no_overload(),
    }
}

fn of_two<'a>(args: &[Value<'a>], call: impl Fn(Ordering) -> Value<'a>) -> CallResult<'a> {
    match args {
        [one, other] => one
            .as_opaque::<Semver>()
            .zip(other.as_opaque())
            .map_or_else(no_overload, |(one, other)| Ok(call(one.cmp(other)))),
        _ => no_overload(),
    }
}

fn is_greater_than<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |order| Value::Bool(order.is_gt()))
}

fn is_less_than<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |order| Value::Bool(order.is_lt()))
}

fn compare_to<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |order| Value::Int(order as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_numbers_then_prerelease() {
        let ordered =
            ["0.9.9", "1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.11", "1.0.0", "1.0.1"];
        for pair in ordered.windows(2) {
            assert!(Semver::parse(pair[0]).unwrap() < Semver::parse(pair[1]).unwrap(), "{pair:?}");
        }
        assert_eq!(Semver::parse("1.2.3+a").unwrap(), Semver::parse("1.2.3+b").unwrap());
    }

    #[test]
    fn errors_name_the_part() {
        for (text, error) in [
            ("", "Version string empty"),
            ("1.2", "No Major.Minor.Patch elements found"),
            ("v1.2.3", "Invalid character(s) found in major number \"v1\""),
            ("01.2.3", "Major number must not contain leading zeroes \"01\""),
            ("1..3", "strconv.ParseUint: parsing \"\": invalid syntax"),
            ("1.2.3.4", "Invalid character(s) found in patch number \"3.4\""),
            ("18446744073709551616.0.0", "strconv.ParseUint: parsing \"18446744073709551616\": value out of range"),
            ("1.2.3-", "Prerelease is empty"),
            ("1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\""),
            ("1.2.3-a_b", "Invalid character(s) found in prerelease \"a_b\""),
            ("1.2.3+", "Build meta data is empty"),
            ("1.2.3+a_b", "Invalid character(s) found in build meta data \"a_b\""),
        ] {
            assert_eq!(Semver::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn normalization_completes_versions() {
        for (text, version) in
            [("v1.0.0", "1.0.0"), ("1.0", "1.0.0"), ("01.01.01", "1.1.1"), ("1", "1.0.0"), ("v00.1", "0.1.0")]
        {
            assert_eq!(Semver::parse_normalized(text), Semver::parse(version), "{text}");
        }
        let error = Semver::parse_normalized("1.2-alpha").unwrap_err();
        assert_eq!(error, "short version cannot contain PreRelease/Build meta data");
    }
}
