//! What some objects are given when they are written and no other object may have, such as addresses and ports.
//! Guarantees that a reservation is held until the outcome of the object's commit is known, and that what an allocator
//! writes is written in the object's own transaction.
//! Must never know what is allocated, or to which resources.

use crate::status::Result;
use crate::{Registry, Target, WriteOptions};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::Value;
use pintle_storage::Write;

/// Gives the objects of some resources what only one object can have. A registry has any number of allocators; a resource
/// has one at most.
pub trait Allocator: Send + Sync {
    /// Whether objects of the resource are given something. Asked for every write.
    fn handles(&self, resource: &Resource) -> bool;

    /// Gives an object what it needs and has not, before it is validated: a new one, or one that replaces `old`. What is
    /// given stays reserved until the answer is dropped.
    ///
    /// # Errors
    /// What the object asks for cannot be had.
    fn reserve<'a>(
        &'a self,
        registry: &'a Registry,
        target: &'a Target,
        object: &'a mut Value,
        old: Option<&'a Value>,
        options: &'a WriteOptions,
    ) -> MaybeReady<'a, Result<Box<dyn Reservation>>>;

    /// The writes that go with that of an object from `old` (`None`: it is new) to `new` (`None`: it is removed). When one of
    /// their preconditions does not hold any more, the object's write is tried again from the beginning.
    ///
    /// # Errors
    /// A stored object cannot be decoded.
    fn writes(
        &self,
        registry: &Registry,
        target: &Target,
        new: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Vec<Write>>;
}

/// What one request holds until it is dropped.
pub trait Reservation: Send + Sync {
    /// The commit begins: from here on, being dropped does not mean that nothing was stored.
    fn committing(&mut self);

    /// The commit's outcome is known, and what it stored can be seen.
    fn settled(&mut self);
}

/// What a request holds of the resource's allocator; empty where there is none.
#[derive(Default)]
pub(crate) struct Reserved(Option<Box<dyn Reservation>>);

impl Reserved {
    pub fn committing(&mut self) {
        if let Some(reservation) = &mut self.0 {
            reservation.committing();
        }
    }

    pub fn settled(&mut self) {
        if let Some(reservation) = &mut self.0 {
            reservation.settled();
        }
    }
}

impl Registry {
    fn allocator(&self, resource: &Resource) -> Option<&dyn Allocator> {
        self.allocators.iter().map(AsRef::as_ref).find(|allocator| allocator.handles(resource))
    }

    /// Whether objects of the resource are given something that no other object may have.
    pub fn allocates(&self, resource: &Resource) -> bool {
        self.allocator(resource).is_some()
    }

    /// Asks the resource's allocator, if there is one; what is given is held in `reserved`.
    pub(crate) async fn allocate(
        &self,
        target: &Target,
        object: &mut Value,
        old: Option<&Value>,
        options: &WriteOptions,
        reserved: &mut Reserved,
    ) -> Result<()> {
        let Some(allocator) = self.allocator(&target.resource) else { return Ok(()) };
        reserved.0 = Some(allocator.reserve(self, target, object, old, options).get().await?);
        Ok(())
    }

    /// The writes of the resource's allocator that go with that of an object.
    pub(crate) fn allocation_writes(
        &self,
        target: &Target,
        new: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Vec<Write>> {
        let Some(allocator) = self.allocator(&target.resource) else { return Ok(Vec::new()) };
        allocator.writes(self, target, new, old)
    }
}
