//! The order of errors in a list, if kube-apiserver checks duplicates item by item.
//! Duplicates are found before the items are validated, or after all of them; kube-apiserver finds each with its item. Must
//! never change, add or drop an error.

use crate::error::{ErrorKind, FieldError};
use crate::path::FieldPath;
use std::ops::Range;

/// Moves errors of duplicate fields before the other errors of their items and later ones. `own` are the errors of
/// the list's rules; those of its items follow.
pub(crate) fn sort_by_item(errors: &mut Vec<FieldError>, own: Range<usize>, list: &FieldPath<'_>) {
    if errors.len() <= own.end
        || !errors.iter().take(own.end).skip(own.start).any(|error| error.kind == ErrorKind::Duplicate)
    {
        return;
    }
    let prefix = format!("{list}[");
    let of_items = errors.split_off(own.end);
    let of_list = errors.split_off(own.start);
    let repeated_item = |error: &FieldError| match error.kind {
        ErrorKind::Duplicate => item(&prefix, &error.field).filter(|(_, rest)| rest.starts_with('.')).map(|(at, _)| at),
        _ => None,
    };
    let (repeated, others): (Vec<_>, Vec<_>) = of_list.into_iter().partition(|error| repeated_item(error).is_some());
    errors.extend(others);
    let mut repeated = repeated.into_iter().peekable();
    for error in of_items {
        if let Some((at, _)) = item(&prefix, &error.field) {
            while let Some(earlier) = repeated.next_if(|earlier| repeated_item(earlier).is_some_and(|own| own <= at)) {
                errors.push(earlier);
            }
        }
        errors.push(error);
    }
    errors.extend(repeated);
}

/// Moves errors of duplicate fields behind the other errors of their items, before those of later ones. `of_items` are the
/// errors of the items; those of the list's last rules follow.
pub(crate) fn sort_behind_items(errors: &mut Vec<FieldError>, of_items: Range<usize>, list: &FieldPath<'_>) {
    let prefix = format!("{list}[");
    let place = |error: &FieldError| item(&prefix, &error.field).map(|(at, _)| at);
    let is_repetition = |error: &FieldError| error.origin.starts_with("distinct") && place(error).is_some();
    let last = errors.split_off(of_items.end.min(errors.len()));
    let (repeated, others): (Vec<_>, Vec<_>) = last.into_iter().partition(is_repetition);
    let of_items = errors.split_off(of_items.start.min(errors.len()));
    let mut repeated = repeated.into_iter().peekable();
    for error in of_items {
        if let Some(at) = place(&error) {
            while let Some(earlier) = repeated.next_if(|earlier| place(earlier).is_some_and(|own| own < at)) {
                errors.push(earlier);
            }
        }
        errors.push(error);
    }
    errors.extend(repeated);
    errors.extend(others);
}

/// The item that contains a field, and the path from there.
fn item<'a>(prefix: &str, field: &'a str) -> Option<(usize, &'a str)> {
    let (index, rest) = field.strip_prefix(prefix)?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorList;

    /// `1.name` as a path in the list `q`.
    fn place(text: &str) -> String {
        match text.split_once('.') {
            Some((at, rest)) => format!("q[{at}].{rest}"),
            None if text.is_empty() => "q".to_owned(),
            None => format!("q[{text}]"),
        }
    }

    #[test]
    fn repetitions_stand_with_their_items() {
        let rows: &[(&[&str], &[&str], &str)] = &[
            (&["1.name"], &["0.protocol"], "0.protocol 1.name"),
            (&["1.name", "3.name"], &["1.port", "2.port"], "1.name 1.port 2.port 3.name"),
            (&["1.name", "2.name"], &["2.name", "2.port", "3.port"], "1.name 2.name 2.name 2.port 3.port"),
            (&["1", "2.name"], &["0.port"], "1 0.port 2.name"),
            (&["1.name"], &[], "1.name"),
            (&["2.name"], &["", "10.port"], " 2.name 10.port"),
        ];
        for (own, items, expected) in rows {
            let root = FieldPath::new("q");
            let mut errors = ErrorList::default();
            errors.required("before", "");
            own.iter().for_each(|text| errors.duplicate(place(text), 1));
            items.iter().for_each(|text| errors.required(place(text), ""));
            sort_by_item(&mut errors.0, 1..own.len() + 1, &root);
            let found: Vec<String> =
                errors.0.iter().skip(1).map(|error| error.field.replace(['q', '[', ']'], "")).collect();
            assert_eq!(found.join(" "), *expected);
        }
    }

    #[test]
    fn repetitions_stand_behind_their_items() {
        let rows: &[(&[&str], &[&str], &str)] = &[
            (&["0.protocol"], &["1.name"], "0.protocol 1.name"),
            (&["1.port", "2.port"], &["1.name", "3.name"], "1.port 1.name 2.port 3.name"),
            (&["0.port", "10.port"], &["2.name", "10.name"], "0.port 2.name 10.port 10.name"),
            (&["2"], &["1", "2"], "1 2 2"),
            (&["", "2.port"], &["1.name", ""], " 1.name 2.port "),
        ];
        for (items, own, expected) in rows {
            let root = FieldPath::new("q");
            let mut errors = ErrorList::default();
            errors.required("before", "");
            items.iter().for_each(|text| errors.required(place(text), ""));
            for text in own.iter() {
                errors.duplicate(place(text), 1);
                errors.origin("distinct");
            }
            sort_behind_items(&mut errors.0, 1..items.len() + 1, &root);
            let found: Vec<String> =
                errors.0.iter().skip(1).map(|error| error.field.replace(['q', '[', ']'], "")).collect();
            assert_eq!(found.join(" "), *expected);
        }
    }
}
