//! Helpers with which the modules define their `Group`s, and lookups in the resources of all groups.
//!
//! Must not know a kind.

use crate::defaulting::{DatedRule, Rule};
use crate::rules::internal_form;
use pintle_resource::{DefaultFunction, DefaultFunctions, Group, GroupVersion, Resource, ResourceTable, Resources};
use pintle_schema::{Str, Struct};
use pintle_validation::Validator;
use std::sync::{Arc, LazyLock};

/// A version and how it ranks in its group.
pub(crate) fn version(name: &'static str, priority: i32) -> GroupVersion {
    GroupVersion { name: Str::new_static(name), priority }
}

/// A table of rules.
type Rules = &'static pintle_validation::Group;

/// Functions for the types that the objects of a group consist of, those of other groups included.
#[derive(Default)]
pub(crate) struct TypeFunctions {
    rules: Vec<Rules>,
    defaults: Vec<(&'static Struct, DefaultFunction)>,
}

impl TypeFunctions {
    /// With validation that no tag expresses.
    pub fn rules(mut self, rules: &[Rules]) -> Self {
        self.rules.extend(rules);
        self
    }

    /// With defaults that are no constants. Those of one type run in the order in which they are given.
    pub fn defaults(mut self, defaults: &[Rule]) -> Self {
        self.defaults.extend(defaults.iter().map(|(schema, fill)| (schema(), DefaultFunction::Plain(*fill))));
        self
    }

    /// With defaults that are the time.
    pub fn dated_defaults(mut self, defaults: &[DatedRule]) -> Self {
        self.defaults.extend(defaults.iter().map(|(schema, fill)| (schema(), DefaultFunction::Dated(*fill))));
        self
    }

    /// Gives the functions to the resources of a group.
    pub fn complete(self, resources: Vec<Resource>) -> Vec<Arc<Resource>> {
        let rules = Arc::new(Validator::new(&self.rules).showing(internal_form::full));
        let defaults = Arc::new(self.default_functions());
        let complete = |resource| Arc::new(Resource { rules: rules.clone(), defaults: defaults.clone(), ..resource });
        resources.into_iter().map(complete).collect()
    }

    pub fn default_functions(self) -> DefaultFunctions {
        DefaultFunctions::new(self.defaults)
    }
}

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
