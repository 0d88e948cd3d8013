//! The `internal.apiserver.k8s.io` group: storage versions.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

pub(crate) mod columns;
pub(crate) mod rules;

use pintle_resource::{NameRule, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_types::apiserverinternal::v1alpha1;

pub(crate) fn resources() -> Vec<Resource> {
    vec![storage_versions()]
}

static STORAGE_VERSION: Strategy = Strategy { name: NameRule::None, unconditional_update: false, ..WITH_STATUS };

fn storage_versions() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(Storage::of::<v1alpha1::StorageVersion>(
            "internal.apiserver.k8s.io/v1alpha1",
            "StorageVersion",
            "/registry/storageversions/",
            "c8YZt5U0nPk=",
        )),
        subresources: vec![Subresource::status::<v1alpha1::StorageVersion>("StorageVersion", &STATUS_ALONE)],
        strategy: &STORAGE_VERSION,
        ..Resource::cluster::<v1alpha1::StorageVersion>(
            "internal.apiserver.k8s.io",
            "v1alpha1",
            "storageversions",
            "storageversion",
            "StorageVersion",
        )
    }
}
