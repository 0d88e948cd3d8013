//! The objects that stand for addresses, brought in line with the services after somebody wrote one or the other by hand.
//! Guarantees that every address of a service is registered, and that no registration outlives its service for long.
//! Must never touch what others than the allocation registered, or what a write in work may be about to explain.

use super::taken::Claim;
use super::{Registry, Result, SERVICES, claims_of_stored, range};
use crate::Target;
use pintle_cache::{Object, ResourceCache};
use pintle_kinds::strategy::Allocation;
use pintle_schema::{Value, View};
use pintle_storage::{Expect, Key, Revision, Write};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::{IPAddress, IPAddressSpec, ParentReference};
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

/// What brings an address in line, and what is to be told of it.
pub struct Repair {
    pub write: Write,
    /// The object that it is told of.
    pub regarding: Value,
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

impl Registry {
    /// Finds the addresses of services that are not registered, and the registrations that belong to none. Nothing is
    /// looked at that has not changed since the last call's answer; without such an answer something is to be looked at
    /// again. There may be many services: not to be called where requests are answered.
    ///
    /// # Errors
    /// A stored service cannot be decoded.
    pub fn address_repairs(&self, in_line: Option<InLine>) -> Result<(Vec<Repair>, Option<InLine>)> {
        let unchanged = Ok((Vec::new(), in_line));
        let allocating = || self.hubs.values().find_map(|hub| Some((*hub, hub.strategy.allocates.as_ref()?)));
        let Some((services, allocation)) = allocating() else { return unchanged };
        let addresses = self.hubs.get(allocation.addresses).and_then(|addresses| self.target(addresses, "", ""));
        let (Some(services), Some(addresses)) = (self.target(services, "", ""), addresses) else { return unchanged };
        // The services first: what is registered later than this is of a service that came later.
        let last = |cache: &ResourceCache| cache.state().last;
        let now = (last(&services.cache), last(&addresses.cache));
        if in_line == Some(now) {
            return unchanged;
        }
        let claimed = self.allocators.taken.of(&services.cache, &|object| claims_of_stored(object)).addresses();
        let mut repairs = self.missing(&services, allocation, &claimed)?;
        let (surplus, is_waiting) = self.surplus(&services, &addresses, &claimed);
        repairs.extend(surplus);
        let is_in_line = repairs.is_empty() && !is_waiting;
        Ok((repairs, is_in_line.then_some(now)))
    }

    fn missing(&self, services: &Target, allocation: &Allocation, claimed: &Claimed) -> Result<Vec<Repair>> {
        let mut repairs = Vec::new();
        for (address, key) in claimed.iter().filter(|(it, _)| self.registered(allocation, **it).is_none()) {
            // Unless both went meanwhile.
            let Some(service) = services.cache.get(key) else { continue };
            if claims_of_stored(&service).contains(&Claim::Address(*address)) {
                let service = self.decode(services, &service)?;
                let family = range::family(*address);
                repairs.extend(self.register(allocation, *address, &service).map(|write| Repair {
                    write,
                    regarding: service,
                    reason: "ClusterIPNotAllocated",
                    action: "ClusterIPAllocation",
                    note: format!("Cluster IP [{}]: {address} is not allocated; repairing", family.as_str()),
                }));
            }
        }
        Ok(repairs)
    }

    /// What removes registrations of addresses that no service has, and whether others must be given more time.
    fn surplus(&self, services: &Target, addresses: &Target, claimed: &Claimed) -> (Vec<Repair>, bool) {
        let (mut repairs, mut is_waiting) = (Vec::new(), false);
        let is_claimed = |stored: &Object| stored.name().parse().is_ok_and(|address| claimed.contains_key(&address));
        let is_managed = |stored: &Object| stored.image.label(MANAGED_BY.0) == Some(MANAGED_BY.1);
        for stored in addresses.cache.state().objects.values().filter(|it| is_managed(it) && !is_claimed(it)) {
            let Ok(object) = self.decode(addresses, stored) else { continue };
            let view = View::<IPAddress>::new(&object);
            let made = view.field(IPAddress::METADATA).field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
            if self.environment.now_unix().saturating_sub(made) <= GRACE_SECONDS {
                is_waiting = true;
                continue;
            }
            let parent = view.field(IPAddress::SPEC).field(IPAddressSpec::PARENT_REF).get().unwrap_or_default();
            let (reason, note) = self.why_surplus(services, stored.name(), &parent);
            let write = Write::delete(stored.key.clone(), Expect::At(stored.revision));
            repairs.push(Repair { write, regarding: object, reason, action: "IPAddressAllocation", note });
        }
        (repairs, is_waiting)
    }

    /// In the reference's words.
    fn why_surplus(&self, services: &Target, address: &str, parent: &ParentReference) -> (&'static str, String) {
        let ParentReference { group, resource, namespace, name } = parent;
        if !group.is_empty() || resource != SERVICES {
            let parent =
                format!("&ParentReference{{Group:{group},Resource:{resource},Namespace:{namespace},Name:{name},}}");
            let what = format!("appears to have been modified, not referencing a Service {parent}: cleaning up");
            return ("IPAddressNotAllocated", format!("IPAddress {address} {what}"));
        }
        let service = self.target(services.resource, namespace, name);
        let (reason, what) = match service.and_then(|service| service.cache.get(&service.key())) {
            None => ("IPAddressNotAllocated", "appears to have leaked:"),
            Some(_) => ("IPAddressWrongReference", "has a wrong reference;"),
        };
        (reason, format!("IPAddress: {address} for Service {namespace}/{name} {what} cleaning up"))
    }
}
