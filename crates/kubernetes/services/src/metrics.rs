//! Metrics of allocated addresses and node ports. Guarantees that the number of free ones is current, even if other
//! servers allocate too. Must never allocate an address or a port: it reads the allocators' counters.

use super::Allocation;
use super::stats::{Attempts, Scope};
use pintle_metrics::{Exposition, Family};

const ALLOCATED_IPS: Family =
    Family::gauge("kube_apiserver_clusterip_allocator_allocated_ips", "Addresses of a range that are given.");
const AVAILABLE_IPS: Family =
    Family::gauge("kube_apiserver_clusterip_allocator_available_ips", "Addresses of a range that are left.");
const IP_ALLOCATIONS: Family = Family::counter(
    "kube_apiserver_clusterip_allocator_allocation_total",
    "Addresses that were given, by range and by whether a certain one was asked for.",
);
const IP_ERRORS: Family = Family::counter(
    "kube_apiserver_clusterip_allocator_allocation_errors_total",
    "Addresses that were refused, by range and by whether a certain one was asked for.",
);
const IP_DURATION: Family = Family::histogram(
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
    "Time that giving an address took.",
);
const ALLOCATED_PORTS: Family =
    Family::gauge("kube_apiserver_nodeport_allocator_allocated_ports", "Node ports that are given.");
const AVAILABLE_PORTS: Family =
    Family::gauge("kube_apiserver_nodeport_allocator_available_ports", "Node ports that are left.");
const PORT_ALLOCATIONS: Family = Family::counter(
    "kube_apiserver_nodeport_allocator_allocation_total",
    "Node ports that were given, by whether a certain one was asked for.",
);
const PORT_ERRORS: Family = Family::counter(
    "kube_apiserver_nodeport_allocator_allocation_errors_total",
    "Node ports that were refused, by whether a certain one was asked for.",
);

pub(super) fn render(allocation: &Allocation<'_>, out: &mut Exposition) {
    let ranges = allocation.address_stats();
    for (family, of) in [(ALLOCATED_IPS, true), (AVAILABLE_IPS, false)] {
        out.family(&family);
        for (range, left, _) in &ranges {
            out.sample(family.name, &[("cidr", range)], if of { left.given } else { left.free });
        }
    }
    type Count = fn(&Attempts, Scope) -> u64;
    let counts: [(_, Count); 2] = [(IP_ALLOCATIONS, Attempts::given), (IP_ERRORS, Attempts::refused)];
    for (family, count) in counts {
        out.family(&family);
        for (range, _, stats) in &ranges {
            samples(&family, &[("cidr", range)], &stats.attempts, count, out);
        }
    }
    out.family(&IP_DURATION);
    for (range, _, stats) in ranges.iter().filter(|(_, _, stats)| !stats.durations.is_empty()) {
        out.histogram(IP_DURATION.name, &[("cidr", range)], &stats.durations);
    }
    let (left, attempts) = allocation.node_port_stats();
    out.single(&ALLOCATED_PORTS, left.given);
    out.single(&AVAILABLE_PORTS, left.free);
    let counts: [(_, Count); 2] = [(PORT_ALLOCATIONS, Attempts::given), (PORT_ERRORS, Attempts::refused)];
    for (family, count) in counts {
        out.family(&family);
        samples(&family, &[], attempts, count, out);
    }
}

fn samples(
    family: &Family,
    labels: &[(&str, &str)],
    attempts: &Attempts,
    count: impl Fn(&Attempts, Scope) -> u64,
    out: &mut Exposition,
) {
    for scope in Scope::ALL {
        let count = count(attempts, scope);
        if count > 0 {
            out.sample(family.name, &[labels, &[("scope", scope.name())]].concat(), count);
        }
    }
}
