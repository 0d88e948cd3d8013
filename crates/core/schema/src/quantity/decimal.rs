//! `Decimal`: the exact numbers behind quantities.
//! Guarantees one representation per value, and sums of bounded cost.
//! Must never use binary floating point, except where a caller asks for it.

use std::cmp::Ordering;

use super::{MAX_SUM_DIGITS, to_i64};
use crate::value::Str;

/// An exact decimal number: digits times a power of ten. Each value has one representation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    pub(super) negative: bool,
    /// Without zeros at either end; empty is zero. Most need no allocation.
    digits: Str,
    pub(super) exponent: i64,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal { negative: false, digits: Str::new_static(""), exponent: 0 };

    /// `mantissa` times ten to the power of `exponent`.
    pub fn from_i128(mantissa: i128, exponent: i64) -> Decimal {
        Decimal::new(mantissa < 0, &mantissa.unsigned_abs().to_string(), exponent)
    }

    pub(super) fn new(negative: bool, digits: &str, exponent: i64) -> Decimal {
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Decimal::ZERO;
        }
        let dropped = to_i64(digits.len() - significant.len());
        Decimal { negative, digits: Str::new(significant), exponent: exponent.saturating_add(dropped) }
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// The negated number.
    #[must_use]
    pub fn negate(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..self.clone() }
    }

    /// The nearest multiple of ten to the power of `scale` that is not nearer to zero.
    #[must_use]
    pub fn round_away(&self, scale: i64) -> Decimal {
        if self.is_zero() || self.exponent >= scale {
            return self.clone();
        }
        // The last digit is not zero, so what is cut off is never zero: round up by one.
        let keep = to_i64(self.digits.len()).saturating_sub(scale.saturating_sub(self.exponent));
        let kept = usize::try_from(keep).ok().and_then(|keep| self.digits.get(..keep)).unwrap_or("");
        let kept = add_digits(kept.as_bytes(), b"1");
        Decimal::new(self.negative, &kept, scale)
    }

    /// The exact sum, except that of two numbers more than 4096 digits apart, which is the larger one.
    #[must_use]
    pub fn add(&self, other: &Decimal) -> Decimal {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.clone() } else { self.clone() };
        }
        let low = self.exponent.min(other.exponent);
        let high = self.magnitude().max(other.magnitude());
        if high.saturating_sub(low) > MAX_SUM_DIGITS {
            let self_is_larger = self.cmp_magnitude(other) != Ordering::Less;
            return if self_is_larger { self.clone() } else { other.clone() };
        }
        if let (Some(left), Some(right)) = (self.in_units(low), other.in_units(low))
            && let Some(sum) = left.checked_add(right)
        {
            return Decimal::from_i128(sum, low);
        }
        let (left, right) = (self.padded(low), other.padded(low));
        if self.negative == other.negative {
            return Decimal::new(self.negative, &add_digits(left.as_bytes(), right.as_bytes()), low);
        }
        match self.cmp_magnitude(other) {
            Ordering::Less => Decimal::new(other.negative, &sub_digits(right.as_bytes(), left.as_bytes()), low),
            _ => Decimal::new(self.negative, &sub_digits(left.as_bytes(), right.as_bytes()), low),
        }
    }

    /// The value in units of ten to the power of `scale`, if it is an integer and fits.
    pub fn in_units(&self, scale: i64) -> Option<i128> {
        let zeros = u32::try_from(self.exponent.checked_sub(scale)?);
        if self.is_zero() {
            return Some(0);
        }
        let units = self.digits.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(zeros.ok()?)?)?;
        Some(if self.negative { -units } else { units })
    }

    /// The nearest floating point number.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}0{}e{}", self.digits, self.exponent).parse().unwrap_or(0.0)
    }

    pub(super) fn scaled_i64(&self, scale: i64) -> i64 {
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        self.round_away(scale).in_units(scale).and_then(|units| i64::try_from(units).ok()).unwrap_or(limit)
    }

    /// The power of ten just above the number.
    fn magnitude(&self) -> i64 {
        self.exponent.saturating_add(to_i64(self.digits.len()))
    }

    fn cmp_magnitude(&self, other: &Decimal) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // With the highest digits aligned, and without trailing zeros, numbers sort like their texts.
            (false, false) => self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits)),
        }
    }

    pub(super) fn padded(&self, scale: i64) -> String {
        let zeros = usize::try_from(self.exponent.saturating_sub(scale)).unwrap_or(0);
        let mut digits = String::with_capacity(self.digits.len() + zeros);
        digits.push_str(&self.digits);
        digits.extend(std::iter::repeat_n('0', zeros));
        digits
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.signum(), other.signum()) {
            (1, 1) => self.cmp_magnitude(other),
            (-1, -1) => other.cmp_magnitude(self),
            (left, right) => left.cmp(&right),
        }
    }
}

fn digit_from_end(digits: &[u8], place: usize) -> u8 {
    digits.len().checked_sub(place + 1).and_then(|at| digits.get(at)).map_or(0, |digit| digit.wrapping_sub(b'0'))
}

fn add_digits(left: &[u8], right: &[u8]) -> String {
    let mut carry = 0;
    let mut reversed = String::with_capacity(left.len().max(right.len()) + 1);
    for place in 0..left.len().max(right.len()) {
        let sum = digit_from_end(left, place) + digit_from_end(right, place) + carry;
        reversed.push(char::from(b'0' + sum % 10));
        carry = sum / 10;
    }
    if carry > 0 {
        reversed.push('1');
    }
    reversed.chars().rev().collect()
}

/// `larger` must not be the smaller one.
fn sub_digits(larger: &[u8], smaller: &[u8]) -> String {
    let mut borrow = 0;
    let mut reversed = String::with_capacity(larger.len());
    for place in 0..larger.len() {
        let taken = digit_from_end(smaller, place) + borrow;
        let digit = digit_from_end(larger, place);
        borrow = u8::from(digit < taken);
        reversed.push(char::from(b'0' + (digit + 10 * borrow - taken)));
    }
    reversed.chars().rev().collect()
}
