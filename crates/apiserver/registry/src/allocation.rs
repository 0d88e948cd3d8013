//! Values that are unique to one object and allocated when it is written, such as addresses and ports. Guarantees that a
//! reservation is held until the outcome of the object's commit is known, and that an allocator's writes are in the object's
//! own transaction. Must never know what is allocated, or to which resources.

use crate::status::Result;
use crate::{Registry, Target, WriteOptions};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::Value;
use pintle_storage::Write;

/// Allocates unique values to the objects of some resources. A registry has any number of allocators; a resource has one at
/// most.
pub trait Allocator: Send + Sync {
    /// Whether it allocates values to objects of the resource. Called for every write.
    fn handles(&self, resource: &Resource) -> bool;

    /// Allocates the missing values of an object before it is validated: a new one, or one that replaces `old`. They stay
    /// reserved until the returned value is dropped.
    ///
    /// # Errors
    /// A requested value is not available.
    fn reserve<'a>(
        &'a self,
        registry: &'a Registry,
        target: &'a Target,
        object: &'a mut Value,
        old: Option<&'a Value>,
        options: &'a WriteOptions,
    ) -> MaybeReady<'a, Result<Box<dyn Reservation>>>;

    /// Fills in what an object lacks that a server of an earlier release stored, when it is shown or updated. Doing it again changes
    /// nothing.
    fn complete_stored(&self, object: &mut Value) {
        let _ = object;
    }

    /// The writes that accompany that of an object from `old` (`None`: it is new) to `new` (`None`: it is removed). When
    /// one of their preconditions no longer holds, the object's write is retried from the beginning.
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

/// The reserved values of one request, released when dropped.
pub trait Reservation: Send + Sync {
    /// The commit begins: from here on, being dropped does not mean that nothing was stored.
    fn committing(&mut self);

    /// The outcome of the commit is known, and its writes are visible.
    fn settled(&mut self);
}

/// The reservation of a request; empty without an allocator.
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

    /// Fills in what a stored object lacks that the resource's allocator would give it now.
    pub(crate) fn complete_allocated(&self, target: &Target, object: &mut Value) {
        if let Some(allocator) = self.allocator(&target.resource) {
            allocator.complete_stored(object);
        }
    }

    /// Calls the resource's allocator, if there is one; `reserved` holds the reservation.
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
