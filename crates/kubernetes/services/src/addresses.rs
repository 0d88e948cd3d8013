//! Reconciles IPAddress objects with services after a user has written one or the other directly. Guarantees that every
//! address of a service that is in a range has its IPAddress, and that no IPAddress outlives its service for long. Must
//! never touch an IPAddress of another manager, unless a service has the address, nor one whose service may be about to
//! be written.

use super::range::{self, AddressRange};
use super::taken::Claim;
use super::{
    ADDRESSES_PREFIX, Allocation, RANGES_PREFIX, Result, SERVICES, SERVICES_PREFIX, Target, claims_of_stored, metadata,
};
use pintle_cache::{Object, ResourceCache};
use pintle_schema::{Value, View};
use pintle_storage::{Expect, Key, Revision, Write};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::{IPAddress, IPAddressSpec, ParentReference};
use std::net::IpAddr;

/// The labels of IPAddresses that the allocation created, and the value of the second.
pub(super) const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";
pub(super) const MANAGED_BY: (&str, &str) = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");

/// How long an IPAddress may exist without its service: the longest time that a request takes.
const GRACE_SECONDS: i64 = 60;

/// The revisions of services, addresses and ranges at which they were consistent.
pub type InLine = [Revision; 3];

/// The repair of an address, and the event to report.
pub struct Repair {
    /// Written one after the other; empty if only a user can repair it.
    pub writes: Vec<Write>,
    pub finding: Option<Finding>,
}

/// An inconsistency.
pub struct Finding {
    /// The object that the event regards.
    pub regarding: Value,
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

/// The state that a check reads.
struct Look {
    services: Target,
    addresses: Target,
    ranges: Vec<AddressRange>,
    /// The addresses of services, in order.
    claimed: Vec<(Claim, Key)>,
}

/// What may be wrong with the address of a service.
enum Wrong {
    OutOfRange,
    Missing,
    /// Its IPAddress refers to an object that does not have the address.
    Reference,
    /// Its IPAddress belongs to another service.
    Shared,
    Labels,
}

impl Wrong {
    /// Reason and note of the event, as in kube-apiserver.
    fn event(&self, address: IpAddr, service: &Value) -> Option<(&'static str, String)> {
        let family = range::family(address);
        let family = family.as_str();
        Some(match self {
            Wrong::OutOfRange => {
                let what = "is not within any configured Service CIDR; please recreate service";
                ("ClusterIPOutOfRange", format!("Cluster IP [{family}]: {address} {what}"))
            }
            Wrong::Missing => {
                let what = "is not allocated; repairing";
                ("ClusterIPNotAllocated", format!("Cluster IP [{family}]: {address} {what}"))
            }
            Wrong::Reference => {
                let (namespace, name) = (metadata::text(service, "namespace"), metadata::text(service, "name"));
                let what = format!("for Service {namespace}/{name} has a wrong reference; repairing");
                ("ClusterIPNotAllocated", format!("the ClusterIP [{family}]: {address} {what}"))
            }
            Wrong::Shared => {
                let what = "was assigned to multiple services; please recreate service";
                ("ClusterIPAlreadyAllocated", format!("Cluster IP [{family}]:{address} {what}"))
            }
            Wrong::Labels => return None,
        })
    }
}

impl Look {
    fn is_claimed(&self, address: IpAddr) -> bool {
        self.claimed.binary_search_by_key(&Claim::Address(address), |(claim, _)| *claim).is_ok()
    }

    fn has(&self, service: &str, address: IpAddr) -> bool {
        let of = |(claim, key): &(Claim, Key)| (*claim, &**key).cmp(&(Claim::Address(address), service));
        self.claimed.binary_search_by(of).is_ok()
    }
}

impl Allocation<'_> {
    /// Finds addresses of services without an IPAddress, with a wrong one, or outside all ranges, and IPAddresses
    /// without a service. Returns at once if nothing has changed since `in_line`, which an earlier call returned;
    /// returns `None` for it if another check is needed. Reads all services, so it must not run in a request.
    ///
    /// # Errors
    /// A stored service cannot be decoded.
    pub fn address_repairs(&self, in_line: Option<InLine>) -> Result<(Vec<Repair>, Option<InLine>)> {
        let unchanged = Ok((Vec::new(), in_line));
        let Some(services) = self.services() else { return unchanged };
        let addresses = self.registry.stored_target(ADDRESSES_PREFIX, "", "");
        let Some(addresses) = addresses else { return unchanged };
        // The services first: a later IPAddress belongs to a later service.
        let last = |cache: &ResourceCache| cache.state().last;
        let ranges = self.registry.cache.resource(RANGES_PREFIX).map_or(Revision(0), |ranges| last(&ranges));
        let now = [last(&services.cache), last(&addresses.cache), ranges];
        if in_line == Some(now) {
            return unchanged;
        }
        let claimed = self.allocators.taken.of(&services.cache, &|object| claims_of_stored(object)).claimed();
        let ranges = self.ranges_of(|_, _| true);
        let look = Look { services, addresses, ranges, claimed };
        let mut repairs = Vec::new();
        for (claim, key) in &look.claimed {
            if let Claim::Address(address) = claim {
                repairs.extend(self.mended(&look, *address, key)?);
            }
        }
        let (surplus, is_waiting) = self.surplus(&look);
        repairs.extend(surplus);
        let is_in_line = repairs.is_empty() && !is_waiting;
        Ok((repairs, is_in_line.then_some(now)))
    }

    /// All services; `None` if they are not served.
    pub(super) fn services(&self) -> Option<Target> {
        self.registry.stored_target(SERVICES_PREFIX, "", "")
    }

    /// The repair of the IPAddress of a service's address, if it is inconsistent.
    fn mended(&self, look: &Look, address: IpAddr, key: &Key) -> Result<Option<Repair>> {
        let stored = self.registered(address).map(|(_, stored)| stored);
        let Some(wrong) = self.wrong(look, address, key, stored.as_deref())? else { return Ok(None) };
        // Unless both were deleted meanwhile.
        let service = look.services.cache.get(key).filter(|it| claims_of_stored(it).contains(&Claim::Address(address)));
        let Some(service) = service else { return Ok(None) };
        let service = self.registry.decode(&look.services, &service)?;
        let mut writes = Vec::new();
        if !matches!(wrong, Wrong::OutOfRange | Wrong::Shared) {
            writes.extend(stored.as_deref().map(removal));
            writes.extend(self.register(address, &service));
        }
        let finding = wrong.event(address, &service).map(|(reason, note)| Finding {
            regarding: service,
            reason,
            action: "ClusterIPAllocation",
            note,
        });
        Ok(Some(Repair { writes, finding }))
    }

    fn wrong(&self, look: &Look, address: IpAddr, key: &Key, stored: Option<&Object>) -> Result<Option<Wrong>> {
        if !look.ranges.iter().any(|range| range.covers(address)) {
            return Ok(Some(Wrong::OutOfRange));
        }
        let Some(stored) = stored else { return Ok(Some(Wrong::Missing)) };
        let parent = parent(&self.registry.decode(&look.addresses, stored)?);
        let is_labelled = is_managed(stored) && stored.encoded.label(FAMILY) == Some(range::family(address).as_str());
        Ok(match self.parent_key(look, &parent) {
            Some(parent) if *parent == **key => (!is_labelled).then_some(Wrong::Labels),
            Some(parent) if look.has(&parent, address) => Some(Wrong::Shared),
            _ => Some(Wrong::Reference),
        })
    }

    /// The key of the service that an IPAddress refers to.
    fn parent_key(&self, look: &Look, parent: &ParentReference) -> Option<String> {
        let ParentReference { group, resource, namespace, name } = parent;
        let is_service = group.is_empty() && resource == SERVICES;
        Some(self.registry.target(&look.services.resource, namespace, name).filter(|_| is_service)?.key())
    }

    /// The deletion of IPAddresses without a service, and whether others are in their grace period.
    fn surplus(&self, look: &Look) -> (Vec<Repair>, bool) {
        let (mut repairs, mut is_waiting) = (Vec::new(), false);
        let is_claimed = |stored: &Object| stored.name().parse().is_ok_and(|address| look.is_claimed(address));
        for stored in look.addresses.cache.state().objects.values().filter(|it| is_managed(it) && !is_claimed(it)) {
            let Ok(object) = self.registry.decode(&look.addresses, stored) else { continue };
            let view = View::<IPAddress>::new(&object);
            let made = view.field(IPAddress::METADATA).field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
            let parent = parent(&object);
            let service = self.parent_key(look, &parent);
            // Only a service may be about to be written.
            if service.is_some() && self.registry.environment.now_unix().saturating_sub(made) <= GRACE_SECONDS {
                is_waiting = true;
                continue;
            }
            let (reason, note) = why_surplus(look, stored.name(), &parent, service.as_deref());
            let finding = Finding { regarding: object, reason, action: "IPAddressAllocation", note };
            repairs.push(Repair { writes: vec![removal(stored)], finding: Some(finding) });
        }
        (repairs, is_waiting)
    }
}

/// The note of the event, as in kube-apiserver.
fn why_surplus(look: &Look, address: &str, parent: &ParentReference, service: Option<&str>) -> (&'static str, String) {
    let ParentReference { group, resource, namespace, name } = parent;
    let Some(service) = service else {
        let parent =
            format!("&ParentReference{{Group:{group},Resource:{resource},Namespace:{namespace},Name:{name},}}");
        let what = format!("appears to have been modified, not referencing a Service {parent}: cleaning up");
        return ("IPAddressNotAllocated", format!("IPAddress {address} {what}"));
    };
    let (reason, what) = match look.services.cache.get(service) {
        None => ("IPAddressNotAllocated", "appears to have leaked:"),
        Some(_) => ("IPAddressWrongReference", "has a wrong reference;"),
    };
    (reason, format!("IPAddress: {address} for Service {namespace}/{name} {what} cleaning up"))
}

/// The parent of an IPAddress.
pub(super) fn parent(registered: &Value) -> ParentReference {
    let spec = View::<IPAddress>::new(registered).field(IPAddress::SPEC);
    spec.field(IPAddressSpec::PARENT_REF).get().unwrap_or_default()
}

fn is_managed(stored: &Object) -> bool {
    stored.encoded.label(MANAGED_BY.0) == Some(MANAGED_BY.1)
}

fn removal(stored: &Object) -> Write {
    Write::delete(stored.key.clone(), Expect::At(stored.revision))
}
