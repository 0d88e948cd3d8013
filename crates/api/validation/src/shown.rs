//! Objects as the reference shows them in messages: all fields, under the names that its programs use inside.
//!
//! For messages alone; nothing that is stored or served has this form.

use pintle_schema::Presence::{Pointer, PointerAlways};
use pintle_schema::{ApiValue, Map, Str, Struct, Type, Value, View};

/// The value with all its fields. What is absent stays so.
pub fn in_full<T: ApiValue>(view: View<'_, T>) -> Value {
    full(&T::TYPE, view.value(), true)
}

fn full(ty: &Type, value: &Value, pointer: bool) -> Value {
    match (ty, value) {
        (_, Value::Null) if pointer => Value::Null,
        // Types that all groups share have the same names inside.
        (Type::Struct(schema), value) if schema.module.contains("::meta::") => match value {
            Value::Null => Value::map(),
            value => value.clone(),
        },
        (Type::Struct(schema), value) => {
            let mut entries = Vec::with_capacity(schema.fields.len());
            fields(schema, value, &mut entries);
            Value::Map(Map::from_entries(entries))
        }
        (Type::List(list), Value::List(items)) => {
            Value::List(items.iter().map(|item| full(&list.elem, item, false)).collect())
        }
        (Type::Map(map), Value::Map(entries)) => {
            let entries = entries.iter().map(|(key, value)| (key.clone(), full(&map.elem, value, false)));
            Value::Map(Map::from_entries(entries.collect()))
        }
        (Type::Bool, Value::Null) => Value::Bool(false),
        (Type::Int32 | Type::Int64 | Type::IntOrString, Value::Null) => Value::Int(0),
        (Type::String | Type::Enum(_), Value::Null) => Value::from(""),
        (Type::Quantity, Value::Null) => Value::from("0"),
        (_, value) => value.clone(),
    }
}

fn fields(schema: &Struct, value: &Value, entries: &mut Vec<(Str, Value)>) {
    for field in schema.fields.iter() {
        match &field.ty {
            Type::Struct(inlined) if field.inline => fields(inlined, value, entries),
            ty => {
                let pointer = matches!(field.presence, Pointer | PointerAlways);
                let value = value.get(&field.name).unwrap_or(&Value::Null);
                entries.push((name_inside(&field.name).into(), full(ty, value, pointer)));
            }
        }
    }
}

/// Words that Go writes in capitals.
const INITIALS: &[&str] = &[
    "api", "aws", "ca", "cel", "cidr", "csi", "dns", "fc", "fs", "gce", "grpc", "http", "id", "ip", "ipc", "iscsi",
    "nfs", "os", "pid", "qos", "rbd", "se", "tcp", "tls", "ttl", "uid", "url",
];

/// The name of a field in the reference's own types.
fn name_inside(json: &str) -> String {
    let is_word = |word: &&&str| {
        json.strip_prefix(**word).is_some_and(|rest| {
            let rest =
                rest.strip_prefix('s').filter(|rest| !rest.starts_with(|c: char| c.is_lowercase())).unwrap_or(rest);
            !rest.starts_with(|c: char| c.is_lowercase())
        })
    };
    let length = INITIALS.iter().filter(is_word).map(|word| word.len()).max().unwrap_or(1);
    let (head, tail) = json.split_at_checked(length).unwrap_or((json, ""));
    head.to_uppercase() + tail
}

#[cfg(test)]
mod tests {
    use super::{in_full, name_inside};
    use pintle_schema::{View, value};
    use pintle_types::core::v1::{ServicePort, Taint};

    #[test]
    fn names() {
        let names =
            ["apiVersion", "uid", "cidrs", "podCIDR", "idle", "sessionAffinity", "seLinuxOptions", "ips", "key"];
        let inside =
            ["APIVersion", "UID", "CIDRs", "PodCIDR", "Idle", "SessionAffinity", "SELinuxOptions", "IPs", "Key"];
        assert_eq!(names.map(name_inside), inside);
    }

    #[test]
    fn all_fields_are_there() {
        let port = value!({"port": 80, "protocol": "TCP"});
        let full = value!({
            "Name": "", "Protocol": "TCP", "AppProtocol": null, "Port": 80, "TargetPort": 0, "NodePort": 0
        });
        assert_eq!(in_full(View::<ServicePort>::new(&port)), full);
        let taint = value!({"key": "a"});
        let full = value!({"Key": "a", "Value": "", "Effect": "", "TimeAdded": null});
        assert_eq!(in_full(View::<Taint>::new(&taint)), full);
    }
}
