//! `Profile`: everything that quotas need to know of an object, computed once. Guarantees that a quota can be checked against a
//! profile later, without the object.

use crate::countable::Countable;
use crate::pods::ComputeOfContainer;
use crate::scopes::Scopes;
use crate::{claims, pods, resource_claims, services};
use pintle_registry::Registry;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::ResourceList;

/// The usage of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub usage: ResourceList,
    pub(crate) scopes: Scopes,
    /// The resources of containers, for quotas that require every container to specify them.
    pub(crate) containers: Vec<ComputeOfContainer>,
}

impl Profile {
    /// The usage of an object of the storage version.
    pub fn of(countable: &Countable, object: &Value, registry: &Registry) -> Profile {
        match countable {
            Countable::Pods => pods::profile(View::new(object), registry.environment.as_ref()),
            Countable::Services => services::profile(View::new(object)),
            Countable::VolumeClaims => claims::profile(View::new(object), registry.environment.as_ref()),
            Countable::ResourceClaims => resource_claims::profile(View::new(object), registry),
            Countable::Objects { name, alias } => {
                let names = [Some(name.as_str()), *alias];
                Profile { usage: names.into_iter().flatten().map(one).collect(), ..Profile::default() }
            }
        }
    }
}

/// One of something.
pub(crate) fn one(name: &str) -> (String, Quantity) {
    (name.to_owned(), Quantity::from_i64(1))
}
