//! `Profile`: all that quotas ask of an object, computed from it once.
//! Guarantees that a quota can be checked against a profile at any time later, without the object.

use crate::countable::Countable;
use crate::pods::ComputeOfContainer;
use crate::scopes::Scopes;
use crate::{claims, pods, resource_claims, services};
use pintle_registry::Registry;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::ResourceList;

/// What an object counts for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub usage: ResourceList,
    pub(crate) scopes: Scopes,
    /// What containers ask for, where every container has to say what a quota limits.
    pub(crate) containers: Vec<ComputeOfContainer>,
}

impl Profile {
    /// What an object of the storage version counts for.
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
