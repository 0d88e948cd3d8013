//! Groups and versions that API services leave to other servers.
//!
//! Requests are not forwarded to those yet, so each is answered that the service is unavailable, which is what API
//! services say of themselves, too. Must never be asked about what is served here.

use crate::Api;
use crate::answer::Answer;
use pintle_discovery::catalog::compare_versions;
use pintle_discovery::{Document, discovery};
use pintle_kinds::resource::Resource;
use pintle_registry::{ListOptions, Selection};
use pintle_schema::View;
use pintle_types::apiregistration::v1::{APIService, APIServiceSpec};
use std::cmp::Reverse;

fn api_services() -> Option<&'static Resource> {
    pintle_kinds::find("apiregistration.k8s.io", "v1", "apiservices")
}

/// The refusal of a request to a version that an API service gives to another server; `None` if none does.
pub fn unavailable(api: &Api, group: &str, version: &str) -> Option<Answer> {
    let target = api.registry.target(api_services()?, "", &format!("{version}.{group}"))?;
    let object = api.registry.decode(&target, target.get().ok()?.as_ref()).ok()?;
    let spec = View::<APIService>::new(&object).field(APIService::SPEC);
    let is_given =
        spec.field(APIServiceSpec::GROUP).as_str() == group && spec.field(APIServiceSpec::SERVICE).some().is_some();
    is_given.then(|| Answer::text(503, "service unavailable\n"))
}

/// `/apis/<group>` of a group that only API services speak of.
pub fn group(api: &Api, name: &str) -> Option<Document> {
    let resource = api_services()?;
    let all = api.registry.target(resource, "", "")?;
    let everything = Selection::parse(resource, resource, "", "").ok()?;
    let mut versions = Vec::new();
    for object in api.registry.list(&all, &everything, &ListOptions::default()).ok()?.items.iter() {
        let Some(version) = object.name().strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) else { continue };
        let service = api.registry.decode(&all, object).ok()?;
        let spec = View::<APIService>::new(&service).field(APIService::SPEC);
        if spec.field(APIServiceSpec::GROUP).as_str() == name {
            versions.push((spec.field(APIServiceSpec::VERSION_PRIORITY).get(), version.to_owned()));
        }
    }
    versions.sort_by(|(a, one), (b, other)| Reverse(a).cmp(&Reverse(b)).then_with(|| compare_versions(one, other)));
    (!versions.is_empty()).then(|| discovery::group_of(name, versions.iter().map(|(_, version)| version.as_str())))
}
