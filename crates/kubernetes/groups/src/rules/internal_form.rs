//! The internal form of objects in kube-apiserver's messages: all fields, with the names of Go's internal types.
//!
//! Used in messages only: objects are never stored or served in it.

mod pod;

use pintle_schema::Presence::{Pointer, PointerAlways};
use pintle_schema::{ApiValue, Map, Str, Struct, Type, Value, View};
use pintle_types::core::v1::{PodSecurityContext, PodSpec};

/// The value with all its fields. Pointers may be null.
pub fn in_full<T: ApiValue>(view: View<'_, T>) -> Value {
    full(&T::TYPE, view.value(), T::POINTER)
}

/// The same, but lists and maps that were sent empty are not null. `sent` is the tree of those.
pub fn in_full_as_sent<T: ApiValue>(view: View<'_, T>, sent: Option<&Value>) -> Value {
    let mut shown = in_full(view);
    if let Some(sent) = sent {
        show_empties(&T::TYPE, sent, &mut shown);
    }
    shown
}

fn show_empties(ty: &Type, sent: &Value, shown: &mut Value) {
    match (ty, sent, &mut *shown) {
        (Type::List(_), Value::List(items), Value::Null) if items.is_empty() => *shown = Value::List(Vec::new()),
        (Type::Map(_), Value::Map(entries), Value::Null) if entries.is_empty() => *shown = Value::map(),
        (Type::List(list), Value::List(sent), Value::List(items)) => {
            sent.iter().zip(items).for_each(|(sent, item)| show_empties(&list.elem, sent, item));
        }
        (Type::Struct(schema), Value::Map(sent), Value::Map(_)) if !is_shared(schema) => {
            for field in schema.fields.iter() {
                if let Some(sent) = sent.get(&field.name)
                    && let Some(shown) = shown.get_mut(&name_inside(&schema.name, &field.name))
                {
                    show_empties(&field.ty, sent, shown);
                }
            }
        }
        _ => {}
    }
}

/// A value of a type with all its fields; null behind a pointer stays so.
pub fn full(ty: &Type, value: &Value, pointer: bool) -> Value {
    match (ty, value) {
        (_, Value::Null) if pointer => Value::Null,
        // Types that all groups share have the same internal names.
        (Type::Struct(schema), value) if is_shared(schema) => Value::Map(served(value).collect()),
        (Type::Struct(schema), value) => {
            let mut entries = Vec::with_capacity(schema.fields.len());
            fields(schema, value, &mut entries);
            let shown = Map::from_entries(entries);
            Value::Map(match &*schema.name {
                "PodSpec" => {
                    let context = value.get(PodSpec::SECURITY_CONTEXT.name()).unwrap_or(&Value::Null);
                    pod::spec(shown, &full(&PodSecurityContext::TYPE, context, false))
                }
                _ => shown,
            })
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

/// The fields of a struct as it is served, without empty ones.
fn served(value: &Value) -> impl Iterator<Item = (Str, Value)> {
    let is_empty = |value: &Value| match value {
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    };
    let fields = value.as_map().into_iter().flat_map(Map::iter).filter(move |(_, value)| !is_empty(value));
    fields.map(|(name, value)| (name.clone(), value.clone()))
}

fn is_shared(schema: &Struct) -> bool {
    schema.module.contains("::meta::")
}

fn fields(schema: &Struct, value: &Value, entries: &mut Vec<(Str, Value)>) {
    let start = entries.len();
    for field in schema.fields.iter() {
        let own = value.get(&field.name).unwrap_or(&Value::Null);
        match &field.ty {
            // Internal objects have no type metadata, and their metadata is beside their other fields.
            Type::Struct(shared) if field.inline && is_shared(shared) => {}
            Type::Struct(shared) if &*field.name == METADATA && is_shared(shared) => {
                entries.extend(served(own));
            }
            Type::Struct(inlined) if field.inline => fields(inlined, value, entries),
            ty => {
                let pointer = matches!(field.presence, Pointer | PointerAlways);
                entries.push((name_inside(&schema.name, &field.name).into(), full(ty, own, pointer)));
            }
        }
    }
    for (_, moved, after) in MOVED.iter().filter(|(name, ..)| &*schema.name == *name) {
        let place = |name: &str, entries: &[(Str, Value)]| entries.iter().position(|(key, _)| key == name);
        if let Some(from) = place(moved, entries).filter(|from| *from >= start) {
            let entry = entries.remove(from);
            let to = place(after, entries).map_or(from, |after| after + 1);
            entries.insert(to, entry);
        }
    }
}

/// The field that objects and templates of objects have their metadata in.
const METADATA: &str = "metadata";

/// Fields with another internal position: the struct, the field, and the field before it.
const MOVED: &[(&str, &str, &str)] = &[
    ("PodSecurityContext", "FSGroupChangePolicy", "FSGroup"),
    ("VolumeSource", "Quobyte", "RBD"),
    ("PersistentVolumeSource", "Quobyte", "RBD"),
    ("PersistentVolumeSource", "FlexVolume", "ISCSI"),
];

/// Fields that have another name inside: how the struct's name begins, and the names in JSON and inside.
const RENAMED: &[(&str, &str, &str)] = &[
    ("AzureDisk", "diskURI", "DataDiskURI"),
    ("DeviceAttribute", "bool", "BoolValue"),
    ("DeviceAttribute", "bools", "BoolValues"),
    ("DeviceAttribute", "int", "IntValue"),
    ("DeviceAttribute", "ints", "IntValues"),
    ("DeviceAttribute", "string", "StringValue"),
    ("DeviceAttribute", "strings", "StringValues"),
    ("DeviceAttribute", "version", "VersionValue"),
    ("DeviceAttribute", "versions", "VersionValues"),
    ("GCEPersistentDisk", "pdName", "PDName"),
    ("Glusterfs", "endpoints", "EndpointsName"),
    ("ISCSI", "chapAuthDiscovery", "DiscoveryCHAPAuth"),
    ("ISCSI", "chapAuthSession", "SessionCHAPAuth"),
    ("RBD", "image", "RBDImage"),
    ("RBD", "monitors", "CephMonitors"),
    ("RBD", "pool", "RBDPool"),
    ("RBD", "user", "RadosUser"),
    ("", "cephfs", "CephFS"),
    ("", "storageos", "StorageOS"),
];

/// Words that Go writes in capitals.
const INITIALS: &[&str] = &[
    "api", "aws", "ca", "cel", "cidr", "csi", "dns", "fc", "fs", "gce", "gid", "gmsa", "grpc", "http", "id", "ip",
    "ipc", "iqn", "iscsi", "nfs", "os", "pid", "pkix", "qos", "rbd", "se", "ssl", "tcp", "tls", "ttl", "tty", "uid",
    "url", "wwid",
];

/// The name of a field in kube-apiserver's own types.
fn name_inside(schema: &str, json: &str) -> String {
    if let Some((.., inside)) = RENAMED.iter().find(|(begin, name, _)| schema.starts_with(begin) && json == *name) {
        return (*inside).to_owned();
    }
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
    use super::{in_full, in_full_as_sent, name_inside};
    use pintle_schema::{Value, View, value};
    use pintle_types::core::v1::{ScopeSelector, ServicePort, Taint};
    use pintle_types::meta::v1::LabelSelector;

    #[test]
    fn empty_lists_are_shown_as_they_were_sent() {
        let selector = value!({"matchExpressions": [{"scopeName": "A", "operator": "Exists"}, {"scopeName": "B"}]});
        let sent = value!({"matchExpressions": [{"values": []}]});
        let values = |sent: Option<&Value>| -> Vec<Value> {
            let shown = in_full_as_sent(View::<ScopeSelector>::new(&selector), sent);
            let items = shown.at(&["MatchExpressions"]).and_then(Value::as_list).unwrap_or_default();
            items.iter().map(|item| item.get("Values").cloned().expect("always shown")).collect()
        };
        assert_eq!(values(None), [Value::Null, Value::Null]);
        assert_eq!(values(Some(&sent)), [Value::List(Vec::new()), Value::Null]);
    }

    #[test]
    fn names() {
        let names = [
            "apiVersion",
            "uid",
            "cidrs",
            "podCIDR",
            "idle",
            "sessionAffinity",
            "seLinuxOptions",
            "ips",
            "key",
            "cephfs",
        ];
        let inside = [
            "APIVersion",
            "UID",
            "CIDRs",
            "PodCIDR",
            "Idle",
            "SessionAffinity",
            "SELinuxOptions",
            "IPs",
            "Key",
            "CephFS",
        ];
        assert_eq!(names.map(|name| name_inside("Some", name)), inside);
        assert_eq!(name_inside("RBDVolumeSource", "pool"), "RBDPool");
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
        assert_eq!(in_full(View::<Option<Taint>>::new(&Value::Null)), Value::Null);
        let selector = value!({"matchLabels": {}, "matchExpressions": [{"key": "a", "operator": "Exists"}]});
        let shown = value!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
        assert_eq!(in_full(View::<LabelSelector>::new(&selector)), shown);
    }
}
