//! Quantities as expressions see them: parsed, compared, added, and converted to numbers.
//!
//! A quantity keeps how it is represented, because only short ones are integers to kube-apiserver. Must never go
//! through binary floating point, but where an expression asks for it.

use super::args::{Result as CallResult, failed, no_overload, one, reads_argument, track_one, track_read};
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};
use pintle_schema::quantity::{self as scalar, Decimal, QuantityError};
use std::cmp::Ordering;

/// The name of the type.
const TYPE: &str = "kubernetes.Quantity";

/// The most digits that a short quantity is parsed from.
const SHORT_DIGITS: usize = 18;

/// A number with a unit.
#[derive(Clone, Debug)]
pub struct Quantity(Amount);

#[derive(Clone, Debug)]
enum Amount {
    /// `value` times ten to the power of `scale`.
    Short { value: i64, scale: i32 },
    /// Too long or too fine for the short form; `places` are the decimal places it is written with.
    Exact { decimal: Decimal, places: i32 },
}

impl Quantity {
    /// Parses a text as the API does.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        let parsed = scalar::Quantity::parse(text)?;
        if let Some((value, scale)) = short_form(text) {
            return Ok(Quantity(Amount::Short { value, scale }));
        }
        let decimal = parsed.decimal();
        // What is capped at the largest integer has no decimal places, all else is rounded to nine.
        let is_cap = parsed.format() == scalar::Format::BinarySI && decimal.in_units(0) == Some(i128::from(i64::MAX));
        Ok(Quantity(Amount::Exact { decimal, places: if is_cap { 0 } else { 9 } }))
    }

    /// A whole number.
    pub fn from_i64(value: i64) -> Quantity {
        Quantity(Amount::Short { value, scale: 0 })
    }

    /// Its value, if it is an integer in short form.
    pub fn as_integer(&self) -> Option<i64> {
        match self.0 {
            Amount::Short { value: 0, scale: 0.. } => Some(0),
            Amount::Short { value, scale } => {
                let factor = 10_i64.checked_pow(u32::try_from(scale).ok()?)?;
                value.checked_mul(factor)
            }
            Amount::Exact { .. } => None,
        }
    }

    /// The product of its digits and a power of ten, each of them rounded to a floating point number.
    pub fn as_approximate_float(&self) -> f64 {
        match &self.0 {
            Amount::Short { value, scale: 0 } => *value as f64,
            Amount::Short { value, scale } => *value as f64 * power_of_ten(*scale),
            Amount::Exact { decimal, places } => match decimal.in_units(-i64::from(*places)) {
                Some(digits) if *places == 0 => digits as f64,
                Some(digits) => digits as f64 * power_of_ten(-places),
                None => decimal.to_f64(),
            },
        }
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i64 {
        match &self.0 {
            Amount::Short { value, .. } => value.signum(),
            Amount::Exact { decimal, .. } => i64::from(decimal.signum()),
        }
    }

    /// The sum.
    pub fn add(&self, other: &Quantity) -> Quantity {
        if let (Amount::Short { value, scale }, Amount::Short { value: more, scale: at }) = (&self.0, &other.0)
            && let Some((value, scale)) = add_short((*value, *scale), (*more, *at))
        {
            return Quantity(Amount::Short { value, scale });
        }
        self.combine(&other.decimal(), other.places())
    }

    /// The difference.
    pub fn sub(&self, other: &Quantity) -> Quantity {
        if let (Amount::Short { value, scale }, Amount::Short { value: less, scale: at }) = (&self.0, &other.0)
            // The lowest integer has no opposite; kube-apiserver takes it for its own.
            && let Some((value, scale)) = add_short((*value, *scale), (less.wrapping_neg(), *at))
        {
            return Quantity(Amount::Short { value, scale });
        }
        self.combine(&other.decimal().negate(), other.places())
    }

    fn combine(&self, decimal: &Decimal, places: i32) -> Quantity {
        Quantity(Amount::Exact { decimal: self.decimal().add(decimal), places: self.places().max(places) })
    }

    fn decimal(&self) -> Decimal {
        match &self.0 {
            Amount::Short { value, scale } => Decimal::from_i128(i128::from(*value), i64::from(*scale)),
            Amount::Exact { decimal, .. } => decimal.clone(),
        }
    }

    fn places(&self) -> i32 {
        match &self.0 {
            Amount::Short { scale, .. } => -scale,
            Amount::Exact { places, .. } => *places,
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Amount::Short { value, scale }, Amount::Short { value: with, scale: at }) if scale == at => {
                value.cmp(with)
            }
            _ => self.decimal().cmp(&other.decimal()),
        }
    }
}

/// The short form of a text that is a quantity, if it has one.
fn short_form(text: &str) -> Option<(i64, i32)> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
    let (whole, rest) = digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
    let whole = if whole.is_empty() { "0" } else { whole };
    let (mantissa, scale) = match unit(suffix)? {
        Unit::Binary(power) => {
            let used = whole.len() + usize::try_from(power).ok()? * 3 / 10;
            (fraction.is_empty() && used < SHORT_DIGITS - 3).then_some((1_i64.checked_shl(power)?, 0))?
        }
        Unit::Decimal(power) => {
            let scale = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
            (whole.len() + fraction.len() <= SHORT_DIGITS && scale >= -9).then_some((1, scale))?
        }
    };
    let value = [whole, fraction].concat().parse::<i64>().ok()?.checked_mul(mantissa)?;
    Some((if negative { -value } else { value }, scale))
}

enum Unit {
    Binary(u32),
    Decimal(i32),
}

fn unit(suffix: &str) -> Option<Unit> {
    Some(match suffix {
        "n" => Unit::Decimal(-9),
        "u" => Unit::Decimal(-6),
        "m" => Unit::Decimal(-3),
        "" => Unit::Decimal(0),
        "k" => Unit::Decimal(3),
        "M" => Unit::Decimal(6),
        "G" => Unit::Decimal(9),
        "T" => Unit::Decimal(12),
        "P" => Unit::Decimal(15),
        "E" => Unit::Decimal(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        // kube-apiserver keeps the low 32 bits of the exponent.
        _ => Unit::Decimal(suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
    })
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The sum at the finer scale, if 64 bits hold it.
fn add_short(left: (i64, i32), right: (i64, i32)) -> Option<(i64, i32)> {
    if right.0 == 0 || left.0 == 0 {
        return Some(if right.0 == 0 { left } else { right });
    }
    let scale = left.1.min(right.1);
    let raise = |(value, at): (i64, i32)| {
        let zeros = u32::try_from(i64::from(at) - i64::from(scale)).ok()?;
        value.checked_mul(10_i64.checked_pow(zeros)?)
    };
    Some((raise(left)?.checked_add(raise(right)?)?, scale))
}

/// Powers of ten as kube-apiserver computes them: a quotient of two exact ones where they are small.
fn power_of_ten(exponent: i32) -> f64 {
    match exponent {
        0..=308 => format!("1e{exponent}").parse().unwrap_or(f64::INFINITY),
        309.. => f64::INFINITY,
        -323..0 => {
            let positive = exponent.unsigned_abs();
            let power = |exponent: u32| format!("1e{exponent}").parse::<f64>().unwrap_or(f64::INFINITY);
            let coarse: f64 = format!("1e-{}", positive / 32 * 32).parse().unwrap_or(0.0);
            coarse / power(positive % 32)
        }
        _ => 0.0,
    }
}

impl Opaque for Quantity {
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
    let quantity = || Type::object(TYPE);
    let text = |name, id, result, call| {
        let overload = Overload::global(id, vec![Type::String], result, call);
        Function::new(name, vec![overload]).costing(reads_argument, track_read)
    };
    let one_argument = |name, id, result, call| {
        Function::new(name, vec![Overload::member(id, vec![quantity()], result, call)]).costing(one, track_one)
    };
    let two_arguments = |name, id, result, call| {
        let overload = Overload::member(id, vec![quantity(), quantity()], result, call);
        Function::new(name, vec![overload]).costing(one, track_one)
    };
    let arithmetic = |name, id, id_of_int, call: Call| {
        let overloads = vec![
            Overload::member(id, vec![quantity(), quantity()], quantity(), call),
            Overload::member(id_of_int, vec![quantity(), Type::Int], quantity(), call),
        ];
        Function::new(name, overloads).costing(one, track_one)
    };
    vec![
        text("quantity", "string_to_quantity", quantity(), parse),
        text("isQuantity", "is_quantity_string", Type::Bool, is_quantity),
        Function::new("sign", vec![Overload::global("quantity_sign", vec![quantity()], Type::Int, sign)])
            .costing(one, track_one),
        one_argument("asApproximateFloat", "quantity_get_float", Type::Double, as_approximate_float),
        one_argument("asInteger", "quantity_get_int", Type::Int, as_integer),
        one_argument("isInteger", "quantity_is_integer", Type::Bool, is_integer),
        two_arguments("isGreaterThan", "quantity_is_greater_than", Type::Bool, is_greater_than),
        two_arguments("isLessThan", "quantity_is_less_than", Type::Bool, is_less_than),
        two_arguments("compareTo", "quantity_compare_to", Type::Int, compare_to),
        arithmetic("add", "quantity_add", "quantity_add_int", add),
        arithmetic("sub", "quantity_sub", "quantity_sub_int", sub),
    ]
}

fn parse<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Quantity::parse(text).map(Value::opaque).map_err(|error| failed(error.to_string()))
}

fn is_quantity<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::Bool(Quantity::parse(text).is_ok()))
}

fn of_one<'a>(args: &[Value<'a>], call: impl Fn(&Quantity) -> CallResult<'a>) -> CallResult<'a> {
    match args {
        [value] => value.as_opaque().map_or_else(no_overload, call),
        _ => no_overload(),
    }
}

fn of_two<'a>(args: &[Value<'a>], call: impl Fn(&Quantity, &Quantity) -> Value<'a>) -> CallResult<'a> {
    match args {
        [one, Value::Int(other)] => {
            one.as_opaque().map_or_else(no_overload, |one| Ok(call(one, &Quantity::from_i64(*other))))
        }
        [one, other] => {
            one.as_opaque().zip(other.as_opaque()).map_or_else(no_overload, |(one, other)| Ok(call(one, other)))
        }
        _ => no_overload(),
    }
}

fn sign<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_one(args, |quantity| Ok(Value::Int(quantity.sign())))
}

fn as_approximate_float<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_one(args, |quantity| Ok(Value::Double(quantity.as_approximate_float())))
}

fn as_integer<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_one(args, |quantity| {
        let integer = quantity.as_integer().ok_or_else(|| failed("cannot convert value to integer".to_owned()))?;
        Ok(Value::Int(integer))
    })
}

fn is_integer<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_one(args, |quantity| Ok(Value::Bool(quantity.as_integer().is_some())))
}

fn is_greater_than<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |one, other| Value::Bool(one > other))
}

fn is_less_than<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |one, other| Value::Bool(one < other))
}

fn compare_to<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |one, other| Value::Int(one.cmp(other) as i64))
}

fn add<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |one, other| Value::opaque(one.add(other)))
}

fn sub<'a>(args: &[Value<'a>]) -> CallResult<'a> {
    of_two(args, |one, other| Value::opaque(one.sub(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn integers_are_short_forms_without_fraction() {
        for (text, integer) in [
            ("50k", Some(50_000)),
            ("1000m", None),
            ("0", Some(0)),
            ("9223372036854775807", None),
            ("-1", Some(-1)),
            ("1Gi", Some(1 << 30)),
            ("1.5Gi", None),
            ("1E", Some(1_000_000_000_000_000_000)),
            ("1000E", None),
            ("1e3", Some(1000)),
        ] {
            assert_eq!(quantity(text).as_integer(), integer, "{text}");
        }
    }

    #[test]
    fn floats_are_products_of_digits_and_power() {
        for (text, float) in [
            ("100m", 0.1),
            ("1.5Gi", 1_610_612_736.0),
            ("1e-3", 0.001),
            ("1000E", 1e21),
            ("1n", 1e-9),
            ("9223372036854775807", 9.223372036854776e18),
            ("1Ei", 1_152_921_504_606_846_976.0),
        ] {
            assert_eq!(quantity(text).as_approximate_float(), float, "{text}");
        }
        assert_eq!(quantity("0.3").as_approximate_float(), 3.0 * 0.1);
    }

    #[test]
    fn sums_keep_the_finer_scale() {
        assert_eq!(quantity("1").add(&quantity("0.5")).as_approximate_float(), 1.5);
        assert_eq!(quantity("1.5").sub(&quantity("1Gi")).as_approximate_float(), -1_073_741_822.5);
        assert_eq!(quantity("50k").add(&Quantity::from_i64(20)), quantity("50020"));
        assert_eq!(quantity("50k").sub(&Quantity::from_i64(20_000)).as_integer(), Some(30_000));
        assert_eq!(quantity("0.5").sub(&quantity("0.5")).sign(), 0);
    }

    #[test]
    fn quantities_are_ordered_by_value() {
        assert_eq!(quantity("200M").cmp(&quantity("0.2G")), Ordering::Equal);
        assert_eq!(quantity("50M").cmp(&quantity("50Mi")), Ordering::Less);
        assert_eq!(quantity("1"), quantity("1000m"));
        assert!(quantity("9999999999999999999999999999G") > quantity("1"));
    }

    #[test]
    fn texts_that_are_none_say_why() {
        assert_eq!(Quantity::parse("1kb").unwrap_err(), QuantityError::Format);
        assert_eq!(Quantity::parse("1KI").unwrap_err(), QuantityError::Format);
        assert_eq!(Quantity::parse("").unwrap_err(), QuantityError::Format);
    }
}
