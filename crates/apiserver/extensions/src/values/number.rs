//! Numbers of custom resources: bounds and multiples, in the ranges of their types and formats, as kube-apiserver computes
//! them.

use super::outcome::{Issue, Outcome};
use super::{Place, ValueSchema};
use pintle_schema::Value;
use pintle_schema::compat::float;

/// Integers beyond this have no exact neighbours among floats.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// Whether a float is an integer, as far as kube-apiserver can tell.
pub(super) fn is_whole(number: f64) -> bool {
    if !number.is_finite() || number.abs() > MAX_EXACT {
        return false;
    }
    let whole = number.trunc();
    let difference = (number - whole).abs();
    if number == whole {
        true
    } else if number == 0.0 || whole == 0.0 || difference < f64::MIN_POSITIVE {
        false
    } else {
        difference / (number.abs() + whole.abs()) < 1e-9
    }
}

/// The Go type and format of a schema's numbers; none if it allows several types.
fn native(schema: &ValueSchema) -> (&str, &str) {
    match schema.types.0.as_slice() {
        [only] if only == "integer" => {
            ("integer", if matches!(schema.format.as_str(), "int32" | "int64") { &schema.format } else { "" })
        }
        [only] if only == "number" => {
            ("number", if matches!(schema.format.as_str(), "float" | "double") { &schema.format } else { "" })
        }
        _ => ("", ""),
    }
}

/// Why a number does not fit its type.
fn misfit(number: &Value, (kind, format): (&str, &str), what: &str, place: &Place<'_>) -> Option<Issue> {
    let fits = match (kind, number) {
        ("integer", Value::Int(number)) => format != "int32" || i32::try_from(*number).is_ok(),
        ("integer", Value::Float(number)) => {
            let (low, high) = match format {
                "int32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
                _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_774_784.0),
            };
            number.fract() == 0.0 && (low..=high).contains(number)
        }
        (_, Value::Float(number)) => format != "float" || number.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    if fits {
        return None;
    }
    let of = if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
    Some(Issue::other(place, format!("{what} value must be of type {kind} {of} in {place}")))
}

pub(super) fn validate(schema: &ValueSchema, value: &Value, place: &Place<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let native = native(schema);
    let float = match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return outcome,
    };
    misfit(value, native, "Checked", place).into_iter().for_each(|issue| outcome.add(issue));
    // A bound that does not fit the type is reported, and compared as a float.
    let integer = |bound: f64, what: &str, outcome: &mut Outcome| {
        let unfit = misfit(&Value::Float(bound), native, what, place);
        let fits = unfit.is_none();
        unfit.into_iter().for_each(|issue| outcome.add(issue));
        match value {
            Value::Int(number) if fits => Some((*number, bound as i64)),
            _ => None,
        }
    };
    if let Some(factor) = schema.multiple_of {
        let integers = integer(factor, "MultipleOf", &mut outcome);
        let wrong = match integers {
            Some((_, factor)) if factor <= 0 => {
                outcome.add(Issue::factor_must_be_positive(place, factor as f64));
                None
            }
            Some((number, factor)) => (number % factor != 0).then(|| factor.to_string()),
            None if factor <= 0.0 => {
                outcome.add(Issue::factor_must_be_positive(place, factor));
                None
            }
            None => {
                let multiple = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
                (!is_whole(multiple)).then(|| float::print(factor))
            }
        };
        if let Some(factor) = wrong {
            let shown = if integers.is_some() { value.clone() } else { shown(value) };
            outcome.add(Issue::invalid(place, shown, format!("should be a multiple of {factor}")));
        }
    }
    if let Some(least) = schema.minimum {
        let exclusive = schema.exclusive_minimum;
        let words = if exclusive { "greater than" } else { "greater than or equal to" };
        let (is_below, bound) = match integer(least, "Minimum boundary", &mut outcome) {
            Some((number, least)) => (number < least || exclusive && number == least, least.to_string()),
            None => (float < least || exclusive && float == least, float::print(least)),
        };
        if is_below {
            outcome.add(Issue::invalid(place, shown(value), format!("should be {words} {bound}")));
        }
    }
    if let Some(most) = schema.maximum {
        let exclusive = schema.exclusive_maximum;
        let words = if exclusive { "less than" } else { "less than or equal to" };
        let (is_above, bound) = match integer(most, "Maximum boundary", &mut outcome) {
            Some((number, most)) => (number > most || exclusive && number == most, most.to_string()),
            None => (float > most || exclusive && float == most, float::print(most)),
        };
        if is_above {
            outcome.add(Issue::invalid(place, shown(value), format!("should be {words} {bound}")));
        }
    }
    outcome.matches += 1;
    outcome
}

fn shown(value: &Value) -> Value {
    value.clone()
}

/// Whether a value is one that an `enum` allows, converted to its type as Go converts.
pub(super) fn is_converted(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (_, Value::Null) => false,
        (Value::Int(number), Value::Float(allowed)) => *number as f64 == *allowed,
        (Value::Float(number), Value::Int(allowed)) => *number as i64 == *allowed,
        (Value::Int(number), Value::String(allowed)) => {
            let letter = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            allowed.chars().eq([letter])
        }
        (value, allowed) => value == allowed,
    }
}
