//! API services: the objects that give groups and versions to other servers.
//!
//! Requests are not forwarded to those yet, so each is answered that the service is unavailable, which is what API
//! services say of themselves, too. Must never be asked about what is served here.

use pintle_discovery::{AggregatedVersion, Catalog};
use pintle_endpoints::answer::ApiResponse;
use pintle_endpoints::elsewhere::AggregatedApis;
use pintle_registry::{ListOptions, Registry, Selection, Target};
use pintle_schema::View;
use pintle_types::apiregistration::v1::{APIService, APIServiceSpec};

/// The versions that API services leave to other servers.
pub struct ApiServices;

fn target(registry: &Registry, name: &str) -> Option<Target> {
    registry.target_of(["apiregistration.k8s.io", "v1", "apiservices"], "", name)
}

impl AggregatedApis for ApiServices {
    fn answer(&self, registry: &Registry, group: &str, version: &str) -> Option<ApiResponse> {
        let target = target(registry, &format!("{version}.{group}"))?;
        let object = registry.decode(&target, target.get().ok()?.as_ref()).ok()?;
        let spec = View::<APIService>::new(&object).field(APIService::SPEC);
        let is_given =
            spec.field(APIServiceSpec::GROUP).as_str() == group && spec.field(APIServiceSpec::SERVICE).some().is_some();
        is_given.then(|| ApiResponse::text(503, "service unavailable\n"))
    }

    fn versions(&self, registry: &Registry, here: &Catalog, with_service: bool) -> Vec<AggregatedVersion> {
        others(registry, here, with_service).unwrap_or_default()
    }
}

/// The versions that API services alone speak of.
fn others(registry: &Registry, here: &Catalog, with_service: bool) -> Option<Vec<AggregatedVersion>> {
    let all = target(registry, "")?;
    let everything = Selection::parse(&all.resource, &all.resource, "", "").ok()?;
    let mut found = Vec::new();
    for object in registry.list(&all, &everything, &ListOptions::default()).ok()?.items.iter() {
        let (version, group) = object.name().split_once('.').unwrap_or_default();
        if group.is_empty() || here.version(group, version).is_some() {
            continue;
        }
        let service = registry.decode(&all, object).ok()?;
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
