//! The addresses and ports of services: their ranges, and the allocators that reserve them in the transaction of a
//! write. Must never allocate one outside of its range.

use pintle_bootstrap::ServiceRange;
use pintle_server::{Builder, Opened};
use pintle_services::Allocators;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The addresses and ports that are allocated to services.
pub struct ServiceNetwork {
    /// One range per IP family, the primary family first.
    pub ranges: Vec<ServiceRange>,
    pub node_ports: RangeInclusive<u16>,
}

impl Default for ServiceNetwork {
    fn default() -> Self {
        ServiceNetwork { ranges: ServiceRange::parse("10.0.0.0/24").into_iter().collect(), node_ports: 30_000..=32_767 }
    }
}

/// Adds the allocators to every write.
pub(crate) fn prepare(generic: &mut Builder, services: &ServiceNetwork) -> Arc<Allocators> {
    let ranges = services.ranges.iter().map(ServiceRange::cidr);
    let allocators = Arc::new(Allocators::new(ranges, services.node_ports.clone()));
    generic.add_allocator(allocators.clone());
    allocators
}

/// Adds the metrics of the allocators.
pub(crate) fn install(opened: &Opened, allocators: Arc<Allocators>) {
    let registry = opened.registry().clone();
    opened.metrics().add_source(move |out| allocators.render(&registry, out));
}
