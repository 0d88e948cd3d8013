//! What servers that share a store keep there for each other, and no path shows: who is there, and which ports are given.

use pintle_resource::{Resource, Storage, Verbs};
use pintle_schema::ResourceNames;
use pintle_types::core::v1::{Endpoints, RangeAllocation};
use std::sync::{Arc, LazyLock};

/// The address of each server, under a key that goes when the server does not renew it.
pub static SERVER_ADDRESSES: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    Arc::new(Resource {
        verbs: Verbs::NONE,
        storage: Some(Storage::of::<Endpoints>().under("/registry/masterleases/")),
        ..Resource::named::<Endpoints>(ResourceNames::cluster("", "v1", "masterleases", "masterlease", "Endpoints"))
    })
});

/// The numbers that are given out of a range, as a bit map.
pub static RANGE_ALLOCATIONS: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    Arc::new(Resource {
        verbs: Verbs::NONE,
        storage: Some(Storage::of::<RangeAllocation>().under("/registry/ranges/")),
        ..Resource::of::<RangeAllocation>()
    })
});

/// All of them.
pub fn internal() -> impl Iterator<Item = &'static Arc<Resource>> {
    [&*SERVER_ADDRESSES, &*RANGE_ALLOCATIONS].into_iter()
}
