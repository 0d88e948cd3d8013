//! Rows of quantities: parsing, canonical text, order, rounding and sums.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(Quantity::parse(text).map(|q| q.to_string()), Ok(expected.to_string()), "{text}");
}

#[test]
fn canonical_form() {
    let rows = [
        ("0", "0"),
        ("-0", "0"),
        ("00", "0"),
        ("0Ki", "0"),
        ("0.0", "0"),
        (".", "0"),
        ("+", "0"),
        ("0n", "0"),
        ("m", "0"),
        ("1", "1"),
        ("007", "007"),
        ("+5", "+5"),
        ("-5", "-5"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("0.5", "500m"),
        ("-0.5", "-500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("0.500", "500m"),
        ("100n", "100n"),
        ("1000u", "1m"),
        ("1080000000n", "1080m"),
        ("0.001", "1m"),
        (".001", "1m"),
        ("1.", "1."),
        ("1.G", "1.G"),
        ("100.035k", "100.035k"),
        ("10.035M", "10.035M"),
        ("8.1k", "8100"),
        ("1500M", "1500M"),
        ("1000M", "1G"),
        ("0.001T", "1G"),
        ("1E", "1E"),
        ("12E", "12E"),
        ("2.5P", "2500T"),
        ("1234567M", "1234567M"),
        ("3.001n", "4n"),
        ("0.9n", "1n"),
        ("-0.9n", "-1n"),
        ("0.0000000001", "1n"),
        ("0.00000012345", "124n"),
        ("1.1E-9", "2e-9"),
        ("0.5e-9", "1e-9"),
        ("1000e-12", "1e-9"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1e4", "10e3"),
        ("1e14", "100e12"),
        ("1.3E+6", "1300e3"),
        ("0.5e0", "500e-3"),
        ("5e-1", "500e-3"),
        ("1.7E18", "1700e15"),
        (".001e12", "1e9"),
        ("1e21", "1e21"),
        ("1e0", "1e0"),
        ("1000e0", "1e3"),
        ("1e2000000000", "100e1999999998"),
        ("1e-2000000000", "1e-9"),
        ("1Ki", "1Ki"),
        ("8Ki", "8Ki"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Mi", "512Ki"),
        ("0.5Ki", "512"),
        ("1024Ki", "1Mi"),
        ("307200Ki", "300Mi"),
        ("1025024Mi", "1001Gi"),
        ("100.035Ki", "102435840m"),
        ("0.05Gi", "53687091200m"),
        ("0.001Ki", "1024m"),
        ("0.000000000001Ki", "2n"),
        ("9Ei", "9223372036854775807"),
        ("8Ei", "9223372036854775807"),
        ("7Ei", "7Ei"),
        ("-9Ei", "-9223372036854775807"),
        ("9223372036854775807Ki", "9223372036854775807"),
        ("99999999999999999999999Ki", "9223372036854775807"),
        ("1000Ki", "1000Ki"),
        ("+7Ti", "+7Ti"),
        ("+7Pi", "7Pi"),
        ("1024", "1024"),
        ("2048000", "2048k"),
        ("0.1Ei", "115292150460684697600m"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1234567890123456789012345678000", "1234567890123456789012345678k"),
        ("1.00000000000000000000000000001", "1000000001n"),
        ("0.99999999999999999999999999999", "1"),
        ("1000E", "1"),
    ];
    for (text, expected) in rows {
        check(text, expected);
        let again = Quantity::parse(expected).map(|q| q.to_string());
        assert_eq!(again, Ok(expected.to_string()), "canonical text of {text} must stay");
    }
}

#[test]
fn refusals() {
    use QuantityError::{Format, Numeric, Suffix};
    let rows = [
        ("", Format),
        ("aoeu", Format),
        (" 1", Format),
        ("1 ", Format),
        ("1.1.M", Format),
        ("1+1.0M", Format),
        ("0.1am", Format),
        ("é", Format),
        ("1é", Format),
        ("1mm1x", Format),
        ("0.1mi", Suffix),
        (".5i", Suffix),
        ("1i", Suffix),
        ("-3.01e-", Suffix),
        ("1ki", Suffix),
        ("1KiB", Format),
        ("1e99999999999999999999", Suffix),
        ("1-", Suffix),
        ("1m5", Suffix),
        ("Ei", Numeric),
        (".e-20", Numeric),
    ];
    for (text, expected) in rows {
        assert_eq!(Quantity::parse(text).map(|q| q.to_string()), Err(expected), "{text}");
    }
    assert_eq!(
        QuantityError::Format.to_string(),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn order_is_that_of_values() {
    let ascending = [
        "-1e30",
        "-1Ei",
        "-1",
        "-1n",
        "0",
        "1n",
        "999999n",
        "1m",
        "0.5",
        "1",
        "1Ki",
        "100Gi",
        "10000T",
        "1E",
        "1Ei",
        "1e2000000000",
    ];
    for (left_at, left) in ascending.iter().enumerate() {
        for (right_at, right) in ascending.iter().enumerate() {
            assert_eq!(quantity(left).cmp(&quantity(right)), left_at.cmp(&right_at), "{left} {right}");
        }
    }
    assert_eq!(quantity("1.500"), quantity("1500m"));
    assert_eq!(quantity("1024"), quantity("1Ki"));
}

#[test]
fn rounding_to_milli() {
    let rows = [
        ("9.01", "9010m"),
        ("1.500", "1.500"),
        ("1500u", "2m"),
        ("-1500u", "-2m"),
        ("1n", "1m"),
        ("1.100100", "1101m"),
        ("5e-6", "1e-3"),
        ("1Gi", "1Gi"),
        ("999999999n", "1"),
    ];
    for (text, expected) in rows {
        assert_eq!(quantity(text).round_up_to_milli().as_str(), expected, "{text}");
    }
}

#[test]
fn whole_values() {
    let rows = [
        ("1", 1, 1000, Some(1)),
        ("1001m", 2, 1001, None),
        ("-1001m", -2, -1001, None),
        ("1Ki", 1024, 1_024_000, Some(1024)),
        ("1n", 1, 1, None),
        ("10E", i64::MAX, i64::MAX, None),
        ("-10E", i64::MIN, i64::MIN, None),
        ("1e2000000000", i64::MAX, i64::MAX, None),
        ("0", 0, 0, Some(0)),
    ];
    for (text, value, milli, exact) in rows {
        let q = quantity(text);
        assert_eq!((q.value(), q.milli_value(), q.to_i64()), (value, milli, exact), "{text}");
    }
    assert_eq!(Quantity::from_i64(i64::MIN).as_str(), "-9223372036854775808");
    assert_eq!(Quantity::from_decimal(&Decimal::from_i128(1, i64::MIN), Format::DecimalSI).as_str(), "1n");
    assert_eq!(
        Quantity::from_decimal(&Decimal::from_i128(1, i64::MAX), Format::DecimalSI).as_str(),
        "10e9223372036854775806"
    );
    assert_eq!(quantity("-1500m").to_f64(), -1.5);
}

#[test]
fn sums() {
    let rows = [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "1Gi", "2Gi", "0"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Ki", "1", "1025", "1023"),
        ("1n", "1E", "1000000000000000000000000001n", "-999999999999999999999999999n"),
        ("1e40", "1", "10000000000000000000000000000000000000001", "9999999999999999999999999999999999999999"),
        ("1e2000000000", "1", "100e1999999998", "100e1999999998"),
    ];
    for (left, right, sum, difference) in rows {
        let (left, right) = (quantity(left), quantity(right));
        assert_eq!((left.add(&right).as_str(), left.sub(&right).as_str()), (sum, difference), "{left} {right}");
        assert_eq!(left.sub(&right), right.sub(&left).negate(), "{left} {right}");
    }
}

#[test]
fn plain_arithmetic_agrees_with_the_exact_one() {
    let texts = [
        "0",
        "-0",
        "1",
        "-1",
        "7",
        "100n",
        "1u",
        "250m",
        "1000m",
        "1k",
        "5M",
        "3G",
        "2T",
        "9E",
        "1e3",
        "1E3",
        "1e-9",
        "1e-12",
        "1Ki",
        "1024",
        "128Mi",
        "1Gi",
        "8Ei",
        "9223372036854775807",
        "18446744073709551615",
        "99999999999999999999",
        "1.5",
        "0.5Ki",
        "1e2000000000",
    ];
    let all: Vec<Quantity> = texts.iter().map(|text| Quantity::keep(&Str::new(text)).unwrap()).collect();
    let mut plain = 0;
    for one in &all {
        assert_eq!((one.signum(), one.is_zero()), (one.decimal().signum(), one.decimal().is_zero()), "{one}");
        plain += usize::from(one.nanos().is_some());
        for other in &all {
            assert_eq!(one.cmp(other), one.decimal().cmp(&other.decimal()), "{one} {other}");
        }
    }
    assert!(plain > 15 && plain < all.len(), "{plain}");
}
