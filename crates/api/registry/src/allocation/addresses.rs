//! The objects that stand for addresses, brought in line with the services after somebody wrote one or the other by hand.
//! Guarantees that every address of a service is registered, and that no registration outlives its service for long.
//! Must never touch what others than the allocation registered, or what a write in work may be about to explain.

use super::taken::Claim;
use super::{Registry, Result, claims_of_stored};
use crate::{Status, Target};
use pintle_cache::{Object, ResourceCache};
use pintle_kinds::strategy::Allocation;
use pintle_schema::View;
use pintle_storage::{CommitError, Expect, Key, Revision, Transaction, Write};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::IPAddress;
use std::collections::HashMap;
use std::net::IpAddr;

/// Addresses, each with a service that has it.
type Claimed = HashMap<IpAddr, Key>;

/// The label, and its value, of what the allocation registered.
pub(super) const MANAGED_BY: (&str, &str) = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");

/// How long a registration may be there without its service: the longest time that a request takes.
const GRACE_SECONDS: i64 = 60;

/// The changes of services and of addresses up to which the two were found in line.
pub type InLine = (Revision, Revision);

impl Registry {
    /// Registers the addresses of services that are not, and removes registrations that belong to none. Nothing is looked
    /// at that has not changed since the last call's answer; `None`: something is to be looked at again.
    ///
    /// # Errors
    /// The store fails, or a stored service cannot be decoded.
    pub async fn repair_addresses(&self, in_line: Option<InLine>) -> Result<Option<InLine>> {
        let allocating = || self.hubs.values().find_map(|hub| Some((*hub, hub.strategy.allocates.as_ref()?)));
        let Some((services, allocation)) = allocating() else { return Ok(in_line) };
        let addresses = self.hubs.get(allocation.addresses).and_then(|addresses| self.target(addresses, "", ""));
        let (Some(services), Some(addresses)) = (self.target(services, "", ""), addresses) else { return Ok(in_line) };
        // The services first: what is registered later than this is of a service that came later.
        let last = |cache: &ResourceCache| cache.state().last;
        let now = (last(&services.cache), last(&addresses.cache));
        if in_line == Some(now) {
            return Ok(in_line);
        }
        let claimed = self.allocators.taken.of(&services.cache, &|object| claims_of_stored(object)).addresses();
        let mut writes = self.missing(&services, allocation, &claimed)?;
        let (surplus, is_waiting) = self.surplus(&addresses, &claimed);
        writes.extend(surplus);
        let is_in_line = writes.is_empty() && !is_waiting;
        for write in writes {
            match self.store.commit(Transaction { writes: vec![write] }).await {
                // Somebody else is at it.
                Ok(_) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(Status::internal(error)),
            }
        }
        Ok(is_in_line.then_some(now))
    }

    fn missing(&self, services: &Target, allocation: &Allocation, claimed: &Claimed) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        for (address, key) in claimed.iter().filter(|(it, _)| self.registered(allocation, **it).is_none()) {
            // Unless both went meanwhile.
            let Some(service) = services.cache.get(key) else { continue };
            if claims_of_stored(&service).contains(&Claim::Address(*address)) {
                writes.extend(self.register(allocation, *address, &self.decode(services, &service)?));
            }
        }
        Ok(writes)
    }

    /// What removes registrations of addresses that no service has, and whether others must be given more time.
    fn surplus(&self, addresses: &Target, claimed: &Claimed) -> (Vec<Write>, bool) {
        let (mut writes, mut is_waiting) = (Vec::new(), false);
        let is_claimed = |stored: &Object| stored.name().parse().is_ok_and(|address| claimed.contains_key(&address));
        let is_managed = |stored: &Object| stored.image.label(MANAGED_BY.0) == Some(MANAGED_BY.1);
        for stored in addresses.cache.state().objects.values().filter(|it| is_managed(it) && !is_claimed(it)) {
            let Ok(object) = self.decode(addresses, stored) else { continue };
            let metadata = View::<IPAddress>::new(&object).field(IPAddress::METADATA);
            let made = metadata.field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
            match self.environment.now_unix().saturating_sub(made) > GRACE_SECONDS {
                true => writes.push(Write::delete(stored.key.clone(), Expect::At(stored.revision))),
                false => is_waiting = true,
            }
        }
        (writes, is_waiting)
    }
}
