//! Named formats: `format.dns1123Label()` and its like, and what they find wrong with a text.
//!
//! Checks take time linear in the text. Two formats are equal if their names are.

use super::args::{Result, matching, no_overload, one, texts, track_one};
use super::url;
use crate::cost::{CallEstimate, Node, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};
use pintle_schema::names;
use pintle_schema::time::days_in_month;

/// The name of the type of formats.
const TYPE: &str = "kubernetes.NamedFormat";

/// The length of the pattern that every format is estimated with.
const ESTIMATED_PATTERN: f64 = 128.0;

/// A format.
#[derive(Debug)]
pub struct NamedFormat {
    /// How it is called: `format.dns1123Label`.
    function: &'static str,
    /// How it is asked for: `dns1123Label`.
    key: &'static str,
    name: &'static str,
    /// The length of the pattern that a check costs as much as.
    pattern: u64,
    check: fn(&str) -> Vec<String>,
}

static FORMATS: [NamedFormat; 13] = [
    NamedFormat {
        function: "format.dns1123Label",
        key: "dns1123Label",
        name: "DNS1123Label",
        pattern: 30,
        check: names::dns1123_label,
    },
    NamedFormat {
        function: "format.dns1123Subdomain",
        key: "dns1123Subdomain",
        name: "DNS1123Subdomain",
        pattern: 60,
        check: names::dns1123_subdomain,
    },
    NamedFormat {
        function: "format.dns1035Label",
        key: "dns1035Label",
        name: "DNS1035Label",
        pattern: 30,
        check: names::dns1035_label,
    },
    NamedFormat {
        function: "format.qualifiedName",
        key: "qualifiedName",
        name: "QualifiedName",
        pattern: 60,
        check: names::label_key,
    },
    NamedFormat {
        function: "format.dns1123LabelPrefix",
        key: "dns1123LabelPrefix",
        name: "DNS1123LabelPrefix",
        pattern: 30,
        check: |text| names::dns1123_label(&without_dash(text)),
    },
    NamedFormat {
        function: "format.dns1123SubdomainPrefix",
        key: "dns1123SubdomainPrefix",
        name: "DNS1123SubdomainPrefix",
        pattern: 60,
        check: |text| names::dns1123_subdomain(&without_dash(text)),
    },
    NamedFormat {
        function: "format.dns1035LabelPrefix",
        key: "dns1035LabelPrefix",
        name: "DNS1035LabelPrefix",
        pattern: 30,
        check: |text| names::dns1035_label(&without_dash(text)),
    },
    NamedFormat {
        function: "format.labelValue",
        key: "labelValue",
        name: "LabelValue",
        pattern: 40,
        check: names::label_value,
    },
    NamedFormat {
        function: "format.uri",
        key: "uri",
        name: "URI",
        pattern: 1103,
        check: |text| url::check_request_uri(text).err().into_iter().collect(),
    },
    NamedFormat {
        function: "format.uuid",
        key: "uuid",
        name: "uuid",
        pattern: 70,
        check: |text| unless(is_uuid(text), "does not match the UUID format"),
    },
    NamedFormat {
        function: "format.byte",
        key: "byte",
        name: "byte",
        pattern: 84,
        check: |text| unless(is_base64(text), "invalid base64"),
    },
    NamedFormat {
        function: "format.date",
        key: "date",
        name: "date",
        pattern: 71,
        check: |text| unless(is_date(text), "invalid date"),
    },
    NamedFormat {
        function: "format.datetime",
        key: "datetime",
        name: "datetime",
        pattern: 71,
        check: |text| unless(is_date_time(text), "invalid datetime"),
    },
];

impl Opaque for &'static NamedFormat {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn type_of(&self) -> Type {
        Type::object(TYPE)
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<&'static NamedFormat>().is_some_and(|other| self.name == other.name)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let ty = || Type::object(TYPE);
    // Each has an implementation of its own, as functions carry no data.
    macro_rules! constants {
        ($($at:literal)*) => {
            [$((&FORMATS[$at], (|_| Ok(Value::opaque(&FORMATS[$at]))) as crate::function::Call)),*]
        };
    }
    let mut functions: Vec<Function> = constants!(0 1 2 3 4 5 6 7 8 9 10 11 12)
        .into_iter()
        .map(|(format, call)| {
            let overload = Overload::global(format.function, Vec::new(), ty(), call);
            Function::new(format.function, vec![overload])
        })
        .collect();
    let named = Overload::global("format-named", vec![Type::String], Type::optional(ty()), find);
    functions.push(Function::new("format.named", vec![named]).costing(one, track_one));
    let faults = Type::optional(Type::list(Type::String));
    let validate = Overload::member("format-validate", vec![ty(), Type::String], faults, validate);
    functions.push(Function::new("validate", vec![validate]).costing(estimate_validate, track_validate));
    functions
}

fn find<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(name)] = args else { return no_overload() };
    let found = FORMATS.iter().find(|format| format.key == name.as_str());
    Ok(found.map_or(Value::Optional(None), |format| Value::some(Value::opaque(format))))
}

fn validate<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [format, Value::String(text)] = args else { return no_overload() };
    let Some(format) = format.as_opaque::<&'static NamedFormat>() else { return no_overload() };
    let faults = (format.check)(text);
    Ok(if faults.is_empty() { Value::Optional(None) } else { Value::some(texts(faults)) })
}

fn estimate_validate(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let read = args.first()?.size().times_factor(STRING_TRAVERSAL_FACTOR);
    Some(CallEstimate::cost(read.times_factor(ESTIMATED_PATTERN * REGEX_LENGTH_FACTOR)))
}

fn track_validate(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let [format, text] = args else { return None };
    let pattern = format.as_opaque::<&'static NamedFormat>()?.pattern;
    Some(matching(text.cost_size(), pattern))
}

fn unless(is_right: bool, fault: &str) -> Vec<String> {
    if is_right { Vec::new() } else { vec![fault.to_owned()] }
}

/// A name that is completed later may end with a dash. kube-apiserver cuts off one character more.
fn without_dash(text: &str) -> std::borrow::Cow<'_, str> {
    match text.strip_suffix('-') {
        Some(begun) if !begun.is_empty() => {
            // Cut within a character, its beginning stays and is as wrong as the whole.
            let kept =
                begun.char_indices().next_back().map_or(0, |(at, last)| if last.is_ascii() { at } else { begun.len() });
            format!("{}a", begun.get(..kept).unwrap_or(begun)).into()
        }
        _ => text.into(),
    }
}

/// 32 hexadecimal digits in either case; between their groups may stand dashes.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.split_at_checked(length) {
            Some((group, after)) if group.bytes().all(|byte| byte.is_ascii_hexdigit()) => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// At least one group of four characters, of which the last may be padded.
fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Some(year), Some(month_number), Some(day_number)) = (number(year), number(month), number(day)) else {
        return false;
    };
    text.len() == 10
        && month.len() == 2
        && day.len() == 2
        && (1..=12).contains(&month_number)
        && (1..=days_in_month(i64::from(year), month_number)).contains(&day_number)
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(time)) => is_date(date) && is_time(time).is_some(),
        _ => false,
    }
}

/// Hours, minutes and seconds with a zone; `Some` if the text is that.
fn is_time(text: &str) -> Option<()> {
    let two = |text: &str| number(text).filter(|_| text.len() == 2);
    let (clock, rest) = text.split_at_checked(8)?;
    let mut parts = clock.split(':').map(two);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let is_zone = |zone: &str| {
        let offset = zone.strip_prefix(['+', '-']).and_then(|offset| offset.split_once(':'));
        zone == "z" || offset.is_some_and(|(hours, minutes)| two(hours).is_some() && two(minutes).is_some())
    };
    // Any character may stand before the digits of the fraction.
    let fraction = rest.chars().next().and_then(|separator| {
        let after = rest.get(separator.len_utf8()..)?;
        let zone = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        (zone.len() < after.len() && separator != '\n').then_some(zone)
    });
    (is_zone(rest) || fraction.is_some_and(is_zone)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(key: &str, text: &str) -> Vec<String> {
        (FORMATS.iter().find(|format| format.key == key).unwrap().check)(text)
    }

    #[test]
    fn texts_of_formats() {
        for (key, text) in [
            ("uuid", "123e4567e89b12d3a456426614174000"),
            ("uuid", "123E4567-E89B-12D3-A456-426614174000"),
            ("byte", "aGk="),
            ("date", "2024-01-01"),
            ("datetime", "2024-02-29T00:00:00Z"),
            ("datetime", "2024-02-29T00:00:00.5+01:00"),
            ("uri", "/abs"),
            ("dns1035LabelPrefix", "a-"),
            ("labelValue", ""),
        ] {
            assert_eq!(faults(key, text), [""; 0], "{key} {text}");
        }
    }

    #[test]
    fn faults_of_texts() {
        for (key, text, fault) in [
            ("uuid", "x", "does not match the UUID format"),
            ("byte", "", "invalid base64"),
            ("byte", "aGk", "invalid base64"),
            ("byte", "aGk=\n", "invalid base64"),
            ("date", "2023-02-29", "invalid date"),
            ("date", "2024-1-1", "invalid date"),
            ("datetime", "2024-02-29 00:00:00", "invalid datetime"),
            ("datetime", "", "invalid datetime"),
            ("uri", "rel", "parse \"rel\": invalid URI for request"),
            ("dns1123Label", "a.b", "must not contain dots"),
        ] {
            assert_eq!(faults(key, text), [fault], "{key} {text}");
        }
    }
}
