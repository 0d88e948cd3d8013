//! Rules of Namespace and of its finalization.

use crate::rules::{invalid_each, items};
use pintle_schema::names;
use pintle_types::core::v1::{FinalizerName, Namespace, NamespaceStatus};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};

/// Finalizers without a domain that are valid.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Finalizers have names with a domain. Only the subresource `finalize` reports the index.
pub fn finalizers(finalizers: At<'_, Vec<FinalizerName>>, cx: &mut ValidationContext<'_>) {
    let is_indexed = cx.request.subresource == "finalize";
    for (at, name) in items(finalizers.new).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let indexed = finalizers.path.index(at);
        let path = if is_indexed { &indexed } else { finalizers.path };
        invalid_each(name, names::label_key(name), path, cx);
        if !name.contains('/') && !STANDARD.contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            cx.errors.invalid(path, name, detail);
        }
    }
}

/// A namespace ends when its deletion has begun, and not before.
pub fn phase(namespace: At<'_, Namespace>, cx: &mut ValidationContext<'_>) {
    let phase = namespace.new.field(Namespace::STATUS).field(NamespaceStatus::PHASE).value();
    let is_deleted = namespace.new.field(Namespace::METADATA).field(ObjectMeta::DELETION_TIMESTAMP).is_set();
    let (wanted, detail) = match is_deleted {
        true => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
        false => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
    };
    if phase.as_str() != Some(wanted) {
        // kube-apiserver's path has this capital.
        let path = namespace.path.to(Namespace::STATUS);
        cx.errors.invalid(path.child("Phase"), phase.as_str().unwrap_or_default(), detail);
    }
}
