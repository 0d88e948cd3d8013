//! The `internal.apiserver.k8s.io` group: storage versions.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{Group, NameRule, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_schema::Str;
use pintle_types::apiserverinternal::v1alpha1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("internal.apiserver.k8s.io"),
        priority: Some(16000),
        built_in: true,
        versions: vec![version("v1alpha1", 9)],
        resources: functions.complete(vec![storage_versions()]),
        internal: Vec::new(),
    }
}

static STORAGE_VERSION: Strategy = Strategy { name: NameRule::None, unconditional_update: false, ..WITH_STATUS };

fn storage_versions() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(Storage::of::<v1alpha1::StorageVersion>()),
        subresources: vec![Subresource::status::<v1alpha1::StorageVersion>(&STATUS_ALONE)],
        strategy: &STORAGE_VERSION,
        printer: printer(&columns::STORAGE_VERSION),
        ..Resource::of::<v1alpha1::StorageVersion>()
    }
}
