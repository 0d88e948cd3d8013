//! Quantities: numbers with a unit suffix, such as `100m` or `1536Mi`.
//! Guarantees the canonical text of the API, and exact arithmetic at any size; a text never costs more than its
//! length.
//! Must never use binary floating point, nor panic on any text.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::value::Str;

mod decimal;

pub use decimal::Decimal;

/// The largest distance of two numbers in a sum, in digits; beyond it the smaller one is dropped. Prevents
/// `1e2000000000 + 1` from filling the memory.
const MAX_SUM_DIGITS: i64 = 4096;

/// The smallest unit: finer values are rounded to it, away from zero.
const NANO: i64 = -9;

/// The scale of thousandths, to which resource lists are rounded.
const MILLI: i64 = -3;

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number has no digits.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The suffix family of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `Ki`, `Mi`, ... powers of 1024.
    BinarySI,
    /// `m`, `k`, `M`, ... powers of 1000.
    DecimalSI,
    /// `e3`, `e6`, ... powers of 1000.
    DecimalExponent,
}

const BINARY_SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

const DECIMAL_SUFFIXES: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Up to the range of 64 bits, which is the range of plain arithmetic.
const POWERS_OF_TEN: [u64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// A quantity. Contains its text as stored and sent; equality and order are those of the value.
#[derive(Clone, Debug)]
pub struct Quantity(Str);

impl Quantity {
    /// Parses a text and converts it to canonical form. A canonical text is kept byte for byte.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = split(text)?;
        let suffix = Suffix::parse(parts.suffix).ok_or(QuantityError::Suffix)?;
        if parts.is_canonical(suffix) {
            return Ok(Quantity(Str::new(text)));
        }
        let (decimal, format) = parts.evaluate(suffix)?;
        Ok(Quantity(canonical_text(&decimal, format)))
    }

    /// A text in a value, which is canonical: it is checked and kept.
    pub fn keep(text: &Str) -> Result<Quantity, QuantityError> {
        let (whole, suffix) = split_digits(text);
        if !whole.is_empty() && Suffix::parse(suffix).is_some() {
            return Ok(Quantity(text.clone()));
        }
        Quantity::parse(text)
    }

    /// A quantity of an integer.
    pub fn from_i64(value: i64) -> Quantity {
        Quantity::from_decimal(&Decimal::from_i128(i128::from(value), 0), Format::DecimalSI)
    }

    /// The canonical quantity of a value, rounded to nano, with the largest suffix of the format that loses nothing.
    pub fn from_decimal(decimal: &Decimal, format: Format) -> Quantity {
        // There is no suffix beyond 999E, so larger values need the exponent.
        let format = if decimal.exponent > 20 { Format::DecimalExponent } else { format };
        Quantity(canonical_text(&decimal.round_away(NANO), format))
    }

    /// The encoded text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The encoded text, as a shared string.
    pub fn into_str(self) -> Str {
        self.0
    }

    /// The exact value.
    pub fn decimal(&self) -> Decimal {
        self.evaluate().0
    }

    /// The family of the suffix.
    pub fn format(&self) -> Format {
        self.evaluate().1
    }

    /// Whether the value is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos().map_or_else(|| self.decimal().is_zero(), |nanos| nanos == 0)
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        self.nanos().map_or_else(|| self.decimal().signum(), |nanos| nanos.signum() as i32)
    }

    /// The value in units of 10⁻⁹ if plain arithmetic suffices: numbers without a fraction that are not very large.
    /// Comparing them allocates nothing.
    fn nanos(&self) -> Option<i128> {
        let text = self.0.as_str();
        let unsigned = text.strip_prefix('-');
        let (whole, suffix) = split_digits(unsigned.unwrap_or(text));
        let whole = whole.parse::<u64>().ok()?;
        let nanos = match Suffix::parse(suffix)? {
            // Larger numbers with binary suffixes are truncated by exact arithmetic.
            Suffix::Binary(power) => i64::try_from(u128::from(whole) << power).ok().map(i128::from)? * 1_000_000_000,
            Suffix::Decimal(power) | Suffix::Exponent(power) => {
                let power = usize::try_from(power.checked_sub(NANO)?).ok()?;
                i128::from(whole) * i128::from(*POWERS_OF_TEN.get(power)?)
            }
        };
        Some(if unsigned.is_some() { -nanos } else { nanos })
    }

    /// The value as an integer, rounded away from zero, clamped to i64.
    pub fn value(&self) -> i64 {
        self.decimal().scaled_i64(0)
    }

    /// The value in thousandths, rounded away from zero, clamped to i64.
    pub fn milli_value(&self) -> i64 {
        self.decimal().scaled_i64(MILLI)
    }

    /// The value if it is an integer within i64.
    pub fn to_i64(&self) -> Option<i64> {
        let units = self.decimal().in_units(0)?;
        i64::try_from(units).ok()
    }

    /// The nearest floating point number.
    pub fn to_f64(&self) -> f64 {
        self.decimal().to_f64()
    }

    /// The quantity with at most three decimal places, rounded away from zero; the default of every entry of a
    /// resource list.
    pub fn round_up_to_milli(&self) -> Quantity {
        let (decimal, format) = self.evaluate();
        if decimal.exponent >= MILLI {
            return self.clone();
        }
        Quantity::from_decimal(&decimal.round_away(MILLI), format)
    }

    /// The sum. Zero takes the format of the other.
    #[must_use]
    pub fn add(&self, other: &Quantity) -> Quantity {
        self.combine(other, Decimal::add)
    }

    /// The difference. Zero takes the format of the other.
    #[must_use]
    pub fn sub(&self, other: &Quantity) -> Quantity {
        self.combine(other, |a, b| a.add(&b.negate()))
    }

    /// The negated value.
    #[must_use]
    pub fn negate(&self) -> Quantity {
        let (decimal, format) = self.evaluate();
        Quantity::from_decimal(&decimal.negate(), format)
    }

    fn combine(&self, other: &Quantity, operation: impl Fn(&Decimal, &Decimal) -> Decimal) -> Quantity {
        let (left, left_format) = self.evaluate();
        let (right, right_format) = other.evaluate();
        let format = if left.is_zero() { right_format } else { left_format };
        Quantity::from_decimal(&operation(&left, &right), format)
    }

    fn evaluate(&self) -> (Decimal, Format) {
        // The text comes from `parse` or `canonical_text`, so it is always valid.
        split(&self.0)
            .ok()
            .and_then(|parts| parts.evaluate(Suffix::parse(parts.suffix)?).ok())
            .unwrap_or((Decimal::ZERO, Format::DecimalSI))
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Quantity(Str::new_static("0"))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Quantity::parse(text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.decimal().hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.nanos(), other.nanos()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => self.decimal().cmp(&other.decimal()),
        }
    }
}

fn to_i64(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[derive(Clone, Copy)]
enum Suffix {
    Binary(u32),
    Decimal(i64),
    Exponent(i64),
}

impl Suffix {
    fn parse(text: &str) -> Option<Suffix> {
        if let Some((_, power)) = DECIMAL_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Suffix::Decimal(*power));
        }
        if let Some((_, power)) = BINARY_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Suffix::Binary(*power));
        }
        let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
        // kube-apiserver keeps the low 32 bits; so do we, or a stored text would change its value.
        Some(Suffix::Exponent(i64::from(exponent as i32)))
    }
}

/// The parts of a text. `whole` has no leading zeros but is never empty.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    has_digits: bool,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let significant = unsigned.trim_start_matches('0');
    let (whole, rest) = split_digits(significant);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    let has_digits = unsigned.starts_with('0') || !whole.is_empty() || !fraction.is_empty();
    if significant.is_empty() {
        // Only zeros, or a lone sign, which kube-apiserver also accepts as zero.
        return Ok(Parts { negative, whole: "0", fraction: "", suffix: "", has_digits: true });
    }
    let tail = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if !tail.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    Ok(Parts { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix, has_digits })
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

impl Parts<'_> {
    /// Whether kube-apiserver uses the short form of the number. Only then texts are kept, and digits may be missing.
    fn is_short(&self, suffix: Suffix) -> bool {
        let whole = to_i64(self.whole.len());
        let fraction = to_i64(self.fraction.len());
        match suffix {
            Suffix::Binary(power) => self.fraction.is_empty() && whole + i64::from(power) * 3 / 10 < 15,
            Suffix::Decimal(power) | Suffix::Exponent(power) => whole + fraction <= 18 && power - fraction >= NANO,
        }
    }

    /// Whether the text is kept.
    fn is_canonical(&self, suffix: Suffix) -> bool {
        if !self.is_short(suffix) {
            return false;
        }
        match suffix {
            Suffix::Binary(_) => self.whole.parse::<i64>().is_ok_and(|whole| whole % 8 != 0),
            Suffix::Decimal(power) | Suffix::Exponent(power) => {
                let digits = self.whole.bytes().chain(self.fraction.bytes());
                let ends_in_thousands = digits.clone().count() >= 3 && digits.rev().take(3).all(|digit| digit == b'0');
                (power - to_i64(self.fraction.len())) % 3 == 0 && !ends_in_thousands && self.whole != "0"
            }
        }
    }

    fn evaluate(&self, suffix: Suffix) -> Result<(Decimal, Format), QuantityError> {
        if !self.has_digits && !self.is_short(suffix) {
            return Err(QuantityError::Numeric);
        }
        let (exponent, format) = match suffix {
            Suffix::Binary(power) => return Ok(self.evaluate_binary(power)),
            Suffix::Decimal(power) => (power, Format::DecimalSI),
            Suffix::Exponent(power) => (power, Format::DecimalExponent),
        };
        let exponent = exponent.saturating_sub(to_i64(self.fraction.len()));
        let decimal = if self.fraction.is_empty() {
            Decimal::new(self.negative, self.whole, exponent)
        } else {
            Decimal::new(self.negative, &[self.whole, self.fraction].concat(), exponent)
        };
        Ok((decimal.round_away(NANO), format))
    }

    fn evaluate_binary(&self, power: u32) -> (Decimal, Format) {
        const CAP: u128 = i64::MAX as u128;
        const NANOS: u128 = 1_000_000_000;
        let factor = 1_u128 << power;
        // The fraction is multiplied digit by digit from the right; the final carry is the integer part.
        let mut carry = 0;
        let mut rest = vec![0_u8; self.fraction.len()];
        for (digit, place) in self.fraction.bytes().rev().zip(rest.iter_mut().rev()) {
            carry += u128::from(digit.wrapping_sub(b'0')) * factor;
            *place = u8::try_from(carry % 10).unwrap_or(0);
            carry /= 10;
        }
        let nanos = (0..9).fold(0, |nanos, place| nanos * 10 + u128::from(rest.get(place).copied().unwrap_or(0)));
        let finer = rest.iter().skip(9).any(|digit| *digit != 0);
        // Texts that are too long to parse are far above the limit.
        let whole = self.whole.parse::<u64>().map_or(CAP, |whole| u128::from(whole) * factor + carry);
        let total = if whole >= CAP { CAP * NANOS } else { whole * NANOS + nanos + u128::from(finer) };
        let format = if total > 0 && total < NANOS { Format::DecimalSI } else { Format::BinarySI };
        (Decimal::new(self.negative, &total.to_string(), NANO), format)
    }
}

fn canonical_text(decimal: &Decimal, format: Format) -> Str {
    if decimal.is_zero() {
        return Str::new_static("0");
    }
    if format == Format::BinarySI
        && let Some(text) = binary_text(decimal)
    {
        return text;
    }
    let exponent = decimal.exponent.saturating_sub(decimal.exponent.rem_euclid(3));
    let digits = decimal.padded(exponent);
    let sign = if decimal.negative { "-" } else { "" };
    if format == Format::DecimalExponent && exponent != 0 {
        return smol_str::format_smolstr!("{sign}{digits}e{exponent}");
    }
    // Beyond exa kube-apiserver has no suffix and prints none, so that `1000E` is read as 1.
    let suffix = DECIMAL_SUFFIXES.iter().find(|(_, power)| *power == exponent).map_or("", |(suffix, _)| suffix);
    smol_str::format_smolstr!("{sign}{digits}{suffix}")
}

/// None for values that are printed with decimal suffixes instead: fractions and numbers below 1024.
fn binary_text(decimal: &Decimal) -> Option<Str> {
    let mut units = decimal.in_units(0)?;
    if units.unsigned_abs() < 1024 {
        return None;
    }
    let mut suffix = "";
    for (larger, _) in BINARY_SUFFIXES {
        if units % 1024 != 0 {
            break;
        }
        units /= 1024;
        suffix = larger;
    }
    Some(smol_str::format_smolstr!("{units}{suffix}"))
}

#[cfg(test)]
mod tests;
