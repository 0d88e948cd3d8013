//! The managers of fields in objects that webhooks changed. Guarantees that a webhook cannot leave them unreadable: then they
//! are those from before, and the client is warned.

use pintle_apply::FieldSet;
use pintle_codec::compat::print as go;
use pintle_codec::json;
use pintle_schema::{Value, names};

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

/// Puts back the managers of fields if those of the changed object cannot be read. Returns the warning for the client.
pub(crate) fn restore(changed: &mut Value, before: &Value) -> Option<String> {
    let (new, old) = (changed.at(&MANAGED_FIELDS), before.at(&MANAGED_FIELDS));
    if new == old {
        return None;
    }
    let fault = fault(new.and_then(Value::as_list).unwrap_or_default())?;
    match old.filter(|old| !old.is_null()) {
        Some(old) => changed.set_at(&MANAGED_FIELDS, old.clone()),
        None => drop(changed.remove_at(&MANAGED_FIELDS)),
    }
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating \
         admission controller; please fix your requests: {fault}"
    ))
}

/// What is wrong with the first entry that cannot be read.
fn fault(entries: &[Value]) -> Option<String> {
    entries.iter().enumerate().find_map(|(at, entry)| {
        let text = |field: &str| entry.str_at(&[field]);
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            return Some("operation must be `Apply` or `Update`".to_owned());
        }
        if text("apiVersion").is_empty() {
            return Some("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Some(format!("missing fieldsType in managed fields entry {at}")),
            other => return Some(format!("invalid fieldsType {} in managed fields entry {at}", names::quoted(other))),
        }
        let fields = entry.get("fieldsV1").filter(|fields| !fields.is_null())?;
        let error = FieldSet::from_v1(fields).err()?;
        let fields = match fields {
            Value::Raw(text) => text.to_string(),
            fields => String::from_utf8_lossy(&json::to_vec(fields)).into_owned(),
        };
        let (manager, version, subresource) = (text("manager"), text("apiVersion"), text("subresource"));
        let time = match text("time") {
            "" => "nil".to_owned(),
            time => go::moment(time),
        };
        Some(format!(
            "error decoding versioned set from {{{manager} {operation} {version} {time} FieldsV1 {fields} {subresource}}}: \
             error decoding set: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn of(entries: Value) -> Value {
        value!({"metadata": {"name": "a", "managedFields": (entries)}})
    }

    fn entry(field: &str, value: Value) -> Value {
        let mut entry = value!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}}});
        entry.set_at(&[field], value);
        entry
    }

    #[test]
    fn unreadable_managers_are_put_back() {
        let before = of(value!([(entry("manager", value!("before")))]));
        for (field, value, expected) in [
            ("manager", value!("other"), None),
            ("operation", value!(""), Some("operation must be `Apply` or `Update`")),
            ("apiVersion", value!(""), Some("apiVersion must not be empty")),
            ("fieldsType", value!(""), Some("missing fieldsType in managed fields entry 0")),
            ("fieldsType", value!("y"), Some("invalid fieldsType \"y\" in managed fields entry 0")),
            ("fieldsV1", Value::Null, None),
        ] {
            let changed = of(value!([(entry(field, value))]));
            let mut kept = changed.clone();
            let warning = restore(&mut kept, &before);
            assert_eq!(warning.is_some(), expected.is_some(), "{field}");
            assert!(warning.unwrap_or_default().ends_with(expected.unwrap_or_default()), "{field}");
            assert_eq!(kept, if expected.is_some() { before.clone() } else { changed }, "{field}");
        }
        let unreadable =
            restore(&mut of(value!([(entry("fieldsV1", value!({"z": {}})))])), &before).unwrap_or_default();
        assert!(unreadable.contains("versioned set from {m Update v1 nil FieldsV1 {\"z\":{}} }: "), "{unreadable}");
        let mut emptied = of(value!([]));
        assert_eq!(restore(&mut emptied, &before), None);
        assert_eq!(emptied, of(value!([])));
    }
}
