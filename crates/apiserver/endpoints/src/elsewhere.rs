//! Groups and versions that API services leave to other servers.
//!
//! Requests are not forwarded to those yet, so each is answered that the service is unavailable, which is what API
//! services say of themselves, too. Must never be asked about what is served here.

use crate::Api;
use crate::answer::ApiResponse;
use pintle_discovery::{AggregatedVersion, Catalog};
use pintle_registry::{ListOptions, Selection};
use pintle_resource::Resource;
use pintle_schema::View;
use pintle_types::apiregistration::v1::{APIService, APIServiceSpec};
use std::borrow::Cow;
use std::sync::Arc;

fn api_services() -> Option<&'static Arc<Resource>> {
    pintle_kinds::find("apiregistration.k8s.io", "v1", "apiservices")
}

/// The refusal of a request to a version that an API service gives to another server; `None` if none does.
pub fn unavailable(api: &Api, group: &str, version: &str) -> Option<ApiResponse> {
    let target = api.registry.target(api_services()?, "", &format!("{version}.{group}"))?;
    let object = api.registry.decode(&target, target.get().ok()?.as_ref()).ok()?;
    let spec = View::<APIService>::new(&object).field(APIService::SPEC);
    let is_given =
        spec.field(APIServiceSpec::GROUP).as_str() == group && spec.field(APIServiceSpec::SERVICE).some().is_some();
    is_given.then(|| ApiResponse::text(503, "service unavailable\n"))
}

/// What is served, here and elsewhere. Who serves nothing elsewhere is told by name only: the documents of old list API
/// services that name no service, aggregated discovery does not.
pub fn catalog<'a>(api: &Api, here: &'a Catalog, aggregated: bool) -> Cow<'a, Catalog> {
    let mut catalog = Cow::Borrowed(here);
    for elsewhere in others(api, here, aggregated).unwrap_or_default() {
        catalog.to_mut().add_elsewhere(&elsewhere);
    }
    catalog
}

/// The versions that API services alone speak of.
fn others(api: &Api, here: &Catalog, with_service: bool) -> Option<Vec<AggregatedVersion>> {
    let resource = api_services()?;
    let all = api.registry.target(resource, "", "")?;
    let everything = Selection::parse(resource, resource, "", "").ok()?;
    let mut found = Vec::new();
    for object in api.registry.list(&all, &everything, &ListOptions::default()).ok()?.items.iter() {
        let (version, group) = object.name().split_once('.').unwrap_or_default();
        if group.is_empty() || here.version(group, version).is_some() {
            continue;
        }
        let service = api.registry.decode(&all, object).ok()?;
        let spec = View::<APIService>::new(&service).field(APIService::SPEC);
        if !with_service || spec.field(APIServiceSpec::SERVICE).some().is_some() {
            found.push(AggregatedVersion {
                group: group.into(),
                version: version.into(),
                group_priority: spec.field(APIServiceSpec::GROUP_PRIORITY_MINIMUM).get(),
                version_priority: spec.field(APIServiceSpec::VERSION_PRIORITY).get(),
            });
        }
    }
    Some(found)
}
