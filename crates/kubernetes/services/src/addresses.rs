//! The objects that stand for addresses, brought in line with the services after somebody wrote one or the other by hand.
//! Guarantees that every address of a service that is of a range is registered, and that no registration outlives its
//! service for long.
//! Must never touch what others than the allocation registered, but for addresses that services have, or what a write in
//! work may be about to explain.

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

/// The labels, and the value of the second, of what the allocation registered.
pub(super) const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";
pub(super) const MANAGED_BY: (&str, &str) = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");

/// How long a registration may be there without its service: the longest time that a request takes.
const GRACE_SECONDS: i64 = 60;

/// The changes of services, of addresses and of ranges up to which they were found in line.
pub type InLine = [Revision; 3];

/// What brings an address in line, and what is to be told of it.
pub struct Repair {
    /// Each to be carried out after the one before; none where only somebody else can mend it.
    pub writes: Vec<Write>,
    pub finding: Option<Finding>,
}

/// Something that is not as it should be.
pub struct Finding {
    /// The object that is reported with it.
    pub regarding: Value,
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

/// What a look at everything needs.
struct Look {
    services: Target,
    addresses: Target,
    ranges: Vec<AddressRange>,
    /// What services have, in order.
    claimed: Vec<(Claim, Key)>,
}

/// What may be wrong with the address of a service.
enum Wrong {
    OutOfRange,
    Missing,
    /// Its registration is of somebody who does not have it.
    Reference,
    /// Its registration is rightly of another service.
    Shared,
    Labels,
}

impl Wrong {
    /// Reason and note, in kube-apiserver's words.
    fn told(&self, address: IpAddr, service: &Value) -> Option<(&'static str, String)> {
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
    /// Finds the addresses of services that are not registered, not rightly, or of no range, and the registrations that
    /// belong to none. Nothing is looked at that has not changed since the last call's answer; without such an answer
    /// something is to be looked at again. There may be many services: not to be called where requests are answered.
    ///
    /// # Errors
    /// A stored service cannot be decoded.
    pub fn address_repairs(&self, in_line: Option<InLine>) -> Result<(Vec<Repair>, Option<InLine>)> {
        let unchanged = Ok((Vec::new(), in_line));
        let Some(services) = self.services() else { return unchanged };
        let addresses = self.registry.stored_target(ADDRESSES_PREFIX, "", "");
        let Some(addresses) = addresses else { return unchanged };
        // The services first: what is registered later than this is of a service that came later.
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

    /// All services; `None` where they are not served.
    pub(super) fn services(&self) -> Option<Target> {
        self.registry.stored_target(SERVICES_PREFIX, "", "")
    }

    /// What brings the registration of a service's address in line, unless it is.
    fn mended(&self, look: &Look, address: IpAddr, key: &Key) -> Result<Option<Repair>> {
        let stored = self.registered(address).map(|(_, stored)| stored);
        let Some(wrong) = self.wrong(look, address, key, stored.as_deref())? else { return Ok(None) };
        // Unless both went meanwhile.
        let service = look.services.cache.get(key).filter(|it| claims_of_stored(it).contains(&Claim::Address(address)));
        let Some(service) = service else { return Ok(None) };
        let service = self.registry.decode(&look.services, &service)?;
        let mut writes = Vec::new();
        if !matches!(wrong, Wrong::OutOfRange | Wrong::Shared) {
            writes.extend(stored.as_deref().map(removal));
            writes.extend(self.register(address, &service));
        }
        let finding = wrong.told(address, &service).map(|(reason, note)| Finding {
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

    /// The key of the service that a registration is of.
    fn parent_key(&self, look: &Look, parent: &ParentReference) -> Option<String> {
        let ParentReference { group, resource, namespace, name } = parent;
        let is_service = group.is_empty() && resource == SERVICES;
        Some(self.registry.target(&look.services.resource, namespace, name).filter(|_| is_service)?.key())
    }

    /// What removes registrations of addresses that no service has, and whether others must be given more time.
    fn surplus(&self, look: &Look) -> (Vec<Repair>, bool) {
        let (mut repairs, mut is_waiting) = (Vec::new(), false);
        let is_claimed = |stored: &Object| stored.name().parse().is_ok_and(|address| look.is_claimed(address));
        for stored in look.addresses.cache.state().objects.values().filter(|it| is_managed(it) && !is_claimed(it)) {
            let Ok(object) = self.registry.decode(&look.addresses, stored) else { continue };
            let view = View::<IPAddress>::new(&object);
            let made = view.field(IPAddress::METADATA).field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
            let parent = parent(&object);
            let service = self.parent_key(look, &parent);
            // A service may be about to be written, but nothing else.
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

/// In kube-apiserver's words.
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

/// What an address is registered for.
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
