//! Documents in YAML, whole and in parts, the order of keys and the text of numbers.
//! Guarantees kube-apiserver's natural order of keys.

use super::block;
use super::ordered::{self, Node};
use pintle_schema::compat;
use pintle_schema::{Map, Value};
use std::cmp::Ordering;
use std::fmt::{Display, LowerExp};

pub(super) fn document(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    match Node::of(value) {
        Node::Map(entries) if !entries.is_empty() => block::entries(&entries, 0, false, &mut out),
        Node::List(items) if !items.is_empty() => block::items(&items, 0, false, &mut out),
        scalar => block::put_scalar(&scalar, 0, 0, &mut out),
    }
    out
}

/// Appends an item of a list at a key of the document, whose items are not indented.
pub(super) fn item(item: Node<'_>, out: &mut Vec<u8>) {
    block::items(&[item], 0, false, out);
}

/// The parts of a document before and after the items of the list at a key.
pub(super) fn around(object: &Map, key: &str) -> [Vec<u8>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    let mut part = 0;
    for entry in ordered::of_map(object) {
        if entry.0 != key {
            block::entries(&[entry], 0, false, &mut parts[part]);
            continue;
        }
        block::entries(&[(entry.0, Node::NULL)], 0, false, &mut parts[0]);
        let end = parts[0].len().saturating_sub(" null\n".len());
        parts[0].truncate(end);
        parts[0].push(b'\n');
        part = 1;
    }
    parts
}

/// A number that passed through JSON: integral ones have become integers.
pub(super) fn number_text(float: f64) -> String {
    if float.is_finite() && float.fract() == 0.0 && float.abs() < 1e18 {
        return format!("{float:.0}");
    }
    float_text(float)
}

/// The shortest digits: with an exponent below 1e-4 and from 1e6 on.
pub(super) fn float_text<T: Into<f64> + Copy + Display + LowerExp>(float: T) -> String {
    match float.into() {
        wide if wide.is_nan() => ".nan".to_owned(),
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => compat::float::finite(float, -4..6),
    }
}

/// Non-letters before letters, digits by their value. As in kube-apiserver this is no order of all texts: `a12`, `a1b`, `a2`
/// are each before the next, and `a2` is before `a12`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    // The first character that differs may begin before the first byte that does.
    let at = (0..=common).rev().find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at)).unwrap_or(0);
    let (before, left) = a.split_at(at);
    let right = &b[at..];
    let (Some(first), Some(second)) = (left.chars().next(), right.chars().next()) else {
        return left.len().cmp(&right.len());
    };
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        // Non-letters come first.
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // Zeros count only after another digit.
    let mut digits_before = before.bytes().rev().take_while(u8::is_ascii_digit);
    let inside = (first == '0' || second == '0') && digits_before.any(|digit| digit != b'0');
    let start = i64::from(inside);
    let number = |text: &str| {
        text.bytes().take_while(u8::is_ascii_digit).fold((start, 0_usize), |(value, digits), digit| {
            (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), digits + 1)
        })
    };
    number(left).cmp(&number(right)).then(first.cmp(&second))
}

#[cfg(test)]
mod tests {
    use super::natural;
    use pintle_schema::{Map, Value};

    #[test]
    fn keys_are_in_natural_order() {
        let ordered: Vec<&str> =
            "-a 1 2 2a 10 A B a a-1 a.b a1 a2 a02 a10 a100 a100b aB ab abc b z è é éa 𝓐".split(' ').collect();
        for (at, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(natural(a, b), at.cmp(&other), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn keys_whose_order_contradicts_itself_are_written() {
        let texts = (0..400)
            .map(|n| format!("a{}", ["12", "1b", "2", "3", "2c", "30"][n * 7 % 6].repeat(n % 5 + 1) + &n.to_string()));
        let map: Map = texts.map(|text| (text.into(), Value::Int(1))).collect();
        assert_eq!(super::document(&Value::Map(map.clone())).split(|byte| *byte == b'\n').count(), map.len() + 1);
    }
}
