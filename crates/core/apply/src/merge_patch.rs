//! JSON merge patch, RFC 7386, as in kube-apiserver.
//! Null removes, objects merge, everything else replaces. Must never use a schema: lists are always replaced as a
//! whole.

use crate::PatchError;
use crate::json_patch::sort_keys;
use pintle_codec::DecodeError;
use pintle_codec::json::open_spelled;
use pintle_schema::{Map, MapEditor, Value};

/// Performs kube-apiserver's field validation (other than `Ignore`) of the merge patch itself.
///
/// # Errors
/// The patch is neither an object nor null, or holds a number that is beyond the range of floats.
pub fn check(patch: &Value) -> Result<(), PatchError> {
    match patch {
        Value::Map(_) | Value::Null => match infinite(patch) {
            None => Ok(()),
            Some(literal) => {
                Err(PatchError::BadRequest(format!("error decoding patch: {}", DecodeError::infinite(literal))))
            }
        },
        other => Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            other.json_kind()
        ))),
    }
}

/// The first number beyond the range of floats, as it is spelled in the patch.
fn infinite(value: &Value) -> Option<&str> {
    match value {
        Value::Map(map) => map.values().find_map(infinite),
        Value::List(items) => items.iter().find_map(infinite),
        Value::Raw(text) if text.parse::<f64>().is_ok_and(|float| !float.is_finite()) => Some(text.as_str()),
        _ => None,
    }
}

/// Merges a patch into a document. A patch that is a list replaces the document, as in the RFC.
///
/// # Errors
/// The patch is null or a scalar, which cannot be an object.
pub fn apply(document: &mut Value, patch: Value) -> Result<(), PatchError> {
    match (document, patch) {
        (Value::Map(document), Value::Map(patch)) => merge(document, patch),
        (document, mut patch @ (Value::Map(_) | Value::List(_))) => {
            drop_nulls(&mut patch);
            *document = patch;
        }
        _ => return Err(PatchError::BadRequest("Invalid JSON Patch".to_owned())),
    }
    Ok(())
}

/// kube-apiserver's objects lose the order of their keys when they are parsed for a merge, and are written sorted, so
/// that the result and its errors are in that order.
fn merge(map: &mut Map, patch: Map) {
    let mut document = MapEditor::new(map);
    for (key, value) in patch {
        if value.is_null() {
            document.remove(&key);
            continue;
        }
        let mut slot = document.get_mut(&key);
        if matches!(value, Value::Map(_) | Value::List(_)) {
            slot.iter_mut().for_each(|slot| open_spelled(slot));
        }
        match (slot, value) {
            (Some(Value::Map(old)), Value::Map(new)) => merge(old, new),
            // The only place where kube-apiserver keeps nulls inside the objects of a list: the list replaces an
            // object.
            (Some(slot @ Value::Map(_)), new) => *slot = new,
            (Some(slot), mut new) => {
                drop_nulls(&mut new);
                *slot = new;
            }
            (None, mut new) => {
                drop_nulls(&mut new);
                document.push(key, new);
            }
        }
    }
    drop(document);
    sort_keys(map);
}

/// Removes null members of objects, including those in lists; null items of lists are kept. All objects are parsed
/// for it.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.retain(|_, item| {
                drop_nulls(item);
                !item.is_null()
            });
            sort_keys(map);
        }
        Value::List(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::Random;
    use pintle_schema::value;

    fn merged(document: &Value, patch: &Value) -> Result<Value, PatchError> {
        let mut result = document.clone();
        apply(&mut result, patch.clone()).map(|()| result)
    }

    #[test]
    fn rows() {
        let rows = [
            (value!({"a": "b"}), value!({"a": "c"}), value!({"a": "c"})),
            (value!({"a": "b"}), value!({"b": "c"}), value!({"a": "b", "b": "c"})),
            (value!({"a": "b", "b": "c"}), value!({"a": null}), value!({"b": "c"})),
            (value!({"a": ["b"]}), value!({"a": "c"}), value!({"a": "c"})),
            (value!({"a": "c"}), value!({"a": ["b"]}), value!({"a": ["b"]})),
            (value!({"a": {"b": "c"}}), value!({"a": {"b": "d", "c": null}}), value!({"a": {"b": "d"}})),
            (value!({"a": [{"b": "c"}]}), value!({"a": [1]}), value!({"a": [1]})),
            (value!({"e": null}), value!({"a": 1}), value!({"a": 1, "e": null})),
            (value!({"e": null}), value!({"e": {"a": 1, "b": null}}), value!({"e": {"a": 1}})),
            (value!({}), value!({"a": {"bb": {"ccc": null}}}), value!({"a": {"bb": {}}})),
            (value!({"a": "x"}), value!({"a": {"b": null, "c": 1}}), value!({"a": {"c": 1}})),
            (value!({"a": {"b": 1}}), value!({"a": "x"}), value!({"a": "x"})),
            (value!({}), value!({"a": [{"b": null}, null]}), value!({"a": [{}, null]})),
            (value!({"a": [1]}), value!({"a": [{"b": null}]}), value!({"a": [{}]})),
            (value!({"a": {"x": 1}}), value!({"a": [{"b": null}]}), value!({"a": [{"b": null}]})),
            (value!({"a": 1}), value!({"$patch": "delete"}), value!({"$patch": "delete", "a": 1})),
            (value!({"a": 1}), value!([{"b": null}]), value!([{}])),
            (value!([1]), value!({"b": null, "c": 1}), value!({"c": 1})),
        ];
        for (document, patch, expected) in rows {
            assert_eq!(merged(&document, &patch), Ok(expected), "{document:?} {patch:?}");
        }
    }

    #[test]
    fn raw_json_is_opened_only_by_what_looks_inside() {
        let raw = || Value::Raw("{ \"b\": 1.0 }".into());
        let rows = [
            (value!({"c": 1}), value!({"a": (raw()), "c": 1})),
            (value!({"a": {"c": 1}}), value!({"a": {"b": (Value::Raw("1.0".into())), "c": 1}})),
            (value!({"a": [null]}), value!({"a": [null]})),
            (value!({"a": null}), value!({})),
        ];
        for (patch, expected) in rows {
            assert_eq!(merged(&value!({"a": (raw())}), &patch), Ok(expected), "{patch:?}");
        }
    }

    #[test]
    fn patches_that_are_no_object() {
        for patch in [value!(null), value!(7), value!("x"), value!(true)] {
            let error = merged(&value!({"a": 1}), &patch).err();
            assert_eq!(error, Some(PatchError::BadRequest("Invalid JSON Patch".to_owned())));
        }
        assert_eq!(check(&value!({})), Ok(()));
        assert_eq!(check(&value!(null)), Ok(()));
        let error = check(&value!([])).map_err(|error| error.to_string());
        let expected =
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}";
        assert_eq!(error, Err(expected.to_owned()));
    }

    #[test]
    fn numbers_of_patches_are_floats_at_most() {
        let holding = |literal: &str| check(&value!({"a": [{"b": (Value::Raw(literal.into()))}]}));
        for literal in ["1.0", "1e300", "-0", "123456789012345678901234567890"] {
            assert_eq!(holding(literal), Ok(()), "{literal}");
        }
        let expected = "error decoding patch: json: cannot unmarshal number 1E400 into Go value of type float64";
        assert_eq!(holding("1E400").map_err(|error| error.to_string()), Err(expected.to_owned()));
    }

    /// Every null of the patch removes its field, and everything else of the patch is in the result.
    fn shows(result: &Value, patch: &Value) -> bool {
        match (result, patch) {
            (Value::Map(result), Value::Map(patch)) => patch.iter().all(|(key, new)| match result.get(key) {
                None => new.is_null(),
                Some(_) if new.is_null() => false,
                Some(old) => shows(old, new),
            }),
            (Value::List(result), Value::List(patch)) => {
                result.len() == patch.len() && result.iter().zip(patch).all(|(a, b)| a == b || shows(a, b))
            }
            _ => result == patch,
        }
    }

    #[test]
    fn what_a_patch_opens_is_shown_sorted() {
        let document = value!({"m": {"y": {"b": 1, "a": 2}, "x": {"d": 1}}, "d": {}});
        let patch = value!({"m": {"x": {"c": 2}, "w": [{"f": 1, "e": 2}]}, "d": [{"f": 1, "e": 2}]});
        let Ok(result) = merged(&document, &patch) else { panic!("{patch:?} is an object") };
        // A list that replaces an object is not inspected.
        let wanted = value!({"d": [{"f": 1, "e": 2}], "m": {"w": [{"e": 2, "f": 1}], "x": {"c": 2, "d": 1}, "y": {"b": 1, "a": 2}}});
        assert_eq!(format!("{result:?}"), format!("{wanted:?}"));
    }

    #[test]
    fn merging_again_changes_nothing() {
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let (document, patch) = (random.object(3), random.object(3));
            let Ok(once) = merged(&document, &patch) else { panic!("{patch:?} is an object") };
            assert!(shows(&once, &patch), "{document:?} + {patch:?} = {once:?}");
            // A list with nulls inside replaces an object unchanged, and loses them when it replaces a list.
            if let Ok(twice) = merged(&once, &patch) {
                assert_eq!(merged(&twice, &patch), Ok(twice), "{document:?} + {patch:?}");
            }
        }
    }
}
