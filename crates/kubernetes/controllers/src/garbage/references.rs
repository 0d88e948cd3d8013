//! The owner references of an object, read from its JSON one at a time, and the places that they name. Guarantees that a
//! place follows from the reference and the namespace of its object alone. Must never look for the owner.

use crate::resource_index::{Kind, KindId, ObjectKey, ResourceIndex};
use pintle_cache::Object;
use pintle_codec::Strictness;
use pintle_codec::json::{self, Members};
use pintle_resource::Resource;
use pintle_types::meta::v1::OwnerReference;
use std::borrow::Cow;
use std::sync::Arc;

/// The member of the metadata that has the references, before the list.
const MEMBER: &str = "\"ownerReferences\":";

/// An owner reference as it is stored.
#[derive(Default)]
pub struct Reference<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub uid: Cow<'a, str>,
    /// Whether the object keeps this owner when that is deleted in the foreground.
    pub blocks: bool,
}

/// The references of an object, each parsed when it is reached: there may be twenty thousand.
pub fn of(object: &Object) -> impl Iterator<Item = Reference<'_>> + Send {
    let [owners, _] = object.encoded.ties();
    let mut items = Vec::new();
    if let Some(list) = std::str::from_utf8(owners).ok().and_then(|member| member.strip_prefix(MEMBER)) {
        Members::of(list).each_item(|item| items.push(item));
    }
    items.into_iter().map(Reference::parse)
}

/// Whether two states of an object have the same references.
pub fn are_same(a: Option<&Object>, b: Option<&Object>) -> bool {
    let has_any = |object: &&Object| object.encoded.owners().next().is_some();
    match (a.filter(has_any), b.filter(has_any)) {
        (None, None) => true,
        (Some(a), Some(b)) => a.encoded.ties()[0] == b.encoded.ties()[0],
        _ => false,
    }
}

impl<'a> Reference<'a> {
    fn parse(item: &'a str) -> Self {
        let mut reference = Reference::default();
        let mut members = Members::of(item);
        if !members.enter() {
            return reference;
        }
        while let Some(key) = members.key() {
            let value = members.take();
            match key.written() {
                "apiVersion" => reference.api_version = text(value),
                "kind" => reference.kind = text(value),
                "name" => reference.name = text(value),
                "uid" => reference.uid = text(value),
                "blockOwnerDeletion" => reference.blocks = value == "true",
                _ => {}
            }
        }
        reference
    }

    /// The reference itself, apart from what it says about the owner's deletion.
    pub fn to_owned(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.clone().into_owned(),
            kind: self.kind.clone().into_owned(),
            name: self.name.clone().into_owned(),
            uid: self.uid.clone().into_owned(),
            ..OwnerReference::default()
        }
    }
}

/// A text from JSON.
fn text(json: &str) -> Cow<'_, str> {
    let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let parsed = json::parse(json.as_bytes(), Strictness::Ignore).ok();
    Cow::Owned(parsed.and_then(|parsed| parsed.value.as_str().map(str::to_owned)).unwrap_or_default())
}

/// Where an owner is, if it exists.
pub enum Place {
    /// The kind is not known; it may be one that another server serves, or that is added later.
    UnknownKind,
    /// An object without a namespace cannot have an owner in one. Such a reference says nothing about the owner.
    Impossible,
    /// At this key of this kind, and nowhere else.
    At(KindId, Arc<Kind>, String),
}

impl Place {
    /// The place that a reference of an object in this namespace names.
    pub fn named(index: &ResourceIndex, namespace: &str, reference: &Reference<'_>) -> Place {
        let Some((id, kind)) = index.named(&reference.api_version, &reference.kind) else { return Place::UnknownKind };
        let is_namespaced = kind.resource.namespaced;
        if is_namespaced && namespace.is_empty() {
            return Place::Impossible;
        }
        let key = kind.target.storage().key(if is_namespaced { namespace } else { "" }, &reference.name);
        Place::At(id, kind, key)
    }

    pub fn is(&self, place: &ObjectKey) -> bool {
        matches!(self, Place::At(kind, _, key) if *kind == place.kind && **key == *place.key)
    }
}

/// Whether a reference of an object in this namespace names an object of this resource, in whatever version of the kind:
/// also one that does not exist.
pub fn names(reference: &OwnerReference, namespace: &str, resource: &Resource, owner: &Object) -> bool {
    let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
    let is_reachable = owner.namespace().is_empty() || owner.namespace() == namespace;
    reference.uid == owner.encoded.uid()
        && reference.name == owner.name()
        && reference.kind == *resource.kind
        && group == resource.group
        && is_reachable
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_cache::encoded_object::{self, EncodedObject};
    use pintle_schema::{Value, value};
    use pintle_storage::Revision;

    #[test]
    fn references_are_read_as_they_were_written() {
        let object = |owners: Value| {
            let object = value!({"kind": "K", "apiVersion": "v1", "metadata": {"name": "a", "uid": "u", "ownerReferences": owners}});
            let encoded = EncodedObject::from_record(&encoded_object::encode(&object, &[]), Revision(1));
            Object::new("/k/a".into(), 3, Revision(1), encoded.expect("an encoded object"))
        };
        let owned = object(value!([
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "q\"]},{\\\u{1}é", "uid": "u1", "blockOwnerDeletion": true},
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u2", "controller": true, "blockOwnerDeletion": false},
            {"name": "bare"}
        ]));
        let rows: Vec<_> = of(&owned).map(|found| (found.to_owned(), found.blocks)).collect();
        let reference = |api_version: &str, kind: &str, name: &str, uid: &str| OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        };
        let wanted = [
            (reference("apps/v1", "ReplicaSet", "q\"]},{\\\u{1}é", "u1"), true),
            (reference("v1", "Node", "n", "u2"), false),
            (reference("", "", "bare", ""), false),
        ];
        assert_eq!(rows, wanted);
        assert_eq!(of(&object(value!([]))).count(), 0);
    }
}
