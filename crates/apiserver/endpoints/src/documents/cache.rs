//! The documents as they are now: those of the current table, with and without aggregated versions. Guarantees that
//! they belong to a table that was current when they were asked for. Must never build a document: the sets do.

use super::aggregated::AggregatedDiscovery;
use super::set::DocumentSet;
use crate::Api;
use arc_swap::{ArcSwap, ArcSwapOption};
use pintle_discovery::ServerDescription;
use pintle_resource::Resources;
use std::sync::Arc;

/// The discovery and OpenAPI documents of the server.
pub struct DiscoveryCache {
    resources: Arc<Resources>,
    pub build: pintle_discovery::version::Build<'static>,
    server: ServerDescription,
    current: ArcSwap<DocumentSet>,
    with_aggregated: ArcSwapOption<AggregatedDiscovery>,
}

impl DiscoveryCache {
    pub fn new(resources: Arc<Resources>, server: ServerDescription) -> Self {
        let current = ArcSwap::from_pointee(DocumentSet::of(&resources.read(), &server, None));
        let build = pintle_discovery::version::Build::default();
        DiscoveryCache { resources, build, server, current, with_aggregated: ArcSwapOption::empty() }
    }

    /// The documents about this server's own and aggregated versions.
    pub(crate) fn with_aggregated(&self, api: &Api) -> Arc<AggregatedDiscovery> {
        let known = self.with_aggregated.load();
        let current = AggregatedDiscovery::current(api, &self.current(), known.as_ref());
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &current)) {
            self.with_aggregated.store(Some(current.clone()));
        }
        current
    }

    /// The documents of the table that holds now.
    pub fn current(&self) -> Arc<DocumentSet> {
        let table = self.resources.read();
        let current = self.current.load_full();
        if current.generation == table.generation() {
            return current;
        }
        let new = Arc::new(DocumentSet::of(&table, &self.server, Some(&current)));
        // If another thread stored one of an older table meanwhile, the next caller replaces it.
        self.current.store(new.clone());
        new
    }
}
