//! Groups and versions that other servers serve.
//!
//! What is known of them comes in through `AggregatedApis`. Must never be asked about what is served here.

use crate::Api;
use crate::answer::ApiResponse;
use pintle_discovery::{AggregatedVersion, Catalog};
use pintle_registry::Registry;
use std::borrow::Cow;

/// The groups and versions that are served elsewhere, as far as objects of this server say.
pub trait AggregatedApis: Send + Sync {
    /// The answer to a request to a version that another server serves; `None` if none does.
    fn answer(&self, registry: &Registry, group: &str, version: &str) -> Option<ApiResponse>;

    /// The versions that are served elsewhere and not `here`; those that are only known by name as well, unless `with_service`.
    fn versions(&self, registry: &Registry, here: &Catalog, with_service: bool) -> Vec<AggregatedVersion>;
}

/// Nothing is served elsewhere.
impl AggregatedApis for () {
    fn answer(&self, _: &Registry, _: &str, _: &str) -> Option<ApiResponse> {
        None
    }

    fn versions(&self, _: &Registry, _: &Catalog, _: bool) -> Vec<AggregatedVersion> {
        Vec::new()
    }
}

/// The refusal of a request to a version that another server serves; `None` if none does.
pub fn unavailable(api: &Api, group: &str, version: &str) -> Option<ApiResponse> {
    api.aggregated.answer(&api.registry, group, version)
}

/// What is served, here and elsewhere. Who serves nothing elsewhere is told by name only: the documents of old list API
/// services that name no service, aggregated discovery does not.
pub fn catalog<'a>(api: &Api, here: &'a Catalog, aggregated: bool) -> Cow<'a, Catalog> {
    let mut catalog = Cow::Borrowed(here);
    for elsewhere in api.aggregated.versions(&api.registry, here, aggregated) {
        catalog.to_mut().add_elsewhere(&elsewhere);
    }
    catalog
}
