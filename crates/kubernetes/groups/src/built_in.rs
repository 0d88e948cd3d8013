//! The list of the built-in groups, and lookups in their resources.
//!
//! Uses the modules of all groups. None of them may use it: what they share is in `group`.

use pintle_resource::{Group, Resource, ResourceTable, Resources};
use std::sync::{Arc, LazyLock};

/// The built-in groups in discovery's order, the core group ("") first; they are made when first asked for.
pub fn groups() -> &'static [Group] {
    static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
        vec![
            crate::core::group(),
            crate::apiregistration::group(),
            crate::apps::group(),
            crate::events::group(),
            crate::authentication::group(),
            crate::authorization::group(),
            crate::autoscaling::group(),
            crate::batch::group(),
            crate::certificates::group(),
            crate::networking::group(),
            crate::policy::group(),
            crate::rbac::group(),
            crate::storage::group(),
            crate::admissionregistration::group(),
            crate::apiextensions::group(),
            crate::scheduling::group(),
            crate::coordination::group(),
            crate::node::group(),
            crate::discovery::group(),
            crate::resource::group(),
            crate::flowcontrol::group(),
            crate::apiserverinternal::group(),
            crate::storagemigration::group(),
        ]
    });
    &GROUPS
}

/// Every version of every resource, in discovery's order.
pub fn all() -> impl Iterator<Item = &'static Arc<Resource>> {
    groups().iter().flat_map(|group| &group.resources)
}

/// The resource of a group, a version and a plural name.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Arc<Resource>> {
    all().find(|one| one.plural == plural && one.group == group && one.version == version)
}

/// A table of the built-in groups, of whose resources those are served that a condition chooses.
pub fn table(is_served: impl Fn(&Resource) -> bool) -> ResourceTable {
    let mut table = ResourceTable::default();
    groups().iter().for_each(|group| table.install_group(group, &is_served));
    table
}

/// A table of the built-in groups, all of them served, to which others can be added.
pub fn resources() -> Arc<Resources> {
    Arc::new(Resources::new(table(|_| true)))
}
