//! The `internal.apiserver.k8s.io` group: storage versions.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Served, Storage, Subresource};
use crate::strategy::{NameRule, STATUS_ALONE, Strategy, WITH_STATUS};
use pintle_types::apiserverinternal::v1alpha1;

pub(crate) static RESOURCES: &[&Resource] = &[&STORAGE_VERSIONS];

static STORAGE_VERSION: Strategy = Strategy { name: NameRule::None, unconditional_update: false, ..WITH_STATUS };

static STORAGE_VERSIONS: Resource = Resource {
    served: Served::OnRequest,
    storage: Some(Storage::of::<v1alpha1::StorageVersion>(
        "internal.apiserver.k8s.io/v1alpha1",
        "StorageVersion",
        "/registry/storageversions/",
        "c8YZt5U0nPk=",
    )),
    subresources: &[Subresource::status::<v1alpha1::StorageVersion>("StorageVersion", &STATUS_ALONE)],
    strategy: &STORAGE_VERSION,
    ..Resource::cluster::<v1alpha1::StorageVersion>(
        "internal.apiserver.k8s.io",
        "v1alpha1",
        "storageversions",
        "storageversion",
        "StorageVersion",
    )
};
