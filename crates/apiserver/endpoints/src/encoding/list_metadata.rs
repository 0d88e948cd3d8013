//! The metadata of lists, for each form of a list. Guarantees kube-apiserver's order of fields, and omits fields where it does.
//! Must never read the items of a list.

use pintle_registry::Page;
use pintle_schema::{Map, Str, value};

/// The metadata of lists that are not whole objects: tables and partial metadata.
pub(super) fn list_meta(page: &Page) -> Map {
    let mut meta = Map::new();
    meta.push(Str::new_static("resourceVersion"), page.revision.0.to_string().into());
    if !page.continue_token.is_empty() {
        meta.push(Str::new_static("continue"), page.continue_token.as_str().into());
    }
    if let Some(remaining) = page.remaining {
        meta.push(Str::new_static("remainingItemCount"), remaining.into());
    }
    meta
}

/// The metadata of a list of whole objects: other forms, and lists of trees, do not report the shard.
pub(super) fn typed_list_meta(page: &Page) -> Map {
    let mut meta = list_meta(page);
    if let Some(shard) = &page.shard {
        meta.push(Str::new_static("shardInfo"), value!({"selector": (shard.as_str())}));
    }
    meta
}

/// The metadata of a list of trees, in which `continue` is never left out.
pub(super) fn custom_list_meta(page: &Page) -> Map {
    let mut meta = Map::new();
    meta.push(Str::new_static("continue"), page.continue_token.as_str().into());
    if let Some(remaining) = page.remaining {
        meta.push(Str::new_static("remainingItemCount"), remaining.into());
    }
    meta.push(Str::new_static("resourceVersion"), page.revision.0.to_string().into());
    meta
}
