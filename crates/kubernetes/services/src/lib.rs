//! Allocation of cluster IPs, IP families and node ports: they are allocated when a service is written and released
//! with it.
//!
//! A service and its IPAddress objects change in one transaction: while nobody deletes an IPAddress, no two services ever
//! have the same address, and none is leaked. The allocation state is derived from stored objects, and stored nowhere else. Must never commit for a
//! request: the registry does, with the writes that it gets from here.

pub mod addresses;
mod draw;
mod families;
mod metrics;
mod ports;
mod range;
pub mod routing;
mod shared;
pub mod stats;
mod taken;
#[cfg(test)]
mod tests;

pub use addresses::{Finding, InLine, Repair};
pub use range::AddressRange;

use draw::Draw;
use families::{Cluster, is_headless};
use pintle_cache::Object;
use pintle_codec::json;
use pintle_metrics::Exposition;
use pintle_registry::prepare::validate_fields;
use pintle_registry::{Allocator, Registry, Reservation, Result, Status, Target, WriteOptions, metadata};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::names::ip::parse_ip_sloppy;
use pintle_schema::{ApiType, ApiValue, Value, View, ViewMut};
use pintle_storage::{Expect, Write};
use pintle_types::core::v1::{IPFamily, IPFamilyPolicy, Service, ServicePort, ServiceSpec, ServiceType};
use pintle_types::meta::v1::{Condition, ConditionStatus, ObjectMeta};
use pintle_types::networking::v1::{
    IPAddress, IPAddressSpec, ParentReference, ServiceCIDR, ServiceCIDRSpec, ServiceCIDRStatus,
};
use pintle_validation::ErrorList;
use ports::Refusal;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use taken::{Claim, Reserved, Taken};

/// The resource in the parent references of addresses.
const SERVICES: &str = "services";

/// The storage prefix of services.
const SERVICES_PREFIX: &str = "/registry/services/specs/";

/// The storage prefix of IPAddresses, one for each allocated address.
const ADDRESSES_PREFIX: &str = "/registry/ipaddresses/";

/// The storage prefix of ServiceCIDRs, which add ranges to the configured ones.
const RANGES_PREFIX: &str = "/registry/servicecidrs/";

/// The storage prefix of endpoints; those of a service are deleted with it.
const ENDPOINTS_PREFIX: &str = "/registry/services/endpoints/";

/// The allocators of a server.
pub struct Allocators {
    /// The configured ranges, one per IP family, the preferred family first.
    ranges: Vec<AddressRange>,
    node_ports: RangeInclusive<u16>,
    taken: Arc<Taken>,
    stats: stats::Stats,
}

impl Default for Allocators {
    fn default() -> Self {
        Allocators::new(["10.0.0.0/24"], 30_000..=32_767)
    }
}

impl Allocators {
    /// Ignores texts that are not ranges.
    pub fn new<'a>(ranges: impl IntoIterator<Item = &'a str>, node_ports: RangeInclusive<u16>) -> Self {
        let ranges = ranges.into_iter().filter_map(AddressRange::parse).collect();
        Allocators { ranges, node_ports, taken: Arc::default(), stats: stats::Stats::default() }
    }

    fn families(&self) -> Vec<IPFamily> {
        self.ranges.iter().map(AddressRange::family).collect()
    }

    /// The allocators for the services of a registry.
    pub fn of<'a>(&'a self, registry: &'a Registry) -> Allocation<'a> {
        Allocation { registry, allocators: self }
    }

    /// Writes the metrics of the allocators.
    pub fn render(&self, registry: &Registry, out: &mut Exposition) {
        metrics::render(&self.of(registry), out);
    }
}

impl Allocator for Allocators {
    fn handles(&self, resource: &Resource) -> bool {
        resource.group.is_empty() && resource.plural == SERVICES
    }

    fn reserve<'a>(
        &'a self,
        registry: &'a Registry,
        target: &'a Target,
        object: &'a mut Value,
        old: Option<&'a Value>,
        options: &'a WriteOptions,
    ) -> MaybeReady<'a, Result<Box<dyn Reservation>>> {
        let (reserved, outcome) = self.of(registry).allocate(target, object, old, options);
        // Dropping `reserved` releases what was allocated before an error.
        MaybeReady::Ready(outcome.map(|()| Box::new(reserved) as Box<dyn Reservation>))
    }

    fn complete_stored(&self, object: &mut Value) {
        let mut spec = ViewMut::<Service>::new(object).field(Service::SPEC);
        let view = spec.view();
        let is_complete = view.field(ServiceSpec::IP_FAMILIES).iter().len() > 0;
        if is_complete || view.field(ServiceSpec::CLUSTER_IP).as_str() != families::NONE {
            return;
        }
        let Some(primary) = self.families().into_iter().next() else { return };
        let has_selector = !view.field(ServiceSpec::SELECTOR).get().is_empty();
        let (policy, families) = match has_selector {
            true => (IPFamilyPolicy::SINGLE_STACK, vec![primary]),
            // Its endpoints are those of a user, who may have given them any family.
            false => (IPFamilyPolicy::REQUIRE_DUAL_STACK, vec![primary.clone(), families::other(&primary)]),
        };
        spec.by_ref().field(ServiceSpec::IP_FAMILY_POLICY).set(Some(policy));
        spec.field(ServiceSpec::IP_FAMILIES).set(families);
    }

    fn writes(&self, registry: &Registry, _: &Target, new: Option<&Value>, old: Option<&Value>) -> Result<Vec<Write>> {
        self.of(registry).writes(new, old)
    }
}

/// The allocators for a registry.
#[derive(Clone, Copy)]
pub struct Allocation<'a> {
    registry: &'a Registry,
    allocators: &'a Allocators,
}

impl Allocation<'_> {
    /// Allocates what a new or changed service lacks; returns the reservations.
    fn allocate(
        &self,
        target: &Target,
        object: &mut Value,
        old: Option<&Value>,
        options: &WriteOptions,
    ) -> (Reserved, Result<()>) {
        let mut reserved = Reserved::default();
        let outcome = self.try_allocate(target, object, old, options, &mut reserved);
        (reserved, outcome)
    }

    /// The same, with the reservations in `reserved`.
    ///
    /// # Errors
    /// A requested value is not available.
    fn try_allocate(
        &self,
        target: &Target,
        object: &mut Value,
        old: Option<&Value>,
        options: &WriteOptions,
        reserved: &mut Reserved,
    ) -> Result<()> {
        let mut spec = View::<Service>::new(object).field(Service::SPEC).get();
        let fits = || {
            let fields = [
                ServiceSpec::CLUSTER_IP.name(),
                ServiceSpec::IP_FAMILIES.name(),
                ServiceSpec::IP_FAMILY_POLICY.name(),
                ServiceSpec::CLUSTER_IPS.name(),
            ];
            validate_fields(target, (Service::SPEC.name(), &fields), object, old, self.registry.environment.as_ref())
        };
        let old = old.map(|old| View::<Service>::new(old).field(Service::SPEC).get());
        let cluster = Cluster { families: self.allocators.families() };
        let invalid = |errors: &ErrorList| {
            let resource = &target.resource;
            Status::invalid(&resource.group, &resource.kind, metadata::text(object, "name"), errors)
        };
        families::settle(&mut spec, old.as_ref(), &cluster, fits).map_err(|errors| invalid(&errors))?;
        let ranges = self.ranges();
        let environment = self.registry.environment.as_ref();
        let home = &self.allocators.taken;
        let given = self.port_map();
        let mut state = home.of(&target.cache, &|object| claims_of_stored(object));
        let mut draw = Draw {
            ranges: &ranges,
            node_ports: self.allocators.node_ports.clone(),
            state: &mut state,
            is_registered: &|address| self.registered(address).is_some(),
            is_given: &|port| given.as_ref().is_some_and(|map| map.contains(port)),
            environment,
            stats: &self.allocators.stats,
            dry_run: options.dry_run,
            held: Vec::new(),
            ports: BTreeSet::new(),
        };
        let outcome = take(&mut spec, old.as_ref(), &mut draw);
        let held = std::mem::take(&mut draw.held);
        drop(state);
        // Dropping this releases what was allocated before an error.
        *reserved = Reserved::new(home.clone(), held, environment.now_unix());
        match outcome {
            Ok(()) => {
                write_back(object, spec);
                self.registry.canonicalize(target, object);
                Ok(())
            }
            Err(Failure::Invalid(errors)) => Err(invalid(&errors)),
            Err(Failure::Status(status)) => Err(*status),
        }
    }

    /// The writes that accompany an object's change from `old` (`None` on create) to `new` (`None` on delete).
    ///
    /// # Errors
    /// A stored object cannot be decoded.
    fn writes(&self, new: Option<&Value>, old: Option<&Value>) -> Result<Vec<Write>> {
        let addresses = |object: Option<&Value>| object.map(addresses_of).unwrap_or_default();
        let (new_addresses, old_addresses) = (addresses(new), addresses(old));
        let object = new.or(old).unwrap_or(&Value::Null);
        let mut writes = Vec::new();
        for address in new_addresses.iter().filter(|address| !old_addresses.contains(address)) {
            writes.extend(self.register(*address, object));
        }
        for address in old_addresses.iter().filter(|address| !new_addresses.contains(address)) {
            let Some((place, stored)) = self.registered(*address) else { continue };
            let registered = self.registry.decode(&place, &stored)?;
            if addresses::parent(&registered) == reference_to(object) {
                writes.push(Write::delete(stored.key.clone(), Expect::At(stored.revision)));
            }
        }
        if new.is_none() {
            writes.extend(self.remove_companion(object)?);
        }
        writes.extend(self.port_write(new, old));
        Ok(writes)
    }

    /// The IPAddress of an address, if it exists.
    fn registered(&self, address: IpAddr) -> Option<(Target, Arc<Object>)> {
        let place = self.registry.stored_target(ADDRESSES_PREFIX, "", &address.to_string())?;
        let stored = place.cache.get(&place.key())?;
        Some((place, stored))
    }

    /// The write that creates an IPAddress. If another server has just created it, the whole transaction fails.
    fn register(&self, address: IpAddr, parent: &Value) -> Option<Write> {
        let place = self.registry.stored_target(ADDRESSES_PREFIX, "", &address.to_string())?;
        Some(self.registry.creation_write(&place, registration(address, parent).to_value()))
    }

    /// The deletion of the endpoints that have the deleted object's name, unless they have finalizers.
    fn remove_companion(&self, object: &Value) -> Result<Option<Write>> {
        let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
        let place = self.registry.stored_target(ENDPOINTS_PREFIX, namespace, name);
        let Some(place) = place else { return Ok(None) };
        let Some(stored) = place.cache.get(&place.key()) else { return Ok(None) };
        let companion = self.registry.decode(&place, &stored)?;
        if !metadata::finalizers(&companion).is_empty() {
            return Ok(None);
        }
        Ok(Some(Write::delete(stored.key.clone(), Expect::At(stored.revision))))
    }

    /// The configured ranges, then those of ServiceCIDRs that are ready.
    fn ranges(&self) -> Vec<AddressRange> {
        self.ranges_of(|cidr, is_terminating| {
            let conditions = cidr.field(ServiceCIDR::STATUS).field(ServiceCIDRStatus::CONDITIONS);
            let is_ready = conditions.iter().all(|condition| {
                condition.field(Condition::TYPE).as_str() != "Ready"
                    || condition.field(Condition::STATUS).get() == ConditionStatus::TRUE
            });
            is_ready && !is_terminating
        })
    }

    /// The configured ranges, then those of the ServiceCIDRs that the filter selects.
    fn ranges_of(&self, filter: impl Fn(&View<'_, ServiceCIDR>, bool) -> bool) -> Vec<AddressRange> {
        let mut ranges = self.allocators.ranges.clone();
        let Some(cache) = self.registry.cache.resource(RANGES_PREFIX) else { return ranges };
        for stored in cache.state().objects.values() {
            let Ok(object) = json::decode_trusted(ServiceCIDR::schema(), stored.encoded.json()) else { continue };
            let object = View::<ServiceCIDR>::new(&object);
            if !filter(&object, stored.encoded.terminating) {
                continue;
            }
            let texts = object.field(ServiceCIDR::SPEC).field(ServiceCIDRSpec::CIDRS);
            for range in texts.iter().filter_map(|text| AddressRange::parse(text.as_str())) {
                if !ranges.contains(&range) {
                    ranges.push(range);
                }
            }
        }
        ranges
    }
}

enum Failure {
    Invalid(ErrorList),
    Status(Box<Status>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Port { index, port, why } => {
                let mut errors = ErrorList::default();
                errors.invalid(format!("spec.ports[{index}].nodePort"), Value::Int(port.into()), why);
                Failure::Invalid(errors)
            }
            Refusal::Other(status) => Failure::Status(status),
        }
    }
}

/// Addresses, then node ports.
fn take(spec: &mut ServiceSpec, old: Option<&ServiceSpec>, draw: &mut Draw<'_>) -> std::result::Result<(), Failure> {
    match old {
        None => {
            take_addresses(spec, 0, draw)?;
            ports::create(spec, draw)?;
        }
        Some(old) => {
            if let Some(first) = first_new_address(spec, old) {
                take_addresses(spec, first, draw)?;
            }
            ports::update(spec, old, draw)?;
        }
    }
    Ok(())
}

/// The index of the first family for which a changed service needs a new address. Validation rejects a changed address.
fn first_new_address(spec: &ServiceSpec, old: &ServiceSpec) -> Option<usize> {
    if families::keeps_preference(spec, old) {
        return None;
    }
    if old.r#type == ServiceType::EXTERNAL_NAME {
        return Some(0);
    }
    let is_upgraded = old.ip_families.len() == 1 && spec.ip_families.len() == 2;
    (is_upgraded && !is_headless(old)).then_some(1)
}

fn take_addresses(spec: &mut ServiceSpec, first: usize, draw: &mut Draw<'_>) -> std::result::Result<(), Failure> {
    if spec.r#type == ServiceType::EXTERNAL_NAME || is_headless(spec) {
        return Ok(());
    }
    let mut given = spec.cluster_ips.clone();
    for (at, family) in spec.ip_families.iter().enumerate().skip(first) {
        match spec.cluster_ips.get(at).filter(|ip| !ip.is_empty()) {
            None => {
                let drawn = draw.any_address(family);
                let address =
                    drawn.map_err(|why| Status::internal(format!("failed to allocate a serviceIP: {why}")))?;
                given.truncate(at);
                given.push(address.to_string());
            }
            Some(ip) => {
                let outcome = match parse_ip_sloppy(ip) {
                    Some(address) => draw.address(family, address.to_canonical()),
                    None => Err("the provided network does not match the current range".to_owned()),
                };
                if let Err(why) = outcome {
                    let mut errors = ErrorList::default();
                    errors.invalid(
                        "spec.clusterIPs",
                        spec.cluster_ips.to_value(),
                        format!("failed to allocate IP {ip}: {why}"),
                    );
                    return Err(Failure::Invalid(errors));
                }
            }
        }
    }
    spec.cluster_ip = given.first().cloned().unwrap_or_default();
    spec.cluster_ips = given;
    Ok(())
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure::Status(Box::new(status))
    }
}

/// Writes the allocated fields; the other fields of the object do not change.
fn write_back(object: &mut Value, given: ServiceSpec) {
    let mut spec = ViewMut::<Service>::new(object).field(Service::SPEC);
    spec.by_ref().field(ServiceSpec::IP_FAMILY_POLICY).set(given.ip_family_policy);
    spec.by_ref().field(ServiceSpec::IP_FAMILIES).set(given.ip_families);
    spec.by_ref().field(ServiceSpec::CLUSTER_IP).set(given.cluster_ip);
    spec.by_ref().field(ServiceSpec::CLUSTER_IPS).set(given.cluster_ips);
    spec.by_ref().field(ServiceSpec::HEALTH_CHECK_NODE_PORT).set(given.health_check_node_port);
    for (port, given) in spec.field(ServiceSpec::PORTS).iter_mut().zip(given.ports) {
        port.field(ServicePort::NODE_PORT).set(given.node_port);
    }
}

/// The allocations of a stored object; none if it cannot be decoded.
fn claims_of_stored(object: &Object) -> Vec<Claim> {
    json::decode_trusted(Service::schema(), object.encoded.json())
        .map_or_else(|_| Vec::new(), |it| claims_of_value(&it))
}

fn claims_of_value(object: &Value) -> Vec<Claim> {
    let spec = View::<Service>::new(object).field(Service::SPEC);
    let health_check = spec.field(ServiceSpec::HEALTH_CHECK_NODE_PORT).get();
    let ports = spec.field(ServiceSpec::PORTS).iter().map(|port| port.field(ServicePort::NODE_PORT).get());
    let ports = ports.chain([health_check]).filter_map(|port| u16::try_from(port).ok().filter(|port| *port != 0));
    let mut claims: Vec<Claim> = ports.map(Claim::NodePort).collect();
    claims.extend(addresses_of(object).into_iter().map(Claim::Address));
    claims.sort_by_key(|claim| match claim {
        Claim::NodePort(port) => (0, *port),
        Claim::Address(_) => (1, 0),
    });
    claims.dedup();
    claims
}

fn addresses_of(service: &Value) -> Vec<IpAddr> {
    let spec = View::<Service>::new(service).field(Service::SPEC);
    if spec.field(ServiceSpec::TYPE).get() == ServiceType::EXTERNAL_NAME {
        return Vec::new();
    }
    let mut texts = spec.field(ServiceSpec::CLUSTER_IPS).get();
    if texts.is_empty() {
        texts.push(spec.field(ServiceSpec::CLUSTER_IP).get());
    }
    let mut addresses: Vec<IpAddr> =
        texts.iter().filter_map(|text| Some(parse_ip_sloppy(text)?.to_canonical())).collect();
    addresses.dedup();
    addresses
}

fn registration(address: IpAddr, parent: &Value) -> IPAddress {
    let labels = [
        (addresses::FAMILY, range::family(address).as_str().to_owned()),
        (addresses::MANAGED_BY.0, addresses::MANAGED_BY.1.to_owned()),
    ];
    IPAddress {
        metadata: ObjectMeta {
            name: address.to_string(),
            labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
            ..Default::default()
        },
        spec: IPAddressSpec { parent_ref: Some(reference_to(parent)) },
        ..Default::default()
    }
}

/// The parent reference to a service.
fn reference_to(service: &Value) -> ParentReference {
    ParentReference {
        group: String::new(),
        resource: SERVICES.to_owned(),
        namespace: metadata::text(service, "namespace").to_owned(),
        name: metadata::text(service, "name").to_owned(),
    }
}
