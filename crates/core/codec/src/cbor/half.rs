//! 16-bit floats, which CBOR has and Rust does not.
//! Guarantees exact conversions: a float is narrowed only without loss.

const FRACTION_BITS: u32 = 10;
const BIAS: i32 = 15;
/// Below this exponent a half is subnormal.
const SMALLEST_EXPONENT: i32 = 1 - BIAS;

pub(super) fn to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    let size = match i32::from(bits >> FRACTION_BITS & 0x1f) {
        0 => fraction * exp2(SMALLEST_EXPONENT - FRACTION_BITS as i32),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * exp2(exponent - BIAS - FRACTION_BITS as i32),
    };
    sign * size
}

/// The equal half, if there is one.
pub(super) fn from_f64(float: f64) -> Option<u16> {
    let sign = if float.is_sign_negative() { 0x8000 } else { 0 };
    let size = float.abs();
    if size == 0.0 {
        return Some(sign);
    }
    // The exponent of the leading one, or the smallest one, below which the fraction loses digits.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(SMALLEST_EXPONENT);
    if exponent > BIAS {
        return None;
    }
    let scaled = size * exp2(FRACTION_BITS as i32 - exponent);
    if scaled.fract() != 0.0 {
        return None;
    }
    // At most eleven bits remain; the leading one adds to the exponent.
    let scaled = scaled as u16;
    let biased = (exponent + BIAS - 1) as u16;
    Some(sign | ((biased << FRACTION_BITS) + scaled))
}

fn exp2(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let float = to_f64(bits);
            if float.is_finite() {
                assert_eq!(from_f64(float), Some(bits), "{bits:#06x} is {float}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_alone() {
        for float in [65_520.0, 1.0 + f64::EPSILON, 0.1, 1e-9, 2f64.powi(-25), f64::MAX, f64::MIN_POSITIVE, 2049.0] {
            assert_eq!(from_f64(float), None, "{float}");
        }
    }
}
