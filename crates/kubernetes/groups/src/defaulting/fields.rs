//! Helpers for defaulting functions: reading a field as text or number, setting an absent field.
//!
//! Reading never changes the object. Each `set_*` writes one field.

use pintle_schema::{ApiValue, FieldName, Str, Value, View, ViewMut};

/// The text of a field; "" when it is absent.
pub fn text<S, F>(object: &Value, field: FieldName<S, F>) -> &str {
    View::<S>::new(object).field(field).value().as_str().unwrap_or("")
}

/// Whether a field is null, zero or empty, which Go does not distinguish without a pointer.
pub fn is_zero<S, F>(object: &Value, field: FieldName<S, F>) -> bool {
    View::<S>::new(object).field(field).value().is_zero()
}

/// Whether a pointer field, list or map is absent.
pub fn is_null<S, F>(object: &Value, field: FieldName<S, F>) -> bool {
    View::<S>::new(object).field(field).value().is_null()
}

/// Sets a field.
pub fn set<S, F: ApiValue>(object: &mut Value, field: FieldName<S, F>, value: impl Into<F>) {
    put(object, field, value.into().to_value());
}

/// Sets a field that is null, zero or empty.
pub fn set_if_zero<S, F: ApiValue>(object: &mut Value, field: FieldName<S, F>, value: impl Into<F>) {
    if is_zero(object, field) {
        set(object, field, value);
    }
}

/// Sets a pointer field that is null.
pub fn set_if_null<S, F: ApiValue>(object: &mut Value, field: FieldName<S, F>, value: impl Into<F>) {
    if is_null(object, field) {
        set(object, field, value);
    }
}

/// Sets a field to a value that is already a tree.
pub fn put<S, F>(object: &mut Value, field: FieldName<S, F>, value: Value) {
    object.make_map().set(Str::new_static(field.name()), value);
}

/// A field that is there, for writing; `None` when it is absent.
pub fn get_mut<S, F>(object: &mut Value, field: FieldName<S, F>) -> Option<&mut Value> {
    object.get_mut(field.name()).filter(|value| !value.is_null())
}

/// The items of a list field, for writing.
pub fn items_mut<'a, S, T>(object: &'a mut Value, field: FieldName<S, Vec<T>>) -> impl Iterator<Item = ViewMut<'a, T>> {
    get_mut(object, field).into_iter().flat_map(|list| ViewMut::<Vec<T>>::new(list).iter_mut())
}

/// Adds to the map in field `to` the entries of the map in field `from` whose keys it lacks.
pub fn fill_map<S, T, F>(object: &mut Value, from: FieldName<S, T>, to: FieldName<S, F>) {
    let view = View::<S>::new(object);
    let (Some(source), target) = (view.field(from).value().as_map(), view.field(to).value().as_map()) else {
        return;
    };
    let has = |key: &Str| target.is_some_and(|target| target.contains_key(key));
    let missing: Vec<(Str, Value)> =
        source.iter().filter(|(key, _)| !has(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    if missing.is_empty() {
        return;
    }
    let target = object.make_map().entry(to.name()).make_map();
    missing.into_iter().for_each(|(key, value)| target.push(key, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;
    use pintle_types::core::v1::ResourceRequirements;

    #[test]
    fn filling_keeps_what_is_there() {
        let (limits, requests) = (ResourceRequirements::LIMITS, ResourceRequirements::REQUESTS);
        let mut object = value!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}});
        fill_map(&mut object, limits, requests);
        assert_eq!(object.get("requests"), Some(&value!({"cpu": "1", "memory": "1Gi"})));
        let mut object = Value::Null;
        fill_map(&mut object, limits, requests);
        assert_eq!(object, Value::Null, "nothing to fill leaves nothing behind");
    }
}
